// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/loops/program.h"

namespace tunesmith::loops {

// A select guards what it reads (padding, concatenation: the side that is not taken would leave its tensor), or it chooses between
// values (an activation). Only the first kind needs a branch; the lanes of a vector cannot take one each. Marks the selects of a stage's
// body whose sides read within their tensors at all indices of the stage, whatever the condition says.
void markFreeSelects(Stage& stage);

} // namespace tunesmith::loops
