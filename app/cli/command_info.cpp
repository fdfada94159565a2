// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"
#include "app/cli/text.h"
#include "core/base/printable.h"

namespace tunesmith::cli {
namespace {

Json problemsJson(const std::vector<NodeProblem>& problems) {
    Json list = Json::array();
    for (const NodeProblem& problem : problems)
        list.push_back({{"node", problem.node}, {"op", problem.op}, {"reason", problem.reason}});
    return list;
}

Json infoJson(const ModelInfo& info) {
    Json inputs = Json::array(), outputs = Json::array();
    for (const TensorSpec& tensor : info.inputs)
        inputs.push_back(tensorJson(tensor));
    for (const TensorSpec& tensor : info.outputs)
        outputs.push_back(tensorJson(tensor));
    return {{"inputs", inputs},
            {"outputs", outputs},
            {"nodes", info.nodes},
            {"ops", info.ops},
            {"parameters", info.parameters},
            {"parameter_bytes", info.parameterBytes},
            {"flops", info.flops},
            {"flops_complete", info.flopsComplete},
            {"unsupported", problemsJson(info.unsupported)},
            {"not_compiled", problemsJson(info.notCompiled)},
            {"open_dimensions", info.openDimensions},
            {"listed_weights", info.listedWeights},
            {"warnings", info.warnings}};
}

std::string problemsText(const std::string& title, const std::vector<NodeProblem>& problems) {
    if (problems.empty())
        return {};
    Table table({{"node"}, {"operator"}, {"why", false, 140}});
    for (const NodeProblem& problem : problems)
        table.add({problem.node, problem.op, problem.reason});
    return "\n" + title + "\n" + table.text();
}

std::string flopText(std::int64_t flops) {
    const std::string text = countText(static_cast<double>(flops));
    return text + (flops < 1000 ? " FLOP" : "FLOP"); // "640 FLOP", "3.66 GFLOP"
}

std::string infoText(const ModelInfo& info) {
    Table tensors({{""}, {"name"}, {"type"}, {"shape"}});
    for (const TensorSpec& tensor : info.inputs)
        tensors.add({tensor.optional ? "input with a default" : "input", tensor.name, tensor.type, tensor.shapeText()});
    for (const TensorSpec& tensor : info.outputs)
        tensors.add({"output", tensor.name, tensor.type, tensor.shapeText()});
    std::vector<std::pair<std::string, std::int64_t>> ops(info.ops.begin(), info.ops.end());
    std::ranges::stable_sort(ops, std::greater{}, [](const auto& op) { return op.second; });
    Table operators({{"operator"}, {"nodes", true}});
    for (const auto& [op, count] : ops)
        operators.add({op, std::to_string(count)});
    std::string text = printable(info.name) + ": " + std::to_string(info.nodes) + " nodes, " +
                       countText(static_cast<double>(info.parameters)) + " parameters (" +
                       bytesText(static_cast<double>(info.parameterBytes)) + "), " +
                       (info.flopsComplete ? "" : "at least ") + flopText(info.flops) + "\n\n";
    text += tensors.text();
    if (info.listedWeights > 0)
        text += std::to_string(info.listedWeights) + " weights are listed as inputs, too: run --input may give other values\n";
    text += "\n" + operators.text();
    text += problemsText("No engine can compute:", info.unsupported);
    text += problemsText("Not compiled, computed by the reference kernels:", info.notCompiled);
    if (!info.openDimensions.empty()) {
        std::string names;
        for (const std::string& name : info.openDimensions)
            names += (names.empty() ? "" : ",") + dimensionText(name) + "=N";
        text += "\nOpen dimensions: --dims " + printable(names) + "\n";
    }
    return text;
}

} // namespace

void addInfo(CLI::App& app, Session& session) {
    const auto model = std::make_shared<std::string>();
    CLI::App& command = *app.add_subcommand("info", "What is in a model, and what of it cannot be computed");
    command.add_option("model", *model, "ONNX file, tensor expression (FILE.te) or sample")->required();
    session.addDimensions(command);
    session.addJson(command);
    command.callback([&session, model] {
        session.action = [&session, model]() -> Result<int> {
            TS_ASSIGN(const Model opened, session.open(*model));
            const std::vector<NodeProblem> notExported = whyNotExported(opened);
            Json json = infoJson(opened.info());
            json["not_exported"] = problemsJson(notExported);
            const auto atInterface = notExported.begin() + static_cast<std::ptrdiff_t>(opened.info().unsupported.size());
            const std::string text = problemsText("Keeps it from becoming a module:", {atInterface, notExported.end()});
            return session.print(json, infoText(opened.info()) + text);
        };
    });
}

} // namespace tunesmith::cli
