// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/module/build.h"
#include "core/module/fold_batch_norm.h"
#include "core/module/group_products.h"
#include "core/module/line_conv.h"
#include "core/module/map_norms.h"
#include "core/module/quantised_products.h"
#include "core/module/split_views.h"
#include "core/module/sub_buffers.h"
#include "core/module/transposed_conv.h"
#include "core/module/volume_conv.h"
#include "core/ops/expand_nodes.h"
#include "core/ops/fold_constants.h"
#include "core/ops/lower_node.h"
#include "core/ops/settle_choices.h"

namespace tunesmith {

namespace {

// What a pass makes of a graph that has such nodes; others stay as they are, with the shapes that they have.
Result<Graph> where(std::string_view op, Result<Graph> (*pass)(const Graph&), const Graph& graph) {
    if (std::ranges::none_of(graph.nodes(), [&](const auto& node) { return node->op == op; }))
        return graph;
    TS_ASSIGN(const Graph changed, pass(graph));
    return inferShapes(changed);
}

} // namespace

Result<Graph> prepareGraph(const Graph& model, const DimBindings& dims) {
    TS_ASSIGN(const Graph bound, inferShapes(model, dims));
    TS_ASSIGN(const Graph integer, where("DequantizeLinear", quantisedProductsAsIntegerOnes, bound));
    TS_ASSIGN(const Graph folded, settleChoices(integer, FoldOptions::weights()));
    TS_ASSIGN(const Graph expanded, expandNodes(folded));
    TS_ASSIGN(const Graph convolved, where("ConvTranspose", transposedConvsAsConvs, expanded));
    TS_ASSIGN(const Graph merged, where("BatchNormalization", foldBatchNorms, convolved));
    TS_ASSIGN(const Graph flat, where("Conv", volumeConvsAsMapConvs, merged));
    TS_ASSIGN(const Graph mapped, lineConvsAsMapConvs(flat));
    TS_ASSIGN(const Graph grouped, groupedConvsAsProducts(mapped));
    TS_ASSIGN(const Graph normed, mapNormsAsRowNorms(grouped));
    return where("Split", splitsAsViews, normed);
}

namespace {

// Where there is nothing but such nodes, why the first one is no kernel.
Status refuseWithoutKernels(const Graph& graph, const std::vector<KernelGroup>& groups) {
    const auto is = [](KernelGroup::Kind kind) { return [kind](const KernelGroup& group) { return group.kind == kind; }; };
    const auto first = std::ranges::find_if(groups, is(KernelGroup::Kind::reference));
    if (first == groups.end() || std::ranges::any_of(groups, is(KernelGroup::Kind::kernel)))
        return {};
    TS_TRY(checkLowerable(graph, first->nodes[0]));
    const auto program = lowerNode(graph, first->nodes[0]);
    return program.ok() ? Status() : Status(program.error());
}

} // namespace

Result<std::vector<ModelWorkload>> modelWorkloads(const Graph& prepared, const Target& target, const std::optional<LayoutPlan>& layouts) {
    const std::vector<KernelGroup> groups = groupNodes(prepared);
    TS_TRY(refuseWithoutKernels(prepared, groups));
    if (layouts)
        TS_TRY(checkLayoutPlan(*layouts, prepared, groups, target));
    const LayoutPlan plan = layouts ? *layouts : chooseLayouts(prepared, groups, target);
    std::vector<ModelWorkload> found;
    std::map<std::string, std::size_t> places; // by key
    for (const KernelGroup& group : groups) {
        if (group.kind != KernelGroup::Kind::kernel || isSlicedConcat(prepared, group, plan))
            continue;
        TS_ASSIGN(ExtractedWorkload extracted, extractWorkload(prepared, group, plan));
        const auto [place, fresh] = places.try_emplace(extracted.workload.key, found.size());
        if (fresh)
            found.push_back({std::move(extracted.workload), {}});
        found[place->second].nodes.push_back(prepared.node(group.nodes.front()).name);
    }
    std::stable_sort(found.begin(), found.end(), [](const ModelWorkload& a, const ModelWorkload& b) {
        return a.workload.flops * static_cast<std::int64_t>(a.count()) >
               b.workload.flops * static_cast<std::int64_t>(b.count());
    });
    return found;
}

} // namespace tunesmith
