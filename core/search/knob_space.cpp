// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/knob_space.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tunesmith {
namespace {

constexpr std::uint64_t kCountable = 1ull << 20;
constexpr std::size_t kOneHotLimit = 16; // more choices than this are described by their numbers alone
constexpr int kDraws = 64;

Status checkKnob(const Knob& knob, const std::string& space) {
    if (knob.values.empty())
        return inputError("space " + space + ": knob " + knob.name + " has no values");
    for (const KnobValue& value : knob.values)
        if (value.numbers.size() != knob.values[0].numbers.size())
            return inputError("space " + space + ": the values of knob " + knob.name +
                              " have different lengths");
    return {};
}

std::vector<float> featureBlock(const Knob& knob, std::size_t choice) {
    std::vector<float> block;
    for (const std::int64_t number : knob.values[choice].numbers) {
        const double size = std::log2(std::abs(static_cast<double>(number)) + 1);
        block.push_back(static_cast<float>(number < 0 ? -size : size));
    }
    if (knob.values.size() > 1 && knob.values.size() <= kOneHotLimit)
        for (std::size_t i = 0; i < knob.values.size(); ++i)
            block.push_back(i == choice ? 1.0f : 0.0f);
    return block;
}

} // namespace

Knob Knob::ofNumbers(std::string name, const std::vector<std::int64_t>& numbers) {
    Knob knob{std::move(name), {}};
    for (const std::int64_t number : numbers)
        knob.values.push_back({std::to_string(number), {number}});
    return knob;
}

Result<KnobSpace> KnobSpace::make(std::string name, std::vector<Knob> knobs, Filter filter) {
    KnobSpace space;
    space.name_ = std::move(name);
    space.knobs_ = std::move(knobs);
    space.filter_ = std::move(filter);
    if (space.knobs_.empty())
        return inputError("space " + space.name_ + " has no knobs");
    std::set<std::string> names;
    space.count_ = 1;
    for (const Knob& knob : space.knobs_) {
        TS_TRY(checkKnob(knob, space.name_));
        if (!names.insert(knob.name).second)
            return inputError("space " + space.name_ + " has two knobs named " + knob.name);
        if (space.count_ > (1ull << 63) / knob.values.size())
            return inputError("space " + space.name_ +
                              " has more than 2^63 points: give its knobs fewer values");
        space.count_ *= knob.values.size();
    }
    TS_TRY(space.countAllowed());
    space.prepareFeatures();
    return space;
}

Status KnobSpace::countAllowed() {
    if (!filter_ || count_ > kCountable)
        return {};
    for (std::uint64_t i = 0; i < count_; ++i)
        if (allowed(decode(i)))
            allowed_.push_back(i);
    if (allowed_.empty())
        return inputError("space " + name_ + ": its filter allows no config");
    return {};
}

void KnobSpace::prepareFeatures() {
    for (const Knob& knob : knobs_) {
        auto& blocks = blocks_.emplace_back();
        for (std::size_t choice = 0; choice < knob.values.size(); ++choice)
            blocks.push_back(featureBlock(knob, choice));
        columns_ += blocks[0].size();
    }
}

std::optional<std::size_t> KnobSpace::knobIndex(std::string_view name) const {
    for (std::size_t i = 0; i < knobs_.size(); ++i)
        if (knobs_[i].name == name)
            return i;
    return std::nullopt;
}

std::optional<double> KnobSpace::size() const {
    return static_cast<double>(allowed_.empty() ? count_ : allowed_.size());
}

Config KnobSpace::decode(std::uint64_t index) const {
    Config config;
    config.choices.reserve(knobs_.size());
    for (const Knob& knob : knobs_) {
        config.choices.push_back(static_cast<std::int64_t>(index % knob.values.size()));
        index /= knob.values.size();
    }
    return config;
}

std::optional<Config> KnobSpace::at(std::uint64_t index) const {
    if (index >= count_)
        return std::nullopt;
    Config config = decode(index);
    if (!allowed(config))
        return std::nullopt;
    return config;
}

std::uint64_t KnobSpace::indexOf(const Config& config) const {
    std::uint64_t index = 0;
    for (std::size_t i = knobs_.size(); i-- > 0;)
        index = index * knobs_[i].values.size() + static_cast<std::uint64_t>(config.choices[i]);
    return index;
}

Config KnobSpace::sample(Rng& rng) const {
    if (!allowed_.empty())
        return decode(allowed_[rng.below(allowed_.size())]);
    for (int i = 0; i < 16 * kDraws; ++i)
        if (Config config = decode(rng.below(count_)); allowed(config))
            return config;
    return scan(rng.below(count_));
}

// The next allowed config from an index on; only for huge spaces whose filter allows less than about one in a
// thousand.
Config KnobSpace::scan(std::uint64_t from) const {
    for (std::uint64_t i = 0; i < count_; ++i)
        if (Config config = decode((from + i) % count_); allowed(config))
            return config;
    return decode(from);
}

Config KnobSpace::neighbour(const Config& config, Rng& rng) const {
    for (int i = 0; i < kDraws; ++i) {
        const std::size_t knob = rng.below(knobs_.size());
        const std::size_t values = knobs_[knob].values.size();
        if (values == 1)
            continue;
        Config next = config;
        const std::uint64_t step = 1 + rng.below(values - 1);
        next.choices[knob] =
            static_cast<std::int64_t>((static_cast<std::uint64_t>(config.choices[knob]) + step) % values);
        if (allowed(next))
            return next;
    }
    return sample(rng);
}

Config KnobSpace::cross(const Config& mother, const Config& father, Rng& rng) const {
    for (int i = 0; i < kDraws; ++i) {
        Config child = mother;
        for (std::size_t knob = 0; knob < knobs_.size(); ++knob)
            if (rng.chance(0.5))
                child.choices[knob] = father.choices[knob];
        if (allowed(child))
            return child;
    }
    return mother;
}

std::vector<std::uint64_t> KnobSpace::radices() const {
    std::vector<std::uint64_t> out;
    for (const Knob& knob : knobs_)
        out.push_back(knob.values.size());
    return out;
}

Status KnobSpace::validate(const Config& config) const {
    if (config.choices.size() != knobs_.size() || !config.payload.empty())
        return inputError(configInMessage(config.text()) + " does not fit space " + name_ + ", which has " +
                          std::to_string(knobs_.size()) + " knobs");
    for (std::size_t i = 0; i < knobs_.size(); ++i)
        if (config.choices[i] < 0 || static_cast<std::size_t>(config.choices[i]) >= knobs_[i].values.size())
            return inputError(configInMessage(config.text()) + ": knob " + knobs_[i].name + " of space " +
                              name_ + " has only " + std::to_string(knobs_[i].values.size()) + " values");
    if (!allowed(config))
        return inputError(configInMessage(config.text()) + " is forbidden by the filter of space " + name_);
    return {};
}

FeatureMatrix KnobSpace::features(std::span<const Config> configs) const {
    FeatureMatrix out(configs.size(), columns_, 1);
    auto at = out.values.begin();
    for (const Config& config : configs)
        for (std::size_t knob = 0; knob < knobs_.size(); ++knob)
            at = std::ranges::copy(blocks_[knob][static_cast<std::size_t>(config.choices[knob])], at).out;
    return out;
}

std::string KnobSpace::describe(const Config& config) const {
    std::string out;
    for (std::size_t i = 0; i < knobs_.size(); ++i)
        out += (i ? ", " : "") + knobs_[i].name + " " + value(config, i).text;
    return out;
}

} // namespace tunesmith
