// SPDX-License-Identifier: GPL-3.0-or-later
#include <array>
#include <numbers>

#include "core/rewrite/written/families.h"
#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/rule.h"
#include "core/rewrite/written/weights.h"

// Operators that models spell out in many nodes.
namespace tunesmith::rewrite {
namespace {

// The other operand of a sum or product with that number.
ValueNo besides(const Draft& draft, NodeNo node, double number) {
    for (const std::size_t i : {std::size_t(0), std::size_t(1)})
        if (node != kNone && isNumber(draft, draft.operand(node, i), number))
            return draft.operand(node, 1 - i);
    return kNone;
}

// x of 1 + erf(x / sqrt(2)).
ValueNo insideErf(const Draft& draft, ValueNo value) {
    const NodeNo erf = madeBy(draft, besides(draft, madeBy(draft, value, "Add"), 1), "Erf");
    if (erf == kNone)
        return kNone;
    const NodeNo quotient = madeBy(draft, draft.operand(erf, 0), "Div");
    if (quotient != kNone && isNumber(draft, draft.operand(quotient, 1), std::numbers::sqrt2))
        return draft.operand(quotient, 0);
    return besides(draft, madeBy(draft, draft.operand(erf, 0), "Mul"), 1 / std::numbers::sqrt2);
}

// x of 0.5 * x * (1 + erf(x / sqrt(2))), in any order.
ValueNo insideGelu(const Draft& draft, NodeNo product) {
    for (const std::size_t i : {std::size_t(0), std::size_t(1)}) {
        const NodeNo inner = madeBy(draft, draft.operand(product, i), "Mul");
        if (inner == kNone)
            continue;
        std::array<ValueNo, 3> factors{draft.operand(product, 1 - i), draft.operand(inner, 0), draft.operand(inner, 1)};
        for (int turn = 0; turn < 3; ++turn, std::ranges::rotate(factors, factors.begin() + 1))
            if (const ValueNo x = insideErf(draft, factors[0]); x != kNone)
                if ((factors[1] == x && isNumber(draft, factors[2], 0.5)) || (factors[2] == x && isNumber(draft, factors[1], 0.5)))
                    return x;
    }
    return kNone;
}

ValueNo shuffled(SampleModel& model, const char* op, const std::array<ValueNo, 2>& operands) {
    const std::size_t first = model.rng().below(2);
    return model.draft().add(op, {operands[first], operands[1 - first]});
}

ValueNo sampleGelu(SampleModel& model) {
    const std::size_t rank = static_cast<std::size_t>(model.between(0, 3));
    ValueNo x = model.input(model.shape(rank));
    if (model.chance(0.3))
        x = model.draft().add("Mul", {x, x});
    const auto number = [&](double value) { return model.number(value, model.rng().below(rank + 1)); };
    const double root = model.chance(0.05) ? 1.5 : std::numbers::sqrt2;
    const ValueNo inside = model.chance(0.5) ? model.draft().add("Div", {x, number(root)}) : shuffled(model, "Mul", {x, number(1 / root)});
    std::array<ValueNo, 3> factors{x, number(model.chance(0.05) ? 1 : 0.5), shuffled(model, "Add", {model.draft().add("Erf", {inside}), number(1)})};
    std::ranges::rotate(factors, factors.begin() + model.between(0, 2));
    return shuffled(model, "Mul", {factors[0], shuffled(model, "Mul", {factors[1], factors[2]})});
}

WrittenRule gelu() {
    return {{"recognize-gelu", "x * 0.5 * (1 + erf(x / sqrt(2))) = gelu(x)", {"the model's opset is 20 or newer"}, false},
            [](const Draft& draft, NodeNo product) {
                const ValueNo x = draft.table().opset() >= 20 && draft.is(product, "Mul") ? insideGelu(draft, product) : kNone;
                return x == kNone ? std::vector<ValueNo>() : std::vector{draft.output(product), x};
            },
            [](Draft& draft, const Match& match) { return std::vector{draft.add("Gelu", {match.values[1]})}; },
            sampleGelu,
            {20, 20, 20, 18}};
}

// The first of the last axes that a mean is taken over, which stay as extents of 1; nothing if it is over others.
std::optional<std::int64_t> firstOfLastAxes(const Draft& draft, NodeNo mean) {
    const auto rank = static_cast<std::int64_t>(draft.shape(draft.operand(mean, 0)).size());
    auto axes = numbersOf(draft, mean, "axes", 1);
    if (!axes || axes->empty() || draft.op(mean).intAttr("keepdims", 1) != 1)
        return std::nullopt;
    for (std::int64_t& axis : *axes)
        axis += axis < 0 ? rank : 0;
    std::ranges::sort(*axes);
    for (std::size_t i = 0; i < axes->size(); ++i)
        if ((*axes)[i] != rank - static_cast<std::int64_t>(axes->size() - i))
            return std::nullopt;
    return axes->front();
}

bool isSquareOf(const Draft& draft, ValueNo value, ValueNo root) {
    const NodeNo product = madeBy(draft, value, "Mul"), power = madeBy(draft, value, "Pow");
    if (product != kNone)
        return draft.operand(product, 0) == root && draft.operand(product, 1) == root;
    return power != kNone && draft.operand(power, 0) == root && isNumber(draft, draft.operand(power, 1), 2);
}

struct Normalized {
    ValueNo x = kNone;
    std::int64_t axis = 0;
    double epsilon = 0;
};

// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon).
std::optional<Normalized> normalizedBy(const Draft& draft, NodeNo quotient) {
    const ValueNo centred = draft.operand(quotient, 0);
    const NodeNo difference = madeBy(draft, centred, "Sub"), root = madeBy(draft, draft.operand(quotient, 1), "Sqrt");
    if (difference == kNone || root == kNone)
        return std::nullopt;
    const NodeNo mean = madeBy(draft, draft.operand(difference, 1), "ReduceMean"), sum = madeBy(draft, draft.operand(root, 0), "Add");
    const ValueNo x = draft.operand(difference, 0);
    if (mean == kNone || sum == kNone || draft.operand(mean, 0) != x)
        return std::nullopt;
    for (const std::size_t i : {std::size_t(0), std::size_t(1)}) {
        const auto epsilon = numberOf(draft, draft.operand(sum, i));
        const NodeNo variance = madeBy(draft, draft.operand(sum, 1 - i), "ReduceMean");
        if (!epsilon || variance == kNone || !isSquareOf(draft, draft.operand(variance, 0), centred))
            continue;
        const auto axis = firstOfLastAxes(draft, mean);
        if (axis && axis == firstOfLastAxes(draft, variance))
            return Normalized{x, *axis, *epsilon};
    }
    return std::nullopt;
}

// The only reader of a value, if it is of that operator and its result has the same shape, and the other operand.
struct Reader {
    ValueNo result = kNone, other = kNone;
};
Reader readerOf(const Draft& draft, ValueNo value, std::string_view op) {
    const NodeNo node = isReadOnce(draft, value) ? draft.consumers(value)[0] : kNone;
    if (node == kNone || !draft.is(node, op) || !isPlain(draft, node) || draft.shape(draft.output(node)) != draft.shape(value))
        return {};
    const std::size_t i = draft.operand(node, 0) == value ? 1 : 0;
    return draft.operand(node, i) == value ? Reader() : Reader{draft.output(node), draft.operand(node, i)};
}

// Whether a factor or summand is a constant for each element of the axes that are normalised, which is all that other runtimes take.
bool fits(const Draft& draft, const Reader& reader, const Normalized& normalized) {
    const Shape& x = draft.shape(normalized.x);
    return reader.result != kNone && draft.isWeight(reader.other) && draft.shape(reader.other) == Shape(x.begin() + normalized.axis, x.end());
}

// The result, x, the factors and, if there are any, the summands; kLeftOut where the quotient is not scaled.
std::vector<ValueNo> findLayerNorm(const Draft& draft, NodeNo quotient) {
    const auto normalized = draft.table().opset() >= 17 && draft.is(quotient, "Div") ? normalizedBy(draft, quotient) : std::nullopt;
    if (!normalized || !isFloat(draft.dtype(normalized->x)))
        return {};
    Reader scaled = readerOf(draft, draft.output(quotient), "Mul");
    if (!fits(draft, scaled, *normalized))
        scaled = {draft.output(quotient), Draft::kLeftOut};
    const Reader shifted = readerOf(draft, scaled.result, "Add");
    if (!fits(draft, shifted, *normalized))
        return {scaled.result, normalized->x, scaled.other};
    return {shifted.result, normalized->x, scaled.other, shifted.other};
}

ValueNo onesFor(Draft& draft, const Normalized& normalized) {
    const Shape& x = draft.shape(normalized.x);
    Tensor ones = Tensor::zeros(DType::f32, Shape(x.begin() + normalized.axis, x.end()));
    std::ranges::fill(ones.mutableData<float>(), 1.0F);
    return draft.constant(ones.cast(draft.dtype(normalized.x)));
}

ValueNo mean(SampleModel& model, ValueNo value, const std::vector<std::int64_t>& axes, std::int64_t keep) {
    if (model.opset() >= 18)
        return model.draft().add("ReduceMean", {value, model.ints(axes)}, {{"keepdims", keep}});
    return model.draft().add("ReduceMean", {value}, {{"axes", axes}, {"keepdims", keep}});
}

ValueNo sampleLayerNorm(SampleModel& model) {
    const Shape shape = model.shape(static_cast<std::size_t>(model.between(1, 4)));
    std::vector<std::int64_t> axes;
    for (std::int64_t axis = -1; axis >= -static_cast<std::int64_t>(shape.size()) && (axes.empty() || model.chance(0.4)); --axis)
        axes.push_back(model.chance(0.05) ? 0 : model.chance(0.5) ? axis : axis + static_cast<std::int64_t>(shape.size()));
    const ValueNo x = model.input(shape);
    const std::int64_t keep = model.chance(0.03) ? 0 : 1;
    const ValueNo centred = model.draft().add("Sub", {x, mean(model, x, axes, keep)});
    const ValueNo square = model.chance(0.5) ? model.draft().add("Mul", {centred, centred})
                                             : model.draft().add("Pow", {centred, model.number(model.chance(0.05) ? 4 : 2)});
    const std::vector<std::int64_t> axesOfSquares = model.chance(0.05) ? std::vector<std::int64_t>{-1} : axes;
    const ValueNo variance = shuffled(model, "Add", {mean(model, square, axesOfSquares, keep), model.number(model.pick({1e-5, 1e-3, 0.5}))});
    const ValueNo normal = model.draft().add("Div", {centred, model.draft().add("Sqrt", {variance})});
    const Shape last(shape.end() - static_cast<std::ptrdiff_t>(axes.size()), shape.end());
    const auto operand = [&]() { return model.chance(0.9) ? model.weight(last) : model.input(shape); };
    const ValueNo scaled = model.chance(0.2) ? normal : shuffled(model, "Mul", {normal, operand()});
    return model.chance(0.8) ? shuffled(model, "Add", {scaled, operand()}) : scaled;
}

WrittenRule layerNorm() {
    return {{"recognize-layer-norm",
             "(x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * scale + bias = layernorm(x, scale, bias)",
             {"the means are over the last axes", "scale and bias are constants of those axes, or left out", "the model's opset is 17 or newer"},
             false},
            findLayerNorm,
            [](Draft& draft, const Match& match) {
                const Normalized normalized = *normalizedBy(draft, match.anchor);
                const OperatorNo op = draft.table().add("LayerNormalization", {{"axis", normalized.axis}, {"epsilon", static_cast<float>(normalized.epsilon)}});
                std::vector<ValueNo> operands(match.values.begin() + 1, match.values.end());
                if (operands[1] == Draft::kLeftOut)
                    operands[1] = onesFor(draft, normalized);
                return std::vector{draft.add(op, operands)};
            },
            sampleLayerNorm,
            {17, 18, 20}};
}

} // namespace

void addRecognitionSubstitutions(std::vector<SubstitutionPtr>& all) {
    all.push_back(written(gelu()));
    all.push_back(written(layerNorm()));
}

} // namespace tunesmith::rewrite
