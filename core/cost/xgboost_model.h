// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include "core/cost/learned_model.h"

namespace tunesmith {

// Gradient-boosted trees that learn the order within each group (objective rank:pairwise), through XGBoost's
// C API. Same set, seed and thread count: same model, bit for bit. Only in builds with TUNESMITH_XGBOOST.
class XgboostModel : public CostModel {
public:
    explicit XgboostModel(LearnedModelOptions options = {});
    ~XgboostModel() override;

    static std::string libraryVersion();

    std::string name() const override { return "xgboost"; }
    Status fit(const TrainingSet& set) override;
    bool fitted() const override { return booster_ != nullptr; }
    Result<std::vector<float>> predict(const FeatureMatrix& features) const override;
    Result<std::string> save() const override;
    Status load(std::string_view bytes) override;

private:
    struct Booster;
    Status configure(Booster& booster) const;

    LearnedModelOptions options_;
    std::unique_ptr<Booster> booster_;
    std::size_t columns_ = 0;
    int version_ = 0;
};

} // namespace tunesmith
