// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/pattern_sample.h"

#include <algorithm>
#include <numeric>

#include "core/rewrite/write_nodes.h"

namespace tunesmith::rewrite {
namespace {

constexpr std::int64_t kOpen = -1; // an extent that is not decided

// Shapes go down from the results: each operator says what its operands must be like. What is decided already is looked up on the way.
class Sampler {
public:
    Sampler(const Pattern& pattern, const std::shared_ptr<OperatorTable>& table, Rng& rng)
        : pattern_(pattern), rule_(pattern.rule), draft_(table), rng_(rng), values_(pattern.rule.nodes.size(), kNone) {
        drawWindows();
        drawRank();
    }

    std::optional<Draft> run() {
        std::vector<ValueNo> outputs;
        for (const TermId id : pattern_.from) {
            outputs.push_back(make(id, filled(id, guess(id))));
            if (outputs.back() == kNone)
                return std::nullopt;
        }
        draft_.setOutputs(std::move(outputs));
        return draft_.settle() ? std::optional(std::move(draft_)) : std::nullopt;
    }

private:
    std::int64_t between(std::int64_t low, std::int64_t high) { return low + static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(high - low + 1))); }
    std::int64_t extent() { return palette_[rng_.below(palette_.size())]; }

    // Few different extents, so that those that must agree often do.
    void drawWindows() {
        static constexpr std::array<std::array<std::int64_t, 2>, 6> kPalettes{{{2, 2}, {2, 4}, {4, 4}, {1, 3}, {3, 6}, {2, 3}}};
        const auto& chosen = kPalettes[rng_.below(kPalettes.size())];
        palette_.assign(chosen.begin(), chosen.end());
        plain_ = rng_.chance(0.4);
        for (std::size_t d = 0; d < 2; ++d) {
            small_[d] = rng_.chance(0.85) ? 1 : 3;
            large_[d] = rng_.chance(0.6) ? 3 : between(1, 4);
            if (!plain_) {
                window_.strides[d] = between(1, 2);
                window_.dilations[d] = rng_.chance(0.8) ? 1 : 2;
                window_.begin[d] = rng_.chance(0.5) ? 0 : between(-1, 1);
                window_.end[d] = rng_.chance(0.5) ? window_.begin[d] : between(-1, 1);
            }
        }
        drawPools();
    }

    void drawPools() {
        std::vector<std::int64_t> kernel, strides, pads(4);
        for (std::size_t d = 0; d < 2; ++d) {
            kernel.push_back(plain_ ? 3 : between(1, 3));
            strides.push_back(plain_ ? 1 : between(1, 2));
            pads[d] = plain_ ? 1 : between(0, kernel[d] - 1);
            pads[d + 2] = plain_ || rng_.chance(0.5) ? pads[d] : between(0, kernel[d] - 1);
        }
        std::map<std::string, Attribute> attributes{{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}};
        maxPool_ = draft_.table().add("MaxPool", attributes);
        attributes["count_include_pad"] = std::int64_t(rng_.chance(0.6));
        averagePool_ = draft_.table().add("AveragePool", attributes);
    }

    void drawRank() {
        rank_ = static_cast<std::size_t>(between(pattern_.kind == Pattern::Kind::free ? 1 : 2, pattern_.kind == Pattern::Kind::matrix ? 3 : 4));
        if (pattern_.kind != Pattern::Kind::free)
            return;
        std::vector<int> axes(rank_);
        std::iota(axes.begin(), axes.end(), -static_cast<int>(rank_));
        for (auto& axis : binding_.axes) {
            if (axes.empty())
                return;
            const std::size_t chosen = rng_.below(axes.size());
            axis = axes[chosen];
            axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(chosen));
        }
    }

    std::size_t axisAt(std::uint8_t axis, std::size_t rank) const { return axisOf(pattern_, binding_, axis, rank).value_or(rank); }

    bool isWeights(TermId id) const { // by the shape that it was found with
        const Term& term = rule_.nodes[id];
        return pattern_.kind == Pattern::Kind::image && pattern_.rank[id] == 4 && term.op == TermOp::input && rule_.variables[term.inputs[0]].extents[2] != 5;
    }

    Shape open(TermId id) const {
        if (pattern_.rank[id] == 1)
            return {1};
        return Shape(pattern_.kind == Pattern::Kind::image ? 4 : rank_, kOpen);
    }

    // What is decided of a term's shape by the values that there are.
    Shape guess(TermId id) {
        if (values_[id] != kNone)
            return draft_.shape(values_[id]);
        const Term& term = rule_.nodes[id];
        const int inputs = term.op == TermOp::input ? 0 : substitution::traits(term.op).inputs;
        const Shape a = inputs > 0 ? guess(term.inputs[0]) : Shape(), b = inputs > 1 ? guess(term.inputs[1]) : Shape();
        switch (term.op) {
        case TermOp::add:
        case TermOp::mul: return merged(a, b);
        case TermOp::scale:
        case TermOp::relu: return a;
        case TermOp::matmul: return guessProduct(a, b);
        case TermOp::conv:
        case TermOp::convRelu: return {a[0], b[0], slid(a[2], 0), slid(a[3], 1)};
        case TermOp::averagePool:
        case TermOp::maxPool: return {a[0], a[1], kOpen, kOpen};
        case TermOp::enlarge: return {a[0], a[1], kOpen, kOpen};
        case TermOp::transpose: return swapped(a);
        case TermOp::concat: return guessConcat(term, a, b);
        case TermOp::split: {
            Shape part = a;
            if (const std::size_t axis = axisAt(term.axis, part.size()); axis < part.size())
                part[axis] = kOpen;
            return part;
        }
        default: return open(id);
        }
    }

    static Shape merged(const Shape& a, const Shape& b) {
        if (a.size() != b.size())
            return a.size() > b.size() ? a : b;
        Shape both = a;
        for (std::size_t d = 0; d < a.size(); ++d)
            both[d] = a[d] == kOpen || a[d] == 1 ? b[d] : a[d];
        return both;
    }

    static Shape swapped(Shape shape) {
        if (shape.size() >= 2)
            std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
        return shape;
    }

    static Shape guessProduct(const Shape& a, const Shape& b) {
        Shape product = a.size() >= b.size() ? a : b;
        if (a.size() < 2 || b.size() < 2)
            return product;
        product[product.size() - 2] = a[a.size() - 2];
        product.back() = b.back();
        return product;
    }

    Shape guessConcat(const Term& term, const Shape& a, const Shape& b) const {
        Shape whole = merged(a, b);
        if (const std::size_t axis = axisAt(term.axis, whole.size()); axis < whole.size() && axis < a.size() && axis < b.size())
            whole[axis] = a[axis] == kOpen || b[axis] == kOpen ? kOpen : a[axis] + b[axis];
        return whole;
    }

    std::int64_t slid(std::int64_t input, std::size_t d) const {
        if (input == kOpen)
            return kOpen;
        const std::int64_t room = input + window_.begin[d] + window_.end[d] - 1;
        return room < 0 ? 1 : room / window_.strides[d] + 1;
    }

    Shape filled(TermId id, Shape shape) {
        for (std::size_t d = 0; d < shape.size(); ++d)
            if (shape[d] == kOpen)
                shape[d] = isWeights(id) && d >= 2 ? kernelOf(id, d - 2) : d >= 2 && pattern_.kind == Pattern::Kind::image ? between(2, 4) : extent();
        return shape;
    }

    std::int64_t kernelOf(TermId id, std::size_t d) const {
        const substitution::TermShape& found = rule_.variables[rule_.nodes[id].inputs[0]];
        return found.extents[d + 2] == 1 ? small_[d] : large_[d];
    }

    ValueNo make(TermId id, const Shape& goal) {
        if (values_[id] != kNone)
            return draft_.shape(values_[id]) == goal || isBroadcast(draft_.shape(values_[id]), goal) ? values_[id] : kNone;
        const ValueNo made = makeNew(id, goal);
        if (made != kNone)
            values_[id] = made;
        return made;
    }

    static bool isBroadcast(const Shape& from, const Shape& to) {
        if (from.size() > to.size())
            return false;
        for (std::size_t d = 0; d < from.size(); ++d)
            if (from[from.size() - 1 - d] != 1 && from[from.size() - 1 - d] != to[to.size() - 1 - d])
                return false;
        return true;
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
        case TermOp::averagePool: return pool(averagePool_, term, goal);
        case TermOp::maxPool: return pool(maxPool_, term, goal);
        case TermOp::enlarge: return enlarge(term, goal);
        case TermOp::transpose: return transpose(term, goal);
        case TermOp::concat: return concat(term, goal);
        case TermOp::split: return split(term, goal);
        default: return constant(term, goal);
        }
    }

    ValueNo input(TermId id, const Shape& goal) {
        if (goal.size() == 1 && pattern_.rank[id] == 1 && rng_.chance(0.5))
            return draft_.addInput(draft_.table().add(TensorType(DType::f32, Shape())), id);
        return draft_.addInput(draft_.table().add(TensorType(DType::f32, goal)), id);
    }

    ValueNo elementwise(const char* op, const Term& term, const Shape& goal) {
        const int repeated = rng_.chance(0.25) ? static_cast<int>(rng_.below(2)) : -1;
        const ValueNo a = make(term.inputs[0], repeated == 0 ? thinned(term.inputs[0], goal) : goal);
        const ValueNo b = a == kNone ? kNone : make(term.inputs[1], repeated == 1 ? thinned(term.inputs[1], goal) : goal);
        return draft_.add(op, {a, b});
    }

    // A shape that is repeated to the goal.
    Shape thinned(TermId id, Shape goal) {
        for (std::int64_t& each : goal)
            each = rng_.chance(0.4) ? 1 : each;
        while (pattern_.kind != Pattern::Kind::image && pattern_.rank[id] != 1 && goal.size() > 1 && goal[0] == 1 && rng_.chance(0.5))
            goal.erase(goal.begin());
        return goal;
    }

    ValueNo matmul(const Term& term, const Shape& goal) {
        if (goal.size() < 2)
            return kNone;
        const Shape knownA = guess(term.inputs[0]), knownB = guess(term.inputs[1]);
        std::int64_t inner = knownA.size() > 1 && knownA.back() != kOpen ? knownA.back() : knownB.size() > 1 ? knownB[knownB.size() - 2] : kOpen;
        inner = inner == kOpen ? extent() : inner;
        Shape a = goal, b = goal;
        a.back() = inner;
        b[b.size() - 2] = inner;
        if (goal.size() > 2 && rng_.chance(0.6))
            b.erase(b.begin()); // one right side for the whole batch
        const ValueNo x = make(term.inputs[0], a);
        return draft_.add("MatMul", {x, x == kNone ? kNone : make(term.inputs[1], b)});
    }

    ValueNo conv(const Term& term, const Shape& goal) {
        const Shape knownX = guess(term.inputs[0]), knownW = guess(term.inputs[1]);
        const std::int64_t channels = knownX[1] != kOpen ? knownX[1] : knownW[1] != kOpen ? knownW[1] * (rng_.chance(0.5) ? 1 : 2) : extent();
        std::int64_t group = channels;
        if (knownW[1] != kOpen)
            group = channels % knownW[1] == 0 ? channels / knownW[1] : 0;
        else
            do
                group = rng_.chance(0.4) ? 1 : between(1, channels);
            while (channels % group != 0 || goal[1] % group != 0);
        if (group == 0)
            return kNone;
        Shape x{goal[0], channels, 0, 0}, w{goal[1], channels / group, kOpen, kOpen};
        for (std::size_t d = 0; d < 2; ++d) {
            x[d + 2] = knownX[d + 2] != kOpen ? knownX[d + 2] : (goal[d + 2] - 1) * window_.strides[d] + 1 - window_.begin[d] - window_.end[d] + between(0, window_.strides[d] - 1);
            w[d + 2] = knownW[d + 2] != kOpen ? knownW[d + 2] : kernelFor(term.inputs[1], d);
            if (x[d + 2] < 1)
                return kNone;
        }
        const ValueNo weights = make(term.inputs[1], w), data = weights == kNone ? kNone : make(term.inputs[0], x);
        const OperatorNo op = data == kNone ? kNone : convOperator(draft_.table(), window_, w, group);
        return op == kNone ? kNone : draft_.add(op, std::array{data, weights});
    }

    // The kernel of a term that is weights: of its first variable, or what an enlargement leads to.
    std::int64_t kernelFor(TermId id, std::size_t d) const {
        const Term& term = rule_.nodes[id];
        if (term.op == TermOp::input)
            return kernelOf(id, d);
        if (term.op == TermOp::enlarge)
            return large_[d];
        return substitution::traits(term.op).inputs == 0 ? 3 : kernelFor(term.inputs[0], d);
    }

    ValueNo pool(OperatorNo op, const Term& term, const Shape& goal) {
        const Node& node = draft_.table()[op];
        const auto kernel = node.intsAttr("kernel_shape"), strides = node.intsAttr("strides"), pads = node.intsAttr("pads");
        Shape x = goal;
        const Shape known = guess(term.inputs[0]);
        for (std::size_t d = 0; d < 2; ++d)
            x[d + 2] = known[d + 2] != kOpen ? known[d + 2] : std::max<std::int64_t>(1, (goal[d + 2] - 1) * strides[d] + kernel[d] - pads[d] - pads[d + 2]);
        const ValueNo data = make(term.inputs[0], x);
        return data == kNone ? kNone : draft_.add(op, std::array{data});
    }

    ValueNo enlarge(const Term& term, const Shape& goal) {
        Shape w = goal;
        std::vector<std::int64_t> around(4);
        const Shape known = guess(term.inputs[0]);
        for (std::size_t d = 0; d < 2; ++d) {
            w[d + 2] = known[d + 2] != kOpen ? known[d + 2] : kernelFor(term.inputs[0], d);
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
        const ValueNo operand = make(term.inputs[0], swapped(goal));
        return operand == kNone ? kNone : addTranspose(draft_, operand, perm);
    }

    ValueNo concat(const Term& term, const Shape& goal) {
        const std::size_t axis = axisAt(term.axis, goal.size());
        if (axis >= goal.size() || goal[axis] < 2)
            return kNone;
        const Shape knownA = guess(term.inputs[0]), knownB = guess(term.inputs[1]);
        std::int64_t first = goal[axis] % 2 == 0 && rng_.chance(0.6) ? goal[axis] / 2 : between(1, goal[axis] - 1);
        if (axis < knownA.size() && knownA[axis] != kOpen)
            first = knownA[axis];
        else if (axis < knownB.size() && knownB[axis] != kOpen)
            first = goal[axis] - knownB[axis];
        if (first < 1 || first >= goal[axis])
            return kNone;
        Shape a = goal, b = goal;
        a[axis] = first;
        b[axis] = goal[axis] - first;
        const ValueNo left = make(term.inputs[0], a), right = left == kNone ? kNone : make(term.inputs[1], b);
        return right == kNone || draft_.shape(left) != a || draft_.shape(right) != b ? kNone : addConcat(draft_, {left, right}, static_cast<std::int64_t>(axis));
    }

    ValueNo split(const Term& term, const Shape& goal) {
        const std::size_t axis = axisAt(term.axis, goal.size());
        if (axis >= goal.size())
            return kNone;
        const Shape known = guess(term.inputs[0]);
        Shape whole = goal;
        whole[axis] = axis < known.size() && known[axis] != kOpen ? known[axis] : goal[axis] + (rng_.chance(0.5) ? goal[axis] : between(1, 3));
        const std::int64_t rest = whole[axis] - goal[axis];
        const ValueNo operand = rest < 1 ? kNone : make(term.inputs[0], whole);
        const std::vector<std::int64_t> extents = term.part == 0 ? std::vector{goal[axis], rest} : std::vector{rest, goal[axis]};
        const ValueNo parts = operand == kNone ? kNone : addSplit(draft_, operand, static_cast<std::int64_t>(axis), extents);
        return parts == kNone ? kNone : parts + term.part;
    }

    ValueNo constant(const Term& term, const Shape& goal) {
        Tensor tensor = Tensor::zeros(DType::f32, goal);
        const auto data = tensor.mutableData<float>();
        if (term.op == TermOp::ones)
            std::ranges::fill(data, 1.0F);
        else if (term.op == TermOp::productIdentity && goal.size() == 2 && goal[0] == goal[1])
            for (std::int64_t i = 0; i < goal[0]; ++i)
                data[static_cast<std::size_t>(i * goal[0] + i)] = 1.0F;
        else
            return kNone;
        return draft_.constant(tensor);
    }

    const Pattern& pattern_;
    const Rule& rule_;
    Draft draft_;
    Rng& rng_;
    std::vector<ValueNo> values_; // by term
    std::vector<std::int64_t> palette_;
    std::array<std::int64_t, 2> small_{}, large_{}; // kernels
    bool plain_ = false;                            // stride 1, as the generator has it
    std::size_t rank_ = 2;
    ConvWindow window_;
    OperatorNo averagePool_ = kNone, maxPool_ = kNone;
    Binding binding_; // for axes
};

} // namespace

std::optional<Draft> samplePattern(const Pattern& pattern, const std::shared_ptr<OperatorTable>& table, Rng& rng) { return Sampler(pattern, table, rng).run(); }

} // namespace tunesmith::rewrite
