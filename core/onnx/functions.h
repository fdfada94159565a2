// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"

namespace onnx {
class ModelProto;
} // namespace onnx

namespace tunesmith {

// Functions that a model brings along (IR version 8 and later): each call is replaced by the function's nodes, with the
// attributes of the call, functions within functions included. A call of itself, a function without a body, or a model that
// would grow without bound is an Error that names the function.
Status inlineFunctions(onnx::ModelProto& model);

} // namespace tunesmith
