// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/compile.h"

#include "core/module/module_info.h"
#include "core/workbench/module_check.h"
#include "core/workbench/read_inputs.h"
#include "core/workbench/session.h"

namespace tunesmith {

Status requireExportable(const Model& model) {
    const std::vector<NodeProblem> problems = whyNotExported(model);
    std::string text;
    for (const NodeProblem& problem : problems)
        text += (text.empty() ? "" : "; ") + problem.node + " (" + problem.op + "): " + problem.reason;
    return problems.empty() ? Status() : unsupportedError(model.name() + " cannot become a module: " + text);
}

std::string usualPrefix(const Model& model) { return modulePrefix(model.name()); }

Result<CompileResult> compileModel(const Model& model, const CompileRequest& request) {
    TS_TRY(checkPrefix(request.prefix));
    TS_TRY(requireExportable(model));
    TS_TRY(checkInputNames(wantedInputs(model.graph()), {request.inputs, request.seed}));
    TS_ASSIGN(const std::optional<SpaceKind> space, askedSpace(request.space));
    TS_ASSIGN(const PlannedModel planned, planModel(model, {request.store, request.threads, request.builders,
                                                            request.untuned, request.work, space}));
    CompileResult result;
    {
        TS_ASSIGN(const TemporaryFolder draft, TemporaryFolder::create());
        request.work.report("linking");
        const auto module = exportPlanned(planned, draft.path() / "module", {.probes = true});
        if (!module.ok())
            return withRemedy(module.error(), draft);
        TS_ASSIGN(result.check, checkModule(model, planned, module->folder, request));
    }
    request.work.report("writing " + request.folder.string());
    TS_ASSIGN(const ExportSummary summary, exportPlanned(planned, request.folder, {.check = toJson(result.check), .prefix = request.prefix}));
    rememberModule(summary.folder);
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

Status checkAskedPrefix(const std::string& prefix) { return checkPrefix(prefix); }

} // namespace tunesmith
