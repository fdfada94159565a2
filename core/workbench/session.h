// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <memory>
#include <utility>

#include "core/process/worker_client.h"

namespace tunesmith {

// Inside core/workbench only.

Result<std::unique_ptr<WorkerClient>> startWorker();
inline constexpr std::chrono::minutes kPatience{30}; // for one inference of whatever model

// A folder of ours under the system's temporary folder, gone with this object. It is locked meanwhile: one that is not is what a
// program that was killed has left behind, and goes when the next one is made.
class TemporaryFolder {
public:
    static Result<TemporaryFolder> create();
    TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}
    TemporaryFolder& operator=(TemporaryFolder&&) = delete;
    ~TemporaryFolder();
    const std::filesystem::path& path() const { return path_; }

private:
    TemporaryFolder(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}
    std::filesystem::path path_;
    int lock_; // descriptor
};

// An error that is about files in such a folder also says how to have them elsewhere.
Error withRemedy(const Error& error, const TemporaryFolder& folder);

} // namespace tunesmith
