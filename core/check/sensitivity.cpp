// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/sensitivity.h"

#include <algorithm>

#include "core/base/rng.h"

namespace tunesmith {
namespace {

template <class T> Tensor nudged(const Tensor& tensor, Rng& rng) {
    Tensor moved = Tensor::zeros(tensor.type(), tensor.shape());
    std::ranges::transform(tensor.data<T>(), moved.mutableData<T>().begin(),
                           [&](T value) { return static_cast<T>(value * (1 + kNudge * (2 * rng.uniform() - 1))); });
    return moved;
}

} // namespace

std::vector<Tensor> nudgedInputs(std::span<const Tensor> inputs, std::uint64_t seed) {
    Rng rng(seed);
    std::vector<Tensor> moved;
    for (const Tensor& input : inputs)
        moved.push_back(input.type() == DType::f32   ? nudged<float>(input, rng)
                        : input.type() == DType::f64 ? nudged<double>(input, rng)
                                                     : input);
    return moved;
}

Tolerance toleranceOfSensitive(std::span<const Tensor> outputs, std::span<const Tensor> nudgedOutputs) {
    constexpr double kMost = 1e-2;
    Tolerance tolerance;
    for (const Difference& difference : compareTensors(outputs, nudgedOutputs))
        if (difference.scale > 0)
            tolerance.absolute = std::max(tolerance.absolute, std::min(kMost, kSensitivityFactor * difference.maxAbs / difference.scale));
    return tolerance;
}

} // namespace tunesmith
