// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/autotvm_product.h"

#include <algorithm>

#include "core/loops/simplify.h"
#include "core/schedule/conv_stage.h"
#include "core/schedule/operand_copy.h"
#include "core/schedule/product_stage.h"

namespace tunesmith {

using loops::Expr;
using loops::Op;
using loops::Stage;

namespace {

bool isVar(const Expr& e, const loops::Var& var) { return e->op == Op::var && e->var == var; }

// Products whose operands are arguments; both of them read along k.
const Stage* argumentProduct(const LoweredWorkload& lowered) {
    const Stage* product = productStage(lowered);
    if (!product || !lowered.outputLayouts[0].isRowMajor())
        return nullptr;
    for (const Expr& side : product->body->args)
        if (argumentOf(lowered, side->tensor) == lowered.arguments.size())
            return nullptr;
    return product;
}

bool usesRow(const Stage& product, const Expr& side) { return loops::usesVar(side, product.axes[product.axes.size() - 2].var); }

} // namespace

AutotvmProduct::AutotvmProduct(const loops::Program& program, const LoweredWorkload& lowered) {
    const Stage& product = program.stages[copiesOperand(program) ? 1 : 0];
    const Expr& right = product.body->args[1];
    rank = product.axes.size();
    rightRank = right->args.size();
    rowAxis = rank - 2;
    if (rightRank == 2)
        for (std::size_t d = 0; d + 1 < rank; ++d)
            if (product.axes[d].extent > product.axes[rowAxis].extent)
                rowAxis = d;
    for (std::size_t d = 0; d + 1 < rank; ++d)
        batch *= d == rowAxis ? 1 : product.axes[d].extent;
    m = product.axes[rowAxis].extent;
    n = product.axes.back().extent;
    k = product.reduceAxes[0].extent;
    for (std::size_t d = 0; d < rightRank; ++d) {
        if (isVar(right->args[d], product.axes.back().var))
            columnDim = d;
        if (isVar(right->args[d], product.reduceAxes[0].var))
            depthDim = d;
    }
    rightArgument = argumentOf(lowered, right->tensor);
    rightIsConstant = rightArgument < lowered.arguments.size() && lowered.constantArguments[rightArgument];
}

bool AutotvmProduct::isDense(const LoweredWorkload& lowered) {
    const Stage* product = argumentProduct(lowered);
    if (!product || product->body->args[1]->args.size() != 2)
        return false;
    return AutotvmProduct(lowered).batch == 1 && !usesRow(*product, product->body->args[1]);
}

bool AutotvmProduct::isBatch(const LoweredWorkload& lowered) {
    const Stage* product = argumentProduct(lowered);
    return product && product->axes.size() > 2 && product->body->args[1]->args.size() > 2 && !usesRow(*product, product->body->args[1]);
}

autotvm::Task AutotvmProduct::denseTask(const std::string& name) const {
    return {name, "[" + autotvmTensor({m, k}) + "," + autotvmTensor({n, k}) + ",null,\"float32\"]"};
}

autotvm::Task AutotvmProduct::batchTask(const std::string& name) const {
    return {name, "[" + autotvmTensor({batch, m, k}) + "," + autotvmTensor({batch, n, k}) + "," + autotvmList({batch, m, n}) + "]"};
}

std::vector<loops::Var> AutotvmProduct::otherAxes(const loops::StageSchedule& stage) const {
    std::vector<loops::Var> others;
    for (std::size_t d = 0; d + 1 < rank; ++d)
        if (d != rowAxis)
            others.push_back(stage.axes()[d]);
    return others;
}

} // namespace tunesmith
