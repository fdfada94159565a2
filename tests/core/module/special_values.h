// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/rng.h"
#include "core/graph/float_to_int.h"
#include "core/graph/tensor.h"

// The values on which engines part: NaN, infinities, signed zeros, subnormals, halves, the limits of integers.
namespace tunesmith::testing {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A tensor of a type whose elements follow from doubles; integers of 64 bits that doubles do not hold are written apart.
inline Tensor tensorOf(DType type, const Shape& shape, const std::vector<double>& values) {
    return Tensor::of<double>(shape, values).cast(type);
}

// Numbers of moderate size, halves among them.
inline Tensor moderate(Rng& rng, DType type, const Shape& shape) {
    Tensor tensor = Tensor::zeros(DType::f64, shape);
    const double low = isSigned(type) || isFloat(type) ? -3 : 0;
    for (double& value : tensor.mutableData<double>())
        value = std::floor((low + rng.uniform() * (4 - low)) * 8) / (isFloat(type) ? 8 : 2);
    return tensor.cast(type);
}

inline Tensor specialFloats(DType type) {
    const double least = type == DType::f16 ? 6e-8 : type == DType::f64 ? 5e-324 : 1.4e-45;
    const double most = type == DType::f16 ? 60000 : 1e30;
    return tensorOf(type, {27}, {kNan, kInfinity, -kInfinity, 0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -7, 0.125, least, -least,
                                 1e-6, 20, -20, 80, -110, most, -most, 2, 1000, -1.25});
}

inline Tensor specialIntegers(DType type) {
    std::vector<std::int64_t> values{0, 1, 2, 3, 7, 64, 100};
    const std::int64_t bits = static_cast<std::int64_t>(byteSize(type)) * 8;
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - bits), top = all / 2;
    for (const std::uint64_t limit : {all, all - 1, top, top - 1, top + 1, top + 2})
        values.push_back(static_cast<std::int64_t>(limit));
    return Tensor::ofInts(values).cast(type); // keeps the low bits
}

// All special values of a type, in one dimension.
inline Tensor specials(DType type) {
    if (type == DType::boolean)
        return tensorOf(type, {2}, {0, 1});
    return isFloat(type) ? specialFloats(type) : specialIntegers(type);
}

// The elements of `values` at index(i) for every element i of a shape.
template <class Index> Tensor picked(const Tensor& values, const Shape& shape, Index index) {
    Tensor out = Tensor::zeros(values.type(), shape);
    const std::size_t width = byteSize(values.type());
    for (std::int64_t i = 0; i < out.count(); ++i)
        std::copy_n(values.bytes().data() + static_cast<std::size_t>(index(i)) * width, width, out.mutableBytes().data() + static_cast<std::size_t>(i) * width);
    return out;
}

inline Tensor everySpecial(DType type, const Shape& shape, std::int64_t first = 0) {
    const Tensor values = specials(type);
    return picked(values, shape, [&](std::int64_t i) { return (first + i) % values.count(); });
}

inline bool hasSquare(double x) { return x == 0 || !std::isfinite(x) || (std::fabs(x) < 900 && std::fabs(x) > 1e-10); }

// Moderate numbers with one special value in each row of the last dimension, now here, now there; rows without any lie between. `squares`: numbers whose
// square a float does not hold are left out.
inline Tensor rowsWithSpecials(DType type, const Shape& shape, bool squares = false) {
    Rng rng(31);
    Tensor out = moderate(rng, type, shape);
    if (type == DType::boolean)
        return everySpecial(type, shape);
    const Tensor values = specials(type);
    const std::int64_t length = shape.empty() ? 1 : shape.back();
    const std::size_t width = byteSize(type);
    std::int64_t next = 0;
    for (std::int64_t row = 0; length > 0 && row < out.count() / length; ++row) {
        if (row % 5 == 4)
            continue;
        while (squares && isFloat(type) && !hasSquare(values.asDouble(next % values.count())))
            ++next;
        const std::int64_t place = row % 3 == 0 ? length - 1 : (row * 7) % length, value = next++ % values.count();
        std::copy_n(values.bytes().data() + static_cast<std::size_t>(value) * width, width,
                    out.mutableBytes().data() + static_cast<std::size_t>(row * length + place) * width);
    }
    return out;
}

} // namespace tunesmith::testing
