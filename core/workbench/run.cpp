// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/run.h"

#include <algorithm>
#include <cassert>
#include <chrono>

#include "core/base/atomic_file.h"
#include "core/base/unfinished.h"
#include "core/graph/graph_builder.h"
#include "core/module/worker_verbs.h"
#include "core/ops/interpreter.h"
#include "core/workbench/known_modules.h"
#include "core/workbench/mixed_run.h"
#include "core/workbench/module_run.h"
#include "core/workbench/read_inputs.h"
#include "core/workbench/run_parts.h"
#include "core/workbench/saved_outputs.h"
#include "core/workbench/session.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;

Result<Computed> runReference(const Model& model, const std::vector<Tensor>& inputs, const Work& work) {
    RunOptions options;
    options.stop = work.stop;
    std::size_t done = 0;
    const std::size_t total = model.graph().nodeCount();
    options.observer = [&](const Node& node, const std::vector<Tensor>&, double) {
        work.report("running the reference engine", static_cast<double>(++done) / static_cast<double>(total),
                    node.op);
    };
    const auto begin = std::chrono::steady_clock::now();
    auto outputs = Interpreter(model.graph()).run(inputs, options);
    if (!outputs.ok() && outputs.error().kind == ErrorKind::unsupported)
        TS_TRY(requireComputable(model)); // the whole list at once
    if (!outputs.ok())
        return outputs.error().isCancelled() ? outputs.error() : outputs.error().within(model.name());
    return Computed{std::move(outputs).value(),
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
}

Result<Computed> runCompiled(const Model& model, const std::vector<Tensor>& inputs,
                             const RunRequest& request) {
    TS_ASSIGN(const std::optional<SpaceKind> space, askedSpace(request.space));
    TS_ASSIGN(const auto worker, startWorker());
    const PlanRequest plan{request.store, request.threads, 0, false, request.work, space};
    if (request.engine == Engine::module)
        return runAsModule(model, inputs, plan, *worker);
    TS_ASSIGN(MixedRun run, runMixed(model, inputs, plan, *worker));
    return Computed{std::move(run.outputs), run.seconds, std::move(run.byReference)};
}

// Weights that the file lists as inputs become constants of the values that are given.
Result<Model> withGivenWeights(const Model& model, InputChoice& choice) {
    GraphBuilder builder(model.graph());
    bool changed = false;
    for (std::size_t i = 0; i < model.graph().valueCount(); ++i) {
        const Value& value = *model.graph().values()[i];
        const auto given = value.listed ? choice.files.find(value.name) : choice.files.end();
        if (given == choice.files.end())
            continue;
        TS_ASSIGN(Tensor tensor, readInput({value.name, value.type}, given->second));
        builder.setConstant(ValueId(static_cast<std::int64_t>(i)), std::move(tensor));
        choice.files.erase(given);
        changed = true;
    }
    if (!changed)
        return model;
    TS_ASSIGN(Graph graph, builder.build());
    return model.with(std::move(graph));
}

// The elements of a sequence one by one.
void addOutput(std::vector<RunOutput>& outputs, const std::string& name, const Tensor& tensor) {
    if (tensor.isSequence()) {
        for (std::size_t i = 0; i < tensor.elements().size(); ++i)
            addOutput(outputs, name + "." + std::to_string(i), tensor.elements()[i]);
        return;
    }
    if (!tensor.isNothing())
        outputs.push_back({specOf(name, TensorType(tensor.type(), tensor.shape())), tensor, {}});
}

bool fits(const Tensor& tensor, const ModuleTensor& told) {
    const auto same = [](std::int64_t extent, std::int64_t expected) { return expected == kOpenExtent || extent == expected; };
    return tensor.type() == told.type && (!told.ranked || std::ranges::equal(tensor.shape(), told.shape, same));
}

} // namespace

Status checkOutputs(const ModuleInfo& module, const std::vector<Tensor>& outputs) {
    constexpr std::size_t kShown = 80; // of a shape
    const auto unlike = [&](const std::string& what) {
        return internalError(module.folder.string() + " answered with " + what + ", which is not what its module.json says; make the module again, or ask where it comes from");
    };
    if (outputs.size() != module.outputs.size())
        return unlike(std::to_string(outputs.size()) + " outputs instead of " + std::to_string(module.outputs.size()));
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (!fits(outputs[i], module.outputs[i]))
            return unlike(std::string(dtypeName(outputs[i].type())) + " " + shapeText(outputs[i].shape()).substr(0, kShown) + " as output '" + module.outputs[i].name + "'");
    return {};
}

Result<Computed> computeModule(const fs::path& folder, std::vector<Tensor> inputs, const RunRequest& request) {
    request.work.report("running the module");
    TS_ASSIGN(const ModuleInfo module, readModuleInfo(folder));
    TS_ASSIGN(std::string foreign, foreignOrigin(module, request.trust));
    TS_ASSIGN(const auto worker, startModuleWorker(foreign, {folder}));
    const ModuleCall call{folder, request.threads, std::move(inputs)};
    const auto begin = std::chrono::steady_clock::now();
    TS_ASSIGN(std::vector<Tensor> outputs, runModule(*worker, call, kPatience, request.work.stop));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    TS_TRY(checkOutputs(module, outputs));
    return Computed{std::move(outputs), seconds.count(), {}, std::move(foreign)};
}

Result<RunResult> collectOutputs(Computed computed, const std::vector<std::string>& names, const RunRequest& request) {
    RunResult result;
    result.seconds = computed.seconds;
    result.byReference = std::move(computed.byReference);
    result.foreign = std::move(computed.foreign);
    assert(names.size() == computed.outputs.size());
    for (std::size_t i = 0; i < names.size(); ++i)
        addOutput(result.outputs, names[i], computed.outputs[i]);
    if (!request.saveFolder.empty())
        TS_TRY(saveOutputs(result.outputs, request.saveFolder, request.replace));
    return result;
}

const char* engineName(Engine engine) {
    constexpr const char* names[] = {"reference", "compiled", "module"};
    return names[static_cast<std::size_t>(engine)];
}

Result<Engine> engineFromName(const std::string& name) {
    for (const Engine engine : {Engine::reference, Engine::compiled, Engine::module})
        if (name == engineName(engine))
            return engine;
    return inputError("there is no engine '" + name + "'; there are reference, compiled and module");
}

Result<RunResult> runModel(const Model& opened, const RunRequest& request) {
    InputChoice choice = request.inputs;
    TS_ASSIGN(const Model model, withGivenWeights(opened, choice));
    TS_ASSIGN(const std::vector<Tensor> inputs, readInputs(wantedInputs(model.graph()), choice));
    TS_ASSIGN(Computed computed, request.engine == Engine::reference
                                     ? runReference(model, inputs, request.work)
                                     : runCompiled(model, inputs, request));
    std::vector<std::string> names;
    for (const TensorSpec& output : model.info().outputs)
        names.push_back(output.name);
    return collectOutputs(std::move(computed), names, request);
}

Result<RunResult> runExportedModule(const fs::path& folder, const RunRequest& request) {
    TS_ASSIGN(const ModuleInfo module, readModuleInfo(folder));
    TS_ASSIGN(std::vector<Tensor> inputs, readInputs(wantedInputs(module), request.inputs));
    TS_ASSIGN(Computed computed, computeModule(folder, std::move(inputs), request));
    std::vector<std::string> names;
    for (const ModuleTensor& output : module.outputs)
        names.push_back(output.name);
    return collectOutputs(std::move(computed), names, request);
}

bool isExportedModule(const fs::path& path) {
    return isModuleFolder(path);
}

} // namespace tunesmith
