// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/device_session.h"

#include <algorithm>
#include <cmath>

#include "core/base/log.h"
#include "core/executors/requests.h"
#include "core/executors/wire.h"

namespace tunesmith {

Result<Message> DeviceSession::unpack(const remote::Request& request, bool& missing) const {
    return fromWire(
        request,
        [&](const std::string& name) {
            auto blob = blobs_.find(client_, name);
            if (!blob && blobs_.isOthers(client_, name))
                logMessage(LogLevel::warning, "refused " + lease_.client + ": it asked for a kernel of another client");
            return blob;
        },
        missing);
}

std::size_t DeviceSession::weight(const remote::Request& request) const {
    return weightOf(request, [&](const std::string& name) { return blobs_.find(client_, name); });
}

void DeviceSession::keepLarge(const Message& message) const {
    for (const auto& blob : message.blobs)
        if (blob.size() >= kKeptFrom)
            blobs_.keep(client_, blobName(blob), blob);
}

std::unique_lock<std::timed_mutex> DeviceSession::awaitMeasuring(const StopToken& stop, const std::atomic<bool>& over) {
    std::unique_lock lock(measuring_, std::defer_lock);
    while (!stop.stopRequested() && !over && !lock.try_lock_for(kWaitTick)) {
    }
    return lock;
}

Status DeviceSession::exchange(const remote::Request& wire, remote::Reply& reply, const StopToken& stop, const std::atomic<bool>& over) {
    bool missing = false;
    TS_ASSIGN(Message request, unpack(wire, missing));
    if (missing) {
        reply.set_missing(true);
        return {};
    }
    TS_ASSIGN(const KernelWork work, checkKernelRequest(request, device_));
    request.body.erase(worker_environment::kProcessors); // is for this machine's own jobs
    keepLarge(request);
    CallReport report;
    report.outcome = CallOutcome::notStarted;
    report.error = ioError("the turn of this client is over");
    if (work == KernelWork::build) {
        if (!over)
            report = executor_->build(request, stop);
    } else {
        const double asked = std::isfinite(wire.seconds()) ? wire.seconds() : 0;
        const double seconds = std::min(std::max(asked, 0.1), 2 * executor_->options().profileSeconds);
        if (const auto lock = awaitMeasuring(stop, over))
            report = executor_->measure(std::move(request), seconds, stop);
    }
    keepLarge(report.reply);
    toWire(std::move(report), reply);
    return {};
}

} // namespace tunesmith
