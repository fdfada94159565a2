// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/search/feature_matrix.h"

namespace tunesmith {

// Rows to learn from. Labels compare only within a group (one workload on one target): higher is better, 0 a
// failure, 1 the best of its group. `groups` are the numbers of rows of the groups, one after the other.
struct TrainingSet {
    FeatureMatrix features;
    std::vector<float> labels;
    std::vector<std::uint32_t> groups;

    Status check() const; // do the sizes fit together?
    void append(const TrainingSet& other);
};

// Orders configs without running them. Declared here, where strategies need it, and implemented in core/cost,
// because a strategy must not know which model it is guided by. In batches, because that is what makes it
// cheap. predict() is const and may be called from several threads; all else is for one thread.
class CostModel {
public:
    virtual ~CostModel() = default;

    virtual std::string name() const = 0;
    virtual Status
    fit(const TrainingSet& set) = 0; // from scratch; same set, same model. On error the old model stays
    virtual bool fitted() const = 0;
    // One score per row, higher is better; only their order within one call means something. Refuses features
    // of another version or width than the model was fitted with.
    virtual Result<std::vector<float>> predict(const FeatureMatrix& features) const = 0;
    virtual Result<std::string> save() const = 0; // bytes, with the version of the features
    virtual Status load(std::string_view bytes) = 0;
};

} // namespace tunesmith
