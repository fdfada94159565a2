// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"
#include "app/cli/text.h"

#include <filesystem>

namespace tunesmith::cli {
namespace {

Result<int> listModels(Session& session) {
    Json list = Json::array();
    Table table({{"model"}, {"", false, 100}});
    for (const SampleInfo& sample : sampleList()) {
        list.push_back({{"name", sample.name}, {"description", sample.description}});
        table.add({sample.name, sample.description});
    }
    return session.print({{"models", list}}, table.text());
}

Result<int> writeModel(Session& session, const std::string& name, std::string file) {
    if (file.empty()) {
        file = name + ".onnx";
        std::error_code none;
        if (std::filesystem::exists(std::filesystem::symlink_status(file, none)))
            return inputError(file + " is there already; if the sample may take its place, say so with --output " + file);
    }
    TS_TRY(writeSample(name, file));
    return session.print({{"model", name}, {"file", file}}, "wrote " + file + "\n");
}

} // namespace

void addModels(CLI::App& app, Session& session) {
    struct Options {
        std::string name, file;
    };
    const auto options = std::make_shared<Options>();
    CLI::App& command =
        *app.add_subcommand("models", "Built-in sample models: list them, or write one as an ONNX file");
    command.add_option("name", options->name, "Sample to write");
    command.add_option("-o,--output", options->file, "File to write (default: NAME.onnx, where there is none)")->needs("name");
    session.addJson(command);
    command.callback([&session, options] {
        session.action = [&session, options] {
            return options->name.empty() ? listModels(session)
                                         : writeModel(session, options->name, options->file);
        };
    });
}

} // namespace tunesmith::cli
