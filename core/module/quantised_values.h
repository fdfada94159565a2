// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>

#include "core/graph/graph.h"

namespace tunesmith {

// Inside core/module only: quantised values of a graph whose parameters are constant.

// A tensor of bytes, or int32 of a bias, and how real numbers are made of it.
struct QuantisedValue {
    ValueId stored, scale, zero; // zero may be absent
    DType type = DType::undefined;
    std::int64_t axis = -1; // that scales are along; -1: one for all
};

// Reads of a product: bytes, weights whose scales are along the outputs if anything, and a bias in int32 at the products' scale, or none.
struct QuantisedOperands {
    QuantisedValue x, w;
    Tensor bias;
};

class QuantisedReader {
public:
    explicit QuantisedReader(const Graph& graph) : graph_(graph) {}

    // Parameters of a QuantizeLinear or DequantizeLinear; none where scales are no floats above 0, or by block.
    std::optional<QuantisedValue> parameters(const Node& node, ValueId stored) const;

    // Of a Conv, MatMul or Gemm; none where sums might leave int32, in which floats would go on.
    std::optional<QuantisedOperands> operandsOf(const Node& product) const;

    // Whether scales of products, in units of the result or of real numbers, can be told from 0.
    bool hasFactors(const QuantisedOperands& operands, const std::optional<QuantisedValue>& result) const;

    std::int64_t zeroOf(const QuantisedValue& value) const;
    float scaleOf(const QuantisedValue& value, std::int64_t i) const;

private:
    const Tensor& constant(ValueId id) const { return graph_.value(id).constant; }
    const TensorType& typeOf(ValueId id) const { return graph_.value(id).type; }
    bool isConstant(const Node& node, std::size_t input) const { return node.hasInput(input) && graph_.value(node.inputs[input]).isConstant(); }
    std::optional<QuantisedValue> dequantised(ValueId real) const;
    Tensor biasOf(ValueId id, const QuantisedValue& x, const QuantisedValue& w) const;
    Tensor realConstant(ValueId id) const;

    const Graph& graph_;
};

bool isPlain(const Node& node, const char* op); // an operator of ONNX itself

} // namespace tunesmith
