// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/random_inputs.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include "core/base/hash.h"
#include "core/base/memory_budget.h"
#include "core/base/rng.h"
#include "core/ops/index_inputs.h"

namespace tunesmith {
namespace {

constexpr IndexRange kIntegers{0, 9};
constexpr std::int64_t kMostElements = std::int64_t{1} << 56; // so that their bytes can be counted

bool passesValues(const Node& node) {
    constexpr std::array<std::string_view, 9> kPassing{
        "Cast", "Flatten", "Expand", "Identity", "Reshape", "Squeeze", "Slice", "Transpose", "Unsqueeze"};
    return node.domain.empty() && std::find(kPassing.begin(), kPassing.end(), node.op) != kPassing.end();
}

// The numbers that fit a value for all that use it as an index, or those for any integer.
class DrawnRange {
public:
    explicit DrawnRange(const Graph& graph) : graph_(graph) {}

    IndexRange of(ValueId id) {
        for (std::vector<ValueId> open{id}; !open.empty();) {
            const ValueId next = open.back();
            open.pop_back();
            if (seen_.insert(next).second)
                follow(next, open);
        }
        return found_.value_or(kIntegers);
    }

private:
    // Takes what the readers of a value say of it; `open` gets the values to which they pass it on.
    void follow(ValueId id, std::vector<ValueId>& open) {
        for (const NodeId consumer : graph_.consumers(id)) {
            const Node& node = graph_.node(consumer);
            for (const IndexInput& index : indexInputs(graph_, node))
                if (node.inputs[index.input] == id)
                    take(index.drawn);
            if (passesValues(node) && node.hasInput(0) && node.inputs[0] == id && node.outputs[0].valid())
                open.push_back(node.outputs[0]);
        }
    }

    void take(const IndexRange& drawn) {
        const IndexRange before = found_.value_or(drawn);
        const std::int64_t least = std::max(before.least, drawn.least);
        found_ = {least, std::max(least, std::min(before.most, drawn.most))};
    }

    const Graph& graph_;
    std::set<ValueId> seen_;
    std::optional<IndexRange> found_;
};

template <class T> T draw(Rng& rng, const IndexRange& range, float low) {
    if constexpr (std::is_same_v<T, bool>)
        return rng.chance(0.5);
    else if constexpr (std::is_same_v<T, Half>)
        return floatToHalf(rng.uniform(low, 1));
    else if constexpr (std::is_same_v<T, BFloat>)
        return floatToBfloat(rng.uniform(low, 1));
    else if constexpr (std::is_same_v<T, float>)
        return rng.uniform(low, 1);
    else if constexpr (std::is_same_v<T, double>)
        return low + rng.uniform() * (1 - double{low});
    else {
        const auto largest = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
        const std::uint64_t least = std::min(static_cast<std::uint64_t>(range.least), largest);
        return static_cast<T>(least + rng.below(std::min(static_cast<std::uint64_t>(range.most), largest) - least + 1));
    }
}

Status requireDrawable(const std::string& inputName, const TensorType& type) {
    const std::string name = "input '" + inputName + "'";
    if (type.opaque)
        return unsupportedError(name + " is " + type.text() + ", and only tensors are computed");
    if (!type.dims)
        return inputError(name + " has no known rank, so no value can be drawn for it");
    for (std::size_t axis = 0; axis < type.dims->size(); ++axis)
        if (const Dim& dim = (*type.dims)[axis]; !dim.known())
            return inputError(name + " has the open dimension '" +
                              (dim.symbol.empty() ? inputName + "." + std::to_string(axis) : dim.symbol) +
                              "': give it a value with dims");
    if (type.dtype == DType::undefined || type.dtype == DType::string)
        return unsupportedError(name + " is of type " + std::string(dtypeName(type.dtype)) +
                                ", which cannot be drawn");
    const auto count = checkedElementCount(type.shape());
    const DType drawn = widenedType(type.dtype);
    if (!count || *count > kMostElements || !valuesFit(static_cast<std::int64_t>(storedBytes(drawn, *count))))
        return inputError(name + " of type " + type.text() + " is too large");
    return {};
}

} // namespace

std::vector<IndexRange> inputBounds(const Graph& graph) {
    std::vector<IndexRange> bounds;
    for (const ValueId id : graph.inputs())
        bounds.push_back(DrawnRange(graph).of(id));
    return bounds;
}

Result<Tensor> randomInput(const std::string& name, const TensorType& type, const IndexRange& bounds, std::uint64_t seed,
                           std::size_t index, float low) {
    TS_TRY(requireDrawable(name, type));
    Rng rng(Hasher().add(seed).add(index).value());
    Tensor tensor = Tensor::zeros(widenedType(type.dtype), type.shape());
    visitDType(tensor.type(), [&](auto tag) {
        using T = decltype(tag);
        for (T& element : tensor.mutableData<T>())
            element = draw<T>(rng, bounds, low);
    });
    return tensor.cast(type.dtype);
}

Result<std::vector<Tensor>> randomInputs(const Graph& graph, std::uint64_t seed) {
    const std::vector<IndexRange> bounds = inputBounds(graph);
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs()) {
        const Value& value = graph.value(id);
        if (value.hasDefault()) {
            inputs.push_back(value.fallback);
            continue;
        }
        TS_ASSIGN(Tensor tensor, randomInput(value.name, value.type, bounds[inputs.size()], seed, inputs.size()));
        inputs.push_back(std::move(tensor));
    }
    return inputs;
}

} // namespace tunesmith
