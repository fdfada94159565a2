// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"
#include "app/cli/text.h"
#include "core/workbench/tasks.h"

namespace tunesmith::cli {

void addTasks(CLI::App& app, Session& session) {
    const auto model = std::make_shared<std::string>();
    CLI::App& command =
        *app.add_subcommand("tasks", "What there is to tune in a model, with the sizes of the spaces");
    command.add_option("model", *model, "ONNX file, tensor expression (FILE.te) or sample")->required();
    session.addDimensions(command);
    session.addThreads(command);
    session.addSpace(command, "Whose schedules (default: tunesmith)");
    session.addJson(command);
    command.callback([&session, model] {
        session.action = [&session, model]() -> Result<int> {
            TS_ASSIGN(const Model opened, session.open(*model));
            TS_ASSIGN(const std::vector<TuningTask> tasks, tuningTasks(opened, session.threads, session.space));
            Json list = Json::array();
            Table table(
                {{"workload", false, 70}, {"template"}, {"count", true}, {"configs", true}, {"MFLOP", true}});
            for (const TuningTask& task : tasks) {
                list.push_back({{"name", task.name},
                                {"op", task.op},
                                {"shape", task.shape},
                                {"count", task.count},
                                {"space", task.space},
                                {"flops", task.flops},
                                {"key", task.key},
                                {"template", task.scheduleTemplate},
                                {"search_space", task.searchSpace},
                                {"nodes", task.nodes}});
                table.add({task.name, task.scheduleTemplate, std::to_string(task.count),
                           countText(task.space), fixed(static_cast<double>(task.flops) * 1e-6, 1)});
            }
            return session.print({{"tasks", list}}, table.text());
        };
    });
}

} // namespace tunesmith::cli
