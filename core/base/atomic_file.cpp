// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/atomic_file.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/database_file.h"
#include "core/base/hash.h"
#include "core/base/unfinished.h"

namespace tunesmith {
namespace {

constexpr std::size_t kLargestCall = std::size_t{1} << 30; // one read or write moves at most about 2 GiB

std::string reason(int errorNumber) {
    return std::generic_category().message(errorNumber);
}

// Writers of one target take the first free of these names.
constexpr int kCleaned = 8, kMostWriters = 1000;
std::string temporaryStart(const std::filesystem::path& target) {
    return target.parent_path() / (".tunesmith-" + hexHash(Hasher().add(target.filename().native()).value()) + "-");
}
std::filesystem::path temporaryBeside(const std::string& start, int number) { return start + std::to_string(number) + ".part"; }

void removeFile(const std::filesystem::path& file) { ::unlink(file.c_str()); }

bool isAt(const std::filesystem::path& path, int descriptor) {
    struct stat ours {}, there {};
    return ::fstat(descriptor, &ours) == 0 && ::lstat(path.c_str(), &there) == 0 && ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

bool isOwnFile(int descriptor) {
    struct stat facts {};
    return ::fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == ::geteuid();
}

// A living writer has it locked, as nobody has what a kill left.
void removeAbandoned(const std::filesystem::path& temporary) {
    const int descriptor = ::open(temporary.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return;
    if (isOwnFile(descriptor) && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && isAt(temporary, descriptor))
        removeFile(temporary);
    ::close(descriptor);
}

// Locked, unless the file system has no locks; then nobody removes it either. -1 where it is there already, or was removed at once.
int makeTemporary(const std::filesystem::path& temporary) {
    const int descriptor = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return -1;
    if ((::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && isAt(temporary, descriptor))
        return descriptor;
    ::close(descriptor);
    return errno = EEXIST, -1;
}

// A mapping keeps the lock when the descriptor is closed.
std::shared_ptr<void> heldLock(int descriptor) {
    constexpr std::size_t kSize = 1;
    void* const memory = ::mmap(nullptr, kSize, PROT_NONE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED)
        return nullptr;
    return {memory, [](void* mapped) { ::munmap(mapped, kSize); }};
}

// What is written to: a link is followed, so that the link itself survives.
Result<std::filesystem::path> finalTarget(const std::filesystem::path& target) {
    std::error_code error, ignored;
    auto resolved = std::filesystem::canonical(target, error);
    if (error && std::filesystem::is_symlink(target, ignored))
        return ioError("cannot write '" + target.string() + "': it is a link to what is not there; name the file itself");
    return error ? target : resolved;
}

// The system would take what is before a zero byte for the name.
bool endsEarly(const std::filesystem::path& path) { return path.native().find('\0') != std::string::npos; }

} // namespace

Error readFailure(const std::filesystem::path& path, int errorNumber) {
    return ioError("cannot read '" + path.string() + "': " + reason(errorNumber));
}

Error writeFailure(const std::filesystem::path& path, int errorNumber) {
    return ioError("cannot write '" + path.string() + "': " + reason(errorNumber));
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& target, Links links) {
    if (endsEarly(target))
        return writeFailure(target, EINVAL);
    AtomicFile file;
    std::error_code ignored;
    const bool replaced = links == Links::replace && std::filesystem::is_symlink(target, ignored);
    file.target_ = target;
    if (!replaced) {
        TS_ASSIGN(file.target_, finalTarget(target));
    }
    const auto status = replaced ? std::filesystem::file_status() : std::filesystem::status(file.target_, ignored);
    if (std::filesystem::is_directory(status))
        return writeFailure(target, EISDIR);
    if (const auto database = databaseOf(file.target_))
        return inputError("'" + target.string() + "' would take the place of the database '" + database->string() + "', or of a part of it; name another file");
    const bool special = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
    if (special && links == Links::replace)
        return ioError("cannot write '" + target.string() + "': it is a device or a pipe; remove it, or choose another folder");
    if (special) {
        file.descriptor_ = ::open(file.target_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    } else {
        file.openTemporary();
        if (file.descriptor_ >= 0 && std::filesystem::exists(status))
            ::fchmod(file.descriptor_, static_cast<mode_t>(status.permissions())); // who may read it
    }
    if (file.descriptor_ < 0) {
        const int number = errno;
        file.temporary_.clear();
        return writeFailure(target, number);
    }
    return file;
}

void AtomicFile::openTemporary() {
    const std::string start = temporaryStart(target_);
    for (int number = 0; number < kCleaned; ++number)
        removeAbandoned(temporaryBeside(start, number));
    for (int number = 0; descriptor_ < 0 && number < kMostWriters && (number == 0 || errno == EEXIST); ++number) {
        temporary_ = temporaryBeside(start, number);
        descriptor_ = makeUnfinished(temporary_, removeFile, [&] { return makeTemporary(temporary_); });
    }
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : target_(std::move(other.target_)), temporary_(std::move(other.temporary_)), lock_(std::move(other.lock_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {
    other.temporary_.clear();
}

AtomicFile::~AtomicFile() {
    if (!temporary_.empty()) { // in this order: once the lock is gone, the name may be another writer's
        forgetUnfinished(temporary_);
        removeFile(temporary_);
    }
    if (descriptor_ >= 0)
        ::close(descriptor_);
}

Error AtomicFile::failure(int errorNumber) const {
    return writeFailure(target_, errorNumber);
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kLargestCall));
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return failure(errno);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
}

Status AtomicFile::close() {
    if (descriptor_ < 0)
        return {};
    TS_TRY(sync());
    if (!temporary_.empty() && !(lock_ = heldLock(descriptor_)))
        return {}; // the descriptor has to hold it
    return ::close(std::exchange(descriptor_, -1)) == 0 ? Status() : failure(errno);
}

Status AtomicFile::sync() {
    return descriptor_ < 0 || temporary_.empty() || ::fsync(descriptor_) == 0 ? Status() : failure(errno);
}

Status AtomicFile::commit() {
    if (temporary_.empty())
        return close();
    TS_TRY(sync());
    forgetUnfinished(temporary_);
    if (::rename(temporary_.c_str(), target_.c_str()) != 0)
        return failure(errno);
    temporary_.clear();
    lock_.reset();
    if (descriptor_ >= 0)
        ::close(std::exchange(descriptor_, -1));
    return {};
}

Result<InputFile> InputFile::open(const std::filesystem::path& path) {
    if (endsEarly(path))
        return readFailure(path, EINVAL);
    InputFile file;
    file.path_ = path;
    if (isOpenDatabase(path))
        return inputError("cannot read '" + path.string() + "': it belongs to a database that is open here; name another file");
    file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file.descriptor_ < 0)
        return readFailure(path, errno);
    struct stat facts = {};
    if (::fstat(file.descriptor_, &facts) != 0)
        return readFailure(path, errno);
    if (S_ISDIR(facts.st_mode))
        return ioError("cannot read '" + path.string() + "': it is a folder, not a file");
    if (!S_ISREG(facts.st_mode))
        return ioError("cannot read '" + path.string() + "': it is not a regular file");
    file.size_ = static_cast<std::size_t>(facts.st_size);
    return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

InputFile::~InputFile() {
    if (descriptor_ >= 0)
        ::close(descriptor_);
}

Status InputFile::read(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::read(descriptor_, bytes.data(), std::min(bytes.size(), kLargestCall));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return readFailure(path_, errno);
        if (count == 0)
            return ioError("cannot read '" + path_.string() + "': it ends too early");
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return {};
}

Status InputFile::seek(std::size_t offset) {
    return ::lseek(descriptor_, static_cast<off_t>(offset), SEEK_SET) < 0 ? readFailure(path_, errno) : Status();
}

} // namespace tunesmith
