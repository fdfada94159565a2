// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/strong_id.h"

namespace tunesmith {

// What the store keeps, as plain values. Meaning, units and invariants of every field: FORMAT.md. JSON
// travels as text.
using MachineId = StrongId<struct MachineTag>;
using TargetId = StrongId<struct TargetTag>;
using ModelId = StrongId<struct ModelTag>;
using RunId = StrongId<struct RunTag>;
using TrialId = StrongId<struct TrialTag>;
using StoredJobId = StrongId<struct StoredJobTag>;
using JobSessionId = StrongId<struct JobSessionTag>;

struct MachineRow {
    MachineId id;
    std::string key; // unique name of this computer's kind, e.g. a hash of CPU name and caches
    std::string cpu;
    std::string isa;
    int cores = 1;
    std::string ceilings = "{}"; // JSON
};

struct TargetRow {
    TargetId id;
    std::string key; // isa and threads, e.g. "cpu-avx512-t1"
    MachineId machine;
};

struct ModelRow {
    ModelId id;
    std::string name;
    std::string path;
    std::string hash; // structural hash of the graph, 16 hexadecimal digits
};

struct WorkloadRow {
    std::string key; // 16 hexadecimal digits
    std::string name;
    std::string op;
    std::string shape;               // for people
    std::vector<std::uint8_t> graph; // serialized subgraph, opaque to the store
    double flops = 0;
};

enum class RunState { running, stopped, completed, failed };
const char* runStateName(RunState state); // RUNNING, STOPPED, COMPLETED, FAILED

struct RunRow {
    RunId id;
    std::string kind = "tune";
    ModelId model;   // may be none
    TargetId target; // may be none; then its trials make no records
    std::string strategy;
    std::uint64_t seed = 0;
    std::string options = "{}"; // JSON
    RunState state = RunState::running;
    std::string stopReason;
    std::int64_t startedAt = 0; // ms since 1970; 0 in beginRun means now
    std::optional<std::int64_t> endedAt;
    std::optional<double> beforeMs;
    std::optional<double> afterMs;
    std::string version;       // of the program
    std::string resume = "{}"; // JSON, state of the run as a whole
    bool interrupted = false;  // only read: RUNNING, but its process is gone
    std::string modelName;     // only read
    std::string targetKey;     // only read
};

struct RunEnd {
    RunState state = RunState::completed; // not running
    std::string stopReason;
    std::optional<double> beforeMs; // none keeps what the run has
    std::optional<double> afterMs;
};

struct RunWorkloadRow {
    std::string workload; // key
    int occurrences = 1;
    std::string space;
    double spaceSize = 0;
    std::int64_t budget = 0; // trials
};

// A run's share of one workload and what came of it so far.
struct RunWorkloadSummary {
    RunWorkloadRow plan;
    std::string name;
    std::string op;
    double flops = 0;
    std::int64_t trials = 0;
    std::int64_t failed = 0;
    std::optional<double> bestMs;
    std::optional<TrialId> best;
};

// Where a strategy stands after nextIndex trials. An empty workload key means the run as a whole (only
// `state` is kept).
struct RunStateRow {
    RunId run;
    std::string workload;
    std::int64_t batch = 0;
    std::int64_t nextIndex = 0;
    std::string state = "{}"; // JSON
};

struct Objective {
    std::string name;
    double value = 0;
    std::string unit;
    bool operator==(const Objective&) const = default;
};

inline constexpr const char* kTrialOk = "ok";

struct TrialRow {
    TrialId id; // given by the store
    RunId run;
    std::string workload; // key
    std::int64_t batch = 0;
    std::int64_t index = 0; // within run and workload
    std::string config;
    std::uint64_t configHash = 0;
    std::optional<std::string> effective; // when it differs from config
    std::optional<double> predicted;
    std::string status = kTrialOk;
    std::string detail;
    std::vector<Objective> objectives;
    std::optional<double> p5Ms; // exactly when ok
    std::vector<float> samples; // ms
    double buildSeconds = 0;
    std::int64_t measuredAt = 0; // ms since 1970; 0 in addTrial means now
    int featureVersion = 0;
    bool isFinal = false; // chosen at the end of a tuning: what is older makes no record any more

    bool ok() const { return status == kTrialOk; }
};

enum class TrialOrder {
    oldestFirst,
    newestFirst,
    fastestFirst
}; // fastestFirst: ok trials only, needs a workload

struct TrialFilter {
    std::optional<RunId> run = {};
    std::string workload = {};                    // key, empty: any
    std::string status = {};                      // empty: any
    std::optional<std::uint64_t> configHash = {}; // needs a workload
    TrialId after = {}; // keyset paging: go on after this trial (the last one of the page before)
    int limit = 1000;
    TrialOrder order = TrialOrder::oldestFirst;
};

struct Record {
    WorkloadRow workload; // without the graph in bestRecords()
    std::string targetKey;
    std::string machineKey;
    TrialRow trial;
};

struct CurvePoint {
    std::int64_t index = 0;
    std::int64_t batch = 0;
    std::string status;
    std::optional<double> p5Ms;
    std::optional<double> bestMs; // least p5 up to here, since the last final
    std::optional<double> predicted;
    bool isFinal = false;
    std::vector<Objective> objectives; // of finals only: the others need not be read for a curve
};

// A rule of substitution; what its text means, the store does not know.
struct RuleRow {
    std::string text; // the equation, unique
    std::string name; // unique, e.g. "generated/17"
    std::string origin;
    std::string status = "untested"; // or tested, proved, refuted
    std::int64_t trials = 0;
    std::vector<std::string> preconditions;
    std::string counterExample;
    std::int64_t createdAt = 0; // ms since 1970; 0 in addRules means now
    std::vector<std::string> proofConditions; // of what is proved
    std::string whyNotProved;
};

enum class JobState { queued, running, done, failed, cancelled };
const char* jobStateName(JobState state); // QUEUED, RUNNING, DONE, FAILED, CANCELLED

// What somebody wants of a job, from any process; who runs it looks now and then.
enum class JobWish { run, pause, cancel };
const char* jobWishName(JobWish wish); // run, pause, cancel

// Work to be done by whoever takes it: it outlives the program that runs it.
struct JobRow {
    StoredJobId id;
    std::string kind = "tune";
    std::string name;
    std::string what = "{}"; // JSON, opaque to the store
    int priority = 0;
    JobState state = JobState::queued;
    JobWish wish = JobWish::run;
    RunId run;           // where it stands; may be none
    double progress = 0; // 0 to 1
    double seconds = 0;  // that it has worked, in all sessions
    std::string detail;  // why it failed
    std::int64_t createdAt = 0; // ms since 1970; 0 in addJobs means now
    std::optional<std::int64_t> endedAt;
    bool interrupted = false; // only read: RUNNING, but its process is gone
};

struct JobProgress {
    RunId run; // none keeps what the job has
    double progress = 0;
    double seconds = 0;
};

// One process that runs jobs, from the making of its scheduler to its end.
struct JobSessionRow {
    JobSessionId id;
    std::string policy;
    std::string resources = "[]"; // JSON: [[name, amount], ...]
    std::int64_t startedAt = 0;   // ms since 1970; 0 in beginJobSession means now
    std::optional<std::int64_t> endedAt;
    std::string version;      // of the program
    bool interrupted = false; // only read: not ended, but its process is gone
    std::int64_t slices = 0, jobs = 0; // only read, by jobSessions(): what it ran
    double lastEnd = 0;                // of these slices
};

// A stage that a job ran. Seconds since the session began.
struct JobSliceRow {
    StoredJobId job;
    std::string stage;
    std::string uses = "{}"; // JSON: {"core": [0, 1]}, units of each resource
    double called = 0, begin = 0, end = 0;
    double expected = 0; // how long it was thought to take
    std::int64_t id = 0; // only read: later ones have higher ones
};

struct StoreCheck {
    bool ok = true;
    std::vector<std::string> problems;
    std::int64_t runs = 0;
    std::int64_t trials = 0;
};

struct StoreStats {
    int version = 0;
    std::int64_t fileBytes = 0;
    std::int64_t logBytes = 0;  // write-ahead log
    std::int64_t freeBytes = 0; // inside the file; gc() returns them
    std::int64_t machines = 0, targets = 0, models = 0, workloads = 0, runs = 0, trials = 0, records = 0,
                 rules = 0;
    std::vector<std::pair<std::string, std::int64_t>> trialsByStatus;
};

struct StoreGc {
    std::int64_t models = 0, workloads = 0, targets = 0, machines = 0; // rows removed
    std::int64_t bytesFreed = 0;
};

} // namespace tunesmith
