// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/loops/stmt.h"

#include <algorithm>

namespace tunesmith::loops {

const char* loopKindName(LoopKind kind) {
    switch (kind) {
    case LoopKind::serial: return "for";
    case LoopKind::vectorized: return "vectorized";
    case LoopKind::unrolled: return "unrolled";
    case LoopKind::parallel: return "parallel";
    case LoopKind::versioned: return "versioned";
    case LoopKind::transposed: return "transposed";
    }
    return "";
}

Stmt makeBlock(std::vector<Stmt> statements) {
    std::vector<Stmt> flat;
    for (Stmt& stmt : statements) {
        if (!stmt)
            continue;
        if (stmt->kind == StmtKind::block)
            flat.insert(flat.end(), stmt->body.begin(), stmt->body.end());
        else
            flat.push_back(std::move(stmt));
    }
    if (flat.empty())
        return nullptr;
    if (flat.size() == 1)
        return flat.front();
    return std::make_shared<const StmtNode>(StmtNode{.kind = StmtKind::block, .body = std::move(flat), .var = {}, .begin = {},
        .end = {}, .buffer = {}, .offset = {}, .value = {}, .condition = {}});
}

Stmt makeLoop(LoopKind kind, const Var& var, Expr begin, Expr end, Stmt body) {
    if (!body)
        return nullptr;
    return std::make_shared<const StmtNode>(StmtNode{.kind = StmtKind::loop, .body = {std::move(body)}, .loopKind = kind,
        .var = var, .begin = std::move(begin), .end = std::move(end), .buffer = {}, .offset = {}, .value = {}, .condition = {}});
}

Stmt makeStore(const TensorRef& buffer, Expr offset, Expr value) {
    return std::make_shared<const StmtNode>(StmtNode{.kind = StmtKind::store, .body = {}, .var = {}, .begin = {}, .end = {},
        .buffer = buffer, .offset = std::move(offset), .value = std::move(value), .condition = {}});
}

Stmt makePrefetch(const TensorRef& buffer, Expr offset, int cacheLevel) {
    return std::make_shared<const StmtNode>(StmtNode{.kind = StmtKind::prefetch, .body = {}, .var = {}, .begin = {}, .end = {},
        .buffer = buffer, .offset = std::move(offset), .value = {}, .condition = {}, .cacheLevel = cacheLevel});
}

bool hasNoBody(const Stmt& stmt) { return !stmt || stmt->kind == StmtKind::store || stmt->kind == StmtKind::prefetch; }

Stmt makeGuard(Expr condition, Stmt body) {
    if (!body || isConstant(condition, 0))
        return nullptr;
    if (isConstant(condition, 1))
        return body;
    return std::make_shared<const StmtNode>(StmtNode{.kind = StmtKind::guard, .body = {std::move(body)}, .var = {}, .begin = {},
        .end = {}, .buffer = {}, .offset = {}, .value = {}, .condition = std::move(condition)});
}

Stmt rebuildChildren(const Stmt& stmt, std::vector<Stmt> children) {
    switch (stmt->kind) {
    case StmtKind::block: return makeBlock(std::move(children));
    case StmtKind::loop: return makeLoop(stmt->loopKind, stmt->var, stmt->begin, stmt->end, std::move(children[0]));
    case StmtKind::guard: return makeGuard(stmt->condition, std::move(children[0]));
    default: return stmt;
    }
}

Stmt substituteVar(const Stmt& stmt, const Var& var, const Expr& value) {
    if (!stmt)
        return stmt;
    const auto replace = [&](const Expr& e) {
        return substitute(e, [&](const Var& v) { return v == var ? value : Expr(); });
    };
    if (stmt->kind == StmtKind::store)
        return makeStore(stmt->buffer, replace(stmt->offset), replace(stmt->value));
    if (stmt->kind == StmtKind::prefetch)
        return makePrefetch(stmt->buffer, replace(stmt->offset), stmt->cacheLevel);
    std::vector<Stmt> body;
    for (const Stmt& child : stmt->body)
        body.push_back(substituteVar(child, var, value));
    switch (stmt->kind) {
    case StmtKind::loop: return makeLoop(stmt->loopKind, stmt->var, replace(stmt->begin), replace(stmt->end), body[0]);
    case StmtKind::guard: return makeGuard(replace(stmt->condition), body[0]);
    default: return makeBlock(std::move(body));
    }
}

std::string toText(const Stmt& stmt, int indent) {
    if (!stmt)
        return {};
    const std::string pad(static_cast<std::size_t>(indent) * 2, ' ');
    std::string text;
    switch (stmt->kind) {
    case StmtKind::store:
        return pad + stmt->buffer->name + "[" + toText(stmt->offset) + "] = " + toText(stmt->value) + "\n";
    case StmtKind::prefetch: return pad + "prefetch " + stmt->buffer->name + "[" + toText(stmt->offset) + "]\n";
    case StmtKind::loop:
        text = pad + loopKindName(stmt->loopKind) + " " + stmt->var->name + " in [" + toText(stmt->begin) + ", " +
               toText(stmt->end) + ")\n";
        return text + toText(stmt->body[0], indent + 1);
    case StmtKind::guard: return pad + "if " + toText(stmt->condition) + "\n" + toText(stmt->body[0], indent + 1);
    case StmtKind::block:
        for (const Stmt& child : stmt->body)
            text += toText(child, indent);
        return text;
    }
    return text;
}

namespace {

bool usesOp(const Expr& e, Op op) { return e->op == op || std::ranges::any_of(e->args, [&](const Expr& arg) { return usesOp(arg, op); }); }

bool usesOp(const Stmt& stmt, Op op) {
    if (!stmt)
        return false;
    if (stmt->kind == StmtKind::store)
        return usesOp(stmt->value, op);
    return std::ranges::any_of(stmt->body, [&](const Stmt& child) { return usesOp(child, op); });
}

} // namespace

bool uses(const LoopNest& nest, Op op) {
    return std::ranges::any_of(nest.phases, [&](const Phase& phase) { return usesOp(phase.body, op); });
}

std::string toText(const LoopNest& nest) {
    std::string text = nest.name + "(";
    for (std::size_t i = 0; i < nest.arguments.size(); ++i) {
        const char* role = i < nest.inputCount ? "in " : i < nest.inputCount + nest.outputCount ? "out " : "scratch ";
        text += (i ? ", " : "") + std::string(role) + nest.arguments[i]->name + "[" + shapeText(nest.arguments[i]->shape) + "]";
    }
    text += ")\n";
    for (const TensorRef& output : nest.streamed)
        text += "  streamed " + output->name + "\n";
    for (const TensorRef& local : nest.locals)
        text += "  local " + local->name + "[" + shapeText(local->shape) + "]\n";
    for (const Phase& phase : nest.phases)
        text += "  parallel " + phase.parallelVar->name + " in [0, " + std::to_string(phase.extent) + ")\n" + toText(phase.body, 2);
    return text;
}

} // namespace tunesmith::loops
