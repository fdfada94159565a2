// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/definition.h"

#include <algorithm>

#include "core/base/text_file.h"
#include "core/te/bound_schedule.h"
#include "core/te/check_names.h"
#include "core/te/check_types.h"
#include "core/te/index_ranges.h"
#include "core/te/limits.h"
#include "core/te/lower_statement.h"
#include "core/te/parser.h"

namespace tunesmith::te {

Result<Definition> readDefinition(std::string_view text, const std::string& source) {
    TS_ASSIGN(Definition definition, parse(text, source));
    TS_TRY(checkNames(definition));
    TS_TRY(checkTypes(definition));
    return definition;
}

Result<Definition> readDefinitionFile(const std::filesystem::path& path) {
    TS_ASSIGN(const std::string text, readText(path, kLargestFile, "a definition"));
    return readDefinition(text, path.string());
}

Sizes defaultSizes(const Definition& definition) {
    Sizes sizes;
    for (const Input& input : definition.inputs)
        for (const Dimension& dimension : input.dimensions)
            if (!dimension.name.text.empty() && dimension.size)
                sizes[dimension.name.text] = *dimension.size;
    return sizes;
}

std::vector<std::string> sizeNames(const Definition& definition) {
    std::vector<std::string> names;
    for (const Input& input : definition.inputs)
        for (const Dimension& dimension : input.dimensions)
            if (!dimension.name.text.empty() && std::ranges::find(names, dimension.name.text) == names.end())
                names.push_back(dimension.name.text);
    return names;
}

namespace {

Result<Shape> shapeOf(const Definition& definition, const Input& input, const Sizes& sizes) {
    Shape shape;
    __int128_t elements = 1;
    for (const Dimension& dimension : input.dimensions) {
        shape.push_back(dimension.name.text.empty() ? *dimension.size : sizes.at(dimension.name.text));
        elements = std::min<__int128_t>(elements * shape.back(), __int128_t(1) << 62);
    }
    if (elements > kMostElements)
        return errorAt(definition.source, input.name.place, "'" + input.name.text + "' has more than " + std::to_string(kMostElements) + " elements");
    return shape;
}

Status checkSize(const Definition& definition, const std::string& name, const Sizes& sizes) {
    const auto found = sizes.find(name);
    if (found == sizes.end())
        return inputError(definition.source + ": size '" + name + "' has no value; give it one, as in " + name + "=64");
    if (found->second < 1 || found->second > kLargestSize)
        return inputError(definition.source + ": size '" + name + "' lies between 1 and " + std::to_string(kLargestSize) + " and is not " + std::to_string(found->second));
    return {};
}

} // namespace

Result<loops::Program> lowerDefinition(const Definition& definition, const Sizes& sizes) {
    loops::Program program;
    program.name = definition.name.text;
    for (const std::string& name : sizeNames(definition))
        TS_TRY(checkSize(definition, name, sizes));
    Shapes shapes;
    std::map<std::string, loops::TensorRef> tensors;
    std::int64_t searched = 0;
    for (const Input& input : definition.inputs) {
        TS_ASSIGN(shapes[input.name.text], shapeOf(definition, input, sizes));
        program.inputs.push_back(loops::makeTensor(input.name.text, input.type, shapes.at(input.name.text)));
        tensors[input.name.text] = program.inputs.back();
    }
    for (const Statement& statement : definition.statements) {
        TS_ASSIGN(const Intervals ranges, indexRanges(definition.source, statement, sizes, shapes));
        if (statement.schedule) {
            TS_ASSIGN(const BoundSchedule bound, BoundSchedule::bind(definition.source, statement, sizes, ranges));
            if ((searched += bound.searched()) > kMostSearched)
                return errorAt(definition.source, statement.output.place, "the schedules up to here try too many choices until one is allowed; list the values of their knobs so that an early choice is");
        }
        TS_ASSIGN(loops::Stage stage, lowerStatement(definition.source, statement, sizes, ranges, tensors, statement.output.text));
        shapes[statement.output.text] = stage.output->shape;
        tensors[statement.output.text] = stage.output;
        program.stages.push_back(std::move(stage));
    }
    for (const Name& output : definition.outputs)
        program.outputs.push_back(tensors.at(output.text));
    return program;
}

Status checkSizes(const Definition& definition, const Sizes& sizes) {
    for (const std::string& name : sizeNames(definition))
        if (!sizes.contains(name))
            return {};
    const auto program = lowerDefinition(definition, sizes);
    return program.ok() ? Status() : program.error();
}

} // namespace tunesmith::te
