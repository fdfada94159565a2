// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/measuring_lock.h"
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/base/log.h"

namespace tunesmith {
namespace {

using Clock = std::chrono::steady_clock;
// Only the head of the queue looks often: waiting must not disturb the measurement that it waits for.
constexpr std::chrono::milliseconds kHeadTick{5};
constexpr std::chrono::milliseconds kQueueTick{20};

constexpr const char *kKey = "tunesmith-measuring.lock", *kQueue = "tunesmith-measuring.queue";

Error lockError(const std::filesystem::path& path, int error) {
    return ioError("cannot take the measuring lock " + path.string() + ": " + std::strerror(error));
}

bool isOwnFolder(const std::filesystem::path& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
           ::access(path.c_str(), W_OK | X_OK) == 0;
}

// The system makes XDG_RUNTIME_DIR and /run/user/UID. We make the others where they are missing.
Result<std::filesystem::path> lockFolder() {
    if (const char* named = std::getenv("XDG_RUNTIME_DIR"); named && isOwnFolder(named))
        return std::filesystem::path(named);
    const std::string uid = std::to_string(::geteuid());
    // A shell without a login session (cron, su) must meet the windows of the same user.
    if (const auto run = std::filesystem::path("/run/user") / uid; isOwnFolder(run))
        return run;
    std::vector<std::filesystem::path> places{"/tmp/tunesmith-" + uid};
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/')
        places.push_back(std::filesystem::path(cache) / "tunesmith");
    if (const char* home = std::getenv("HOME"); home && *home == '/')
        places.push_back(std::filesystem::path(home) / ".cache" / "tunesmith");
    return MeasuringLock::ownFolderAmong(places);
}

class LockFile {
public:
    explicit LockFile(const std::filesystem::path& path)
        : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {}
    ~LockFile() {
        if (fd_ >= 0)
            ::close(fd_); // also unlocks
    }
    LockFile(const LockFile&) = delete;
    LockFile& operator=(const LockFile&) = delete;
    int fd() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }
    // 0, or errno; EWOULDBLOCK when somebody else has it.
    int tryLock() const {
        if (fd_ < 0)
            return EBADF;
        while (::flock(fd_, LOCK_EX | LOCK_NB) != 0)
            if (errno != EINTR)
                return errno;
        return 0;
    }

private:
    int fd_;
};

void writeHolder(int fd) {
    const std::string text = std::to_string(::getpid()) + "\n";
    if (::ftruncate(fd, 0) == 0 && ::pwrite(fd, text.data(), text.size(), 0) < 0)
        return; // only the timeout's wording depends on it
}

std::string readHolder(int fd) {
    char text[32] = {};
    if (::pread(fd, text, sizeof text - 1, 0) <= 0)
        return "another process";
    return "process " + std::to_string(std::atol(text));
}

// Says once for each holder that it is waited for: who sees nothing happen wants to know why.
class Remark {
public:
    void afterASecond(const LockFile& holder) {
        if (said_ || Clock::now() - begun_ < std::chrono::seconds(1))
            return;
        said_ = true;
        static std::mutex mutex;
        static std::string last; // who was named before; measurements wait one after the other
        const std::string name = readHolder(holder.fd());
        const std::lock_guard guard(mutex);
        if (name != std::exchange(last, name))
            logMessage(LogLevel::warning, name + " is measuring, and two measurements disturb each other; waiting for it");
    }

private:
    const Clock::time_point begun_ = Clock::now();
    bool said_ = false;
};

Status waitLock(const LockFile& file, const std::filesystem::path& path, std::chrono::milliseconds tick,
                const StopToken& stop, Clock::time_point deadline, const LockFile& holder, Remark& remark) {
    for (;;) {
        const int error = file.tryLock();
        if (error == 0)
            return {};
        if (error != EWOULDBLOCK)
            return lockError(path, error);
        if (stop.stopRequested())
            return cancelledError();
        if (Clock::now() >= deadline)
            return timeoutError(readHolder(holder.fd()) + " keeps measuring; wait for it or stop it");
        remark.afterASecond(holder);
        std::this_thread::sleep_for(tick);
    }
}

} // namespace

MeasuringKey::MeasuringKey(MeasuringKey&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

MeasuringKey& MeasuringKey::operator=(MeasuringKey&& other) noexcept {
    MeasuringKey old(std::exchange(fd_, std::exchange(other.fd_, -1)));
    return *this;
}

MeasuringKey::~MeasuringKey() {
    if (fd_ >= 0)
        ::close(fd_);
}

Result<std::filesystem::path> MeasuringLock::ownFolderAmong(const std::vector<std::filesystem::path>& places) {
    for (const std::filesystem::path& place : places) {
        std::error_code ignored;
        std::filesystem::create_directories(place.parent_path(), ignored);
        ::mkdir(place.c_str(), 0700);
        if (!isOwnFolder(place))
            continue;
        static std::atomic<bool> said = false;
        if (place != places.front() && !said.exchange(true))
            logMessage(LogLevel::warning, places.front().string() + " is no folder of this user, who may have been shut out on purpose; the measuring lock is in " + place.string());
        return place;
    }
    return ioError(places.front().string() + " is no folder of this user, and there is none in the home folder instead; set XDG_RUNTIME_DIR to a folder of this user");
}

Result<MeasuringLock> MeasuringLock::open() {
    TS_ASSIGN(const auto folder, lockFolder());
    TS_TRY(openIn(folder));
    return MeasuringLock({});
}

Result<MeasuringLock> MeasuringLock::openIn(const std::filesystem::path& folder) {
    if (!isOwnFolder(folder))
        return ioError(folder.string() + " is not a folder in which this user can write");
    for (const char* name : {kKey, kQueue}) // who begins hears at once that nothing can be measured
        if (const LockFile file(folder / name); file.fd() < 0)
            return lockError(folder / name, errno);
    return MeasuringLock(folder);
}

Result<MeasuringKey> MeasuringLock::acquire(const StopToken& stop,
                                            std::optional<Clock::duration> timeout) const {
    TS_ASSIGN(const auto folder, folder_.empty() ? lockFolder() : folder_);
    const auto path = folder / kKey;
    const auto queuePath = folder / kQueue;
    const Clock::time_point deadline = timeout ? Clock::now() + *timeout : Clock::time_point::max();
    LockFile file(path);
    if (file.fd() < 0)
        return lockError(path, errno);
    const LockFile queue(queuePath); // held while waiting at the head, freed on return
    if (queue.fd() < 0)
        return lockError(queuePath, errno);
    if (stop.stopRequested())
        return cancelledError();
    Remark remark;
    TS_TRY(waitLock(queue, queuePath, kQueueTick, stop, deadline, file, remark));
    TS_TRY(waitLock(file, path, kHeadTick, stop, deadline, file, remark));
    writeHolder(file.fd());
    return MeasuringKey(file.release());
}

Result<std::optional<MeasuringKey>> MeasuringLock::tryAcquire() const {
    auto key = acquire({}, Clock::duration::zero());
    if (key.ok())
        return std::optional<MeasuringKey>(std::move(key).value());
    if (key.error().kind == ErrorKind::timeout)
        return std::optional<MeasuringKey>();
    return key.error();
}

} // namespace tunesmith
