// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/wire.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/base/hash.h"
#include "core/base/json_text.h"
#include "core/base/printable.h"
#include "core/process/error_json.h"

namespace tunesmith {
namespace {

constexpr std::size_t kMostBlobs = 4096;
constexpr std::size_t kLargestAnswerBody = std::size_t(2) << 20; // bytes: a kernel's header has at most 128 KiB
constexpr int kMostBuilders = 256;
constexpr double kMostSeconds = 600, kMostMeasureSeconds = 60;

struct OutcomeName {
    CallOutcome outcome;
    const char* name;
};
constexpr std::array<OutcomeName, 6> kOutcomes{{{CallOutcome::replied, "replied"},
                                                {CallOutcome::refused, "refused"},
                                                {CallOutcome::crashed, "crashed"},
                                                {CallOutcome::timedOut, "timed_out"},
                                                {CallOutcome::cancelled, "cancelled"},
                                                {CallOutcome::notStarted, "not_started"}}};

std::vector<std::byte> bytesOf(const std::string& text) {
    std::vector<std::byte> bytes(text.size());
    if (!text.empty())
        std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
}

void assign(std::string& text, const std::vector<std::byte>& bytes) { text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size()); }

std::string dump(const nlohmann::json& body) { return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

// Whoever gets a text that is not UTF-8 can read nothing of its message; what a compiler or a dying kernel printed may be none.
std::string utf8(const std::string& text) { return nlohmann::json::parse(dump(text)).get<std::string>(); }

Result<nlohmann::json> bodyOf(const std::string& text) {
    if (text.size() > MessageLimits::body)
        return inputError("a message with more than " + std::to_string(MessageLimits::body >> 20) + " MiB of JSON");
    TS_ASSIGN(nlohmann::json body, parseMessageBody(text));
    if (!body.is_object())
        return inputError("a message without a JSON object");
    return body;
}

double secondsOf(double asked, double byDefault) { return std::isfinite(asked) && asked > 0 ? std::min(asked, kMostSeconds) : byDefault; }

} // namespace

std::string blobName(const std::vector<std::byte>& blob) { return hexHash(Hasher().add(blob.size()).bytes(blob.data(), blob.size()).value()); }

void toWire(const DeviceInfo& device, remote::Device& wire) {
    wire.set_name(utf8(device.name));
    wire.set_address(device.address);
    for (const std::string& key : device.keys)
        wire.add_keys(key);
    wire.set_isa(device.isa);
    wire.set_tune_cpu(utf8(device.tuneCpu));
    wire.set_threads(device.threads);
    wire.set_memory(device.memory);
    wire.set_mock(device.mock);
    wire.set_confinement(device.confinement);
    wire.mutable_machine()->set_key(device.machine.key);
    wire.mutable_machine()->set_cpu(utf8(device.machine.cpu));
    wire.mutable_machine()->set_isa(device.machine.isa);
    wire.mutable_machine()->set_cores(device.machine.cores);
    wire.mutable_machine()->set_ceilings(device.machine.ceilings);
}

Result<DeviceInfo> fromWire(const remote::Device& wire) {
    DeviceInfo device;
    device.name = wire.name();
    device.address = wire.address();
    device.keys.assign(wire.keys().begin(), wire.keys().end());
    device.isa = wire.isa();
    device.tuneCpu = wire.tune_cpu();
    device.threads = wire.threads();
    device.memory = wire.memory();
    device.mock = wire.mock();
    device.confinement = wire.confinement();
    device.machine = {{}, wire.machine().key(), wire.machine().cpu(), wire.machine().isa(), wire.machine().cores(), wire.machine().ceilings()};
    TS_TRY(checkDevice(device));
    return device;
}

KernelWorkerOptions limitsFromWire(const remote::OpenRequest& wire, const DeviceInfo& device) {
    KernelWorkerOptions limits;
    limits.builders = std::clamp(wire.builders(), 1, std::min(kMostBuilders, device.machine.cores));
    limits.buildSeconds = secondsOf(wire.build_seconds(), limits.buildSeconds);
    limits.profileSeconds = secondsOf(wire.profile_seconds(), limits.profileSeconds);
    limits.prepareSeconds = secondsOf(wire.prepare_seconds(), limits.prepareSeconds);
    limits.measureMs = 1000 * std::min(secondsOf(wire.measure_ms() / 1000, limits.measureMs / 1000), kMostMeasureSeconds);
    limits.seed = wire.seed();
    return limits;
}

Status checkProtocol(std::uint32_t protocol) {
    if (protocol == kRemoteProtocol)
        return {};
    return inputError("the caller speaks version " + std::to_string(protocol) + " of the protocol of remote devices instead of " + std::to_string(kRemoteProtocol) +
                      "; install one version of Tunesmith on all machines");
}

void toWire(const Message& message, const std::set<std::string>& kept, remote::Request& wire) {
    wire.set_body(dump(message.body));
    for (const auto& blob : message.blobs) {
        const std::string name = blob.size() < kKeptFrom || kept.empty() ? std::string() : blobName(blob);
        if (!name.empty() && kept.contains(name))
            wire.add_blobs()->set_kept(name);
        else
            assign(*wire.add_blobs()->mutable_data(), blob);
    }
}

Result<Message> fromWire(const remote::Request& wire, const KeptBlob& keptBlob, bool& missing) {
    missing = false;
    if (static_cast<std::size_t>(wire.blobs_size()) > kMostBlobs)
        return inputError("a request with more than " + std::to_string(kMostBlobs) + " blobs");
    Message message;
    TS_ASSIGN(message.body, bodyOf(wire.body()));
    std::size_t total = 0;
    for (const remote::Blob& blob : wire.blobs()) {
        const bool named = blob.content_case() == remote::Blob::kKept;
        const auto known = named ? keptBlob(blob.kept()) : nullptr;
        missing = missing || (named && !known);
        total += known ? known->size() : blob.data().size(); // naming one a thousand times is no way around the limit
        if (total > kLargestMessage)
            return inputError("a request of more than " + std::to_string(kLargestMessage >> 20) + " MiB");
        message.blobs.push_back(known ? *known : bytesOf(blob.data()));
    }
    return message;
}

std::size_t weightOf(const remote::Request& wire, const KeptBlob& keptBlob) {
    constexpr std::size_t kTexts = 2; // of the body, for a worker
    std::size_t bytes = std::min(jsonMemory(wire.body()), MessageLimits::bodyMemory) + kTexts * wire.body().size();
    for (const remote::Blob& blob : wire.blobs()) {
        const auto known = blob.content_case() == remote::Blob::kKept ? keptBlob(blob.kept()) : nullptr;
        bytes += known ? known->size() : blob.data().size();
        if (bytes > kLargestMessage + MessageLimits::bodyMemory)
            break; // it is refused
    }
    return bytes;
}

void toWire(CallReport report, remote::Reply& wire) {
    for (const OutcomeName& entry : kOutcomes)
        if (entry.outcome == report.outcome)
            wire.set_outcome(entry.name);
    if (!report.replied()) {
        const nlohmann::json error = errorToJson(report.error);
        wire.set_error_kind(error.at("kind").get<std::string>());
        wire.set_error(utf8(report.error.message));
        return;
    }
    wire.set_body(dump(report.reply.body));
    for (const auto& blob : report.reply.blobs)
        assign(*wire.add_blobs(), blob);
}

Result<CallReport> fromWire(remote::Reply& wire) {
    CallReport report;
    const auto* known = std::ranges::find(kOutcomes, wire.outcome(), &OutcomeName::name);
    if (known == kOutcomes.end())
        return inputError("it sent an answer that is none");
    report.outcome = known->outcome;
    if (!report.replied()) {
        report.error = errorFromJson({{"kind", wire.error_kind()}, {"message", shortened(wire.error())}});
        return report;
    }
    if (static_cast<std::size_t>(wire.blobs_size()) > kMostBlobs)
        return inputError("it sent an answer with too many parts");
    if (wire.body().size() > kLargestAnswerBody)
        return inputError("it sent an answer with more than " + std::to_string(kLargestAnswerBody >> 10) + " KiB of JSON");
    TS_ASSIGN(report.reply.body, bodyOf(wire.body()));
    if (const auto message = report.reply.body.find("message"); message != report.reply.body.end() && message->is_string())
        *message = shortened(message->get_ref<const std::string&>());
    for (const std::string& blob : wire.blobs())
        report.reply.blobs.push_back(bytesOf(blob));
    return report;
}

} // namespace tunesmith
