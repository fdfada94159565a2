// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/measured.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tunesmith {

void Measured::add(const Config& config, std::uint64_t hash, std::uint64_t asked,
                   std::optional<double> cost) {
    const std::size_t place = places_.try_emplace(hash, all_.size()).first->second;
    if (place == all_.size())
        all_.push_back({config, hash, std::nullopt});
    places_.try_emplace(asked, place);
    MeasuredConfig& known = all_[place];
    if (!cost || (known.cost && *known.cost <= *cost))
        return;
    known.cost = cost;
    if (!best_ || *cost < *all_[*best_].cost)
        best_ = place;
}

const MeasuredConfig* Measured::find(std::uint64_t hash) const {
    const auto found = places_.find(hash);
    return found == places_.end() ? nullptr : &all_[found->second];
}

const MeasuredConfig* Measured::best() const {
    return best_ ? &all_[*best_] : nullptr;
}

double Measured::loss(double next, double current) const {
    if (next > 0 && current > 0)
        return std::log(next / current);
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const MeasuredConfig& known : all_) {
        if (known.cost) {
            low = std::min(low, *known.cost);
            high = std::max(high, *known.cost);
        }
    }
    return high > low ? (next - current) / (high - low) : next - current;
}

Measured::Aliases Measured::aliases() const {
    Aliases out;
    for (const auto& [hash, place] : places_)
        if (all_[place].hash != hash)
            out.emplace_back(hash, place);
    std::ranges::sort(out);
    return out;
}

std::optional<Measured> Measured::restored(std::vector<MeasuredConfig> all, const Aliases& aliases,
                                           std::optional<std::size_t> best) {
    Measured out;
    out.all_ = std::move(all);
    out.best_ = best;
    if (best && (*best >= out.all_.size() || !out.all_[*best].cost))
        return std::nullopt;
    for (std::size_t place = 0; place < out.all_.size(); ++place)
        out.places_.emplace(out.all_[place].hash, place);
    for (const auto& [hash, place] : aliases) {
        if (place >= out.all_.size())
            return std::nullopt;
        out.places_.emplace(hash, place);
    }
    return out;
}

} // namespace tunesmith
