// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/te/ast.h"

namespace tunesmith::te {

// Statement `index` of a checked definition as a definition of its own in which tensors are called A0, A1 ... and Y, and sizes
// N0, N1 ..., one for each dimension, in the order of their appearance. `inputs` receives what the tensors were called: those that are read, then those
// whose sizes are used.
Definition canonicalForm(const Definition& definition, std::size_t index, std::vector<std::string>& inputs);

} // namespace tunesmith::te
