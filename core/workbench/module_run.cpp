// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/module_run.h"

#include <chrono>

#include "core/graph/graph_builder.h"
#include "core/module/worker_verbs.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "core/workbench/compile.h"
#include "core/workbench/session.h"

namespace tunesmith {

Result<Graph> inferFor(const Graph& declared, const std::vector<Tensor>& inputs) {
    GraphBuilder typed(declared);
    for (std::size_t i = 0; i < declared.valueCount(); ++i)
        if (const Value& value = *declared.values()[i]; value.producer.valid() && !value.type.opaque)
            typed.setType(ValueId(static_cast<std::int64_t>(i)), TensorType(value.type.dtype));
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (!declared.value(declared.inputs()[i]).type.opaque)
            typed.setType(declared.inputs()[i], TensorType(inputs[i].type(), inputs[i].shape()));
    TS_ASSIGN(const Graph graph, typed.build());
    return inferShapes(graph);
}

Result<Computed> runAsModule(const Model& model, const std::vector<Tensor>& inputs, const PlanRequest& request, WorkerClient& worker) {
    TS_TRY(requireComputable(model));
    TS_TRY(requireExportable(model));
    TS_TRY(checkInputs(model.graph(), inputs));
    TS_ASSIGN(const Graph graph, inferFor(model.graph(), inputs));
    TS_ASSIGN(const PlannedModel planned, planGraph(graph, model.name(), request));
    TS_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create());
    TS_ASSIGN(const ExportSummary module, exportPlanned(planned, folder.path() / "module"));
    request.work.report("running the module");
    const auto begin = std::chrono::steady_clock::now();
    TS_ASSIGN(std::vector<Tensor> outputs, runModule(worker, {module.folder, request.threads, inputs}, kPatience, request.work.stop));
    Computed computed{std::move(outputs), std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
    for (const PlanStep& step : planned.plan.steps)
        if (step.node)
            computed.byReference.push_back({step.name, step.node->op, "the reference kernels are a part of the module"});
    return computed;
}

} // namespace tunesmith
