// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cassert>
#include <cstddef>
#include <span>
#include <vector>

namespace tunesmith {

// Features of a batch of configs, dense and row-major: what spaces give and cost models read. `version` names
// the meaning of the columns; it is stored with models and trials, and a model refuses features of another
// version.
struct FeatureMatrix {
    std::size_t rows = 0;
    std::size_t columns = 0;
    int version = 0;
    std::vector<float> values; // rows * columns

    FeatureMatrix() = default;
    FeatureMatrix(std::size_t rowCount, std::size_t columnCount, int featureVersion)
        : rows(rowCount), columns(columnCount), version(featureVersion),
          values(rowCount * columnCount, 0.0f) {}

    std::span<float> row(std::size_t i) {
        return assert(i < rows), std::span(values).subspan(i * columns, columns);
    }
    std::span<const float> row(std::size_t i) const {
        return assert(i < rows), std::span(values).subspan(i * columns, columns);
    }

    // Adds the rows of `other`, which must have the same columns and version unless this one is empty.
    void append(const FeatureMatrix& other) {
        if (rows == 0) {
            *this = other;
            return;
        }
        assert(columns == other.columns && version == other.version);
        values.insert(values.end(), other.values.begin(), other.values.end());
        rows += other.rows;
    }

    FeatureMatrix head(std::size_t count) const { // its first rows
        assert(count <= rows);
        FeatureMatrix out(0, columns, version);
        out.rows = count;
        out.values.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count * columns));
        return out;
    }
};

} // namespace tunesmith
