// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include "core/module/own_files.h"

namespace tunesmith {

// Ends what replaced an exported folder: all that is the user's goes from the old one to the same place in the new one, then the old
// files and folders go. Nothing is overwritten: where the new folder has that name, the user's gets the first free one of "NAME.old",
// "NAME.old-2" and so on. Every step is a rename or takes away one listed file, so that after a kill a second call does the rest; two
// calls at once do no harm. Links are not followed in either folder: a folder in whose place the new one has a link gets a free name. An
// `old` that is no folder gets one beside `now`. An Error names the first thing that had to stay in the old folder; without one, there
// is no `old` any more.
Status settleReplaced(const std::filesystem::path& old, const std::filesystem::path& now, const ListOwnFiles& list);

// Fails with EEXIST instead of replacing what is there. Gives errno or 0.
int renameToFree(const std::filesystem::path& from, const std::filesystem::path& to);

} // namespace tunesmith
