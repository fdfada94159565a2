// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cost/learned_model.h"

#ifdef TUNESMITH_HAVE_XGBOOST
#include "core/cost/xgboost_model.h"
#else
#include "core/cost/ridge_model.h"
#endif

namespace tunesmith {

#ifdef TUNESMITH_HAVE_XGBOOST
std::unique_ptr<CostModel> makeLearnedModel(const LearnedModelOptions& options) {
    return std::make_unique<XgboostModel>(options);
}

std::string learnedModelDescription() {
    return "gradient-boosted trees (XGBoost " + XgboostModel::libraryVersion() + ")";
}
#else
std::unique_ptr<CostModel> makeLearnedModel(const LearnedModelOptions&) {
    return std::make_unique<RidgeModel>();
}

std::string learnedModelDescription() {
    return "ridge regression (this build has no XGBoost; searches need more trials)";
}
#endif

} // namespace tunesmith
