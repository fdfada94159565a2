// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/search/cost_model.h"

namespace tunesmith {

// Ridge regression on standardised features with the mean of each group taken off the labels: a weak ranker
// (additive, no interactions) that needs no library and keeps the guided strategy at work in builds without
// XGBoost. O(rows * columns^2 + columns^3).
class RidgeModel : public CostModel {
public:
    explicit RidgeModel(double lambda = 1.0) : lambda_(lambda) {}

    std::string name() const override { return "ridge"; }
    Status fit(const TrainingSet& set) override;
    bool fitted() const override { return columns_ > 0; }
    Result<std::vector<float>> predict(const FeatureMatrix& features) const override;
    Result<std::string> save() const override;
    Status load(std::string_view bytes) override;

private:
    double lambda_;
    std::size_t columns_ = 0;
    int version_ = 0;
    std::vector<double> weights_; // of the raw features
    double offset_ = 0;
};

} // namespace tunesmith
