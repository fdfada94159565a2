// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/workload.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/hash.h"
#include "core/base/json_text.h"
#include "core/graph/graph_builder.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/ops/explicit_window.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/lower_node.h"
#include "core/ops/raise_opset.h"
#include "core/schedule/autotvm_template.h"
#include "core/schedule/layout_json.h"

namespace tunesmith {

using loops::Layout;

namespace {

// Small constants are part of the computation (axes, scales, clip bounds); weights are not, only their shape is.
bool isEmbedded(const Value& value) {
    constexpr std::int64_t kSmall = 8, kZeroPoints = 4096; // one for each channel
    const DType type = value.type.dtype;
    const bool isByte = type == DType::u8 || type == DType::i8;
    const bool isWeight = isFloat(type) || (isByte && (value.constant.rank() >= 2 || value.constant.count() > kZeroPoints));
    return value.isConstant() && (!isWeight || value.constant.count() <= kSmall || value.constant.rank() == 0);
}

std::string dimsText(const Shape& shape, std::size_t from) {
    return shapeText(std::span(shape).subspan(std::min(from, shape.size())));
}

std::string lowerCase(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

std::string headText(const Graph& graph, const Node& head) {
    const auto shapeOf = [&](ValueId id) { return graph.value(id).type.shape(); };
    const Shape output = shapeOf(head.outputs[0]);
    if (head.op == "Conv") {
        const Shape weights = shapeOf(head.inputs[1]);
        const std::int64_t groups = head.intAttr("group", 1);
        const auto strides = head.intsAttr("strides", {1});
        const bool depthwise = groups > 1 && weights[1] == 1;
        return std::string(depthwise ? "depthwise " : "conv2d ") + shapeText(shapeOf(head.inputs[0])) + " -> " + std::to_string(weights[0]) +
               " k" + dimsText(weights, 2) + (strides[0] > 1 ? " s" + std::to_string(strides[0]) : "") +
               (groups > 1 && !depthwise ? " g" + std::to_string(groups) : "");
    }
    std::string text = lowerCase(head.op);
    for (const ValueId input : head.inputs)
        if (input.valid() && text.size() < 60)
            text += " " + shapeText(shapeOf(input));
    return text + " -> " + shapeText(output);
}

std::string keyOf(const Workload& workload) {
    const Graph& graph = workload.graph;
    Hasher hasher;
    hasher.add(graph.hash());
    for (const auto* layouts : {&workload.inputLayouts, &workload.outputLayouts})
        for (const Layout& layout : *layouts)
            for (const auto& axis : layout.axes())
                hasher.add(axis.dim).add(axis.divisor).add(axis.extent);
    for (const bool constant : workload.constantInputs)
        hasher.add(constant);
    if (workload.space != SpaceKind::tunesmith)
        hasher.add(std::string_view(spaceKindName(workload.space)));
    return hexHash(hasher.value());
}

Status finish(Workload& workload) {
    const Graph& graph = workload.graph;
    TS_ASSIGN(const LoweredWorkload lowered, lowerWorkload(workload));
    workload.flops = loops::flopCount(lowered.program);
    workload.key = keyOf(workload);
    workload.op = graph.nodes().front()->op;
    workload.name = headText(graph, *graph.nodes().front());
    for (std::size_t i = 1; i < graph.nodeCount(); ++i)
        workload.name += " +" + lowerCase(graph.nodes()[i]->op);
    return {};
}

Error damaged(const std::string& what) { return inputError("the stored workload is damaged: " + what); }

// A group has 16 nodes at most, and a node 256 outputs; lowering takes their square.
Status checkSize(const Graph& graph) {
    constexpr std::size_t kMostNodes = 64, kMostOutputs = 512;
    std::size_t outputs = 0;
    for (const auto& node : graph.nodes())
        outputs += node->outputs.size();
    if (graph.nodeCount() > 0 && graph.nodeCount() <= kMostNodes && outputs <= kMostOutputs)
        return {};
    return damaged("it has " + std::to_string(graph.nodeCount()) + " nodes with " + std::to_string(outputs) + " outputs, which is no kernel");
}

// A graph whose shapes were inferred: whoever lowers it relies on the types of all values and on the rules of all nodes.
Status checkGraph(const Graph& graph) {
    constexpr std::int64_t kMostElements = std::int64_t(1) << 40;
    for (const auto& value : graph.values()) {
        const auto count = value->type.isStatic() ? checkedElementCount(value->type.shape()) : std::nullopt;
        if (!count || *count > kMostElements || byteSize(value->type.dtype) == 0)
            return damaged("'" + value->name + "' is " + value->type.text());
    }
    for (std::size_t n = 0; n < graph.nodeCount(); ++n)
        TS_TRY(checkComputable(graph, NodeId(static_cast<std::int64_t>(n))));
    for (const ValueId output : graph.outputs())
        if (!graph.value(output).producer.valid())
            return damaged("none of its nodes makes '" + graph.value(output).name + "'");
    return {};
}

bool fit(const std::vector<Layout>& layouts, const Graph& graph, const std::vector<ValueId>& values) {
    return std::ranges::equal(layouts, values, [&](const Layout& layout, ValueId id) { return mayLieBetweenKernels(layout, graph.value(id).type.shape().size()); });
}

} // namespace

std::int64_t Workload::bytes() const {
    std::int64_t sum = 0;
    for (const auto* values : {&graph.inputs(), &graph.outputs()})
        for (const ValueId id : *values) {
            const TensorType& type = graph.value(id).type;
            sum += static_cast<std::int64_t>(storedBytes(type.dtype, elementCount(type.shape())));
        }
    return sum;
}

std::string Workload::shapeText() const {
    std::string text;
    for (const ValueId input : graph.inputs())
        text += (text.empty() ? "" : ", ") + tunesmith::shapeText(graph.value(input).type.shape());
    text += " ->";
    for (const ValueId output : graph.outputs())
        text += " " + tunesmith::shapeText(graph.value(output).type.shape());
    return text;
}

std::string Workload::serialize() const {
    nlohmann::json header{{"version", 1},
                          {"inputs", layoutsToJson(inputLayouts)},
                          {"outputs", layoutsToJson(outputLayouts)},
                          {"constant", constantInputs}};
    if (space != SpaceKind::tunesmith)
        header["space"] = spaceKindName(space);
    const auto bytes = exportOnnxBytes(graph);
    assert(bytes.ok() && "a workload is small and can be exported");
    std::string text = header.dump() + "\n";
    text.append(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    return text;
}

Result<Workload> Workload::deserialize(std::string_view text) {
    const auto newline = text.find('\n');
    const auto header = parseJson<nlohmann::json>(text.substr(0, newline));
    if (newline == std::string_view::npos || !header.is_object() || header.value("version", nlohmann::json()) != 1)
        return inputError("the stored workload is damaged or of another version");
    const std::string_view onnx = text.substr(newline + 1);
    Workload workload;
    TS_ASSIGN(const Graph graph, importOnnxBytes({reinterpret_cast<const std::byte*>(onnx.data()), onnx.size()}, {}));
    TS_TRY(checkSize(graph));
    TS_ASSIGN(workload.graph, inferShapes(graph));
    TS_TRY(checkGraph(workload.graph));
    try {
        workload.inputLayouts = layoutsFromJson(header.at("inputs"));
        workload.outputLayouts = layoutsFromJson(header.at("outputs"));
        workload.constantInputs = header.at("constant").get<std::vector<bool>>();
        TS_ASSIGN(workload.space, spaceKindFromName(header.value("space", "")));
    } catch (const nlohmann::json::exception&) {
        return damaged("its layouts cannot be read");
    }
    if (workload.constantInputs.size() != workload.inputLayouts.size() || !fit(workload.inputLayouts, workload.graph, workload.graph.inputs()) ||
        !fit(workload.outputLayouts, workload.graph, workload.graph.outputs()))
        return damaged("its graph and its layouts do not fit");
    TS_TRY(finish(workload));
    return workload;
}

Workload inSpace(Workload workload, SpaceKind space) {
    if (space == SpaceKind::autotvm && !hasAutotvmTemplate(workload))
        space = SpaceKind::tunesmith;
    if (workload.space != space) {
        workload.space = space;
        workload.key = keyOf(workload);
    }
    return workload;
}

namespace {

// Records serve a kernel however its model was written: in whatever opset that says the same.
std::int64_t opsetOf(const Graph& graph, const KernelGroup& group) {
    std::int64_t raised = graph.opset();
    for (const NodeId id : group.nodes)
        if (graph.node(id).domain.empty() && (raised = raisedOpset(graph.node(id), graph.opset())) == graph.opset())
            break;
    return raised;
}

} // namespace

Result<ExtractedWorkload> extractWorkload(const Graph& graph, const KernelGroup& group, const LayoutPlan& layouts) {
    GraphBuilder builder("workload");
    const std::int64_t opset = opsetOf(graph, group);
    for (const auto& [domain, version] : graph.opsets())
        builder.setOpset(domain, domain.empty() ? opset : version);
    std::map<ValueId, ValueId> renamed;
    ExtractedWorkload extracted;
    Workload& workload = extracted.workload;
    for (const ValueId input : group.inputs) {
        const Value& value = graph.value(input);
        if (isEmbedded(value)) {
            renamed[input] = builder.addConstant("c" + std::to_string(renamed.size()), value.constant);
            continue;
        }
        renamed[input] = builder.addInput("i" + std::to_string(renamed.size()), value.type);
        extracted.inputs.push_back(input);
        workload.inputLayouts.push_back(readLayoutOf(layouts, graph, group, input));
        workload.constantInputs.push_back(value.isConstant());
    }
    for (const NodeId id : group.nodes) {
        Node node = withExplicitWindow(graph, graph.node(id), opset);
        node.name.clear();
        for (ValueId& input : node.inputs)
            if (input.valid())
                input = renamed.at(input);
        for (ValueId& output : node.outputs)
            if (output.valid()) {
                const ValueId fresh = builder.addValue("v" + std::to_string(renamed.size()), graph.value(output).type);
                renamed[output] = fresh;
                output = fresh;
            }
        builder.addNode(std::move(node));
    }
    std::vector<ValueId> outputs;
    for (const ValueId output : group.outputs) {
        outputs.push_back(renamed.at(output));
        workload.outputLayouts.push_back(layoutOf(layouts, graph, output));
    }
    builder.setOutputs(std::move(outputs));
    TS_ASSIGN(workload.graph, builder.build());
    TS_TRY(finish(workload));
    return extracted;
}

Result<Workload> conversionWorkload(const TensorType& type, const Layout& from, const Layout& to) {
    GraphBuilder builder("workload");
    builder.setOpset("", 17);
    const ValueId input = builder.addInput("i0", type);
    const ValueId output = builder.add("Identity", {input});
    builder.setType(output, type);
    builder.setOutputs({output});
    Workload workload;
    TS_ASSIGN(workload.graph, builder.build());
    workload.inputLayouts = {from};
    workload.outputLayouts = {to};
    workload.constantInputs = {false};
    TS_TRY(finish(workload));
    workload.name = "layout " + shapeText(type.shape()) + " " + from.text() + " -> " + to.text();
    return workload;
}

} // namespace tunesmith
