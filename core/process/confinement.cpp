// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/confinement.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <grp.h>
#include <link.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "core/process/core_masks.h"
#include "core/process/system_calls.h"

namespace tunesmith {
namespace {

Error failure(const std::string& what) {
    return unsupportedError("the worker cannot be confined, so no kernels of others run here: " + what + ": " + std::strerror(errno));
}

// Whoever runs a server as root gives its kernels nothing of that but the name.
Status dropCapabilities() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    return ::syscall(__NR_capset, &header, none) == 0 ? Status() : Status(failure("capset"));
}

constexpr unsigned kNobody = 65534; // the id that kernels use for a user without one
constexpr int kNamespaces = CLONE_NEWIPC | CLONE_NEWNET;
constexpr rlim_t kDescriptors = 256, kThreads = 256, kThreadsPerProcessor = 8;

// Over processes of other users: to kill them and to keep them to cores.
bool hasRightsOverOthers() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct own[_LINUX_CAPABILITY_U32S_3] = {};
    constexpr std::uint32_t kNeeded = 1U << CAP_KILL | 1U << CAP_SYS_NICE;
    return ::syscall(__NR_capget, &header, own) == 0 && (own[0].effective & kNeeded) == kNeeded;
}

// False: the worker stays root, whose threads nothing counts, and gives its rights away later.
bool stopBeingRoot(const Confinement& confinement, std::vector<std::string>& gaps) {
    if (!confinement.readable.empty())
        return ::setresuid(kNobody, 0, 0) == 0; // it reads as root, for the files may be root's alone, and counts as nobody
    if (!hasRightsOverOthers()) { // nor has who started this
        gaps.emplace_back(confinement.foreign ? "nothing kills it or keeps it to cores from outside (root has no CAP_KILL or no CAP_SYS_NICE here; start this as another user)"
                                              : "it stays root, without capabilities (root has no CAP_KILL or no CAP_SYS_NICE here; start this as another user)");
        if (!confinement.foreign)
            return false;
    }
    if (::setgroups(0, nullptr) == 0 && ::setresgid(kNobody, kNobody, kNobody) == 0 && ::setresuid(kNobody, kNobody, kNobody) == 0)
        return true;
    gaps.emplace_back(std::string("it stays root, without capabilities (root cannot become nobody here: ") + std::strerror(errno) + "; start this as another user)");
    return false;
}

void limit(__rlimit_resource what, rlim_t most) {
    rlimit now{};
    ::getrlimit(what, &now);
    now.rlim_max = std::min(now.rlim_max, most);
    now.rlim_cur = std::min(now.rlim_cur, now.rlim_max);
    ::setrlimit(what, &now);
}

// Where the kernel lets it: objects of System V and connections of its own, also should a filter have a hole, and a user of its own, for
// the kernel counts the threads of that one apart (since 5.14).
void leaveTheOthers(const Confinement& confinement, std::vector<std::string>& gaps) {
    const bool isRoot = ::geteuid() == 0 || ::getuid() == 0;
    const bool apart = isRoot && ::unshare(kNamespaces) == 0;
    const bool staysRoot = isRoot && !stopBeingRoot(confinement, gaps);
    if (::unshare(CLONE_NEWUSER | (apart ? 0 : kNamespaces)) != 0) {
        gaps.emplace_back("threads are not counted (no namespaces of users; limit them from outside, as TasksMax= of systemd does)");
        return;
    }
    utsname system{};
    const bool countsApart = ::uname(&system) == 0 && countsThreadsApart(system.release);
    if (staysRoot)
        gaps.emplace_back("threads are not counted (those of root never are; start this as another user)");
    else if (!countsApart)
        gaps.emplace_back("threads are not counted (kernels before 5.14 would count all of the user's; limit them from outside, as TasksMax= of systemd does)");
    if (confinement.foreign && countsApart)
        limit(RLIMIT_NPROC, kThreads + kThreadsPerProcessor * std::thread::hardware_concurrency());
}

// Later than some headers.
constexpr std::uint64_t kTruncate = 1 << 14, kDeviceControl = 1 << 15;
constexpr std::uint64_t kReads = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

long landlockVersion() { return ::syscall(__NR_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION); } // less than 1: there is none

std::uint64_t rightsOf(long version) {
    std::uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1; // all of the first version
    for (const auto& [since, right] : {std::pair(2, std::uint64_t(LANDLOCK_ACCESS_FS_REFER)), {3, kTruncate}, {5, kDeviceControl}})
        rights |= version >= since ? right : 0;
    return rights;
}

// The program and its libraries each by itself: what else is in their folders may be the user's.
std::vector<std::string> readable() {
    std::vector<std::string> paths{"/usr", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/dev/null", "/dev/random", "/dev/urandom", "/proc/self", "/proc/cpuinfo",
                                   "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/sys/vm", "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm", "/proc/self/exe"};
    ::dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* list) {
            static_cast<std::vector<std::string>*>(list)->emplace_back(object->dlpi_name);
            return 0;
        },
        &paths);
    return paths;
}

bool allowReading(int rules, const std::string& path) {
    const int place = ::open(path.c_str(), O_PATH | O_CLOEXEC);
    struct stat info {};
    if (place < 0 || ::fstat(place, &info) != 0)
        return true; // this system has no such
    const landlock_path_beneath_attr rule{S_ISDIR(info.st_mode) ? kReads : std::uint64_t(LANDLOCK_ACCESS_FS_READ_FILE), place};
    const bool added = ::syscall(__NR_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    if (!path.starts_with("/proc/")) // the kernel may forget what nobody has open there, and with it the rule
        ::close(place);
    return added;
}

// Nothing is written, made or removed, and little is read; what is open stays so. Kernels without Landlock are as they are.
Status closeFileSystem(const std::vector<std::string>& more, std::vector<std::string>& gaps) {
    const long version = landlockVersion();
    if (version < 1) {
        gaps.emplace_back("every file of the user can be read (no Landlock, or not in the lsm= option of the kernel; start this as a user who has no secrets)");
        return {};
    }
    const landlock_ruleset_attr attributes{rightsOf(version)};
    const auto rules = static_cast<int>(::syscall(__NR_landlock_create_ruleset, &attributes, sizeof attributes, 0));
    bool good = rules >= 0;
    for (const auto& paths : {readable(), more})
        for (const std::string& path : paths)
            good = good && allowReading(rules, path);
    if (!good || ::syscall(__NR_landlock_restrict_self, rules, 0) != 0)
        return failure("Landlock");
    ::close(rules);
    return {};
}

} // namespace

bool countsThreadsApart(const std::string& release) {
    int major = 0, minor = 0;
    return std::sscanf(release.c_str(), "%d.%d", &major, &minor) == 2 && std::pair(major, minor) >= std::pair(5, 14);
}

Result<std::vector<std::string>> confineProcess(const Confinement& confinement) {
    std::vector<std::string> gaps;
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return failure("no_new_privs");
    TS_TRY(closeFileSystem(confinement.readable, gaps));
    leaveTheOthers(confinement, gaps);
    TS_TRY(dropCapabilities());
    if (confinement.foreign && ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) // after the last change of rights, which would undo it; WorkerProcess::spawn has the right thread
        return failure("the signal of the parent's death");
    limit(RLIMIT_NOFILE, kDescriptors);
    if (confinement.foreign)
        TS_TRY(core_masks::reserve());
    std::vector<sock_filter> program = systemCallFilter(confinement.foreign);
    const sock_fprog whole{static_cast<unsigned short>(program.size()), program.data()};
    // Older kernels else slow a confined process down, against attacks on what it does not have: secrets.
    if (::syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &whole) != 0)
        return failure("the kernel needs CONFIG_SECCOMP_FILTER");
    return gaps;
}

} // namespace tunesmith
