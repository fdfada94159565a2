// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/read_inputs.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/base/atomic_file.h"
#include "core/check/random_inputs.h"
#include "core/graph/npy.h"
#include "core/ops/infer_shapes.h"

namespace tunesmith {
namespace {

std::string known(const std::vector<WantedInput>& wanted) {
    std::string text;
    for (const WantedInput& input : wanted)
        text += (text.empty() ? "" : ", ") + input.name;
    return text.empty() ? "it has no inputs" : "its inputs are " + text;
}

Status checkNames(const std::vector<WantedInput>& wanted, const std::vector<std::string>& fileNames, const InputChoice& choice) {
    const auto isWanted = [](const std::string& name) { return [&name](const WantedInput& input) { return input.name == name; }; };
    for (const auto& [name, file] : choice.files)
        if (std::ranges::none_of(wanted, isWanted(name)) && std::ranges::find(fileNames, name) == fileNames.end())
            return inputError("there is no input '" + name + "'; " + known(wanted));
    return {};
}

std::vector<std::string> inputFileNames(const std::vector<WantedInput>& wanted) {
    std::vector<std::string> names;
    for (const WantedInput& input : wanted)
        names.push_back(input.name);
    return distinctFileNames(names);
}
} // namespace

nlohmann::json boundsToJson(const IndexRange& bounds) {
    const bool isCount = bounds.least == 0 && bounds.most < std::numeric_limits<std::int64_t>::max();
    return isCount ? nlohmann::json(bounds.most + 1) : nlohmann::json{bounds.least, bounds.most};
}

IndexRange boundsFromJson(const nlohmann::json& stated) {
    const auto number = [](const nlohmann::json& json) { return json.is_number_integer() ? std::max<std::int64_t>(json.get<std::int64_t>(), 0) : 0; };
    if (stated.is_array() && stated.size() == 2)
        return {number(stated[0]), std::max(number(stated[0]), number(stated[1]))};
    return {0, std::max<std::int64_t>(number(stated), 1) - 1};
}

Result<Tensor> readInput(const WantedInput& wanted, const std::filesystem::path& file) {
    if (wanted.type.opaque)
        return unsupportedError("input '" + wanted.name + "' is " + wanted.type.text() + ", and only tensors are computed");
    TS_ASSIGN(const Tensor tensor, readNpy(file));
    const TensorType type(tensor.type(), tensor.shape());
    if (!mergeTypes(wanted.type, type).ok())
        return inputError("input '" + wanted.name + "' is " + wanted.type.text() + ", but " + file.string() +
                          " holds " + type.text());
    return tensor;
}

std::vector<WantedInput> wantedInputs(const Graph& graph) {
    const std::vector<IndexRange> bounds = inputBounds(graph);
    std::vector<WantedInput> wanted;
    for (const ValueId id : graph.inputs())
        wanted.push_back({graph.value(id).name, graph.value(id).type, bounds[wanted.size()], graph.value(id).fallback});
    return wanted;
}

namespace {

// As the module has it; absent where there is none or where the file cannot be read, which whoever loads it says.
Tensor defaultOf(const ModuleInfo& module, const ModuleTensor& input) {
    if (!input.fallback)
        return {};
    Tensor tensor = Tensor::zeros(input.type, input.shape);
    auto file = InputFile::open(module.weights());
    return file.ok() && file->seek(static_cast<std::size_t>(*input.fallback)).ok() && file->read(tensor.mutableBytes()).ok() ? tensor : Tensor();
}

} // namespace

std::vector<WantedInput> wantedInputs(const ModuleInfo& module) {
    const auto graph = module.document.find("graph");
    std::vector<IndexRange> bounds;
    if (graph != module.document.end() && graph->is_object() && graph->contains("input_bounds"))
        std::ranges::transform((*graph)["input_bounds"], std::back_inserter(bounds), boundsFromJson);
    bounds.resize(module.inputs.size(), {0, 0});
    std::vector<WantedInput> wanted;
    for (const ModuleTensor& input : module.inputs)
        wanted.push_back({input.name, TensorType(input.type, input.shape), bounds[wanted.size()], defaultOf(module, input)});
    return wanted;
}

Status checkInputNames(const std::vector<WantedInput>& wanted, const InputChoice& choice) { return checkNames(wanted, inputFileNames(wanted), choice); }

Result<std::vector<Tensor>> readInputs(const std::vector<WantedInput>& wanted, const InputChoice& choice) {
    const std::vector<std::string> fileNames = inputFileNames(wanted);
    TS_TRY(checkNames(wanted, fileNames, choice));
    std::vector<Tensor> inputs;
    for (const WantedInput& input : wanted) {
        auto file = choice.files.find(input.name);
        if (file == choice.files.end())
            file = choice.files.find(fileNames[inputs.size()]);
        auto tensor = file != choice.files.end()  ? readInput(input, file->second)
                      : !input.fallback.absent() ? input.fallback
                                                 : randomInput(input.name, input.type, input.bounds, choice.seed, inputs.size(), choice.low);
        if (!tensor.ok())
            return tensor.error();
        inputs.push_back(std::move(tensor).value());
    }
    return inputs;
}

} // namespace tunesmith
