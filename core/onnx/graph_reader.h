// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <string>

#include "core/base/result.h"
#include "core/base/stop_token.h"
#include "core/graph/graph.h"
#include "core/onnx/tensor_proto.h"

namespace onnx {
class GraphProto;
} // namespace onnx

namespace tunesmith {

struct ReaderContext {
    TensorReader& tensors;
    const std::map<std::string, std::int64_t>& opsets;
    const std::map<std::string, std::string>& metadata;
    StopToken stop;
    bool defaults = false; // an initializer that is listed as an input is the value that holds where none is given (IR 4)
};

// The outermost graph of a model; its data is taken out of the message.
Result<Graph> readGraph(onnx::GraphProto& proto, const ReaderContext& context);

} // namespace tunesmith
