// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QByteArray>
#include <QElapsedTimer>
#include <QStringList>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <csignal>
#include <ctime>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/sanitizers.h"

namespace tunesmith::testing {

// A program beside the test, killed at the latest when this goes. Started with posix_spawn and not by a
// QProcess: that one forks, and the thread sanitizer ends a program that starts threads after it forked while
// it had several.
class ChildProcess {
public:
    static constexpr int kPatienceMs = kSanitized ? 600'000 : 60'000;

    // `environment`: lines NAME=VALUE; without it that of the test.
    ChildProcess(const QString& program, const QStringList& arguments,
                 const std::optional<QStringList>& environment = std::nullopt) {
        std::array<std::array<int, 2>, 2> pipes{};
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        for (const int stream : {0, 1}) {
            if (::pipe2(pipes[stream].data(), O_CLOEXEC) != 0)
                std::abort();
            posix_spawn_file_actions_adddup2(&actions, pipes[stream][1], STDOUT_FILENO + stream);
            streams_[stream].end = pipes[stream][0];
        }
        Words words(QStringList(program) + arguments), variables(environment.value_or(QStringList()));
        if (posix_spawnp(&pid_, words.pointers[0], &actions, nullptr, words.pointers.data(),
                         environment ? variables.pointers.data() : environ) != 0)
            pid_ = -1;
        posix_spawn_file_actions_destroy(&actions);
        for (const auto& pipe : pipes)
            ::close(pipe[1]);
    }
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;
    ~ChildProcess() {
        kill();
        for (const Stream& stream : streams_)
            ::close(stream.end);
    }

    bool started() const { return pid_ > 0 || ended_; }
    bool running() { return started() && !reap(WNOHANG); }
    void interrupt(int signal = SIGINT) { // as Ctrl-C does
        if (pid_ > 0)
            ::kill(pid_, signal);
    }
    // Of processors, until now.
    double secondsSoFar() const {
        clockid_t clock = 0;
        timespec time{};
        if (pid_ <= 0 || ::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &time) != 0)
            return 0;
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
    }
    void kill() { // SIGKILL; gone when this returns
        if (pid_ > 0)
            ::kill(pid_, SIGKILL);
        reap(0);
    }

    // Until there is output that was not taken yet: false when none came or the program ended without.
    bool waitForOutput(int patienceMs = kPatienceMs) {
        QElapsedTimer clock;
        clock.start();
        while (streams_[0].text.isEmpty() && !streams_[0].closed && clock.elapsed() < patienceMs)
            readSome(20);
        return !streams_[0].text.isEmpty();
    }
    // The exit status, -2 after a signal or when it had to be killed, -1 when it did not start.
    int wait(int patienceMs = kPatienceMs) {
        QElapsedTimer clock;
        clock.start();
        while (!(streams_[0].closed && streams_[1].closed) && clock.elapsed() < patienceMs)
            readSome(20);
        while (running() && clock.elapsed() < patienceMs)
            ::usleep(1000);
        kill();
        return !ended_ ? -1 : WIFEXITED(status_) ? WEXITSTATUS(status_) : -2;
    }

    // What it took until it ended, with the programs that it started and waited for: the largest of all resident sizes in MB, and seconds of processors.
    // 0 under a sanitizer, which takes both for itself.
    double peakMegabytes() const { return kSanitized ? 0 : static_cast<double>(usage_.ru_maxrss) / 1024; }
    double processorSeconds() const {
        const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; };
        return kSanitized ? 0 : seconds(usage_.ru_utime) + seconds(usage_.ru_stime);
    }

    QByteArray takeOutput() { return take(streams_[0]); }
    QByteArray takeErrors() { return take(streams_[1]); }

private:
    struct Stream {
        int end = -1;
        bool closed = false;
        QByteArray text;
    };
    struct Words { // argv or envp
        explicit Words(const QStringList& list) {
            for (const QString& word : list)
                bytes.push_back(word.toLocal8Bit());
            for (QByteArray& word : bytes)
                pointers.push_back(word.data());
            pointers.push_back(nullptr);
        }
        std::vector<QByteArray> bytes;
        std::vector<char*> pointers;
    };

    bool reap(int flags) {
        if (pid_ > 0 && ::wait4(pid_, &status_, flags, &usage_) == pid_) {
            pid_ = -1;
            ended_ = true;
        }
        return ended_;
    }
    // Whatever has come on both streams, or nothing after `waitMs`.
    bool readSome(int waitMs) {
        std::array<pollfd, 2> ends{};
        for (const int stream : {0, 1})
            ends[stream] = {streams_[stream].closed ? -1 : streams_[stream].end, POLLIN, 0};
        if (::poll(ends.data(), ends.size(), waitMs) <= 0)
            return false;
        for (const int stream : {0, 1})
            if (ends[stream].revents != 0) {
                char buffer[4096];
                const auto count = ::read(ends[stream].fd, buffer, sizeof buffer);
                streams_[stream].closed = count <= 0;
                if (count > 0)
                    streams_[stream].text.append(buffer, count);
            }
        return true;
    }
    QByteArray take(Stream& stream) {
        while (readSome(0) && !(streams_[0].closed && streams_[1].closed)) {
        }
        return std::exchange(stream.text, {});
    }

    pid_t pid_ = -1;
    bool ended_ = false;
    int status_ = 0;
    rusage usage_{};
    std::array<Stream, 2> streams_;
};

} // namespace tunesmith::testing
