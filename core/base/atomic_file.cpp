// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/atomic_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/unfinished.h"

namespace tunesmith {
namespace {

constexpr std::size_t kLargestCall = std::size_t{1} << 30; // one read or write moves at most about 2 GiB

std::string reason(int errorNumber) {
    return std::generic_category().message(errorNumber);
}

std::filesystem::path temporaryBeside(const std::filesystem::path& target) {
    static std::atomic<unsigned> counter{0};
    return target.parent_path() /
           (".tunesmith-" + std::to_string(::getpid()) + "-" + std::to_string(counter++) + ".part");
}

void removeFile(const std::filesystem::path& file) { ::unlink(file.c_str()); }

// What is written to: a link is followed, so that the link itself survives.
std::filesystem::path finalTarget(const std::filesystem::path& target) {
    std::error_code error;
    auto resolved = std::filesystem::canonical(target, error);
    return error ? target : resolved;
}

} // namespace

Error readFailure(const std::filesystem::path& path, int errorNumber) {
    return ioError("cannot read '" + path.string() + "': " + reason(errorNumber));
}

Error writeFailure(const std::filesystem::path& path, int errorNumber) {
    return ioError("cannot write '" + path.string() + "': " + reason(errorNumber));
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& target) {
    AtomicFile file;
    file.target_ = finalTarget(target);
    std::error_code ignored;
    const auto status = std::filesystem::status(file.target_, ignored);
    if (std::filesystem::is_directory(status))
        return writeFailure(target, EISDIR);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        file.descriptor_ = ::open(file.target_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    } else {
        file.temporary_ = temporaryBeside(file.target_);
        file.descriptor_ = makeUnfinished(file.temporary_, removeFile, [&] { return ::open(file.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
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

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : target_(std::move(other.target_)), temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {
    other.temporary_.clear();
}

AtomicFile::~AtomicFile() {
    if (descriptor_ >= 0)
        ::close(descriptor_);
    if (temporary_.empty())
        return;
    removeFile(temporary_);
    forgetUnfinished(temporary_);
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
    if (!temporary_.empty() && ::fsync(descriptor_) != 0)
        return failure(errno);
    return ::close(std::exchange(descriptor_, -1)) == 0 ? Status() : failure(errno);
}

Status AtomicFile::commit() {
    TS_TRY(close());
    if (temporary_.empty())
        return {};
    if (::rename(temporary_.c_str(), target_.c_str()) != 0)
        return failure(errno);
    forgetUnfinished(temporary_);
    temporary_.clear();
    return {};
}

Result<InputFile> InputFile::open(const std::filesystem::path& path) {
    InputFile file;
    file.path_ = path;
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

} // namespace tunesmith
