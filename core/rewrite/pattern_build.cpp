// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/rewrite/cuts.h"
#include "core/rewrite/pattern_constants.h"
#include "core/rewrite/write_nodes.h"

namespace tunesmith::rewrite {
namespace {

bool isEnlarge(const Term& term) { return term.op == TermOp::enlarge; }

// What a term is put together with, for what takes its shape from there.
struct Beside {
    ValueNo value = kNone;
    bool isFirst = true; // of the two operands
    bool isData = false; // of a convolution of which the term is the weights
};

class Builder {
public:
    Builder(const Pattern& pattern, Draft& draft, const Binding& binding)
        : pattern_(pattern), draft_(draft), binding_(binding), cuts_(pattern, draft, binding), values_(binding.values) {}

    std::string_view run() {
        if (!cuts_.consistent())
            return "a split cuts where nothing was put together";
        std::vector<ValueNo> results;
        for (const TermId id : pattern_.to)
            results.push_back(build(id));
        for (std::size_t i = 0; i < results.size(); ++i) {
            const ValueNo old = binding_.values[pattern_.from[i]];
            if (results[i] == kNone)
                return refusal_.empty() ? "the shapes do not allow it" : refusal_;
            if (draft_.value(results[i]).type != draft_.value(old).type)
                return "the result would have another shape";
        }
        for (std::size_t i = 0; i < results.size(); ++i)
            draft_.replace(binding_.values[pattern_.from[i]], results[i]);
        return {};
    }

private:
    ValueNo build(TermId id, const Beside& beside = {}) {
        if (values_[id] == kNone)
            values_[id] = make(pattern_.rule.nodes[id], beside);
        return values_[id];
    }

    ValueNo refuse(std::string_view why) {
        refusal_ = why;
        return kNone;
    }

    ValueNo make(const Term& term, const Beside& beside) {
        switch (substitution::traits(term.op).inputs) {
        case 0: return makeConstant(term, beside);
        case 1: return makeUnary(term, build(term.inputs[0], isEnlarge(term) ? Beside() : beside), beside);
        default: return makeBinary(term, beside);
        }
    }

    // What takes its shape from the other operand is built after that.
    ValueNo makeBinary(const Term& term, const Beside& beside) {
        const auto [first, second] = term.inputs;
        const bool isConv = term.op == TermOp::conv || term.op == TermOp::convRelu;
        ValueNo a = kNone, b = kNone;
        if (term.op == TermOp::scale || (needsBeside(first) && needsBeside(second))) {
            a = build(first, beside);
            b = a == kNone ? kNone : build(second, beside);
        } else if (needsBeside(first)) {
            b = build(second);
            a = b == kNone ? kNone : build(first, {b, false, false});
        } else {
            a = build(first);
            b = a == kNone ? kNone : build(second, {a, true, isConv});
        }
        return a == kNone || b == kNone ? kNone : binary(term, a, b);
    }

    bool needsBeside(TermId id) const {
        const Term& term = pattern_.rule.nodes[id];
        if (values_[id] != kNone || term.op == TermOp::input)
            return false;
        const int inputs = substitution::traits(term.op).inputs;
        return inputs == 0 || isEnlarge(term) || (needsBeside(term.inputs[0]) && (inputs == 1 || term.op == TermOp::scale || needsBeside(term.inputs[1])));
    }

    ValueNo binary(const Term& term, ValueNo a, ValueNo b) {
        switch (term.op) {
        case TermOp::matmul: return std::min(draft_.shape(a).size(), draft_.shape(b).size()) < 2 ? refuse("a vector is no matrix") : draft_.add("MatMul", {a, b});
        case TermOp::add: return draft_.add("Add", {a, b});
        case TermOp::mul:
        case TermOp::scale: return draft_.add("Mul", {a, b});
        case TermOp::conv: return conv(term, a, b);
        case TermOp::convRelu: return addRelu(draft_, conv(term, a, b));
        case TermOp::concat: {
            const auto axis = axisOf(pattern_, binding_, term.axis, draft_.shape(a).size());
            return axis && draft_.shape(a).size() == draft_.shape(b).size() ? addConcat(draft_, {a, b}, static_cast<std::int64_t>(*axis)) : kNone;
        }
        default: return kNone;
        }
    }

    ValueNo conv(const Term& term, ValueNo x, ValueNo w) {
        const Shape &xs = draft_.shape(x), &ws = draft_.shape(w);
        const auto window = arePoolWeights(pattern_.rule, term.inputs[1]) ? poolWindow() : binding_.window;
        if (!window)
            return refuse("no convolution says which stride and pads");
        if (xs.size() != 4 || ws.size() != 4 || ws[1] == 0 || xs[1] % ws[1] != 0)
            return kNone;
        const OperatorNo op = convOperator(draft_.table(), *window, ws, xs[1] / ws[1]);
        return op == kNone ? refuse("the pads would be negative") : draft_.add(op, std::array{x, w});
    }

    std::optional<ConvWindow> poolWindow() const { return binding_.averagePool == kNone ? std::nullopt : windowOfPool(draft_.table()[binding_.averagePool]); }

    ValueNo makeUnary(const Term& term, ValueNo x, const Beside& beside) {
        if (x == kNone)
            return kNone;
        switch (term.op) {
        case TermOp::relu: return addRelu(draft_, x);
        case TermOp::averagePool: return pool(binding_.averagePool, x);
        case TermOp::maxPool: return pool(binding_.maxPool, x);
        case TermOp::enlarge: return enlarge(x, beside);
        case TermOp::transpose: return transpose(x);
        case TermOp::split: return split(term, x);
        default: return kNone;
        }
    }

    ValueNo pool(OperatorNo op, ValueNo x) { return op == kNone ? refuse("no pool says which window") : draft_.add(op, std::array{x}); }

    ValueNo enlarge(ValueNo w, const Beside& beside) {
        const Shape shape = draft_.shape(w), goal = enlargedShape(beside);
        if (shape.size() != 4 || goal.size() != 4)
            return kNone;
        std::vector<std::int64_t> around(4);
        for (std::size_t d = 2; d < 4; ++d) {
            const std::int64_t more = goal[d] - shape[d];
            if (more < 0 || more % 2 != 0)
                return refuse("the kernel cannot grow by as much on both sides");
            around[d] = more / 2;
        }
        return addZeros(draft_, w, around, around);
    }

    // The kernels that others have beside it, else those of the found side, else 3x3.
    Shape enlargedShape(const Beside& beside) const {
        if (beside.value != kNone && !beside.isData)
            return draft_.shape(beside.value);
        for (TermId id = 0; id < pattern_.rule.nodes.size(); ++id)
            if (pattern_.inFrom[id] && isEnlarge(pattern_.rule.nodes[id]))
                return draft_.shape(binding_.values[id]);
        return {0, 0, 3, 3};
    }

    ValueNo transpose(ValueNo x) {
        const std::size_t rank = draft_.shape(x).size();
        std::vector<std::int64_t> perm(rank);
        for (std::size_t d = 0; d < rank; ++d)
            perm[d] = static_cast<std::int64_t>(d);
        if (rank < 2)
            return kNone;
        std::swap(perm[rank - 1], perm[rank - 2]);
        return addTranspose(draft_, x, perm);
    }

    ValueNo split(const Term& term, ValueNo x) {
        const auto axis = axisOf(pattern_, binding_, term.axis, draft_.shape(x).size());
        const auto first = cuts_.of(term.inputs[0], term.axis, values_);
        if (!axis || !first)
            return refuse("nothing says where to split");
        const std::int64_t extent = draft_.shape(x)[*axis];
        if (*first <= 0 || *first >= extent)
            return refuse("a part would be empty");
        const ValueNo parts = addSplit(draft_, x, static_cast<std::int64_t>(*axis), {*first, extent - *first});
        return parts == kNone ? kNone : parts + term.part;
    }

    ValueNo makeConstant(const Term& term, const Beside& beside) {
        const Shape shape = beside.value == kNone ? Shape() : constantShape(term, beside);
        if (beside.value == kNone || (shape.empty() && term.op != TermOp::ones))
            return refuse("nothing says how large a constant is to be");
        const auto tensor = constantOf(term, shape, draft_.dtype(beside.value));
        return tensor ? draft_.constant(*tensor) : refuse("the constant would be too large");
    }

    Shape constantShape(const Term& term, const Beside& beside) const {
        const Shape& shape = draft_.shape(beside.value);
        if (term.op == TermOp::ones)
            return shape;
        if (term.op == TermOp::productIdentity && shape.size() >= 2) {
            const std::int64_t extent = beside.isFirst ? shape.back() : shape[shape.size() - 2];
            return {extent, extent};
        }
        if (shape.size() != 4)
            return {};
        if (term.op == TermOp::convIdentity)
            return beside.isData ? Shape{shape[1], shape[1], term.axis, term.part} : Shape{shape[1], shape[1], shape[2], shape[3]};
        if (binding_.averagePool == kNone || !beside.isData)
            return {};
        const auto kernel = draft_.table()[binding_.averagePool].intsAttr("kernel_shape");
        return kernel.size() == 2 ? Shape{shape[1], 1, kernel[0], kernel[1]} : Shape();
    }

    const Pattern& pattern_;
    Draft& draft_;
    const Binding& binding_;
    Cuts cuts_;
    std::vector<ValueNo> values_; // by term
    std::string_view refusal_;
};

} // namespace

std::string_view buildPattern(const Pattern& pattern, Draft& draft, const Binding& binding) { return Builder(pattern, draft, binding).run(); }

} // namespace tunesmith::rewrite
