// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/workbench/work.h"

namespace tunesmith {

// Values for symbolic dimensions: "batch" or, for a dimension without a name, "input.0".
using Dimensions = std::map<std::string, std::int64_t>;
// "batch=1,height=224"; empty text: none. A name that holds a comma or an equals sign stands in double quotes
// ("a,b"=2), where a quote and a backslash are written with a backslash in front.
Result<Dimensions> parseDimensions(const std::string& text);
std::string dimensionText(const std::string& name); // the name as parseDimensions() reads it

// Extents from low to high; one value is a range of one.
struct DimensionRange {
    std::int64_t low = 1, high = 1;
    bool isFixed() const { return low == high; }
    bool contains(std::int64_t extent) const { return low <= extent && extent <= high; }
};
using DimensionRanges = std::map<std::string, DimensionRange>;
Result<DimensionRanges> parseDimensionRanges(const std::string& text); // "batch=1..8,height=224"

// A named tensor as people and --json see it. A dimension is a number or a name; no dims: not even the rank
// is known.
struct TensorSpec {
    std::string name;
    std::string type; // "float32"
    std::optional<Dims> dims;
    bool optional = false; // an input with a default value

    std::string shapeText() const; // "1x3xHx224"
};

TensorSpec specOf(const std::string& name, const TensorType& type);

struct NodeProblem {
    std::string node, op, reason;
};

// All of them in one sentence: operators with how often each occurs, and the reason of the first.
std::string missingText(const std::vector<NodeProblem>& nodes);

// What is in a model and what can be done with it.
struct ModelInfo {
    std::string name;
    std::vector<TensorSpec> inputs, outputs;
    std::int64_t nodes = 0;
    std::map<std::string, std::int64_t> ops; // how often each operator occurs
    std::int64_t parameters = 0, parameterBytes = 0;
    std::int64_t flops = 0;
    bool flopsComplete = true;            // false: some shapes are open, bind dimensions
    std::vector<NodeProblem> unsupported; // no engine computes these
    std::vector<NodeProblem>
        notCompiled; // only the reference engine runs these; empty while dimensions are open
    std::vector<std::string> openDimensions; // what parseDimensions() may bind and is not bound
    std::int64_t listedWeights = 0;          // constants that a run may give other values for, as for inputs
    std::vector<std::string> warnings;       // what the file says and is not so, a sentence each
};

// A model that was read: a value, cheap to copy, safe to share between threads.
class Model {
public:
    const std::string& name() const { return data_->name; }     // of the file without its extension, or of the sample
    const std::string& source() const { return data_->source; } // path, or "sample:NAME"
    const Graph& original() const { return data_->original; }   // as the file says
    const Graph& graph() const { return data_->graph; }         // with bound dimensions and inferred types
    const ModelInfo& info() const { return data_->info; }
    std::string hash() const; // structural, with the bound dimensions
    Model with(Graph graph) const; // the same with other constants

private:
    friend Result<Model> openModel(const std::string&, const Dimensions&, const Work&);
    struct Data {
        std::string name, source;
        Graph original, graph;
        ModelInfo info;
    };
    std::shared_ptr<const Data> data_ = std::make_shared<const Data>();
};

// Reads an ONNX file or a tensor expression (FILE.te, core/te), or builds the sample of that name (a file of the same name wins).
// Dimensions to which a .te file itself gives a value need none. Errors name the file.
Result<Model> openModel(const std::string& fileOrSample, const Dimensions& dimensions = {},
                        const Work& work = {});

// What keeps a model from becoming a module, all of it: nodes that no engine computes, and inputs and outputs that are not
// handed over in C (then `op` is "input" or "output"). Nothing: it can be exported once its dimensions are bound.
std::vector<NodeProblem> whyNotExported(const Model& model);

struct SampleInfo {
    std::string name, description;
};
std::vector<SampleInfo> sampleList();
Status writeSample(const std::string& name, const std::filesystem::path& file);

// The graph as any runtime loads it, with constants folded and dead nodes gone; a second reader checks it before it takes its
// place (onnx/second_reader.h). Gives a sentence about what was checked.
Result<std::string> exportModel(const Model& model, const std::filesystem::path& file, const Work& work = {});

} // namespace tunesmith
