// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"
#include "app/cli/text.h"
#include "core/workbench/history.h"

namespace tunesmith::cli {
namespace {

Result<int> check(Session& session) {
    TS_ASSIGN(const StoreHealth health, checkStore(session.store));
    std::string text = std::to_string(health.runs) + " runs, " + std::to_string(health.trials) +
                       " trials: " + (health.ok ? "no damage\n" : "damaged\n");
    for (const std::string& problem : health.problems)
        text += "  " + problem + "\n";
    const Json json{
        {"ok", health.ok}, {"problems", health.problems}, {"runs", health.runs}, {"trials", health.trials}};
    return session.print(json, text, health.ok ? kDone : kFailed);
}

Result<int> stats(Session& session) {
    TS_ASSIGN(const StoreContents contents, storeContents(session.store));
    Json byStatus = Json::object();
    Table table({{""}, {"", true}});
    const std::vector<std::pair<const char*, std::int64_t>> counts{
        {"machines", contents.machines},   {"targets", contents.targets}, {"models", contents.models},
        {"workloads", contents.workloads}, {"runs", contents.runs},       {"trials", contents.trials},
        {"records", contents.records}};
    Json json{{"path", contents.path},
              {"version", contents.version},
              {"file_bytes", contents.fileBytes},
              {"log_bytes", contents.logBytes},
              {"free_bytes", contents.freeBytes}};
    for (const auto& [name, count] : counts) {
        json[name] = count;
        table.add({name, std::to_string(count)});
    }
    for (const auto& [status, count] : contents.trialsByStatus) {
        byStatus[status] = count;
        table.add({"  " + status, std::to_string(count)});
    }
    json["trials_by_status"] = byStatus;
    return session.print(json, contents.path + " (" + bytesText(static_cast<double>(contents.fileBytes)) +
                                   ")\n" + table.text());
}

Result<int> clean(Session& session) {
    TS_ASSIGN(const StoreCleaning cleaning, cleanStore(session.store));
    return session.print({{"rows_removed", cleaning.rowsRemoved}, {"bytes_freed", cleaning.bytesFreed}},
                         "Removed " + std::to_string(cleaning.rowsRemoved) + " rows, freed " +
                             bytesText(static_cast<double>(cleaning.bytesFreed)) + "\n");
}

} // namespace

void addStore(CLI::App& app, Session& session) {
    CLI::App& command = *app.add_subcommand("store", "The trial database");
    command.require_subcommand(1);
    struct Action {
        const char *name, *help;
        Result<int> (*run)(Session&);
    };
    for (const Action& action :
         {Action{"check", "Look for damage", check}, Action{"stats", "What is in it", stats},
          Action{"gc", "Drop what no run refers to, return free space to the disk", clean}}) {
        CLI::App& part = *command.add_subcommand(action.name, action.help);
        session.addStore(part);
        session.addJson(part);
        part.callback(
            [&session, run = action.run] { session.action = [&session, run] { return run(session); }; });
    }
}

} // namespace tunesmith::cli
