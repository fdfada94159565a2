// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "app/cli/command.h"
#include "app/cli/job_outcome.h"
#include "app/cli/remote_options.h"
#include "app/cli/text.h"
#include "core/base/printable.h"
#include "core/workbench/job_simulation.h"
#include "core/workbench/tune_jobs.h"

namespace tunesmith::cli {
namespace {

constexpr const char* kAll = "all";

Json simulationJson(const JobSimulation& made) {
    return {{"policy", made.policy},     {"makespan_s", made.makespan}, {"bound_s", made.bound},           {"waiting_s", made.waiting},
            {"disturbed_s", made.disturbed}, {"fairness", made.fairness},   {"utilisation", made.utilisation}};
}

std::string hours(double seconds) { return seconds < 120 ? fixed(seconds, 1) + " s" : seconds < 7200 ? fixed(seconds / 60, 1) + " min" : fixed(seconds / 3600, 2) + " h"; }

std::string simulationText(const std::vector<JobSimulation>& all) {
    std::vector<Table::Column> columns{{"policy"}, {"takes", true}, {"for the bound", true}, {"waiting", true}, {"disturbed", true}, {"fairness", true}};
    for (const auto& [resource, share] : all.front().utilisation)
        columns.push_back({resource, true});
    Table table(columns);
    for (const JobSimulation& made : all) {
        std::vector<std::string> cells{made.policy,          hours(made.makespan),       made.bound > 0 ? fixed(made.makespan / made.bound, 3) : "-",
                                       hours(made.waiting), hours(made.disturbed), fixed(made.fairness, 2)};
        for (const auto& [resource, share] : made.utilisation)
            cells.push_back(percentText(share));
        table.add(std::move(cells));
    }
    return table.text() + "No schedule takes less than " + hours(all.front().bound) + "\n";
}

Json recordedJson(const RecordedSession& was) {
    return {{"id", was.id}, {"policy", was.policy}, {"state", was.killed ? "killed" : "ended"}, {"jobs", was.jobs}, {"stages", was.stages},
            {"makespan_s", was.makespan}, {"waiting_s", was.waiting}, {"utilisation", was.utilisation}};
}

std::string recordedText(const RecordedSession& was) {
    std::string text = "Session " + std::to_string(was.id) + " really took " + hours(was.makespan) + (was.killed ? " until its program was killed" : "") + " with the policy " + printable(was.policy) + ": " +
                       std::to_string(was.stages) + " stages of " + std::to_string(was.jobs) + (was.jobs == 1 ? " job, " : " jobs, ") + hours(was.waiting) + " of waiting";
    for (const auto& [resource, share] : was.utilisation)
        text += ", " + printable(resource) + " in use for " + percentText(share);
    return text + "\n";
}

// "5/6"
Status readShare(const std::string& text, JobSimulationRequest& request) {
    char* end = nullptr;
    const long updates = std::strtol(text.c_str(), &end, 10), outOf = *end == '/' ? std::strtol(end + 1, &end, 10) : -1;
    constexpr long kMost = 1000000;
    if (*end != '\0' || outOf < 1 || updates < 0 || updates > outOf || outOf > kMost)
        return inputError("--updates " + text + " is no share of batches such as 5/6");
    request.updates = static_cast<int>(updates);
    request.outOf = static_cast<int>(outOf);
    return {};
}

struct SimulateOptions {
    JobSimulationRequest request;
    std::string updates = "1/1";
    std::optional<std::int64_t> session;
    bool devices = false; // were given

    bool everyPolicy() const { return request.policy == kAll; }
    std::vector<std::string> policies() const {
        std::vector<std::string> names;
        for (const JobPolicy& policy : jobPolicies())
            if (everyPolicy() || policy.name == request.policy)
                names.push_back(policy.name);
        return names;
    }
};

Result<int> simulateMadeUp(Session& session, const SimulateOptions& options) {
    JobSimulationRequest asked = options.request;
    asked.seed = session.seed;
    TS_TRY(readShare(options.updates, asked));
    std::vector<JobSimulation> made;
    Json json = Json::array();
    for (const std::string& policy : options.policies()) {
        asked.policy = policy;
        TS_ASSIGN(JobSimulation simulation, simulateJobs(asked, session.work()));
        json.push_back(simulationJson(simulation));
        made.push_back(std::move(simulation));
    }
    return session.print(options.everyPolicy() ? Json{{"policies", json}} : json[0], simulationText(made));
}

Result<int> simulateRecorded(Session& session, const SimulateOptions& options) {
    SessionSimulationRequest asked{session.store, *options.session, options.policies()};
    if (options.devices)
        asked.devices = options.request.devices;
    TS_ASSIGN(const SessionSimulation simulated, simulateSession(asked, session.work()));
    Json json = Json::array();
    for (const JobSimulation& simulation : simulated.made)
        json.push_back(simulationJson(simulation));
    Json all = options.everyPolicy() ? Json{{"policies", json}} : json[0];
    all["session"] = recordedJson(simulated.was);
    return session.print(all, simulationText(simulated.made) + recordedText(simulated.was));
}

void addSimulate(CLI::App& jobs, Session& session) {
    const auto options = std::make_shared<SimulateOptions>();
    JobSimulationRequest& request = options->request;
    CLI::App& command = *jobs.add_subcommand("simulate", "Several tuning jobs on a virtual clock, made up or those of a session: what a policy makes of them, and how near that is to the best possible");
    std::vector<std::string> names{kAll};
    std::string listed;
    for (const JobPolicy& policy : jobPolicies()) {
        names.push_back(policy.name);
        listed += policy.name + ": " + policy.text + "; ";
    }
    command.add_option("--policy", request.policy, listed + kAll + ": a table of these")->capture_default_str()->check(CLI::IsMember(names));
    CLI::Option& recorded = *command.add_option("--session", options->session, "The stages of this session of `jobs sessions` with the times that they took, instead of some that are made up")->type_name("NUMBER");
    CLI::Option& devices = *command.add_option("--devices", request.devices, "Devices that measure, any of which will do; of a session, those of each key instead of as many as it had")->check(CLI::Range(0, 1'000'000))->capture_default_str();
    const CLI::Range kCount(1, 1'000'000);
    const auto isTime = [](const std::string& text) {
        const double seconds = std::strtod(text.c_str(), nullptr); // text that is no number, CLI11 refuses
        return seconds >= 0 && seconds <= 1e9 ? std::string() : "'" + text + "' is no time from 0 to 1e9 s";
    };
    const auto isShare = asCheck([](const std::string& text) {
        JobSimulationRequest read;
        return readShare(text, read);
    });
    for (CLI::Option* madeUp : {command.add_option("--jobs", request.jobs, "Jobs, all of one kind")->check(kCount), command.add_option("--batches", request.batches, "Batches of each job")->check(kCount),
                                command.add_option("--build", request.build, "Seconds in which the client builds a batch")->check(isTime),
                                command.add_option("--profile", request.profile, "Seconds in which a device measures it")->check(isTime),
                                command.add_option("--update", request.update, "Seconds in which the client learns from it")->check(isTime),
                                command.add_option("--updates", options->updates, "The share of batches that are learned from, such as 5/6")->check(isShare),
                                command.add_option("--in-flight", request.inFlight, "Batches of a job that are under way at a time")->check(kCount),
                                command.add_option("--spread", request.spread, "Stages take up to such a share more or less, at random")->check(CLI::Range(0.0, 0.999))})
        madeUp->capture_default_str()->excludes(&recorded);
    session.addSeed(command);
    session.addStore(command);
    session.addJson(command);
    command.callback([&session, options, &devices] {
        options->devices = devices.count() > 0;
        session.action = [&session, options] { return options->session ? simulateRecorded(session, *options) : simulateMadeUp(session, *options); };
    });
}

Json tunedJson(const TunedJobs& tuned) {
    Json jobs = Json::array();
    for (const TunedJob& job : tuned.jobs) {
        Json runs = Json::array();
        for (const TunedRun& run : job.report.runs)
            runs.push_back({{"run", run.run}, {"threads", run.threads}, {"trials", run.trials}, {"failed", run.failed}, {"stop_reason", run.stopReason},
                            {"before_ms", optionalNumber(run.beforeMs)}, {"after_ms", optionalNumber(run.afterMs)}});
        jobs.push_back({{"id", job.id}, {"name", job.name}, {"state", job.state}, {"seconds", job.seconds}, {"error", job.error.empty() ? Json() : Json(job.error)}, {"runs", runs}});
        if (job.kind != TuneJob().kind) {
            jobs.back()["kind"] = job.kind;
            jobs.back()["outcome"] = outcomeJson(job.outcome);
        }
    }
    return {{"makespan_s", tuned.timeline.makespan()}, {"bound_s", tuned.bound}, {"utilisation", tuned.utilisation}, {"stages", tuned.timeline.slices.size()}, {"jobs", jobs}};
}

std::string tunedText(const TunedJobs& tuned) {
    Table table({{"job", true}, {"name"}, {"threads", true}, {"trials", true}, {"before", true}, {"after", true}, {"ended"}});
    const auto ms = [](const std::optional<double>& value) { return value ? timeText(*value) : "-"; };
    std::string failures, outcomes;
    for (const TunedJob& job : tuned.jobs) {
        if (job.report.runs.empty())
            table.add({std::to_string(job.id), job.name, "-", "-", figureText(job.outcome.before, job.outcome.unit), figureText(job.outcome.after, job.outcome.unit), job.state});
        if (job.kind != TuneJob().kind && job.state == "done")
            outcomes += printable(job.name + ": " + outcomeText(job.outcome)) + "\n";
        for (const TunedRun& run : job.report.runs)
            table.add({std::to_string(job.id), job.name, std::to_string(run.threads), std::to_string(run.trials), ms(run.beforeMs), ms(run.afterMs), run.stopReason});
        if (!job.error.empty())
            failures += printable(job.name + ": " + job.error) + "\n";
    }
    std::string paused;
    for (const TunedJob& job : tuned.jobs)
        if (job.state == "paused")
            paused += "Job " + std::to_string(job.id) + " is paused; `jobs list` tells more, `jobs resume " + std::to_string(job.id) + "` lets it run\n";
    std::string text = table.text() + outcomes + failures + paused + "All jobs took " + hours(tuned.timeline.makespan()) + "; their stages cannot be done in less than " + hours(tuned.bound) + "\n";
    for (const auto& [resource, share] : tuned.utilisation)
        text += printable(resource) + ": in use for " + percentText(share) + "\n";
    return text;
}

Result<TuneJobsRequest> jobsOf(const std::string& file) {
    if (!file.empty())
        return readJobFile(file);
    TuneJobsRequest waiting;
    waiting.queued = true;
    return waiting;
}

void addRunJobs(CLI::App& jobs, Session& session) {
    struct Options {
        std::string file, policy, trace;
        int atOnce = 0;
        DeviceChoice remote;
    };
    const auto options = std::make_shared<Options>();
    CLI::App& command = *jobs.add_subcommand("run", "Tune or rewrite several models, and tune problems, at a time: each stage has its turn, what is measured has its cores to itself");
    command.add_option("file", options->file, "A file of jobs: [[job]] with model, and if need be threads, trials, seconds, strategy, seed, priority, weight, deadline, cores, memory, network, device, tracker ...; kind = \"rewrite\" with model and output, kind = \"problem\" with file. Or the file of a problem. Without it, the jobs that wait in the store")
        ->type_name("FILE.toml");
    std::vector<std::string> policies;
    for (const JobPolicy& policy : jobPolicies())
        policies.push_back(policy.name);
    command.add_option("--policy", options->policy, "Instead of the file's; `jobs simulate` explains them")->check(CLI::IsMember(policies));
    command.add_option("--at-once", options->atOnce, "So many jobs run at a time on this machine, and on the devices of each key; the others wait. 0: two more than there are cores")->check(CLI::Range(0, 1000));
    command.add_option("--trace", options->trace, "Write all stages: a trace for Perfetto, or a table if the name ends in .csv")->type_name("FILE.json");
    addRemote(command, options->remote);
    session.addMemory(command);
    session.addStore(command);
    session.addJson(command);
    command.callback([&session, options] {
        session.action = [&session, options]() -> Result<int> {
            TS_ASSIGN(TuneJobsRequest request, jobsOf(options->file));
            request.store = session.store;
            request.atOnce = options->atOnce;
            request.remote = options->remote;
            if (!options->policy.empty())
                request.policy = options->policy;
            TS_ASSIGN(const TunedJobs tuned, tuneJobs(request, session.work()));
            if (!options->trace.empty())
                TS_TRY(exportTimeline(tuned.timeline, options->trace));
            const bool failed = std::ranges::any_of(tuned.jobs, [](const TunedJob& job) { return !job.error.empty(); });
            return session.print(tunedJson(tuned), tunedText(tuned), session.stop.stopRequested() ? kCancelled : failed ? kFailed : kDone);
        };
    });
}

} // namespace

void addJobs(CLI::App& app, Session& session) {
    CLI::App& jobs = *app.add_subcommand("jobs", "Several tuning jobs on shared machines");
    jobs.require_subcommand(1);
    addRunJobs(jobs, session);
    addSimulate(jobs, session);
    addJobQueue(jobs, session);
}

} // namespace tunesmith::cli
