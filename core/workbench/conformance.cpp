// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/conformance.h"

#include <algorithm>
#include <set>

#include "core/base/atomic_file.h"
#include "core/check/equivalence.h"
#include "core/graph/npy.h"
#include "core/ops/interpreter.h"
#include "core/workbench/conformance_data.h"
#include "core/workbench/mixed_run.h"
#include "core/workbench/module_run.h"
#include "core/workbench/session.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;
using CaseStatus = ConformanceCase::Status;

std::vector<fs::path> sortedEntries(const fs::path& folder) {
    std::vector<fs::path> entries;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        entries.push_back(at->path());
    std::ranges::sort(entries);
    return entries;
}

void findCases(const fs::path& folder, std::vector<fs::path>& cases) {
    std::error_code error;
    if (fs::exists(folder / "model.onnx", error)) {
        cases.push_back(folder);
        return;
    }
    for (const fs::path& entry : sortedEntries(folder))
        if (fs::is_directory(entry, error) && !fs::is_symlink(entry, error))
            findCases(entry, cases);
}

Tolerance toleranceOf(Engine engine, const std::vector<Tensor>& expected) {
    const bool small = std::ranges::any_of(
        expected, [](const Tensor& t) { return t.type() == DType::f16 || t.type() == DType::bf16; });
    return {small ? 1e-2 : 1e-3, small ? 1e-3 : engine == Engine::reference ? 1e-7 : 1e-5};
}

// ONNX's absolute tolerance is absolute; ours is a share of the output's scale, which is at most that here.
bool within(const Tensor& expected, const Tensor& actual, const Tolerance& tolerance, std::string& why) {
    Tolerance scaled = tolerance;
    const double scale = compareTensors(expected, actual).scale;
    scaled.absolute = scale > 0 ? tolerance.absolute / scale : tolerance.absolute;
    const Difference difference = compareTensors(expected, actual, scaled);
    why = difference.text;
    return difference.equal;
}

class CaseRunner {
public:
    CaseRunner(const ConformanceRequest& request, WorkerClient& worker)
        : request_(request), worker_(worker) {}

    Result<ConformanceCase> run(const fs::path& folder, Engine engine) {
        ConformanceCase result{folder.filename().string(), engine, CaseStatus::passed, {}};
        note_.clear();
        byReference_.clear();
        const Status status = runSets(folder, engine);
        result.detail = note_;
        if (status.ok()) {
            std::string kernels;
            for (const std::string& op : byReference_)
                kernels += (kernels.empty() ? "with the reference kernels of " : ", ") + op;
            result.detail += (result.detail.empty() || kernels.empty() ? "" : "; ") + kernels;
            return result;
        }
        if (status.error().isCancelled())
            return status.error();
        result.status =
            status.error().kind == ErrorKind::unsupported ? CaseStatus::unsupported : CaseStatus::failed;
        result.detail = status.error().message;
        return result;
    }

private:
    Status runSets(const fs::path& folder, Engine engine) {
        std::size_t sets = 0;
        for (const fs::path& set : sortedEntries(folder)) {
            if (!set.filename().string().starts_with("test_data_set_"))
                continue;
            ++sets;
            TS_ASSIGN(const Model model,
                      openModel((folder / "model.onnx").string(), {}, {request_.work.stop, {}}));
            const Graph& graph = model.graph();
            TS_ASSIGN(const std::vector<Tensor> inputs, readCaseData(set, "input", graph, graph.inputs()));
            TS_ASSIGN(const std::vector<Tensor> expected,
                      readCaseData(set, "output", graph, graph.outputs()));
            TS_ASSIGN(const std::vector<Tensor> actual, compute(model, inputs, engine));
            TS_TRY(save(folder.filename() / set.filename(), model, actual, engine));
            TS_TRY(compare(model, expected, actual, engine));
        }
        return sets > 0 ? Status() : inputError(folder.string() + " has no test_data_set_*");
    }

    Result<std::vector<Tensor>> compute(const Model& model, const std::vector<Tensor>& inputs,
                                        Engine engine) {
        RunOptions options;
        options.stop = request_.work.stop;
        if (engine == Engine::reference)
            return Interpreter(model.graph()).run(inputs, options);
        const PlanRequest plan{{}, 1, 1, true, {request_.work.stop, {}}};
        TS_ASSIGN(Computed run, engine == Engine::module ? runAsModule(model, inputs, plan, worker_) : runParts(model, inputs, plan));
        for (const NodeProblem& node : run.byReference)
            byReference_.insert(node.op);
        return std::move(run.outputs);
    }

    Result<Computed> runParts(const Model& model, const std::vector<Tensor>& inputs, const PlanRequest& plan) {
        TS_ASSIGN(MixedRun run, runMixed(model, inputs, plan, worker_));
        return Computed{std::move(run.outputs), run.seconds, std::move(run.byReference)};
    }

    Status save(const fs::path& place, const Model& model, const std::vector<Tensor>& outputs,
                Engine engine) {
        if (request_.saveFolder.empty())
            return {};
        const fs::path folder = request_.saveFolder / engineName(engine) / place;
        std::error_code error;
        if (!fs::create_directories(folder, error) && error)
            return writeFailure(folder, error.value());
        std::vector<std::string> names;
        for (const TensorSpec& output : model.info().outputs)
            names.push_back(output.name);
        const std::vector<std::string> files = distinctFileNames(names);
        for (std::size_t i = 0; i < outputs.size(); ++i)
            if (outputs[i].type() != DType::undefined) // sequences have no such file
                TS_TRY(writeNpy(folder / (files[i] + ".npy"), outputs[i]));
        return {};
    }

    Status compare(const Model& model, const std::vector<Tensor>& expected, const std::vector<Tensor>& actual,
                   Engine engine) {
        if (expected.size() > actual.size())
            return inputError("the case expects " + std::to_string(expected.size()) +
                              " outputs, the model has " + std::to_string(actual.size()));
        const std::vector<bool> drawn = drawnOutputs(model.graph());
        std::string why;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            if (within(expected[i], actual[i], toleranceOf(engine, expected), why))
                continue;
            if (!drawn[i] || expected[i].type() != actual[i].type() ||
                expected[i].shape() != actual[i].shape())
                return internalError("output '" + model.info().outputs[i].name + "': " + why);
            note_ = "its numbers are drawn: only types and shapes were compared";
        }
        return {};
    }

    const ConformanceRequest& request_;
    std::string note_; // what to know of a case that passed
    WorkerClient& worker_;
    std::set<std::string> byReference_; // operators of the case at hand that were not compiled
};

} // namespace

const char* conformanceStatusName(ConformanceCase::Status status) {
    switch (status) {
    case CaseStatus::passed:
        return "passed";
    case CaseStatus::failed:
        return "failed";
    default:
        return "unsupported";
    }
}

Result<std::vector<ConformanceCase>> runConformance(const ConformanceRequest& request) {
    std::vector<fs::path> folders;
    for (const fs::path& folder : request.folders) {
        const std::size_t before = folders.size();
        findCases(folder, folders);
        if (folders.size() == before)
            return inputError("there are no test cases (folders with a model.onnx) in " + folder.string());
    }
    TS_ASSIGN(const auto worker, startWorker());
    CaseRunner runner(request, *worker);
    std::vector<ConformanceCase> results;
    for (std::size_t i = 0; i < folders.size(); ++i) {
        request.work.report("conformance", static_cast<double>(i) / static_cast<double>(folders.size()),
                            folders[i].filename().string());
        for (const Engine engine : request.engines) {
            if (request.work.stop.stopRequested())
                return cancelledError();
            TS_ASSIGN(ConformanceCase result, runner.run(folders[i], engine));
            results.push_back(std::move(result));
        }
    }
    return results;
}

} // namespace tunesmith
