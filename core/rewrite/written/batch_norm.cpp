// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/written/families.h"
#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/rule.h"
#include "core/rewrite/written/weights.h"

// BatchNormalization with known statistics is a factor and a summand for each channel.
namespace tunesmith::rewrite {
namespace {

constexpr const char* kInference = "the normalization is for inference: its statistics are constants and its only result is the data";

bool isInference(const Draft& draft, NodeNo norm) {
    if (!draft.is(norm, "BatchNormalization") || draft.node(norm).outputs != 1 || draft.op(norm).intAttr("training_mode", 0) != 0)
        return false;
    for (std::size_t i = 1; i <= 4; ++i)
        if (!draft.isWeight(draft.operand(norm, i)))
            return false;
    return true;
}

struct Affine {
    ValueNo scale, shift; // vectors
};

// In the type of the statistics or at least 32 bits, so that models of 16 bits lose nothing here.
Affine affineOf(Draft& draft, NodeNo norm) {
    const bool isDouble = draft.dtype(draft.operand(norm, 0)) == DType::f64 || draft.dtype(draft.operand(norm, 4)) == DType::f64;
    const DType type = isDouble ? DType::f64 : DType::f32;
    const auto operand = [&](std::size_t i) { return castTo(draft, draft.operand(norm, i), type); };
    const double epsilon = draft.op(norm).floatAttr("epsilon", 1e-5F);
    const ValueNo deviation = draft.add("Sqrt", {draft.add("Add", {operand(4), scalar(draft, type, epsilon)})});
    const ValueNo scale = draft.add("Div", {operand(1), deviation});
    return {scale, draft.add("Sub", {operand(2), draft.add("Mul", {operand(3), scale})})};
}

// The convolution that the normalization can become part of.
NodeNo foldableConv(const Draft& draft, NodeNo norm) {
    const ValueNo data = draft.operand(norm, 0);
    const NodeNo conv = plainMaker(draft, data);
    if (!isConvolution(draft, conv) || !isReadOnce(draft, data) || !draft.isWeight(draft.operand(conv, 1)))
        return kNone;
    return draft.operand(conv, 2) == kNone || draft.isWeight(draft.operand(conv, 2)) ? conv : kNone;
}

// The weights of what becomes something else, where others read them.
std::vector<ValueNo> weightsStillRead(const Draft& draft, NodeNo node) {
    const ValueNo weights = draft.operand(node, 1);
    return isReadBesides(draft, weights, node) ? std::vector{weights} : std::vector<ValueNo>();
}

std::vector<ValueNo> foldIntoConv(Draft& draft, const Match& match) {
    const NodeNo conv = plainMaker(draft, draft.operand(match.anchor, 0));
    const auto [scale, shift] = affineOf(draft, match.anchor);
    const DType wide = draft.dtype(scale), type = draft.dtype(match.values[0]);
    const ValueNo bias = castTo(draft, draft.operand(conv, 2), wide);
    const ValueNo weights = scaledOutputs(draft, conv, castTo(draft, draft.operand(conv, 1), wide), scale);
    const ValueNo moved = bias == kNone ? shift : draft.add("Add", {draft.add("Mul", {bias, scale}), shift});
    return {again(draft, conv, {draft.operand(conv, 0), castTo(draft, weights, type), castTo(draft, moved, type)})};
}

ValueNo statistics(SampleModel& model, ValueNo data, std::int64_t channels) {
    std::map<std::string, Attribute> attributes{{"epsilon", model.pick({1e-5F, 1e-3F, 0.25F})}};
    const std::int64_t training = model.opset() >= 14 && model.chance(0.1) ? 1 : 0;
    if (training || model.chance(0.1))
        attributes["training_mode"] = training;
    const bool reads = training ? model.chance(0.5) : model.opset() < 14 && model.chance(0.1);
    if (data == kNone)
        return kNone;
    const ValueNo scale = model.weight({channels}), bias = model.weight({channels}), mean = model.weight({channels});
    return model.draft().add("BatchNormalization", {data, scale, bias, mean, model.positive({channels})}, attributes, !reads ? 1 : training ? 3 : 5);
}

WrittenRule foldBatchNorm() {
    return {{"fold-batch-norm",
             "batchnorm(conv(x, w, b)) = conv(x, w * s, (b - mean) * s + bias), where s = scale / sqrt(variance + epsilon)",
             {kInference, "the convolution's weights are constants", "only the normalization reads the convolution's result"},
             true},
            [](const Draft& draft, NodeNo norm) {
                return isInference(draft, norm) && foldableConv(draft, norm) != kNone ? std::vector{draft.output(norm)} : std::vector<ValueNo>();
            },
            foldIntoConv,
            [](SampleModel& model) {
                const ConvChoice choice = model.chooseConv();
                return statistics(model, model.anyConv(choice), choice.outputs());
            }};
}

// BN(x w + c) of matrices: the columns are the channels.
struct Product {
    NodeNo node = kNone;
    ValueNo bias = kNone;
};

Product foldableProduct(const Draft& draft, NodeNo norm) {
    const ValueNo data = draft.operand(norm, 0);
    if (draft.shape(data).size() != 2 || !isReadOnce(draft, data))
        return {};
    Product product{madeBy(draft, data, "MatMul"), kNone};
    if (const NodeNo sum = madeBy(draft, data, "Add"); sum != kNone)
        for (const std::size_t i : {std::size_t(0), std::size_t(1)}) {
            const ValueNo bias = draft.operand(sum, i), rest = draft.operand(sum, 1 - i);
            if (draft.isWeight(bias) && isAlong(draft, bias, draft.shape(data), 1) && isReadOnce(draft, rest) && draft.shape(rest) == draft.shape(data))
                product = {madeBy(draft, rest, "MatMul"), bias};
        }
    const bool fits = product.node != kNone && draft.isWeight(draft.operand(product.node, 1)) && draft.shape(draft.operand(product.node, 1)).size() == 2;
    return fits ? product : Product();
}

std::vector<ValueNo> foldIntoProduct(Draft& draft, const Match& match) {
    const Product product = foldableProduct(draft, match.anchor);
    const auto [scale, shift] = affineOf(draft, match.anchor);
    const DType wide = draft.dtype(scale), type = draft.dtype(match.values[0]);
    const ValueNo weights = draft.add("Mul", {castTo(draft, draft.operand(product.node, 1), wide), scale});
    const ValueNo bias = product.bias == kNone ? shift : draft.add("Add", {draft.add("Mul", {castTo(draft, asVector(draft, product.bias), wide), scale}), shift});
    const ValueNo made = draft.add("MatMul", {draft.operand(product.node, 0), castTo(draft, weights, type)});
    return {draft.add("Add", {made, castTo(draft, bias, type)})};
}

WrittenRule foldIntoMatmul() {
    return {{"fold-batch-norm-into-matmul",
             "batchnorm(x w + c) = x (w * s) + (c - mean) * s + bias, where s = scale / sqrt(variance + epsilon)",
             {kInference, "x is a matrix, w and c are constants, c is the same in all rows", "nobody else reads the product and the sum"},
             true},
            [](const Draft& draft, NodeNo norm) {
                return isInference(draft, norm) && foldableProduct(draft, norm).node != kNone ? std::vector{draft.output(norm)} : std::vector<ValueNo>();
            },
            foldIntoProduct,
            [](SampleModel& model) {
                const Shape sizes = model.shape(3);
                ValueNo data = model.draft().add("MatMul", {model.input({sizes[0], sizes[1]}), model.weight({sizes[1], sizes[2]})});
                if (model.chance(0.5))
                    data = model.draft().add("Add", {data, model.alongAxis({sizes[0], sizes[2]}, 1)});
                return data == kNone || model.draft().shape(data).size() != 2 ? kNone : statistics(model, data, model.draft().shape(data)[1]);
            }};
}

WrittenRule batchNormAsArithmetic() {
    return {{"batch-norm-as-arithmetic",
             "batchnorm(x) = x * s + (bias - mean * s), where s = scale / sqrt(variance + epsilon)",
             {kInference, "there is no convolution or product that it can become part of", "the data have at least 32 bits, for sums of large terms lose what 16 have"},
             false},
            [](const Draft& draft, NodeNo norm) {
                const DType type = draft.dtype(draft.output(norm));
                const bool fits = isInference(draft, norm) && foldingType(type) == type && draft.shape(draft.output(norm)).size() >= 2 && foldableConv(draft, norm) == kNone &&
                                  foldableProduct(draft, norm).node == kNone;
                return fits ? std::vector{draft.output(norm)} : std::vector<ValueNo>();
            },
            [](Draft& draft, const Match& match) {
                const auto [scale, shift] = affineOf(draft, match.anchor);
                const DType type = draft.dtype(match.values[0]);
                const std::size_t rank = draft.shape(match.values[0]).size();
                const ValueNo scaled = draft.add("Mul", {draft.operand(match.anchor, 0), along(draft, castTo(draft, scale, type), rank, 1)});
                return std::vector{draft.add("Add", {scaled, along(draft, castTo(draft, shift, type), rank, 1)})};
            },
            [](SampleModel& model) {
                const Shape shape = model.shape(static_cast<std::size_t>(model.between(2, 5)));
                return statistics(model, model.input(shape), shape[1]);
            }};
}

} // namespace

void addBatchNormSubstitutions(std::vector<SubstitutionPtr>& all) {
    addFolding(all, foldBatchNorm(), [](const Draft& draft, NodeNo norm) { return weightsStillRead(draft, foldableConv(draft, norm)); });
    addFolding(all, foldIntoMatmul(), [](const Draft& draft, NodeNo norm) { return weightsStillRead(draft, foldableProduct(draft, norm).node); });
    all.push_back(written(batchNormAsArithmetic()));
}

} // namespace tunesmith::rewrite
