// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/base/result.h"
#include "core/graph/tensor.h"
#include "core/process/message.h"

namespace tunesmith {

// Tensors in messages between the workbench and its workers: {"type": "float32", "shape": [1, 3], "blob": 0}
// in the body and the raw bytes as that blob. Everything that arrives is checked, because a worker's memory
// may be in any state, and no two tensors of a list have one blob, which would be copied for each. Strings cannot travel.
Result<nlohmann::json> putTensor(Message& message, const Tensor& tensor);
Result<nlohmann::json> putTensors(Message& message,
                                  const std::vector<Tensor>& tensors); // a list of the above
Result<Tensor> takeTensor(const Message& message, const nlohmann::json& entry);
Result<std::vector<Tensor>> takeTensors(const Message& message, const nlohmann::json& list);

} // namespace tunesmith
