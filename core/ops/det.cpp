// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "core/ops/kernel.h"
#include "core/ops/rules.h"

// Det: the determinants of the matrices [..., M, M], by elimination with partial pivoting.
namespace tunesmith::ops {
namespace {

Status inferDet(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (!in.type(0).dims)
        return {};
    const Dims& x = *in.type(0).dims;
    if (x.size() < 2 || !mergeEqual(x[x.size() - 2], x.back()))
        return in.error("input " + in.type(0).text() + " holds no square matrices");
    in.outputs[0].dims = Dims(x.begin(), x.end() - 2);
    return {};
}

double determinant(std::vector<double> a, std::size_t size) {
    double product = 1;
    for (std::size_t column = 0; column < size; ++column) {
        std::size_t pivot = column;
        for (std::size_t row = column + 1; row < size; ++row)
            if (std::fabs(a[row * size + column]) > std::fabs(a[pivot * size + column]))
                pivot = row;
        const double top = a[pivot * size + column];
        if (top == 0)
            return 0;
        if (pivot != column) {
            std::swap_ranges(&a[pivot * size], &a[pivot * size] + size, &a[column * size]);
            product = -product;
        }
        product *= top;
        for (std::size_t row = column + 1; row < size; ++row) {
            const double factor = a[row * size + column] / top;
            for (std::size_t i = column; i < size; ++i)
                a[row * size + i] -= factor * a[column * size + i];
        }
    }
    return product;
}

Status evalDet(EvalContext& context) {
    const Tensor x = context.input(0).cast(DType::f64);
    const auto size = static_cast<std::size_t>(x.shape().back());
    const auto elements = x.data<double>();
    visitFloat(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        std::size_t start = 0;
        for (T& value : context.outputs[0].mutableData<T>()) {
            const auto matrix = elements.subspan(start, size * size);
            value = static_cast<T>(determinant({matrix.begin(), matrix.end()}, size));
            start += size * size;
        }
    });
    return {};
}

} // namespace

void registerDet(OperatorList& list) {
    addOperator(list, "Det", Fusion::opaque, 11, {1, 1}, inferDet, evalDet);
    list.back().steps = [](const OpInputs& in) { // elimination of each matrix
        const Shape shape = in.type(0).shape();
        return shape.empty() ? 0.0 : static_cast<double>(elementCount(shape)) * static_cast<double>(shape.back());
    };
}

} // namespace tunesmith::ops
