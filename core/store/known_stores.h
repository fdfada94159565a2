// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

namespace tunesmith {

// How well this user knows a store. A file from elsewhere is met once: it is looked through, and jobs that wait in it are paused, for they
// would do what somebody else wrote down. `checked` is one that was only read so far. Kept beside the default store, a small file for each
// store, by its number in the file system, the time of its birth and its own id, so that no file becomes known by taking the place of
// another one. Where nothing can be kept (there is no home), every store counts as the user's.
enum class Acquaintance { none, checked, own };

Acquaintance acquaintanceWith(const std::string& path, const std::string& id);
void rememberStore(const std::string& path, const std::string& id, Acquaintance acquaintance);

} // namespace tunesmith
