// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/search/cost_model.h"
#include "core/search/search_session.h"
#include "core/search/union_space.h"
#include "tests/core/search/toy_clients.h"

// Searching the made-up convolution of toy_clients.h.
namespace toy {

// The same landscape at 33 thousand points: tiles of all sizes, not only those that divide.
inline KnobSpace fineConvSpace() {
    std::vector<std::int64_t> widths;
    for (std::int64_t i = 1; i <= 56; ++i)
        widths.push_back(i);
    return KnobSpace::make("fine conv",
                           {Knob::ofNumbers("ic", divisors(576)),
                            Knob::ofNumbers("oc", {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128}),
                            Knob::ofNumbers("ow", widths), Knob::ofNumbers("unroll", {0, 1})})
        .value();
}

// 30 points; one knob has nothing to choose.
inline KnobSpace smallSpace() {
    return KnobSpace::make("small", {Knob::ofNumbers("a", {1, 2, 3, 4, 5}), Knob::ofNumbers("b", {7}),
                                     Knob::ofNumbers("c", {1, 2, 3, 4, 5, 6})})
        .value();
}

// A good third of the convolution's points.
inline KnobSpace filteredSpace() {
    const KnobSpace whole = convSpace();
    return KnobSpace::make(
               "filtered", whole.knobs(),
               [](const KnobSpace& space, const Config& config) {
                   const auto number = [&](std::size_t knob) { return space.value(config, knob).numbers[0]; };
                   return (number(0) + number(1) + number(2)) % 3 != 0 && number(1) * number(2) <= 128;
               })
        .value();
}

// Two spaces side by side: the first number says which.
inline UnionSpace joinedSpace() {
    const auto part = [](KnobSpace space) { return std::make_shared<const KnobSpace>(std::move(space)); };
    return UnionSpace::make({part(smallSpace()), part(filteredSpace())}).value();
}

// A trial of smallSpace().
inline Trial smallTrial(const Config& config) {
    Trial trial =
        okTrial({{"time", static_cast<double>(1 + config.choices[0] * config.choices[2]), "s"}});
    trial.asked = trial.effective = config;
    return trial;
}

// `percent` (a multiple of 10) of the configs, for no reason that shows.
inline bool fails(const Config& config, unsigned percent = 10) {
    return Hasher().add(std::uint64_t{5}).add(config.hash()).value() % 10 < percent / 10;
}

inline Trial convTrialOrFailure(const KnobSpace& space, const Config& config, unsigned failing) {
    return fails(config, failing) ? Trial::failure(config, TrialStatus::buildTimeout, "10 s")
                                  : convTrial(space, config);
}

// `count` is increased by every evaluation.
inline Evaluate convEvaluate(const KnobSpace& space, unsigned failing = 0, int* count = nullptr) {
    return [&space, failing, count](std::span<const Config> configs) -> Result<std::vector<Trial>> {
        std::vector<Trial> trials;
        for (const Config& config : configs) {
            trials.push_back(convTrialOrFailure(space, config, failing));
            if (count)
                ++*count;
        }
        return trials;
    };
}

inline std::vector<std::string> trail(const std::vector<Trial>& trials) {
    std::vector<std::string> out;
    for (const Trial& trial : trials)
        out.push_back(trial.asked.text());
    return out;
}

inline SearchOptions budget(std::size_t trials) {
    SearchOptions options;
    options.budget.trials = trials;
    return options;
}

// Ranks by how each feature went with the labels: for strategies that need a model, where core/cost is not
// known.
class CorrelationModel : public CostModel {
public:
    std::string name() const override { return "correlation"; }
    Status fit(const TrainingSet& set) override {
        float mean = 0;
        for (const float label : set.labels)
            mean += label / static_cast<float>(set.labels.size());
        weights_.assign(set.features.columns, 0.0f);
        for (std::size_t row = 0; row < set.features.rows; ++row)
            for (std::size_t column = 0; column < weights_.size(); ++column)
                weights_[column] += (set.labels[row] - mean) * set.features.row(row)[column];
        return {};
    }
    bool fitted() const override { return !weights_.empty(); }
    Result<std::vector<float>> predict(const FeatureMatrix& features) const override {
        std::vector<float> out(features.rows, 0.0f);
        for (std::size_t row = 0; row < features.rows; ++row)
            for (std::size_t column = 0; column < weights_.size(); ++column)
                out[row] += weights_[column] * features.row(row)[column];
        return out;
    }
    Result<std::string> save() const override { return unsupportedError("not saved"); }
    Status load(std::string_view) override { return unsupportedError("not saved"); }

private:
    std::vector<float> weights_;
};

// The lowest cost of those that worked; 1e9 without any.
inline double best(const std::vector<Trial>& trials) {
    double out = 1e9;
    for (const Trial& trial : trials)
        if (trial.ok())
            out = std::min(out, trial.objectives[0].value);
    return out;
}

template <class T> T median(std::vector<T> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

} // namespace toy
