// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/loops/program.h"

namespace tunesmith {

// Makes the last two axes of a reduction one, where everything that is read along both lies beside each other, whole: vectors then do not end where rows do.
// For row-major tensors. False where it stays as it is.
bool joinLastReduceAxes(loops::Stage& stage);

} // namespace tunesmith
