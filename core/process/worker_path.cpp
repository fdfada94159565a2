// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/worker_path.h"
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace tunesmith {
namespace {

bool isExecutable(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

} // namespace

Result<std::filesystem::path> findWorkerExecutable(const std::string& name) {
    if (const char* named = std::getenv("TUNESMITH_WORKER"); named && *named) {
        if (isExecutable(named))
            return std::filesystem::path(named);
        return ioError("TUNESMITH_WORKER names " + std::string(named) +
                       ", which is not an executable file; correct or unset it");
    }
    auto found = findProgramBeside(name);
    return found.ok() ? found : ioError(found.error().message + " or name it in TUNESMITH_WORKER");
}

Result<std::filesystem::path> findProgramBeside(const std::string& name) {
    TS_ASSIGN(const std::filesystem::path folder, programFolder());
    const auto beside = folder / name;
    const auto installed = folder.parent_path() / "libexec" / "tunesmith" / name;
    for (const auto& candidate : {beside, installed})
        if (isExecutable(candidate))
            return candidate;
    return ioError("there is neither " + beside.string() + " nor " + installed.string() + "; build the target " + name);
}

Result<std::filesystem::path> programFolder() {
    std::error_code failed;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
    if (failed)
        return ioError("cannot find out where this program is (/proc/self/exe: " + failed.message() + ")");
    return self.parent_path();
}

} // namespace tunesmith
