// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <span>
#include <string>

namespace tunesmith {

// A sentence about what a file is that is no ONNX model, and the remedy: a Git LFS pointer, a web page, an archive, a model of
// another format, half a model, two models in one file. Empty where nothing is recognised. `begin` is how the file begins,
// `size` how long all of it is.
std::string foreignKind(std::span<const std::byte> begin);
std::string damageOf(std::span<const std::byte> begin, std::size_t size);
// Whether a model holds bodies within bodies deeper than protobuf reads messages.
bool nestsTooDeep(std::span<const std::byte> bytes);

} // namespace tunesmith
