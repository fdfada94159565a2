// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/module/build.h"
#include "core/module/compiled_parts.h"
#include "core/module/fold_batch_norm.h"
#include "core/module/group_products.h"
#include "core/module/line_conv.h"
#include "core/module/map_norms.h"
#include "core/module/split_views.h"
#include "core/module/sub_buffers.h"
#include "core/module/transposed_conv.h"
#include "core/module/volume_conv.h"
#include "core/ops/expand_nodes.h"
#include "core/ops/fold_constants.h"

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
    TS_ASSIGN(const Graph folded, foldConstants(bound, FoldOptions::weights()));
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

using PlaceOfKey = std::map<std::string, std::size_t>;

Status addWorkloads(const Graph& part, const Target& target, const std::optional<LayoutPlan>& plan, PlaceOfKey& places, std::vector<ModelWorkload>& found) {
    TS_ASSIGN(const std::vector<KernelGroup> groups, groupNodes(part));
    if (plan)
        TS_TRY(checkLayoutPlan(*plan, part, groups, target));
    const LayoutPlan layouts = plan ? *plan : chooseLayouts(part, groups, target);
    for (const KernelGroup& group : groups) {
        if (group.kind == KernelGroup::Kind::alias || isSlicedConcat(part, group, layouts))
            continue;
        TS_ASSIGN(ExtractedWorkload extracted, extractWorkload(part, group, layouts));
        const auto [place, fresh] = places.try_emplace(extracted.workload.key, found.size());
        if (fresh)
            found.push_back({std::move(extracted.workload), {}});
        found[place->second].nodes.push_back(part.node(group.nodes.front()).name);
    }
    return {};
}

} // namespace

Result<std::vector<ModelWorkload>> modelWorkloads(const Graph& prepared, const Target& target, const std::optional<LayoutPlan>& layouts) {
    TS_ASSIGN(const std::vector<Graph> parts, compiledParts(prepared));
    std::vector<ModelWorkload> found;
    PlaceOfKey places;
    for (const Graph& part : parts)
        TS_TRY(addWorkloads(part, target, layouts, places, found));
    std::stable_sort(found.begin(), found.end(), [](const ModelWorkload& a, const ModelWorkload& b) {
        return a.workload.flops * static_cast<std::int64_t>(a.count()) >
               b.workload.flops * static_cast<std::int64_t>(b.count());
    });
    return found;
}

} // namespace tunesmith
