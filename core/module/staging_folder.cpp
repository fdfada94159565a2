// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/staging_folder.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/mapped_ranges.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;

Error cannotWrite(const fs::path& folder, int error) {
    return ioError("cannot write the folder '" + folder.string() + "': " + std::strerror(error));
}

Status makeParents(const fs::path& parent, std::vector<fs::path>& made) {
    std::error_code error;
    if (parent.empty() || fs::is_directory(parent, error))
        return {};
    TS_TRY(makeParents(parent.parent_path(), made));
    if (::mkdir(parent.c_str(), 0777) != 0 && errno != EEXIST)
        return cannotWrite(parent, errno);
    made.push_back(parent);
    return {};
}

mode_t currentUmask() {
    const mode_t mask = ::umask(022);
    ::umask(mask);
    return mask;
}

Status syncFolder(const fs::path& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return cannotWrite(folder, errno);
    ::fsync(descriptor); // some file systems cannot, which is no reason to fail
    ::close(descriptor);
    return {};
}

// The system's number of what went wrong, or 0.
int writeAll(int descriptor, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor, bytes.data(), std::min<std::size_t>(bytes.size(), 1u << 30));
        if (count >= 0)
            bytes = bytes.subspan(static_cast<std::size_t>(count));
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

} // namespace

Result<fs::path> replaceableFolder(const fs::path& folder, const std::function<bool(const fs::path&)>& isExport) {
    std::error_code error;
    const auto status = fs::symlink_status(folder, error);
    if (!fs::exists(status))
        return folder;
    if (fs::is_symlink(status))
        return replaceableFolder(fs::weakly_canonical(folder, error), isExport);
    if (!fs::is_directory(status))
        return inputError(folder.string() + " is a file; name a folder for the module");
    if (!fs::is_empty(folder, error) && !isExport(folder))
        return inputError(folder.string() + " holds other things than a module; name a new or empty folder");
    return folder;
}

Result<StagingFolder> StagingFolder::create(const fs::path& target) {
    StagingFolder folder;
    std::error_code error;
    folder.target_ = fs::absolute(target, error).lexically_normal();
    if (!folder.target_.has_filename())
        folder.target_ = folder.target_.parent_path();
    const fs::path parent = folder.target_.parent_path();
    if (auto made = makeParents(parent, folder.madeParents_); !made.ok())
        return made.error(); // the destructor removes what was made
    std::string name = (parent / ("." + folder.target_.filename().string() + ".part-XXXXXX")).string();
    if (!::mkdtemp(name.data()))
        return cannotWrite(target, errno);
    folder.staging_ = name;
    ::chmod(name.c_str(), 0777 & ~currentUmask());
    return folder;
}

StagingFolder::StagingFolder(StagingFolder&& other) noexcept
    : target_(std::move(other.target_)), staging_(std::exchange(other.staging_, {})),
      madeParents_(std::exchange(other.madeParents_, {})) {}

StagingFolder::~StagingFolder() {
    std::error_code ignored;
    if (!staging_.empty())
        fs::remove_all(staging_, ignored);
    while (!madeParents_.empty()) {
        ::rmdir(madeParents_.back().c_str()); // only when nothing else came to live there
        madeParents_.pop_back();
    }
}

Status StagingFolder::write(const std::string& name, std::span<const std::byte> bytes) {
    return write(name, std::vector{bytes});
}

Status StagingFolder::write(const std::string& name, const std::vector<std::span<const std::byte>>& pieces) {
    const fs::path path = staging_ / name;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error)
        return cannotWrite(target_, error.value());
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return writeFailure(target_ / name, errno);
    int failure = 0;
    for (std::size_t i = 0; i < pieces.size() && failure == 0; ++i) {
        failure = writeAll(descriptor, pieces[i]);
        dropMappedPages(pieces[i]);
    }
    if (failure == 0 && ::fsync(descriptor) != 0 && errno != EINVAL)
        failure = errno;
    if (::close(descriptor) != 0 && failure == 0)
        failure = errno;
    return failure == 0 ? Status() : writeFailure(target_ / name, failure);
}

Status StagingFolder::write(const std::string& name, std::string_view text) {
    return write(name, std::as_bytes(std::span(text)));
}

Status StagingFolder::commit() {
    TS_TRY(syncFolder(staging_));
    if (::renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0) {
        std::error_code ignored;
        fs::remove_all(staging_, ignored); // what was there before
    } else if (::rename(staging_.c_str(), target_.c_str()) != 0) {
        return cannotWrite(target_, errno);
    }
    staging_.clear();
    madeParents_.clear();
    return syncFolder(target_.parent_path());
}

} // namespace tunesmith
