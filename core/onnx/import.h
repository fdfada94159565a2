// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <span>

#include "core/base/result.h"
#include "core/base/stop_token.h"
#include "core/graph/graph.h"

namespace tunesmith {

struct ImportOptions {
    StopToken stop;
};

// Reads an ONNX model: IR versions 3 to 14, opsets 1 to 28 of the default domain, of which those before 7
// become opset 7 (upgrade.h); nodes of other domains and of unknown operators are kept as they are. Weights
// become constants (moved, or mapped from external data files), also those that are the output of a Constant
// node. Since IR version 4 an initializer that is listed as an input is an input with a default value; in a file that lists
// all its weights, as exporters did by habit, they are constants (Value::listed). Subgraphs of If, Loop and Scan become Graph attributes whose
// captures carry the names of the values around them, in alphabetical order. Errors are one sentence that
// names the file; a file that is damaged, hostile or of another kind is refused.
Result<Graph> importOnnx(const std::filesystem::path& path, const ImportOptions& options = {});

// The same from memory. `folder` is where external data is looked for; empty: there is none.
Result<Graph> importOnnxBytes(std::span<const std::byte> bytes, const std::filesystem::path& folder = {},
                              const ImportOptions& options = {});

// A stored tensor (TensorProto), as the test data of ONNX has them. A sequence or an optional value, whose files
// look no different from outside, is read where `type` says that it is one; else it is told from a damaged tensor
// and is an unsupported error.
Result<Tensor> readTensorProto(const std::filesystem::path& path, const TensorType& type = {});

} // namespace tunesmith
