// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "core/ops/contrib/contrib.h"

// Inverse: the inverses of the matrices [..., M, M], by elimination with partial pivoting. That of a matrix
// that has none holds what is no number.
namespace tunesmith::ops {
namespace {

Status inferInverse(InferContext& in) {
    TS_TRY(inferFloatUnary(in));
    if (!in.type(0).dims)
        return {};
    const Dims& x = *in.type(0).dims;
    return x.size() >= 2 && mergeEqual(x[x.size() - 2], x.back())
               ? Status()
               : Status(in.error("input " + in.type(0).text() + " holds no square matrices"));
}

// Rows of a matrix and of what becomes its inverse.
class Elimination {
public:
    Elimination(const double* matrix, std::size_t size) : size_(size), rows_(size * 2 * size) {
        for (std::size_t row = 0; row < size; ++row) {
            std::copy_n(matrix + row * size, size, this->row(row));
            this->row(row)[size + row] = 1;
        }
    }

    void run() {
        for (std::size_t column = 0; column < size_; ++column) {
            bringUpPivot(column);
            double* const pivot = row(column);
            const double top = pivot[column];
            std::for_each(pivot, pivot + 2 * size_, [top](double& value) { value /= top; });
            for (std::size_t other = 0; other < size_; ++other)
                if (other != column)
                    subtract(other, row(other)[column], pivot);
        }
    }
    double inverse(std::size_t row, std::size_t column) { return this->row(row)[size_ + column]; }

private:
    double* row(std::size_t index) { return rows_.data() + index * 2 * size_; }
    void bringUpPivot(std::size_t column) {
        std::size_t best = column;
        for (std::size_t other = column + 1; other < size_; ++other)
            if (std::fabs(row(other)[column]) > std::fabs(row(best)[column]))
                best = other;
        if (best != column)
            std::swap_ranges(row(best), row(best) + 2 * size_, row(column));
    }
    void subtract(std::size_t target, double factor, const double* pivot) {
        for (std::size_t i = 0; i < 2 * size_; ++i)
            row(target)[i] -= factor * pivot[i];
    }

    std::size_t size_;
    std::vector<double> rows_;
};

Status evalInverse(EvalContext& context) {
    const Tensor x = context.input(0).cast(DType::f64);
    const auto size = static_cast<std::size_t>(x.shape().back());
    Tensor y = Tensor::zeros(DType::f64, x.shape());
    for (std::size_t start = 0; start < static_cast<std::size_t>(x.count()); start += size * size) {
        Elimination elimination(x.data<double>().data() + start, size);
        elimination.run();
        for (std::size_t i = 0; i < size * size; ++i)
            y.mutableData<double>()[start + i] = elimination.inverse(i / size, i % size);
    }
    context.outputs[0] = y.cast(context.outputs[0].type());
    return {};
}

} // namespace

void registerContribInverse(OperatorList& list) {
    addReference(list, "Inverse", {1, 1}, inferInverse, evalInverse);
}

} // namespace tunesmith::ops
