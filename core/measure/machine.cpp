// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/machine.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sched.h>

#include "core/base/hash.h"
#include "core/codegen/target.h"
#include "core/measure/ceilings.h"
#include "core/process/json_number.h"
#include "core/process/measuring_lock.h"

namespace tunesmith {
namespace {

std::string cpuName() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name"))
            if (const auto colon = line.find(": "); colon != std::string::npos)
                return line.substr(colon + 2);
    return hostCpuName();
}

Error unreadableCeilings() { return inputError("the stored ceilings of this machine cannot be read; measure them again with 'machine'"); }

// Costs are divided by them.
bool isPossible(const ThreadCeilings& entry) {
    constexpr double kLeast = 1e-3, kMost = 1e9;
    return entry.threads > 0 && entry.fmaGflops >= kLeast && entry.fmaGflops <= kMost && entry.memoryGbs >= kLeast && entry.memoryGbs <= kMost;
}

} // namespace

std::vector<int> processors() {
    std::vector<int> found;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (int processor = 0; processor < CPU_SETSIZE; ++processor)
            if (CPU_ISSET(processor, &set))
                found.push_back(processor);
    return found;
}

int coreCount() { return std::max(1, static_cast<int>(processors().size())); }

const ThreadCeilings* MachineCeilings::of(int threadCount) const {
    const auto nearest = std::ranges::min_element(
        threads, {}, [&](const ThreadCeilings& entry) { return std::abs(entry.threads - threadCount); });
    return nearest == threads.end() ? nullptr : &*nearest;
}

nlohmann::json MachineCeilings::toJson() const {
    nlohmann::json list = nlohmann::json::array();
    for (const ThreadCeilings& entry : threads)
        list.push_back({{"threads", entry.threads}, {"fma_gflops", entry.fmaGflops}, {"memory_gbs", entry.memoryGbs}});
    return {{"cpu", cpu}, {"isa", isa}, {"threads", std::move(list)}};
}

Result<MachineCeilings> MachineCeilings::fromJson(const nlohmann::json& json) {
    MachineCeilings ceilings;
    try {
        ceilings.cpu = json.at("cpu").get<std::string>();
        ceilings.isa = json.at("isa").get<std::string>();
        for (const auto& entry : json.at("threads"))
            ceilings.threads.push_back({entry.at("threads").get<int>(), entry.at("fma_gflops").get<double>(),
                                        entry.at("memory_gbs").get<double>()});
    } catch (const nlohmann::json::exception&) {
        return unreadableCeilings();
    }
    return std::ranges::all_of(ceilings.threads, isPossible) ? Result<MachineCeilings>(std::move(ceilings)) : unreadableCeilings();
}

Result<MachineRow> thisMachine() {
    TS_ASSIGN(const Target target, hostTarget(1));
    MachineRow row;
    row.cpu = cpuName();
    row.isa = isaName(levelOf(target.isa));
    row.cores = coreCount();
    row.key = hexHash(Hasher().add(std::string_view(row.cpu)).add(std::string_view(row.isa)).add(row.cores).value());
    return row;
}

Result<ThreadCeilings> measureThreads(int threads) {
    TS_ASSIGN(const Target target, hostTarget(threads));
    ThreadCeilings out;
    out.threads = threads;
    out.fmaGflops = ceilings::fmaGflops(target.isa, threads);
    out.memoryGbs = ceilings::triadGbs(threads);
    return out;
}

Result<Message> measureMachineVerb(const Message& request) {
    const int threads = wholeNumber(request.body, "threads", 1);
    if (threads < 1 || threads > coreCount())
        return inputError("ceilings are measured for 1 to " + std::to_string(coreCount()) + " threads");
    TS_ASSIGN(const ThreadCeilings measured, measureThreads(threads));
    return Message{{{"fma_gflops", measured.fmaGflops}, {"memory_gbs", measured.memoryGbs}}, {}};
}

Result<MachineCeilings> measureMachine(WorkerClient& worker, const StopToken& stop) {
    TS_ASSIGN(const MachineRow machine, thisMachine());
    TS_ASSIGN(const MeasuringLock lock, MeasuringLock::open());
    MachineCeilings ceilings{machine.cpu, machine.isa, {}};
    for (int threads = 1; threads <= machine.cores; ++threads) {
        TS_ASSIGN(const MeasuringKey key, lock.acquire(stop));
        TS_ASSIGN(const Message reply, worker.call({{{"verb", "measure_machine"}, {"threads", threads}}, {}},
                                                   std::chrono::minutes(2), stop));
        ceilings.threads.push_back(
            {threads, reply.body.value("fma_gflops", 0.0), reply.body.value("memory_gbs", 0.0)});
    }
    return ceilings;
}

} // namespace tunesmith
