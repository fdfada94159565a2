// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/joined_axes.h"

#include <algorithm>

#include "core/loops/layout.h"
#include "core/loops/simplify.h"

namespace tunesmith {
namespace {

using loops::Expr;
using loops::Var;

// Whether what an outer index steps over is just all of the inner one, or nothing depends on either.
bool readsTogether(const Expr& e, const loops::Axis& outer, const loops::Axis& inner) {
    if (e->op != loops::Op::load)
        return std::ranges::all_of(e->args, [&](const Expr& arg) { return readsTogether(arg, outer, inner); });
    const Expr offset = loops::Layout::rowMajor(e->args.size()).offset(e->tensor->shape, e->args);
    const auto step = loops::strideAlong(offset, outer.var), neighbour = loops::strideAlong(offset, inner.var);
    return step && neighbour && *step == *neighbour * inner.extent;
}

} // namespace

bool joinLastReduceAxes(loops::Stage& stage) {
    if (stage.reduceAxes.size() < 2)
        return false;
    const loops::Axis outer = *(stage.reduceAxes.end() - 2), inner = stage.reduceAxes.back();
    if (stage.guard.valid() || !readsTogether(stage.body, outer, inner))
        return false;
    const loops::Axis joined{loops::makeVar(outer.var->name), outer.extent * inner.extent};
    stage.body = loops::substitute(stage.body, [&](const Var& var) {
        return var == outer.var ? Expr(joined.var) / Expr(inner.extent) : var == inner.var ? Expr(joined.var) % Expr(inner.extent) : Expr();
    });
    stage.reduceAxes.pop_back();
    stage.reduceAxes.back() = joined;
    return true;
}

} // namespace tunesmith
