// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/rewrite/pattern.h"
#include "core/rewrite/write_nodes.h"
#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/merging.h"

namespace tunesmith::rewrite {
namespace {

bool hasOneGroup(const Draft& draft, NodeNo conv) { return draft.op(conv).intAttr("group", 1) == 1; }

bool hasConstantWeights(const Draft& draft, NodeNo conv) {
    return draft.isWeight(draft.operand(conv, 1)) && (draft.operand(conv, 2) == kNone || draft.isWeight(draft.operand(conv, 2)));
}

// Convolutions that read the same tensor at the same positions are one with all their kernels, the small ones enlarged by zeros. TASO's
// merging of convolutions and its enlarging are two rules; one after the other they pass through graphs that are dearer than both ends.
class MergeConvolutions : public Substitution {
public:
    MergeConvolutions()
        : Substitution({"merge-convolutions",
                        "conv(x, v1); conv(x, v2); ... = split(conv(x, concat(enlarge(v1), enlarge(v2), ...)))",
                        {"all have one group", "all have the same strides and dilations, and pads that grow with the kernel", "weights are constants"},
                        false}) {}

    void find(const Draft& draft, NodeNo anchor, std::vector<Match>& found) const override {
        const auto window = usableWindow(draft, anchor);
        if (!window)
            return;
        std::vector<ValueNo> alike{draft.output(anchor)}, all = alike;
        for (const NodeNo other : draft.consumers(draft.operand(anchor, 0))) {
            if (other <= anchor || usableWindow(draft, other) != window || draft.operand(other, 0) != draft.operand(anchor, 0) || !kernelsAgree(draft, anchor, other))
                continue;
            const bool same = kernelOf(draft, other) == kernelOf(draft, anchor);
            all.push_back(draft.output(other));
            if (same)
                alike.push_back(draft.output(other));
            else
                found.push_back({anchor, {draft.output(anchor), draft.output(other)}});
        }
        if (alike.size() > 1)
            found.push_back({anchor, alike});
        if (all.size() > 2 && all.size() > alike.size())
            found.push_back({anchor, all});
    }

    std::string_view apply(Draft& draft, const Match& match) const override {
        std::array<std::int64_t, 2> kernel{1, 1};
        bool anyBias = false;
        for (const ValueNo value : match.values) {
            const NodeNo conv = draft.maker(value, "Conv");
            if (conv == kNone || !usableWindow(draft, conv))
                return "a convolution has changed";
            for (std::size_t d = 0; d < 2; ++d)
                kernel[d] = std::max(kernel[d], kernelOf(draft, conv)[d]);
            anyBias = anyBias || draft.operand(conv, 2) != kNone;
        }
        return merge(draft, match, kernel, anyBias);
    }

    std::optional<Draft> sample(const std::shared_ptr<OperatorTable>& table, Rng& rng) const override {
        const auto between = [&](std::int64_t low, std::int64_t high) { return low + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(high - low + 1))); };
        Draft draft(table);
        const Shape x{rng.chance(0.02) ? 0 : between(1, 2), between(1, 4), between(3, 7), between(3, 7)};
        const ValueNo data = draft.addInput(table->add(TensorType(DType::f32, x)), 1);
        ConvWindow window;
        for (std::size_t d = 0; d < 2; ++d) {
            window.strides[d] = between(1, 2);
            window.dilations[d] = between(1, 2);
            window.begin[d] = between(-1, 1);
            window.end[d] = between(-1, 1);
        }
        std::vector<ValueNo> outputs;
        for (std::int64_t i = 0, count = between(2, 4); i < count; ++i) {
            const bool depthwise = rng.chance(0.1);
            const Shape w{depthwise ? x[1] : between(1, 3), depthwise ? 1 : x[1], between(1, 3), between(1, 3)};
            const OperatorNo op = convOperator(*table, window, w, depthwise ? x[1] : 1);
            std::vector<ValueNo> operands{data, randomWeight(draft, w, rng)};
            if (rng.chance(0.5))
                operands.push_back(randomWeight(draft, {w[0]}, rng));
            outputs.push_back(op == kNone ? kNone : draft.add(op, operands));
        }
        if (std::ranges::find(outputs, kNone) != outputs.end())
            return std::nullopt;
        draft.setOutputs(std::move(outputs));
        return draft.settle() ? std::optional(std::move(draft)) : std::nullopt;
    }

private:
    static std::array<std::int64_t, 2> kernelOf(const Draft& draft, NodeNo conv) {
        const Shape& w = draft.shape(draft.operand(conv, 1));
        return {w[2], w[3]};
    }

    static std::optional<ConvWindow> usableWindow(const Draft& draft, NodeNo node) {
        if (!isPlain(draft, node, "Conv") || !hasOneGroup(draft, node) || !hasConstantWeights(draft, node) || draft.shape(draft.operand(node, 0)).size() != 4)
            return std::nullopt;
        return windowOf(draft, node);
    }

    // Kernels grow by as much on both sides: both odd or both even.
    static bool kernelsAgree(const Draft& draft, NodeNo a, NodeNo b) {
        const auto first = kernelOf(draft, a), second = kernelOf(draft, b);
        return (first[0] - second[0]) % 2 == 0 && (first[1] - second[1]) % 2 == 0;
    }

    static std::string_view merge(Draft& draft, const Match& match, const std::array<std::int64_t, 2>& kernel, bool anyBias) {
        const NodeNo first = draft.maker(match.values[0], "Conv");
        std::vector<ValueNo> weights, biases;
        std::vector<std::int64_t> extents;
        for (const ValueNo value : match.values) {
            const NodeNo conv = draft.maker(value, "Conv");
            const auto own = kernelOf(draft, conv);
            const std::vector<std::int64_t> around{0, 0, (kernel[0] - own[0]) / 2, (kernel[1] - own[1]) / 2};
            weights.push_back(addZeros(draft, draft.operand(conv, 1), around, around));
            extents.push_back(draft.shape(value)[1]);
            const ValueNo bias = draft.operand(conv, 2);
            if (anyBias)
                biases.push_back(bias != kNone ? bias : draft.constant(Tensor::zeros(draft.dtype(value), {extents.back()})));
        }
        const ValueNo allWeights = addConcat(draft, weights, 0);
        if (allWeights == kNone)
            return "the kernels do not fit together";
        const auto window = windowOf(draft, first);
        std::vector<ValueNo> operands{draft.operand(first, 0), allWeights};
        if (anyBias)
            operands.push_back(addConcat(draft, biases, 0));
        const OperatorNo op = convOperator(draft.table(), *window, draft.shape(allWeights), 1);
        const ValueNo parts = op == kNone ? kNone : addSplit(draft, draft.add(op, operands), 1, extents);
        return replaceAll(draft, match.values, parts);
    }
};

} // namespace

void addConvolutionMerging(std::vector<SubstitutionPtr>& all) { all.push_back(std::make_shared<MergeConvolutions>()); }

} // namespace tunesmith::rewrite
