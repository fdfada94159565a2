// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/term.h"

#include <algorithm>

namespace tunesmith::substitution {
namespace {

constexpr std::array<TermOpTraits, kTermOps> kTraits{{
    {"input", 0, false},
    {"matmul", 2, false}, {"add", 2, true}, {"mul", 2, true},
    {"conv", 2, false}, {"conv_relu", 2, false},
    {"average_pool", 1, false}, {"max_pool", 1, false},
    {"enlarge", 1, false},
    {"scale", 2, false},
    {"relu", 1, false},
    {"concat", 2, false}, {"split", 1, false},
    {"transpose", 1, false},
    {"pool_weights", 0, false}, {"conv_identity", 0, false}, {"product_identity", 0, false}, {"ones", 0, false},
}};

constexpr int kMostElements = 512;

TermShape withExtents(std::uint8_t rank, std::array<std::uint16_t, 4> extents) { return {rank, extents, {}}; }

bool mayGrow(TermOp op) {
    return op == TermOp::matmul || op == TermOp::conv || op == TermOp::convRelu || op == TermOp::enlarge || op == TermOp::concat;
}

// A cut stays where both operands have it, or where one of them has none.
std::uint16_t commonCut(std::uint16_t a, std::uint16_t b) { return a == b || b == 0 ? a : a == 0 ? b : std::uint16_t(0); }

TermShape matmulShape(const TermShape& a, const TermShape& b) {
    if (a.rank != 2 || b.rank != 2 || a.extents[1] != b.extents[0])
        return {};
    TermShape shape = withExtents(2, {a.extents[0], b.extents[1]});
    shape.cuts = {a.cuts[0], b.cuts[1]};
    return shape;
}

TermShape elementwiseShape(const TermShape& a, const TermShape& b) {
    if (a.rank == 0 || !a.sameExtents(b))
        return {};
    TermShape shape = a;
    for (std::size_t d = 0; d < 4; ++d)
        shape.cuts[d] = commonCut(a.cuts[d], b.cuts[d]);
    return shape;
}

TermShape convShape(const TermShape& x, const TermShape& w) {
    if (x.rank != 4 || w.rank != 4 || x.extents[1] % w.extents[1] != 0)
        return {};
    const int groups = x.extents[1] / w.extents[1];
    const bool odd = w.extents[2] % 2 == 1 && w.extents[3] % 2 == 1;
    if (!odd || w.extents[0] % groups != 0)
        return {};
    TermShape shape = withExtents(4, {x.extents[0], w.extents[0], x.extents[2], x.extents[3]});
    shape.cuts = {x.cuts[0], w.cuts[0], 0, 0};
    return shape;
}

TermShape enlargedShape(const TermShape& w) {
    const auto fits = [](std::uint16_t extent) { return extent == 1 || extent == 3; };
    if (w.rank != 4 || !fits(w.extents[2]) || !fits(w.extents[3]) || w.extents[2] * w.extents[3] == 9)
        return {};
    TermShape shape = withExtents(4, {w.extents[0], w.extents[1], 3, 3});
    shape.cuts = {w.cuts[0], w.cuts[1], 0, 0};
    return shape;
}

TermShape concatShape(std::size_t axis, const TermShape& a, const TermShape& b) {
    if (a.rank < 2 || a.rank != b.rank || axis >= a.rank)
        return {};
    TermShape shape = a;
    for (std::size_t d = 0; d < a.rank; ++d) {
        if (d != axis && a.extents[d] != b.extents[d])
            return {};
        shape.cuts[d] = commonCut(a.cuts[d], b.cuts[d]);
    }
    shape.extents[axis] = static_cast<std::uint16_t>(a.extents[axis] + b.extents[axis]);
    shape.cuts[axis] = a.extents[axis];
    return shape;
}

TermShape splitShape(const Term& term, const TermShape& x) {
    if (term.axis >= x.rank || x.cuts[term.axis] == 0)
        return {};
    TermShape shape = x;
    const std::uint16_t first = x.cuts[term.axis];
    shape.extents[term.axis] = term.part == 0 ? first : static_cast<std::uint16_t>(x.extents[term.axis] - first);
    shape.cuts[term.axis] = 0;
    return shape;
}

TermShape transposedShape(const TermShape& x) {
    if (x.rank != 2)
        return {};
    TermShape shape = withExtents(2, {x.extents[1], x.extents[0]});
    shape.cuts = {x.cuts[1], x.cuts[0]};
    return shape;
}

} // namespace

const TermOpTraits& traits(TermOp op) { return kTraits[static_cast<std::size_t>(op)]; }

int TermShape::count() const {
    int product = rank > 0 ? 1 : 0;
    for (std::size_t d = 0; d < rank; ++d)
        product *= extents[d];
    return product;
}

std::string toText(const TermShape& shape) {
    std::string text;
    for (std::size_t d = 0; d < shape.rank; ++d) {
        const int extent = shape.extents[d], cut = shape.cuts[d];
        text += (d ? "x" : "") + (cut ? "(" + std::to_string(cut) + "+" + std::to_string(extent - cut) + ")" : std::to_string(extent));
    }
    return text;
}

TermShape shapeOf(const Term& term, const TermShape& a, const TermShape& b) {
    if ((term.op == TermOp::scale || term.op == TermOp::relu) && a.count() == 1)
        return {};
    const TermShape shape = anyShapeOf(term, a, b);
    return mayGrow(term.op) && shape.count() > kMostElements ? TermShape() : shape;
}

TermShape anyShapeOf(const Term& term, const TermShape& a, const TermShape& b) {
    switch (term.op) {
    case TermOp::matmul: return matmulShape(a, b);
    case TermOp::add:
    case TermOp::mul: return elementwiseShape(a, b);
    case TermOp::conv:
    case TermOp::convRelu: return convShape(a, b);
    case TermOp::averagePool:
    case TermOp::maxPool: return a.rank == 4 ? a : TermShape();
    case TermOp::enlarge: return enlargedShape(a);
    case TermOp::scale: return b.count() == 1 ? a : TermShape();
    case TermOp::relu: return a;
    case TermOp::concat: return concatShape(term.axis, a, b);
    case TermOp::split: return splitShape(term, a);
    case TermOp::transpose: return transposedShape(a);
    case TermOp::poolWeights: return withExtents(4, {4, 1, 3, 3});
    case TermOp::convIdentity: return withExtents(4, {4, 4, term.axis, term.part});
    case TermOp::productIdentity: return withExtents(2, {4, 4});
    case TermOp::ones: return withExtents(4, {2, 4, 5, 5});
    default: return {}; // inputs have theirs
    }
}

} // namespace tunesmith::substitution
