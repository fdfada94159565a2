// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>
#include <csignal>

#include "app/cli/command.h"
#include "app/cli/stop_signals.h"
#include "app/cli/text.h"
#include "core/base/printable.h"
#include "core/workbench/optimize.h"

namespace tunesmith::cli {
namespace {

Json optimizedJson(const OptimizedModel& made) {
    Json rules = Json::array();
    for (const RuleUse& use : made.rules)
        rules.push_back({{"rule", use.rule}, {"equation", use.equation}, {"conditions", use.conditions}, {"count", use.count}, {"gain", use.gain}});
    Json refusals = Json::array();
    for (const RuleRefusal& refusal : made.refusals)
        refusals.push_back({{"rule", refusal.rule}, {"reason", refusal.reason}, {"count", refusal.count}});
    Json json{{"cost_before", made.costBefore}, {"cost_after", made.costAfter}, {"unit", made.unit}};
    json["measured_before_ms"] = made.measuredBeforeMs > 0 ? Json(made.measuredBeforeMs) : Json();
    json["measured_after_ms"] = made.measuredAfterMs > 0 ? Json(made.measuredAfterMs) : Json();
    json["nodes_before"] = made.nodesBefore;
    json["nodes_after"] = made.nodesAfter;
    json["operators_before"] = made.opsBefore;
    json["operators_after"] = made.opsAfter;
    json["steps"] = made.steps.size();
    json["expanded"] = made.expanded;
    json["generated"] = made.generated;
    json["seconds"] = made.seconds;
    json["stop_reason"] = stopReasonName(made.stopReason);
    json["rules"] = rules;
    json["refusals"] = refusals;
    json["kept_original"] = made.keptOriginal;
    json["raced"] = made.raced;
    json["not_raced"] = made.notRaced.empty() ? Json() : Json(made.notRaced);
    json["layouts"] = made.layouts;
    if (!made.timed.empty()) {
        Json graphs = Json::array();
        for (const TimedGraph& graph : made.timed)
            graphs.push_back({{"predicted_ms", graph.predictedMs}, {"measured_ms", graph.measuredMs}});
        const Prediction prediction = predictionOf(made.timed);
        json["prediction"] = {{"error", prediction.error}, {"kendall_tau", prediction.kendallTau}, {"graphs", graphs}};
    }
    json["check"] = {{"max_rel_err", optionalNumber(made.maxRelativeError)}, {"text", made.checked}, {"left_out", made.leftOut}};
    return json;
}

std::string costText(const OptimizedModel& made, double cost) {
    const bool whole = std::round(10 * cost) == 10 * std::round(cost);
    return fixed(cost, made.unit != "kernels" ? 3 : whole ? 0 : 1) + " " + made.unit;
}

std::string summary(const OptimizedModel& made, const std::string& file) {
    std::string text = "Cost " + costText(made, made.costBefore) + " -> " + costText(made, made.costAfter) + ", nodes " + std::to_string(made.nodesBefore) + " -> " +
                       std::to_string(made.nodesAfter) + "\n";
    Table table({{"rule"}, {"times", true}, {"gain", true}, {"equation", false, 100}});
    for (const RuleUse& use : made.rules)
        table.add({use.rule, std::to_string(use.count), fixed(use.gain, 3), use.equation});
    if (!made.rules.empty())
        text += table.text();
    text += std::to_string(made.expanded) + " graphs expanded, " + std::to_string(made.generated) + " made in " + fixed(made.seconds, 2) + " s; " +
            (made.stopReason == StopReason::cancelled ? "ended when it was asked to" : std::string(stopReasonSentence(made.stopReason))) + "\n";
    if (made.measuredAfterMs > 0)
        text += "Measured " + fixed(made.measuredBeforeMs, 3) + " ms -> " + fixed(made.measuredAfterMs, 3) + " ms\n";
    if (!made.timed.empty()) {
        const Prediction prediction = predictionOf(made.timed);
        text += "Costs predict the times of " + std::to_string(made.timed.size()) + " modules within " + fixed(100 * prediction.error, 1) +
                " % on the average; their order: Kendall's tau " + fixed(prediction.kendallTau, 2) + "\n";
    }
    if (made.layouts > 0)
        text += std::to_string(made.layouts) + " values lie otherwise than usual, as the store now knows: compile with the same store\n";
    if (!made.notRaced.empty())
        text += "Not raced against the original: " + printable(made.notRaced) + (made.keptOriginal ? "; the graph stays as it was\n" : "\n");
    else if (made.keptOriginal)
        text += "What was found is not certainly faster as a module: the graph stays as it was\n";
    for (const std::string& rule : made.leftOut)
        text += "Left out, for it computed something else here: " + printable(rule) + "\n";
    text += "Checked: " + (made.checked.empty() ? "nothing, for the graph is the original" : made.checked) + "\n";
    return file.empty() ? text : text + "Wrote " + printable(file) + "\n";
}

StopSource raceSource;
struct sigaction heededBefore {};

// A second Ctrl-C ends the race that the first one left; the third does what the second does elsewhere.
void heedSecondSignal() {
    struct sigaction action {};
    action.sa_handler = [](int) {
        raceSource.requestStop();
        sigaction(SIGINT, &heededBefore, nullptr);
    };
    sigaction(SIGINT, &action, &heededBefore);
}

Work workOf(Session& session) {
    Work work = session.work();
    work.progress = [&session, show = work.progress, heeds = false](const Progress& progress) mutable {
        if (!session.stop.stopRequested())
            StopSignals::endPartOnly(progress.phase == kSearchPhase);
        else if (!std::exchange(heeds, true))
            heedSecondSignal();
        show(progress);
    };
    return work;
}

std::string listed(const std::vector<NamedText>& all) {
    std::string text;
    for (const NamedText& each : all)
        text += (text.empty() ? "" : "; ") + each.name + ": " + each.text;
    return text;
}

std::vector<std::string> names(const std::vector<NamedText>& all) {
    std::vector<std::string> found;
    for (const NamedText& each : all)
        found.push_back(each.name);
    return found;
}

} // namespace

void addOptimize(CLI::App& app, Session& session) {
    struct Options {
        std::string model, file;
        OptimizeRequest request;
    };
    const auto options = std::make_shared<Options>();
    OptimizeRequest& request = options->request;
    CLI::App& command = *app.add_subcommand("optimize", "An equal graph that costs less: search among substitutions. Ctrl-C ends the search with the best so far, which is raced briefly; a second one keeps the original");
    command.add_option("model", options->model, "ONNX file, tensor expression (FILE.te) or sample")->required();
    command.add_option("-o,--output", options->file, "File for the rewritten model")->type_name("OUT.onnx");
    command.add_option("--search", request.search, listed(graphSearches()))->capture_default_str()->check(CLI::IsMember(names(graphSearches())));
    command.add_option("--cost", request.cost, listed(graphCosts()))->capture_default_str()->check(CLI::IsMember(names(graphCosts())));
    command.add_option("--alpha", request.alpha, "Graphs up to so many times as dear as the best are looked at further")->capture_default_str()->check(CLI::Range(1.0, 10.0));
    command.add_option("--budget", request.budget, "Graphs that are expanded, at most")->capture_default_str()->check(CLI::Range(std::int64_t(0), std::int64_t(1) << 40));
    command.add_option("--time", request.seconds, "Seconds that the search takes, at most")->check(CLI::NonNegativeNumber);
    command.add_flag("--measure", request.measure, "Time the original and the result as modules, in turns; with costs in ms also the cheapest graphs, to choose among them (done in any case where a file is written)");
    command.add_flag("--no-measure", request.noMeasure, "Choose by the cost alone");
    command.add_option("--rules", request.rules, listed(graphRuleSets()))->capture_default_str()->check(CLI::IsMember(names(graphRuleSets())));
    command.add_option("--without", request.without, "Rules that are not to be used, as `rules list` names them")->delimiter(',');
    session.addDimensions(command);
    session.addThreads(command);
    session.addInputs(command);
    session.addStore(command);
    session.addJson(command);
    command.callback([&session, options] {
        session.action = [&session, options]() -> Result<int> {
            OptimizeRequest& asked = options->request;
            asked.file = options->file;
            asked.threads = session.threads;
            TS_ASSIGN(const InputChoice inputs, session.inputChoice());
            asked.inputs = inputs.files;
            asked.seed = inputs.seed;
            asked.store = session.store;
            asked.enough = session.stop;
            asked.atOnce = raceSource.token();
            TS_ASSIGN(const Model model, session.open(options->model));
            TS_ASSIGN(const OptimizedModel made, optimizeModel(model, asked, workOf(session)));
            return session.print(optimizedJson(made), summary(made, options->file));
        };
    });
}

} // namespace tunesmith::cli
