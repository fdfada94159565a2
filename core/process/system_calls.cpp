// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/system_calls.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <initializer_list>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "core/process/core_masks.h"

namespace tunesmith {
namespace {

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#endif
constexpr unsigned kX32Bit = 0x40000000;
constexpr unsigned kFirstUnknown = 451; // of a system call later than this list, with one numbering for all processors

constexpr int kAllowed[] = {
    // Its memory and its threads.
    __NR_brk, __NR_futex, __NR_set_robust_list, __NR_rseq, __NR_sched_yield, __NR_sched_getaffinity, __NR_getcpu, __NR_exit, __NR_exit_group, __NR_restart_syscall,
    __NR_rt_sigaction, __NR_rt_sigprocmask, __NR_rt_sigreturn, __NR_sigaltstack,
    // Descriptors that it has, and what is said of files.
    __NR_read, __NR_readv, __NR_pread64, __NR_write, __NR_writev, __NR_close, __NR_lseek, __NR_fstat, __NR_newfstatat, __NR_statx, __NR_faccessat, __NR_faccessat2, __NR_readlinkat,
    __NR_getdents64, __NR_getcwd, __NR_ppoll,
    // Clocks, and who and where it is.
    __NR_clock_gettime, __NR_clock_getres, __NR_clock_nanosleep, __NR_nanosleep, __NR_gettimeofday, __NR_getpid, __NR_gettid, __NR_getppid, __NR_getuid, __NR_geteuid, __NR_getgid, __NR_getegid,
    __NR_getrandom, __NR_getrusage, __NR_sysinfo, __NR_uname,
#if defined(__x86_64__)
    __NR_stat, __NR_lstat, __NR_access, __NR_readlink, __NR_poll, __NR_getpgrp, __NR_time,
#endif
};
constexpr int kUnknownHere[] = {__NR_clone3, __NR_openat2};

constexpr unsigned kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID; // as pthread_create asks
constexpr unsigned kWrites = O_ACCMODE | O_CREAT | O_TRUNC;
// RLIMIT_DATA counts neither shared pages, anonymous ones and those of /dev/zero among them, nor stacks.
constexpr unsigned kUncounted = MAP_SHARED | MAP_GROWSDOWN;

using Code = std::vector<sock_filter>;

constexpr sock_filter statement(unsigned code, unsigned value) { return {static_cast<unsigned short>(code), 0, 0, value}; }
constexpr sock_filter jump(unsigned test, unsigned value, std::size_t yes, std::size_t no) {
    return {static_cast<unsigned short>(BPF_JMP | test | BPF_K), static_cast<unsigned char>(yes), static_cast<unsigned char>(no), value};
}
constexpr sock_filter load(std::size_t offset) { return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)); }
constexpr sock_filter lower(std::size_t argument) { return load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t)); }
constexpr sock_filter upper(std::size_t argument) { return load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t) + sizeof(std::uint32_t)); }
constexpr sock_filter returns(unsigned value) { return statement(BPF_RET | BPF_K, value); }
constexpr sock_filter refuse(int error = EPERM) { return returns(SECCOMP_RET_ERRNO | (static_cast<unsigned>(error) & SECCOMP_RET_DATA)); }

// Tests of an argument, of 32 bits where nothing else is said: each refuses the call or lets the next one look.
Code isOneOf(std::size_t argument, const std::vector<unsigned>& values, int error = EPERM) {
    Code code{lower(argument)};
    for (std::size_t i = 0; i < values.size(); ++i)
        code.push_back(jump(BPF_JEQ, values[i], values.size() - i, 0));
    code.push_back(refuse(error));
    return code;
}
Code hasNone(std::size_t argument, unsigned bits) { return {lower(argument), jump(BPF_JSET, bits, 0, 1), refuse()}; }
Code isAbove4GiB(std::size_t address) { return {upper(address), jump(BPF_JEQ, 0, 0, 1), refuse()}; }
Code isAMask(std::size_t address) {
    constexpr unsigned kFirst = core_masks::kAddress, kEnd = kFirst + core_masks::kCount * sizeof(cpu_set_t);
    return {upper(address), jump(BPF_JEQ, 0, 1, 0), refuse(), lower(address), jump(BPF_JSET, sizeof(cpu_set_t) - 1, 2, 0), jump(BPF_JGE, kFirst, 0, 1), jump(BPF_JGE, kEnd, 0, 1), refuse()};
}
Code isNotFixedBelow4GiB(std::size_t address, std::size_t flags) { return {lower(flags), jump(BPF_JSET, MAP_FIXED, 0, 3), upper(address), jump(BPF_JEQ, 0, 0, 1), refuse()}; }

class Filter {
public:
    Filter()
        : program_{load(offsetof(seccomp_data, arch)), jump(BPF_JEQ, kArchitecture, 1, 0), returns(SECCOMP_RET_KILL_PROCESS), load(offsetof(seccomp_data, nr)),
                   jump(BPF_JGE, kX32Bit, 0, 1),       returns(SECCOMP_RET_KILL_PROCESS), jump(BPF_JGE, kFirstUnknown, 0, 1),  refuse(ENOSYS)} {}
    void answer(int call, sock_filter answer) { append({jump(BPF_JEQ, static_cast<unsigned>(call), 0, 1), answer}); }
    void allow(int call, std::initializer_list<Code> tests = {}) {
        Code block;
        for (const Code& test : tests)
            block.insert(block.end(), test.begin(), test.end());
        block.push_back(returns(SECCOMP_RET_ALLOW));
        append({jump(BPF_JEQ, static_cast<unsigned>(call), 0, block.size())});
        append(block);
    }
    Code finish() && {
        append({refuse()});
        return std::move(program_);
    }

private:
    void append(const Code& more) { program_.insert(program_.end(), more.begin(), more.end()); }
    Code program_;
};

void allowMemory(Filter& filter, bool keepsCores) {
    if (!keepsCores) {
        for (const int call : {__NR_munmap, __NR_mprotect, __NR_madvise, __NR_mremap})
            filter.allow(call);
        filter.allow(__NR_mmap, {hasNone(3, kUncounted)});
        filter.allow(__NR_sched_setaffinity, {isOneOf(0, {0})});
        return;
    }
    // The masks are the only pages below 4 GiB: a range with them in it begins there.
    for (const int call : {__NR_munmap, __NR_mprotect, __NR_madvise})
        filter.allow(call, {isAbove4GiB(0)});
    filter.allow(__NR_mremap, {isAbove4GiB(0), hasNone(3, MREMAP_FIXED)});
    filter.allow(__NR_mmap, {hasNone(3, kUncounted), isNotFixedBelow4GiB(0, 3)});
    filter.allow(__NR_sched_setaffinity, {isOneOf(0, {0}), isOneOf(1, {sizeof(cpu_set_t)}), isAMask(2)});
}

} // namespace

std::vector<sock_filter> systemCallFilter(bool keepsCores) {
    Filter filter;
    for (const int call : kAllowed)
        filter.allow(call);
    for (const int call : kUnknownHere)
        filter.answer(call, refuse(ENOSYS));
    allowMemory(filter, keepsCores);
    // Only on itself or its own group: the watchdog ends the group, and abort() a thread.
    for (const int call : {__NR_kill, __NR_tgkill, __NR_prlimit64, __NR_getpgid})
        filter.allow(call, {isOneOf(0, {0, static_cast<unsigned>(::getpid())})});
    // As message.cpp does it: urgent data would keep the reader awake.
    filter.allow(__NR_recvfrom, {hasNone(3, ~unsigned(MSG_DONTWAIT))});
    filter.allow(__NR_sendto, {hasNone(3, ~unsigned(MSG_DONTWAIT | MSG_NOSIGNAL))});
    filter.allow(__NR_clone, {isOneOf(0, {kThread})});
    filter.allow(__NR_openat, {hasNone(2, kWrites)});
#if defined(__x86_64__)
    filter.allow(__NR_open, {hasNone(1, kWrites)});
#endif
    filter.allow(__NR_ioctl, {isOneOf(1, {TCGETS, TIOCGWINSZ, FIONREAD}, ENOTTY)}); // others change files that are open for reading
    filter.allow(__NR_fcntl, {isOneOf(1, {F_GETFD, F_SETFD, F_GETFL})});
    return std::move(filter).finish();
}

} // namespace tunesmith
