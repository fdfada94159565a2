// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <memory>
#include <utility>

#include "core/base/work_folder.h"
#include "core/process/worker_client.h"

namespace tunesmith {

// Inside core/workbench only.

Result<std::unique_ptr<WorkerClient>> startWorker();
inline constexpr std::chrono::minutes kPatience{30}; // for one inference of whatever model

// A folder of ours under the system's temporary folder, gone with this object. What a program that was killed has left behind goes when
// the next one is made.
class TemporaryFolder {
public:
    static Result<TemporaryFolder> create();
    const std::filesystem::path& path() const { return folder_.path(); }

private:
    explicit TemporaryFolder(WorkFolder folder) : folder_(std::move(folder)) {}
    WorkFolder folder_;
};

// An error that is about files in such a folder also says how to have them elsewhere.
Error withRemedy(const Error& error, const TemporaryFolder& folder);

} // namespace tunesmith
