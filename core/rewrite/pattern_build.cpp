// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/rewrite/cuts.h"
#include "core/rewrite/write_nodes.h"

namespace tunesmith::rewrite {
namespace {

bool isEnlarge(const Term& term) { return term.op == TermOp::enlarge; }

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
    // The value of a term; `beside` is what it is put together with, for what takes its shape from there.
    ValueNo build(TermId id, ValueNo beside = kNone) {
        if (values_[id] == kNone)
            values_[id] = make(id, beside);
        return values_[id];
    }

    ValueNo refuse(std::string_view why) {
        refusal_ = why;
        return kNone;
    }

    ValueNo make(TermId id, ValueNo beside) {
        const Term& term = pattern_.rule.nodes[id];
        switch (substitution::traits(term.op).inputs) {
        case 0: return makeConstant(term, beside);
        case 1: return makeUnary(term, build(term.inputs[0], isEnlarge(term) ? kNone : beside), beside);
        default: return makeBinary(id, term);
        }
    }

    // What takes its shape from the other operand is built after that.
    ValueNo makeBinary(TermId id, const Term& term) {
        const bool secondFirst = needsBeside(term.inputs[0]) && !needsBeside(term.inputs[1]);
        ValueNo a = kNone, b = kNone;
        if (secondFirst) {
            b = build(term.inputs[1]);
            besideIsFirst_ = false;
            a = b == kNone ? kNone : build(term.inputs[0], b);
        } else {
            a = build(term.inputs[0]);
            besideIsFirst_ = true;
            b = a == kNone ? kNone : build(term.inputs[1], a);
        }
        return a == kNone || b == kNone ? kNone : binary(id, term, a, b);
    }

    bool needsBeside(TermId id) const {
        const Term& term = pattern_.rule.nodes[id];
        if (values_[id] != kNone || term.op == TermOp::input)
            return false;
        const int inputs = substitution::traits(term.op).inputs;
        return inputs == 0 || isEnlarge(term) || (inputs == 1 && needsBeside(term.inputs[0])) ||
               (inputs == 2 && needsBeside(term.inputs[0]) && needsBeside(term.inputs[1]));
    }

    ValueNo binary(TermId, const Term& term, ValueNo a, ValueNo b) {
        switch (term.op) {
        case TermOp::matmul: return draft_.add("MatMul", {a, b});
        case TermOp::add: return draft_.add("Add", {a, b});
        case TermOp::mul:
        case TermOp::scale: return draft_.add("Mul", {a, b});
        case TermOp::conv: return conv(a, b);
        case TermOp::convRelu: return addRelu(draft_, conv(a, b));
        case TermOp::concat: {
            const auto axis = axisOf(pattern_, binding_, term.axis, draft_.shape(a).size());
            return axis && draft_.shape(a).size() == draft_.shape(b).size() ? addConcat(draft_, {a, b}, static_cast<std::int64_t>(*axis)) : kNone;
        }
        default: return kNone;
        }
    }

    ValueNo conv(ValueNo x, ValueNo w) {
        const Shape &xs = draft_.shape(x), &ws = draft_.shape(w);
        if (!binding_.window)
            return refuse("no convolution says which stride and pads");
        if (xs.size() != 4 || ws.size() != 4 || ws[1] == 0 || xs[1] % ws[1] != 0)
            return kNone;
        const OperatorNo op = convOperator(draft_.table(), *binding_.window, ws, xs[1] / ws[1]);
        return op == kNone ? refuse("the pads would be negative") : draft_.add(op, std::array{x, w});
    }

    ValueNo makeUnary(const Term& term, ValueNo x, ValueNo beside) {
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

    ValueNo enlarge(ValueNo w, ValueNo beside) {
        const Shape& shape = draft_.shape(w);
        if (shape.size() != 4 || (beside != kNone && draft_.shape(beside).size() != 4))
            return kNone;
        std::vector<std::int64_t> around(4);
        for (std::size_t d = 2; d < 4; ++d) {
            const std::int64_t more = (beside == kNone ? std::int64_t(3) : draft_.shape(beside)[d]) - shape[d];
            if (more < 0 || more % 2 != 0)
                return refuse("the kernel cannot grow by as much on both sides");
            around[d] = more / 2;
        }
        return addZeros(draft_, w, around, around);
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

    ValueNo makeConstant(const Term& term, ValueNo beside) {
        if (beside == kNone)
            return refuse("nothing says how large a constant is to be");
        const Shape& shape = draft_.shape(beside);
        if (term.op == TermOp::ones)
            return draft_.constant(filled(shape, draft_.dtype(beside)));
        if (term.op == TermOp::productIdentity && shape.size() >= 2) {
            const std::int64_t extent = besideIsFirst_ ? shape.back() : shape[shape.size() - 2];
            return identity({extent, extent}, 1, 0, draft_.dtype(beside));
        }
        if (term.op == TermOp::convIdentity && shape.size() == 4)
            return identity({shape[1], shape[1], term.axis, term.part}, term.axis * term.part, term.axis * term.part / 2, draft_.dtype(beside));
        return refuse("nothing says how large a constant is to be");
    }

    static Tensor filled(const Shape& shape, DType type) {
        Tensor ones = Tensor::zeros(DType::f32, shape);
        std::ranges::fill(ones.mutableData<float>(), 1.0F);
        return ones.cast(type);
    }

    // Ones where both channels are the same and the position is the kernel's middle.
    ValueNo identity(const Shape& shape, std::int64_t taps, std::int64_t middle, DType type) {
        if (elementCount(shape) > (1 << 22))
            return refuse("the constant would be too large");
        Tensor tensor = Tensor::zeros(DType::f32, shape);
        for (std::int64_t i = 0; i < shape[0]; ++i)
            tensor.mutableData<float>()[static_cast<std::size_t>((i * shape[1] + i) * taps + middle)] = 1.0F;
        return draft_.constant(tensor.cast(type));
    }

    const Pattern& pattern_;
    Draft& draft_;
    const Binding& binding_;
    Cuts cuts_;
    std::vector<ValueNo> values_; // by term
    bool besideIsFirst_ = true; // what a constant takes its shape from is the first operand
    std::string_view refusal_;
};

} // namespace

std::string_view buildPattern(const Pattern& pattern, Draft& draft, const Binding& binding) { return Builder(pattern, draft, binding).run(); }

} // namespace tunesmith::rewrite
