// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/compile.h"

#include <cstdio>

#include "core/check/equivalence.h"
#include "core/check/sensitivity.h"
#include "core/module/worker_verbs.h"
#include "core/ops/interpreter.h"
#include "core/workbench/plan_model.h"
#include "core/workbench/read_inputs.h"
#include "core/workbench/session.h"

namespace tunesmith {
namespace {

std::string scientific(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1e", value);
    return text;
}

// Both on the same inputs; an error names the output that differs.
Result<ModuleCheck> checkModule(const Model& model, const std::filesystem::path& folder,
                                const CompileRequest& request) {
    request.work.report("checking against the reference");
    TS_ASSIGN(const std::vector<Tensor> inputs, readInputs(wantedInputs(model.graph()), {{}, request.seed}));
    RunOptions options;
    options.stop = request.work.stop;
    TS_ASSIGN(const std::vector<Tensor> reference, Interpreter(model.graph()).run(inputs, options));
    TS_ASSIGN(const auto worker, startWorker());
    TS_ASSIGN(const std::vector<Tensor> outputs,
              runModule(*worker, {folder, 0, inputs}, kPatience, request.work.stop));
    std::vector<std::string> names;
    for (const TensorSpec& output : model.info().outputs)
        names.push_back(output.name);
    ModuleCheck check;
    check.passed = true;
    check.seed = request.seed;
    if (!requireEquivalent(reference, outputs, names).ok()) {
        request.work.report("asking how sensitive the model is");
        TS_ASSIGN(const std::vector<Tensor> moved, Interpreter(model.graph()).run(nudgedInputs(inputs, request.seed), options));
        const Tolerance tolerance = toleranceOfSensitive(reference, moved);
        if (const Status same = requireEquivalent(reference, outputs, names, tolerance); !same.ok())
            return internalError(
                model.name() +
                ": the compiled module does not agree with the reference engine, so it is not written: " +
                same.error().message);
        check.tolerance = tolerance.absolute;
    }
    for (const Difference& difference : compareTensors(reference, outputs)) {
        check.maxAbsolute = std::max(check.maxAbsolute, difference.maxAbs);
        check.maxRelative =
            std::max(check.maxRelative, difference.scale > 0 ? difference.maxAbs / difference.scale : 0);
    }
    check.text = "outputs agree with the reference engine; largest error " + scientific(check.maxRelative) +
                 " of the output's scale";
    if (check.tolerance > Tolerance().absolute)
        check.text += " (the model amplifies rounding: moving its inputs by " + scientific(kNudge) + " moves its outputs by " +
                      scientific(check.tolerance / kSensitivityFactor) + ")";
    return check;
}

nlohmann::json toJson(const ModuleCheck& check) {
    return {{"passed", check.passed},
            {"seed", check.seed},
            {"max_absolute", check.maxAbsolute},
            {"max_relative_to_scale", check.maxRelative},
            {"tolerance", {{"relative", Tolerance().relative}, {"absolute_of_scale", check.tolerance}}},
            {"text", check.text}};
}

} // namespace

Result<CompileResult> compileModel(const Model& model, const CompileRequest& request) {
    TS_ASSIGN(const std::optional<SpaceKind> space, askedSpace(request.space));
    TS_ASSIGN(const PlannedModel planned, planModel(model, {request.store, request.threads, request.builders,
                                                            request.untuned, request.work, space}));
    CompileResult result;
    {
        TS_ASSIGN(const TemporaryFolder draft, TemporaryFolder::create());
        request.work.report("linking");
        TS_ASSIGN(const ExportSummary module, exportPlanned(planned, draft.path() / "module"));
        TS_ASSIGN(result.check, checkModule(model, module.folder, request));
    }
    request.work.report("writing " + request.folder.string());
    TS_ASSIGN(const ExportSummary summary, exportPlanned(planned, request.folder, toJson(result.check)));
    result.folder = summary.folder;
    result.prefix = summary.prefix;
    result.libraryBytes = summary.libraryBytes;
    result.weightBytes = summary.weightBytes;
    result.arenaBytes = planned.plan.arenaBytes;
    result.threads = planned.plan.target.threads;
    result.steps = planned.plan.steps.size();
    result.kernels = planned.plan.kernels.size();
    result.tuned = planned.tuned;
    result.foreign = planned.foreign;
    result.layouts = planned.layouts;
    return result;
}

} // namespace tunesmith
