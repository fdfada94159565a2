// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/session.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace tunesmith {

Result<std::unique_ptr<WorkerClient>> startWorker() {
    return WorkerClient::start({});
}

Result<TemporaryFolder> TemporaryFolder::create() {
    std::error_code error;
    const auto base = std::filesystem::temp_directory_path(error);
    if (error)
        return ioError("there is no folder for temporary files: " + error.message() + "; name one in TMPDIR");
    std::string path = (base / "tunesmith-XXXXXX").string();
    if (!::mkdtemp(path.data()))
        return ioError("cannot make a folder in " + base.string() + ": " + std::strerror(errno) +
                       "; name another one in TMPDIR");
    return TemporaryFolder(path);
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty())
        std::filesystem::remove_all(path_, ignored);
}

} // namespace tunesmith
