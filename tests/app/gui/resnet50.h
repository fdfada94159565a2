// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>

#include "core/base/result.h"

namespace tunesmith {

// ResNet-50 with random weights as an ONNX file of 102 MB: the size of a network that people bring. Its batch
// normalisations are nodes of their own.
Status writeResnet50(const std::filesystem::path& file);
constexpr int kResnet50Nodes = 53 + 53 + 49 + 16 + 4; // Conv, BatchNormalization, Relu, Add, the rest

} // namespace tunesmith
