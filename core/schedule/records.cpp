// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/records.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>
#include <tuple>

#include "core/base/log.h"

namespace tunesmith {
namespace {

std::optional<int> threadsOf(const std::string& key, const std::string& stem) {
    int threads = 0;
    if (!key.starts_with(stem))
        return std::nullopt;
    const char* const end = key.data() + key.size();
    const auto [stop, problem] = std::from_chars(key.data() + stem.size(), end, threads);
    return problem == std::errc() && stop == end ? std::optional(threads) : std::nullopt;
}

// Keys of the same instruction set, the asked one first, then by distance.
Result<std::vector<std::string>> nearestKeys(const Store& store, const Target& target) {
    const std::string stem = std::string("cpu-") + isaName(levelOf(target.isa)) + "-t";
    TS_ASSIGN(const auto rows, store.targets());
    std::set<std::tuple<int, int, std::string>> order;
    for (const TargetRow& row : rows)
        if (const auto threads = threadsOf(row.key, stem))
            order.insert({std::abs(*threads - target.threads), *threads, row.key});
    std::vector<std::string> keys;
    for (const auto& entry : order)
        keys.push_back(std::get<2>(entry));
    return keys;
}

} // namespace

Result<std::optional<KnownBest>> bestConfig(const Store& store, const std::string& workload, const Target& target,
                                            const std::string& machine) {
    TS_ASSIGN(const auto keys, nearestKeys(store, target));
    for (const std::string& key : keys)
        for (const std::string& measuredOn : {machine, std::string()}) {
            TS_ASSIGN(auto record, store.bestRecord(workload, key, measuredOn));
            if (!record)
                continue;
            auto config = Config::parse(record->trial.effective.value_or(record->trial.config));
            if (!config.ok()) {
                logMessage(LogLevel::warning, "the record of '" + record->workload.name + "' in " + store.path() + " (trial " +
                                                  std::to_string(record->trial.id.value()) + ") is left out: " + config.error().message);
                continue;
            }
            const double ms = record->trial.p5Ms.value_or(0);
            return std::optional(KnownBest{std::move(*config), SpaceKind::tunesmith, ms, std::move(*record)});
        }
    return std::optional<KnownBest>();
}

Result<std::optional<KnownBest>> bestOfSpaces(const Store& store, const Workload& workload, const Target& target, const std::string& machine) {
    TS_ASSIGN(auto best, bestConfig(store, inSpace(workload, SpaceKind::tunesmith).key, target, machine));
    for (const SpaceKindEntry& entry : spaceKindTable()) {
        const Workload there = inSpace(workload, entry.kind);
        if (!best || there.space == SpaceKind::tunesmith)
            continue;
        TS_ASSIGN(auto other, bestConfig(store, there.key, target, machine));
        const bool comparable = other && other->record.targetKey == best->record.targetKey && other->record.machineKey == best->record.machineKey;
        if (!comparable || other->ms >= best->ms)
            continue;
        best = std::move(other);
        best->space = there.space;
    }
    return best;
}

} // namespace tunesmith
