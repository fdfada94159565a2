// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/machine.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/json_text.h"
#include "core/measure/machine.h"
#include "core/workbench/open_store.h"
#include "core/workbench/session.h"

namespace tunesmith {
namespace {

std::optional<MachineCeilings> storedCeilings(const std::string& path, const std::string& key) {
    std::error_code error;
    if (!std::filesystem::exists(path, error))
        return std::nullopt;
    const auto store = Store::open(path, StoreMode::readOnly);
    const auto rows = store.ok() ? (*store)->machines() : Result<std::vector<MachineRow>>(store.error());
    if (!rows.ok())
        return std::nullopt;
    for (const MachineRow& row : *rows)
        if (row.key == key)
            if (auto ceilings =
                    MachineCeilings::fromJson(parseJson<nlohmann::json>(row.ceilings));
                ceilings.ok())
                if (!ceilings->threads.empty())
                    return std::move(ceilings).value();
    return std::nullopt;
}

MachineReport reportOf(const MachineCeilings& ceilings) {
    MachineReport report{ceilings.cpu, ceilings.isa, {}};
    for (const ThreadCeilings& entry : ceilings.threads)
        report.threads.push_back({entry.threads, entry.fmaGflops, entry.memoryGbs});
    return report;
}

} // namespace

double MachineReport::peakGflops(int threadCount) const {
    const auto nearest = std::ranges::min_element(
        threads, {}, [&](const CeilingsAt& entry) { return std::abs(entry.threads - threadCount); });
    return nearest == threads.end() ? 0 : nearest->fmaGflops;
}

std::optional<MachineReport> knownMachine(const std::string& asked) {
    const auto path = storePath(asked);
    const auto machine = thisMachine();
    const auto known = path.ok() && machine.ok() ? storedCeilings(*path, machine->key) : std::nullopt;
    return known ? std::optional(reportOf(*known)) : std::nullopt;
}

Result<MachineReport> machineReport(const std::string& asked, bool measureAgain, const Work& work) {
    if (!measureAgain)
        if (auto known = knownMachine(asked))
            return std::move(*known);
    TS_ASSIGN(MachineRow machine, thisMachine());
    work.report("measuring the machine's ceilings");
    TS_ASSIGN(const auto worker, startWorker());
    TS_ASSIGN(const MachineCeilings measured, measureMachine(*worker, work.stop));
    machine.ceilings = measured.toJson().dump();
    MachineReport report = reportOf(measured);
    const auto keep = [&]() -> Status {
        TS_ASSIGN(const auto store, openStore(asked, StoreMode::readWrite));
        const auto kept = store->addMachine(machine);
        return kept.ok() ? Status() : Status(kept.error());
    };
    if (const Status kept = keep(); !kept.ok()) // it is measured again the next time
        report.notKept = kept.error().message;
    return report;
}

int usableCores() {
    return coreCount();
}

} // namespace tunesmith
