// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/canonical.h"

#include <algorithm>

namespace tunesmith::te {
namespace {

class Renamer {
public:
    Renamer(const Definition& definition, std::size_t index) : definition_(definition), statement_(definition.statements[index]) {}

    Definition run(std::vector<std::string>& inputs) {
        inputs = statement_.reads;
        for (const std::string& size : statement_.sizes)
            addCarrier(size, inputs);
        Definition made;
        made.source = definition_.source;
        made.name.text = "f";
        for (const std::string& name : inputs)
            made.inputs.push_back(input(name, "A" + std::to_string(made.inputs.size())));
        Statement statement = statement_;
        statement.output.text = fresh("Y");
        made.outputs = {statement.output};
        rename(statement.value);
        for (Term& guard : statement.guards)
            rename(guard);
        for (StatedRange& range : statement.ranges) {
            rename(range.begin);
            rename(range.end);
        }
        if (statement.schedule)
            rename(*statement.schedule, statement.output);
        for (std::string& name : statement.reads)
            name = tensors_.at(name);
        for (std::string& name : statement.sizes)
            name = sizes_.at(name);
        made.statements = {std::move(statement)};
        return made;
    }

private:
    static bool has(const Input& input, const std::string& size) {
        return std::ranges::any_of(input.dimensions, [&](const Dimension& dimension) { return dimension.name.text == size; });
    }

    const Input* inputCalled(const std::string& name) const {
        const auto found = std::ranges::find_if(definition_.inputs, [&](const Input& input) { return input.name.text == name; });
        return found == definition_.inputs.end() ? nullptr : &*found;
    }

    // A size that no tensor has that is read anyway comes with the first input that has it.
    void addCarrier(const std::string& size, std::vector<std::string>& inputs) const {
        for (const std::string& name : inputs)
            if (const Input* input = inputCalled(name); input && has(*input, size))
                return;
        const auto carrier = std::ranges::find_if(definition_.inputs, [&](const Input& input) { return has(input, size); });
        inputs.push_back(carrier->name.text);
    }

    // No index variable, knob or loop is called so.
    std::string fresh(std::string name) const {
        const auto taken = [&](const std::vector<Name>& names) {
            return std::ranges::any_of(names, [&](const Name& other) { return other.text == name; });
        };
        const auto inSchedule = [&](const ScheduleText& schedule) {
            return std::ranges::any_of(schedule.knobs, [&](const KnobText& knob) { return knob.name.text == name; }) ||
                   std::ranges::any_of(schedule.steps, [&](const LoopStep& step) { return taken(step.made); });
        };
        while (taken(statement_.axes) || taken(statement_.reduced) || (statement_.schedule && inSchedule(*statement_.schedule)))
            name += '_';
        return name;
    }

    // Which sizes are equal is the graph's to know: only what the statement itself says makes its text.
    Input input(const std::string& name, const std::string& now) {
        Input made;
        made.name.text = tensors_[name] = fresh(now);
        const auto nextSize = [&] { return Dimension{{fresh("N" + std::to_string(next_++)), {}}, {}}; };
        if (const Input* declared = inputCalled(name)) {
            made.type = declared->type;
            for (const Dimension& dimension : declared->dimensions) {
                made.dimensions.push_back(nextSize());
                sizes_.emplace(dimension.name.text, made.dimensions.back().name.text);
            }
            return made;
        }
        const auto producer = std::ranges::find_if(definition_.statements, [&](const Statement& other) { return other.output.text == name; });
        made.type = producer->type;
        for (std::size_t d = 0; d < producer->axes.size(); ++d)
            made.dimensions.push_back(nextSize());
        return made;
    }

    void rename(Term& term) const {
        if (term.kind == Term::Kind::read)
            term.name = tensors_.at(term.name);
        else if (term.kind == Term::Kind::size)
            term.name = sizes_.at(term.name);
        for (Term& arg : term.args)
            rename(arg);
    }

    void rename(ScheduleText& schedule, const Name& output) const {
        schedule.output = output;
        for (KnobText& knob : schedule.knobs)
            for (Term& value : knob.values)
                rename(value);
        for (Term& requirement : schedule.requirements)
            rename(requirement);
        for (LoopStep& step : schedule.steps)
            for (Term& factor : step.factors)
                rename(factor);
        for (LoopMark& mark : schedule.marks)
            if (mark.condition)
                rename(*mark.condition);
    }

    const Definition& definition_;
    const Statement& statement_;
    std::map<std::string, std::string> tensors_, sizes_;
    int next_ = 0;
};

} // namespace

Definition canonicalForm(const Definition& definition, std::size_t index, std::vector<std::string>& inputs) {
    return Renamer(definition, index).run(inputs);
}

} // namespace tunesmith::te
