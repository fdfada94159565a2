// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Debian's generated classes of the ONNX schema. Included by the .cpp files of this folder only: a second
// generated copy of package `onnx` in one process aborts it, and the header takes seconds to compile.
#include <onnx/onnx_pb.h>
#include <onnx/onnx-data_pb.h>

namespace tunesmith {

// Attributes that a Graph has no form for (types, sparse tensors) travel as text: this prefix and the
// serialized message.
inline constexpr char kOpaqueAttribute[] = "onnx.AttributeProto:";

} // namespace tunesmith
