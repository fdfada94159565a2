// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"
#include "app/cli/text.h"
#include "core/base/printable.h"
#include "core/workbench/rule_import.h"

namespace tunesmith::cli {
namespace {

struct CheckOptions {
    RuleTrialOptions trials;
    std::vector<std::string> names;
    std::string file;
};

Json examplesJson(const std::vector<RuleCounterExample>& examples) {
    Json json = Json::array();
    for (const RuleCounterExample& each : examples)
        json.push_back({{"rule", each.rule}, {"counter_example", each.example}});
    return json;
}

std::string examplesText(const std::vector<RuleCounterExample>& examples) {
    std::string text;
    for (const RuleCounterExample& each : examples)
        text += "  " + printable(each.rule + ": " + each.example) + "\n";
    return text;
}

Json verificationJson(const RuleVerification& done) {
    return {{"rules", done.rules},
            {"directions", done.directions},
            {"trials", done.trials},
            {"sound", done.sound},
            {"guarded", done.guarded},
            {"not_applicable", done.foundShapesOnly},
            {"refuted", examplesJson(done.refuted)},
            {"proved", done.proved},
            {"proved_under_conditions", done.provedIf},
            {"why_not_proved", done.whyNotProved},
            {"seconds", done.seconds}};
}

std::string verificationText(const RuleVerification& done) {
    const auto count = [](std::size_t number) { return std::to_string(number); };
    Table table({{""}, {"", true}});
    table.add({"rules", count(done.rules)});
    table.add({"  sound as they are", count(done.sound)});
    table.add({"  sound under conditions", count(done.guarded)});
    table.add({"  refuted", count(done.refuted.size())});
    table.add({"  not applicable to models", count(done.foundShapesOnly)});
    table.add({"  proved from axioms, for all shapes", count(done.proved)});
    table.add({"    under conditions", count(done.provedIf)});
    const std::string trials = std::to_string(done.trials) + " trials in " + count(done.directions) + " directions took " + fixed(done.seconds, 1) + " s\n";
    const std::string why = done.whyNotProved.empty() ? "" : "Not all are proved: " + done.whyNotProved + "\n";
    return table.text() + trials + why + examplesText(done.refuted);
}

Result<int> verify(Session& session, const CheckOptions& options) {
    TS_ASSIGN(const RuleVerification done, verifyRules(session.store, options.names, options.trials, session.work()));
    return session.print(verificationJson(done), verificationText(done));
}

Result<int> importFile(Session& session, const CheckOptions& options) {
    TS_ASSIGN(const RuleImport done, importRules(session.store, options.file, options.trials, session.work()));
    const std::string unsound = done.unsound.empty() ? "None is unsound\n" : std::to_string(done.unsound.size()) + " are unsound, with shapes that TASO would take:\n";
    return session.print({{"imported", done.imported}, {"distinct", done.distinct}, {"added", done.added}, {"unsound", examplesJson(done.unsound)}},
                         "Imported " + std::to_string(done.imported) + " rules, " + std::to_string(done.distinct) + " of them different; the store did not have " +
                             std::to_string(done.added) + "\n" + unsound + examplesText(done.unsound));
}

} // namespace

void addRuleTrials(CLI::App& rules, Session& session) {
    const auto add = [&](const char* name, const char* help, std::int64_t trials, Result<int> (*run)(Session&, const CheckOptions&)) {
        const auto options = std::make_shared<CheckOptions>();
        options->trials.trials = trials;
        CLI::App& command = *rules.add_subcommand(name, help);
        command.add_option("--trials", options->trials.trials, "Of each direction of a rule")->capture_default_str()->check(CLI::Range(1, 10'000'000));
        session.addStore(command);
        session.addThreads(command);
        session.addSeed(command);
        session.addJson(command);
        command.callback([&session, options, run] {
            session.action = [&session, options, run] {
                options->trials.threads = session.threads;
                options->trials.seed = session.seed;
                return run(session, *options);
            };
        });
        return std::pair(&command, options);
    };
    const auto [import, file] = add("import", "Keep the rules of a file, and try them", 500, importFile);
    import->add_option("FILE", file->file, "Text with a rule in each line, or TASO's graph_subst.pb")->required();
    const auto [verifying, options] = add("verify", "Prove kept rules, and try them on random models; find the conditions under which they hold", 500, verify);
    verifying->add_option("NAMES", options->names, "Rules or families, as `rules list` has them; all if none is given");
    verifying->add_option("--total", options->trials.total, "Trials of all rules together, at least; spread evenly")
        ->check(CLI::Range(std::int64_t(1), std::int64_t(1'000'000'000)));
}

} // namespace tunesmith::cli
