// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/confinement.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <link.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tunesmith {
namespace {

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#endif
constexpr unsigned kX32Bit = 0x40000000;

constexpr unsigned kFirstUnknown = 451; // of a system call later than these lists, with one numbering for all processors

constexpr int kForbidden[] = {
    __NR_socket, __NR_socketpair, __NR_connect, __NR_bind, __NR_listen, __NR_accept, __NR_accept4, __NR_io_uring_setup, __NR_execve, __NR_execveat, __NR_setsid, __NR_setpgid,
    __NR_ptrace, __NR_process_vm_readv, __NR_process_vm_writev, __NR_tkill, __NR_rt_sigqueueinfo, __NR_rt_tgsigqueueinfo, __NR_pidfd_open, __NR_pidfd_getfd, __NR_pidfd_send_signal, __NR_bpf, __NR_unshare, __NR_setns, __NR_mount, __NR_keyctl, __NR_add_key, __NR_request_key, __NR_perf_event_open,
    // Files: what changes them without a descriptor to write to, and what finds them by other than their paths.
    __NR_truncate, __NR_ftruncate, __NR_mkdirat, __NR_mknodat, __NR_unlinkat, __NR_renameat, __NR_renameat2, __NR_linkat, __NR_symlinkat, __NR_fchmod, __NR_fchmodat, __NR_fchown, __NR_fchownat, __NR_utimensat,
    __NR_setxattr, __NR_lsetxattr, __NR_fsetxattr, __NR_removexattr, __NR_lremovexattr, __NR_fremovexattr, __NR_name_to_handle_at, __NR_open_by_handle_at,
    // Memory that no limit counts, and that others find by name.
    __NR_memfd_create, __NR_memfd_secret, __NR_shmget, __NR_shmat, __NR_semget, __NR_msgget, __NR_mq_open, __NR_mq_unlink,
#if defined(__x86_64__)
    __NR_fork, __NR_vfork, __NR_creat, __NR_mkdir, __NR_rmdir, __NR_mknod, __NR_unlink, __NR_rename, __NR_link, __NR_symlink, __NR_chmod, __NR_chown, __NR_lchown, __NR_utime, __NR_utimes, __NR_futimesat,
#endif
};
constexpr int kUnknownHere[] = {__NR_clone3, __NR_openat2}; // their flags are in memory, where a filter cannot look; the C library takes clone and openat then

constexpr unsigned kWrites = O_ACCMODE | O_CREAT | O_TRUNC;
// RLIMIT_DATA counts neither shared pages, anonymous ones and those of /dev/zero among them, nor stacks.
constexpr unsigned kUncounted = MAP_SHARED | MAP_GROWSDOWN;

constexpr sock_filter statement(unsigned code, unsigned value) { return {static_cast<unsigned short>(code), 0, 0, value}; }
constexpr sock_filter jump(unsigned code, unsigned value, unsigned char yes, unsigned char no) { return {static_cast<unsigned short>(code), yes, no, value}; }
constexpr sock_filter load(std::size_t offset) { return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)); }
constexpr sock_filter loadArgument(std::size_t number) { return load(offsetof(seccomp_data, args) + number * sizeof(std::uint64_t)); } // its lower half
constexpr sock_filter returns(unsigned value) { return statement(BPF_RET | BPF_K, value); }
constexpr sock_filter refuse(int error) { return returns(SECCOMP_RET_ERRNO | (static_cast<unsigned>(error) & SECCOMP_RET_DATA)); }

class Filter {
public:
    Filter() {
        add({load(offsetof(seccomp_data, arch)), jump(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0), returns(SECCOMP_RET_KILL_PROCESS), load(offsetof(seccomp_data, nr)),
             jump(BPF_JMP | BPF_JGE | BPF_K, kX32Bit, 0, 1), returns(SECCOMP_RET_KILL_PROCESS), jump(BPF_JMP | BPF_JGE | BPF_K, kFirstUnknown, 0, 1), refuse(ENOSYS)});
    }
    void forbid(int call, int error) { add({jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1), refuse(error)}); }
    // With any of the bits in that argument; `without`: with none of them.
    void forbidWith(int call, std::size_t argument, unsigned bits) { onBits(call, argument, bits, refuse(EPERM), returns(SECCOMP_RET_ALLOW)); }
    void forbidWithout(int call, std::size_t argument, unsigned bits) { onBits(call, argument, bits, returns(SECCOMP_RET_ALLOW), refuse(EPERM)); }
    void allowOnly(int call, std::size_t argument, const std::vector<unsigned>& values, int error) { onValues(call, argument, values, returns(SECCOMP_RET_ALLOW), refuse(error)); }
    void forbidOnly(int call, std::size_t argument, const std::vector<unsigned>& values) { onValues(call, argument, values, refuse(EPERM), returns(SECCOMP_RET_ALLOW)); }
    std::vector<sock_filter> finish() && {
        add({returns(SECCOMP_RET_ALLOW)});
        return std::move(program_);
    }

private:
    void add(std::initializer_list<sock_filter> more) { program_.insert(program_.end(), more); }
    void onBits(int call, std::size_t argument, unsigned bits, sock_filter some, sock_filter none) {
        add({jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 4), loadArgument(argument), jump(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0), none, some});
    }
    void onValues(int call, std::size_t argument, const std::vector<unsigned>& values, sock_filter one, sock_filter other) {
        const auto count = static_cast<unsigned char>(values.size());
        add({jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, static_cast<unsigned char>(count + 3)), loadArgument(argument)});
        for (unsigned char i = 0; i < count; ++i)
            add({jump(BPF_JMP | BPF_JEQ | BPF_K, values[i], static_cast<unsigned char>(count - i), 0)});
        add({other, one});
    }
    std::vector<sock_filter> program_;
};

std::vector<sock_filter> filter() {
    Filter filter;
    for (const int call : kForbidden)
        filter.forbid(call, EPERM);
    for (const int call : kUnknownHere)
        filter.forbid(call, ENOSYS);
    // Only on itself or its own group: the watchdog ends the group, and abort() a thread.
    for (const int call : {__NR_kill, __NR_tgkill, __NR_prlimit64})
        filter.allowOnly(call, 0, {0, static_cast<unsigned>(::getpid())}, EPERM);
    filter.forbidWithout(__NR_clone, 0, CLONE_THREAD); // it makes threads only
    filter.forbidWith(__NR_openat, 2, kWrites);
#if defined(__x86_64__)
    filter.forbidWith(__NR_open, 1, kWrites);
#endif
    filter.forbidWith(__NR_mmap, 3, kUncounted);
    filter.allowOnly(__NR_ioctl, 1, {TCGETS, TIOCGWINSZ, FIONREAD}, ENOTTY); // others change files that are open for reading
    filter.forbidOnly(__NR_fcntl, 1, {F_SETOWN, F_SETOWN_EX, F_SETSIG, F_SETLEASE}); // signals to others, and others' opening of files
    return std::move(filter).finish();
}

Status failure(const std::string& what) {
    return unsupportedError("the worker cannot be confined, so no kernels of others run here: " + what + ": " + std::strerror(errno));
}

// Whoever runs a server as root gives its kernels nothing of that but the name.
Status dropCapabilities() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    return ::syscall(__NR_capset, &header, none) == 0 ? Status() : failure("capset");
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
Status closeFileSystem() {
    const long version = landlockVersion();
    if (version < 1)
        return {};
    const landlock_ruleset_attr attributes{rightsOf(version)};
    const auto rules = static_cast<int>(::syscall(__NR_landlock_create_ruleset, &attributes, sizeof attributes, 0));
    bool good = rules >= 0;
    for (const std::string& path : readable())
        good = good && allowReading(rules, path);
    if (!good || ::syscall(__NR_landlock_restrict_self, rules, 0) != 0)
        return failure("Landlock");
    ::close(rules);
    return {};
}

} // namespace

Status confineProcess() {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return failure("no_new_privs");
    TS_TRY(closeFileSystem());
    TS_TRY(dropCapabilities());
    std::vector<sock_filter> program = filter();
    const sock_fprog whole{static_cast<unsigned short>(program.size()), program.data()};
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole, 0, 0) != 0)
        return failure("the kernel needs CONFIG_SECCOMP_FILTER");
    return {};
}

std::string confinementGap() {
    if (landlockVersion() >= 1)
        return {};
    return "this kernel has no Landlock, or does not name it in its lsm= option: kernels of others can read every file that this server's user can; let the server run as a user who has no secrets";
}

} // namespace tunesmith
