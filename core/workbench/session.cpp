// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/session.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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
    std::error_code error;
    const auto base = fs::temp_directory_path(error);
    if (error)
        return ioError("there is no folder for temporary files: " + error.message() + "; name one in TMPDIR");
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

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty())
        fs::remove_all(path_, ignored);
    if (lock_ >= 0)
        ::close(lock_);
}

} // namespace tunesmith
