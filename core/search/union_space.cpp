// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/union_space.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace tunesmith {

Result<UnionSpace> UnionSpace::make(std::vector<std::shared_ptr<const KnobSpace>> parts) {
    UnionSpace space;
    space.parts_ = std::move(parts);
    if (space.parts_.empty())
        return inputError("a union of spaces needs at least one");
    std::set<std::string> names;
    for (const auto& part : space.parts_) {
        if (!names.insert(part->name()).second)
            return inputError("a union of spaces has two parts named " + part->name());
        if (space.count_ > (1ull << 63) - part->indexCount())
            return inputError("space " + space.name() + " has more than 2^63 points: give its knobs fewer values");
        space.count_ += part->indexCount();
        space.columns_.push_back(part->features({}).columns);
    }
    space.radices_ = {space.parts_.size()};
    for (const auto& part : space.parts_) {
        space.first_.push_back(space.radices_.size());
        for (const Knob& knob : part->knobs())
            space.radices_.push_back(knob.values.size());
    }
    return space;
}

Config UnionSpace::within(const Config& config) const {
    const std::size_t part = partOf(config);
    const auto first = config.choices.begin() + static_cast<std::ptrdiff_t>(first_[part]);
    return {{first, first + static_cast<std::ptrdiff_t>(parts_[part]->knobs().size())}, config.payload};
}

Config UnionSpace::widened(std::size_t part, const Config& config) const {
    Config wide{std::vector<std::int64_t>(radices_.size(), 0), config.payload};
    wide.choices[0] = static_cast<std::int64_t>(part);
    std::ranges::copy(config.choices, wide.choices.begin() + static_cast<std::ptrdiff_t>(first_[part]));
    return wide;
}

Config UnionSpace::canonical(const Config& config) const { return widened(partOf(config), within(config)); }

std::string UnionSpace::name() const {
    std::string joined;
    for (const auto& part : parts_)
        joined += (joined.empty() ? "" : "|") + part->name();
    return joined;
}

std::optional<double> UnionSpace::size() const {
    double sum = 0;
    for (const auto& part : parts_)
        sum += part->size().value_or(0);
    return sum;
}

Config UnionSpace::sample(Rng& rng) const {
    const std::size_t part = rng.below(parts_.size());
    return widened(part, parts_[part]->sample(rng));
}

Config UnionSpace::neighbour(const Config& config, Rng& rng) const {
    constexpr double kOtherPart = 0.1;
    const std::size_t part = partOf(config);
    if (parts_.size() > 1 && rng.chance(kOtherPart)) {
        const std::size_t other = (part + 1 + rng.below(parts_.size() - 1)) % parts_.size();
        return widened(other, parts_[other]->sample(rng));
    }
    return widened(part, parts_[part]->neighbour(within(config), rng));
}

Status UnionSpace::validate(const Config& config) const {
    bool fits = config.choices.size() == radices_.size();
    for (std::size_t i = 0; fits && i < radices_.size(); ++i)
        fits = config.choices[i] >= 0 && static_cast<std::uint64_t>(config.choices[i]) < radices_[i];
    if (!fits)
        return inputError(configInMessage(config.text()) + " does not fit space " + name() + ", which has " +
                          std::to_string(parts_.size()) + " parts with " + std::to_string(radices_.size() - 1) + " knobs in all");
    return parts_[partOf(config)]->validate(within(config));
}

FeatureMatrix UnionSpace::features(std::span<const Config> configs) const {
    const std::size_t columns = std::accumulate(columns_.begin(), columns_.end(), parts_.size());
    FeatureMatrix out(configs.size(), columns, featureVersion());
    std::size_t first = parts_.size();
    for (std::size_t part = 0; part < parts_.size(); ++part) {
        std::vector<std::size_t> rows;
        std::vector<Config> own;
        for (std::size_t i = 0; i < configs.size(); ++i)
            if (partOf(configs[i]) == part) {
                rows.push_back(i);
                own.push_back(within(configs[i]));
            }
        const FeatureMatrix features = parts_[part]->features(own);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const std::span<float> row = out.row(rows[i]);
            row[part] = 1;
            std::ranges::copy(features.row(i), row.begin() + static_cast<std::ptrdiff_t>(first));
        }
        first += columns_[part];
    }
    return out;
}

std::string UnionSpace::describe(const Config& config) const {
    const KnobSpace& part = *parts_[partOf(config)];
    return part.name() + ": " + part.describe(within(config));
}

std::optional<Config> UnionSpace::at(std::uint64_t index) const {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
        if (index < parts_[part]->indexCount()) {
            const auto config = parts_[part]->at(index);
            return config ? std::optional(widened(part, *config)) : std::nullopt;
        }
        index -= parts_[part]->indexCount();
    }
    return std::nullopt;
}

std::uint64_t UnionSpace::indexOf(const Config& config) const {
    std::uint64_t before = 0;
    for (std::size_t part = 0; part < partOf(config); ++part)
        before += parts_[part]->indexCount();
    return before + parts_[partOf(config)]->indexOf(within(config));
}

Config UnionSpace::cross(const Config& mother, const Config& father, Rng& rng) const {
    const std::size_t part = partOf(mother);
    if (part != partOf(father))
        return rng.chance(0.5) ? mother : father;
    return widened(part, parts_[part]->cross(within(mother), within(father), rng));
}

} // namespace tunesmith
