// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <limits>
#include <map>
#include <variant>

#include "core/workbench/tune_jobs.h"

namespace tunesmith {

// Inside core/workbench only: what jobs can do. A session gives each its turns and keeps its state, whatever it does; the rest is its kind's.

// What a file of jobs may say of one, and where it is kept; the store has the same keys.
struct JobKey {
    using Field = std::variant<int*, std::int64_t*, std::uint64_t*, std::optional<std::int64_t>*, double*, std::optional<double>*, bool*, std::string*, std::filesystem::path*, Dimensions*>;
    enum class In { both, files, store };

    const char* name;
    Field field;                                                   // paths are of files beside the one that says it
    std::int64_t least = 0, most = std::numeric_limits<std::int64_t>::max(); // of numbers; fractions of at least 0 are more than that
    In in = In::both;
    // Of a text: a file, or else a sample; a file beside the one that says it; one in its folder, for it is sent to others; a model in its folder, for it is written.
    enum class Names { nothing, model, file, secret, written } names = Names::nothing;

    bool takes(std::int64_t number) const { return number >= least && number <= most; }
    bool takes(double number) const { return (least > 0 ? number >= static_cast<double>(least) : number > 0) && number <= std::min(static_cast<double>(most), 1e12); }
};

// What a job that runs gets of its session.
struct JobRun {
    std::string store;
    std::shared_ptr<StageGate> gate;
    StopToken stop;
    int cores = 1;                      // the most that its stages load at a time
    std::optional<std::int64_t> resume; // the run that it came to before
    double secondsBefore = 0;           // that it worked before
    std::optional<DeviceChoice> device; // of a tracker, instead of this machine
    TuneListener& listener;             // hears of its run before the first trial

    Work work() const;
    double secondsLeft(double budget) const { return std::max(1.0, budget - secondsBefore); }
    Status allows(const TuneJob& job, int threads) const; // to measure on so many at a time; 0: one, then all
    Result<Model> open(const TuneJob& job) const;         // its model, as a stage
};

// What has to be known of the models of jobs before these begin. Each is opened once, however many jobs it has.
class ModelLooks {
public:
    struct Look {
        std::string name, hash;
        std::vector<std::string> openDimensions;
    };
    Result<Look> at(const TuneJob& job, const Work& work);

private:
    std::map<std::pair<std::string, Dimensions>, Look> looks_;
};

struct JobEnd {
    bool whole = false;  // nothing is left to do; else it was stopped
    std::string failure; // what it broke at, though it came to something
    TuneReport report;
    JobOutcome outcome;
};

struct JobKind {
    const char* name;
    const char* subject; // the key without which there is nothing to do
    std::vector<JobKey> (*keys)(TuneJob& job);
    TuneBudget (*budget)(const TuneJob& job);
    std::int64_t (*heldMb)(const TuneJob& job); // about what it keeps in memory as long as it runs
    // Whether it can begin, and what it is called if nobody says so.
    Result<std::string> (*check)(const TuneJob& job, ModelLooks& models, const Work& work);
    Result<JobEnd> (*run)(const TuneJob& job, const JobRun& run);
};
extern const JobKind kTuneJobs, kRewriteJobs, kProblemJobs;
std::int64_t modelFileMb(const std::string& model); // what is read of a file, and folded; 0 of a sample

Result<const JobKind*> jobKind(const std::string& name); // an Error names those that there are
std::vector<JobKey> jobKeys(TuneJob& job);               // those of its kind, which there must be, and those of all
bool isJobKey(std::string_view name);                    // of any kind

} // namespace tunesmith
