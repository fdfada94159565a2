// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace tunesmith {

// A folder for files that go with this object. A lock file in it says that it is ours and that its maker lives: a folder without one is
// never removed, whatever its name, but for an empty one of a mode that only this class gives (a program was killed before it made the lock), and one whose
// lock is free is what a killed program left. Links in it are removed, not followed.
// Files under the name kForeign belong to somebody else: the folder stays while they are there, as if this program had been killed.
class WorkFolder {
public:
    static constexpr const char* kForeign = "replaced";
    // PREFIX and six characters, in `parent`.
    static Result<WorkFolder> create(const std::filesystem::path& parent, const std::string& prefix);
    // The folders that killed programs of this user left there: ours from now on, so that they go with the result.
    static std::vector<WorkFolder> abandoned(const std::filesystem::path& parent, const std::string& prefix);

    WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}
    WorkFolder& operator=(WorkFolder&&) = delete;
    ~WorkFolder();

    const std::filesystem::path& path() const { return path_; }

private:
    WorkFolder(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}
    std::filesystem::path path_;
    int lock_; // descriptor
};

// Where files may go that nobody wants to keep, the best first: what TMPDIR names (if it is a folder), and what every system has.
std::vector<std::filesystem::path> temporaryPlaces();

} // namespace tunesmith
