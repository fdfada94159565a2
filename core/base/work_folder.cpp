// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/work_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/unfinished.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = ".tunesmith-lock";
constexpr std::size_t kRandom = 6;    // characters
constexpr mode_t kOurMode = 01700;    // nobody else makes one like it, so it tells a folder of ours that a kill left without its lock

std::vector<fs::path> entriesOf(const fs::path& folder, const std::string& prefix = {}) {
    std::error_code error;
    std::vector<fs::path> entries;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
        if (entry->path().filename().native().starts_with(prefix))
            entries.push_back(entry->path());
    return entries;
}

bool holdsForeign(const fs::path& folder) {
    struct stat facts {};
    return ::lstat((folder / WorkFolder::kForeign).c_str(), &facts) == 0;
}

std::string randomText() {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    static thread_local std::random_device device;
    std::string text;
    for (std::size_t i = 0; i < kRandom; ++i)
        text += kLetters[device() % kLetters.size()];
    return text;
}

// The lock goes last: a kill leaves nothing that looks like somebody else's.
void removeWhole(const fs::path& folder) {
    if (holdsForeign(folder))
        return;
    std::error_code ignored;
    for (const fs::path& entry : entriesOf(folder))
        if (entry.filename() != kLock)
            fs::remove_all(entry, ignored);
    if (entriesOf(folder).size() > 1)
        return;
    ::unlink((folder / kLock).c_str());
    ::rmdir(folder.c_str());
}

bool isOwnFolder(const fs::path& path) {
    struct stat facts {};
    return ::lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == ::geteuid();
}

// A file of this user that nobody has locked; then it is locked by us.
int freeLock(const fs::path& folder) {
    const int lock = ::open((folder / kLock).c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat facts {};
    if (lock >= 0 && ::fstat(lock, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == ::geteuid() && ::flock(lock, LOCK_EX | LOCK_NB) == 0)
        return lock;
    if (lock >= 0)
        ::close(lock);
    return -1;
}

// Another program that cleans up may have been faster: then it is not there any more.
bool isStillThere(const fs::path& folder, int lock) {
    struct stat ours {}, there {};
    return ::fstat(lock, &ours) == 0 && ::lstat((folder / kLock).c_str(), &there) == 0 && ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

bool wasBegun(const fs::path& path) {
    struct stat facts {};
    return ::lstat(path.c_str(), &facts) == 0 && (facts.st_mode & 05777) == kOurMode; // the set-group-ID bit comes from the folder above
}

bool mayBeOurs(const fs::path& path, const std::string& prefix) {
    const std::string name = path.filename().string();
    return name.starts_with(prefix) && name.size() == prefix.size() + kRandom && isOwnFolder(path);
}

} // namespace

Result<WorkFolder> WorkFolder::create(const fs::path& parent, const std::string& prefix) {
    for (;;) {
        const std::string path = (parent / (prefix + randomText())).string();
        if (const int failure = ::mkdir(path.c_str(), kOurMode) == 0 ? 0 : errno; failure == EEXIST)
            continue;
        else if (failure != 0)
            return ioError("cannot make a folder in '" + parent.string() + "': " + std::strerror(failure));
        const int lock = makeUnfinished(path, removeWhole, [&] { return ::open((fs::path(path) / kLock).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600); });
        if (lock >= 0 && (::flock(lock, LOCK_EX) != 0 || isStillThere(path, lock))) // where there are no locks, nobody cleans up
            return WorkFolder(path, lock);
        const int why = errno;
        if (lock >= 0) {
            forgetUnfinished(path);
            ::close(lock);
        } else if (why != ENOENT) {
            ::rmdir(path.c_str());
            return ioError("cannot write the folder '" + path + "': " + std::strerror(why));
        }
    }
}

std::vector<WorkFolder> WorkFolder::abandoned(const fs::path& parent, const std::string& prefix) {
    std::vector<WorkFolder> found;
    for (const fs::path& path : entriesOf(parent, prefix)) {
        if (!mayBeOurs(path, prefix))
            continue;
        if (const int lock = freeLock(path); lock >= 0)
            found.push_back(WorkFolder(path, lock));
        else if (wasBegun(path))
            ::rmdir(path.c_str()); // if it is empty
    }
    return found;
}

WorkFolder::~WorkFolder() {
    if (!path_.empty()) {
        removeWhole(path_);
        forgetUnfinished(path_);
    }
    if (lock_ >= 0)
        ::close(lock_);
}

std::vector<fs::path> temporaryPlaces() {
    std::error_code error;
    std::vector<fs::path> places{fs::temp_directory_path(error)}; // "" where TMPDIR is no folder
    if (error)
        places.clear();
    places.insert(places.end(), {"/tmp", "/var/tmp", "/dev/shm"});
    for (const char* variable : {"XDG_RUNTIME_DIR", "HOME"})
        if (const char* folder = std::getenv(variable); folder && *folder)
            places.emplace_back(folder);
    return places;
}

} // namespace tunesmith
