// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/operand_copy.h"

#include <algorithm>

#include "core/loops/simplify.h"

namespace tunesmith {

using loops::Expr;
using loops::Indices;
using loops::Program;
using loops::Stage;

namespace {

// How far the reads of a dimension go beyond its two ends.
struct Margin {
    std::int64_t before = 0, after = 0;
};

std::vector<Margin> marginsOf(const Stage& product, std::size_t first) {
    loops::VarRanges ranges;
    for (const auto* axes : {&product.axes, &product.reduceAxes})
        for (const loops::Axis& axis : *axes)
            ranges.set(axis.var, {0, axis.extent - 1});
    const Expr& read = product.body->args[0];
    std::vector<Margin> margins(read->args.size());
    for (std::size_t d = first; d < margins.size(); ++d) {
        const loops::Range range = loops::rangeOf(read->args[d], ranges);
        margins[d].before = std::max<std::int64_t>(0, -range.min);
        margins[d].after = std::max<std::int64_t>(0, range.max - read->tensor->shape[d] + 1);
    }
    return margins;
}

Stage paddedCopy(const loops::TensorRef& tensor, const std::vector<Margin>& margins) {
    Shape shape = tensor->shape;
    for (std::size_t d = 0; d < shape.size(); ++d)
        shape[d] += margins[d].before + margins[d].after;
    return loops::reduce(tensor->name + ".padded", tensor->type, shape, loops::Reduction::sum, {1}, [&](const Indices& i, const Indices&) {
        Indices from;
        Expr inside;
        for (std::size_t d = 0; d < shape.size(); ++d) {
            from.push_back(i[d] - Expr(margins[d].before));
            if (margins[d].before + margins[d].after == 0)
                continue;
            const Expr both = from[d] >= Expr(0) && from[d] < Expr(tensor->shape[d]);
            inside = inside.valid() ? inside && both : both;
        }
        return loops::ReductionBody{loops::load(tensor, from), inside};
    });
}

} // namespace

bool padLeftOperand(Program& program, std::size_t first) {
    const std::vector<Margin> margins = marginsOf(program.stages.front(), first);
    if (std::ranges::all_of(margins, [](const Margin& margin) { return margin.before + margin.after == 0; }))
        return false;
    copyLeftOperand(program, first);
    return true;
}

void copyLeftOperand(Program& program, std::size_t first) {
    Stage product = program.stages.front();
    const std::vector<Margin> margins = marginsOf(product, first);
    const Expr read = product.body->args[0];
    Stage copy = paddedCopy(read->tensor, margins);
    Indices moved;
    for (std::size_t d = 0; d < margins.size(); ++d)
        moved.push_back(read->args[d] + Expr(margins[d].before));
    product.body = loops::load(copy.output, moved) * product.body->args[1];
    product.guard = Expr();
    program.stages.front() = std::move(product);
    program.stages.insert(program.stages.begin(), std::move(copy));
}

void copyRightOperand(Program& program) {
    Stage product = program.stages.front();
    const Expr read = product.body->args[1];
    const loops::TensorRef from = read->tensor;
    Stage copy = loops::compute(from->name + ".packed", from->type, from->shape, [&](const Indices& i) { return loops::load(from, i); });
    product.body = product.body->args[0] * loops::load(copy.output, read->args);
    program.stages.front() = std::move(product);
    program.stages.insert(program.stages.begin(), std::move(copy));
}

bool copiesOperand(const Program& program) { return program.stages.front().body->op == loops::Op::load; }

} // namespace tunesmith
