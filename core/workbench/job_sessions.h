// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/workbench/job_queue.h"

namespace tunesmith {

struct JobSessionRow;
struct JobSliceRow;

// Programs that ran jobs, and what their stages did when: of the past, and of those that run now, in whatever process. An empty path means the default store.

struct JobSessionSummary {
    std::int64_t id = 0;
    std::string policy;
    std::int64_t startedAt = 0; // ms since 1970
    std::optional<std::int64_t> endedAt;
    bool running = false; // neither: it was killed
    double seconds = 0;   // that it took or has run so far; of one that was killed, until the last stage that it stored ended
    std::int64_t slices = 0, jobs = 0; // that it ran
};
Result<std::vector<JobSessionSummary>> jobSessions(const std::string& store); // newest first; none where there is no store yet
Result<JobTimeline> sessionTimeline(const std::string& store, std::int64_t session, const StopToken& stop = {});

struct SessionJob { // as it stands now
    QueuedJob job;
    std::optional<double> bestMs = {}; // of the kernels that the newest of its runs measured, each as often as it occurs; once each of them was
};

struct SessionPart {
    JobSessionSummary session;    // slices and jobs: those that have been read
    std::vector<SessionJob> jobs; // of the slices read so far, in the order of their first ones: a slice's `job` is a place among them
    std::vector<JobSlice> slices; // that follow those of the part before
    std::map<std::string, double> utilisation; // of each resource: the share of its units' time until the last stage ended
    bool more = false;            // there are others already; how jobs stand comes with the last part
};

// A session piece by piece: a million slices need not fit into memory twice, and of one that is running in another program what came since is read alone. One thread at a
// time.
class SessionReader {
public:
    static constexpr std::int64_t kPart = 20000; // slices

    static Result<std::unique_ptr<SessionReader>> open(const std::string& store, std::int64_t session);
    ~SessionReader();

    const std::map<std::string, int>& resources() const { return resources_; } // how many units there are, as far as has been read
    Result<SessionPart> next(const StopToken& stop = {});

private:
    SessionReader(std::shared_ptr<Store> store, const JobSessionRow& row);
    Result<std::size_t> placeOf(const JobSliceRow& slice);
    Status refreshJobs(const StopToken& stop);

    std::shared_ptr<Store> store_;
    const std::int64_t session_;
    std::map<std::string, int> resources_;
    std::int64_t last_ = 0, read_ = 0; // slice, by its number in the store; how many
    double lastEnd_ = 0;
    std::map<std::string, double> loads_; // seconds of units, by resource
    std::map<std::int64_t, std::size_t> places_; // of jobs
    std::vector<SessionJob> jobs_;
};

} // namespace tunesmith
