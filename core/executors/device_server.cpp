// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/device_server.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <thread>

#include "core/base/log.h"
#include "core/executors/call_memory.h"
#include "core/executors/device_session.h"
#include "core/executors/guarded_service.h"
#include "core/executors/registration.h"
#include "core/executors/remote.pb.h"
#include "core/executors/rpc.h"
#include "core/executors/wire.h"
#include "core/schedule/kernel_workers.h"

namespace tunesmith {
namespace {

using grpc::ServerContext;
using grpc::StatusCode;
using std::chrono::steady_clock;

constexpr std::size_t kKeptBytes = std::size_t(256) << 20;
constexpr int kMostCalls = 64; // at a time
constexpr int kSpareStreams = 8; // of a connection: Open, and calls that are given up
constexpr std::size_t kMostHeld = 2 * kLargestMessage; // bytes of their requests together, as they come and again as they are worked on ...
constexpr std::size_t kMostAnswers = kLargestMessage; // ... and of their answers
constexpr std::chrono::seconds kAnswerRoom{5};          // ... for which one waits
constexpr std::chrono::milliseconds kTick{20}, kPatience{10'000}, kWorkersEnd{10'000};

Result<std::unique_ptr<KernelExecutor>> startWorkers(const KernelWorkerOptions& options) {
    TS_ASSIGN(auto workers, KernelWorkers::start(options));
    return std::unique_ptr<KernelExecutor>(std::move(workers));
}

// Of what is there for all workers: a half to measure, which takes tensors, the other one to build, which takes compilers.
void shareMemory(KernelWorkerOptions& limits) {
    const std::uint64_t half = limits.worker.memoryLimit / 2;
    limits.worker.memoryLimit = half;
    limits.builderMemory = half / static_cast<std::uint64_t>(std::max(1, limits.builders));
}

// Work for the end of a scope, also where an exception ends it: gRPC takes those of its calls, and the server goes on.
template <class Work> class AtEnd {
public:
    explicit AtEnd(Work work) : work_(std::move(work)) {}
    AtEnd(const AtEnd&) = delete;
    AtEnd& operator=(const AtEnd&) = delete;
    ~AtEnd() { work_(); }

private:
    Work work_;
};

} // namespace

struct DeviceServer::Impl final : GuardedService {
    // A client at the device and the calls that it has under way.
    struct Guest {
        struct Call {
            ServerContext* context;
            std::uint64_t number = 0; // its client's; 0: it is still read
            StopSource stop = {};
        };
        struct Answer { // on its way
            std::uint64_t number;
            steady_clock::time_point until;
        };
        std::string lease; // the secret
        StopSource stop;
        std::atomic<bool> over = false; // its turn, long since: no call begins
        std::mutex mutex; // guards what follows
        std::unique_ptr<DeviceSession> session; // while there are calls, and until the client goes
        std::list<Call> calls;
        std::vector<Answer> answers;

        void stopAbandonedCalls() {
            const std::lock_guard lock(mutex);
            for (Call& call : calls)
                if (call.context->IsCancelled())
                    call.stop.requestStop();
        }
        // The calls that it may still expect an answer to.
        void name(remote::SessionEvent& event) {
            const std::lock_guard lock(mutex);
            std::erase_if(answers, [](const Answer& answer) { return answer.until < steady_clock::now(); });
            for (const Call& call : calls)
                if (call.number != 0)
                    event.add_calls(call.number);
            for (const Answer& answer : answers)
                event.add_calls(answer.number);
        }
        void begin(Call& call, const remote::Request& request) {
            const std::lock_guard lock(mutex);
            call.number = request.call();
        }
        void end(std::list<Call>::iterator call, std::size_t bytes) {
            const std::lock_guard lock(mutex);
            if (call->number != 0)
                answers.push_back({call->number, steady_clock::now() + longestWay(bytes)});
            calls.erase(call);
        }
        void endAll() {
            stop.requestStop();
            const std::lock_guard lock(mutex);
            for (Call& call : calls)
                if (call.number == 0)
                    call.context->TryCancel();
        }
        // `since`: it was told that its turn is over.
        bool mustGo(steady_clock::duration since, const LeaseTiming& timing) {
            const std::lock_guard lock(mutex);
            over = since > timing.over;
            return over && (calls.empty() || since > timing.over + timing.last);
        }
    };

    explicit Impl(DeviceServerOptions asked) : GuardedService(asked.access), options(std::move(asked)), blobs(kKeptBytes) {
        add("/tunesmith.remote.Executor/Open", [this](ServerContext& context, Stream& stream) { return open(context, stream); });
        add("/tunesmith.remote.Executor/Exchange", [this](ServerContext& context, Stream& stream) { return exchange(context, stream); });
    }

    // As long as the lease.
    grpc::Status open(ServerContext& context, Stream& stream) {
        if (!ready)
            return {StatusCode::UNAVAILABLE, "this server is about to begin"};
        const auto lease = registration->begin(leaseOf(context));
        if (!lease.ok())
            return toStatus(lease.error());
        if (!*lease)
            return {StatusCode::PERMISSION_DENIED, "a lease that the tracker has not given for this device"};
        const AtEnd freed([this] { registration->end(); });
        return serve(context, stream, **lease);
    }

    grpc::Status serve(ServerContext& context, Stream& stream, const Lease& lease) {
        remote::OpenRequest request;
        if (grpc::Status read = receive(context, stream, {kLargestQuestion}, kPatience, request); !read.ok())
            return read;
        if (const Status same = checkProtocol(request.protocol()); !same.ok())
            return toStatus(same.error());
        if (const Status name = checkName(request.client_secret(), "the secret of a client"); !name.ok())
            return toStatus(name.error());
        KernelWorkerOptions limits = limitsFromWire(request, options.device);
        limits.worker = options.worker;
        shareMemory(limits);
        auto executor = options.makeExecutor(limits);
        if (!executor.ok()) {
            logMessage(LogLevel::error, "no client can be served: " + executor.error().message);
            return {StatusCode::UNAVAILABLE, executor.error().message};
        }
        const auto current = std::make_shared<Guest>();
        current->lease = lease.id;
        current->session = std::make_unique<DeviceSession>(options.device, lease, request.client_secret(), std::move(*executor), blobs);
        const AtEnd gone([&] {
            setGuest(nullptr);
            current->endAll();
            waitForCalls(current);
            logMessage(LogLevel::info, lease.client + " is gone");
        });
        setGuest(current);
        logMessage(LogLevel::info, "serving " + lease.client);
        attend(context, stream, *current);
        return grpc::Status::OK;
    }

    // Until the client goes or has to.
    void attend(ServerContext& context, Stream& events, Guest& current) {
        auto nextEvent = steady_clock::now(), told = nextEvent; // told: that its turn is over
        bool toldTurn = false;
        while (!context.IsCancelled() && !closing.stopRequested() && !registration->isRevoked()) {
            const bool turnOver = registration->isWanted();
            if (turnOver != toldTurn || steady_clock::now() >= nextEvent) {
                remote::SessionEvent event;
                event.set_turn_over(turnOver);
                current.name(event);
                if (!send(context, events, event).ok())
                    return;
                told = toldTurn ? told : steady_clock::now();
                toldTurn = turnOver;
                nextEvent = steady_clock::now() + options.timing.beat;
            }
            if (current.mustGo(toldTurn ? steady_clock::now() - told : steady_clock::duration::zero(), options.timing)) {
                logMessage(LogLevel::warning, "ended the lease of " + current.session->lease().client + ": it has kept the device although its turn was over");
                return;
            }
            current.stopAbandonedCalls();
            std::this_thread::sleep_for(kTick);
        }
    }

    // The next client's measurements must not find this one's workers.
    static void waitForCalls(const std::shared_ptr<Guest>& current) {
        for (auto until = steady_clock::now() + kWorkersEnd; steady_clock::now() < until; std::this_thread::sleep_for(kTick)) {
            const std::lock_guard lock(current->mutex);
            if (!current->calls.empty())
                continue;
            current->session.reset();
            return;
        }
        logMessage(LogLevel::error, "workers of a client that has gone do not end");
    }

    grpc::Status exchange(ServerContext& context, Stream& stream) {
        const auto current = guestNow();
        if (!current || !sameSecret(current->lease, leaseOf(context)))
            return {StatusCode::PERMISSION_DENIED, "a request without the lease of this device"};
        const auto call = enter(*current, context);
        if (!call)
            return {StatusCode::UNAVAILABLE, "this client has " + std::to_string(kMostCalls) + " calls under way, or its turn is over"};
        remote::Reply reply;
        CallMemory::Share room; // of the reply
        const grpc::Status done = [&] {
            const AtEnd ended([&] { current->end(*call, reply.ByteSizeLong()); });
            if (grpc::Status worked = work(stream, *current, **call, reply); !worked.ok())
                return worked;
            room = answering.take(2 * reply.ByteSizeLong(), kAnswerRoom, [&] { return context.IsCancelled(); }); // it is here, and once more on its way
            return room ? grpc::Status::OK : full(kMostAnswers, "answers that this client does not take");
        }();
        return done.ok() ? send(context, stream, reply) : done;
    }

    static grpc::Status full(std::size_t bytes, const char* whose) {
        return {StatusCode::UNAVAILABLE, std::string(whose) + " hold " + std::to_string(bytes >> 20) + " MiB and do not end"};
    }

    grpc::Status work(Stream& stream, Guest& current, Guest::Call& call, remote::Reply& reply) {
        remote::Request request;
        CallMemory::Share asRead, asWorked;
        const auto take = [&](CallMemory& memory, CallMemory::Share& share, std::size_t bytes) {
            share = memory.take(bytes, longestWay(kLargestMessage), [&] { return current.stop.stopRequested() || call.context->IsCancelled(); });
            return share ? grpc::Status::OK : full(kMostHeld, "the calls of this client");
        };
        const auto admit = [&](std::size_t bytes) { return take(reading, asRead, bytes); };
        if (grpc::Status read = receive(*call.context, stream, {kLargestMessage, kMostParts}, longestWay(kLargestMessage), request, admit); !read.ok())
            return read;
        current.begin(call, request);
        // The request may name a blob that arrives while it waits, so it is weighed again. It counts twice, for workers get a copy.
        for (std::size_t weighed = 0; current.session->weight(request) > weighed;) {
            asWorked = {};
            weighed = current.session->weight(request);
            if (grpc::Status admitted = take(working, asWorked, 2 * weighed); !admitted.ok())
                return admitted;
        }
        try {
            const Status done = current.session->exchange(request, reply, current.stop.token() | call.stop.token(), current.over);
            return done.ok() ? grpc::Status::OK : toStatus(done.error());
        } catch (const std::exception& error) {
            return toStatus(internalError(error.what()));
        }
    }

    static std::optional<std::list<Guest::Call>::iterator> enter(Guest& current, ServerContext& context) {
        const std::lock_guard lock(current.mutex);
        if (std::ssize(current.calls) >= kMostCalls || current.stop.stopRequested() || current.over || !current.session)
            return std::nullopt;
        return current.calls.insert(current.calls.end(), Guest::Call{&context});
    }

    std::shared_ptr<Guest> guestNow() {
        const std::lock_guard lock(mutex);
        return guest;
    }
    void setGuest(std::shared_ptr<Guest> next) {
        const std::lock_guard lock(mutex);
        guest = std::move(next);
    }

    DeviceServerOptions options;
    KeptBlobs blobs;
    CallMemory reading{kMostHeld}, working{kMostHeld}, answering{kMostAnswers};
    StopSource closing;
    std::mutex mutex; // guards guest
    std::shared_ptr<Guest> guest;
    std::unique_ptr<Registration> registration;
    std::atomic<bool> ready = false; // there is a registration
    Listener listener;
};

DeviceServer::DeviceServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

DeviceServer::~DeviceServer() {
    impl_->closing.requestStop();
    impl_->listener.close();
    impl_->registration.reset();
}

const std::string& DeviceServer::address() const { return impl_->listener.address(); }

Result<std::unique_ptr<DeviceServer>> DeviceServer::start(DeviceServerOptions options) {
    TS_TRY(checkCalling(options.access, options.tracker));
    if (!options.makeExecutor)
        options.makeExecutor = startWorkers;
    auto impl = std::make_unique<Impl>(std::move(options));
    TS_ASSIGN(auto tracker, TrackerClient::make(impl->options.tracker, impl->options.access, impl->closing.token() | impl->options.stop));
    TS_ASSIGN(impl->listener, listenAt(impl->options.listen, impl->options.access, *impl, {kLargestMessage, kMostCalls + kSpareStreams}));
    std::unique_ptr<DeviceServer> server(new DeviceServer(std::move(impl)));
    DeviceServerOptions& own = server->impl_->options;
    const std::string& bound = server->address();
    own.device.address = own.advertised.empty() ? bound : own.advertised + bound.substr(bound.rfind(':'));
    TS_TRY(checkDevice(own.device));
    if (isWildcard(own.device.address))
        return inputError("clients reach no machine at " + own.device.address + "; say with --advertise HOST by which name or address they reach this one");
    warnOfOtherHost(own.access, own.device.address);
    TS_ASSIGN(server->impl_->registration, Registration::start(std::move(tracker), own.device, own.timing));
    server->impl_->ready = true;
    return server;
}

} // namespace tunesmith
