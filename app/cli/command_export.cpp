// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"

#include "core/base/printable.h"

namespace tunesmith::cli {

void addExport(CLI::App& app, Session& session) {
    struct Options {
        std::string model, file;
    };
    const auto options = std::make_shared<Options>();
    CLI::App& command =
        *app.add_subcommand("export", "The graph as any runtime loads it: constants folded, dead nodes gone");
    command.add_option("model", options->model, "ONNX file, tensor expression (FILE.te) or sample")->required();
    command.add_option("--onnx", options->file, "File to write")->required()->type_name("OUT.onnx");
    session.addDimensions(command);
    session.addJson(command);
    command.callback([&session, options] {
        session.action = [&session, options]() -> Result<int> {
            TS_ASSIGN(const Model model, session.open(options->model));
            TS_ASSIGN(const std::string check, exportModel(model, options->file, session.work()));
            return session.print({{"file", options->file}, {"check", check}}, "Wrote " + printable(options->file) + ", " + check + "\n");
        };
    });
}

} // namespace tunesmith::cli
