// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/session.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/statvfs.h>
#include <unistd.h>
#include <vector>

#include "core/base/bus_error.h"
#include "core/workbench/start.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "tunesmith-temporary-";

// Programs can be loaded from it: modules are made in temporary folders and run from there.
bool mayLoadFrom(const fs::path& folder) {
    struct statvfs facts {};
    return ::statvfs(folder.c_str(), &facts) == 0 && (facts.f_flag & ST_NOEXEC) == 0;
}

bool serves(const fs::path& folder) { return ::access(folder.c_str(), W_OK | X_OK) == 0 && mayLoadFrom(folder); }

Result<fs::path> temporaryBase() {
    const std::vector<fs::path> places = temporaryPlaces();
    for (const fs::path& place : places)
        if (serves(place))
            return place;
    const fs::path& first = places.front();
    const std::string why = mayLoadFrom(first) ? "cannot write '" + first.string() + "': " + std::strerror(EACCES)
                                               : "programs cannot be loaded from '" + first.string() + "' (it is mounted noexec)";
    return ioError(why + "; name a folder for temporary files in TMPDIR");
}

} // namespace

Result<std::unique_ptr<WorkerClient>> startWorker() {
    return WorkerClient::start({});
}

Result<TemporaryFolder> TemporaryFolder::create() {
    TS_ASSIGN(const fs::path base, temporaryBase());
    WorkFolder::abandoned(base, kPrefix);
    auto made = WorkFolder::create(base, kPrefix);
    if (!made.ok())
        return ioError(made.error().message + "; name another one in TMPDIR");
    return TemporaryFolder(std::move(made).value());
}

void beginProgram() {
    std::signal(SIGXFSZ, SIG_IGN); // a file over the limit of the shell is an error of its writer, as a full disk is
    std::signal(SIGCHLD, SIG_DFL); // a parent may have it ignored, and then nobody can wait for a child
    tellBusErrors();
    if (const auto base = temporaryBase(); base.ok())
        WorkFolder::abandoned(*base, kPrefix);
}

Error withRemedy(const Error& error, const TemporaryFolder& folder) {
    const bool concerns = error.kind == ErrorKind::io && error.message.find(folder.path().string()) != std::string::npos;
    return concerns ? ioError(error.message + "; another folder for temporary files can be named in TMPDIR") : error;
}

} // namespace tunesmith
