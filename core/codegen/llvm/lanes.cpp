// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/lanes.h"

#include <algorithm>
#include <bit>

#include "core/loops/program.h"
#include "core/loops/simplify.h"

namespace tunesmith {
namespace {

using loops::Expr;
using loops::Op;
using loops::Stmt;
using loops::StmtKind;
using loops::Var;

constexpr std::int64_t kMaxLanes = 64;

std::optional<LaneRange> rangeOf(const Stmt& loop) {
    const auto begin = loops::constantValue(loop->begin), end = loops::constantValue(loop->end);
    if (!begin || !end || *end <= *begin || *end - *begin > kMaxLanes)
        return {};
    return LaneRange{*begin, static_cast<int>(*end - *begin)};
}

// Whether a mask can keep lanes from reading: what lies side by side is read at once, and a fixed element by all.
bool canMask(const Expr& e, const Var& var) {
    if (e->op != Op::load)
        return std::ranges::all_of(e->args, [&](const Expr& arg) { return canMask(arg, var); });
    const auto fixed = loops::constantValue(e->args[0]);
    return (loops::strideAlong(e->args[0], var) == 1 && !loops::readsMemory(e->args[0])) || (fixed && *fixed >= 0 && *fixed < e->tensor->shape[0]);
}

// A read that only some lanes may do (padding, concatenation), and no mask does for them: the others would leave the tensor.
bool readsUnderLanes(const Expr& e, const Var& var) {
    if (e->op == Op::select && !e->isFree && loops::readsMemory(e) && loops::usesVar(e->args[0], var) && !(canMask(e->args[1], var) && canMask(e->args[2], var)))
        return true;
    return std::ranges::any_of(e->args, [&](const Expr& arg) { return readsUnderLanes(arg, var); });
}

bool isUniform(const Stmt& stmt, const Var& var) {
    switch (stmt->kind) {
    case StmtKind::store: return loops::usesVar(stmt->offset, var) && !readsUnderLanes(stmt->value, var);
    case StmtKind::guard:
        if (loops::usesVar(stmt->condition, var))
            return false;
        break;
    case StmtKind::loop:
        if (loops::usesVar(stmt->begin, var) || loops::usesVar(stmt->end, var))
            return false;
        break;
    default: break;
    }
    return std::ranges::all_of(stmt->body, [&](const Stmt& child) { return isUniform(child, var); });
}

bool isFold(Op op) { return op == Op::add || op == Op::mul || op == Op::max || op == Op::min; }

} // namespace

std::optional<LaneRange> lanesOf(const Stmt& loop) { return isUniform(loop->body[0], loop->var) ? rangeOf(loop) : std::nullopt; }

std::optional<LaneFold> laneFold(const Stmt& loop) {
    const Stmt& store = loop->body[0];
    const auto lanes = rangeOf(loop);
    if (!lanes || !std::has_single_bit(static_cast<unsigned>(lanes->count)) || store->kind != StmtKind::store ||
        loops::usesVar(store->offset, loop->var) || !isFold(store->value->op) || (store->buffer->type != DType::f32 && store->buffer->type != DType::f64))
        return {};
    const Expr &folded = store->value->args[0], &lane = store->value->args[1];
    const bool accumulates = folded->op == Op::load && folded->tensor == store->buffer && loops::sameExpr(folded->args[0], store->offset);
    if (!accumulates || loops::reads(lane, store->buffer) || readsUnderLanes(lane, loop->var))
        return {};
    return LaneFold{*lanes, store->value->op, store, folded, lane};
}

llvm::Value* foldLanes(llvm::IRBuilder<>& builder, llvm::Value* vector, const std::function<llvm::Value*(llvm::Value*, llvm::Value*)>& combine) {
    auto count = static_cast<int>(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
    while (count > 1) {
        count /= 2;
        llvm::SmallVector<int, 32> low, high;
        for (int i = 0; i < count; ++i) {
            low.push_back(i);
            high.push_back(count + i);
        }
        vector = combine(builder.CreateShuffleVector(vector, low), builder.CreateShuffleVector(vector, high));
    }
    return builder.CreateExtractElement(vector, std::uint64_t(0));
}

std::optional<NeighbouringReads> neighbouringReads(const Expr& offset, const Var& var, std::int64_t firstLane, int lanes) {
    std::vector<std::int64_t> at(static_cast<std::size_t>(lanes), 0);
    for (const auto& [atom, factor] : loops::toLinear(offset, {}).terms) {
        if (!loops::usesVar(atom, var))
            continue;
        for (std::size_t lane = 0; lane < at.size(); ++lane) {
            const Expr number(firstLane + static_cast<std::int64_t>(lane));
            const loops::LinearForm value = loops::toLinear(loops::substitute(atom, [&](const Var& other) { return other == var ? number : Expr(); }), {});
            if (!value.isConstant())
                return std::nullopt;
            at[lane] += factor * value.constant;
        }
    }
    const auto [least, most] = std::ranges::minmax_element(at);
    if (*most - *least >= lanes)
        return std::nullopt;
    NeighbouringReads reads{firstLane + (least - at.begin()), {}};
    for (const std::int64_t place : at)
        reads.places.push_back(static_cast<int>(place - *least));
    return reads;
}

llvm::Value* everySecond(llvm::IRBuilder<>& builder, llvm::Value* first, llvm::Value* second) {
    const auto lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(first->getType())->getNumElements());
    llvm::SmallVector<int, 64> from;
    for (int lane = 0; lane < lanes; ++lane)
        from.push_back(2 * lane < lanes ? 2 * lane : 2 * lane + 1);
    return builder.CreateShuffleVector(first, second, from);
}

} // namespace tunesmith
