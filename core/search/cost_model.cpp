// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/cost_model.h"

#include <numeric>

namespace tunesmith {

Status TrainingSet::check() const {
    const std::uint64_t grouped = std::accumulate(groups.begin(), groups.end(), std::uint64_t{0});
    if (features.rows == 0 || features.columns == 0)
        return inputError("a cost model cannot be fitted to nothing");
    if (labels.size() != features.rows || grouped != features.rows)
        return inputError("a training set of " + std::to_string(features.rows) + " rows has " +
                          std::to_string(labels.size()) + " labels and groups of " + std::to_string(grouped));
    return {};
}

void TrainingSet::append(const TrainingSet& other) {
    features.append(other.features);
    labels.insert(labels.end(), other.labels.begin(), other.labels.end());
    groups.insert(groups.end(), other.groups.begin(), other.groups.end());
}

} // namespace tunesmith
