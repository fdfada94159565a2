// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace tunesmith {

// Each program of ours calls it first: the folders that killed ones left in the system's temporary folder go.
void beginProgram();

} // namespace tunesmith
