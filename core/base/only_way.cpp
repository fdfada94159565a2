// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/only_way.h"

#include <cerrno>
#include <cstring>
#include <deque>
#include <grp.h>
#include <map>
#include <mutex>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace tunesmith {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40; // as the kernel follows

std::string quoted(const fs::path& path) { return "'" + path.string() + "'"; }

bool isOurs(const struct stat& facts) { return facts.st_uid == ::geteuid() || facts.st_uid == 0; }

// Many systems give each user a group of the user's own, and folders that it may write to.
bool isOfUserAlone(gid_t group) {
    static std::mutex mutex; // getpwent() and its kind are for one thread
    static std::map<gid_t, bool> known;
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(group); found != known.end())
        return found->second;
    const struct passwd* const user = ::getpwuid(::geteuid());
    const std::string name = user && user->pw_gid == group ? user->pw_name : "";
    const struct group* const members = name.empty() ? nullptr : ::getgrgid(group);
    bool alone = members != nullptr;
    for (char** member = alone ? members->gr_mem : nullptr; member && *member; ++member)
        alone = alone && name == *member;
    if (alone) {
        ::setpwent();
        while (const struct passwd* const other = ::getpwent())
            alone = alone && (other->pw_gid != group || name == other->pw_name);
        ::endpwent();
    }
    return known[group] = alone;
}

bool hasAccessList(const fs::path& path) { return ::lgetxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0; }

// Where there is an access list, the rights of the group are those of all whom it names.
bool isOpen(const fs::path& path, const struct stat& facts) {
    return (facts.st_mode & S_IWOTH) != 0 || ((facts.st_mode & S_IWGRP) != 0 && (hasAccessList(path) || !isOfUserAlone(facts.st_gid)));
}
bool keepsEntries(const struct stat& facts) { return (facts.st_mode & S_ISVTX) != 0; }

class Way {
public:
    explicit Way(const fs::path& path) : rest_(path.begin(), path.end()) {}

    std::string fault() {
        if (::lstat(at_.c_str(), &facts_) != 0 || !isOurs(facts_))
            return quoted(at_) + " belongs to another user";
        while (!rest_.empty())
            if (const std::string fault = step(); !fault.empty())
                return fault;
        return isOpen(at_, facts_) ? "others may write to " + quoted(at_) : std::string();
    }

private:
    std::string step() {
        const fs::path name = rest_.front();
        rest_.pop_front();
        if (name.empty() || name == "." || name == "/")
            return {};
        if (name == "..")
            return moveTo(at_.parent_path());
        const fs::path entry = at_ / name;
        struct stat facts {};
        if (::lstat(entry.c_str(), &facts) != 0)
            return "cannot look at " + quoted(entry) + ": " + std::strerror(errno);
        if (!isOurs(facts))
            return quoted(entry) + " belongs to another user";
        if (isOpen(at_, facts_) && !keepsEntries(facts_))
            return "others may write to " + quoted(at_);
        if (S_ISLNK(facts.st_mode))
            return follow(entry);
        at_ = entry;
        facts_ = facts;
        return {};
    }

    // `at_` has no links, so its parent is the one above it.
    std::string moveTo(const fs::path& folder) {
        at_ = folder;
        return ::lstat(at_.c_str(), &facts_) == 0 ? std::string() : "cannot look at " + quoted(at_) + ": " + std::strerror(errno);
    }

    std::string follow(const fs::path& link) {
        std::error_code error;
        const fs::path target = fs::read_symlink(link, error);
        if (error || ++links_ > kMostLinks)
            return "cannot follow " + quoted(link);
        rest_.insert(rest_.begin(), target.begin(), target.end());
        return target.is_absolute() ? moveTo("/") : std::string();
    }

    std::deque<fs::path> rest_;
    fs::path at_ = "/";
    struct stat facts_ {}; // of it
    int links_ = 0;
};

} // namespace

std::string otherHands(const fs::path& path) {
    std::error_code error;
    const fs::path whole = fs::absolute(path, error);
    return error ? "cannot look at " + quoted(path) + ": " + error.message() : Way(whole).fault();
}

} // namespace tunesmith
