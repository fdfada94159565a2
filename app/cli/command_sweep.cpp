// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <filesystem>

#include "app/cli/command.h"
#include "app/cli/job_outcome.h"
#include "app/cli/remote_options.h"
#include "app/cli/text.h"
#include "core/workbench/sweep.h"

namespace tunesmith::cli {
namespace {

Json sweepJson(const SweepTable& made) {
    Json rows = Json::array();
    for (const SweepRow& row : made.rows) {
        Json values = Json::object();
        for (std::size_t i = 0; i < made.keys.size(); ++i)
            values[made.keys[i]] = row.values[i];
        rows.push_back({{"job", row.job}, {"values", values}, {"threads", row.threads}, {"state", row.state}, {"stop_reason", row.stopReason}, {"trials", row.trials}, {"failed", row.failed},
                        {"seconds", row.seconds}, {"before_ms", optionalNumber(row.beforeMs)}, {"after_ms", optionalNumber(row.afterMs)}, {"error", row.error.empty() ? Json() : Json(row.error)}});
        if (row.outcome)
            rows.back()["outcome"] = outcomeJson(*row.outcome);
    }
    return {{"keys", made.keys}, {"rows", rows}};
}

std::string sweepText(const SweepTable& made) {
    std::vector<Table::Column> columns;
    for (const std::string& key : made.keys)
        columns.push_back({key});
    for (const char* title : {"threads", "trials", "took", "before", "after", "faster"})
        columns.push_back({title, true});
    columns.push_back({"state"});
    Table table(columns);
    std::string errors;
    for (const SweepRow& row : made.rows) {
        std::vector<std::string> cells = row.values;
        const JobOutcome figures = row.outcome.value_or(JobOutcome{.unit = "ms", .before = row.beforeMs, .after = row.afterMs});
        for (const std::string& cell : {std::to_string(row.threads), std::to_string(row.trials), timeText(1e3 * row.seconds), figureText(figures.before, figures.unit), figureText(figures.after, figures.unit),
                                        row.beforeMs && *row.afterMs > 0 ? fixed(*row.beforeMs / *row.afterMs, 2) : std::string("-"), row.state})
            cells.push_back(cell);
        table.add(std::move(cells));
        if (!row.error.empty())
            errors += "job " + std::to_string(row.job) + ": " + row.error + "\n";
    }
    return table.text() + errors;
}

} // namespace

void addSweep(CLI::App& app, Session& session) {
    struct Options {
        std::string file, csv;
        int atOnce = 0;
        DeviceChoice remote;
    };
    const auto options = std::make_shared<Options>();
    CLI::App& command = *app.add_subcommand("sweep", "Tune every combination of listed values, each by itself, and compare; goes on where it was stopped");
    command.add_option("file", options->file, "The keys of a job (see `jobs run`), each with a value or a list: model = [\"a.onnx\", \"b.onnx\"], strategy = [\"random\", \"genetic\"], trials = 64")
        ->required()->type_name("FILE.toml");
    command.add_option("--csv", options->csv, "Write the table as well")->type_name("FILE.csv");
    command.add_option("--at-once", options->atOnce, "So many run at a time; 0: two more than there are cores, or one where seconds are the budget")->check(CLI::Range(0, 1000));
    addRemote(command, options->remote);
    session.addMemory(command);
    session.addStore(command);
    session.addJson(command);
    command.callback([&session, options] {
        session.action = [&session, options]() -> Result<int> {
            std::error_code none;
            if (std::filesystem::equivalent(options->csv, options->file, none))
                return inputError("--csv names the file of the sweep itself, " + options->csv + "; name another one");
            TS_ASSIGN(SweepRequest request, readSweepFile(options->file));
            request.store = session.store;
            request.atOnce = options->atOnce;
            request.remote = options->remote;
            TS_ASSIGN(const SweepTable made, runSweep(request, session.work()));
            if (!options->csv.empty())
                TS_TRY(exportSweep(made, options->csv));
            const bool failed = std::ranges::any_of(made.rows, [](const SweepRow& row) { return !row.error.empty(); });
            return session.print(sweepJson(made), sweepText(made), session.stop.stopRequested() ? kCancelled : failed ? kFailed : kDone);
        };
    });
}

} // namespace tunesmith::cli
