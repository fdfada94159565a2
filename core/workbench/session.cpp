// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/session.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <vector>

namespace tunesmith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "tunesmith-work-";

int openFolder(const fs::path& path) { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }

void removeIfAbandoned(const fs::path& path) {
    const int folder = openFolder(path);
    struct stat info {};
    std::error_code ignored;
    if (folder >= 0 && ::fstat(folder, &info) == 0 && info.st_uid == ::geteuid() && ::flock(folder, LOCK_EX | LOCK_NB) == 0)
        fs::remove_all(path, ignored);
    if (folder >= 0)
        ::close(folder);
}

void removeAbandoned(const fs::path& base) {
    std::error_code error;
    for (fs::directory_iterator entry(base, error), end; !error && entry != end; entry.increment(error))
        if (entry->path().filename().string().starts_with(kPrefix))
            removeIfAbandoned(entry->path());
}

// Programs can be loaded from it: modules are made in temporary folders and run from there.
bool mayLoadFrom(const fs::path& folder) {
    struct statvfs facts {};
    return ::statvfs(folder.c_str(), &facts) == 0 && (facts.f_flag & ST_NOEXEC) == 0;
}

bool serves(const fs::path& folder) { return ::access(folder.c_str(), W_OK | X_OK) == 0 && mayLoadFrom(folder); }

// What TMPDIR names (or /tmp), else another folder that every system has.
Result<fs::path> temporaryBase() {
    std::error_code error;
    const fs::path named = fs::temp_directory_path(error); // "" where TMPDIR is no folder
    std::vector<fs::path> candidates{named, "/tmp", "/var/tmp", "/dev/shm"};
    for (const char* variable : {"XDG_RUNTIME_DIR", "HOME"})
        if (const char* folder = std::getenv(variable); folder && *folder)
            candidates.emplace_back(folder);
    for (const fs::path& candidate : candidates)
        if (!candidate.empty() && serves(candidate))
            return candidate;
    const std::string why = error ? "there is no folder for temporary files (" + error.message() + ")"
                            : mayLoadFrom(named) ? "cannot write '" + named.string() + "': " + std::strerror(EACCES)
                                                 : "programs cannot be loaded from '" + named.string() + "' (it is mounted noexec)";
    return ioError(why + "; name a folder for temporary files in TMPDIR");
}

// Whoever cleans up may have been faster: then it is not there any more.
bool isStillThere(const fs::path& path, int folder) {
    struct stat ours {}, there {};
    return ::fstat(folder, &ours) == 0 && ::lstat(path.c_str(), &there) == 0 && ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

} // namespace

Result<std::unique_ptr<WorkerClient>> startWorker() {
    return WorkerClient::start({});
}

Result<TemporaryFolder> TemporaryFolder::create() {
    TS_ASSIGN(const fs::path base, temporaryBase());
    removeAbandoned(base);
    for (;;) {
        std::string path = (base / (std::string(kPrefix) + "XXXXXX")).string();
        if (!::mkdtemp(path.data()))
            return ioError("cannot make a folder in " + base.string() + ": " + std::strerror(errno) +
                           "; name another one in TMPDIR");
        const int folder = openFolder(path);
        if (folder >= 0 && (::flock(folder, LOCK_EX) != 0 || isStillThere(path, folder))) // where there are no locks, nobody cleans up
            return TemporaryFolder(path, folder);
        if (folder >= 0)
            ::close(folder);
        else if (errno != ENOENT)
            return ioError("cannot open the folder " + path + ": " + std::strerror(errno));
    }
}

Error withRemedy(const Error& error, const TemporaryFolder& folder) {
    const bool concerns = error.kind == ErrorKind::io && error.message.find(folder.path().string()) != std::string::npos;
    return concerns ? ioError(error.message + "; another folder for temporary files can be named in TMPDIR") : error;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty())
        fs::remove_all(path_, ignored);
    if (lock_ >= 0)
        ::close(lock_);
}

} // namespace tunesmith
