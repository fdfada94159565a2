// SPDX-License-Identifier: GPL-3.0-or-later
#include <set>

#include "app/cli/command.h"
#include "app/cli/remote_options.h"
#include "app/cli/text.h"
#include "app/cli/tune_problem.h"
#include "core/workbench/tune.h"

namespace tunesmith::cli {
namespace {

std::string optionalTime(const std::optional<double>& ms) {
    return ms ? timeText(*ms) : "-";
}
std::string threadsText(int threads) {
    return std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

// Tells on stderr how the runs go.
class Narrator : public TuneListener {
public:
    explicit Narrator(ProgressLine& line) : line_(line) {}

    void onLeg(const TuneLeg& leg) override {
        threads_ = leg.count > 1 ? threadsText(leg.threads) + ", " : std::string();
        trials_ = 0;
    }
    void onTasks(const std::vector<TuningTask>& tasks) override { tasks_ = tasks.size(); }
    void onTrial(const TuneTrial& trial) override {
        ++trials_;
        best_ = trial.bestMs ? ", best " + timeText(*trial.bestMs) : std::string();
    }
    void onProgress(const Progress& progress) override {
        Progress shown = progress;
        if (progress.phase == "tuning" && tasks_ > 0)
            shown.detail = threads_ + std::to_string(trials_) + " trials, " + progress.detail + best_;
        line_.show(shown);
    }

private:
    ProgressLine& line_;
    std::size_t tasks_ = 0, trials_ = 0;
    std::string threads_, best_;
};

Json workloadJson(const TunedTask& task) {
    return {{"name", task.task.name},
            {"threads", task.threads},
            {"template", task.task.scheduleTemplate},
            {"search_space", task.task.searchSpace},
            {"space", task.task.space},
            {"trials", task.trials},
            {"best_ms", optionalNumber(task.bestMs)},
            {"gflops", task.gflops},
            {"first_ms", optionalNumber(task.firstMs)},
            {"count", task.task.count},
            {"failed", task.failed},
            {"config", task.config},
            {"stop_reason", task.stopReason}};
}

Json layoutsJson(const std::optional<TunedLayouts>& layouts) {
    if (!layouts)
        return nullptr;
    return {{"run", layouts->run},
            {"kept", layouts->kept},
            {"proven", layouts->proven},
            {"changed", layouts->changed},
            {"trials", layouts->trials},
            {"greedy_predicted_ms", layouts->greedyPredictedMs},
            {"planned_predicted_ms", layouts->plannedPredictedMs},
            {"greedy_ms", optionalNumber(layouts->greedyMs)},
            {"planned_ms", optionalNumber(layouts->plannedMs)},
            {"text", layouts->text}};
}

Json runJson(const TunedRun& run) {
    return {{"run", run.run},
            {"threads", run.threads},
            {"search_space", run.space},
            {"trials", run.trials},
            {"failed", run.failed},
            {"seconds", run.seconds},
            {"measuring_seconds", run.measuringSeconds},
            {"stop_reason", run.stopReason},
            {"before_ms", optionalNumber(run.beforeMs)},
            {"after_ms", optionalNumber(run.afterMs)},
            {"given_up", run.givenUp},
            {"layouts", layoutsJson(run.layouts)}};
}

// The run is the one to resume, the latencies are those of the last: all cores, unless --threads said otherwise.
Json tuneJson(const TuneReport& report) {
    Json all = runJson(report.last());
    all.erase("threads");
    all["run"] = report.handle();
    all["trials"] = report.trials();
    all["failed"] = report.failed();
    all["seconds"] = report.seconds();
    all.erase("given_up");
    all.erase("layouts");
    all.erase("measuring_seconds");
    all["runs"] = Json::array();
    all["workloads"] = Json::array();
    for (const TunedRun& run : report.runs) {
        all["runs"].push_back(runJson(run));
        for (const TunedTask& task : run.tasks)
            all["workloads"].push_back(workloadJson(task));
    }
    return all;
}

// What a space other than the first searched, and what it could not.
std::string spaceText(const TunedRun& run) {
    if (run.space == tuneSpaces().front().key)
        return {};
    std::set<std::string> templates;
    std::size_t others = 0;
    for (const TunedTask& task : run.tasks)
        if (task.task.searchSpace == run.space)
            templates.insert(task.task.scheduleTemplate);
        else
            ++others;
    std::string text = "Space " + run.space + ":";
    for (const std::string& name : templates)
        text += " " + name;
    if (templates.empty())
        text += " no workload has a template there";
    if (others > 0)
        text += "; workloads that keep our own templates: " + std::to_string(others);
    return text + "\nUse what was found with compile --space " + run.space + "\n";
}

std::string runText(const TunedRun& run) {
    Table table({{"workload", false, 70},
                 {"count", true},
                 {"trials", true},
                 {"failed", true},
                 {"untuned", true},
                 {"best", true},
                 {"GFLOP/s", true}});
    for (const TunedTask& task : run.tasks)
        table.add({task.task.name, std::to_string(task.task.count), std::to_string(task.trials),
                   std::to_string(task.failed), optionalTime(task.firstMs), optionalTime(task.bestMs),
                   task.bestMs ? fixed(task.gflops, 1) : "-"});
    std::string text = table.text() + "\nRun " + std::to_string(run.run) + " for " + threadsText(run.threads) + ": " +
                       std::to_string(run.trials) + " trials (" + std::to_string(run.failed) + " failed) in " +
                       fixed(run.seconds, 1) + " s, " + run.stopReason + "\n";
    text += spaceText(run);
    if (run.seconds > 0)
        text += "Kernels were being timed for " + fixed(100 * run.measuringSeconds / run.seconds, 0) + " % of it\n";
    if (run.givenUp > 0)
        text += "Given up: " + std::to_string(run.givenUp) + (run.givenUp == 1 ? " schedule that is" : " schedules that are") +
                " slower in the model than the untuned one\n";
    if (run.beforeMs && run.afterMs && *run.afterMs > 0)
        text += "Latency " + timeText(*run.beforeMs) + " -> " + timeText(*run.afterMs) + ": " +
                fixed(*run.beforeMs / *run.afterMs, 2) + " times as fast\n";
    if (run.layouts)
        text += "L" + run.layouts->text.substr(1) + "\n";
    return text;
}

std::string tuneText(const TuneReport& report) {
    std::string text;
    for (const TunedRun& run : report.runs)
        text += (text.empty() ? "" : "\n") + runText(run);
    if (report.unfinished)
        text += "Go on with --resume " + std::to_string(report.handle()) + "\n";
    return text;
}

struct TuneCommandOptions {
    std::string model;
    TuneRequest request;
    DeviceChoice device;
};

void addDeviceOfTracker(CLI::App& command, DeviceChoice& device) {
    const DeviceOptions options = addDevice(command, device);
    options.key->needs(options.tracker);
    command.add_option("--priority", device.priority, "Before clients of a lower one")->needs(options.key);
}

void addBudget(CLI::App& command, TuneBudget& budget) {
    command
        .add_option("--trials-per-workload", budget.trialsPerWorkload,
                    "Candidates for each workload (default: 64)")
        ->check(CLI::Range(1, 1000000));
    command.add_option("--trials", budget.trials, "Candidates in all, spent where they promise the model most")->check(CLI::Range(1, 100000000));
    command.add_option("--time", budget.seconds, "Seconds in all, spent likewise")->check(CLI::Range(1.0, 1e7));
    command.add_option("--target", budget.targetMs, "Milliseconds: enough once the model's kernels take no longer together, be it by records from before")->check(CLI::PositiveNumber);
}

Result<int> tune(Session& session, TuneCommandOptions& options) {
    TS_ASSIGN(const Model model, session.open(options.model));
    Narrator narrator(session.progress);
    TuneRequest& request = options.request;
    request.store = session.store;
    request.threads = session.threads;
    request.builders = session.builders;
    request.seed = session.seed;
    request.space = session.space;
    request.stop = session.stop;
    request.listener = &narrator;
    if (!options.device.key.empty())
        request.device = options.device;
    TS_ASSIGN(const TuneReport report, tuneModel(model, request));
    TS_ASSIGN(const int status, session.print(tuneJson(report), tuneText(report),
                                              session.stop.stopRequested() ? kCancelled : kDone));
    if (const std::string failure = report.failure(); !failure.empty() && status == kDone)
        return internalError(failure);
    return status;
}

} // namespace

void addTune(CLI::App& app, Session& session) {
    const auto options = std::make_shared<TuneCommandOptions>();
    CLI::App& command =
        *app.add_subcommand("tune", "Search the best schedules of a model's kernels on this machine");
    command.add_option("model", options->model, "ONNX file, tensor expression (FILE.te), sample, or a problem (FILE.toml) that a plugin knows")->required();
    TuneRequest& request = options->request;
    addBudget(command, request.budget);
    std::vector<std::string> strategies;
    std::string explained = "Strategies:";
    for (const StrategyInfo& strategy : tuneStrategies()) {
        strategies.push_back(strategy.key);
        explained += "\n  " + strategy.key + ": " + strategy.help;
    }
    explained += "\nSpaces:";
    for (const StrategyInfo& space : tuneSpaces())
        explained += "\n  " + space.key + ": " + space.help;
    command.footer(explained);
    command.add_option("--strategy", request.strategy, "How candidates are chosen")
        ->check(CLI::IsMember(strategies))
        ->default_str(strategies.front());
    session.addSpace(command, "Whose schedules are searched (default: tunesmith); a resumed run keeps its own");
    command.add_option("--timeout", request.timeoutSeconds, "Seconds that one candidate may take")
        ->check(CLI::Range(0.1, 3600.0))
        ->capture_default_str();
    command.add_option("--batch", request.batch, "Candidates that are chosen at once")
        ->check(CLI::Range(1, 1024));
    command.add_flag("!--no-transfer", request.transfer, "Do not use what earlier runs learned");
    command.add_flag("!--no-latency", request.measureModel, "Do not time the whole model before and after; its kernels are summed up");
    command.add_flag("--layouts", request.layouts,
                     "Then measure kernels in other layouts, with a quarter of the budget, and plan the layouts of the whole model; "
                     "the plan is kept where the model is certainly faster with it");
    addDeviceOfTracker(command, options->device);
    command.add_option("--resume", request.resume, "Go on with a run that was stopped or killed")
        ->type_name("RUN");
    session.addDimensions(command);
    session.addThreads(command, "one thread, and after that all cores");
    session.addBuilders(command);
    session.addSeed(command);
    session.addStore(command);
    session.addJson(command);
    command.callback([&session, &command, options] {
        if (isProblemFile(options->model)) {
            refuseOptionsOfModels(command);
            session.action = [&session, &command, options] { return tuneProblemFile(session, command, options->model, options->request); };
        } else {
            session.action = [&session, options] { return tune(session, *options); };
        }
    });
}

} // namespace tunesmith::cli
