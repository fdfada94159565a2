// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/bound_schedule.h"

#include <algorithm>

#include "core/te/limits.h"

namespace tunesmith::te {
namespace {

std::int64_t termsOf(const Term& term) {
    std::int64_t terms = 1;
    for (const Term& arg : term.args)
        terms += termsOf(arg);
    return terms;
}

// Indices cost little: they are folded into addresses.
std::int64_t operationsOf(const Term& term) {
    std::int64_t operations = term.kind == Term::Kind::integer || term.kind == Term::Kind::real ? 0 : 1;
    for (const Term& arg : term.args)
        operations += term.kind == Term::Kind::read ? 0 : operationsOf(arg);
    return operations;
}

using Variables = std::uint64_t; // a bit for each
static_assert(kMostVariables <= 64);

// Gives numbers to loops.
class Numbering {
public:
    Numbering(const std::string& source, const Statement& statement, const Sizes& sizes) {
        made_.source = source;
        made_.text = *statement.schedule;
        made_.sizes = sizes;
        made_.operations = std::max<std::int64_t>(1, operationsOf(statement.value));
        made_.elementBytes = static_cast<std::int64_t>(byteSize(statement.type));
    }

    NumberedSchedule run(const Statement& statement, const Intervals& ranges) {
        for (const auto* names : {&statement.axes, &statement.reduced})
            for (const Name& name : *names) {
                made_.natural.push_back(add(name.text, names == &statement.reduced, Variables(1) << made_.names.size()));
                made_.extents.push_back(ranges.at(name.text).extent());
            }
        made_.blank.axes = statement.axes.size();
        made_.blank.reduced = statement.reduced.size();
        for (const LoopStep& step : made_.text.steps)
            step.fuses() ? fuse(step) : split(step);
        for (const LoopMark& mark : made_.text.marks) {
            auto& loops = made_.marked.emplace_back();
            for (const Name& name : mark.loops)
                loops.push_back(numbers_.at(name.text));
        }
        for (const Term& guard : statement.guards)
            made_.guardedLoops += static_cast<std::size_t>(std::ranges::count_if(made_.natural, [&, over = variablesOf(guard)](std::size_t loop) { return (over_[loop] & over) != 0; }));
        return std::move(made_);
    }

private:
    std::size_t add(const std::string& name, bool reduces, Variables over) {
        over_.push_back(over);
        made_.names.push_back(name);
        made_.blank.reduces.push_back(reduces);
        return numbers_[name] = made_.names.size() - 1;
    }

    Variables variablesOf(const Term& term) const {
        Variables over = term.kind == Term::Kind::variable ? over_[numbers_.at(term.name)] : 0;
        for (const Term& arg : term.args)
            over |= variablesOf(arg);
        return over;
    }

    void replace(std::size_t loop, const std::vector<std::size_t>& made) {
        const auto at = std::ranges::find(made_.natural, loop);
        made_.natural.insert(made_.natural.erase(at), made.begin(), made.end());
    }

    // One part after the other, the outermost first: all but the last one leave a rest.
    void split(const LoopStep& step) {
        std::size_t rest = numbers_.at(step.from[0].text);
        const std::size_t whole = rest;
        const bool reduces = made_.blank.reduces[whole];
        std::vector<std::size_t> parts;
        for (std::size_t i = 0; i < step.factors.size(); ++i) {
            made_.factors.emplace_back(step.factors.begin() + static_cast<std::ptrdiff_t>(i), step.factors.end());
            LoopPlan::Step& made = made_.blank.steps.emplace_back();
            made.from = rest;
            made.outer = add(step.made[i].text, reduces, over_[whole]);
            made.inner = rest = add(step.made.back().text, reduces, over_[whole]);
            parts.push_back(made.outer);
        }
        parts.push_back(rest);
        replace(whole, parts);
    }

    void fuse(const LoopStep& step) {
        std::size_t fused = numbers_.at(step.from[0].text);
        for (std::size_t i = 1; i < step.from.size(); ++i) {
            const std::size_t other = numbers_.at(step.from[i].text);
            made_.factors.emplace_back();
            LoopPlan::Step made;
            made.from = fused;
            made.other = other;
            made.outer = add(step.made[0].text, made_.blank.reduces[fused], over_[fused] | over_[other]);
            replace(fused, {made.outer});
            std::erase(made_.natural, other);
            fused = made.outer;
            made_.blank.steps.push_back(made);
        }
    }

    NumberedSchedule made_;
    std::map<std::string, std::size_t> numbers_;
    std::vector<Variables> over_; // of each loop: which variables it is a part of
};

} // namespace

Result<BoundSchedule> BoundSchedule::bind(const std::string& source, const Statement& statement, const Sizes& sizes, const Intervals& ranges) {
    BoundSchedule made;
    made.schedule_ = std::make_shared<const NumberedSchedule>(Numbering(source, statement, sizes).run(statement, ranges));
    TS_TRY(made.listKnobs());
    TS_TRY(made.checkSomeChoice());
    return made;
}

Status BoundSchedule::listKnobs() {
    std::int64_t configs = 1;
    for (const KnobText& knob : schedule_->text.knobs) {
        TS_ASSIGN(auto choices, choicesOf(schedule_->source, knob, schedule_->sizes));
        configs *= static_cast<std::int64_t>(choices.size());
        if (configs > kMostConfigs)
            return errorAt(schedule_->source, knob.name.place, "up to here the knobs have " + std::to_string(configs) + " combinations, and a schedule may have " + std::to_string(kMostConfigs) + "; list fewer values");
        knobs_.push_back({knob.name.text, std::move(choices)});
    }
    return {};
}

std::int64_t BoundSchedule::workOfChoice() const {
    std::int64_t work = 1 + static_cast<std::int64_t>(schedule_->names.size() + schedule_->text.marks.size());
    for (const Term& requirement : schedule_->text.requirements)
        work += termsOf(requirement);
    return work;
}

Status BoundSchedule::checkSomeChoice() {
    const std::int64_t work = workOfChoice();
    std::vector<std::size_t> digits(knobs_.size(), 0);
    std::optional<Error> first;
    for (;;) {
        if ((searched_ += work) > kMostSearched)
            return errorAt(schedule_->source, schedule_->text.output.place, "no choice is allowed among the first " + std::to_string(searched_ / work - 1) + ", and more are not tried; list the values of its knobs so that an early choice is");
        std::vector<std::int64_t> values;
        for (std::size_t i = 0; i < knobs_.size(); ++i)
            values.push_back(knobs_[i].choices[digits[i]].number);
        const auto planned = plan(values);
        if (planned.ok())
            return {};
        if (!first)
            first = planned.error();
        std::size_t next = 0;
        while (next < digits.size() && ++digits[next] == knobs_[next].choices.size())
            digits[next++] = 0;
        if (next == digits.size())
            break;
    }
    std::string choice;
    for (const Knob& knob : knobs_)
        choice += (choice.empty() ? " (with " : ", ") + knob.name + " = " + knob.choices[0].text;
    return inputError(first->message + (choice.empty() ? "" : choice + "; no other choice is allowed either)"));
}

Result<LoopPlan> BoundSchedule::plan(const std::vector<std::int64_t>& values) const {
    assert(values.size() == knobs_.size());
    Sizes all = schedule_->sizes;
    for (std::size_t i = 0; i < values.size(); ++i)
        all[knobs_[i].name] = values[i];
    return planLoops(*schedule_, all);
}

} // namespace tunesmith::te
