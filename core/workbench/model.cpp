// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/model.h"

#include <algorithm>
#include <charconv>

#include "core/base/hash.h"
#include "core/base/printable.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/samples.h"
#include "core/onnx/utf8.h"
#include "core/ops/coverage.h"
#include "core/ops/expand_nodes.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/settle_choices.h"
#include "core/te/definition.h"
#include "core/te/graph.h"
#include "core/workbench/model_output.h"

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

// A shape that contradicts what the model says may fit with other sizes.
Error withDimensionHint(const Error& error, const std::vector<std::string>& open) {
    if (open.empty() || error.kind != ErrorKind::input)
        return error;
    std::string names;
    for (const std::string& name : open)
        names += (names.empty() ? "" : ",") + dimensionText(name) + "=N";
    return {error.kind, error.message + " (sizes are open and may matter: --dims " + names + ")"};
}

Status checkDimensions(const Graph& graph, const Dimensions& dimensions) {
    const std::vector<std::string> known = bindableDims(graph);
    for (const auto& [name, extent] : dimensions)
        if (std::ranges::find(known, name) == known.end())
            return inputError("the model has no open dimension '" + name + "'; " +
                              (known.empty() ? "all its dimensions are fixed" : "it has " + joined(known)));
    return {};
}

std::optional<std::int64_t> extentOf(std::string_view text) {
    std::int64_t number = 0;
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = !text.empty() && error == std::errc() && last == text.data() + text.size();
    return whole && number >= 0 ? std::optional(number) : std::nullopt; // an empty cache has extent 0
}

// One "name=value" of a list, quotes undone.
struct NamedExtent {
    std::string name, value;
};

// Up to the next comma outside of quotes; the last equals sign outside of quotes ends the name.
NamedExtent nextExtent(std::string_view& rest) {
    std::string plain;
    std::size_t equals = std::string::npos, i = 0;
    for (bool quoted = false; i < rest.size() && (quoted || rest[i] != ','); ++i) {
        if (rest[i] == '"') {
            quoted = !quoted;
            continue;
        }
        if (quoted && rest[i] == '\\' && i + 1 < rest.size())
            ++i;
        else if (!quoted && rest[i] == '=')
            equals = plain.size();
        plain += rest[i];
    }
    rest.remove_prefix(std::min(i + 1, rest.size()));
    return equals == std::string::npos ? NamedExtent{plain, {}} : NamedExtent{plain.substr(0, equals), plain.substr(equals + 1)};
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
    const auto folded = settleChoices(graph);
    return folded.ok() ? expandNodes(*folded).valueOr(*folded) : graph;
}

ModelInfo describe(const std::string& name, const Graph& graph, std::vector<std::string> open) {
    const Coverage found = coverage(graph);
    ModelInfo info;
    info.name = name;
    for (const ValueId id : graph.inputs()) {
        info.inputs.push_back(specOf(graph.value(id).name, graph.value(id).type));
        info.inputs.back().optional = graph.value(id).hasDefault();
    }
    info.listedWeights = std::ranges::count_if(graph.values(), [](const auto& value) { return value->listed; });
    for (const ValueId id : graph.outputs())
        info.outputs.push_back(specOf(graph.value(id).name, graph.value(id).type));
    info.nodes = static_cast<std::int64_t>(graph.nodeCount());
    info.ops = found.operators;
    info.parameters = found.parameters;
    info.parameterBytes = found.parameterBytes;
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
            if (const Value& value = graph.value(id); bitSize(value.type.dtype) == 0 && value.type.dtype != DType::undefined)
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
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view before = rest;
        const auto [name, value] = nextExtent(rest);
        std::string_view part = before.substr(0, before.size() - rest.size());
        part.remove_suffix(part.ends_with(',') ? 1 : 0);
        const std::string_view values = value;
        const auto dots = values.find("..");
        const auto low = extentOf(values.substr(0, dots));
        const auto high = dots == std::string_view::npos ? low : extentOf(values.substr(dots + 2));
        if (name.empty() || !low || !high)
            return inputError("'" + std::string(part) +
                              "' is no dimension; write name=value with a whole number, as in batch=1,height=224");
        if (*low == 0 && *high > 0)
            return inputError("the range '" + std::string(part) + "' begins below 1");
        if (*low > *high)
            return inputError("the range '" + std::string(part) + "' ends before it begins");
        if (!ranges.emplace(name, DimensionRange{*low, *high}).second)
            return inputError("dimension '" + name + "' is given twice");
    }
    return ranges;
}

std::string dimensionText(const std::string& name) {
    if (name.find_first_of(",=\"\\") == std::string::npos)
        return name;
    std::string quoted = "\"";
    for (const char letter : name)
        quoted += letter == '"' || letter == '\\' ? std::string{'\\', letter} : std::string{letter};
    return quoted + "\"";
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

std::string missingText(const std::vector<NodeProblem>& nodes) {
    std::map<std::string, int> operators;
    for (const NodeProblem& node : nodes)
        ++operators[node.op];
    std::string names;
    for (const auto& [name, times] : operators)
        names += (names.empty() ? "" : ", ") + name + (times > 1 ? " (" + std::to_string(times) + " times)" : "");
    if (operators.size() == 1)
        return nodes.front().reason + (nodes.size() == 1 ? "" : ", and " + names + " in all");
    return "no engine computes " + names + "; the first is " + nodes.front().reason;
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
    return {name, type.opaque ? type.text() : std::string(dtypeName(type.dtype)), type.dims, false};
}

Model Model::with(Graph graph) const {
    auto data = std::make_shared<Data>(*data_);
    data->graph = std::move(graph);
    Model model;
    model.data_ = std::move(data);
    return model;
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
        const std::string name = fs::path(fileOrSample).stem().string();
        data->name = isUtf8(name) ? name : printable(name);
        data->source = fs::absolute(fileOrSample, error).lexically_normal().string();
        TS_ASSIGN(Read read, readModelFile(fileOrSample, dimensions, work));
        data->original = std::move(read.graph);
        bound = std::move(read.dimensions);
    }
    if (const Status known = checkDimensions(data->original, dimensions); !known.ok())
        return known.error().within(fileOrSample);
    StaleShapes stale;
    auto inferred = inferShapes(data->original, bound, &stale);
    if (!inferred.ok())
        return withDimensionHint(inferred.error(), openDimensions(data->original, bound)).within(fileOrSample);
    data->graph = std::move(inferred).value();
    data->info = describe(data->name, data->graph, openDimensions(data->original, bound));
    for (const std::string& sentence : stale)
        data->info.warnings.push_back(sentence + "; the shape that is declared is not used");
    for (std::string& sentence : impossibleBranches(data->graph))
        data->info.warnings.push_back(std::move(sentence));
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
    TS_TRY(checkModelOutput(file, {}));
    TS_ASSIGN(const Graph graph, buildSample(name));
    TS_TRY(exportCheckedOnnx(graph, file));
    return {};
}

Result<std::string> exportModel(const Model& model, const std::filesystem::path& file, const Work& work) {
    TS_TRY(checkModelOutput(file, model.source()));
    work.report("folding constants");
    FoldOptions options;
    options.stop = work.stop;
    TS_ASSIGN(const Graph folded, settleChoices(model.graph(), options));
    work.report("writing " + file.string());
    return exportCheckedOnnx(folded, file);
}

} // namespace tunesmith
