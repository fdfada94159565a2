// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/replaced_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

#include "core/module/module_info.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;

bool isFolder(const fs::path& path) {
    std::error_code error;
    return fs::is_directory(fs::symlink_status(path, error));
}

class Settling {
public:
    Settling(const fs::path& old, const fs::path& now, OwnFiles own) : old_(old), now_(now), own_(std::move(own)) {
        for (const ModuleFile& file : own_)
            byName_[file.name] = &file;
    }

    Status run() {
        if (isFolder(old_))
            emptyOld();
        else
            move(old_, now_);
        return std::move(status_);
    }

private:
    // A folder stays where a file came into it after it was listed.
    void emptyOld() {
        moveForeign({});
        for (const ModuleFile& file : own_)
            if (found_.contains(file.name))
                ::unlink((old_ / file.name).c_str());
        for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder)
            ::rmdir((old_ / *folder).c_str());
        if (::rmdir(old_.c_str()) != 0)
            notEmptied(old_, errno);
    }

    // The first failure counts. What is gone, somebody else has moved.
    void failed(const std::string& problem, int error, const std::string& remedy) {
        if (error != ENOENT && status_.ok())
            status_ = ioError(problem + " (" + std::strerror(error) + "); " + remedy);
    }

    void notEmptied(const fs::path& folder, int error) {
        failed("'" + folder.string() + "' holds files that could not be moved", error, "move them to '" + now_.string() + "'");
    }

    // Backwards, so that a "NAME.old" of an earlier time keeps its name when NAME becomes one.
    std::vector<std::string> namesIn(const fs::path& folder) {
        std::error_code error;
        std::vector<std::string> names;
        for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
            names.push_back(entry->path().filename().string());
        if (error)
            notEmptied(folder, error.value());
        std::ranges::sort(names, std::greater());
        return names;
    }

    bool holdsOwn(const std::string& folder) const {
        const auto first = byName_.lower_bound(folder + "/");
        return first != byName_.end() && first->first.starts_with(folder + "/");
    }

    bool isOwn(const std::string& name) const {
        const auto listed = byName_.find(name);
        struct stat facts {};
        if (listed == byName_.end() || ::lstat((old_ / name).c_str(), &facts) != 0 || !S_ISREG(facts.st_mode))
            return false;
        const ModuleFile& file = *listed->second;
        return file.hash.empty() || (static_cast<std::uintmax_t>(facts.st_size) == file.bytes && hashFile(old_ / name).valueOr({}) == file.hash);
    }

    // A link in the place of a folder, which an unpacked archive may have, would lead elsewhere. Asked from the outside in.
    bool mayEnter(const std::string& name) const {
        std::error_code error;
        return !fs::exists(fs::symlink_status(now_ / name, error)) || isFolder(now_ / name);
    }

    void moveForeign(const std::string& folder) {
        for (const std::string& entry : namesIn(old_ / folder)) {
            const std::string name = folder.empty() ? entry : folder + "/" + entry;
            if (isFolder(old_ / name) && holdsOwn(name) && mayEnter(name)) {
                folders_.push_back(name);
                moveForeign(name);
            } else if (isOwn(name)) {
                found_.insert(name);
            } else {
                std::error_code ignored;
                fs::create_directories((now_ / name).parent_path(), ignored);
                move(old_ / name, now_ / name);
            }
        }
    }

    // Two folders of one name become one.
    void move(const fs::path& from, const fs::path& to) {
        int error = renameToFree(from, to);
        if (error == EEXIST && isFolder(from) && isFolder(to)) {
            for (const std::string& entry : namesIn(from))
                move(from / entry, to / entry);
            ::rmdir(from.c_str());
            return;
        }
        for (int number = 1; error == EEXIST; ++number)
            error = renameToFree(from, to.string() + (number == 1 ? ".old" : ".old-" + std::to_string(number)));
        if (error != 0)
            failed("'" + to.string() + "' had to stay in '" + from.string() + "'", error, "move it back");
    }

    const fs::path &old_, &now_;
    const OwnFiles own_;
    std::map<std::string, const ModuleFile*> byName_;
    std::set<std::string> found_;
    std::vector<std::string> folders_; // that hold files of ours, the outer ones first
    Status status_;
};

} // namespace

int renameToFree(const fs::path& from, const fs::path& to) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS) // not every file system knows the flag
        return errno;
    struct stat facts {};
    if (::lstat(to.c_str(), &facts) == 0)
        return EEXIST;
    return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

Status settleReplaced(const fs::path& old, const fs::path& now, const ListOwnFiles& list) {
    return Settling(old, now, list(old).value_or(OwnFiles())).run();
}

} // namespace tunesmith
