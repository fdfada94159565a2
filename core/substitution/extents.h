// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>

#include "core/substitution/term.h"

namespace tunesmith::substitution {

// Four extents whatever the rank: those beyond are 0.
template <class Extent> using Extents = std::array<Extent, 4>;

// The extents of a term by those of its operands, for extents of any kind: numbers, unknowns, words. `Kind` has number(), sum() and
// difference(), and is told by same() what is equal wherever the operands fit; that a group must divide channels is not said. `cut` is
// where a split cuts. Constants have theirs from constantExtents().
template <class Kind, class Extent>
Extents<Extent> extentsOf(Kind& kind, const Term& term, const Extents<Extent>& a, const Extents<Extent>& b, const Extent& cut) {
    const Extent none = kind.number(0);
    const auto sameBut = [&](std::size_t except) {
        for (std::size_t axis = 0; axis < 4; ++axis)
            if (axis != except)
                kind.same(a[axis], b[axis]);
    };
    switch (term.op) {
    case TermOp::matmul: kind.same(a[1], b[0]); return {a[0], b[1], none, none};
    case TermOp::add:
    case TermOp::mul: sameBut(4); return a;
    case TermOp::conv:
    case TermOp::convRelu: return {a[0], b[0], a[2], a[3]};
    case TermOp::enlarge: return {a[0], a[1], kind.number(3), kind.number(3)};
    case TermOp::transpose: return {a[1], a[0], none, none};
    case TermOp::concat:
    case TermOp::split: {
        Extents<Extent> extents = a;
        if (term.op == TermOp::concat) {
            sameBut(term.axis);
            extents[term.axis] = kind.sum(a[term.axis], b[term.axis]);
        } else {
            extents[term.axis] = term.part == 0 ? cut : kind.difference(a[term.axis], cut);
        }
        return extents;
    }
    default: return a; // pools, multiples and Relu
    }
}

// Of a constant, by up to four free extents.
template <class Kind, class Extent> Extents<Extent> constantExtents(Kind& kind, const Term& term, const Extents<Extent>& free) {
    switch (term.op) {
    case TermOp::poolWeights: return {free[0], kind.number(1), kind.number(3), kind.number(3)};
    case TermOp::convIdentity: return {free[0], free[0], kind.number(term.axis), kind.number(term.part)};
    case TermOp::productIdentity: return {free[0], free[0], kind.number(0), kind.number(0)};
    default: return free;
    }
}

} // namespace tunesmith::substitution
