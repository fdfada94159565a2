// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"
#include "app/cli/text.h"
#include "core/base/printable.h"
#include "core/workbench/optimize.h"
#include "core/workbench/rule_store.h"

namespace tunesmith::cli {
namespace {

Json ruleJson(const KeptRule& rule) {
    Json shapes = Json::object();
    for (const auto& [name, shape] : rule.equation.variables)
        shapes[name] = shape;
    return {{"name", rule.name},
            {"left", rule.equation.left},
            {"right", rule.equation.right},
            {"found_with", shapes},
            {"origin", rule.origin},
            {"status", rule.status},
            {"trials", rule.trials},
            {"preconditions", rule.preconditions},
            {"counter_example", rule.counterExample},
            {"proof_conditions", rule.proofConditions},
            {"why_not_proved", rule.whyNotProved}};
}

Result<int> list(Session& session) {
    TS_ASSIGN(const KeptRules kept, keptRules(session.store));
    Json json = Json::array();
    Table table({{"name"}, {"status"}, {"rule", false, 140}});
    for (const KeptRule& rule : kept.rules) {
        json.push_back(ruleJson(rule));
        table.add({rule.name, rule.status, rule.equation.left + " = " + rule.equation.right});
    }
    std::string text = kept.rules.empty() ? "The store has no rules\n" : table.text();
    for (const std::string& sentence : kept.unreadable)
        text += "cannot be read: " + printable(sentence) + "\n";
    return session.print({{"rules", json}, {"unreadable", kept.unreadable}}, text, kept.unreadable.empty() ? kDone : kFailed);
}

// Those that are in the program.
Result<int> listWritten(Session& session) {
    TS_ASSIGN(const std::vector<GraphRule> rules, graphRules({}));
    Json json = Json::array();
    Table table({{"name"}, {"rule", false, 100}, {"if", false, 100}});
    for (const GraphRule& rule : rules) {
        json.push_back({{"name", rule.name}, {"equation", rule.equation}, {"conditions", rule.conditions}});
        std::string conditions;
        for (const std::string& condition : rule.conditions)
            conditions += (conditions.empty() ? "" : "; ") + condition;
        table.add({rule.name, rule.equation, conditions});
    }
    return session.print({{"rules", json}}, table.text());
}

Result<int> show(Session& session, const std::string& name) {
    TS_ASSIGN(const KeptRule rule, keptRule(session.store, name));
    std::string text = printable(rule.text) + "\n" + printable(rule.name + ", from " + rule.origin + "; " + rule.status);
    text += rule.trials > 0 ? " in " + std::to_string(rule.trials) + " trials\n" : "\n";
    for (const std::string& precondition : rule.preconditions)
        text += "  if " + printable(precondition) + "\n";
    for (const std::string& condition : rule.proofConditions)
        text += "  proved if " + printable(condition) + "\n";
    if (!rule.whyNotProved.empty())
        text += "  not proved: " + printable(rule.whyNotProved) + "\n";
    if (!rule.counterExample.empty())
        text += (rule.status == "refuted" ? "  refuted by " : "  otherwise ") + printable(rule.counterExample) + "\n";
    return session.print(ruleJson(rule), text);
}

Result<int> exportFile(Session& session, const std::string& file) {
    TS_ASSIGN(const std::size_t rules, exportRules(session.store, file));
    return session.print({{"exported", rules}, {"file", file}}, "Wrote " + std::to_string(rules) + " rules to " + printable(file) + "\n");
}

} // namespace

void addRuleStore(CLI::App& rules, Session& session) {
    const auto text = std::make_shared<std::string>(); // a name or a file
    const auto add = [&](const char* name, const char* help, Result<int> (*run)(Session&, const std::string&)) -> CLI::App& {
        CLI::App& command = *rules.add_subcommand(name, help);
        session.addStore(command);
        session.addJson(command);
        command.callback([&session, text, run] { session.action = [&session, text, run] { return run(session, *text); }; });
        return command;
    };
    add("list", "Rules that are kept", [](Session& of, const std::string& which) { return which.empty() ? list(of) : listWritten(of); })
        .add_flag_callback("--written", [text] { *text = "written"; }, "Those written by hand instead, which every search has");
    add("show", "What is known of a rule", show).add_option("NAME", *text, "As `rules list` has it")->required();
    add("export", "Write the rules that are kept as text", exportFile).add_option("-o,--output", *text, "File for the rules, one in each line")->required()->type_name("FILE");
}

} // namespace tunesmith::cli
