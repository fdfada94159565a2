// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/model.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "core/base/hash.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/samples.h"
#include "core/ops/coverage.h"
#include "core/ops/expand_nodes.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/settle_choices.h"
#include "core/te/definition.h"
#include "core/te/graph.h"

namespace tunesmith {
namespace {

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names)
        text += (text.empty() ? "" : ", ") + name;
    return text;
}

std::vector<NodeProblem> problems(const std::vector<UncoveredNode>& nodes) {
    std::vector<NodeProblem> list;
    for (const UncoveredNode& node : nodes)
        list.push_back({node.node, node.op, node.reason});
    return list;
}

std::vector<std::string> openDimensions(const Graph& graph, const Dimensions& bound) {
    std::vector<std::string> open;
    for (const std::string& name : bindableDims(graph))
        if (!bound.contains(name))
            open.push_back(name);
    return open;
}

Status checkDimensions(const Graph& graph, const Dimensions& dimensions) {
    const std::vector<std::string> known = bindableDims(graph);
    for (const auto& [name, extent] : dimensions)
        if (std::ranges::find(known, name) == known.end())
            return inputError("the model has no open dimension '" + name + "'; " +
                              (known.empty() ? "all its dimensions are fixed" : "it has " + joined(known)));
    return {};
}

std::optional<std::int64_t> positiveNumber(std::string_view text) {
    std::int64_t number = 0;
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = !text.empty() && error == std::errc() && last == text.data() + text.size();
    return whole && number >= 1 ? std::optional(number) : std::nullopt;
}

// A model file as a graph, and its dimensions: those that are asked for, over those that the file itself gives a value.
struct Read {
    Graph graph;
    Dimensions dimensions;
};

Result<Read> readTensorExpression(const std::string& file, const Dimensions& dimensions) {
    TS_ASSIGN(const te::Definition definition, te::readDefinitionFile(file));
    Read read;
    read.dimensions = dimensions;
    read.dimensions.merge(te::defaultSizes(definition));
    TS_TRY(te::checkSizes(definition, read.dimensions)); // knows the places of the file, which nodes do not
    TS_ASSIGN(read.graph, te::makeGraph(definition));
    return read;
}

Result<Read> readModelFile(const std::string& file, const Dimensions& dimensions, const Work& work) {
    if (std::filesystem::path(file).extension() == ".te")
        return readTensorExpression(file, dimensions);
    TS_ASSIGN(Graph graph, importOnnx(file, {work.stop}));
    return Read{std::move(graph), dimensions};
}

// Shape arithmetic folds away, and nodes that can be written with others are.
Graph compilableForm(const Graph& graph) {
    const auto folded = foldConstants(graph);
    return folded.ok() ? expandNodes(*folded).valueOr(*folded) : graph;
}

ModelInfo describe(const std::string& name, const Graph& graph, std::vector<std::string> open) {
    const Coverage found = coverage(graph);
    ModelInfo info;
    info.name = name;
    for (const ValueId id : graph.inputs())
        info.inputs.push_back(specOf(graph.value(id).name, graph.value(id).type));
    for (const ValueId id : graph.outputs())
        info.outputs.push_back(specOf(graph.value(id).name, graph.value(id).type));
    info.nodes = static_cast<std::int64_t>(graph.nodeCount());
    info.ops = found.operators;
    info.parameters = found.parameters;
    info.flops = found.flops;
    info.flopsComplete = found.flopsComplete;
    info.unsupported = problems(found.notComputed);
    if (open.empty() && !found.notCompiled.empty())
        info.notCompiled = problems(coverage(compilableForm(graph)).notCompiled);
    info.openDimensions = std::move(open);
    return info;
}

} // namespace

std::vector<NodeProblem> whyNotExported(const Model& model) {
    std::vector<NodeProblem> found = model.info().unsupported;
    const Graph& graph = model.graph();
    const auto look = [&](const std::vector<ValueId>& values, const char* kind) {
        for (const ValueId id : values)
            if (const Value& value = graph.value(id); byteSize(value.type.dtype) == 0 && value.type.dtype != DType::undefined)
                found.push_back({value.name, kind, "modules do not take or give " + value.type.text()});
            else if (value.type.opaque)
                found.push_back({value.name, kind, "modules take and give tensors, and this is " + value.type.text()});
    };
    look(graph.inputs(), "input");
    look(graph.outputs(), "output");
    return found;
}

Result<DimensionRanges> parseDimensionRanges(const std::string& text) {
    DimensionRanges ranges;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        const auto equals = part.rfind('=');
        const std::string_view values = equals == std::string::npos ? "" : std::string_view(part).substr(equals + 1);
        const auto dots = values.find("..");
        const auto low = positiveNumber(values.substr(0, dots));
        const auto high = dots == std::string_view::npos ? low : positiveNumber(values.substr(dots + 2));
        if (equals == 0 || !low || !high)
            return inputError(
                "'" + part +
                "' is no dimension; write name=value with a positive number, as in batch=1,height=224");
        if (*low > *high)
            return inputError("the range '" + part + "' ends before it begins");
        ranges[part.substr(0, equals)] = {*low, *high};
    }
    return ranges;
}

Result<Dimensions> parseDimensions(const std::string& text) {
    TS_ASSIGN(const DimensionRanges ranges, parseDimensionRanges(text));
    Dimensions dimensions;
    for (const auto& [name, range] : ranges) {
        if (!range.isFixed())
            return inputError("dimension '" + name + "' needs one value here, not a range");
        dimensions[name] = range.low;
    }
    return dimensions;
}

std::string TensorSpec::shapeText() const {
    if (!dims)
        return "?";
    std::string text;
    for (const Dim& dim : *dims)
        text += (text.empty() ? "" : "x") + dimText(dim);
    return text.empty() ? "scalar" : text;
}

TensorSpec specOf(const std::string& name, const TensorType& type) {
    return {name, type.opaque ? type.text() : std::string(dtypeName(type.dtype)), type.dims};
}

std::string Model::hash() const {
    return hexHash(graph().hash());
}

Result<Model> openModel(const std::string& fileOrSample, const Dimensions& dimensions, const Work& work) {
    namespace fs = std::filesystem;
    auto data = std::make_shared<Model::Data>();
    std::error_code error;
    const auto& samples = sampleModels();
    const bool isSample =
        std::ranges::any_of(samples, [&](const Sample& sample) { return sample.name == fileOrSample; });
    work.report("reading " + fileOrSample);
    Dimensions bound = dimensions;
    if (isSample && !fs::exists(fileOrSample, error)) {
        data->name = fileOrSample;
        data->source = "sample:" + fileOrSample;
        TS_ASSIGN(data->original, buildSample(fileOrSample));
    } else {
        data->name = fs::path(fileOrSample).stem().string();
        data->source = fs::absolute(fileOrSample, error).lexically_normal().string();
        TS_ASSIGN(Read read, readModelFile(fileOrSample, dimensions, work));
        data->original = std::move(read.graph);
        bound = std::move(read.dimensions);
    }
    if (const Status known = checkDimensions(data->original, dimensions); !known.ok())
        return known.error().within(fileOrSample);
    auto inferred = inferShapes(data->original, bound);
    if (!inferred.ok())
        return inferred.error().within(fileOrSample);
    data->graph = std::move(inferred).value();
    data->info = describe(data->name, data->graph, openDimensions(data->original, bound));
    Model model;
    model.data_ = std::move(data);
    return model;
}

std::vector<SampleInfo> sampleList() {
    std::vector<SampleInfo> list;
    for (const Sample& sample : sampleModels())
        list.push_back({sample.name, sample.description});
    return list;
}

Status writeSample(const std::string& name, const std::filesystem::path& file) {
    TS_ASSIGN(const Graph graph, buildSample(name));
    return exportOnnx(graph, file);
}

Status exportModel(const Model& model, const std::filesystem::path& file, const Work& work) {
    work.report("folding constants");
    FoldOptions options;
    options.stop = work.stop;
    TS_ASSIGN(const Graph folded, settleChoices(model.graph(), options));
    work.report("writing " + file.string());
    return exportOnnx(folded, file);
}

} // namespace tunesmith
