// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/onnx/tensor_proto.h"

namespace onnx {
class GraphProto;
} // namespace onnx

namespace tunesmith {

// Graph to GraphProto, subgraphs included: nodes in their order, constants as initializers, types of the
// values between.
Status writeGraph(const Graph& graph, onnx::GraphProto& proto, ExternalSink* sink);

// Bytes of all constants and tensor attributes, subgraphs included.
std::uint64_t weightBytes(const Graph& graph);
// Those of them that are in memory once and in a model without external data more often.
std::uint64_t repeatedBytes(const Graph& graph);

} // namespace tunesmith
