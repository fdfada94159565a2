// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

namespace tunesmith {

// How this user's programs know a store again, and what they wrote in it: a file from elsewhere is met once.

// Marks are kept in the store itself (table `origin`). Each is a keyed hash of the machine, the user and the birth of the file, so that a copy is
// another file, and of what it vouches for. Nobody can make one without the user's secret (user_key.h). Where none can be kept, who does not know these three cannot.
class StoreMarks {
public:
    explicit StoreMarks(const std::string& path);

    std::string of(std::initializer_list<std::string_view> what) const; // 32 hexadecimal digits
    std::string met() const { return of({"store"}); }                   // this user's programs have written to the file

private:
    std::string key_, file_;
};

// Of a store that was only read so far, a small file beside the default store tells that it was looked through. Where none can be kept,
// it is looked through each time.
bool wasLookedThrough(const std::string& path, const std::string& id);
void rememberLookedThrough(const std::string& path, const std::string& id);

} // namespace tunesmith
