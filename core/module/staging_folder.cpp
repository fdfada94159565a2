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
#include "core/base/log.h"
#include "core/base/mapped_ranges.h"
#include "core/base/unfinished.h"
#include "core/module/replaced_folder.h"

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

// Only those in which nothing else came to live.
void removeEmpty(std::vector<fs::path>& folders) {
    for (; !folders.empty(); folders.pop_back())
        ::rmdir(folders.back().c_str());
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

// In the hidden folder: what is being made, which is all ours, and what was replaced.
constexpr fs::perms kOthersWrite = fs::perms::group_write | fs::perms::others_write; // a module is code, also where the umask is 002
constexpr const char *kMade = "made", *kReplaced = WorkFolder::kForeign;

std::string hiddenPrefix(const fs::path& target) { return "." + target.filename().string() + ".tunesmith-"; }

// As the system reads the path: "link/.." is the parent of the folder that the link names.
Result<fs::path> placeOf(const fs::path& folder, const ListOwnFiles& list) {
    std::error_code error;
    const fs::path found = fs::weakly_canonical(fs::absolute(folder, error), error);
    if (error && error != std::errc::too_many_symbolic_link_levels)
        return cannotWrite(folder, error.value());
    const fs::path place = found.has_filename() ? found : found.parent_path();
    const auto status = fs::symlink_status(place, error);
    if (place.empty() || fs::is_symlink(status))
        return inputError(folder.string() + " is a link to what is not there; name the folder itself");
    if (fs::exists(status) && !fs::is_directory(status))
        return inputError(folder.string() + " is a file; name a folder for the module");
    if (fs::exists(status) && !fs::is_empty(place, error) && !list(place))
        return inputError(folder.string() + " holds other things than a module; name a new or empty folder");
    return place;
}

// Does the rest of a killed export: a folder that it took away comes back, what is the user's goes to its place.
void finishKilled(const fs::path& target, const ListOwnFiles& list) {
    std::error_code error;
    for (const WorkFolder& work : WorkFolder::abandoned(target.parent_path(), hiddenPrefix(target))) {
        const fs::path replaced = work.path() / kReplaced;
        if (!fs::exists(fs::symlink_status(replaced, error)) || renameToFree(replaced, target) == 0)
            continue;
        if (const Status settled = settleReplaced(replaced, target, list); !settled.ok())
            logMessage(LogLevel::warning, settled.error().message);
    }
}

} // namespace

Result<StagingFolder> StagingFolder::create(const fs::path& folder, ListOwnFiles list) {
    TS_ASSIGN(const fs::path target, placeOf(folder, list));
    finishKilled(target, list);
    std::vector<fs::path> made;
    const auto undo = [&](const Error& error) {
        removeEmpty(made);
        return error;
    };
    if (const auto status = makeParents(target.parent_path(), made); !status.ok())
        return undo(status.error());
    auto work = WorkFolder::create(target.parent_path(), hiddenPrefix(target));
    if (!work.ok())
        return undo(work.error().within("cannot write the folder '" + target.string() + "'"));
    StagingFolder staging(target, std::move(list), std::move(work).value(), std::move(made));
    if (::mkdir(staging.path().c_str(), 0777) != 0)
        return cannotWrite(target, errno);
    return staging;
}

StagingFolder::StagingFolder(fs::path target, ListOwnFiles list, WorkFolder work, std::vector<fs::path> madeParents)
    : target_(std::move(target)), list_(std::move(list)), work_(std::move(work)), staging_(work_->path() / kMade), madeParents_(std::move(madeParents)) {}

StagingFolder::StagingFolder(StagingFolder&& other) noexcept
    : target_(std::move(other.target_)), list_(std::move(other.list_)), work_(std::move(other.work_)), staging_(std::move(other.staging_)),
      madeParents_(std::exchange(other.madeParents_, {})) {}

StagingFolder::~StagingFolder() {
    work_.reset();
    removeEmpty(madeParents_);
}

Status StagingFolder::write(const std::string& name, std::span<const std::byte> bytes) {
    return write(name, std::vector{bytes});
}

Status StagingFolder::write(const std::string& name, const std::vector<std::span<const std::byte>>& pieces) {
    return fill(name, [&](const Put& put) -> Status {
        for (const std::span<const std::byte> piece : pieces) {
            TS_TRY(put(piece));
            dropMappedPages(piece);
        }
        return {};
    });
}

Status StagingFolder::write(const std::string& name, std::string_view text) {
    return write(name, std::as_bytes(std::span(text)));
}

Status StagingFolder::copy(const std::string& name, const fs::path& from, const StopToken& stop) {
    constexpr std::size_t kPiece = std::size_t(1) << 20;
    TS_ASSIGN(InputFile file, InputFile::open(from));
    return fill(name, [&](const Put& put) -> Status {
        std::vector<std::byte> piece;
        for (std::size_t left = file.size(); left > 0; left -= piece.size()) {
            if (stop.stopRequested())
                return cancelledError();
            piece.resize(std::min(left, kPiece));
            TS_TRY(file.read(piece));
            TS_TRY(put(piece));
        }
        return {};
    });
}

Status StagingFolder::fill(const std::string& name, const std::function<Status(const Put&)>& bytes) {
    const fs::path path = staging_ / name;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error)
        return cannotWrite(target_, error.value());
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return writeFailure(target_ / name, errno);
    const auto done = [&](int failure) { return failure == 0 ? Status() : writeFailure(target_ / name, failure); };
    Status status = bytes([&](std::span<const std::byte> piece) { return done(writeAll(descriptor, piece)); });
    if (status.ok() && ::fsync(descriptor) != 0 && errno != EINVAL)
        status = done(errno);
    if (::close(descriptor) != 0 && status.ok())
        status = done(errno);
    return status;
}

// While nobody else can open them yet.
void StagingFolder::keepToOurselves(const fs::path& made) {
    std::error_code ignored;
    fs::permissions(made, kOthersWrite, fs::perm_options::remove, ignored);
    for (fs::recursive_directory_iterator entry(made, ignored), end; entry != end; entry.increment(ignored))
        if (!entry->is_symlink(ignored))
            fs::permissions(entry->path(), kOthersWrite, fs::perm_options::remove, ignored);
}

Status StagingFolder::commit() {
    return doWhole([&] { return takePlace(); });
}

Status StagingFolder::takePlace() {
    keepToOurselves(staging_);
    TS_TRY(syncFolder(staging_));
    if (const int error = renameToFree(staging_, target_); error == EEXIST) {
        TS_TRY(replace());
    } else if (error != 0) {
        return cannotWrite(target_, error);
    }
    madeParents_.clear();
    TS_TRY(syncFolder(target_.parent_path()));
    return settle();
}

// In one step where the file system can; else a kill between two leaves nothing in the place, and the next export brings the old one back.
Status StagingFolder::replace() {
    struct stat facts {};
    if (::stat(target_.c_str(), &facts) == 0)
        ::chmod(staging_.c_str(), (facts.st_mode & 07777 & ~static_cast<mode_t>(kOthersWrite)) | S_IRWXU); // who else may read it
    const fs::path replaced = work_->path() / kReplaced;
    if (::rename(staging_.c_str(), replaced.c_str()) != 0)
        return cannotWrite(target_, errno);
    if (::renameat2(AT_FDCWD, replaced.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0)
        return {};
    int error = errno;
    if (::rename(replaced.c_str(), staging_.c_str()) != 0 || (error != EINVAL && error != ENOSYS))
        return cannotWrite(target_, error);
    if (::rename(target_.c_str(), replaced.c_str()) != 0)
        return cannotWrite(target_, errno);
    if (::rename(staging_.c_str(), target_.c_str()) == 0)
        return {};
    error = errno;
    ::rename(replaced.c_str(), target_.c_str());
    return cannotWrite(target_, error);
}

Status StagingFolder::settle() {
    const fs::path replaced = work_->path() / kReplaced;
    std::error_code error;
    if (!fs::exists(fs::symlink_status(replaced, error)))
        return {};
    const Status settled = settleReplaced(replaced, target_, list_);
    return settled.ok() ? settled : Status(settled.error().within("the module is in '" + target_.string() + "'"));
}

} // namespace tunesmith
