// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"
#include "app/cli/text.h"
#include "core/base/printable.h"
#include "core/workbench/rule_store.h"

namespace tunesmith::cli {
namespace {

Json rulesJson(const GeneratedRules& made) {
    Json rules = Json::array();
    for (const RuleEquation& rule : made.rules) {
        Json shapes = Json::object();
        for (const auto& [name, shape] : rule.variables)
            shapes[name] = shape;
        rules.push_back({{"left", rule.left}, {"right", rule.right}, {"found_with", shapes}});
    }
    return {{"terms", made.terms},
            {"bytes", made.bytes},
            {"disk_bytes", made.diskBytes},
            {"peak_memory_bytes", made.peakBytes},
            {"resumed", made.resumed},
            {"pairs", made.pairs},
            {"trivial", made.trivial},
            {"untrue", made.untrue},
            {"renamed", made.renamed},
            {"candidates", made.candidates},
            {"enumeration_seconds", made.enumerationSeconds},
            {"comparison_seconds", made.comparisonSeconds},
            {"pruning_seconds", made.pruningSeconds},
            {"rules", rules}};
}

std::string summary(const GeneratedRules& made) {
    const auto count = [](std::size_t number) { return std::to_string(number); };
    Table table({{""}, {"", true}});
    table.add({"terms", count(made.terms)});
    table.add({"pairs of equal ones", count(made.pairs)});
    table.add({"  say nothing of their own", count(made.trivial)});
    table.add({"  hold for no true operators", count(made.untrue)});
    table.add({"  differ in names", count(made.renamed)});
    table.add({"  candidates", count(made.candidates)});
    table.add({"rules, none of which follows from others", count(made.rules.size())});
    const std::string disk = made.diskBytes > 0 ? ", " + bytesText(static_cast<double>(made.diskBytes)) + " on disk" : "";
    return table.text() + (made.resumed ? "Went on with what an earlier start had found; times are of this one\n" : "") + "Terms took " +
           bytesText(static_cast<double>(made.bytes)) + disk + ", all at most " + bytesText(static_cast<double>(made.peakBytes)) + "; " +
           fixed(made.enumerationSeconds, 1) + " s to make them, " + fixed(made.comparisonSeconds, 1) + " s to compare them, " + fixed(made.pruningSeconds, 1) + " s to leave out what follows\n";
}

Result<int> generate(Session& session, const RuleGenerationOptions& options, const std::string& file) {
    TS_ASSIGN(const GeneratedRules made, generateRules(options, session.work()));
    std::string text = summary(made);
    if (!file.empty()) {
        TS_TRY(writeRules(made, file));
        text += "Wrote " + printable(file) + "\n";
    }
    Json json = rulesJson(made);
    if (!session.store.empty()) {
        TS_ASSIGN(const std::size_t added, keepRules(session.store, made));
        json["added"] = added;
        text += "Kept in " + printable(session.store) + ", which did not have " + std::to_string(added) + " of them\n";
    }
    return session.print(json, text);
}

} // namespace

void addRules(CLI::App& app, Session& session) {
    struct Options {
        RuleGenerationOptions generation;
        std::string file;
    };
    const auto options = std::make_shared<Options>();
    CLI::App& rules = *app.add_subcommand("rules", "Substitutions of graphs by equal ones: find them, keep them, try them");
    rules.require_subcommand(1);
    CLI::App& command = *rules.add_subcommand("generate", "Find equations between small graphs of tensor operators by computing all of them");
    command.add_option("--operators", options->generation.operators, "Of each side, at most; four take long, and go on where they were stopped")
        ->capture_default_str()
        ->check(CLI::Range(1, 4));
    addMemoryOption(command, "Memory for four operators, from 64MiB (default: 2GiB)",
                    [options](std::int64_t bytes) { options->generation.memoryMebibytes = static_cast<std::size_t>(std::max<std::int64_t>(bytes >> 20, 64)); });
    command.add_option("--work-folder", options->generation.workFolder, "Keeps what was found of four operators until all is (default: beside the store)");
    command.add_option("-o,--output", options->file, "File for the rules, one in each line");
    command.add_option("--store", session.store, "Keep the rules in this trial database, too")->type_name("FILE");
    session.addThreads(command);
    session.addSeed(command);
    session.addJson(command);
    command.callback([&session, options] {
        session.action = [&session, options] {
            options->generation.threads = session.threads;
            options->generation.seed = session.seed;
            return generate(session, options->generation, options->file);
        };
    });
    addRuleStore(rules, session);
    addRuleTrials(rules, session);
}

} // namespace tunesmith::cli
