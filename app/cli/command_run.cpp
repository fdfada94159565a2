// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"
#include "app/cli/text.h"
#include "core/base/printable.h"
#include "core/workbench/family.h"

#include <cstdio>

namespace tunesmith::cli {
namespace {

std::string firstValues(const Tensor& tensor) {
    if (tensor.type() == DType::string)
        return "(text)";
    std::string text;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(tensor.count(), 6); ++i) {
        char number[32];
        std::snprintf(number, sizeof number, "%.5g", tensor.asDouble(i));
        text += (i == 0 ? "" : "  ") + std::string(number);
    }
    return text + (tensor.count() > 6 ? "  ..." : "");
}

const char* howName(FamilyChoice::How how) {
    return how == FamilyChoice::How::exact    ? "exact"
           : how == FamilyChoice::How::padded ? "padded"
                                              : "compiled";
}

Json runJson(const RunResult& result) {
    Json outputs = Json::array();
    for (const RunOutput& output : result.outputs) {
        Json entry = tensorJson(output.spec);
        entry["file"] = output.file.empty() ? Json() : Json(output.file.string());
        outputs.push_back(std::move(entry));
    }
    Json byReference = Json::array();
    for (const NodeProblem& node : result.byReference)
        byReference.push_back({{"node", node.node}, {"op", node.op}, {"reason", node.reason}});
    return {{"outputs", outputs}, {"seconds", result.seconds}, {"by_reference", byReference}, {"foreign", result.foreign.empty() ? Json() : Json(result.foreign)}};
}

std::string runText(const RunResult& result) {
    Table table({{"output"}, {"type"}, {"shape"}, {"first values", false, 90}, {"file", false, 90}});
    for (const RunOutput& output : result.outputs)
        table.add({output.spec.name, output.spec.type, output.spec.shapeText(), firstValues(output.tensor),
                   output.file.string()});
    std::string text = table.text();
    if (!result.byReference.empty()) {
        const NodeProblem& first = result.byReference.front();
        text += "\nWith the reference kernels: " + std::to_string(result.byReference.size()) +
                (result.byReference.size() == 1 ? " node, " : " nodes, as ") +
                printable(first.reason.empty() ? first.node : first.reason) + "\n";
    }
    return text + (result.foreign.empty() ? "" : "\n" + result.foreign + ".\n");
}

} // namespace

void addRun(CLI::App& app, Session& session) {
    struct Options {
        std::string subject, engine = "compiled", folder;
        bool replace = false;
    };
    const auto options = std::make_shared<Options>();
    CLI::App& command = *app.add_subcommand("run", "One inference of a model or of an exported module");
    command.add_option("model", options->subject, "ONNX file, tensor expression (FILE.te), sample, or folder of exported modules")
        ->required();
    command.add_option("--engine", options->engine, "What computes a model")
        ->check(CLI::IsMember({"reference", "compiled", "module"}))
        ->capture_default_str();
    CLI::Option* save = command.add_option("--save", options->folder, "Write outputs as .npy files into this folder")->type_name("DIR");
    command.add_flag("--replace", options->replace, "Let outputs take the place of any files in that folder, not only of those that an earlier run wrote")->needs(save);
    session.addTrust(command);
    session.addInputs(command);
    session.addDimensions(command);
    session.addThreads(command);
    session.addStore(command);
    session.addSpace(command, kSpaceOfModule);
    session.addJson(command);
    command.callback([&session, options] {
        session.action = [&session, options]() -> Result<int> {
            RunRequest request;
            TS_ASSIGN(request.inputs, session.inputChoice());
            TS_ASSIGN(request.engine, engineFromName(options->engine));
            request.threads = session.threads;
            request.store = session.store;
            request.saveFolder = options->folder;
            request.replace = options->replace;
            request.work = session.work();
            request.space = session.space;
            request.trust = session.trust;
            if (isModuleFamily(options->subject)) {
                TS_ASSIGN(const FamilyRun run, runFamily(options->subject, session.dimensions, request));
                Json json = runJson(run.result);
                json["module"] = {{"folder", run.choice.folder.string()}, {"how", howName(run.choice.how)}};
                return session.print(json, runText(run.result) + "\n" + printable(run.choice.text) + "\n");
            }
            const auto compute = [&]() -> Result<RunResult> {
                if (isExportedModule(options->subject))
                    return runExportedModule(options->subject, request);
                TS_ASSIGN(const Model model, session.open(options->subject));
                return runModel(model, request);
            };
            TS_ASSIGN(const RunResult result, compute());
            return session.print(runJson(result), runText(result));
        };
    });
}

} // namespace tunesmith::cli
