// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/comprehension.h"

#include <algorithm>
#include <set>

#include "core/te/canonical.h"
#include "core/te/check_names.h"
#include "core/te/check_types.h"
#include "core/te/index_ranges.h"
#include "core/te/limits.h"
#include "core/te/lower_statement.h"
#include "core/te/parser.h"
#include "core/te/printer.h"

namespace tunesmith::te {
namespace {

constexpr const char* kSource = "comprehension";
constexpr std::size_t kMostFusedReads = 8; // of an elementwise statement: each read may repeat what it is fused with

Shape extentsOf(const TensorType& type) { return type.dims ? type.shape() : Shape(); }

// Whether all reads below are at the output's own index, or of a tensor that lacks some of its dimensions.
bool readsInPlace(const Term& term, const std::vector<Name>& axes, std::size_t& reads) {
    if (term.kind == Term::Kind::read) {
        ++reads;
        std::size_t next = 0;
        for (const Term& index : term.args) {
            if (index.kind != Term::Kind::variable)
                return false;
            while (next < axes.size() && axes[next].text != index.name)
                ++next;
            if (next++ == axes.size())
                return false;
        }
    }
    return std::ranges::all_of(term.args, [&](const Term& arg) { return readsInPlace(arg, axes, reads); });
}

bool mentions(const Term& term, const std::string& variable) {
    return (term.kind == Term::Kind::variable && term.name == variable) ||
           std::ranges::any_of(term.args, [&](const Term& arg) { return mentions(arg, variable); });
}

// Where a variable is an index all by itself, as tensor and dimension; false when it also stands in an index with others.
bool standsAlone(const Term& term, const std::string& variable, std::set<std::pair<std::string, std::size_t>>& found) {
    for (std::size_t d = 0; d < term.args.size(); ++d) {
        const Term& arg = term.args[d];
        const bool isIndex = term.kind == Term::Kind::read, alone = arg.kind == Term::Kind::variable && arg.name == variable;
        if (isIndex && alone)
            found.emplace(term.name, d);
        else if (isIndex ? mentions(arg, variable) : !standsAlone(arg, variable, found))
            return false;
    }
    return true;
}

} // namespace

Comprehension Comprehension::of(const Definition& definition, std::size_t index, std::vector<std::string>& inputs) {
    return Comprehension(canonicalForm(definition, index, inputs));
}

Result<Comprehension> Comprehension::fromText(std::string_view text) {
    TS_ASSIGN(Definition definition, parse(text, kSource));
    if (definition.statements.size() != 1)
        return inputError(std::string(kSource) + ": it holds " + std::to_string(definition.statements.size()) + " statements and not one");
    TS_TRY(checkNames(definition));
    TS_TRY(checkTypes(definition));
    return Comprehension(std::move(definition));
}

std::string Comprehension::text() const { return toText(definition_); }

bool Comprehension::isElementwise() const {
    std::size_t reads = 0;
    return statement().reduction == loops::Reduction::none && !statement().schedule && readsInPlace(statement().value, statement().axes, reads) && reads <= kMostFusedReads;
}

Status Comprehension::checkInputs(const std::vector<TensorType>& inputs) const {
    if (inputs.size() != definition_.inputs.size())
        return inputError("it has " + std::to_string(inputs.size()) + " inputs, and its text speaks of " + std::to_string(definition_.inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Input& wanted = definition_.inputs[i];
        const TensorType& type = inputs[i];
        if (type.dtype != DType::undefined && type.dtype != wanted.type)
            return inputError("input " + std::to_string(i) + " is " + type.text() + ", and its text wants " + std::string(dtypeName(wanted.type)));
        if (type.dims && type.dims->size() != wanted.dimensions.size())
            return inputError("input " + std::to_string(i) + " is " + type.text() + ", and its text wants " + std::to_string(wanted.dimensions.size()) + " dimensions");
    }
    return {};
}

Result<std::map<std::string, Dim>> Comprehension::bind(const std::vector<TensorType>& inputs) const {
    std::map<std::string, Dim> sizes;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        for (std::size_t d = 0; d < definition_.inputs[i].dimensions.size(); ++d) {
            const Dimension& wanted = definition_.inputs[i].dimensions[d];
            const Dim given = inputs[i].dims ? (*inputs[i].dims)[d] : Dim();
            const std::string where = "dimension " + std::to_string(d) + " of input " + std::to_string(i);
            if (given.known() && (given.extent < 1 || given.extent > kLargestSize))
                return inputError(where + " is " + dimText(given) + "; a size lies between 1 and " + std::to_string(kLargestSize));
            Dim& known = wanted.name.text.empty() ? sizes[where] : sizes[wanted.name.text];
            if (wanted.name.text.empty())
                known = Dim(*wanted.size);
            if (known.known() && given.known() && known != given)
                return inputError(where + " is " + dimText(given) + " and should be " + dimText(known));
            if (given.known() || (known == Dim()))
                known = given;
        }
    }
    return sizes;
}

// What is known of the output's dimensions before all sizes are.
Dim Comprehension::openDim(const std::string& axis, const std::map<std::string, Dim>& sizes, const std::vector<TensorType>& inputs) const {
    const auto stated = std::ranges::find_if(statement().ranges, [&](const StatedRange& range) { return range.variable.text == axis; });
    if (stated != statement().ranges.end())
        return stated->end.kind == Term::Kind::size ? sizes.at(stated->end.name) : stated->end.kind == Term::Kind::integer ? Dim(stated->end.integer) : Dim();
    std::set<std::pair<std::string, std::size_t>> places;
    if (!standsAlone(statement().value, axis, places))
        return {};
    std::optional<Dim> common;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        for (const auto& [tensor, dimension] : places) {
            if (definition_.inputs[i].name.text != tensor)
                continue;
            const Dim dim = inputs[i].dims ? (*inputs[i].dims)[dimension] : Dim();
            if (common && *common != dim)
                return {};
            common = dim;
        }
    return common.value_or(Dim());
}

Result<TensorType> Comprehension::outputType(const std::vector<TensorType>& inputs) const {
    TS_TRY(checkInputs(inputs));
    TS_ASSIGN(const auto bound, bind(inputs));
    const bool open = std::ranges::any_of(inputs, [](const TensorType& type) { return !type.isStatic(); });
    if (open) {
        Dims dims;
        for (const Name& axis : statement().axes)
            dims.push_back(openDim(axis.text, bound, inputs));
        return TensorType(statement().type, dims);
    }
    TS_ASSIGN(const Numbers numbers, numbersOf(inputs));
    return TensorType(statement().type, shapeOf(statement(), numbers.ranges));
}

Result<Comprehension::Numbers> Comprehension::numbersOf(const std::vector<TensorType>& inputs) const {
    TS_TRY(checkInputs(inputs));
    TS_ASSIGN(const auto bound, bind(inputs));
    Numbers numbers;
    for (const auto& [name, dim] : bound)
        numbers.sizes[name] = dim.extent;
    Shapes shapes;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        shapes[definition_.inputs[i].name.text] = extentsOf(inputs[i]);
    TS_ASSIGN(numbers.ranges, indexRanges(kSource, statement(), numbers.sizes, shapes));
    return numbers;
}

Result<loops::Stage> Comprehension::lower(const std::vector<loops::TensorRef>& inputs, const std::string& name) const {
    std::vector<TensorType> types;
    for (const loops::TensorRef& input : inputs)
        types.emplace_back(input->type, input->shape);
    TS_ASSIGN(const Numbers numbers, numbersOf(types));
    std::map<std::string, loops::TensorRef> tensors;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        tensors[definition_.inputs[i].name.text] = inputs[i];
    return lowerStatement(kSource, statement(), numbers.sizes, numbers.ranges, tensors, name);
}

Result<std::optional<BoundSchedule>> Comprehension::schedule(const std::vector<TensorType>& inputs) const {
    if (!statement().schedule)
        return std::optional<BoundSchedule>();
    TS_ASSIGN(const Numbers numbers, numbersOf(inputs));
    TS_ASSIGN(BoundSchedule bound, BoundSchedule::bind(kSource, statement(), numbers.sizes, numbers.ranges));
    return std::optional(std::move(bound));
}

} // namespace tunesmith::te
