// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/base/result.h"

namespace onnx {
class ModelProto;
} // namespace onnx

namespace tunesmith {

// Reads a model that we wrote as another program does: with the checker and the strict shape inference of the ONNX library.
// Our own importer says nothing about a file of ours, for it makes the same mistakes twice. The library may be older than the
// model; nodes that it does not know, or knows only in an older form, are left out of the check, all others are checked.
// Gives a sentence about what was checked. The message is taken apart on the way.
Result<std::string> readAgain(onnx::ModelProto& model);

} // namespace tunesmith
