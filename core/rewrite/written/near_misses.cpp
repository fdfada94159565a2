// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/written/near_misses.h"

#include <array>

#include "core/rewrite/pattern.h"
#include "core/rewrite/written/inspect.h"

namespace tunesmith::rewrite {
namespace {

// Empty: it fits, or is far from it.
using WhyNot = std::string_view (*)(const Draft&, NodeNo);

bool hasKnownWeights(const Draft& draft, NodeNo conv) {
    return draft.isWeight(draft.operand(conv, 1)) && (draft.operand(conv, 2) == kNone || draft.isWeight(draft.operand(conv, 2)));
}

// Of the nodes of the same operator that have the same first operand, the reason that fits best: a partner that would do is none.
std::string_view whyNoPartner(const Draft& draft, NodeNo node, std::string_view (*whyNotAlone)(const Draft&, NodeNo), std::string_view (*whyNotBoth)(const Draft&, NodeNo, NodeNo),
                              std::string_view whyNotOther) {
    std::string_view reason;
    for (const NodeNo other : draft.consumers(draft.operand(node, 0))) {
        if (other == node || !draft.is(other, draft.op(node).op) || !isPlain(draft, other) || draft.operand(other, 0) != draft.operand(node, 0))
            continue;
        if (const std::string_view own = whyNotAlone(draft, node); !own.empty())
            return own;
        const std::string_view pair = whyNotAlone(draft, other).empty() ? whyNotBoth(draft, node, other) : whyNotOther;
        if (pair.empty())
            return {};
        reason = pair;
    }
    return reason;
}

std::string_view whyNotConvolution(const Draft& draft, NodeNo conv) {
    if (draft.op(conv).intAttr("group", 1) != 1)
        return "the convolution has groups";
    if (!hasKnownWeights(draft, conv))
        return "the convolution's weights are not constants";
    return draft.shape(draft.operand(conv, 0)).size() == 4 && windowOf(draft, conv) ? std::string_view() : "the convolution is not over two dimensions with known pads";
}

std::string_view whyNotConvolutions(const Draft& draft, NodeNo a, NodeNo b) {
    const Shape &first = draft.shape(draft.operand(a, 1)), &second = draft.shape(draft.operand(b, 1));
    if ((first[2] - second[2]) % 2 != 0 || (first[3] - second[3]) % 2 != 0)
        return "of the kernels of the two convolutions one is odd, one even";
    return windowOf(draft, a) == windowOf(draft, b) ? std::string_view() : "strides, dilations or pads of the two convolutions differ";
}

std::string_view whyNotMergeConvolutions(const Draft& draft, NodeNo node) {
    if (!draft.is(node, "Conv"))
        return {};
    return whyNoPartner(draft, node, whyNotConvolution, whyNotConvolutions, "the other convolution of its input has groups, or weights that are not constants");
}

std::string_view whyNotProduct(const Draft& draft, NodeNo product) {
    if (!draft.isWeight(draft.operand(product, 1)))
        return "the product's right side is not a constant";
    const bool matrices = draft.shape(draft.operand(product, 1)).size() == 2 && draft.shape(draft.operand(product, 0)).size() >= 2;
    return matrices ? std::string_view() : "the product's right side is not one matrix";
}

std::string_view whyNotMergeProducts(const Draft& draft, NodeNo node) {
    if (!draft.is(node, "MatMul"))
        return {};
    return whyNoPartner(
        draft, node, whyNotProduct, [](const Draft&, NodeNo, NodeNo) { return std::string_view(); }, "the right side of the other product is not a constant matrix");
}

// What keeps the convolution that makes the value from taking something into its weights.
std::string_view whyNotIntoConvolution(const Draft& draft, ValueNo result) {
    if (!hasKnownWeights(draft, plainMaker(draft, result)))
        return "the convolution's weights are not constants";
    return isReadOnce(draft, result) ? std::string_view() : "something else reads the convolution's result";
}

std::string_view whyNotFoldNorm(const Draft& draft, NodeNo norm) {
    if (!draft.is(norm, "BatchNormalization") || !isConvolution(draft, plainMaker(draft, draft.operand(norm, 0))))
        return {};
    if (draft.node(norm).outputs != 1 || draft.op(norm).intAttr("training_mode", 0) != 0)
        return "the normalization is for training";
    for (std::size_t i = 1; i <= 4; ++i)
        if (!draft.isWeight(draft.operand(norm, i)))
            return "the normalization's statistics are not constants";
    return whyNotIntoConvolution(draft, draft.operand(norm, 0));
}

// What a constant is multiplied with, or divided by it; kNone where there is none.
ValueNo scaledValue(const Draft& draft, NodeNo node) {
    const bool product = draft.is(node, "Mul");
    for (const std::size_t i : {std::size_t(0), std::size_t(1)})
        if ((product || (i == 0 && draft.is(node, "Div"))) && draft.isWeight(draft.operand(node, 1 - i)))
            return draft.operand(node, i);
    return kNone;
}

ValueNo factorOf(const Draft& draft, NodeNo node, ValueNo scaled) { return draft.operand(node, draft.operand(node, 0) == scaled ? 1 : 0); }

std::string_view whyNotScaleConvolution(const Draft& draft, NodeNo node) {
    const ValueNo scaled = scaledValue(draft, node);
    if (scaled == kNone || !isConvolution(draft, plainMaker(draft, scaled)))
        return {};
    if (!isAlong(draft, factorOf(draft, node, scaled), draft.shape(scaled), 1))
        return "the factor is neither one number nor one for each channel";
    return whyNotIntoConvolution(draft, scaled);
}

std::string_view whyNotScaleProduct(const Draft& draft, NodeNo node) {
    const ValueNo scaled = scaledValue(draft, node);
    const NodeNo product = scaled == kNone ? kNone : madeBy(draft, scaled, "MatMul");
    if (product == kNone)
        return {};
    if (!draft.isWeight(draft.operand(product, 0)) && !draft.isWeight(draft.operand(product, 1)))
        return "neither side of the product is a constant";
    const ValueNo factor = factorOf(draft, node, scaled);
    const Shape& shape = draft.shape(scaled);
    for (const std::size_t side : {std::size_t(0), std::size_t(1)})
        if (draft.isWeight(draft.operand(product, side)) && (isSingle(draft, factor) || (shape.size() >= 2 && isAlong(draft, factor, shape, shape.size() - 2 + side))))
            return isReadOnce(draft, scaled) ? std::string_view() : "something else reads the product";
    return "the factor is neither one number nor one for each column or row of the constant";
}

struct Watched {
    const char* rule;
    WhyNot why;
};
constexpr std::array kWatched{Watched{"merge-convolutions", whyNotMergeConvolutions}, Watched{"merge-products", whyNotMergeProducts}, Watched{"fold-batch-norm", whyNotFoldNorm},
                              Watched{"scale-conv-weights", whyNotScaleConvolution}, Watched{"scale-matmul-weights", whyNotScaleProduct}};

} // namespace

std::vector<NearMiss> nearMisses(const Draft& draft) {
    std::vector<NearMiss> all;
    for (const NodeNo node : draft.order()) {
        if (!isPlain(draft, node) || draft.isWeight(draft.output(node)))
            continue;
        for (const Watched& watched : kWatched)
            if (const std::string_view reason = watched.why(draft, node); !reason.empty())
                all.push_back({watched.rule, reason, node});
    }
    return all;
}

} // namespace tunesmith::rewrite
