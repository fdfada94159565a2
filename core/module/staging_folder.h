// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace tunesmith {

// Where an export may go: a place where there is nothing yet, an empty folder, or an earlier export, which `isExport` tells.
// Links are followed; anything else is refused.
Result<std::filesystem::path> replaceableFolder(const std::filesystem::path& folder,
                                                const std::function<bool(const std::filesystem::path&)>& isExport);

// A folder that appears whole or not at all: filled beside its place under a hidden name, then renamed by
// commit(). Destroyed without commit(), it leaves nothing behind, not even parents that it had to make.
class StagingFolder {
public:
    static Result<StagingFolder> create(const std::filesystem::path& target);
    StagingFolder(StagingFolder&& other) noexcept;
    StagingFolder& operator=(StagingFolder&&) = delete;
    ~StagingFolder();

    const std::filesystem::path& path() const { return staging_; }
    const std::filesystem::path& target() const { return target_; }
    Status write(const std::string& name, std::span<const std::byte> bytes); // "example/main.c"
    Status write(const std::string& name, std::string_view text);
    Status write(const std::string& name, const std::vector<std::span<const std::byte>>& pieces); // one after the other
    // Takes the place of what is there (which the caller has found to be replaceable).
    Status commit();

private:
    StagingFolder() = default;
    std::filesystem::path target_, staging_;
    std::vector<std::filesystem::path> madeParents_; // outermost first
};

} // namespace tunesmith
