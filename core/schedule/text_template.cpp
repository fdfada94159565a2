// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/template.h"
#include "core/te/apply_schedule.h"
#include "core/te/bound_schedule.h"

namespace tunesmith {
namespace {

// The schedule that a user wrote beside a statement of a FILE.te. Its space has the knobs of the text; a text without knobs is a
// space of one. Untuned, each knob has its first value, or what comes next where that is not allowed.
class TextTemplate final : public KnobTemplate {
public:
    const char* name() const override { return "written"; }
    bool matches(const LoweredWorkload& lowered, const Target&) const override { return lowered.written != nullptr; }

    std::vector<Knob> knobs(const LoweredWorkload& lowered, const Target&) const override {
        std::vector<Knob> knobs;
        for (const te::BoundSchedule::Knob& written : lowered.written->knobs()) {
            Knob& knob = knobs.emplace_back(Knob{written.name, {}});
            for (const te::KnobChoice& choice : written.choices)
                knob.values.push_back({choice.text, {choice.number}});
        }
        if (knobs.empty())
            knobs.push_back({"knobs", {{"none", {0}}}});
        return knobs;
    }

    KnobSpace::Filter filter(const LoweredWorkload& lowered, const Target&) const override {
        return [written = lowered.written](const KnobSpace& space, const Config& config) { return written->plan(valuesOf(*written, space, config)).ok(); };
    }

    double prior(const KnobSpace& space, const Config& config, const LoweredWorkload&, const Target&) const override {
        return -static_cast<double>(space.indexOf(config));
    }

    double standing(const LoweredWorkload&, const Target&) const override { return 2; } // who writes a schedule means it

    void apply(loops::Schedule& schedule, LoweredWorkload& lowered, const KnobSpace& space, const Config& config, const Target&) const override {
        const auto plan = lowered.written->plan(valuesOf(*lowered.written, space, config));
        assert(plan.ok() && "the space holds what is allowed");
        te::applyPlan(*plan, schedule);
    }

private:
    static std::vector<std::int64_t> valuesOf(const te::BoundSchedule& written, const KnobSpace& space, const Config& config) {
        std::vector<std::int64_t> values;
        for (std::size_t i = 0; i < written.knobs().size(); ++i)
            values.push_back(space.value(config, i).numbers[0]);
        return values;
    }
};

} // namespace

const ScheduleTemplate& textTemplate() {
    static const TextTemplate instance;
    return instance;
}

} // namespace tunesmith
