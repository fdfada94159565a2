// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace tunesmith {

// Each program of ours calls it first: files over a limit become errors of their writers instead of a signal, children can be waited for whatever the parent
// ignores, mapped files that others cut off are named (base/bus_error.h), and the folders that killed programs left in the system's temporary folder go.
void beginProgram();

} // namespace tunesmith
