// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/optimize/draft_cost.h"

#include <algorithm>

#include "core/rewrite/written/inspect.h"

namespace tunesmith::optimize {
namespace {

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2))) * 0xbf58476d1ce4e5b9ull;
    return x ^ (x >> 29);
}

double elementsOf(const Draft& draft, ValueNo value) {
    return draft.value(value).type == rewrite::kNone ? 0 : static_cast<double>(elementCount(draft.shape(value)));
}

double flopsOf(const Draft& draft, NodeNo node) {
    const double results = elementsOf(draft, draft.output(node));
    const bool plain = rewrite::isPlain(draft, node); // others have no shapes to look at
    if (plain && draft.is(node, "Conv")) {
        const Shape& w = draft.shape(draft.operand(node, 1));
        return 2 * results * static_cast<double>(elementCount(std::span(w).subspan(1)));
    }
    if (plain && (draft.is(node, "MatMul") || draft.is(node, "Gemm"))) {
        const Shape& a = draft.shape(draft.operand(node, 0));
        const bool transposed = draft.is(node, "Gemm") && draft.op(node).intAttr("transA", 0) != 0;
        return 2 * results * static_cast<double>(transposed ? a.front() : a.back());
    }
    double read = 0;
    for (const ValueNo operand : draft.operands(node))
        if (operand != rewrite::kNone)
            read = std::max(read, elementsOf(draft, operand));
    return std::max(results, read);
}

} // namespace

double DraftCost::ofNode(const Draft& draft, NodeNo node) {
    constexpr double kShared = 0.1; // of what an elementwise operator takes on its own
    if (draft.isWeight(draft.output(node)) || roles_.isFree(draft, node))
        return 0;
    return ofKernel(draft, {&node, 1}) * (roles_.mayJoin(draft, node) ? kShared : 1);
}

double KernelSumCost::of(const Draft& draft) {
    finder_.find(draft, kernels_);
    double sum = 0;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
        const std::uint64_t signature = signatureOf(draft, kernels_[i]);
        auto known = known_.find(signature);
        if (known == known_.end())
            known = known_.emplace(signature, ofKernel(draft, kernels_[i])).first;
        sum += known->second;
    }
    return sum;
}

std::uint64_t signatureOf(const Draft& draft, std::span<const NodeNo> kernel) {
    std::uint64_t hash = kernel.size();
    for (const NodeNo node : kernel) {
        hash = mixed(hash, draft.table().hash(draft.node(node).op));
        for (const ValueNo operand : draft.operands(node)) {
            const rewrite::DraftValue none, &value = operand == rewrite::kNone ? none : draft.value(operand);
            const auto inside = std::ranges::find(kernel, value.maker);
            const auto place = operand != rewrite::kNone && inside != kernel.end() ? static_cast<std::uint64_t>(inside - kernel.begin()) + 1 : 0;
            hash = mixed(hash, value.type * 4ull + (value.weight ? 1 : 0));
            hash = mixed(hash, place);
        }
    }
    return hash;
}

KernelWork workOf(const Draft& draft, std::span<const NodeNo> kernel) {
    KernelWork work;
    std::vector<ValueNo> seen;
    for (const NodeNo node : kernel) {
        work.flops += flopsOf(draft, node);
        for (const ValueNo operand : draft.operands(node)) {
            const bool inside = operand != rewrite::kNone && std::ranges::find(kernel, draft.value(operand).maker) != kernel.end();
            if (operand == rewrite::kNone || inside || std::ranges::find(seen, operand) != seen.end())
                continue;
            seen.push_back(operand);
            work.bytes += rewrite::bytesOf(draft, operand);
            work.weightBytes += draft.isWeight(operand) ? rewrite::bytesOf(draft, operand) : 0;
        }
    }
    for (std::size_t i = 0; i < draft.node(kernel.back()).outputs; ++i)
        work.bytes += rewrite::bytesOf(draft, draft.output(kernel.back(), i));
    return work;
}

double addedWeightBytes(const Draft& draft) {
    std::vector<bool> seen(draft.values(), false);
    std::vector<ValueNo> waiting;
    const auto visit = [&](ValueNo value) {
        if (!draft.isWeight(value) || seen[value])
            return false;
        seen[value] = true;
        waiting.push_back(value);
        return true;
    };
    double read = 0, made = 0;
    for (const NodeNo node : draft.order())
        if (!draft.isWeight(draft.output(node)))
            for (const ValueNo operand : draft.operands(node))
                read += visit(operand) ? rewrite::bytesOf(draft, operand) : 0;
    while (!waiting.empty()) {
        const ValueNo value = waiting.back();
        waiting.pop_back();
        const NodeNo maker = draft.value(value).maker;
        if (maker == rewrite::kNone)
            made += rewrite::bytesOf(draft, value);
        else
            for (const ValueNo operand : draft.operands(maker))
                visit(operand);
    }
    return std::max(0.0, read - made);
}

double addedWeightMs(const Draft& draft, double gigabytesPerSecond) {
    return std::max(0.0, addedWeightBytes(draft) - rewrite::kMayBeTwice) / (gigabytesPerSecond * 1e6);
}

double LaunchCost::of(const Draft& draft) {
    constexpr double kBytesOfLaunch = 7 << 20;
    return KernelSumCost::of(draft) + addedWeightBytes(draft) / kBytesOfLaunch;
}

double LaunchCost::ofKernel(const Draft& draft, std::span<const NodeNo> kernel) { return 1 + workOf(draft, kernel).weightBytes * 1e-12; }

double RooflineCost::kernel(const Draft& draft, std::span<const NodeNo> nodes) const {
    const KernelWork work = workOf(draft, nodes);
    return rates_.launchMs + std::max(work.flops / (rates_.gflops * 1e6), work.bytes / (rates_.gigabytesPerSecond * 1e6));
}

} // namespace tunesmith::optimize
