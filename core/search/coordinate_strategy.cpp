// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/coordinate_strategy.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "core/search/trial_strategy.h"

namespace tunesmith {
namespace {

using Step = std::pair<std::size_t, std::int64_t>; // of which knob, by how many values

class CoordinateDescent final : public TrialStrategy {
public:
    CoordinateDescent(const Space& space, std::uint64_t seed, TrialCost cost)
        : TrialStrategy(space, seed, std::move(cost)), radices_(space.choices()->radices()) {}
    std::string name() const override { return "coordinate"; }

protected:
    std::optional<Config> pick() override;
    void drawn(std::uint64_t hash) override { starts_.insert(hash); }
    void observed(const Outcome& outcome) override;
    nlohmann::json saveOwn() const override;
    void restoreOwn(const nlohmann::json& json) override;

private:
    bool possible(const Step& step) const {
        const std::int64_t choice = at_->config.choices[step.first] + step.second;
        return choice >= 0 && static_cast<std::uint64_t>(choice) < radices_[step.first];
    }
    bool fits(const Step& step) const {
        const auto most = step.first < radices_.size() ? static_cast<std::int64_t>(radices_[step.first]) : 0;
        return step.second > -most && step.second < most;
    }
    void moveTo(const MeasuredConfig& known, std::optional<Step> by);
    void planSteps();

    std::vector<std::uint64_t> radices_;
    std::optional<MeasuredConfig> at_;     // where it stands
    std::deque<Step> steps_;               // still to be tried from there
    bool stuck_ = false;                   // none was better: the next start that works is where it goes on
    std::map<std::uint64_t, Step> stepOf_; // of what is under way
    std::set<std::uint64_t> starts_;       // random ones and the space's own, under way
};

std::optional<Config> CoordinateDescent::pick() {
    while (at_ && !steps_.empty()) {
        const Step step = steps_.front();
        steps_.pop_front();
        Config next = at_->config;
        next.choices[step.first] += step.second;
        if (!space().validate(next).ok())
            continue;
        const std::uint64_t hash = space().hash(next);
        if (fresh(next)) {
            stepOf_[hash] = step;
            return next;
        }
        if (const MeasuredConfig* known = measured().find(hash);
            known && known->cost && *known->cost < *at_->cost)
            moveTo(*known, step); // tried by others, or from elsewhere: it costs no trial
    }
    stuck_ = true;
    return std::nullopt;
}

void CoordinateDescent::observed(const Outcome& outcome) {
    const auto step = stepOf_.extract(outcome.asked);
    const bool start = starts_.erase(outcome.asked) > 0;
    if (!outcome.known || !outcome.known->cost)
        return;
    if (!at_ || (stuck_ && start) || *outcome.known->cost < *at_->cost)
        moveTo(*outcome.known, step ? std::optional(step.mapped()) : std::nullopt);
}

void CoordinateDescent::moveTo(const MeasuredConfig& known, std::optional<Step> by) {
    at_ = known;
    stuck_ = false;
    planSteps();
    if (by && possible(*by))
        steps_.push_front(*by);
}

void CoordinateDescent::planSteps() {
    steps_.clear();
    std::vector<std::size_t> knobs(radices_.size());
    for (std::size_t i = 0; i < knobs.size(); ++i) { // a random order
        const std::size_t other = rng().below(i + 1);
        knobs[i] = knobs[other];
        knobs[other] = i;
    }
    bool larger = true;
    for (std::int64_t size = 1; larger; size *= 2) {
        larger = false;
        for (const std::size_t knob : knobs) {
            larger |= static_cast<std::uint64_t>(size) * 2 < radices_[knob];
            const std::int64_t first = rng().chance(0.5) ? size : -size;
            for (const Step& step : {Step(knob, first), Step(knob, -first)})
                if (possible(step))
                    steps_.push_back(step);
        }
    }
}

nlohmann::json CoordinateDescent::saveOwn() const {
    return {{"at", at_ ? jsonOf(*at_) : nlohmann::json()},
            {"steps", steps_},
            {"stuck", stuck_},
            {"step_of", stepOf_},
            {"starts", starts_}};
}

void CoordinateDescent::restoreOwn(const nlohmann::json& json) {
    std::optional<MeasuredConfig> at;
    if (!json.at("at").is_null())
        at = measuredFrom(json.at("at"));
    auto steps = json.at("steps").get<std::deque<Step>>();
    const bool stuck = json.at("stuck").get<bool>();
    auto stepOf = json.at("step_of").get<std::map<std::uint64_t, Step>>();
    auto starts = json.at("starts").get<std::set<std::uint64_t>>();
    if ((at && !at->cost) || !std::ranges::all_of(steps, [&](const Step& step) { return fits(step); }) ||
        !std::ranges::all_of(stepOf, [&](const auto& item) { return fits(item.second); }))
        throw nlohmann::json::other_error::create(501, "its steps do not fit the space", &json);
    at_ = std::move(at);
    steps_ = std::move(steps);
    stuck_ = stuck;
    stepOf_ = std::move(stepOf);
    starts_ = std::move(starts);
}

} // namespace

Result<std::unique_ptr<Strategy>> makeCoordinateDescent(const Space& space, std::uint64_t seed,
                                                        TrialCost cost) {
    if (!space.choices())
        return unsupportedError(
            "space " + space.name() +
            " has no knobs to walk along: use the strategy annealing instead of coordinate");
    return std::unique_ptr<Strategy>(std::make_unique<CoordinateDescent>(space, seed, std::move(cost)));
}

} // namespace tunesmith
