// SPDX-License-Identifier: GPL-3.0-or-later
#include <chrono>
#include <csignal>
#include <thread>
#include <unistd.h>

#include "app/cli/command.h"
#include "app/cli/remote_options.h"
#include "app/cli/stop_signals.h"
#include "app/cli/text.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/base/unfinished.h"
#include "core/workbench/remote.h"

namespace tunesmith::cli {
namespace {

// Who comes and goes and what is refused, on stderr.
void logToErrors() {
    setLogSink([](LogLevel level, const std::string& text) {
        if (level != LogLevel::debug)
            std::fprintf(stderr, "tunesmith-cli: %s\n", text.c_str());
    });
}

// The first line of stdout: whoever started this reads there where it listens.
void printAddress(Session& session, const std::string& address) {
    session.progress.clear();
    std::printf("%s\n", address.c_str());
    std::fflush(stdout);
}

// Doing without one must be meant: a script's variable may not be set.
std::string isGiven(const std::string& text) { return text.empty() ? "it is given nothing; leave the option out, or name something" : ""; }

void addListening(CLI::App& command, std::string& listen, RemoteFiles& files) {
    command.add_option("--listen", listen, "Where to listen; port 0 takes a free one, and the first line printed names it")->type_name("HOST:PORT")->check(asCheck(checkRemoteAddress))->capture_default_str();
    command.add_option("--cert", files.certificate, "Certificate of this address, PEM")->type_name("FILE")->check(isGiven);
    command.add_option("--tls-key", files.key, "Its private key, PEM, readable for you only")->type_name("FILE")->check(isGiven);
}

Json deviceJson(const DeviceState& device) {
    return {{"name", device.name},
            {"address", device.address},
            {"keys", device.keys},
            {"cpu", device.cpu},
            {"isa", device.isa},
            {"cores", device.cores},
            {"threads", device.threads},
            {"memory_gb", device.memoryGb},
            {"mock", device.mock},
            {"confinement", device.confinement.empty() ? Json() : Json(device.confinement)},
            {"client", device.client.empty() ? Json() : Json(device.client)},
            {"priority", device.priority},
            {"seconds", device.seconds},
            {"answers", !device.deaf},
            {"fma_gflops", device.fmaGflops > 0 ? Json(device.fmaGflops) : Json()},
            {"memory_gbs", device.memoryGbs > 0 ? Json(device.memoryGbs) : Json()}};
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : ",") + word;
    return text;
}

Result<int> printDevices(Session& session, const DeviceList& list) {
    Json devices = Json::array(), waiting = Json::array();
    Table table({{"key", false, 30}, {"device", false, 30}, {"address", false, 40}, {"processor", false, 44}, {"isa"}, {"threads", true}, {"GFLOP/s", true}, {"GB/s", true}, {"confined", false, 100}, {"served", false, 44}});
    for (const DeviceState& device : list.devices) {
        devices.push_back(deviceJson(device));
        table.add({joined(device.keys), device.name, device.address, device.cpu, device.isa, std::to_string(device.threads), device.fmaGflops > 0 ? fixed(device.fmaGflops, 0) : "-",
                   device.memoryGbs > 0 ? fixed(device.memoryGbs, 0) : "-", device.confinement.empty() ? "-" : device.confinement, device.deaf ? "does not answer" : device.client.empty() ? "free" : device.client + ", " + fixed(device.seconds, 0) + " s"});
    }
    std::string text = list.devices.empty() ? "no devices\n" : table.text();
    for (const WaitingClient& client : list.waiting) {
        waiting.push_back({{"client", client.client}, {"key", client.key}, {"priority", client.priority}, {"seconds", client.seconds}});
        text += printable(client.client + " waits for " + client.key) + " with priority " + std::to_string(client.priority) + " for " + fixed(client.seconds, 0) + " s\n";
    }
    return session.print({{"devices", devices}, {"waiting", waiting}}, text);
}

// When its server is stopped in a flood of callers, gRPC 1.51 may wait for them, or abort. Nothing can be lost by then: clients and tracker take silence for the end
// of a lease, workers end with this program, and nothing is on the disk. So the program ends soon, and well.
void endSoonAfter(const StopToken& stop) {
    static constexpr std::chrono::seconds kPatience{5};
    std::thread([stop] {
        while (!stop.stopRequested())
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        std::signal(SIGABRT, [](int) { ::_exit(kDone); });
        std::this_thread::sleep_for(kPatience);
        removeUnfinished();
        ::_exit(kDone);
    }).detach();
}

void beginServing(const StopToken& stop) {
    std::signal(SIGPIPE, SIG_IGN); // whoever reads the log may go
    logToErrors();
    StopSignals::endPartOnly(true);
    endSoonAfter(stop);
}

} // namespace

void addRemoteFiles(CLI::App& command, RemoteFiles& files) {
    command.add_option("--token-file", files.token, "File that holds the token of tracker, servers and clients, readable for you only")->type_name("FILE")->check(isGiven);
    command.add_option("--ca", files.ca, "Whom to trust when calling, PEM; with it calls use TLS")->type_name("FILE")->check(isGiven);
    command.add_flag("--insecure", files.insecure, "Do without TLS or token between machines, too");
}

void addRemote(CLI::App& command, DeviceChoice& remote) {
    command.add_option("--tracker", remote.tracker, "The tracker of jobs on devices, instead of the one that they name; --token-file goes to no other")->type_name("HOST:PORT")->check(asCheck(checkRemoteAddress));
    addRemoteFiles(command, remote.files);
}

DeviceOptions addDevice(CLI::App& command, DeviceChoice& device) {
    CLI::Option* key = command.add_option("--device", device.key, "Build and measure on a device of this key (tunesmith-cli devices) instead of this machine")->type_name("KEY")->check(asCheck(checkDeviceKey));
    command.add_option("--devices", device.devices, "On so many of them at most, between which workloads are divided")->needs(key)->check(CLI::Range(1, DeviceChoice::kMost))->capture_default_str();
    CLI::Option* tracker = command.add_option("--tracker", device.tracker, "Which tracker lends it")->type_name("HOST:PORT")->check(asCheck(checkRemoteAddress))->needs(key);
    addRemoteFiles(command, device.files);
    return {key, tracker};
}

void addTracker(CLI::App& app, Session& session) {
    struct Options {
        std::string listen = "127.0.0.1:9290";
        RemoteFiles files;
    };
    const auto options = std::make_shared<Options>();
    CLI::App& command = *app.add_subcommand("tracker", "Lend the devices of servers to tunings, by key and priority, until it is stopped");
    addListening(command, options->listen, options->files);
    addRemoteFiles(command, options->files);
    command.callback([&session, options] {
        session.action = [&session, options]() -> Result<int> {
            beginServing(session.stop);
            TS_TRY(serveTracker(options->listen, options->files, [&](const std::string& address) { printAddress(session, address); }, session.stop));
            return kDone;
        };
    });
}

void addServer(CLI::App& app, Session& session) {
    const auto request = std::make_shared<ServerRequest>();
    const auto mock = std::make_shared<ServerRequest::Mock>();
    const auto isMock = std::make_shared<bool>(false);
    CLI::App& command = *app.add_subcommand("server", "Offer this machine to tunings on other ones, until it is stopped");
    addListening(command, request->listen, request->files);
    command.add_option("--advertise", request->advertised, "Host by which clients reach this machine (default: that of --listen)")->type_name("HOST");
    command.add_option("--tracker", request->tracker, "The tracker")->type_name("HOST:PORT")->check(asCheck(checkRemoteAddress))->required();
    command.add_option("--key", request->keys, "Keys by which tunings ask for this device")->required()->expected(1, 16)->check(asCheck(checkDeviceKey));
    command.add_option("--name", request->name, "Name for people (default: the machine's)");
    command.add_option("--cores", request->cores, "The only cores to use, such as 0-3,6")->check(isGiven)->check(asCheck(checkCoreList));
    session.addThreads(command);
    addMemoryOption(command, "Memory that its workers may use together, such as 8GiB (default: three quarters of the machine's, or of its control group's)",
                    [request](std::int64_t bytes) { request->memoryGb = static_cast<double>(bytes) / (1 << 30); });
    CLI::Option* mocked = command.add_flag("--mock", *isMock, "Build and measure nothing, make times up: for tests");
    command.add_option("--build-ms", mock->buildMs, "How long a build then takes")->check(CLI::Range(0.0, 1e6))->needs(mocked);
    command.add_option("--profile-ms", mock->profileMs, "How long a measurement then takes")->check(CLI::Range(0.0, 1e6))->needs(mocked);
    addRemoteFiles(command, request->files);
    session.addStore(command);
    command.callback([&session, request, mock, isMock] {
        session.action = [&session, request, mock, isMock]() -> Result<int> {
            beginServing(session.stop);
            request->threads = session.threads;
            request->store = session.store;
            if (*isMock)
                request->mock = *mock;
            TS_TRY(serveDevice(*request, [&](const std::string& address) { printAddress(session, address); }, session.work()));
            return kDone;
        };
    });
}

void addDevices(CLI::App& app, Session& session) {
    struct Options {
        std::string tracker;
        RemoteFiles files;
    };
    const auto options = std::make_shared<Options>();
    CLI::App& command = *app.add_subcommand("devices", "What a tracker has to lend, and who has it");
    command.add_option("--tracker", options->tracker, "The tracker")->type_name("HOST:PORT")->check(asCheck(checkRemoteAddress))->required();
    addRemoteFiles(command, options->files);
    session.addJson(command);
    command.callback([&session, options] {
        session.action = [&session, options]() -> Result<int> {
            TS_ASSIGN(const DeviceList list, listDevices(options->tracker, options->files, session.stop));
            return printDevices(session, list);
        };
    });
}

} // namespace tunesmith::cli
