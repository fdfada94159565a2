// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/unit_cube.h"

#include <algorithm>
#include <cmath>

namespace tunesmith {

UnitCube::UnitCube(const Space& space) : space_(space), radices_(space.choices()->radices()) {
    for (std::size_t i = 0; i < radices_.size(); ++i)
        if (radices_[i] > 1)
            choices_.push_back(i);
}

UnitCube::Point UnitCube::pointOf(const Config& config) const {
    Point out;
    for (const std::size_t i : choices_)
        out.push_back((static_cast<double>(config.choices[i]) + 0.5) / static_cast<double>(radices_[i]));
    return out;
}

std::optional<Config> UnitCube::configAt(const Point& point) const {
    Config config;
    config.choices.assign(radices_.size(), 0);
    for (std::size_t d = 0; d < choices_.size(); ++d) {
        const double values = static_cast<double>(radices_[choices_[d]]);
        config.choices[choices_[d]] =
            static_cast<std::int64_t>(std::clamp(std::floor(point[d] * values), 0.0, values - 1));
    }
    if (!space_.validate(config).ok())
        return std::nullopt;
    return config;
}

} // namespace tunesmith
