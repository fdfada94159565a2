// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/te/index_form.h"
#include "core/te/loop_plan.h"
#include "core/te/schedule_numbers.h"

namespace tunesmith::te {

// The schedule of a checked statement once its sizes and ranges are known: the knobs, and the plan for each choice of their values.
// What a plan would break is a reason why a choice is not allowed, as if a requirement said so.
class BoundSchedule {
public:
    // An error where no choice is allowed, with the reason against the first one, or where none is found soon.
    static Result<BoundSchedule> bind(const std::string& source, const Statement& statement, const Sizes& sizes, const Intervals& ranges);

    struct Knob {
        std::string name;
        std::vector<KnobChoice> choices;
    };
    const std::vector<Knob>& knobs() const { return knobs_; } // may be none
    std::int64_t searched() const { return searched_; } // until a choice was allowed, as kMostSearched counts
    bool only() const { return schedule_->text.only; }
    Result<LoopPlan> plan(const std::vector<std::int64_t>& values) const; // a number for each knob

private:
    BoundSchedule() = default;
    Status listKnobs();
    Status checkSomeChoice();
    std::int64_t workOfChoice() const;

    std::shared_ptr<const NumberedSchedule> schedule_;
    std::vector<Knob> knobs_;
    std::int64_t searched_ = 0;
};

} // namespace tunesmith::te
