// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "app/cli/command.h"
#include "app/cli/job_outcome.h"
#include "app/cli/remote_options.h"
#include "app/cli/text.h"
#include "core/base/printable.h"
#include "core/workbench/job_sessions.h"

// Below `jobs`: the jobs in the store, and what those that ran did when.
namespace tunesmith::cli {
namespace {

std::string budgetText(const TuneBudget& budget) {
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    if (budget.trialsPerWorkload)
        add(std::to_string(*budget.trialsPerWorkload) + " trials a workload");
    if (budget.trials)
        add(std::to_string(*budget.trials) + " trials");
    if (budget.seconds)
        add(timeText(1e3 * *budget.seconds));
    if (budget.targetMs)
        add("until " + timeText(*budget.targetMs));
    return text.empty() ? "default" : text;
}

Json queuedJson(const QueuedJob& job) {
    Json json{{"id", job.id},           {"name", job.name},         {"model", job.model}, {"state", job.state},
            {"priority", job.priority}, {"progress", job.progress}, {"seconds", job.seconds}, {"run", job.run ? Json(*job.run) : Json()},
            {"detail", job.detail.empty() ? Json() : Json(job.detail)}, {"does", job.does}};
    if (job.kind != TuneJob().kind) {
        json["kind"] = job.kind;
        json["outcome"] = job.outcome ? outcomeJson(*job.outcome) : Json();
    }
    return json;
}

std::string doesText(const QueuedJob& job, const char* between) { return printable("Job " + std::to_string(job.id) + between + (job.does.empty() ? "does what nobody can read" : job.does)) + "\n"; }

void addList(CLI::App& jobs, Session& session) {
    CLI::App& command = *jobs.add_subcommand("list", "The jobs in the store: those that wait, run, and have ended");
    session.addStore(command);
    session.addJson(command);
    command.callback([&session] {
        session.action = [&session]() -> Result<int> {
            TS_ASSIGN(const std::vector<QueuedJob> found, listJobs(session.store));
            Json json = Json::array();
            std::string paused;
            Table table({{"job", true}, {"kind"}, {"name"}, {"state"}, {"priority", true}, {"done", true}, {"for", true}, {"budget"}, {"came to", false, 100}});
            for (const QueuedJob& job : found) {
                json.push_back(queuedJson(job));
                table.add({std::to_string(job.id), job.kind, job.name, job.state, std::to_string(job.priority), percentText(job.progress), timeText(1e3 * job.seconds), budgetText(job.budget),
                           job.outcome ? outcomeText(*job.outcome) : job.detail});
                if (job.state == "paused") // whoever resumes it should know
                    paused += doesText(job, " is paused: it ");
            }
            return session.print({{"jobs", json}}, found.empty() ? "No jobs; `jobs add FILE.toml` adds some\n" : table.text() + paused);
        };
    });
}

void addAdd(CLI::App& jobs, Session& session) {
    struct Options {
        std::string file;
        DeviceChoice device;
    };
    const auto options = std::make_shared<Options>();
    CLI::App& command = *jobs.add_subcommand("add", "Put the jobs of a file into the store, for `jobs run` to run");
    command.add_option("file", options->file, "As for `jobs run`")->required()->type_name("FILE.toml");
    addDevice(command, options->device);
    session.addStore(command);
    session.addJson(command);
    command.callback([&session, options] {
        session.action = [&session, options]() -> Result<int> {
            TS_ASSIGN(TuneJobsRequest request, readJobFile(options->file));
            if (!options->device.key.empty())
                for (TuneJob& job : request.jobs)
                    job.device = options->device;
            TS_ASSIGN(const std::vector<std::int64_t> ids, addJobs(session.store, std::move(request.jobs), session.work()));
            std::string text;
            for (const std::int64_t id : ids)
                text += "job " + std::to_string(id) + "\n";
            return session.print({{"jobs", ids}}, text);
        };
    });
}

void addChange(CLI::App& jobs, Session& session, JobChange change, const char* name, const char* help) {
    const auto ids = std::make_shared<std::vector<std::int64_t>>();
    CLI::App& command = *jobs.add_subcommand(name, help);
    command.add_option("job", *ids, "Numbers of `jobs list`")->required();
    session.addStore(command);
    session.addJson(command);
    command.callback([&session, ids, change] {
        session.action = [&session, ids, change]() -> Result<int> {
            for (const std::int64_t id : *ids)
                TS_TRY(changeJob(session.store, id, change));
            if (change != JobChange::resume)
                return session.print({{"jobs", *ids}}, "");
            TS_ASSIGN(const std::vector<QueuedJob> all, listJobs(session.store));
            std::string resumed;
            for (const QueuedJob& job : all)
                if (std::ranges::find(*ids, job.id) != ids->end())
                    resumed += doesText(job, " goes on: it ");
            return session.print({{"jobs", *ids}}, resumed);
        };
    });
}

void addPriority(CLI::App& jobs, Session& session) {
    struct Options {
        std::int64_t job = 0;
        int priority = 0;
    };
    const auto options = std::make_shared<Options>();
    CLI::App& command = *jobs.add_subcommand("priority", "Change a job's priority; the higher goes first");
    command.add_option("job", options->job, "A number of `jobs list`")->required();
    command.add_option("priority", options->priority)->required()->check(CLI::Range(-1000, 1000));
    session.addStore(command);
    session.addJson(command);
    command.callback([&session, options] {
        session.action = [&session, options]() -> Result<int> {
            TS_TRY(setJobPriority(session.store, options->job, options->priority));
            return session.print({{"job", options->job}, {"priority", options->priority}}, "");
        };
    });
}

void addSessions(CLI::App& jobs, Session& session) {
    CLI::App& command = *jobs.add_subcommand("sessions", "The programs that ran jobs, newest first");
    session.addStore(command);
    session.addJson(command);
    command.callback([&session] {
        session.action = [&session]() -> Result<int> {
            TS_ASSIGN(const std::vector<JobSessionSummary> found, jobSessions(session.store));
            Json json = Json::array();
            Table table({{"session", true}, {"policy"}, {"jobs", true}, {"stages", true}, {"took", true}, {"state"}});
            for (const JobSessionSummary& each : found) {
                const char* state = each.running ? "running" : each.endedAt ? "ended" : "killed";
                json.push_back({{"id", each.id}, {"policy", each.policy}, {"jobs", each.jobs}, {"stages", each.slices}, {"seconds", each.seconds}, {"started_at", each.startedAt}, {"ended_at", each.endedAt ? Json(*each.endedAt) : Json()}, {"state", state}});
                table.add({std::to_string(each.id), each.policy, std::to_string(each.jobs), std::to_string(each.slices), timeText(1e3 * each.seconds), state});
            }
            return session.print({{"sessions", json}}, found.empty() ? "No jobs were run yet\n" : table.text());
        };
    });
}

void addTrace(CLI::App& jobs, Session& session) {
    struct Options {
        std::int64_t session = 0;
        std::string file;
    };
    const auto options = std::make_shared<Options>();
    CLI::App& command = *jobs.add_subcommand("trace", "Write what the stages of a session did when: a trace for Perfetto, or a table if the name ends in .csv");
    command.add_option("session", options->session, "A number of `jobs sessions`")->required();
    command.add_option("-o,--output", options->file)->required()->type_name("FILE.json");
    session.addStore(command);
    session.addJson(command);
    command.callback([&session, options] {
        session.action = [&session, options]() -> Result<int> {
            TS_ASSIGN(const JobTimeline timeline, sessionTimeline(session.store, options->session));
            TS_TRY(exportTimeline(timeline, options->file));
            return session.print({{"file", options->file}, {"stages", timeline.slices.size()}, {"seconds", timeline.makespan()}}, "");
        };
    });
}

} // namespace

void addJobQueue(CLI::App& jobs, Session& session) {
    addAdd(jobs, session);
    addList(jobs, session);
    addChange(jobs, session, JobChange::pause, "pause", "Begin nothing more of jobs for the time being");
    addChange(jobs, session, JobChange::resume, "resume", "Go on with jobs that are paused, failed or were cancelled");
    addChange(jobs, session, JobChange::cancel, "cancel", "End jobs; what they measured stays");
    addChange(jobs, session, JobChange::remove, "remove", "Forget jobs that do not run; what they measured stays");
    addPriority(jobs, session);
    addSessions(jobs, session);
    addTrace(jobs, session);
}

} // namespace tunesmith::cli
