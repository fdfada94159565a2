// SPDX-License-Identifier: GPL-3.0-or-later
#include "attempts.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <pthread.h>
#include <sched.h>
#include <set>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "core/process/core_masks.h"

namespace tunesmith::testing {
namespace {

cpu_set_t allCores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (std::size_t core = 0; core < CPU_SETSIZE; ++core)
        CPU_SET(core, &set);
    return set;
}

int cores() {
    cpu_set_t set;
    return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : -1;
}

// Whether this thread gets more cores by a mask at that address.
bool leavesBy(const void* mask, std::size_t size = sizeof(cpu_set_t)) {
    const int before = cores();
    return ::syscall(__NR_sched_setaffinity, 0, size, mask) == 0 && cores() > before;
}

void* masks() { return reinterpret_cast<void*>(std::uintptr_t(core_masks::kAddress)); }

bool leavesByWriting(void* pages) {
    if (pages == MAP_FAILED || pages != masks())
        return false;
    *static_cast<cpu_set_t*>(pages) = allCores();
    return leavesBy(pages);
}

void* waitFor(void* end) {
    while (!static_cast<std::atomic<bool>*>(end)->load())
        ::usleep(1000);
    return nullptr;
}

} // namespace

Result<Message> attemptsOnOthers(const Message& request) {
    const auto victim = request.body.at("victim").get<pid_t>();
    const auto id = [&](const char* name) { return request.body.at(name).get<int>(); };
    constexpr int kProcess = 1, kIdle = 3 << 13; // of ioprio_set
    const sched_param none{};
    const cpu_set_t all = allCores();
    nlohmann::json can;
    can["change its niceness"] = ::setpriority(PRIO_PROCESS, static_cast<id_t>(victim), 5) == 0;
    can["change its scheduling"] = ::sched_setscheduler(victim, SCHED_BATCH, &none) == 0;
    can["bind it to cores"] = ::sched_setaffinity(victim, sizeof all, &all) == 0;
    can["change its class of input and output"] = ::syscall(__NR_ioprio_set, kProcess, victim, kIdle) == 0;
    can["read its limits"] = ::prlimit(victim, RLIMIT_NOFILE, nullptr, nullptr) == 0;
    can["signal it"] = ::kill(victim, 0) == 0 || ::syscall(__NR_tgkill, victim, victim, 0) == 0;
    can["see its shared memory"] = ::shmat(id("shared"), nullptr, SHM_RDONLY) != reinterpret_cast<void*>(-1);
    can["remove its shared memory"] = ::shmctl(id("shared"), IPC_RMID, nullptr) == 0;
    can["remove its queue"] = ::msgctl(id("queue"), IPC_RMID, nullptr) == 0;
    can["remove its semaphores"] = ::semctl(id("semaphores"), 0, IPC_RMID) == 0;
    can["watch its folder"] = ::inotify_add_watch(::inotify_init1(IN_CLOEXEC), "/tmp", IN_ALL_EVENTS) >= 0;
    return Message{std::move(can), {}};
}

Result<Message> attemptsOnCores(const Message&) {
    const cpu_set_t all = allCores();
    constexpr std::size_t kPage = 4096;
    constexpr int kKind = MAP_PRIVATE | MAP_ANONYMOUS, kBoth = PROT_READ | PROT_WRITE;
    cpu_set_t own;
    nlohmann::json can;
    can["stay"] = ::sched_getaffinity(0, sizeof own, &own) == 0 && keepThreadTo(own);
    can["take others"] = leavesBy(&all);
    can["take others as another thread"] = ::sched_setaffinity(::gettid(), sizeof all, &all) == 0;
    can["shift a mask"] = leavesBy(static_cast<std::byte*>(masks()) + 8) || leavesBy(masks(), 2 * sizeof(cpu_set_t));
    can["write to the masks"] = ::mprotect(masks(), kPage, kBoth) == 0 && leavesByWriting(masks());
    can["write from below the masks"] = ::mprotect(static_cast<std::byte*>(masks()) - kPage, 2 * kPage, kBoth) == 0;
    can["map over the masks"] = leavesByWriting(::mmap(masks(), kPage, kBoth, kKind | MAP_FIXED, -1, 0));
    void* other = ::mmap(nullptr, kPage, kBoth, kKind, -1, 0);
    can["move pages over the masks"] = leavesByWriting(::mremap(other, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, masks()));
    can["move the masks away"] = ::mremap(masks(), kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, other) != MAP_FAILED;
    can["remove the masks"] = ::munmap(masks(), kPage) == 0 && leavesByWriting(::mmap(masks(), kPage, kBoth, kKind, -1, 0));
    return Message{std::move(can), {}};
}

Result<Message> attemptToStartThreads(const Message& request) {
    std::atomic<bool> end = false;
    std::vector<pthread_t> threads;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, std::size_t(64) << 10);
    for (pthread_t thread; threads.size() < request.body.at("wanted").get<std::size_t>() && pthread_create(&thread, &small, waitFor, &end) == 0;)
        threads.push_back(thread);
    end = true;
    for (const pthread_t thread : threads)
        pthread_join(thread, nullptr);
    return Message{{{"threads", threads.size()}}, {}};
}

// With arguments that no call can do anything with: what is not refused says so by another error, or by success.
Result<Message> refusedCalls(const Message& request) {
    const auto except = request.body.at("except").get<std::set<long>>();
    nlohmann::json allowed = nlohmann::json::array();
    for (long call = 0; call < 600; ++call) {
        if (except.contains(call))
            continue;
        errno = 0;
        if (::syscall(call, -1, -1, -1, -1, -1, -1) != -1 || (errno != EPERM && errno != ENOSYS))
            allowed.push_back(call);
    }
    return Message{{{"allowed", allowed}}, {}};
}

} // namespace tunesmith::testing
