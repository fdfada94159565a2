// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/stop_token.h"
#include "core/base/work_folder.h"
#include "core/module/own_files.h"

namespace tunesmith {

// A folder that appears whole or not at all: filled beside its place in a hidden folder, then put there by commit(). Destroyed without
// commit(), it leaves nothing behind, not even parents that it had to make. It may take the place of an earlier export: what that one does
// not list is the user's and lies in the new folder afterwards (replaced_folder.h). After a kill the old folder or the new one is there,
// whole; what of the user's was not moved yet lies in the hidden folder, and the next create() for this place puts it back.
class StagingFolder {
public:
    // A place where there is nothing yet, an empty folder, or an earlier export, of which `list` knows the files. Links are followed;
    // anything else is refused.
    static Result<StagingFolder> create(const std::filesystem::path& target, ListOwnFiles list);
    StagingFolder(StagingFolder&& other) noexcept;
    StagingFolder& operator=(StagingFolder&&) = delete;
    ~StagingFolder();

    const std::filesystem::path& path() const { return staging_; }
    const std::filesystem::path& target() const { return target_; }
    Status write(const std::string& name, std::span<const std::byte> bytes); // "example/main.c"
    Status write(const std::string& name, std::string_view text);
    Status write(const std::string& name, const std::vector<std::span<const std::byte>>& pieces); // one after the other
    Status copy(const std::string& name, const std::filesystem::path& from, const StopToken& stop); // of a regular file
    // An Error that something of the user's had to stay behind comes after the new folder is in its place.
    Status commit();

private:
    using Put = std::function<Status(std::span<const std::byte>)>;
    Status fill(const std::string& name, const std::function<Status(const Put&)>& bytes);
    StagingFolder(std::filesystem::path target, ListOwnFiles list, WorkFolder work, std::vector<std::filesystem::path> madeParents);
    static void keepToOurselves(const std::filesystem::path& made);
    Status takePlace();
    Status replace(); // an older export, which lies in the hidden folder then
    Status settle();

    std::filesystem::path target_;
    ListOwnFiles list_;
    std::optional<WorkFolder> work_; // goes before the parents
    std::filesystem::path staging_;  // in work_
    std::vector<std::filesystem::path> madeParents_; // outermost first
};

} // namespace tunesmith
