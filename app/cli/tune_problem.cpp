// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/tune_problem.h"

#include "app/cli/job_outcome.h"
#include "app/cli/text.h"
#include "core/base/printable.h"
#include "core/workbench/tune_problem.h"

namespace tunesmith::cli {
namespace {

Json problemJson(const TunedProblem& tuned) {
    Json commands = Json::object();
    for (const auto& [title, text] : tuned.commands)
        commands[title] = text;
    return {{"run", tuned.run},
            {"problem", tuned.kind},
            {"name", tuned.name},
            {"strategy", tuned.strategy},
            {"space", tuned.space},
            {"trials", tuned.trials},
            {"failed", tuned.failed},
            {"seconds", tuned.seconds},
            {"stop_reason", tuned.stopReason},
            {"objective", tuned.objective},
            {"unit", tuned.unit},
            {"higher_is_better", tuned.higherIsBetter},
            {"default", optionalNumber(tuned.defaultValue)},
            {"best", optionalNumber(tuned.bestValue)},
            {"default_config", tuned.defaultConfig},
            {"best_config", tuned.bestConfig},
            {"config", tuned.bestKey},
            {"verdict", tuned.verdict.empty() ? Json() : Json(tuned.verdict)},
            {"commands", commands},
            {"first_failure", tuned.firstFailure.empty() ? Json() : Json(tuned.firstFailure)}};
}

std::string problemText(const TunedProblem& tuned) {
    std::string text = printable(tuned.name) + ": " + countText(tuned.space) + " configs\n";
    text += "Default: " + figureText(tuned.defaultValue, tuned.unit) + "  (" + printable(tuned.defaultConfig) + ")\n";
    text += "Best:    " + figureText(tuned.bestValue, tuned.unit) + (tuned.bestConfig.empty() ? "\n" : "  (" + printable(tuned.bestConfig) + ")\n");
    if (!tuned.verdict.empty())
        text += "Measured in turns: " + printable(tuned.verdict) + "\n";
    for (const auto& [title, command] : tuned.commands)
        text += printable("To " + title + ": " + command) + "\n";
    text += "Run " + std::to_string(tuned.run) + ": " + std::to_string(tuned.trials) + " trials (" + std::to_string(tuned.failed) + " failed) in " +
            fixed(tuned.seconds, 1) + " s, " + tuned.stopReason + "\n";
    if (!tuned.firstFailure.empty())
        text += "The first that failed: " + printable(tuned.firstFailure) + "\n";
    if (tuned.stopReason == "cancelled")
        text += "Go on with --resume " + std::to_string(tuned.run) + "\n";
    return text;
}

} // namespace

bool isProblemFile(const std::string& path) { return path.ends_with(".toml"); }

void refuseOptionsOfModels(const CLI::App& command) {
    for (const char* option : {"--target", "--space", "--no-transfer", "--no-latency", "--layouts", "--dims", "--threads", "--device"})
        if (command.count(option) > 0)
            throw CLI::ValidationError(option, "is for models; a problem file has none of it");
}

Result<int> tuneProblemFile(Session& session, const CLI::App& command, const std::string& file, const TuneRequest& request) {
    TuneProblemRequest asked;
    asked.file = file;
    asked.store = session.store;
    asked.trials = request.budget.trials ? request.budget.trials : request.budget.trialsPerWorkload; // a problem is one workload
    asked.seconds = request.budget.seconds;
    asked.strategy = request.strategy;
    asked.seed = session.seed;
    asked.builders = session.builders;
    asked.batch = request.batch;
    if (command.count("--timeout") > 0) // else what the file allows
        asked.timeoutSeconds = request.timeoutSeconds;
    asked.resume = request.resume;
    TS_ASSIGN(const TunedProblem tuned, tuneProblem(asked, session.work()));
    return session.print(problemJson(tuned), problemText(tuned), session.stop.stopRequested() ? kCancelled : kDone);
}

} // namespace tunesmith::cli
