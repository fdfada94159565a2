// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <google/protobuf/stubs/logging.h>

#include "core/executors/device_session.h"
#include "core/executors/mock_executor.h"
#include "core/executors/wire.h"
#include "core/measure/machine.h"
#include "core/schedule/kernel_messages.h"
#include "core/schedule/kernel_reply.h"
#include "tests/fuzz/promise.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/targets.h"

namespace tunesmith::fuzz {
namespace {

// What the first byte of an input says that the others are.
enum class Door : unsigned char { request, reply, registration, wish, open, requestInParts, replyInParts };
constexpr unsigned kDoors = 7;
constexpr unsigned char kCut = 0xfe; // in no UTF-8

bool isSentence(const Error& error) { return fuzz::isSentence(error.message); }

DeviceInfo device() {
    DeviceInfo device{"fuzz", "127.0.0.1:1", {"cpu"}, "avx2", "znver4", 2};
    device.machine = {{}, "machine", "cpu", "avx2", 2, "{}"};
    return device;
}

constexpr const char* kOwn = "0123";    // a blob that this client has sent before ...
constexpr const char* kOthers = "4567"; // ... and one of another

// What a client may send to a server that it has a lease of.
void request(const remote::Request& wire) {
    KeptBlobs blobs(1 << 20);
    blobs.keep("client", kOwn, std::vector<std::byte>(100));
    blobs.keep("another", kOthers, std::vector<std::byte>(100));
    DeviceSession session(device(), {"lease", "client"}, "client", std::make_unique<MockExecutor>(MockOptions{0, 0, 64}, KernelWorkerOptions()), blobs);
    remote::Reply reply;
    const std::atomic<bool> over = false;
    const Status done = session.exchange(wire, reply, {}, over);
    if (!done.ok())
        return require(isSentence(done.error()), "a refusal is one sentence");
    const bool others = std::ranges::any_of(wire.blobs(), [](const remote::Blob& blob) { return blob.kept() == kOthers; });
    require(!others || reply.missing(), "another's blob is not there");
    remote::Reply arrived;
    require(arrived.ParseFromString(reply.SerializeAsString()), "an answer can be read");
    if (reply.missing())
        return;
    const auto report = fromWire(arrived);
    require(report.ok() && report->replied(), "what a session answers is understood");
    const Message sent{nlohmann::json::parse(wire.body()), {}};
    require(checkKernelReply(sent, report->reply).ok(), "what a session answers is an answer to what was asked");
}

// What a server may answer.
void reply(remote::Reply wire) {
    const auto report = fromWire(wire);
    if (!report.ok())
        return require(isSentence(report.error()), "a complaint is one sentence");
    if (!report->replied())
        return require(report->error.message.find('\n') == std::string::npos, "an error of a server is one line");
    const auto goodFor = [&](const char* verb) { return checkKernelReply({{{"verb", verb}}, {}}, report->reply).ok(); };
    if (goodFor("build_kernel")) {
        const auto package = KernelPackage::fromParts(report->reply.body.at("kernel"), report->reply.blobs.at(0));
        require(package.ok() && KernelPackage::unpack(package->pack()).ok(), "a kernel can be kept");
    }
    if (goodFor("profile_kernel"))
        for (const auto& blob : report->reply.blobs)
            for (const float sample : samplesFromBlob(blob))
                require(sample >= 0 && std::isfinite(sample), "samples are times");
}

// How a client may begin.
void open(const remote::OpenRequest& wire) {
    const KernelWorkerOptions limits = limitsFromWire(wire, device());
    for (const double seconds : {limits.buildSeconds, limits.profileSeconds, limits.prepareSeconds, limits.measureMs / 1000})
        require(seconds > 0 && seconds <= 600, "limits of time are times");
    require(limits.builders >= 1 && limits.builders <= device().machine.cores, "a device has builders, and not more than cores");
}

// What a tracker may be told.
void registration(const remote::Registration& wire) {
    LeaseBook book({}, [n = 0]() mutable { return "s" + std::to_string(++n); });
    static_cast<void>(book.add(device(), {}, {}).ok());
    const auto known = fromWire(wire.device());
    const auto added = known.ok() ? book.add(*known, Lease{wire.served().lease(), wire.served().client()}, {}) : known.error();
    require(added.ok() || isSentence(added.error()), "a refusal is one sentence");
    require(book.devices({}).size() <= 2, "one device for each registration");
    if (added.ok()) {
        remote::Device listed, arrived;
        toWire(*known, listed);
        require(arrived.ParseFromString(listed.SerializeAsString()) && fromWire(arrived).ok(), "what is listed can be read");
        static_cast<void>(MachineCeilings::fromJson(nlohmann::json::parse(known->machine.ceilings)).ok());
    }
}

void wish(const remote::Wish& wire) {
    LeaseBook book({}, [n = 0]() mutable { return "s" + std::to_string(++n); });
    const auto added = book.add(device(), {}, {});
    const auto answer = book.ask({wire.ticket(), wire.client(), wire.key(), wire.machine(), wire.priority(), {wire.avoid().begin(), wire.avoid().end()}}, {});
    require(answer.ok() || isSentence(answer.error()), "a refusal is one sentence");
    if (answer.ok() && answer->lease)
        require(!book.confirm(answer->device, answer->lease->id, {}) && book.confirm(added->secret, answer->lease->id, {}), "what is granted can be taken, by its device only");
}

// A message from its bytes, where they are one.
template <class Wire, class Take> void parsed(std::span<const std::byte> bytes, const Take& take) {
    Wire wire;
    if (wire.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
        take(wire);
}

// A message whose texts are cut at bytes that are in none, so that what is changed in one leaves the others whole.
std::vector<std::string> cut(std::span<const std::byte> bytes) {
    std::vector<std::string> parts(1);
    for (const std::byte byte : bytes)
        if (byte == std::byte(kCut))
            parts.emplace_back();
        else
            parts.back() += static_cast<char>(byte);
    return parts;
}

void requestInParts(std::span<const std::byte> bytes) {
    const std::vector<std::string> parts = cut(bytes);
    remote::Request wire;
    wire.set_body(parts[0]);
    wire.set_seconds(1);
    for (std::size_t i = 1; i < parts.size(); ++i)
        if (parts[i].starts_with('='))
            wire.add_blobs()->set_kept(parts[i].substr(1));
        else
            wire.add_blobs()->set_data(parts[i]);
    const std::string text = wire.SerializeAsString();
    parsed<remote::Request>(std::as_bytes(std::span(text)), request);
}

void replyInParts(std::span<const std::byte> bytes) {
    const std::vector<std::string> parts = cut(bytes);
    remote::Reply wire;
    wire.set_outcome("replied");
    wire.set_body(parts[0]);
    for (std::size_t i = 1; i < parts.size(); ++i)
        wire.add_blobs(parts[i]);
    const std::string text = wire.SerializeAsString();
    parsed<remote::Reply>(std::as_bytes(std::span(text)), reply);
}

} // namespace

void remoteMessages(std::span<const std::byte> bytes) {
    [[maybe_unused]] static const bool quiet = [] { return google::protobuf::SetLogHandler(nullptr), true; }(); // about texts that are no UTF-8
    if (bytes.empty())
        return;
    const auto rest = bytes.subspan(1);
    switch (static_cast<Door>(static_cast<unsigned>(bytes[0]) % kDoors)) {
    case Door::request: return parsed<remote::Request>(rest, request);
    case Door::reply: return parsed<remote::Reply>(rest, reply);
    case Door::registration: return parsed<remote::Registration>(rest, registration);
    case Door::wish: return parsed<remote::Wish>(rest, wish);
    case Door::open: return parsed<remote::OpenRequest>(rest, open);
    case Door::requestInParts: return requestInParts(rest);
    case Door::replyInParts: return replyInParts(rest);
    }
}

std::vector<std::string> remoteSeeds() {
    std::vector<std::string> seeds;
    const auto add = [&](Door door, const std::string& bytes) { seeds.push_back(static_cast<char>(door) + bytes); };
    const auto addParts = [&](Door door, const Message& message) {
        std::string text = message.body.dump();
        for (const auto& blob : message.blobs)
            (text += static_cast<char>(kCut)).append(blobText(blob));
        add(door, text);
    };
    const Target target{Isa::avx2, "znver4", 2};
    Message build = workloadRequest("build_kernel", "0123456789abcdef", "a workload", target);
    build.body["config"] = "1,2";
    Message profile = workloadRequest("profile_kernel", "0123456789abcdef", "a workload", target);
    profile.body.update({{"kernel", {{"config", "1"}}}, {"measure_ms", 5}, {"max_seconds", 1.5}, {"incumbent_ms", 2}});
    profile.blobs.emplace_back(200, std::byte{3});
    Message beside = profile;
    beside.body.update({{"reference", {{"config", "2"}}}, {"reference_ms", 3}});
    beside.blobs.push_back(profile.blobs[1]);
    Message compare = profile;
    compare.body.update({{"verb", "compare_kernels"}, {"kernels", {{{"config", "1"}}}}});
    MockExecutor mock({0, 0, 64}, {});
    for (const Message& message : {build, profile, beside, compare}) {
        remote::Request wire;
        wire.set_seconds(1);
        toWire(message, {}, wire);
        add(Door::request, wire.SerializeAsString());
        addParts(Door::requestInParts, message);
        for (const char* name : {kOwn, kOthers}) {
            wire.mutable_blobs(0)->set_kept(name);
            add(Door::request, wire.SerializeAsString());
            add(Door::requestInParts, message.body.dump() + static_cast<char>(kCut) + "=" + name);
        }
        CallReport report = message.body["verb"] == "build_kernel" ? mock.build(message, {}) : mock.measure(message, 1, {});
        addParts(Door::replyInParts, report.reply);
        remote::Reply answer;
        toWire(std::move(report), answer);
        add(Door::reply, answer.SerializeAsString());
    }
    remote::Registration registration;
    toWire(device(), *registration.mutable_device());
    registration.mutable_device()->mutable_machine()->set_ceilings(R"({"cpu":"c","isa":"avx2","threads":[{"threads":1,"fma_gflops":1.5,"memory_gbs":2}]})");
    registration.mutable_served()->set_lease("lease");
    registration.mutable_served()->set_client("client");
    add(Door::registration, registration.SerializeAsString());
    remote::Wish wish;
    wish.set_ticket("ticket"), wish.set_client("client"), wish.set_key("cpu"), wish.add_avoid("a");
    add(Door::wish, wish.SerializeAsString());
    remote::OpenRequest open;
    open.set_client_secret("secret"), open.set_builders(2), open.set_build_seconds(20), open.set_measure_ms(20);
    add(Door::open, open.SerializeAsString());
    return seeds;
}

} // namespace tunesmith::fuzz
