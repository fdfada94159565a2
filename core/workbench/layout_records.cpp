// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/layout_records.h"

#include <nlohmann/json.hpp>

#include "core/base/hash.h"
#include "core/base/json_text.h"

namespace tunesmith {
namespace {

using loops::Layout;
using nlohmann::json;

Layout layoutOfBlock(std::int64_t block) { return block > 1 ? Layout::blocked(4, 1, block) : Layout::rowMajor(4); }

// Ids are of this graph in this program; names are in every version that prepares the graph in the same way. A reader is
// known by what its first node makes.
json toJson(const Graph& graph, const LayoutPlan& plan) {
    json values = json::object(), reads = json::array();
    for (const auto& [value, layout] : plan.values)
        values[graph.value(value).name] = channelBlock(layout);
    for (const auto& [reading, layout] : plan.reads)
        reads.push_back({graph.value(graph.node(reading.first).outputs[0]).name, graph.value(reading.second).name, channelBlock(layout)});
    return {{"values", values}, {"reads", reads}};
}

LayoutPlan planFromJson(const Graph& graph, const json& stored) {
    LayoutPlan plan; // names that the graph has not become values that it has not: then the plan does not fit
    for (const auto& [name, block] : stored.at("values").items())
        plan.values[graph.findValue(name)] = layoutOfBlock(block.get<std::int64_t>());
    for (const json& read : stored.at("reads")) {
        const ValueId made = graph.findValue(read.at(0).get<std::string>());
        const NodeId reader = made.valid() ? graph.value(made).producer : NodeId();
        plan.reads[{reader, graph.findValue(read.at(1).get<std::string>())}] = layoutOfBlock(read.at(2).get<std::int64_t>());
    }
    return plan;
}

std::optional<LayoutPlan> fittingPlan(const Graph& graph, const Target& target, const json& stored) {
    try {
        if (!stored.at("kept").get<bool>())
            return std::nullopt;
        LayoutPlan plan = planFromJson(graph, stored.at("layouts"));
        const auto groups = groupNodes(graph);
        return checkLayoutPlan(plan, graph, groups, target).ok() ? std::optional(std::move(plan)) : std::nullopt;
    } catch (const json::exception&) {
        return std::nullopt;
    }
}

bool isAbout(const json& options, const std::string& hash, const std::string& machine) {
    const auto is = [&](const char* key, const std::string& value) { return options.contains(key) && options[key] == value; };
    return options.is_object() && is("graph", hash) && is("machine", machine);
}

} // namespace

Result<RunId> storeLayouts(Store& store, const Graph& prepared, const RunRow& run, const std::string& machine, const LayoutVerdict& verdict) {
    RunRow row;
    row.kind = kLayoutsKind;
    row.model = run.model;
    row.target = run.target;
    row.version = run.version;
    row.strategy = "pbqp";
    row.options = json{{"graph", hexHash(prepared.hash())},
                       {"machine", machine},
                       {"kept", verdict.kept},
                       {"greedy_predicted_ms", verdict.greedyPredictedMs},
                       {"planned_predicted_ms", verdict.plannedPredictedMs},
                       {"layouts", toJson(prepared, verdict.plan)}}
                      .dump();
    TS_ASSIGN(const RunId id, store.beginRun(row));
    TS_TRY(store.endRun(id, {RunState::completed, verdict.kept ? "faster" : "greedy_stands", verdict.greedyMs, verdict.plannedMs}));
    return id;
}

Result<std::optional<LayoutPlan>> storedLayouts(const Store& store, const Graph& prepared, const Target& target, const std::string& machine) {
    TS_ASSIGN(const std::vector<RunRow> runs, store.runs());
    std::string hash; // reads all weights: only where there are plans
    for (const RunRow& row : runs) {
        if (row.kind != kLayoutsKind || row.targetKey != target.key() || row.state != RunState::completed)
            continue;
        const json options = parseJson<json>(row.options);
        if (hash.empty())
            hash = hexHash(prepared.hash());
        if (isAbout(options, hash, machine))
            return fittingPlan(prepared, target, options);
    }
    return std::optional<LayoutPlan>();
}

} // namespace tunesmith
