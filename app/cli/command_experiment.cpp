// SPDX-License-Identifier: GPL-3.0-or-later
#include <sstream>

#include "app/cli/command.h"
#include "app/cli/text.h"
#include "core/workbench/experiment.h"

namespace tunesmith::cli {
namespace {

struct ExperimentOptions {
    std::string subject, verbs, folder;
    TuneRequest tuning;
    double seconds = 3; // of evaluating
};

constexpr const char* kVerbs = "autotune,build,save,run,evaluate";

Result<std::vector<std::string>> verbsOf(const ExperimentOptions& options) {
    std::string text = options.verbs;
    if (text.empty())
        text = isExportedModule(options.subject) ? "run,evaluate" : options.folder.empty() ? "autotune,build,run,evaluate" : kVerbs;
    std::vector<std::string> verbs;
    std::istringstream words(text);
    for (std::string verb; std::getline(words, verb, ',');)
        if ((std::string(",") + kVerbs + ",").find("," + verb + ",") == std::string::npos)
            return inputError("there is no verb '" + verb + "'; there are " + kVerbs);
        else if (verb == "save" && options.folder.empty())
            return inputError("save needs a folder; give one with --output");
        else
            verbs.push_back(verb);
    return verbs;
}

template <class T> Status statusOf(const Result<T>& result) { return result.ok() ? Status() : Status(result.error()); }

Status carryOut(Experiment& experiment, const std::string& verb, const ExperimentOptions& options, const Session& session) {
    if (verb == "autotune")
        return statusOf(experiment.autotune(options.tuning));
    if (verb == "build")
        return statusOf(experiment.build());
    if (verb == "save")
        return experiment.save(options.folder);
    if (verb == "evaluate")
        return statusOf(experiment.evaluate(options.seconds));
    TS_ASSIGN(const InputChoice inputs, session.inputChoice());
    return statusOf(experiment.run(inputs));
}

Result<int> chain(Session& session, const ExperimentOptions& options) {
    TS_ASSIGN(const std::vector<std::string> verbs, verbsOf(options));
    TS_ASSIGN(Experiment experiment, Experiment::load(options.subject, session.dimensions, {session.store, session.threads, session.builders, session.seed, session.work(), session.trust}));
    for (const std::string& verb : verbs) {
        if (session.stop.stopRequested())
            break;
        TS_TRY(carryOut(experiment, verb, options, session));
    }
    Json steps = Json::array();
    Table table({{"verb"}, {"took", true}, {"came to"}});
    for (const ExperimentStep& step : experiment.steps()) {
        steps.push_back({{"verb", step.verb}, {"seconds", step.seconds}, {"text", step.text}});
        table.add({step.verb, timeText(1e3 * step.seconds), step.text});
    }
    return session.print({{"run", experiment.id()}, {"steps", steps}}, table.text(), session.stop.stopRequested() ? kCancelled : kDone);
}

} // namespace

void addExperiment(CLI::App& app, Session& session) {
    const auto options = std::make_shared<ExperimentOptions>();
    CLI::App& command = *app.add_subcommand("experiment", "Load a model, autotune it, build a module, save it, run it and evaluate it: each verb is timed, and the store has the whole");
    command.add_option("subject", options->subject, "ONNX file or sample, or a module that was saved: that one is run and evaluated")->required()->type_name("MODEL|MODULE");
    command.add_option("--verbs", options->verbs, "Some of " + std::string(kVerbs) + ", in the order in which they are to be done");
    command.add_option("-o,--output", options->folder, "Where the module is saved")->type_name("FOLDER");
    command.add_option("--trials-per-workload", options->tuning.budget.trialsPerWorkload, "Of autotune (default: 64)")->check(CLI::Range(1, 1000000));
    command.add_option("--time", options->tuning.budget.seconds, "Seconds of autotune")->check(CLI::Range(1.0, 1e7));
    command.add_option("--strategy", options->tuning.strategy, "Of autotune; `tune --help` explains them");
    command.add_option("--seconds", options->seconds, "Of evaluate")->check(CLI::Range(0.01, 3600.0))->capture_default_str();
    session.addThreads(command);
    session.addBuilders(command);
    session.addDimensions(command);
    session.addInputs(command);
    session.addStore(command);
    session.addTrust(command);
    session.addJson(command);
    command.callback([&session, options] {
        if (const auto verbs = verbsOf(*options); !verbs.ok())
            throw CLI::ValidationError("--verbs", verbs.error().message);
        session.action = [&session, options] { return chain(session, *options); };
    });
}

} // namespace tunesmith::cli
