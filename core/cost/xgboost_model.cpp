// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cost/xgboost_model.h"

#include <xgboost/c_api.h>

#include <cmath>
#include <limits>
#include <utility>

#include "core/cost/model_bytes.h"

namespace tunesmith {
namespace {

Status checked(int code) {
    if (code == 0)
        return {};
    std::string message = XGBGetLastError();
    return internalError("XGBoost: " + message.substr(0, message.find('\n')));
}

struct Matrix {
    DMatrixHandle handle = nullptr;
    Matrix() = default;
    Matrix(const Matrix&) = delete;
    Matrix& operator=(const Matrix&) = delete;
    ~Matrix() {
        if (handle)
            XGDMatrixFree(handle);
    }
};

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

Status fill(Matrix& matrix, const FeatureMatrix& features, int threads) {
    return checked(XGDMatrixCreateFromMat_omp(features.values.data(), features.rows, features.columns,
                                              kMissing, &matrix.handle, threads));
}

// XGBoost reads plain memory through a JSON description of it.
std::string arrayInterface(const FeatureMatrix& features) {
    return "{\"data\":[" + std::to_string(reinterpret_cast<std::uintptr_t>(features.values.data())) +
           ",true],\"shape\":[" + std::to_string(features.rows) + "," + std::to_string(features.columns) +
           "],\"typestr\":\"<f4\",\"version\":3}";
}

} // namespace

struct XgboostModel::Booster {
    BoosterHandle handle = nullptr;
    Booster() = default;
    Booster(const Booster&) = delete;
    Booster& operator=(const Booster&) = delete;
    ~Booster() {
        if (handle)
            XGBoosterFree(handle);
    }
};

XgboostModel::XgboostModel(LearnedModelOptions options) : options_(options) {}

XgboostModel::~XgboostModel() = default;

std::string XgboostModel::libraryVersion() {
    int major = 0, minor = 0, patch = 0;
    XGBoostVersion(&major, &minor, &patch);
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

Status XgboostModel::configure(Booster& booster) const {
    const std::pair<const char*, std::string> parameters[] = {
        {"verbosity", "0"},
        {"nthread", std::to_string(options_.threads)},
        {"seed", std::to_string(options_.seed & 0x7fffffff)},
        {"objective", "rank:pairwise"},
        {"num_pairsample", std::to_string(options_.pairs)},
        {"tree_method", "hist"},
        {"max_bin", std::to_string(options_.maxBin)},
        {"max_depth", std::to_string(options_.maxDepth)},
        {"eta", std::to_string(options_.eta)},
        {"gamma", std::to_string(options_.gamma)},
        {"min_child_weight", "1"},
    };
    for (const auto& [name, value] : parameters)
        TS_TRY(checked(XGBoosterSetParam(booster.handle, name, value.c_str())));
    return {};
}

Status XgboostModel::fit(const TrainingSet& set) {
    TS_TRY(set.check());
    Matrix matrix;
    TS_TRY(fill(matrix, set.features, options_.threads));
    TS_TRY(checked(XGDMatrixSetFloatInfo(matrix.handle, "label", set.labels.data(), set.labels.size())));
    TS_TRY(checked(XGDMatrixSetUIntInfo(matrix.handle, "group", set.groups.data(), set.groups.size())));
    auto booster = std::make_unique<Booster>();
    TS_TRY(checked(XGBoosterCreate(&matrix.handle, 1, &booster->handle)));
    TS_TRY(configure(*booster));
    for (int round = 0; round < options_.rounds; ++round)
        TS_TRY(checked(XGBoosterUpdateOneIter(booster->handle, round, matrix.handle)));
    booster_ = std::move(booster);
    columns_ = set.features.columns;
    version_ = set.features.version;
    return {};
}

Result<std::vector<float>> XgboostModel::predict(const FeatureMatrix& features) const {
    if (!fitted())
        return internalError("cost model xgboost is asked before it was trained");
    TS_TRY(checkFeatures(name(), version_, columns_, features.version, features.columns));
    if (features.rows == 0)
        return std::vector<float>();
    const std::string array = arrayInterface(features);
    const char* config =
        R"({"type":1,"iteration_begin":0,"iteration_end":0,"strict_shape":false,"missing":NaN,"cache_id":0})";
    const bst_ulong* shape = nullptr;
    bst_ulong dimensions = 0;
    const float* scores = nullptr;
    TS_TRY(checked(XGBoosterPredictFromDense(booster_->handle, array.c_str(), config, nullptr, &shape,
                                             &dimensions, &scores)));
    return std::vector<float>(scores, scores + features.rows);
}

Result<std::string> XgboostModel::save() const {
    if (!fitted())
        return internalError("cost model xgboost is saved before it was trained");
    bst_ulong size = 0;
    const char* data = nullptr;
    TS_TRY(checked(XGBoosterSaveModelToBuffer(booster_->handle, R"({"format":"ubj"})", &size, &data)));
    return ModelBytes{name(), version_, static_cast<std::uint32_t>(columns_), std::string(data, size)}.pack();
}

Status XgboostModel::load(std::string_view text) {
    TS_ASSIGN(const ModelBytes bytes, ModelBytes::unpack(text, name()));
    auto booster = std::make_unique<Booster>();
    TS_TRY(checked(XGBoosterCreate(nullptr, 0, &booster->handle)));
    TS_TRY(checked(XGBoosterLoadModelFromBuffer(booster->handle, bytes.body.data(), bytes.body.size())));
    TS_TRY(checked(XGBoosterSetParam(booster->handle, "nthread", std::to_string(options_.threads).c_str())));
    booster_ = std::move(booster);
    columns_ = bytes.columns;
    version_ = bytes.featureVersion;
    return {};
}

} // namespace tunesmith
