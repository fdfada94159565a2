// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/remote.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <sched.h>
#include <thread>
#include <unistd.h>

#include "core/base/helpers.h"
#include "core/base/json_text.h"
#include "core/base/log.h"
#include "core/executors/device_server.h"
#include "core/executors/mock_executor.h"
#include "core/executors/tracker.h"
#include "core/measure/machine.h"
#include "core/measure/memory.h"
#include "core/process/worker_client.h"
#include "core/workbench/machine.h"
#include "core/workbench/remote_device.h"

namespace tunesmith {
namespace {

constexpr double kGiB = 1 << 30, kMiB = 1 << 20;

void waitForStop(const StopToken& stop) {
    while (!stop.stopRequested())
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

std::string hostName() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 && name[0] ? name : "somewhere";
}

// "0-3,6"
Result<cpu_set_t> coresOf(const std::string& text) {
    const Error wrong = inputError("--cores '" + text + "' is no list of cores; write for example 0-3,6");
    cpu_set_t set;
    CPU_ZERO(&set);
    const char *at = text.data(), *const end = at + text.size();
    while (at != end) {
        int first = 0, last = 0;
        auto read = std::from_chars(at, end, first);
        last = first;
        if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-')
            read = std::from_chars(read.ptr + 1, end, last);
        if (read.ec != std::errc() || first < 0 || last < first || last >= CPU_SETSIZE || (read.ptr != end && (*read.ptr != ',' || read.ptr + 1 == end)))
            return wrong;
        for (int core = first; core <= last; ++core)
            CPU_SET(core, &set);
        at = read.ptr == end ? end : read.ptr + 1;
    }
    return set;
}

Status useCores(const std::string& text) {
    if (text.empty())
        return {};
    TS_ASSIGN(const cpu_set_t set, coresOf(text));
    if (::sched_setaffinity(0, sizeof set, &set) != 0)
        return inputError("--cores " + text + ": this machine has none of them");
    return {};
}

Result<MachineRow> machineWithCeilings(const ServerRequest& request, const Work& work) {
    TS_ASSIGN(MachineRow machine, thisMachine());
    if (request.mock) {
        machine.key = "mock";
        machine.cpu = "mock";
        return machine;
    }
    TS_ASSIGN(const MachineReport report, machineReport(request.store, false, work));
    MachineCeilings ceilings{report.cpu, report.isa, {}};
    for (const CeilingsAt& entry : report.threads)
        ceilings.threads.push_back({entry.threads, entry.fmaGflops, entry.memoryGbs});
    machine.ceilings = ceilings.toJson().dump();
    return machine;
}

Result<DeviceInfo> deviceOf(const ServerRequest& request, const Work& work) {
    TS_ASSIGN(MachineRow machine, machineWithCeilings(request, work));
    const int threads = request.threads > 0 ? request.threads : machine.cores;
    if (threads > machine.cores && !request.mock)
        return inputError("--threads " + std::to_string(threads) + " is more than the " + std::to_string(machine.cores) + " cores that may be used");
    TS_ASSIGN(const Target target, hostTarget(threads));
    DeviceInfo device{request.name.empty() ? hostName() : request.name, {}};
    device.keys = request.keys;
    device.isa = isaName(target.isa);
    device.tuneCpu = target.tuneCpu;
    device.threads = threads;
    device.memory = static_cast<std::uint64_t>(request.memoryGb > 0 ? request.memoryGb * kGiB : usableMemoryMb() * kMiB);
    device.machine = std::move(machine);
    device.mock = request.mock.has_value();
    return device;
}

ExecutorFactory mockFactory(const ServerRequest::Mock& mock, const MachineRow& machine) {
    return [=](const KernelWorkerOptions& options) -> Result<std::unique_ptr<KernelExecutor>> {
        return std::unique_ptr<KernelExecutor>(std::make_unique<MockExecutor>(MockOptions{mock.buildMs, mock.profileMs, 16 << 10, machine}, options));
    };
}

// A name without what cannot be in one.
std::string clientName(const std::string& job) {
    const char* user = ::getlogin();
    std::string name = std::to_string(::getpid()) + (job.empty() ? "" : "/" + job);
    name = (std::string(user ? user : "user") + "@" + hostName()).substr(0, 60) + ":" + name;
    std::ranges::replace_if(name, [](char c) { return c <= 0x20 || c >= 0x7f; }, '_');
    return name.substr(0, 100);
}

DeviceState stateOf(const TrackerClient::Device& device) {
    const DeviceInfo& info = device.info;
    DeviceState state{info.name, info.address, info.keys, info.machine.cpu, info.isa, info.machine.cores, info.threads, static_cast<double>(info.memory) / kGiB,
                      info.mock, info.confinement, device.client, device.priority, device.seconds};
    if (const auto ceilings = MachineCeilings::fromJson(parseJson<nlohmann::json>(info.machine.ceilings)); ceilings.ok())
        if (const ThreadCeilings* at = ceilings->of(info.threads)) {
            state.fmaGflops = at->fmaGflops;
            state.memoryGbs = at->memoryGbs;
        }
    state.deaf = device.deaf;
    return state;
}

// Tried with a worker as clients get them.
Result<std::string> confinementOf(const WorkerOptions& options) {
    TS_ASSIGN(const auto worker, WorkerClient::start(options));
    TS_ASSIGN(const std::vector<std::string> gaps, confinementGaps(*worker));
    std::string lacks;
    for (const std::string& gap : gaps)
        lacks += (lacks.empty() ? "" : "; ") + gap;
    if (gaps.empty())
        return std::string("full");
    logMessage(LogLevel::warning, "kernels of others are confined, but " + lacks);
    return "all but this: " + lacks;
}

// gRPC waits for ever where it cannot start its own.
Status requireThreads() {
    constexpr std::size_t kOfGrpc = 16;
    std::atomic<bool> counted = false;
    const auto threads = startHelpers(kOfGrpc, [&](std::size_t) { counted.wait(false); });
    counted = true;
    counted.notify_all();
    return threads.size() == kOfGrpc ? Status() : Status(ioError("connections need " + std::to_string(kOfGrpc) + " threads, and not so many can be started; raise the limit of processes (ulimit -u)"));
}

} // namespace

Result<Access> accessOf(const RemoteFiles& files) {
    TS_TRY(requireThreads());
    return readAccess({files.token, files.ca, files.certificate, files.key, files.insecure});
}

Status serveTracker(const std::string& listen, const RemoteFiles& files, const Listening& listening, const StopToken& stop) {
    TS_ASSIGN(const Access access, accessOf(files));
    TS_ASSIGN(const auto tracker, Tracker::start({listen, access}));
    listening(tracker->address());
    waitForStop(stop);
    return {};
}

Status serveDevice(const ServerRequest& request, const Listening& listening, const Work& work) {
    TS_TRY(useCores(request.cores));
    DeviceServerOptions options;
    options.listen = request.listen;
    options.advertised = request.advertised;
    options.tracker = request.tracker;
    TS_ASSIGN(options.access, accessOf(request.files));
    TS_ASSIGN(options.device, deviceOf(request, work));
    options.worker.memoryLimit = options.device.memory;
    options.stop = work.stop;
    options.worker.confinement = Confinement{};
    if (request.mock) {
        options.makeExecutor = mockFactory(*request.mock, options.device.machine);
    } else {
        TS_ASSIGN(options.device.confinement, confinementOf(options.worker));
    }
    TS_ASSIGN(const auto server, DeviceServer::start(std::move(options)));
    listening(server->address());
    waitForStop(work.stop);
    return {};
}

Result<DeviceList> listDevices(const std::string& tracker, const RemoteFiles& files, const StopToken& stop) {
    TS_ASSIGN(const Access access, accessOf(files));
    TS_ASSIGN(const auto client, TrackerClient::make(tracker, access, stop));
    TS_ASSIGN(const TrackerClient::List list, client->list());
    DeviceList out;
    for (const TrackerClient::Device& device : list.devices)
        out.devices.push_back(stateOf(device));
    for (const TrackerClient::Waiting& waiting : list.waiting)
        out.waiting.push_back({waiting.client, waiting.key, waiting.priority, waiting.seconds});
    return out;
}

Result<std::vector<std::shared_ptr<RemoteExecutor>>> connectDevices(const DeviceChoice& choice, const KernelWorkerOptions& limits, const Work& work) {
    RemoteOptions options;
    options.tracker = choice.tracker;
    TS_ASSIGN(options.access, accessOf(choice.files));
    options.key = choice.key;
    options.priority = choice.priorityNow ? choice.priorityNow : [priority = choice.priority] { return priority; };
    options.client = clientName(choice.job);
    options.limits = limits;
    options.tell = [work](const std::string& text) { work.report(text); };
    options.missing = choice.missing;
    std::vector<std::shared_ptr<RemoteExecutor>> executors;
    TS_ASSIGN(executors.emplace_back(), RemoteExecutor::connect(std::move(options), work.stop));
    while (static_cast<int>(executors.size()) < choice.devices)
        executors.push_back(executors.front()->another());
    return executors;
}

Status checkDeviceKey(const std::string& key) { return checkName(key, "the key of a device"); }

Status checkRemoteAddress(const std::string& address) { return checkAddress(address); }

Status checkCoreList(const std::string& cores) {
    TS_TRY(coresOf(cores));
    return {};
}

} // namespace tunesmith
