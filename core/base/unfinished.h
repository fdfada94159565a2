// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <functional>

#include "core/base/result.h"

namespace tunesmith {

// A list of what this process has on the disk and does not want to leave there: temporary files that have no name yet, work folders. For
// a program that leaves without destructors. All calls from any thread.
using RemoveUnfinished = void (*)(const std::filesystem::path&);
// Lists the path and gives what `make` gives, a descriptor; -1 and EINTR where the program is being left.
int makeUnfinished(const std::filesystem::path& path, RemoveUnfinished remove, const std::function<int()>& make);
void forgetUnfinished(const std::filesystem::path& path);

// Steps that are all done or not begun when the program leaves, as long as they take less than two seconds. Gives their Status, or a
// cancelled Error where the program is being left.
Status doWhole(const std::function<Status()>& steps);

// Waits for the steps of doWhole() and removes what is on the list. Once: what is begun afterwards fails.
void removeUnfinished();

} // namespace tunesmith
