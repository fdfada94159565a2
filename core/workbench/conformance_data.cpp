// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/conformance_data.h"

#include <algorithm>

#include "core/onnx/import.h"
#include "core/ops/operator.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;

Tensor asDeclared(Tensor tensor, const TensorType& declared) {
    if (declared.dtype != DType::bf16 || tensor.type() != DType::u16)
        return tensor;
    Tensor bits = Tensor::zeros(DType::bf16, tensor.shape());
    std::ranges::copy(tensor.bytes(), bits.mutableBytes().begin());
    return bits;
}

bool draws(const Graph& graph);

bool draws(const Node& node) {
    const Operator* op = findOperator(node.op, node.domain);
    if (op && !op->deterministic)
        return true;
    return std::ranges::any_of(node.attributes, [](const auto& entry) {
        const auto* body = std::get_if<std::shared_ptr<const Graph>>(&entry.second);
        return body && draws(**body);
    });
}

bool draws(const Graph& graph) {
    return std::ranges::any_of(graph.nodes(), [](const auto& node) { return draws(*node); });
}

} // namespace

Result<std::vector<Tensor>> readCaseData(const fs::path& set, const std::string& stem, const Graph& graph,
                                         const std::vector<ValueId>& values) {
    std::vector<Tensor> tensors;
    std::error_code error;
    for (std::size_t i = 0;; ++i) {
        const fs::path file = set / (stem + "_" + std::to_string(i) + ".pb");
        if (!fs::exists(file, error))
            return tensors;
        const TensorType type = i < values.size() ? graph.value(values[i]).type : TensorType();
        TS_ASSIGN(Tensor tensor, readTensorProto(file, type));
        tensors.push_back(asDeclared(std::move(tensor), type));
    }
}

std::vector<bool> drawnOutputs(const Graph& graph) {
    std::vector<bool> reads(graph.nodeCount(), false), drawn(graph.valueCount(), false);
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        if (!reads[i] && !draws(*graph.nodes()[i]))
            continue;
        for (const ValueId output : graph.nodes()[i]->outputs) {
            if (!output.valid())
                continue;
            drawn[output.index()] = true;
            for (const NodeId consumer : graph.consumers(output)) // also those whose bodies capture it
                reads[consumer.index()] = true;
        }
    }
    std::vector<bool> outputs;
    for (const ValueId id : graph.outputs())
        outputs.push_back(drawn[id.index()]);
    return outputs;
}

} // namespace tunesmith
