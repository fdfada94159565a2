// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/check_names.h"

#include <algorithm>
#include <set>

#include "core/te/check_schedule.h"
#include "core/te/limits.h"

namespace tunesmith::te {
namespace {

std::string counted(std::size_t count, const char* one, const char* several) { return std::to_string(count) + " " + (count == 1 ? one : several); }
std::string dimensions(std::size_t count) { return counted(count, "dimension", "dimensions"); }

bool isReserved(const std::string& name) {
    static const std::set<std::string> words{"def", "where", "in", "min", "max"};
    return words.contains(name);
}

void addOnce(std::vector<std::string>& list, const std::string& name) {
    if (std::ranges::find(list, name) == list.end())
        list.push_back(name);
}

class NameChecker {
public:
    explicit NameChecker(Definition& definition) : definition_(definition) {}

    Status run() {
        for (const Input& input : definition_.inputs)
            TS_TRY(declareSizes(input));
        for (const Input& input : definition_.inputs)
            TS_TRY(declare(input.name, input.dimensions.size()));
        for (Statement& statement : definition_.statements)
            TS_TRY(check(statement));
        TS_TRY(checkOutputs());
        return checkUsed();
    }

private:
    Error error(const Place& place, const std::string& sentence) const { return errorAt(definition_.source, place, sentence); }

    // One default per size.
    Status declareSizes(const Input& input) {
        for (const Dimension& dimension : input.dimensions) {
            if (dimension.name.text.empty())
                continue;
            if (isReserved(dimension.name.text))
                return error(dimension.name.place, quoted(dimension.name.text) + " is a word of the language and cannot name a size");
            auto& known = sizes_[dimension.name.text];
            if (known && dimension.size && known != dimension.size)
                return error(dimension.name.place, "size " + quoted(dimension.name.text) + " is " + std::to_string(*known) + " and " + std::to_string(*dimension.size) + "; give one number");
            if (dimension.size)
                known = dimension.size;
        }
        return {};
    }

    Status declare(const Name& name, std::size_t rank) {
        if (isReserved(name.text))
            return error(name.place, quoted(name.text) + " is a word of the language and cannot name a tensor");
        if (sizes_.contains(name.text))
            return error(name.place, quoted(name.text) + " is a size already; give the tensor another name");
        if (!ranks_.emplace(name.text, rank).second)
            return error(name.place, "there is a tensor " + quoted(name.text) + " already; each is assigned to once");
        return {};
    }

    Status check(Statement& statement) {
        statement_ = &statement;
        TS_TRY(checkAxes(statement));
        TS_TRY(resolve(statement.value));
        for (Term& guard : statement.guards)
            TS_TRY(resolve(guard));
        for (StatedRange& range : statement.ranges) {
            TS_TRY(checkStated(range));
            TS_TRY(resolveBound(range.begin));
            TS_TRY(resolveBound(range.end));
        }
        TS_TRY(checkReduction(statement));
        TS_TRY(declare(statement.output, statement.axes.size()));
        return statement.schedule ? checkSchedule(definition_.source, statement, [this](const std::string& name) { return meaningOf(name); }) : Status();
    }

    Meaning meaningOf(const std::string& name) const {
        if (sizes_.contains(name))
            return Meaning::size;
        return ranks_.contains(name) || isReserved(name) ? Meaning::other : Meaning::none;
    }

    Status checkAxes(const Statement& statement) const {
        for (std::size_t i = 0; i < statement.axes.size(); ++i) {
            const Name& axis = statement.axes[i];
            if (isReserved(axis.text) || sizes_.contains(axis.text) || ranks_.contains(axis.text))
                return error(axis.place, quoted(axis.text) + " names something else already; an index variable needs a name of its own");
            for (std::size_t j = 0; j < i; ++j)
                if (statement.axes[j].text == axis.text)
                    return error(axis.place, "index variable " + quoted(axis.text) + " stands twice on the left side; take another one and choose elements with c ? a : b");
        }
        return {};
    }

    bool isAxis(const std::string& name) const {
        return std::ranges::any_of(statement_->axes, [&](const Name& axis) { return axis.text == name; });
    }
    bool isReduced(const std::string& name) const {
        return std::ranges::any_of(statement_->reduced, [&](const Name& variable) { return variable.text == name; });
    }

    Status resolve(Term& term) {
        for (Term& arg : term.args)
            TS_TRY(resolve(arg));
        if (term.kind == Term::Kind::name)
            return resolveName(term);
        if (term.kind != Term::Kind::read)
            return {};
        const auto found = ranks_.find(term.name);
        if (found == ranks_.end())
            return unknownTensor(term);
        if (found->second != term.args.size())
            return error(term.place, quoted(term.name) + " has " + dimensions(found->second) + " and is read with " + counted(term.args.size(), "index", "indices"));
        addOnce(statement_->reads, term.name);
        return {};
    }

    Error unknownTensor(const Term& term) const {
        if (term.name == statement_->output.text)
            return error(term.place, quoted(term.name) + " is read where it is assigned to; that needs a second tensor");
        if (isAxis(term.name) || sizes_.contains(term.name))
            return error(term.place, quoted(term.name) + " is no tensor and has no elements");
        return error(term.place, "there is no tensor " + quoted(term.name) + " up to here; declare it as an input or assign to it before");
    }

    Status resolveName(Term& term) {
        if (const auto tensor = ranks_.find(term.name); tensor != ranks_.end()) {
            if (tensor->second > 0)
                return error(term.place, quoted(term.name) + " has " + dimensions(tensor->second) + " and is read without an index");
            term.kind = Term::Kind::read;
            addOnce(statement_->reads, term.name);
            return {};
        }
        if (sizes_.contains(term.name)) {
            term.kind = Term::Kind::size;
            addOnce(statement_->sizes, term.name);
            return {};
        }
        term.kind = Term::Kind::variable;
        if (isAxis(term.name) || isReduced(term.name))
            return {};
        if (term.name == statement_->output.text || isReserved(term.name))
            return unknownTensor(term);
        if (statement_->reduction == loops::Reduction::none)
            return error(term.place, quoted(term.name) + " is neither a tensor nor a size nor an index of " + quoted(statement_->output.text) + "; to reduce over it, write +=!, *=!, max=! or min=!");
        if (statement_->reduced.size() + statement_->axes.size() == kMostVariables)
            return error(term.place, "a statement has at most " + std::to_string(kMostVariables) + " index variables");
        statement_->reduced.push_back({term.name, term.place});
        return {};
    }

    Status checkStated(const StatedRange& range) const {
        const std::string& name = range.variable.text;
        if (!isAxis(name) && !isReduced(name))
            return error(range.variable.place, quoted(name) + " is no index variable of this statement");
        const auto same = [&](const StatedRange& other) { return other.variable.text == name; };
        if (std::ranges::count_if(statement_->ranges, same) > 1)
            return error(range.variable.place, "the range of " + quoted(name) + " is stated twice");
        return {};
    }

    // Ranges are known before anything is computed.
    Status resolveBound(Term& term) {
        for (Term& arg : term.args)
            TS_TRY(resolveBound(arg));
        if (term.kind == Term::Kind::name && sizes_.contains(term.name)) {
            term.kind = Term::Kind::size;
            addOnce(statement_->sizes, term.name);
        }
        if (term.kind == Term::Kind::name || term.kind == Term::Kind::read)
            return error(term.place, quoted(term.name) + " cannot stand in a range: its ends are made of numbers and sizes");
        return {};
    }

    Status checkReduction(const Statement& statement) const {
        if (statement.reduction == loops::Reduction::none && !statement.guards.empty())
            return error(statement.guards[0].place, "only a reduction can leave elements out; write " + quoted(statement.output.text) + " with a choice, as in condition ? value : 0.0");
        if (statement.reduction != loops::Reduction::none && statement.reduced.empty())
            return error(statement.output.place, "nothing is reduced here: every index on the right is one of " + quoted(statement.output.text) + "; write = instead");
        return {};
    }

    Status checkOutputs() const {
        std::set<std::string> seen;
        for (const Name& output : definition_.outputs) {
            const auto makes = [&](const Statement& statement) { return statement.output.text == output.text; };
            if (std::ranges::none_of(definition_.statements, makes))
                return error(output.place, "no statement assigns to the output " + quoted(output.text));
            if (!seen.insert(output.text).second)
                return error(output.place, quoted(output.text) + " is named twice among the outputs");
        }
        return {};
    }

    Status checkUsed() const {
        for (const Statement& statement : definition_.statements) {
            const std::string& name = statement.output.text;
            const bool isOutput = std::ranges::any_of(definition_.outputs, [&](const Name& output) { return output.text == name; });
            const bool isRead = std::ranges::any_of(definition_.statements, [&](const Statement& reader) {
                return std::ranges::find(reader.reads, name) != reader.reads.end();
            });
            if (!isOutput && !isRead)
                return error(statement.output.place, quoted(name) + " is computed and not used; name it among the outputs or leave it out");
        }
        return {};
    }

    Definition& definition_;
    Statement* statement_ = nullptr;
    std::map<std::string, std::optional<std::int64_t>> sizes_;
    std::map<std::string, std::size_t> ranks_;
};

} // namespace

Status checkNames(Definition& definition) { return NameChecker(definition).run(); }

} // namespace tunesmith::te
