// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/rng.h"
#include "core/graph/graph_builder.h"

namespace tunesmith {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Half of what separates neighbours, relative; nothing worth mentioning of wide types.
template <class T> constexpr double kRounding = std::is_same_v<T, Half> ? 0x1p-11 : std::is_same_v<T, BFloat> ? 0x1p-8 : 0;

template <class T> double numberOf(T value) {
    if constexpr (std::is_same_v<T, Half>)
        return halfToFloat(value);
    else if constexpr (std::is_same_v<T, BFloat>)
        return bfloatToFloat(value);
    else
        return static_cast<double>(value);
}

template <class T> T elementOf(double value) {
    if constexpr (std::is_same_v<T, Half>)
        return floatToHalf(static_cast<float>(value));
    else if constexpr (std::is_same_v<T, BFloat>)
        return floatToBfloat(static_cast<float>(value));
    else
        return static_cast<T>(value);
}

template <class T> constexpr bool kMoves = std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat>;

template <class T> Tensor nudgedFloats(const Tensor& tensor, Rng& rng, double relative) {
    Tensor moved = Tensor::zeros(tensor.type(), tensor.shape());
    std::ranges::transform(tensor.data<T>(), moved.mutableData<T>().begin(), [&](T value) {
        const T other = elementOf<T>(numberOf(value) * (1 + std::max(relative, kRounding<T>) * (2 * rng.uniform() - 1)));
        return std::isfinite(numberOf(other)) ? other : value;
    });
    return moved;
}

Tensor nudgedTensor(const Tensor& tensor, Rng& rng, double relative) {
    Tensor moved = tensor;
    if (!tensor.absent() && tensor.type() != DType::string)
        visitDType(tensor.type(), [&](auto tag) {
            if constexpr (kMoves<decltype(tag)>)
                moved = nudgedFloats<decltype(tag)>(tensor, rng, relative);
        });
    return moved;
}

// Both, or the same without a distance between them.
bool haveDistance(double a, double b) { return std::isfinite(a) && std::isfinite(b); }
// A whole number in exact models: beside it, powers of negative numbers are none.
bool isExponent(const Graph& graph, ValueId id) {
    return std::ranges::any_of(graph.consumers(id), [&](NodeId reader) {
        const Node& node = graph.node(reader);
        return node.op == "Pow" && node.inputs.size() == 2 && node.inputs[1] == id;
    });
}

bool sameUnbounded(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

template <class T> Deviation floatDeviation(std::span<const T> reference, std::span<const T> other) {
    double scale = 0, distance = 0;
    std::size_t strange = 0;
    for (std::size_t i = 0; i < reference.size(); ++i) {
        const double a = numberOf(reference[i]), b = numberOf(other[i]);
        if (std::isfinite(a))
            scale = std::max(scale, std::abs(a));
        if (haveDistance(a, b))
            distance = std::max(distance, std::abs(b - a));
        else
            strange += !sameUnbounded(a, b);
    }
    const double share = static_cast<double>(strange) / static_cast<double>(std::max<std::size_t>(reference.size(), 1));
    return {distance == 0 ? 0 : scale > 0 ? distance / scale : kUnbounded, share, 0};
}

// Says whether nudges that move the outputs this far explain the difference that was found.
bool explains(const Deviation& nudged, const Deviation& found) {
    constexpr double kLayers = 10, kGrown = 1e-2, kTwice = 2;
    const bool small = found.distance <= std::min(kGrown, kLayers * nudged.distance);
    const bool large = found.distance <= kTwice * nudged.distance && found.outside <= kLayers * nudged.outside;
    return std::isfinite(found.largest()) && (small || large) && found.share <= kLayers * nudged.share;
}

void widen(std::vector<Deviation>& all, std::size_t output, const Deviation& one) {
    all.resize(std::max(all.size(), output + 1));
    all[output].distance = std::max(all[output].distance, one.distance);
    all[output].share = std::max(all[output].share, one.share);
    all[output].outside = std::max(all[output].outside, one.outside);
}

double largestOf(const std::vector<Deviation>& all) {
    double largest = 0;
    for (const Deviation& each : all)
        largest = std::max(largest, each.largest());
    return largest;
}

} // namespace

std::vector<Tensor> nudgedInputs(std::span<const Tensor> inputs, std::uint64_t seed, double relative) {
    Rng rng(seed);
    std::vector<Tensor> moved;
    for (const Tensor& input : inputs)
        moved.push_back(nudgedTensor(input, rng, relative));
    return moved;
}

Result<Graph> nudgedWeights(const Graph& graph, std::uint64_t seed, double relative) {
    Rng rng(seed);
    GraphBuilder builder(graph);
    for (std::size_t i = 0; i < graph.valueCount(); ++i)
        if (const ValueId id(static_cast<std::int64_t>(i)); graph.value(id).isConstant() && !isExponent(graph, id))
            builder.setConstant(id, nudgedTensor(graph.value(id).constant, rng, relative));
    return builder.build();
}

Deviation deviationOf(const Tensor& reference, const Tensor& other) {
    if (reference.type() != other.type() || reference.shape() != other.shape())
        return {kUnbounded, 0, 1};
    if (reference.absent())
        return {};
    const auto mismatches = static_cast<double>(compareTensors(reference, other).mismatches);
    const double outside = mismatches / static_cast<double>(std::max<std::int64_t>(reference.count(), 1));
    Deviation deviation{0, outside, outside};
    if (reference.type() != DType::string)
        visitDType(reference.type(), [&](auto tag) {
            using T = decltype(tag);
            if constexpr (kMoves<T>) {
                deviation = floatDeviation<T>(reference.data<T>(), other.data<T>());
                deviation.outside = outside;
            }
        });
    return deviation;
}

void Agreement::addDraw(std::span<const Tensor> reference, std::span<const Tensor> other) {
    ++draws_;
    const std::vector<Difference> differences = compareTensors(reference, other);
    for (std::size_t i = 0; i < differences.size(); ++i) {
        const Deviation deviation = reference.size() == other.size() ? deviationOf(reference[i], other[i]) : Deviation{kUnbounded, 0, 1};
        widen(found_, i, deviation);
        widen(outside_, i, differences[i].equal ? Deviation() : deviation);
        if (text_.empty() && !differences[i].equal)
            text_ = differences.size() > 1 ? "output " + std::to_string(i) + ": " + differences[i].text : differences[i].text;
    }
}

void Agreement::addNudge(std::span<const Tensor> reference, std::span<const Tensor> nudged) {
    for (std::size_t i = 0; i < std::min(reference.size(), nudged.size()); ++i)
        widen(nudged_, i, deviationOf(reference[i], nudged[i]));
}

bool Agreement::holds() const {
    for (std::size_t i = 0; i < outside_.size(); ++i)
        if (outside_[i].largest() > 0 && !explains(i < nudged_.size() ? nudged_[i] : Deviation(), outside_[i]))
            return false;
    return true;
}

double Agreement::difference() const { return largestOf(found_); }
double Agreement::nudged() const { return largestOf(nudged_); }

} // namespace tunesmith
