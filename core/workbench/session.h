// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <memory>

#include "core/process/worker_client.h"

namespace tunesmith {

// Inside core/workbench only.

Result<std::unique_ptr<WorkerClient>> startWorker();
inline constexpr std::chrono::minutes kPatience{30}; // for one inference of whatever model

// A folder of ours under the system's temporary folder, gone with this object.
class TemporaryFolder {
public:
    static Result<TemporaryFolder> create();
    TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
    TemporaryFolder& operator=(TemporaryFolder&&) = delete;
    ~TemporaryFolder();
    const std::filesystem::path& path() const { return path_; }

private:
    explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;
};

} // namespace tunesmith
