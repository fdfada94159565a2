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

namespace tunesmith {
namespace {

constexpr std::int64_t kIntegerBound = 10;
constexpr std::int64_t kMostElements = std::int64_t{1} << 56; // so that their bytes can be counted

bool passesValues(const Node& node) {
    constexpr std::array<std::string_view, 9> kPassing{
        "Cast", "Flatten", "Expand", "Identity", "Reshape", "Squeeze", "Slice", "Transpose", "Unsqueeze"};
    return node.domain.empty() && std::find(kPassing.begin(), kPassing.end(), node.op) != kPassing.end();
}

// Operators with an input that counts along another one: along an axis, that which an attribute names, or each of them. Rows
// that another input adds from there on must have room, if that is stated.
constexpr std::int64_t kEachAxis = -100;
constexpr std::size_t kNothing = static_cast<std::size_t>(-1);
struct IndexInput {
    std::string_view op, domain;
    std::size_t index, data;
    std::int64_t axis = 0; // or the attribute's default
    const char* attribute = nullptr;
    std::size_t added = kNothing;
    bool sequence = false; // the other input is [batch, rows, ...], or heads [batch, heads, rows, size]
};
constexpr std::string_view kMicrosoft = "com.microsoft";
constexpr IndexInput kIndexInputs[] = {
    {"Gather", "", 1, 0, 0, "axis"},
    {"GatherElements", "", 1, 0, 0, "axis"},
    {"ScatterElements", "", 1, 0, 0, "axis"},
    {"GatherND", "", 1, 0, kEachAxis},
    {"ScatterND", "", 1, 0, kEachAxis},
    {"TensorScatter", "", 2, 0, -2, "axis", 1},
    {"RoiAlign", "", 2, 0},
    {"RotaryEmbedding", "", 3, 1},
    {"CropAndResize", kMicrosoft, 2, 0},
    {"EmbedLayerNormalization", kMicrosoft, 0, 2},
    {"EmbedLayerNormalization", kMicrosoft, 1, 4},
    {"EmbedLayerNormalization", kMicrosoft, 8, 3},
    {"QEmbedLayerNormalization", kMicrosoft, 0, 2},
    {"QEmbedLayerNormalization", kMicrosoft, 1, 4},
    {"GatherBlockQuantized", kMicrosoft, 1, 0, 0, "gather_axis"},
    {"GatherND", kMicrosoft, 1, 0, kEachAxis},
    {"Attention", kMicrosoft, 6, 4, 3, nullptr, 0, true},
    {"GroupQueryAttention", kMicrosoft, 5, 3, 2},
    {"GroupQueryAttention", kMicrosoft, 9, 7},
    {"MultiHeadAttention", kMicrosoft, 8, 6, 2, nullptr, 1, true},
    {"RotaryEmbedding", kMicrosoft, 1, 2},
};

// The smallest extent that a value used as an index must stay below, or the general bound.
class IndexBound {
public:
    explicit IndexBound(const Graph& graph) : graph_(graph) {}

    std::int64_t of(ValueId id) {
        for (std::vector<ValueId> open{id}; !open.empty();) {
            const ValueId next = open.back();
            open.pop_back();
            if (seen_.insert(next).second)
                follow(next, open);
        }
        return std::max<std::int64_t>(found_ ? bound_ : kIntegerBound, 1);
    }

private:
    // Takes what the readers of a value say of it; `open` gets the values to which they pass it on.
    void follow(ValueId id, std::vector<ValueId>& open) {
        for (const NodeId consumer : graph_.consumers(id)) {
            const Node& node = graph_.node(consumer);
            for (const IndexInput& input : kIndexInputs)
                if (node.op == input.op && node.domain == input.domain && node.hasInput(input.index) &&
                    node.inputs[input.index] == id && node.hasInput(input.data))
                    limit(node, input);
            if (passesValues(node) && node.hasInput(0) && node.inputs[0] == id && node.outputs[0].valid())
                open.push_back(node.outputs[0]);
        }
    }

    void limit(const Node& node, const IndexInput& input) {
        const std::optional<Dims>& dims = graph_.value(node.inputs[input.data]).type.dims;
        if (!dims || dims->empty())
            return;
        if (input.axis == kEachAxis) {
            for (const Dim& dim : *dims)
                take(dim);
            return;
        }
        const auto rank = static_cast<std::int64_t>(dims->size());
        const std::int64_t axis = input.attribute ? node.intAttr(input.attribute, input.axis) : input.axis;
        if (axis < -rank || axis >= rank)
            return;
        const auto place = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
        const std::int64_t added = input.added == kNothing ? 1 : addedBy(node, input, place);
        const Dim& whole = (*dims)[place];
        take(whole.known() ? Dim(std::max<std::int64_t>(whole.extent - added + 1, 1)) : whole);
    }
    // Where keys are left out the queries hold them.
    std::int64_t addedBy(const Node& node, const IndexInput& input, std::size_t place) const {
        const std::size_t from = node.hasInput(input.added) || !input.sequence ? input.added : 0;
        if (!node.hasInput(from))
            return 1;
        const std::optional<Dims>& dims = graph_.value(node.inputs[from]).type.dims;
        const std::size_t rows = dims && dims->size() == 4 ? 2 : 1;
        return extentOf(node.inputs[from], input.sequence ? rows : place);
    }
    std::int64_t extentOf(ValueId id, std::size_t axis) const {
        const TensorType& type = graph_.value(id).type;
        return type.dims && axis < type.dims->size() && (*type.dims)[axis].known() ? (*type.dims)[axis].extent : 1;
    }
    void take(const Dim& dim) {
        const std::int64_t extent = dim.known() ? dim.extent : 1; // unknown: only 0 is surely legal
        bound_ = found_ ? std::min(bound_, extent) : extent;
        found_ = true;
    }

    const Graph& graph_;
    std::set<ValueId> seen_;
    std::int64_t bound_ = 0;
    bool found_ = false;
};

template <class T> T draw(Rng& rng, std::int64_t bound, float low) {
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
        return static_cast<T>(rng.below(std::min(static_cast<std::uint64_t>(bound) - 1, largest) + 1));
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

std::vector<std::int64_t> inputBounds(const Graph& graph) {
    std::vector<std::int64_t> bounds;
    for (const ValueId id : graph.inputs())
        bounds.push_back(IndexBound(graph).of(id));
    return bounds;
}

Result<Tensor> randomInput(const std::string& name, const TensorType& type, std::int64_t bound, std::uint64_t seed,
                           std::size_t index, float low) {
    TS_TRY(requireDrawable(name, type));
    Rng rng(Hasher().add(seed).add(index).value());
    Tensor tensor = Tensor::zeros(widenedType(type.dtype), type.shape());
    visitDType(tensor.type(), [&](auto tag) {
        using T = decltype(tag);
        for (T& element : tensor.mutableData<T>())
            element = draw<T>(rng, bound, low);
    });
    return tensor.cast(type.dtype);
}

Result<std::vector<Tensor>> randomInputs(const Graph& graph, std::uint64_t seed) {
    const std::vector<std::int64_t> bounds = inputBounds(graph);
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
