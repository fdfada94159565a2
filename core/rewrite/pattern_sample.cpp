// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/pattern_sample.h"

#include <numeric>

#include "core/rewrite/pattern_constants.h"
#include "core/rewrite/shape_guess.h"
#include "core/rewrite/write_nodes.h"

namespace tunesmith::rewrite {
namespace {

bool isBroadcast(const Shape& from, const Shape& to) {
    if (from.size() > to.size())
        return false;
    for (std::size_t d = 0; d < from.size(); ++d)
        if (from[from.size() - 1 - d] != 1 && from[from.size() - 1 - d] != to[to.size() - 1 - d])
            return false;
    return true;
}

// Shapes go down from the results: each operator says what its operands must be like. What is decided already is looked up on the way.
class Sampler {
public:
    Sampler(const Pattern& pattern, Reading reading, const std::shared_ptr<OperatorTable>& table, Rng& rng)
        : pattern_(pattern), rule_(pattern.rule), reading_(reading), draft_(table), rng_(rng), values_(pattern.rule.nodes.size(), kNone),
          choices_(pattern, reading, *table, rng), guess_(pattern, choices_, draft_, values_) {}

    std::optional<Draft> run() {
        std::vector<ValueNo> outputs;
        for (const TermId id : pattern_.from) {
            outputs.push_back(make(id, filled(id, guess_.of(id))));
            if (outputs.back() == kNone)
                return std::nullopt;
        }
        draft_.setOutputs(std::move(outputs));
        return draft_.settle() ? std::optional(std::move(draft_)) : std::nullopt;
    }

private:
    std::int64_t extent() { return choices_.palette[rng_.below(choices_.palette.size())]; }

    Shape filled(TermId id, Shape shape) {
        for (std::size_t d = 0; d < shape.size(); ++d)
            if (shape[d] == kOpen)
                shape[d] = guess_.isWeights(id) && d >= 2 ? guess_.kernelOf(id, d - 2) : d >= 2 && pattern_.kind == Pattern::Kind::image ? between(rng_, 2, 4) : extent();
        return shape;
    }

    ValueNo make(TermId id, const Shape& goal) {
        if (values_[id] != kNone)
            return draft_.shape(values_[id]) == goal || (reading_ == Reading::wide && isBroadcast(draft_.shape(values_[id]), goal)) ? values_[id] : kNone;
        const ValueNo made = makeNew(id, goal);
        if (made != kNone)
            values_[id] = made;
        return made;
    }

    ValueNo makeNew(TermId id, const Shape& goal) {
        const Term& term = rule_.nodes[id];
        switch (term.op) {
        case TermOp::input: return input(id, goal);
        case TermOp::relu: return addRelu(draft_, make(term.inputs[0], goal));
        case TermOp::scale: return draft_.add("Mul", {make(term.inputs[0], goal), make(term.inputs[1], {1})});
        case TermOp::add: return elementwise("Add", term, goal);
        case TermOp::mul: return elementwise("Mul", term, goal);
        case TermOp::matmul: return matmul(term, goal);
        case TermOp::conv: return conv(term, goal);
        case TermOp::convRelu: return addRelu(draft_, conv(term, goal));
        case TermOp::averagePool: return pool(choices_.averagePool, term, goal);
        case TermOp::maxPool: return pool(choices_.maxPool, term, goal);
        case TermOp::enlarge: return enlarge(term, goal);
        case TermOp::transpose: return transpose(term, goal);
        case TermOp::concat: return concat(term, goal);
        case TermOp::split: return split(term, goal);
        default: return constant(term, goal);
        }
    }

    ValueNo input(TermId id, const Shape& goal) {
        if (goal.size() == 1 && pattern_.rank[id] == 1 && reading_ == Reading::wide && rng_.chance(0.5))
            return draft_.addInput(draft_.table().add(TensorType(DType::f32, Shape())), id);
        return draft_.addInput(draft_.table().add(TensorType(DType::f32, goal)), id);
    }

    // Both operands, of such shapes; a variable first, for it has to be what others make of it otherwise.
    std::optional<std::array<ValueNo, 2>> both(const Term& term, const Shape& a, const Shape& b) {
        const bool secondFirst = rule_.nodes[term.inputs[1]].op == TermOp::input && rule_.nodes[term.inputs[0]].op != TermOp::input;
        std::array<ValueNo, 2> made{kNone, kNone};
        for (const std::size_t i : {std::size_t(secondFirst), std::size_t(!secondFirst)})
            if ((made[i] = make(term.inputs[i], i == 0 ? a : b)) == kNone)
                return std::nullopt;
        return made;
    }

    ValueNo elementwise(const char* op, const Term& term, const Shape& goal) {
        const int repeated = reading_ == Reading::wide && rng_.chance(0.4) ? static_cast<int>(rng_.below(2)) : -1;
        const auto operands = both(term, repeated == 0 ? thinned(term.inputs[0], goal) : goal, repeated == 1 ? thinned(term.inputs[1], goal) : goal);
        return operands ? draft_.add(draft_.table().add(op), *operands) : kNone;
    }

    // A shape that is repeated to the goal.
    Shape thinned(TermId id, Shape goal) {
        while (pattern_.kind != Pattern::Kind::image && pattern_.rank[id] != 1 && goal.size() > 1 && rng_.chance(0.4))
            goal.erase(goal.begin());
        const bool isIdentity = rule_.nodes[id].op == TermOp::productIdentity; // which is square
        for (std::int64_t& each : goal)
            each = isIdentity || rng_.chance(0.3) ? 1 : each;
        return goal;
    }

    ValueNo matmul(const Term& term, const Shape& goal) {
        if (goal.size() < 2)
            return kNone;
        const std::int64_t inner = innerExtent(term, goal);
        Shape a = goal, b = goal;
        a.back() = inner;
        b[b.size() - 2] = inner;
        if (goal.size() > 2 && term.inputs[0] != term.inputs[1] && rng_.chance(0.6))
            b.erase(b.begin()); // one right side for the whole batch
        const auto operands = both(term, a, b);
        return operands ? draft_.add(draft_.table().add("MatMul"), *operands) : kNone;
    }

    std::int64_t innerExtent(const Term& term, const Shape& goal) {
        if (term.inputs[0] == term.inputs[1])
            return goal.back();
        const Shape a = guess_.of(term.inputs[0]), b = guess_.of(term.inputs[1]);
        if (a.size() > 1 && a.back() != kOpen)
            return a.back();
        return b.size() > 1 && b[b.size() - 2] != kOpen ? b[b.size() - 2] : extent();
    }

    ValueNo conv(const Term& term, const Shape& goal) {
        const bool isPool = arePoolWeights(rule_, term.inputs[1]);
        const auto window = isPool ? windowOfPool(draft_.table()[choices_.averagePool]).value() : choices_.window;
        const auto channels = channelsFor(term, goal[1], isPool);
        if (!channels)
            return kNone;
        const auto [all, group] = *channels;
        const Shape knownX = guess_.of(term.inputs[0]), knownW = guess_.of(term.inputs[1]);
        Shape x{goal[0], all, 0, 0}, w{goal[1], all / group, kOpen, kOpen};
        for (std::size_t d = 0; d < 2; ++d) {
            x[d + 2] = knownX[d + 2] != kOpen ? knownX[d + 2] : (goal[d + 2] - 1) * window.strides[d] + 1 - window.begin[d] - window.end[d] + between(rng_, 0, window.strides[d] - 1);
            w[d + 2] = isPool ? poolKernel()[d] : term.inputs[0] == term.inputs[1] ? x[d + 2] : knownW[d + 2] != kOpen ? knownW[d + 2] : guess_.kernelOf(term.inputs[1], d);
            if (x[d + 2] < 1 || (reading_ == Reading::taso && w[d + 2] % 2 == 0))
                return kNone;
        }
        const ValueNo weights = make(term.inputs[1], w), data = weights == kNone ? kNone : make(term.inputs[0], x);
        const OperatorNo op = data == kNone ? kNone : convOperator(draft_.table(), window, w, group);
        return op == kNone ? kNone : draft_.add(op, std::array{data, weights});
    }

    std::vector<std::int64_t> poolKernel() const { return draft_.table()[choices_.averagePool].intsAttr("kernel_shape"); }

    // Of the data, and groups; nothing where what is decided does not go together.
    std::optional<std::pair<std::int64_t, std::int64_t>> channelsFor(const Term& term, std::int64_t filters, bool isPool) {
        const std::int64_t data = guess_.of(term.inputs[0])[1], inGroup = guess_.of(term.inputs[1])[1];
        if (isPool)
            return std::pair(filters, filters);
        if (term.inputs[0] == term.inputs[1])
            return std::pair(data != kOpen ? data : extent(), std::int64_t(1));
        if (const auto channels = identityChannels(term.inputs[1], filters))
            return *channels > 0 ? std::optional(std::pair(*channels, std::int64_t(1))) : std::nullopt;
        const std::int64_t all = data != kOpen ? data : inGroup != kOpen ? inGroup * (rng_.chance(0.5) ? 1 : 2) : extent();
        if (inGroup != kOpen)
            return all % inGroup == 0 ? std::optional(std::pair(all, all / inGroup)) : std::nullopt;
        std::int64_t group = choices_.depthwise ? all : 0;
        while (group == 0 || all % group != 0 || filters % group != 0)
            group = rng_.chance(0.4) ? 1 : between(rng_, 1, all);
        return std::pair(all, group);
    }

    // How many channels weights have in which so many filters are the identity, as they are or with something added to them.
    std::optional<std::int64_t> identityChannels(TermId weights, std::int64_t filters) const {
        const Term& term = rule_.nodes[weights];
        switch (term.op) {
        case TermOp::convIdentity: return filters;
        case TermOp::scale: return identityChannels(term.inputs[0], filters);
        case TermOp::add: {
            const auto first = identityChannels(term.inputs[0], filters);
            return first ? first : identityChannels(term.inputs[1], filters);
        }
        case TermOp::concat: return term.inputs[0] == term.inputs[1] ? identityChannels(term.inputs[0], filters / 2) : std::nullopt;
        default: return std::nullopt;
        }
    }

    ValueNo pool(OperatorNo op, const Term& term, const Shape& goal) {
        const Node& node = draft_.table()[op];
        const auto kernel = node.intsAttr("kernel_shape"), strides = node.intsAttr("strides"), pads = node.intsAttr("pads");
        Shape x = goal;
        const Shape known = guess_.of(term.inputs[0]);
        for (std::size_t d = 0; d < 2; ++d)
            x[d + 2] = known[d + 2] != kOpen ? known[d + 2] : std::max<std::int64_t>(1, (goal[d + 2] - 1) * strides[d] + kernel[d] - pads[d] - pads[d + 2]);
        const ValueNo data = make(term.inputs[0], x);
        return data == kNone ? kNone : draft_.add(op, std::array{data});
    }

    ValueNo enlarge(const Term& term, const Shape& goal) {
        Shape w = goal;
        std::vector<std::int64_t> around(4);
        const Shape known = guess_.of(term.inputs[0]);
        for (std::size_t d = 0; d < 2; ++d) {
            w[d + 2] = known[d + 2] != kOpen ? known[d + 2] : guess_.kernelOf(term.inputs[0], d);
            const std::int64_t more = goal[d + 2] - w[d + 2];
            if (more < 0 || more % 2 != 0)
                return kNone;
            around[d + 2] = more / 2;
        }
        return addZeros(draft_, make(term.inputs[0], w), around, around);
    }

    ValueNo transpose(const Term& term, const Shape& goal) {
        std::vector<std::int64_t> perm(goal.size());
        std::iota(perm.begin(), perm.end(), std::int64_t(0));
        if (goal.size() < 2)
            return kNone;
        std::swap(perm[goal.size() - 1], perm[goal.size() - 2]);
        const ValueNo operand = make(term.inputs[0], withLastTwoSwapped(goal));
        return operand == kNone ? kNone : addTranspose(draft_, operand, perm);
    }

    ValueNo concat(const Term& term, const Shape& goal) {
        const std::size_t axis = guess_.axisAt(term.axis, goal.size());
        if (axis >= goal.size() || goal[axis] < 2)
            return kNone;
        const Shape knownA = guess_.of(term.inputs[0]), knownB = guess_.of(term.inputs[1]);
        std::int64_t first = goal[axis] % 2 == 0 && (term.inputs[0] == term.inputs[1] || rng_.chance(0.6)) ? goal[axis] / 2 : between(rng_, 1, goal[axis] - 1);
        if (axis < knownA.size() && knownA[axis] != kOpen)
            first = knownA[axis];
        else if (axis < knownB.size() && knownB[axis] != kOpen)
            first = goal[axis] - knownB[axis];
        else if (const auto square = identityIn(term); square && goal.size() == 4 && axis == 0)
            first = *square == 0 ? goal[1] : goal[axis] - goal[1];
        if (first < 1 || first >= goal[axis])
            return kNone;
        Shape a = goal, b = goal;
        a[axis] = first;
        b[axis] = goal[axis] - first;
        const auto parts = both(term, a, b);
        return !parts || draft_.shape((*parts)[0]) != a || draft_.shape((*parts)[1]) != b ? kNone : addConcat(draft_, {(*parts)[0], (*parts)[1]}, static_cast<std::int64_t>(axis));
    }

    // Which part is the identity, which has as many filters as channels.
    std::optional<std::size_t> identityIn(const Term& term) const {
        for (const std::size_t i : {0U, 1U})
            if (rule_.nodes[term.inputs[i]].op == TermOp::convIdentity)
                return i;
        return std::nullopt;
    }

    ValueNo split(const Term& term, const Shape& goal) {
        const std::size_t axis = guess_.axisAt(term.axis, goal.size());
        if (axis >= goal.size())
            return kNone;
        const Shape known = guess_.of(term.inputs[0]);
        Shape whole = goal;
        whole[axis] = axis < known.size() && known[axis] != kOpen ? known[axis] : goal[axis] + (rng_.chance(0.5) ? goal[axis] : between(rng_, 1, 3));
        const std::int64_t rest = whole[axis] - goal[axis];
        const ValueNo operand = rest < 1 ? kNone : make(term.inputs[0], whole);
        const std::vector<std::int64_t> extents = term.part == 0 ? std::vector{goal[axis], rest} : std::vector{rest, goal[axis]};
        const ValueNo parts = operand == kNone ? kNone : addSplit(draft_, operand, static_cast<std::int64_t>(axis), extents);
        return parts == kNone ? kNone : parts + term.part;
    }

    ValueNo constant(const Term& term, const Shape& goal) {
        const auto tensor = constantOf(term, goal);
        return tensor ? draft_.constant(*tensor) : kNone;
    }

    const Pattern& pattern_;
    const Rule& rule_;
    const Reading reading_;
    Draft draft_;
    Rng& rng_;
    std::vector<ValueNo> values_; // by term
    const SampleChoices choices_;
    const ShapeGuess guess_;
};

} // namespace

std::optional<Draft> samplePattern(const Pattern& pattern, Reading reading, const std::shared_ptr<OperatorTable>& table, Rng& rng) {
    return Sampler(pattern, reading, table, rng).run();
}

} // namespace tunesmith::rewrite
