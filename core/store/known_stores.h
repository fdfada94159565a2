// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

namespace tunesmith {

// How this user's programs know a store again: a file from elsewhere is met once.

// The mark of a store that this user's programs have written to on this machine (table `origin`): 32 hexadecimal digits of the machine's id,
// the user and the birth of the file. The maker of a store elsewhere knows none of them; a copy is another file. The store keeps its mark itself,
// for nothing else is sure to be there the next time: homes are read-only, full, or made anew for each call.
std::string storeMark(const std::string& path);

// Of a store that was only read so far, a small file beside the default store tells that it was looked through. Where none can be kept,
// it is looked through each time.
bool wasLookedThrough(const std::string& path, const std::string& id);
void rememberLookedThrough(const std::string& path, const std::string& id);

} // namespace tunesmith
