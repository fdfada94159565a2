// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <numeric>

#include "core/ops/operator.h"
#include "core/rewrite/write_nodes.h"
#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/merging.h"

namespace tunesmith::rewrite {
namespace {

// Each element by itself, with operands that are repeated along the first axes. BatchNormalization's are along the second, and in training
// its elements depend on each other.
bool isElementwise(const Draft& draft, NodeNo node) {
    const Operator* const op = findOperator(draft.op(node).op, draft.op(node).domain);
    return op && op->fusion == Fusion::elementwise && op->deterministic && draft.node(node).outputs == 1 && isPlain(draft, node) &&
           !draft.is(node, "BatchNormalization");
}

// Neighbouring parts of a split.
struct Run {
    NodeNo split = kNone;
    std::size_t first = 0, count = 0;
    bool isWhole(const Draft& draft) const { return count == draft.node(split).outputs; }
};

// Whether cutting out a run moves no bytes.
bool cutsRows(const Draft& draft, NodeNo split) {
    const Shape& whole = draft.shape(draft.operand(split, 0));
    return std::all_of(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(axisOf(draft, split)), [](std::int64_t extent) { return extent == 1; });
}

// The run as one value; parts beside it, and those in it that somebody reads, are split off that.
ValueNo valueOf(Draft& draft, const Run& run) {
    if (run.isWhole(draft))
        return draft.operand(run.split, 0);
    const auto axis = static_cast<std::int64_t>(axisOf(draft, run.split));
    const std::vector<std::int64_t> all = extentsOf(draft, run.split);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(run.first), end = begin + static_cast<std::ptrdiff_t>(run.count);
    std::vector<std::int64_t> extents(all.begin(), begin);
    extents.push_back(std::accumulate(begin, end, std::int64_t(0)));
    extents.insert(extents.end(), end, all.end());
    const ValueNo parts = addSplit(draft, draft.operand(run.split, 0), axis, extents);
    const ValueNo joined = parts == kNone ? kNone : parts + static_cast<ValueNo>(run.first);
    const ValueNo inside = addSplit(draft, joined, axis, {begin, end});
    if (inside == kNone)
        return kNone;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bool within = i >= run.first && i < run.first + run.count;
        draft.replace(draft.output(run.split, i), within ? inside + static_cast<ValueNo>(i - run.first) : parts + static_cast<ValueNo>(i < run.first ? i : i + 1 - run.count));
    }
    return joined;
}

// The same elementwise operator on neighbouring parts of a split, each beside a part of another split, a constant as wide as the part, or the same
// tensor everywhere: the operator on all of them at once. Where a run is cut out of a split, that must move no bytes.
class OperatorOnParts : public Substitution {
public:
    OperatorOnParts()
        : Substitution({"operator-on-parts", "f(split(x)a, v1); f(split(x)b, v2); ... = split(f(x, concat(v1, v2, ...)))",
                        {"nothing else reads the parts", "other operands are constants or parts of another split as wide as the part, or the same one everywhere",
                         "all parts are read so, or the split cuts whole rows"}, true}) {}

    void find(const Draft& draft, NodeNo anchor, std::vector<Match>& found) const override {
        if (!isPlain(draft, anchor, "Split"))
            return;
        for (std::size_t i = 0; i < draft.node(anchor).outputs;) {
            const Run run = longestRun(draft, anchor, i);
            if (run.count > 1)
                found.push_back({anchor, {draft.output(anchor, i), draft.output(anchor, i + run.count - 1)}});
            i += std::max<std::size_t>(run.count, 1);
        }
    }

    std::string_view apply(Draft& draft, const Match& match) const override {
        const NodeNo split = madeBy(draft, match.values[0], "Split");
        const Run run = split == kNone ? Run() : longestRun(draft, split, draft.value(match.values[0]).output);
        if (run.count < 2)
            return "its parts are not all read alike";
        std::vector<NodeNo> readers;
        for (std::size_t i = 0; i < run.count; ++i)
            readers.push_back(readerOf(draft, split, run.first + i));
        std::vector<ValueNo> operands, results;
        for (std::size_t i = 0; i < draft.operands(readers[0]).size(); ++i)
            operands.push_back(operandOfAll(draft, run, readers, i));
        for (const NodeNo reader : readers)
            results.push_back(draft.output(reader));
        const auto all = extentsOf(draft, split);
        const std::vector<std::int64_t> extents(all.begin() + static_cast<std::ptrdiff_t>(run.first), all.begin() + static_cast<std::ptrdiff_t>(run.first + run.count));
        const auto axis = static_cast<std::int64_t>(axisOf(draft, split));
        return replaceAll(draft, results, addSplit(draft, draft.add(draft.node(readers[0]).op, operands), axis, extents));
    }

    std::optional<Draft> sample(const std::shared_ptr<OperatorTable>& table, Rng& rng) const override;

private:
    // The elementwise node that alone reads a part.
    static NodeNo readerOf(const Draft& draft, NodeNo split, std::size_t part) {
        const ValueNo value = draft.output(split, part);
        const NodeNo reader = onlyReader(draft, value);
        return reader != kNone && isElementwise(draft, reader) && draft.shape(draft.output(reader)) == draft.shape(value) ? reader : kNone;
    }

    static Run longestRun(const Draft& draft, NodeNo split, std::size_t first) {
        std::vector<NodeNo> readers;
        for (std::size_t i = first; i < draft.node(split).outputs; ++i) {
            const NodeNo reader = readerOf(draft, split, i);
            if (reader == kNone || std::ranges::find(readers, reader) != readers.end())
                break;
            readers.push_back(reader);
            if (!fit(draft, {split, first, readers.size()}, readers)) {
                readers.pop_back();
                break;
            }
        }
        Run run{split, first, readers.size()};
        while (run.count > 1 && !isFree(draft, run, readers)) {
            readers.pop_back();
            --run.count;
        }
        return run;
    }

    static bool fit(const Draft& draft, const Run& run, const std::vector<NodeNo>& readers) {
        if (draft.node(readers.back()).op != draft.node(readers[0]).op || draft.operands(readers.back()).size() != draft.operands(readers[0]).size())
            return false;
        for (std::size_t i = 0; i < draft.operands(readers[0]).size(); ++i)
            if (kindOf(draft, run, readers, i) == Kind::none)
                return false;
        return true;
    }

    // Whether no run has to be copied out of its split.
    static bool isFree(const Draft& draft, const Run& run, const std::vector<NodeNo>& readers) {
        const auto free = [&](const Run& each) { return each.isWhole(draft) || cutsRows(draft, each.split); };
        for (std::size_t i = 0; i < draft.operands(readers[0]).size(); ++i)
            if (kindOf(draft, run, readers, i) == Kind::otherParts && !free(otherRun(draft, readers, i)))
                return false;
        return free(run);
    }

    enum class Kind : std::uint8_t { none, part, same, weights, otherParts };
    static Kind kindOf(const Draft& draft, const Run& run, const std::vector<NodeNo>& readers, std::size_t index) {
        bool parts = true, same = true, weights = true;
        const std::size_t rank = draft.shape(draft.output(run.split)).size(), axis = axisOf(draft, run.split);
        for (std::size_t i = 0; i < readers.size(); ++i) {
            const ValueNo operand = draft.operand(readers[i], index), part = draft.output(run.split, run.first + i);
            const std::size_t own = operand == kNone ? 0 : draft.shape(operand).size();
            const bool hasAxis = operand != kNone && own + axis >= rank;
            const std::int64_t extent = hasAxis ? draft.shape(operand)[axis + own - rank] : 1;
            parts = parts && operand == part;
            same = same && operand == draft.operand(readers[0], index) && operand != part && extent == 1;
            weights = weights && hasAxis && draft.isWeight(operand) && extent == draft.shape(part)[axis];
        }
        if (parts || same)
            return parts ? Kind::part : Kind::same;
        if (weights && sameBeside(draft, readers, index, rank - axis))
            return Kind::weights;
        return isOtherRun(draft, run, readers, index) ? Kind::otherParts : Kind::none;
    }

    static Run otherRun(const Draft& draft, const std::vector<NodeNo>& readers, std::size_t index) {
        const ValueNo first = draft.operand(readers[0], index);
        return {madeBy(draft, first, "Split"), first == kNone ? 0 : draft.value(first).output, readers.size()};
    }

    static bool isOtherRun(const Draft& draft, const Run& run, const std::vector<NodeNo>& readers, std::size_t index) {
        const Run other = otherRun(draft, readers, index);
        if (other.split == kNone || other.split == run.split || other.first + other.count > draft.node(other.split).outputs || axisOf(draft, other.split) != axisOf(draft, run.split))
            return false;
        for (std::size_t i = 0; i < readers.size(); ++i)
            if (draft.operand(readers[i], index) != draft.output(other.split, other.first + i) ||
                draft.shape(draft.operand(readers[i], index)) != draft.shape(draft.output(run.split, run.first + i)))
                return false;
        return true;
    }

    // Whether the weights differ in extent along the axis only, which is counted from the back.
    static bool sameBeside(const Draft& draft, const std::vector<NodeNo>& readers, std::size_t index, std::size_t fromBack) {
        const Shape& first = draft.shape(draft.operand(readers[0], index));
        for (const NodeNo reader : readers) {
            Shape shape = draft.shape(draft.operand(reader, index));
            if (shape.size() != first.size())
                return false;
            shape[shape.size() - fromBack] = first[first.size() - fromBack];
            if (shape != first)
                return false;
        }
        return true;
    }

    static ValueNo operandOfAll(Draft& draft, const Run& run, const std::vector<NodeNo>& readers, std::size_t index) {
        const ValueNo first = draft.operand(readers[0], index);
        switch (kindOf(draft, run, readers, index)) {
        case Kind::part: return valueOf(draft, run);
        case Kind::otherParts: return valueOf(draft, otherRun(draft, readers, index));
        case Kind::same: return first == kNone ? Draft::kLeftOut : first;
        default: break;
        }
        std::vector<ValueNo> weights;
        for (const NodeNo reader : readers)
            weights.push_back(draft.operand(reader, index));
        const std::size_t rank = draft.shape(draft.output(run.split)).size(), own = draft.shape(first).size();
        return addConcat(draft, weights, static_cast<std::int64_t>(axisOf(draft, run.split) + own - rank));
    }
};

std::optional<Draft> OperatorOnParts::sample(const std::shared_ptr<OperatorTable>& table, Rng& rng) const {
    const auto between = [&](std::int64_t low, std::int64_t high) { return low + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(high - low + 1))); };
    Draft draft(table);
    Shape shape;
    for (std::int64_t i = 0, rank = between(1, 4); i < rank; ++i)
        shape.push_back(rng.chance(0.4) ? 1 : rng.chance(0.02) ? 0 : between(1, 3));
    const std::size_t axis = rng.below(shape.size());
    std::vector<std::int64_t> extents;
    for (std::int64_t i = 0, count = between(2, 4); i < count; ++i)
        extents.push_back(rng.chance(0.02) ? 0 : between(1, 3));
    const auto splitInput = [&](const std::vector<std::int64_t>& of, std::uint64_t label) {
        Shape whole = shape;
        whole[axis] = std::accumulate(of.begin(), of.end(), std::int64_t(0));
        return addSplit(draft, draft.addInput(table->add(TensorType(DType::f32, whole)), label), static_cast<std::int64_t>(axis), of);
    };
    const ValueNo parts = splitInput(extents, 1);
    std::vector<std::int64_t> more{between(1, 2)};
    more.insert(more.end(), extents.begin(), extents.end());
    const std::uint64_t kind = rng.below(5);
    const ValueNo others = kind == 4 ? splitInput(more, 2) : kNone, shared = scalar(draft, DType::f32, 3);
    std::vector<ValueNo> outputs;
    for (std::size_t i = 0; i < extents.size(); ++i) {
        const ValueNo part = parts + static_cast<ValueNo>(i);
        Shape beside = shape;
        beside[axis] = extents[i];
        if (kind == 3)
            beside.assign(1, 1);
        const bool otherwise = rng.chance(0.15);
        outputs.push_back(kind == 0 || otherwise ? addRelu(draft, otherwise ? draft.add("Neg", {part}) : part)
                          : kind == 1            ? draft.add("Mul", {part, shared})
                          : kind == 4            ? draft.add("Mul", {others + static_cast<ValueNo>(i + 1), part})
                                                 : draft.add("Sub", {randomWeight(draft, beside, rng), part}));
        if (kind == 4 && rng.chance(0.3))
            outputs.push_back(addRelu(draft, others + static_cast<ValueNo>(i + 1)));
    }
    if (std::ranges::find(outputs, kNone) != outputs.end())
        return std::nullopt;
    draft.setOutputs(std::move(outputs));
    return draft.settle() ? std::optional(std::move(draft)) : std::nullopt;
}

} // namespace

void addSplitMotion(std::vector<SubstitutionPtr>& all) { all.push_back(std::make_shared<OperatorOnParts>()); }

} // namespace tunesmith::rewrite
