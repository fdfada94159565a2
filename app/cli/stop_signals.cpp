// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/stop_signals.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <poll.h>
#include <semaphore.h>
#include <string_view>
#include <system_error>
#include <thread>
#include <time.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "core/base/unfinished.h"

namespace tunesmith::cli {
namespace {

// Seconds. A program that waits for another one, or gets little of a loaded machine, has longer to end well than one that computes on.
constexpr double kPatience = 0.7, kComputing = 0.35, kLongest = 3;

StopSource& stopSource = *new StopSource; // signals come until the very end
sem_t asked;
std::atomic<bool> partOnly = false;
std::atomic<bool> told = false; // one of both has its say: the work or the end without it

std::atomic<bool> watched = false, stopped = false;

void stop(int signal) {
    stopSource.requestStop();
    if (stopped.exchange(true) || !watched)
        std::signal(signal, SIG_DFL); // the next one kills
    sem_post(&asked);
}

bool waitForSignal() {
    while (sem_wait(&asked) != 0) {
    }
    return true;
}

bool signalWithin(std::chrono::nanoseconds time) {
    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    const auto nanoseconds = until.tv_nsec + time.count();
    until.tv_sec += nanoseconds / 1'000'000'000;
    until.tv_nsec = nanoseconds % 1'000'000'000;
    return sem_clockwait(&asked, CLOCK_MONOTONIC, &until) == 0;
}

// Not through stdio, whose lock has who waits for a terminal that was stopped; and only where nobody has to wait.
void sayCancelled() {
    const std::string_view text = isatty(STDERR_FILENO) == 1 ? "\r\033[Ktunesmith-cli: cancelled\n" : "tunesmith-cli: cancelled\n";
    pollfd place{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&place, 1, 0) == 1 && (place.revents & POLLOUT) != 0 && ::write(STDERR_FILENO, text.data(), text.size()) < 0)
        return; // it ends all the same
}

// Not every step can be asked: a kernel of the reference engine, a pass of LLVM, a query. To leave in the midst of one is safe: the
// store has committed what it reported, each trial in a transaction of its own; files and module folders get their names when they
// are whole; workers end when their socket closes.
void leave() {
    if (!told.exchange(true))
        sayCancelled();
    removeUnfinished();
    _exit(kCancelled);
}

double secondsOf(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void watch() {
    waitForSignal();
    const double begun = secondsOf(CLOCK_MONOTONIC), computed = secondsOf(CLOCK_PROCESS_CPUTIME_ID);
    const auto waits = [&] {
        const double waited = secondsOf(CLOCK_MONOTONIC) - begun;
        return waited < kPatience || (waited < kLongest && secondsOf(CLOCK_PROCESS_CPUTIME_ID) - computed < kComputing);
    };
    bool second = false;
    while (!second && waits())
        second = signalWithin(std::chrono::milliseconds(20));
    if (!second && partOnly)
        second = waitForSignal();
    leave();
}

bool isIgnored(int signal) {
    struct sigaction action {};
    return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

} // namespace

StopSignals::StopSignals() {
    sem_init(&asked, 0, 0);
    sigset_t signals, before; // the watching thread takes none
    sigfillset(&signals);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    try {
        std::thread(watch).detach();
        watched = true;
    } catch (const std::system_error&) { // the work, which wants threads as well, says so
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    struct sigaction action {};
    action.sa_handler = stop;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    if (!isIgnored(SIGHUP)) // as nohup has it
        sigaction(SIGHUP, &action, nullptr);
}

StopToken StopSignals::token() const { return stopSource.token(); }

void StopSignals::endPartOnly(bool on) { partOnly = on; }

void StopSignals::workEnded() {
    while (told.exchange(true))
        pause();
}

} // namespace tunesmith::cli
