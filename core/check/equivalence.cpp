// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/equivalence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "core/graph/stored_types.h"

namespace tunesmith {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T> double widen(T value) {
    if constexpr (std::is_same_v<T, Half>)
        return halfToFloat(value);
    else if constexpr (std::is_same_v<T, BFloat>)
        return bfloatToFloat(value);
    else
        return static_cast<double>(value);
}

template <class T> double scaleOf(std::span<const T> values) {
    double scale = 0;
    for (const T value : values)
        if (const double magnitude = std::abs(widen(value)); std::isfinite(magnitude))
            scale = std::max(scale, magnitude);
    return scale;
}

std::string position(std::int64_t index, const Shape& shape) {
    const Shape strides = rowMajorStrides(shape);
    std::string text;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        text += (axis ? "," : "") + std::to_string(index / strides[axis]);
        index %= strides[axis];
    }
    return "[" + text + "]";
}

// How far outside the tolerance a pair is: at most 1 is inside.
double excess(double reference, double other, double scale, const Tolerance& tolerance) {
    if (std::isnan(reference) || std::isnan(other))
        return std::isnan(reference) && std::isnan(other) ? 0 : kInfinity;
    if (reference == other)
        return 0;
    if (std::isinf(reference) || std::isinf(other))
        return kInfinity;
    const double allowed = std::max(tolerance.relative * std::abs(reference), tolerance.absolute * scale);
    const double distance = std::abs(other - reference);
    return allowed > 0 ? distance / allowed : kInfinity;
}

template <class T>
void compareFloats(const Tensor& reference, const Tensor& other, const Tolerance& tolerance,
                   Difference& result) {
    const auto a = reference.data<T>();
    const auto b = other.data<T>();
    result.scale = scaleOf(a);
    double worst = -1;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double x = widen(a[i]), y = widen(b[i]);
        const double outside = excess(x, y, result.scale, tolerance);
        if (std::isfinite(x) && std::isfinite(y)) {
            result.maxAbs = std::max(result.maxAbs, std::abs(y - x));
            if (x != 0)
                result.maxRel = std::max(result.maxRel, std::abs((y - x) / x));
        }
        result.mismatches += outside > 1;
        if (outside > worst) {
            worst = outside;
            result.worst = static_cast<std::int64_t>(i);
        }
    }
}

template <class T> void compareIntegers(const Tensor& reference, const Tensor& other, Difference& result) {
    const auto a = reference.data<T>();
    const auto b = other.data<T>();
    result.scale = scaleOf(a);
    double worst = -1;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double distance = a[i] == b[i] ? 0 : std::max(std::abs(widen(b[i]) - widen(a[i])), 1.0);
        result.maxAbs = std::max(result.maxAbs, distance);
        if (a[i] != T{})
            result.maxRel = std::max(result.maxRel, distance / std::abs(widen(a[i])));
        result.mismatches += a[i] != b[i];
        if (distance > worst) {
            worst = distance;
            result.worst = static_cast<std::int64_t>(i);
        }
    }
}

void compareStrings(const Tensor& reference, const Tensor& other, Difference& result) {
    for (std::size_t i = 0; i < reference.strings().size(); ++i)
        if (reference.strings()[i] != other.strings()[i] && result.mismatches++ == 0)
            result.worst = static_cast<std::int64_t>(i);
}

void describe(const Tensor& reference, const Tensor& other, Difference& result) {
    result.equal = result.mismatches == 0;
    if (result.equal)
        return;
    std::ostringstream text;
    text << result.mismatches << " of " << reference.count() << " elements differ, worst at "
         << position(result.worst, reference.shape());
    if (reference.type() == DType::string)
        text << ": '" << other.strings()[result.worst] << "' instead of '"
             << reference.strings()[result.worst] << "'";
    else
        text << ": " << other.asDouble(result.worst) << " instead of " << reference.asDouble(result.worst)
             << " (scale of the output " << result.scale << ")";
    result.text = text.str();
}

Difference unequal(std::string text) {
    Difference result;
    result.equal = false;
    result.maxAbs = result.maxRel = kInfinity;
    result.text = std::move(text);
    return result;
}

std::string typeText(const Tensor& tensor) {
    if (tensor.isSequence())
        return "a sequence of " + std::to_string(tensor.elements().size());
    return tensor.isNothing() ? "nothing" : tensor.absent() ? "absent" : TensorType(tensor.type(), tensor.shape()).text();
}

// Of their elements, the one that is furthest off.
Difference compareSequences(const Tensor& reference, const Tensor& other, const Tolerance& tolerance) {
    if (!other.isSequence() || reference.elements().size() != other.elements().size())
        return unequal("is " + typeText(other) + " instead of " + typeText(reference));
    Difference worst;
    for (std::size_t i = 0; i < reference.elements().size(); ++i) {
        Difference difference = compareTensors(reference.elements()[i], other.elements()[i], tolerance);
        if (!difference.equal)
            difference.text = "element " + std::to_string(i) + ": " + difference.text;
        if (worst.equal && (!difference.equal || difference.maxAbs >= worst.maxAbs))
            worst = std::move(difference);
    }
    return worst;
}

} // namespace

Difference compareTensors(const Tensor& reference, const Tensor& other, const Tolerance& tolerance) {
    if (reference.isSequence())
        return compareSequences(reference, other, tolerance);
    if (reference.isNothing() != other.isNothing() || other.isSequence())
        return unequal("is " + typeText(other) + " instead of " + typeText(reference));
    if (reference.type() != other.type() || reference.shape() != other.shape())
        return unequal("is " + typeText(other) + " instead of " + typeText(reference));
    if (isStored(reference.type())) // by value: codes of NaN may differ
        return compareTensors(widenStored(reference), widenStored(other), tolerance);
    Difference result;
    if (reference.type() == DType::string)
        compareStrings(reference, other, result);
    else if (reference.type() != DType::undefined)
        visitDType(reference.type(), [&](auto tag) {
            using T = decltype(tag);
            if constexpr (std::is_integral_v<T>)
                compareIntegers<T>(reference, other, result);
            else
                compareFloats<T>(reference, other, tolerance, result);
        });
    describe(reference, other, result);
    return result;
}

std::vector<Difference> compareTensors(std::span<const Tensor> reference, std::span<const Tensor> other,
                                       const Tolerance& tolerance) {
    if (reference.size() != other.size())
        return {unequal("there are " + std::to_string(other.size()) + " outputs instead of " +
                        std::to_string(reference.size()))};
    std::vector<Difference> results;
    for (std::size_t i = 0; i < reference.size(); ++i)
        results.push_back(compareTensors(reference[i], other[i], tolerance));
    return results;
}

Status requireEquivalent(std::span<const Tensor> reference, std::span<const Tensor> other,
                         std::span<const std::string> names, const Tolerance& tolerance) {
    const auto differences = compareTensors(reference, other, tolerance);
    for (std::size_t i = 0; i < differences.size(); ++i) {
        if (differences[i].equal)
            continue;
        if (reference.size() != other.size())
            return inputError("the results differ: " + differences[i].text);
        const std::string name = i < names.size() ? "'" + names[i] + "'" : std::to_string(i);
        return inputError("output " + name + " differs: " + differences[i].text);
    }
    return {};
}

} // namespace tunesmith
