// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/space_coverage.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "core/base/json_text.h"
#include "core/schedule/kernel_messages.h"
#include "core/schedule/template.h"
#include "core/workbench/open_store.h"

namespace tunesmith {
namespace {

std::vector<const KnobSpace*> partsOf(const Space& space) {
    if (const auto* plain = dynamic_cast<const KnobSpace*>(&space))
        return {plain};
    std::vector<const KnobSpace*> parts;
    if (const auto* all = dynamic_cast<const UnionSpace*>(&space))
        for (std::size_t i = 0; i < all->partCount(); ++i)
            parts.push_back(&all->part(i));
    return parts;
}

PartCoverage untried(const KnobSpace& space) {
    PartCoverage part{space.name(), space.size().value_or(0), 0, {}, {}};
    for (const Knob& knob : space.knobs()) {
        KnobCoverage& row = part.knobs.emplace_back(KnobCoverage{knob.name, {}});
        for (const KnobValue& value : knob.values)
            row.values.push_back({value.text, 0, {}});
    }
    return part;
}

void improve(std::optional<double>& best, const std::optional<double>& ms) {
    if (ms && (!best || *ms < *best))
        best = ms;
}

// Counts trials into the cells of a space.
class CoverageCount {
public:
    explicit CoverageCount(const Space& space) : space_(space), union_(dynamic_cast<const UnionSpace*>(&space)) {
        for (const KnobSpace* part : partsOf(space))
            coverage_.parts.push_back(untried(*part));
    }

    void add(const TrialRow& trial) {
        if (trial.isFinal)
            return;
        ++coverage_.trials;
        coverage_.failed += !trial.ok();
        const auto config = Config::parse(trial.config);
        if (!config.ok() || !space_.validate(*config).ok())
            ++coverage_.foreign;
        else
            count(*config, trial.p5Ms);
    }

    SpaceCoverage take() { return std::move(coverage_); }

private:
    void count(const Config& config, const std::optional<double>& ms) {
        PartCoverage& part = coverage_.parts[union_ ? UnionSpace::partOf(config) : 0];
        part.tried += seen_.insert(space_.hash(config)).second;
        improve(part.bestMs, ms);
        const Config own = union_ ? union_->within(config) : config;
        for (std::size_t i = 0; i < part.knobs.size(); ++i) {
            ValueCoverage& value = part.knobs[i].values[static_cast<std::size_t>(own.choices[i])];
            ++value.tries;
            improve(value.bestMs, ms);
        }
    }

    const Space& space_;
    const UnionSpace* union_; // null when there is one part
    SpaceCoverage coverage_;
    std::unordered_set<std::uint64_t> seen_;
};

// As the run searched it: for the target that it tuned for, which need not be this machine's.
Result<ScheduleSpace> storedSpace(const Store& store, const RunRow& run, const std::string& key) {
    TS_ASSIGN(const auto row, store.workload(key));
    if (!row)
        return inputError("the store " + store.path() + " has no workload " + key + "; tune it first");
    const auto options = parseJson<nlohmann::json>(run.options);
    if (run.kind != "tune" || !options.is_object())
        return inputError("run " + std::to_string(run.id.value()) + " did not search the space of '" + row->name +
                          "'; choose a run that tuned it");
    TS_ASSIGN(const Workload workload,
              Workload::deserialize({reinterpret_cast<const char*>(row->graph.data()), row->graph.size()}));
    try {
        TS_ASSIGN(const Target target, targetFromJson(options));
        return ScheduleSpace::make(workload, target);
    } catch (const nlohmann::json::exception&) {
        return inputError("run " + std::to_string(run.id.value()) + " has no options that can be read; choose another run");
    }
}

} // namespace

double SpaceCoverage::configs() const {
    double sum = 0;
    for (const PartCoverage& part : parts)
        sum += part.configs;
    return sum;
}

std::int64_t SpaceCoverage::tried() const {
    std::int64_t sum = 0;
    for (const PartCoverage& part : parts)
        sum += part.tried;
    return sum;
}

Result<SpaceCoverage> spaceCoverage(const std::string& store, std::int64_t run, const std::string& workload,
                                    const StopToken& stop) {
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readOnly));
    TS_ASSIGN(const RunRow row, opened->run(RunId(run)));
    TS_ASSIGN(const ScheduleSpace schedules, storedSpace(*opened, row, workload));
    CoverageCount count(schedules.space());
    TrialFilter filter{.run = RunId(run), .workload = workload};
    for (bool more = true; more;) {
        if (stop.stopRequested())
            return cancelledError();
        TS_ASSIGN(const std::vector<TrialRow> page, opened->trials(filter));
        for (const TrialRow& trial : page)
            count.add(trial);
        more = page.size() == static_cast<std::size_t>(filter.limit);
        if (more)
            filter.after = page.back().id;
    }
    return count.take();
}

} // namespace tunesmith
