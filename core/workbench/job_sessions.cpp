// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/job_sessions.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "core/base/json_text.h"
#include "core/store/store.h"
#include "core/workbench/open_store.h"
#include "core/workbench/run_legs.h"

namespace tunesmith {
namespace {

constexpr int kMostUnits = 4096; // of all resources, for a view has a track for each, and of a slice; more is damage

constexpr int kNoUnit = -1;      // stands for a number that no unit has; views leave it out, and a simulation refuses it

// Reads the units of each resource. A damaged list counts as none, and the list ends after kMostUnits.
std::map<std::string, std::vector<int>> unitsOf(const std::string& uses) {
    std::map<std::string, std::vector<int>> units;
    const auto json = parseJson<nlohmann::json>(uses);
    if (!json.is_object())
        return units;
    int count = 0;
    for (const auto& [resource, list] : json.items())
        for (const auto& unit : list)
            if (unit.is_number_integer() && count++ < kMostUnits)
                units[resource].push_back(unit.is_number_unsigned() && unit.get<std::uint64_t>() < kMostUnits ? unit.get<int>() : kNoUnit);
    return units;
}

// To so many units, or to what is left for them.
void raise(std::map<std::string, int>& resources, const std::string& resource, int amount) {
    const auto known = resources.find(resource);
    if (known == resources.end() ? resources.size() >= kMostUnits : known->second >= amount)
        return;
    int all = 0;
    for (const auto& [name, units] : resources)
        all += units;
    int& own = resources[resource];
    own = std::max(own, std::min(amount, kMostUnits - (all - own)));
}

std::map<std::string, int> resourcesOf(const std::string& text) {
    std::map<std::string, int> resources;
    const auto json = parseJson<nlohmann::json>(text);
    if (json.is_array())
        for (const auto& entry : json)
            if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_number_integer())
                raise(resources, entry[0].get<std::string>(), static_cast<int>(std::clamp<std::int64_t>(entry[1].get<std::int64_t>(), 0, kMostUnits)));
    return resources;
}

std::int64_t now() { return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count(); }

JobSessionSummary summaryOf(const JobSessionRow& row) {
    JobSessionSummary summary{row.id.value(), row.policy, row.startedAt, row.endedAt, !row.endedAt && !row.interrupted, row.lastEnd, row.slices, row.jobs};
    if (!row.interrupted)
        summary.seconds = static_cast<double>(std::max<std::int64_t>(0, row.endedAt.value_or(now()) - row.startedAt)) / 1000;
    return summary;
}

bool ended(const QueuedJob& job) { return job.state == "done" || job.state == "failed" || job.state == "cancelled"; }

// None while a kernel has no time.
Result<std::optional<double>> bestOf(const Store& store, RunId run) {
    TS_ASSIGN(const std::vector<RunWorkloadSummary> kernels, store.runWorkloads(run));
    std::optional<double> sum;
    for (const RunWorkloadSummary& kernel : kernels) {
        if (!kernel.bestMs)
            return std::optional<double>();
        sum = sum.value_or(0) + *kernel.bestMs * kernel.plan.occurrences;
    }
    return sum;
}

} // namespace

Result<std::vector<JobSessionSummary>> jobSessions(const std::string& store) {
    TS_ASSIGN(const std::string path, storePath(store));
    std::error_code error;
    if (!std::filesystem::exists(path, error))
        return std::vector<JobSessionSummary>();
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readOnly));
    TS_ASSIGN(const std::vector<JobSessionRow> rows, opened->jobSessions());
    std::vector<JobSessionSummary> sessions;
    std::ranges::transform(rows, std::back_inserter(sessions), summaryOf);
    return sessions;
}

Result<JobTimeline> sessionTimeline(const std::string& store, std::int64_t session, const StopToken& stop) {
    TS_ASSIGN(const auto reader, SessionReader::open(store, session));
    JobTimeline timeline;
    for (bool more = true; more;) {
        TS_ASSIGN(SessionPart part, reader->next(stop));
        std::ranges::move(part.slices, std::back_inserter(timeline.slices));
        for (std::size_t i = timeline.jobs.size(); i < part.jobs.size(); ++i)
            timeline.jobs.push_back(part.jobs[i].job.name);
        more = part.more;
    }
    timeline.resources = reader->resources();
    return timeline;
}

SessionReader::SessionReader(std::shared_ptr<Store> store, const JobSessionRow& row) : store_(std::move(store)), session_(row.id.value()), resources_(resourcesOf(row.resources)) {}

SessionReader::~SessionReader() = default;

Result<std::unique_ptr<SessionReader>> SessionReader::open(const std::string& store, std::int64_t session) {
    TS_ASSIGN(auto opened, openStore(store, StoreMode::readOnly));
    TS_ASSIGN(const JobSessionRow row, opened->jobSession(JobSessionId(session)));
    return std::unique_ptr<SessionReader>(new SessionReader(std::move(opened), row));
}

Result<SessionPart> SessionReader::next(const StopToken& stop) {
    if (stop.stopRequested())
        return cancelledError();
    TS_ASSIGN(JobSessionRow row, store_->jobSession(JobSessionId(session_))); // first: slices that are read after its end are all of them
    TS_ASSIGN(const std::vector<JobSliceRow> rows, store_->jobSlices(JobSessionId(session_), last_, kPart));
    SessionPart part;
    part.more = static_cast<std::int64_t>(rows.size()) == kPart;
    for (const JobSliceRow& slice : rows) {
        TS_ASSIGN(const std::size_t place, placeOf(slice));
        part.slices.push_back({place, slice.stage, unitsOf(slice.uses), slice.called, slice.begin, slice.end, slice.expected});
        lastEnd_ = std::max(lastEnd_, slice.end);
        for (const auto& [resource, units] : part.slices.back().units) // devices come while it runs
            if (const auto last = std::ranges::max_element(units); isDeviceResource(resource) && last != units.end())
                raise(resources_, resource, *last + 1);
        for (const auto& [resource, units] : part.slices.back().units)
            loads_[resource] += (slice.end - slice.begin) * static_cast<double>(units.size());
        last_ = slice.id;
    }
    read_ += static_cast<std::int64_t>(rows.size());
    if (!part.more)
        TS_TRY(refreshJobs(stop));
    row.slices = read_;
    row.jobs = static_cast<std::int64_t>(jobs_.size());
    row.lastEnd = lastEnd_;
    part.session = summaryOf(row);
    part.jobs = jobs_;
    for (const auto& [resource, amount] : resources_)
        part.utilisation[resource] = amount > 0 && lastEnd_ > 0 ? loads_[resource] / (amount * lastEnd_) : 0;
    return part;
}

Result<std::size_t> SessionReader::placeOf(const JobSliceRow& slice) {
    const auto [place, isNew] = places_.try_emplace(slice.job.value(), jobs_.size());
    if (isNew) {
        TS_ASSIGN(const JobRow job, store_->job(slice.job));
        jobs_.push_back({queuedJob(job)});
    }
    return place->second;
}

// Those that have ended stay as they are, unless somebody queues them again.
Status SessionReader::refreshJobs(const StopToken& stop) {
    TS_ASSIGN(std::vector<RunRow> runs, store_->runs());
    const RunLegs legs(std::move(runs));
    for (SessionJob& job : jobs_) {
        if (stop.stopRequested())
            return cancelledError();
        const auto row = store_->job(StoredJobId(job.job.id));
        if (!row.ok())
            continue; // it was removed since
        const bool known = job.bestMs && ended(job.job);
        job.job = queuedJob(*row);
        if (known || !job.job.run)
            continue;
        if (const std::vector<RunRow> own = legs.of(RunId(*job.job.run)); !own.empty()) {
            TS_ASSIGN(job.bestMs, bestOf(*store_, own.back().id));
        }
    }
    return {};
}

} // namespace tunesmith
