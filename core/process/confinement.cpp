// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/confinement.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace tunesmith {
namespace {

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#endif
constexpr unsigned kX32Bit = 0x40000000;

constexpr int kForbidden[] = {
    __NR_socket, __NR_connect, __NR_bind, __NR_listen, __NR_accept, __NR_accept4, __NR_io_uring_setup, __NR_execve, __NR_execveat, __NR_setsid, __NR_setpgid,
    __NR_ptrace, __NR_process_vm_readv, __NR_process_vm_writev, __NR_tkill, __NR_rt_sigqueueinfo, __NR_rt_tgsigqueueinfo, __NR_pidfd_open, __NR_pidfd_getfd, __NR_pidfd_send_signal, __NR_bpf, __NR_unshare, __NR_setns, __NR_mount, __NR_keyctl, __NR_perf_event_open,
#if defined(__x86_64__)
    __NR_fork, __NR_vfork,
#endif
};

constexpr sock_filter statement(unsigned code, unsigned value) { return {static_cast<unsigned short>(code), 0, 0, value}; }
constexpr sock_filter jump(unsigned code, unsigned value, unsigned char yes, unsigned char no) { return {static_cast<unsigned short>(code), yes, no, value}; }

std::vector<sock_filter> filter() {
    const auto answer = [](unsigned value) { return statement(BPF_RET | BPF_K, value); };
    const auto errorOf = [](int error) { return SECCOMP_RET_ERRNO | (static_cast<unsigned>(error) & SECCOMP_RET_DATA); };
    const auto load = [](std::size_t offset) { return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)); };
    std::vector<sock_filter> program{load(offsetof(seccomp_data, arch)), jump(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0), answer(SECCOMP_RET_KILL_PROCESS),
                                     load(offsetof(seccomp_data, nr)), jump(BPF_JMP | BPF_JGE | BPF_K, kX32Bit, 0, 1), answer(SECCOMP_RET_KILL_PROCESS)};
    const auto forbid = [&](int call, int error) {
        program.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
        program.push_back(answer(errorOf(error)));
    };
    for (const int call : kForbidden)
        forbid(call, EPERM);
    // Only on itself or its own group: the watchdog ends the group, and abort() a thread.
    for (const int call : {__NR_kill, __NR_tgkill, __NR_prlimit64}) {
        program.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 5));
        program.push_back(load(offsetof(seccomp_data, args)));
        program.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 0));
        program.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(::getpid()), 1, 0));
        program.push_back(answer(errorOf(EPERM)));
        program.push_back(answer(SECCOMP_RET_ALLOW));
    }
    forbid(__NR_clone3, ENOSYS); // its flags are in memory, where a filter cannot look; the C library then takes clone
    // clone makes threads only.
    program.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 3));
    program.push_back(load(offsetof(seccomp_data, args)));
    program.push_back(jump(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0));
    program.push_back(answer(errorOf(EPERM)));
    program.push_back(answer(SECCOMP_RET_ALLOW));
    return program;
}

// Nothing is written, made or removed; what is open stays so. Kernels without Landlock are as they are.
void closeFileSystem() {
    landlock_ruleset_attr attributes{};
    attributes.handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                   LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                                   LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
    const long rules = ::syscall(__NR_landlock_create_ruleset, &attributes, sizeof attributes, 0);
    if (rules < 0)
        return;
    ::syscall(__NR_landlock_restrict_self, rules, 0);
    ::close(static_cast<int>(rules));
}

} // namespace

Status confineProcess() {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return unsupportedError(std::string("the worker cannot be confined: ") + std::strerror(errno));
    closeFileSystem();
    std::vector<sock_filter> program = filter();
    const sock_fprog whole{static_cast<unsigned short>(program.size()), program.data()};
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole, 0, 0) != 0)
        return unsupportedError(std::string("the worker cannot be confined, so no kernels of others run here: ") + std::strerror(errno) +
                                "; the kernel needs CONFIG_SECCOMP_FILTER");
    return {};
}

} // namespace tunesmith
