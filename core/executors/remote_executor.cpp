// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/remote_executor.h"

#include <algorithm>
#include <thread>

#include "core/base/log.h"
#include "core/executors/wire.h"

namespace tunesmith {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kTries = 2;
constexpr milliseconds kAskEvery{50}, kTrackerEvery{500}, kFirstTracker{8000};
constexpr milliseconds kShortestPause{1000}, kLongestPause{60'000}; // of a device that failed
constexpr int kFirstOpenings = 4; // by then a server that was killed is forgotten
constexpr double kSpareSeconds = 60; // for what a server does beside a measurement itself, such as waiting for the machine's measuring lock ...
constexpr double kSpareToBuild = 15;  // ... and beside builds, such as starting a worker again
constexpr std::size_t kMostKept = 8192;
constexpr milliseconds kTellAgain{2000}; // that it still waits

Status sleepFor(milliseconds time, const StopToken& stop) {
    for (const auto until = steady_clock::now() + time; steady_clock::now() < until; std::this_thread::sleep_for(milliseconds(5)))
        if (stop.stopRequested())
            return cancelledError();
    return stop.stopRequested() ? cancelledError() : Status();
}

} // namespace

RemoteExecutor::RemoteExecutor(RemoteOptions options, std::shared_ptr<TrackerClient> tracker, std::string secret)
    : options_(std::move(options)), tracker_(std::move(tracker)), secret_(std::move(secret)) {}

Result<std::unique_ptr<RemoteExecutor>> RemoteExecutor::connect(RemoteOptions options, const StopToken& stop) {
    TS_TRY(checkName(options.key, "the key of a device"));
    TS_ASSIGN(auto tracker, TrackerClient::make(options.tracker, options.access));
    std::unique_ptr<RemoteExecutor> executor(new RemoteExecutor(std::move(options), std::move(tracker), newSecret()));
    TS_ASSIGN(const Session session, executor->enter(stop, false));
    executor->first_ = session->device();
    session->leave();
    return executor;
}

std::unique_ptr<RemoteExecutor> RemoteExecutor::another() const {
    std::unique_ptr<RemoteExecutor> executor(new RemoteExecutor(options_, tracker_, secret_));
    executor->first_ = first_;
    return executor;
}

void RemoteExecutor::tell(const std::string& text) {
    {
        const std::lock_guard lock(mutex_);
        const auto now = steady_clock::now();
        if (told_ == text && now - toldAt_ < kTellAgain)
            return;
        told_ = text;
        toldAt_ = now;
    }
    if (options_.tell)
        options_.tell(text);
}

void RemoteExecutor::blame(const std::string& device, const Error& why) {
    logMessage(LogLevel::warning, why.message);
    tell(why.message);
    const std::lock_guard lock(mutex_);
    kept_.erase(device);
    Fault& fault = faults_[device];
    fault.pause = fault.pause == milliseconds(0) ? kShortestPause : std::min(2 * fault.pause, kLongestPause);
    fault.until = steady_clock::now() + fault.pause;
}

LeaseWish RemoteExecutor::wish(const std::string& ticket) const {
    LeaseWish wish{ticket, options_.client, options_.key, first_.machine.key, options_.priority ? options_.priority() : 0};
    const std::lock_guard lock(mutex_);
    for (const auto& [device, fault] : faults_)
        if (fault.until > steady_clock::now() && wish.avoid.size() < 64)
            wish.avoid.push_back(device);
    return wish;
}

Result<LeaseBook::Answer> RemoteExecutor::lease(const StopToken& stop) {
    const std::string ticket = newSecret();
    const auto begun = steady_clock::now();
    while (!stop.stopRequested()) {
        auto answer = tracker_->ask(wish(ticket), stop);
        if (answer.ok() && answer->lease)
            return std::move(*answer);
        if (!answer.ok() && answer.error().isCancelled())
            continue;
        const bool known = !first_.name.empty();
        if (!answer.ok() && (answer.error().kind != ErrorKind::io || (!known && steady_clock::now() - begun > kFirstTracker)))
            return answer.error();
        if (!answer.ok())
            tell(answer.error().message + "; waiting");
        else if (answer->devices == 0)
            tell("waiting for a device of the key " + options_.key);
        else
            tell("waiting for a device of the key " + options_.key + ": " + std::to_string(answer->ahead) + " ahead, " + std::to_string(answer->devices) + " devices");
        static_cast<void>(sleepFor(answer.ok() ? kAskEvery : kTrackerEvery, stop).ok());
    }
    tracker_->withdraw(ticket);
    return cancelledError();
}

// Its turn may be over before it has begun: others have it by then.
Result<RemoteExecutor::Session> RemoteExecutor::openNext(const StopToken& stop) {
    milliseconds pause = kAskEvery; // for the tracker may lend what is to be avoided
    for (int failed = 0;;) {
        TS_ASSIGN(const LeaseBook::Answer grant, lease(stop));
        auto opened = RemoteSession::open({grant, options_.limits, options_.access, secret_, options_.timing}, stop);
        if (opened.ok() && (*opened)->enter()) {
            tell("working on " + grant.info.name);
            return Session(std::move(*opened));
        }
        if (!opened.ok() && (opened.error().isCancelled() || (++failed == kFirstOpenings && first_.name.empty())))
            return opened.error();
        blame(grant.device, opened.ok() ? ioError("the turn on the device " + grant.info.name + " was over before it began") : opened.error());
        TS_TRY(sleepFor(pause, stop));
        pause = std::min(2 * pause, kShortestPause);
    }
}

Result<RemoteExecutor::Session> RemoteExecutor::enter(const StopToken& stop, bool inCall) {
    const std::lock_guard lock(waiting_);
    if (session_ && session_->enter())
        return session_;
    session_.reset(); // calls that are under way end before the device goes back
    const auto tellMissing = [&](bool missing) {
        if (inCall && options_.missing)
            options_.missing(missing);
    };
    tellMissing(true);
    auto opened = openNext(stop);
    tellMissing(false);
    TS_ASSIGN(session_, std::move(opened));
    return session_;
}

// Nobody can check a device's word for its machine, so its times and ceilings get a name that no machine has that measures itself.
Result<MachineRow> RemoteExecutor::machine() const {
    MachineRow row = first_.machine;
    row.key += "@remote";
    return row;
}

Status RemoteExecutor::await(const StopToken& stop) {
    TS_ASSIGN(const Session session, enter(stop, false));
    session->leave();
    return {};
}

void RemoteExecutor::rest() {
    const std::lock_guard lock(waiting_);
    session_.reset();
}

std::set<std::string> RemoteExecutor::keptBy(const std::string& device) {
    const std::lock_guard lock(mutex_);
    return kept_[device];
}

void RemoteExecutor::remember(const std::string& device, const Message& request, const CallReport& report) {
    std::vector<std::string> names;
    for (const auto* blobs : {&request.blobs, &report.reply.blobs})
        for (const auto& blob : *blobs)
            if (blob.size() >= kKeptFrom && report.outcome != CallOutcome::refused)
                names.push_back(blobName(blob));
    const std::lock_guard lock(mutex_);
    faults_.erase(device);
    auto& kept = kept_[device];
    if (kept.size() > kMostKept)
        kept.clear();
    kept.insert(names.begin(), names.end());
}

CallReport RemoteExecutor::call(const Message& request, double seconds, double patienceSeconds, const StopToken& stop) {
    const auto patience = std::chrono::ceil<milliseconds>(std::chrono::duration<double>(patienceSeconds));
    Error last;
    for (int lost = 0; lost < kTries;) {
        const auto current = enter(stop, true);
        if (!current.ok())
            return ended(current.error().isCancelled() ? CallOutcome::cancelled : CallOutcome::notStarted, current.error());
        RemoteSession& session = **current;
        std::uint64_t moved = 0;
        traffic_.begin();
        auto report = session.exchange(request, seconds, patience, stop, keptBy(session.deviceId()), &moved);
        traffic_.end(moved);
        session.leave();
        const bool begun = !report.ok() || report->outcome != CallOutcome::notStarted;
        if (report.ok() && begun) {
            remember(session.deviceId(), request, *report);
            return std::move(*report);
        }
        last = report.ok() ? report->error : report.error();
        blame(session.deviceId(), last);
        lost += begun ? 1 : 0; // else it is the next device's
    }
    return ended(CallOutcome::crashed, internalError("two devices were lost over it: " + last.message));
}

CallReport RemoteExecutor::build(const Message& request, const StopToken& stop) {
    // A device of few cores builds one after the other what is asked for at once.
    const int asked = std::max(1, options_.limits.builders), atOnce = std::clamp(first_.machine.cores, 1, asked);
    return call(request, options_.limits.buildSeconds, (asked + atOnce - 1) / atOnce * options_.limits.buildSeconds + kSpareToBuild, stop);
}

CallReport RemoteExecutor::measure(Message request, double seconds, const StopToken& stop) {
    return call(request, seconds, seconds + options_.limits.prepareSeconds + kSpareSeconds, stop);
}

} // namespace tunesmith
