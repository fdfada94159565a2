// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/rng.h"
#include "core/loops/evaluate.h"
#include "core/te/definition.h"
#include "tests/take.h"

// Texts of tensor expressions, read, lowered and evaluated.
namespace tunesmith {

// What is wrong with a text at its default sizes; empty if nothing is.
inline std::string problemOf(const std::string& text) {
    const auto definition = te::readDefinition(text, "f.te");
    if (!definition.ok())
        return definition.error().message;
    const Status sizes = te::checkSizes(*definition, te::defaultSizes(*definition));
    return sizes.ok() ? std::string() : sizes.error().message;
}

inline std::vector<Tensor> evaluateText(const std::string& text, const std::vector<Tensor>& inputs) {
    const auto definition = take(te::readDefinition(text, "f.te"));
    return take(loops::evaluate(take(te::lowerDefinition(definition, te::defaultSizes(definition))), inputs));
}

inline Tensor randomFloats(Rng& rng, const Shape& shape) {
    Tensor tensor = Tensor::zeros(DType::f32, shape);
    for (float& value : tensor.mutableData<float>())
        value = rng.uniform(-1.0f, 1.0f);
    return tensor;
}

} // namespace tunesmith
