// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/te/ast.h"

namespace tunesmith::te {

// Gives every term its type. Numbers and sizes take the type of what they meet; everything else has one, and two different ones
// do not mix without a cast. 16-bit floats are read as float32; only a whole element may be cast to one, where it is assigned.
// For definitions that passed checkNames().
Status checkTypes(Definition& definition);

// What terms compute in when their type is that of a tensor.
DType computedAs(DType type);

} // namespace tunesmith::te
