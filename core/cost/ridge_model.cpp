// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cost/ridge_model.h"

#include <cmath>
#include <cstring>

#include "core/cost/model_bytes.h"

namespace tunesmith {
namespace {

using Matrix = std::vector<double>; // n x n, row-major

// Solves A x = b for a symmetric positive definite A, in place (Cholesky).
std::vector<double> solve(Matrix a, std::vector<double> b) {
    const std::size_t n = b.size();
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k < j; ++k)
            for (std::size_t i = j; i < n; ++i)
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
        const double root = std::sqrt(a[j * n + j]);
        for (std::size_t i = j; i < n; ++i)
            a[i * n + j] /= root;
    }
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < i; ++k)
            b[i] -= a[i * n + k] * b[k];
        b[i] /= a[i * n + i];
    }
    for (std::size_t i = n; i-- > 0;) {
        for (std::size_t k = i + 1; k < n; ++k)
            b[i] -= a[k * n + i] * b[k];
        b[i] /= a[i * n + i];
    }
    return b;
}

struct Scale {
    std::vector<double> mean, inverse; // inverse deviation; 0 for a constant column
};

Scale scaleOf(const FeatureMatrix& features) {
    const double rows = static_cast<double>(features.rows);
    Scale scale{std::vector<double>(features.columns), std::vector<double>(features.columns)};
    std::vector<double> squares(features.columns);
    for (std::size_t r = 0; r < features.rows; ++r)
        for (std::size_t c = 0; c < features.columns; ++c)
            scale.mean[c] += static_cast<double>(features.row(r)[c]) / rows;
    for (std::size_t r = 0; r < features.rows; ++r)
        for (std::size_t c = 0; c < features.columns; ++c)
            squares[c] += std::pow(static_cast<double>(features.row(r)[c]) - scale.mean[c], 2) / rows;
    for (std::size_t c = 0; c < features.columns; ++c)
        scale.inverse[c] = squares[c] > 1e-12 ? 1 / std::sqrt(squares[c]) : 0.0;
    return scale;
}

std::vector<double> centredLabels(const TrainingSet& set) {
    std::vector<double> out;
    for (const std::uint32_t group : set.groups) {
        const auto begin = set.labels.begin() + static_cast<std::ptrdiff_t>(out.size());
        double mean = 0;
        for (auto it = begin; it != begin + group; ++it)
            mean += static_cast<double>(*it) / group;
        for (auto it = begin; it != begin + group; ++it)
            out.push_back(static_cast<double>(*it) - mean);
    }
    return out;
}

} // namespace

Status RidgeModel::fit(const TrainingSet& set) {
    TS_TRY(set.check());
    const std::size_t n = set.features.columns;
    const Scale scale = scaleOf(set.features);
    const std::vector<double> labels = centredLabels(set);
    Matrix gram(n * n);
    std::vector<double> moment(n), row(n);
    for (std::size_t r = 0; r < set.features.rows; ++r) {
        for (std::size_t c = 0; c < n; ++c)
            row[c] = (static_cast<double>(set.features.row(r)[c]) - scale.mean[c]) * scale.inverse[c];
        for (std::size_t i = 0; i < n; ++i) {
            moment[i] += row[i] * labels[r];
            for (std::size_t j = 0; j <= i; ++j)
                gram[i * n + j] += row[i] * row[j];
        }
    }
    for (std::size_t i = 0; i < n; ++i)
        gram[i * n + i] += lambda_;
    weights_ = solve(std::move(gram), std::move(moment));
    offset_ = 0;
    for (std::size_t c = 0; c < n; ++c) {
        weights_[c] *= scale.inverse[c];
        offset_ -= weights_[c] * scale.mean[c];
    }
    columns_ = n;
    version_ = set.features.version;
    return {};
}

Result<std::vector<float>> RidgeModel::predict(const FeatureMatrix& features) const {
    if (!fitted())
        return internalError("cost model ridge is asked before it was trained");
    TS_TRY(checkFeatures(name(), version_, columns_, features.version, features.columns));
    std::vector<float> out;
    for (std::size_t r = 0; r < features.rows; ++r) {
        double sum = offset_;
        for (std::size_t c = 0; c < columns_; ++c)
            sum += weights_[c] * static_cast<double>(features.row(r)[c]);
        out.push_back(static_cast<float>(sum));
    }
    return out;
}

Result<std::string> RidgeModel::save() const {
    if (!fitted())
        return internalError("cost model ridge is saved before it was trained");
    ModelBytes bytes{name(), version_, static_cast<std::uint32_t>(columns_), {}};
    bytes.body.resize((columns_ + 1) * sizeof(double));
    std::memcpy(bytes.body.data(), weights_.data(), columns_ * sizeof(double));
    std::memcpy(bytes.body.data() + columns_ * sizeof(double), &offset_, sizeof(double));
    return bytes.pack();
}

Status RidgeModel::load(std::string_view text) {
    TS_ASSIGN(const ModelBytes bytes, ModelBytes::unpack(text, name()));
    if (bytes.columns == 0 || bytes.body.size() != (bytes.columns + std::size_t{1}) * sizeof(double))
        return inputError("the saved cost model is damaged: train it again");
    columns_ = bytes.columns;
    version_ = bytes.featureVersion;
    weights_.resize(columns_);
    std::memcpy(weights_.data(), bytes.body.data(), columns_ * sizeof(double));
    std::memcpy(&offset_, bytes.body.data() + columns_ * sizeof(double), sizeof(double));
    return {};
}

} // namespace tunesmith
