// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/schedule/workload.h"

namespace tunesmith {

// The product of a workload that is nothing but a product of float32 matrices and an elementwise epilogue: sum over k of
// left[..., k] * right[..., n], both read at plain indices, only the right one by column. Null for anything else.
const loops::Stage* productStage(const LoweredWorkload& lowered);

} // namespace tunesmith
