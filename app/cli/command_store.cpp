// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"
#include "app/cli/text.h"
#include "core/base/printable.h"
#include "core/workbench/autotvm_log.h"
#include "core/workbench/history.h"

namespace tunesmith::cli {
namespace {

Result<int> check(Session& session) {
    TS_ASSIGN(const StoreHealth health, checkStore(session.store));
    std::string text = std::to_string(health.runs) + " runs, " + std::to_string(health.trials) +
                       " trials: " + (health.ok ? "no damage\n" : "damaged\n");
    for (const std::string& problem : health.problems)
        text += "  " + printable(problem) + "\n";
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
        {"records", contents.records},     {"rules", contents.rules}};
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

Result<int> importLog(Session& session, const std::string& log) {
    TS_ASSIGN(const LogImport done, importAutotvmLog(session.store, log, session.work()));
    const Json json{{"imported", done.imported},
                    {"skipped", done.skipped},
                    {"failed_records", done.failedRecords},
                    {"workloads", done.workloads},
                    {"damaged_lines", done.damagedLines},
                    {"first_damaged", done.damagedLines > 0 ? Json(done.firstDamaged) : Json()}};
    const std::string damage = done.damagedLines == 0 ? std::string() : "Passed over " + std::to_string(done.damagedLines) + (done.damagedLines == 1 ? " line: " : " lines, the first: ") + done.firstDamaged + "\n";
    return session.print(json, "Imported " + std::to_string(done.imported) + " records of " +
                                   std::to_string(done.workloads) + " workloads (" +
                                   std::to_string(done.failedRecords) + " report failures); the store had " +
                                   std::to_string(done.skipped) + " more\n" + damage);
}

Result<int> exportLog(Session& session, const std::string& log) {
    TS_ASSIGN(const std::int64_t records, exportAutotvmLog(session.store, log));
    return session.print({{"exported", records}, {"file", log}},
                         "Wrote " + std::to_string(records) + " records to " + printable(log) + "\n");
}

void addExchange(CLI::App& command, Session& session) {
    auto log = std::make_shared<std::string>();
    CLI::App& in = *command.add_subcommand("import", "Add the records of an AutoTVM log");
    in.add_option("LOG", *log, "One record of version 0.2 per line")->required();
    in.callback([&session, log] { session.action = [&session, log] { return importLog(session, *log); }; });
    CLI::App& out = *command.add_subcommand("export", "Write what was imported");
    out.add_option("--autotvm", *log, "As an AutoTVM log")->required()->type_name("FILE");
    out.callback([&session, log] { session.action = [&session, log] { return exportLog(session, *log); }; });
    for (CLI::App* part : {&in, &out}) {
        session.addStore(*part);
        session.addJson(*part);
    }
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
    addExchange(command, session);
}

} // namespace tunesmith::cli
