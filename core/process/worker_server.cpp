// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/worker_server.h"
#include "core/base/sanitizers.h"
#include "core/base/memory_budget.h"
#include "core/process/confinement.h"
#include "core/process/error_json.h"
#include "core/process/worker_process.h"
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <new>
#include <poll.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace tunesmith {
namespace {

constexpr int kParentCheckMilliseconds = 1000;
constexpr int kBadStream = 3, kConfinementFailed = 4, kNoThreads = 5;
constexpr rlim_t kReserved = rlim_t(1) << 30, kReservedPerProcessor = rlim_t(128) << 20; // addresses that stacks and the C library's heaps hold and do not fill

[[noreturn]] void dieWithGroup() {
    if (::getpgrp() == ::getpid())
        ::kill(0, SIGKILL);
    ::_exit(0);
}

// PR_SET_PDEATHSIG is for foreign code alone, which could stop this thread: it fires when the *thread* that started the worker ends. The socket's hang-up is
// exact, and the parent's id is the second line of defence should somebody else have inherited the other end.
void watchParent(int socket, pid_t parent) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    for (;;) {
        pollfd fd{socket, POLLRDHUP, 0};
        const int ready = ::poll(&fd, 1, kParentCheckMilliseconds);
        if ((ready > 0 && fd.revents != 0) || (ready < 0 && errno != EINTR) || ::getppid() != parent)
            dieWithGroup();
    }
}

long long takeNumber(const char* name) {
    const char* text = std::getenv(name);
    const long long value = text ? std::strtoll(text, nullptr, 10) : 0;
    ::unsetenv(name); // grandchildren are no workers of that socket
    return value;
}

std::optional<Confinement> takeConfinement() {
    const long long code = takeNumber(worker_environment::kConfinedName);
    if (code == worker_environment::kNotConfined)
        return std::nullopt;
    Confinement confinement{code == worker_environment::kForeignCode, {}};
    for (;;) {
        const std::string name = worker_environment::kReadableName + std::to_string(confinement.readable.size());
        const char* path = std::getenv(name.c_str());
        if (!path)
            return confinement;
        confinement.readable.emplace_back(path);
        ::unsetenv(name.c_str());
    }
}

rlim_t mappedNow() {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

void applyLimits(long long memory, int niceness, bool confined) {
    // Candidates crash by the hundred. 1 instead of 0: the value by which the kernel also spares a piped core
    // handler.
    const rlimit core{1, 1};
    ::setrlimit(RLIMIT_CORE, &core);
    if (memory > 0 && !kSanitized) {
        const rlimit data{static_cast<rlim_t>(memory), static_cast<rlim_t>(memory)};
        ::setrlimit(RLIMIT_DATA, &data);
        // Pages that were filled and are only read since are no data.
        const rlim_t addresses = mappedNow() + data.rlim_cur + kReserved + kReservedPerProcessor * std::thread::hardware_concurrency();
        const rlimit all{addresses, addresses};
        if (confined)
            ::setrlimit(RLIMIT_AS, &all);
    }
    if (niceness != 0)
        ::setpriority(PRIO_PROCESS, 0, niceness);
}

Result<Message> handle(const std::map<std::string, Handler>& handlers, const Message& request) {
    const auto verb = request.body.is_object() ? request.body.find("verb") : request.body.end();
    if (verb == request.body.end() || !verb->is_string())
        return inputError("a request to the worker names no verb");
    const auto handler = handlers.find(verb->get<std::string>());
    if (handler == handlers.end())
        return unsupportedError("the worker knows no verb \"" + verb->get<std::string>() + "\"");
    try {
        return handler->second(request);
    } catch (const std::bad_alloc&) {
        return internalError("out of memory in the worker");
    } catch (const std::exception& exception) {
        return internalError(std::string("the worker failed: ") + exception.what());
    } catch (...) {
        return internalError("the worker failed with an exception of unknown type");
    }
}

Message errorReply(const Error& error) {
    return {{{"ok", false}, {"error", errorToJson(error)}}, {}};
}

Status answer(int socket, Result<Message> result) {
    if (!result.ok())
        return writeMessage(socket, errorReply(result.error()));
    try {
        Message reply = std::move(result).value();
        reply.body = {{"ok", true}, {"body", std::move(reply.body)}};
        const Status status = writeMessage(socket, reply);
        if (status.ok() || status.error().kind != ErrorKind::input)
            return status;
        return writeMessage(socket, errorReply(status.error()));
    } catch (const std::bad_alloc&) { // thrown before the first byte is sent
        return writeMessage(socket, errorReply(internalError("out of memory in the worker")));
    }
}

} // namespace

int serveWorker(std::map<std::string, Handler> handlers) {
    const int socket = static_cast<int>(takeNumber(worker_environment::kSocketName));
    const auto parent = static_cast<pid_t>(takeNumber(worker_environment::kParentName));
    const long long memory = takeNumber(worker_environment::kMemoryName);
    if (const long long values = takeNumber(worker_environment::kValuesName); values > 0)
        limitValueMemory(values);
    const int niceness = static_cast<int>(takeNumber(worker_environment::kNicenessName));
    const std::optional<Confinement> confinement = takeConfinement();
    if (socket <= 0 || ::fcntl(socket, F_SETFD, FD_CLOEXEC) != 0) {
        std::fputs("This program is started by Tunesmith and is of no use by itself.\n", stderr);
        return 2;
    }
    std::setvbuf(stdout, nullptr, _IOLBF, 4096); // what a candidate printed must survive its crash
    applyLimits(memory, niceness, confinement.has_value());
    const auto gaps = confinement ? confineProcess(*confinement) : std::vector<std::string>{"it is not confined"};
    if (!gaps.ok() && confinement->foreign) {
        std::fprintf(stderr, "worker: %s\n", gaps.error().message.c_str());
        return kConfinementFailed;
    }
    handlers[worker_environment::kGapsVerb] = [&](const Message&) -> Result<Message> {
        TS_TRY(gaps);
        return Message{{{"gaps", *gaps}}, {}};
    };
    try {
        std::thread(watchParent, socket, parent).detach();
    } catch (const std::system_error& error) {
        std::fprintf(stderr, "worker: cannot start a thread (%s); raise the limit of processes (ulimit -u)\n", error.code().message().c_str());
        return kNoThreads;
    }
    if (::getppid() != parent) // before the kernel was told to end this one with it
        dieWithGroup();
    for (;;) {
        const Result<std::optional<Message>> request = readMessage(socket);
        if (request.ok() && !*request)
            dieWithGroup();
        Status status;
        if (request.ok())
            status = answer(socket, handle(handlers, **request));
        else
            status = request.error();
        if (!status.ok()) {
            std::fprintf(stderr, "worker: %s\n", status.error().message.c_str());
            return kBadStream;
        }
    }
}

} // namespace tunesmith
