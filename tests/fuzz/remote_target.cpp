// SPDX-License-Identifier: GPL-3.0-or-later
#include <cstdio>
#include <cstdlib>

#include "core/executors/device_session.h"
#include "core/executors/mock_executor.h"
#include "core/executors/requests.h"
#include "core/executors/wire.h"
#include "core/schedule/kernel_messages.h"
#include "tests/fuzz/remote_target.h"

namespace tunesmith::fuzz {
namespace {

void require(bool holds, const char* what) {
    if (holds)
        return;
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
}

bool isSentence(const Error& error) { return !error.message.empty() && error.message.find('\n') == std::string::npos; }

DeviceInfo device() {
    DeviceInfo device{"fuzz", "127.0.0.1:1", {"cpu"}, "avx2", "znver4", 2};
    device.machine = {{}, "machine", "cpu", "avx2", 2, "{}"};
    return device;
}

// What a client may send to a server that it has a lease of.
void request(std::span<const std::byte> bytes) {
    remote::Request wire;
    if (!wire.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
        return;
    KeptBlobs blobs(1 << 20);
    blobs.keep("client", "0123", std::vector<std::byte>(100));
    DeviceSession session(device(), {"lease", "client"}, "client", std::make_unique<MockExecutor>(MockOptions{0, 0, 64}, KernelWorkerOptions()), blobs);
    remote::Reply reply;
    const Status done = session.exchange(wire, reply, {});
    if (!done.ok())
        return require(isSentence(done.error()), "a refusal is one sentence");
    if (reply.missing())
        return;
    const auto report = fromWire(reply);
    require(report.ok(), "what a session answers is understood");
}

// What a server may answer.
void reply(std::span<const std::byte> bytes) {
    remote::Reply wire;
    if (!wire.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
        return;
    const auto report = fromWire(wire);
    if (!report.ok())
        return require(isSentence(report.error()), "a complaint is one sentence");
    if (!report->replied())
        return require(report->error.message.find('\n') == std::string::npos, "an error of a server is one line");
    for (const char* verb : {"build_kernel", "profile_kernel"})
        if (checkKernelReply({{{"verb", verb}}, {}}, report->reply).ok() && verb == std::string("profile_kernel"))
            for (const auto& blob : report->reply.blobs)
                for (const float sample : samplesFromBlob(blob))
                    require(sample >= 0, "samples are times");
}

// What a tracker may be told.
void tracker(std::span<const std::byte> bytes) {
    LeaseBook book({}, [n = 0]() mutable { return "s" + std::to_string(++n); });
    const LeaseBook::Time now{};
    static_cast<void>(book.add(device(), {}, now).ok());
    remote::Registration registration;
    if (registration.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
        const auto known = fromWire(registration.device());
        const auto added = known.ok() ? book.add(*known, Lease{registration.served().lease(), registration.served().client()}, now) : known.error();
        require(added.ok() || isSentence(added.error()), "a refusal is one sentence");
    }
    remote::Wish wish;
    if (wish.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
        const auto answer = book.ask({wish.ticket(), wish.client(), wish.key(), wish.machine(), wish.priority(), {wish.avoid().begin(), wish.avoid().end()}}, now);
        require(answer.ok() || isSentence(answer.error()), "a refusal is one sentence");
        if (answer.ok() && answer->lease)
            require(book.confirm(answer->device, answer->lease->id, now).has_value(), "what is granted can be taken");
    }
    require(book.devices(now).size() <= 2, "one device for each registration");
}

} // namespace

void remoteMessages(std::span<const std::byte> bytes) {
    if (bytes.empty())
        return;
    const auto rest = bytes.subspan(1);
    switch (static_cast<unsigned>(bytes[0]) % 3) {
    case 0: return request(rest);
    case 1: return reply(rest);
    default: return tracker(rest);
    }
}

std::vector<std::string> remoteSeeds() {
    std::vector<std::string> seeds;
    const auto add = [&](char kind, const google::protobuf::MessageLite& wire) { seeds.push_back(kind + wire.SerializeAsString()); };
    const Target target{Isa::avx2, "znver4", 2};
    Message build = workloadRequest("build_kernel", "0123456789abcdef", "a workload", target);
    build.body["config"] = "1,2";
    Message profile = workloadRequest("profile_kernel", "0123456789abcdef", "a workload", target);
    profile.body.update({{"kernel", {{"config", "1"}}}, {"measure_ms", 5}, {"max_seconds", 1.5}, {"incumbent_ms", 2}});
    profile.blobs.emplace_back(200, std::byte{3});
    Message compare = profile;
    compare.body.update({{"verb", "compare_kernels"}, {"kernels", {{{"config", "1"}}}}});
    MockExecutor mock({0, 0, 64}, {});
    for (const Message& message : {build, profile, compare}) {
        remote::Request wire;
        wire.set_seconds(1);
        wire.set_lease("lease");
        toWire(message, {}, wire);
        add('\0', wire);
        wire.mutable_blobs(0)->set_kept("0123");
        add('\0', wire);
        remote::Reply answer;
        toWire(message.body["verb"] == "build_kernel" ? mock.build(message, {}) : mock.measure(message, 1, {}), answer);
        add('\1', answer);
    }
    remote::Registration registration;
    toWire(device(), *registration.mutable_device());
    registration.mutable_served()->set_lease("lease");
    registration.mutable_served()->set_client("client");
    add('\2', registration);
    remote::Wish wish;
    wish.set_ticket("ticket"), wish.set_client("client"), wish.set_key("cpu"), wish.add_avoid("a");
    add('\2', wish);
    return seeds;
}

} // namespace tunesmith::fuzz
