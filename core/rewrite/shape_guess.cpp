// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/shape_guess.h"

#include <utility>

namespace tunesmith::rewrite {
namespace {

Shape merged(const Shape& a, const Shape& b) {
    if (a.size() != b.size())
        return a.size() > b.size() ? a : b;
    Shape both = a;
    for (std::size_t d = 0; d < a.size(); ++d)
        both[d] = a[d] == kOpen || a[d] == 1 ? b[d] : a[d];
    return both;
}

Shape product(const Shape& a, const Shape& b) {
    Shape product = a.size() >= b.size() ? a : b;
    if (a.size() < 2 || b.size() < 2)
        return product;
    product[product.size() - 2] = a[a.size() - 2];
    product.back() = b.back();
    return product;
}

} // namespace

Shape withLastTwoSwapped(Shape shape) {
    if (shape.size() >= 2)
        std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return shape;
}

Shape ShapeGuess::of(TermId id) const {
    if (values_[id] != kNone)
        return draft_.shape(values_[id]);
    const Term& term = pattern_.rule.nodes[id];
    const int inputs = term.op == TermOp::input ? 0 : substitution::traits(term.op).inputs;
    const Shape a = inputs > 0 ? of(term.inputs[0]) : Shape(), b = inputs > 1 ? of(term.inputs[1]) : Shape();
    switch (term.op) {
    case TermOp::add:
    case TermOp::mul: return merged(a, b);
    case TermOp::scale:
    case TermOp::relu: return a;
    case TermOp::matmul: return product(a, b);
    case TermOp::conv:
    case TermOp::convRelu: return {a[0], b[0], slid(a[2], 0), slid(a[3], 1)};
    case TermOp::averagePool:
    case TermOp::maxPool:
    case TermOp::enlarge: return {a[0], a[1], kOpen, kOpen};
    case TermOp::transpose: return withLastTwoSwapped(a);
    case TermOp::concat: return concat(term, a, b);
    case TermOp::split: {
        Shape part = a;
        if (const std::size_t axis = axisAt(term.axis, part.size()); axis < part.size())
            part[axis] = kOpen;
        return part;
    }
    default: return open(id);
    }
}

Shape ShapeGuess::open(TermId id) const {
    if (pattern_.rank[id] == 1)
        return {1};
    return Shape(pattern_.kind == Pattern::Kind::image ? 4 : choices_.rank, kOpen);
}

Shape ShapeGuess::concat(const Term& term, const Shape& a, const Shape& b) const {
    Shape whole = merged(a, b);
    if (const std::size_t axis = axisAt(term.axis, whole.size()); axis < whole.size() && axis < a.size() && axis < b.size())
        whole[axis] = a[axis] == kOpen || b[axis] == kOpen ? kOpen : a[axis] + b[axis];
    return whole;
}

std::int64_t ShapeGuess::slid(std::int64_t input, std::size_t d) const {
    if (input == kOpen)
        return kOpen;
    const std::int64_t room = input + choices_.window.begin[d] + choices_.window.end[d] - 1;
    return room < 0 ? 1 : room / choices_.window.strides[d] + 1;
}

// Of the first variable, or what an enlargement leads to.
std::int64_t ShapeGuess::kernelOf(TermId id, std::size_t d) const {
    const Term& term = pattern_.rule.nodes[id];
    const auto like = [&](std::int64_t found) { return found == 1 ? choices_.small[d] : choices_.large[d]; };
    switch (term.op) {
    case TermOp::input: return like(pattern_.rule.variables[term.inputs[0]].extents[d + 2]);
    case TermOp::convIdentity: return like(d == 0 ? term.axis : term.part);
    case TermOp::enlarge: return choices_.large[d];
    default: return substitution::traits(term.op).inputs == 0 ? 3 : kernelOf(term.inputs[0], d);
    }
}

bool ShapeGuess::isWeights(TermId id) const { // by the shape that it was found with
    const Term& term = pattern_.rule.nodes[id];
    return pattern_.kind == Pattern::Kind::image && pattern_.rank[id] == 4 && term.op == TermOp::input && pattern_.rule.variables[term.inputs[0]].extents[2] != 5;
}

} // namespace tunesmith::rewrite
