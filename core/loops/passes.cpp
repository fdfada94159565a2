// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/loops/passes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/loops/scalar_arithmetic.h"

namespace tunesmith::loops {

std::vector<Expr> conjuncts(const Expr& condition) {
    if (condition->op != Op::logicalAnd)
        return {condition};
    std::vector<Expr> terms = conjuncts(condition->args[0]);
    for (Expr& term : conjuncts(condition->args[1]))
        terms.push_back(std::move(term));
    return terms;
}

Expr conjunction(const std::vector<Expr>& terms) {
    Expr all = constantInt(DType::boolean, 1);
    for (const Expr& term : terms)
        all = all && term;
    return all;
}

InScope::InScope(VarRanges& ranges, const Stmt& loop) : ranges_(ranges), var_(loop->var) {
    const Range begin = rangeOf(loop->begin, ranges), end = rangeOf(loop->end, ranges);
    ranges_.set(var_, {begin.min, std::max(begin.min, end.max - 1)});
}

void forEachTest(const Stmt& stmt, VarRanges& ranges, std::set<const VarInfo*>& inside, const std::function<void(const Expr&)>& visit) {
    if (hasNoBody(stmt) || (stmt->kind == StmtKind::loop && stmt->loopKind == LoopKind::versioned))
        return;
    if (stmt->kind == StmtKind::loop) {
        const InScope scope(ranges, stmt);
        inside.insert(stmt->var.get());
        forEachTest(stmt->body[0], ranges, inside, visit);
        inside.erase(stmt->var.get());
        return;
    }
    if (stmt->kind == StmtKind::guard)
        for (const Expr& term : conjuncts(stmt->condition))
            visit(term);
    for (const Stmt& child : stmt->body)
        forEachTest(child, ranges, inside, visit);
}

namespace {

// Applies `pass` to the children, loop variables in scope.
template <class Pass> Stmt mapChildren(const Stmt& stmt, VarRanges& ranges, const Pass& pass) {
    std::vector<Stmt> children;
    if (stmt->kind == StmtKind::loop) {
        const InScope scope(ranges, stmt);
        children.push_back(pass(stmt->body[0]));
    } else {
        for (const Stmt& child : stmt->body)
            children.push_back(pass(child));
    }
    return rebuildChildren(stmt, std::move(children));
}

std::optional<std::int64_t> constantExtent(const Stmt& loop) {
    const auto begin = constantValue(loop->begin), end = constantValue(loop->end);
    if (!begin || !end)
        return std::nullopt;
    return *end - *begin;
}

} // namespace

Stmt simplifyStmt(const Stmt& stmt, VarRanges& ranges) {
    if (!stmt)
        return stmt;
    switch (stmt->kind) {
    case StmtKind::store:
        return makeStore(stmt->buffer, simplify(stmt->offset, ranges), simplify(stmt->value, ranges));
    case StmtKind::prefetch: return makePrefetch(stmt->buffer, simplify(stmt->offset, ranges), stmt->cacheLevel);
    case StmtKind::guard: {
        std::vector<Expr> kept; // an equal condition need not be tested twice
        for (const Expr& term : conjuncts(simplify(stmt->condition, ranges)))
            if (std::none_of(kept.begin(), kept.end(), [&](const Expr& other) { return sameExpr(other, term); }))
                kept.push_back(term);
        return makeGuard(conjunction(kept), simplifyStmt(stmt->body[0], ranges));
    }
    case StmtKind::block: return mapChildren(stmt, ranges, [&](const Stmt& child) { return simplifyStmt(child, ranges); });
    case StmtKind::loop: break;
    }
    const Expr begin = simplify(stmt->begin, ranges), end = simplify(stmt->end, ranges);
    const Stmt loop = makeLoop(stmt->loopKind, stmt->var, begin, end, stmt->body[0]);
    const auto extent = constantExtent(loop);
    if (extent && *extent <= 0)
        return nullptr;
    if (extent && *extent == 1)
        return simplifyStmt(substituteVar(stmt->body[0], stmt->var, begin), ranges);
    return mapChildren(loop, ranges, [&](const Stmt& child) { return simplifyStmt(child, ranges); });
}

namespace {

// Whoever skips the work may skip its prefetches, too: they must not keep a guard inside of a loop.
Stmt prefetchUnderGuard(std::vector<Stmt> children) {
    const Stmt last = children.back();
    const bool hints = std::all_of(children.begin(), children.end() - 1, [](const Stmt& child) { return child && child->kind == StmtKind::prefetch; });
    if (!hints || !last || last->kind != StmtKind::guard)
        return makeBlock(std::move(children));
    children.back() = last->body[0];
    return makeGuard(last->condition, makeBlock(std::move(children)));
}

} // namespace

Stmt hoistGuards(const Stmt& stmt) {
    if (hasNoBody(stmt))
        return stmt;
    std::vector<Stmt> children;
    for (const Stmt& child : stmt->body)
        children.push_back(hoistGuards(child));
    if (stmt->kind == StmtKind::block)
        return prefetchUnderGuard(std::move(children));
    if (stmt->kind == StmtKind::guard && children[0] && children[0]->kind == StmtKind::guard)
        return makeGuard(stmt->condition && children[0]->condition, children[0]->body[0]);
    if (stmt->kind != StmtKind::loop || !children[0] || children[0]->kind != StmtKind::guard)
        return rebuildChildren(stmt, std::move(children));
    std::vector<Expr> inside, outside;
    for (const Expr& term : conjuncts(children[0]->condition))
        (usesVar(term, stmt->var) ? inside : outside).push_back(term);
    Stmt body = makeGuard(conjunction(inside), children[0]->body[0]);
    return makeGuard(conjunction(outside), makeLoop(stmt->loopKind, stmt->var, stmt->begin, stmt->end, std::move(body)));
}

namespace {

// The same code with other buffers in the place of some.
Stmt withBuffers(const Stmt& stmt, const std::map<TensorRef, TensorRef>& names) {
    if (!stmt)
        return stmt;
    if (stmt->kind == StmtKind::store) {
        const auto found = names.find(stmt->buffer);
        return makeStore(found == names.end() ? stmt->buffer : found->second, renameTensors(stmt->offset, names), renameTensors(stmt->value, names));
    }
    std::vector<Stmt> children;
    for (const Stmt& child : stmt->body)
        children.push_back(withBuffers(child, names));
    if (stmt->kind == StmtKind::guard)
        return makeGuard(renameTensors(stmt->condition, names), std::move(children[0]));
    return rebuildChildren(stmt, std::move(children));
}

void collect(const Stmt& stmt, std::set<Var>& loops, std::set<TensorRef>& stored) {
    if (!stmt)
        return;
    if (stmt->kind == StmtKind::loop)
        loops.insert(stmt->var);
    if (stmt->kind == StmtKind::store)
        stored.insert(stmt->buffer);
    for (const Stmt& child : stmt->body)
        collect(child, loops, stored);
}

} // namespace

namespace {

// What is larger stays in memory anyway, and the stack should not hold it twice.
bool fitsRegisters(const TensorDecl& buffer) {
    constexpr std::int64_t kBytes = 4096;
    return buffer.shape[0] * static_cast<std::int64_t>(byteSize(buffer.type)) <= kBytes;
}

} // namespace

std::vector<TensorRef> LocalBuffers::buffers() const {
    std::vector<TensorRef> all;
    for (const auto& [buffer, home] : homes_)
        all.push_back(buffer);
    return all;
}

Stmt LocalBuffers::withOwn(const Stmt& body, const Var& loop) {
    std::set<Var> inside{loop};
    std::set<TensorRef> stored; // not those that other bodies have of their own
    collect(body, inside, stored);
    std::map<TensorRef, TensorRef> names;
    const std::size_t known = homes_.size();
    for (std::size_t i = 0; i < known; ++i)
        if (const auto [buffer, home] = homes_[i]; stored.contains(buffer) && inside.contains(home) && fitsRegisters(*buffer)) {
            names[buffer] = makeTensor(buffer->name, buffer->type, buffer->shape);
            add(names[buffer], home);
        }
    return names.empty() ? body : withBuffers(body, names);
}

namespace {

bool mentions(const LinearForm& form, const Var& var) {
    return std::any_of(form.terms.begin(), form.terms.end(), [&](const auto& term) { return usesVar(term.first, var); });
}

// For one loop: the values of its variable for which every guard inside that is decided by it and by loops further in holds.
class SteadyRange {
public:
    SteadyRange(const Var& var, Range range, VarRanges& ranges) : steady(range), var_(var), ranges_(ranges) {}
    Range steady;

    void collect(const Stmt& stmt) {
        forEachTest(stmt, ranges_, inner_, [this](const Expr& term) { narrow(term); });
    }

private:
    void narrow(const Expr& term) {
        const auto form = asNonNegative(term, ranges_);
        const std::int64_t factor = form ? form->coefficient(var_) : 0;
        if (factor == 0)
            return;
        LinearForm rest = *form;
        rest.add(Expr(var_), -factor);
        for (const auto& [atom, coefficient] : rest.terms)
            if (!onlyUses(atom, inner_))
                return;
        const std::int64_t least = rangeOf(rest, ranges_).min;
        Range candidate = steady;
        if (factor > 0)
            candidate.min = std::max(steady.min, -floorDivide(least, factor));
        else
            candidate.max = std::min(steady.max, floorDivide(least, -factor));
        if (candidate.min <= candidate.max)
            steady = candidate;
    }

    const Var& var_;
    VarRanges& ranges_;
    std::set<const VarInfo*> inner_;
};

constexpr std::int64_t kPeelLimit = 2; // so many iterations at an end are written out, more stay a loop

void appendPiece(std::vector<Stmt>& pieces, const Stmt& loop, std::int64_t begin, std::int64_t end, bool peel, VarRanges& ranges,
                 LocalBuffers& locals) {
    const auto finish = [&](const Stmt& piece) { return partitionLoops(simplifyStmt(piece, ranges), ranges, locals); };
    if (end <= begin)
        return;
    if (peel && end - begin <= kPeelLimit) {
        for (std::int64_t i = begin; i < end; ++i)
            pieces.push_back(finish(substituteVar(locals.withOwn(loop->body[0], loop->var), loop->var, Expr(i))));
        return;
    }
    const Stmt body = peel ? locals.withOwn(loop->body[0], loop->var) : loop->body[0];
    Stmt piece = simplifyStmt(makeLoop(loop->loopKind, loop->var, Expr(begin), Expr(end), body), ranges);
    if (piece && piece->kind == StmtKind::loop && piece->var == loop->var)
        piece = mapChildren(piece, ranges, [&](const Stmt& child) { return partitionLoops(child, ranges, locals); });
    else
        piece = partitionLoops(piece, ranges, locals);
    pieces.push_back(std::move(piece));
}

} // namespace

Stmt partitionLoops(const Stmt& stmt, VarRanges& ranges, LocalBuffers& locals) {
    if (hasNoBody(stmt))
        return stmt;
    if (stmt->kind == StmtKind::loop && stmt->loopKind == LoopKind::versioned)
        return versionLoop(stmt, ranges, locals);
    const auto recurse = [&](const Stmt& child) { return partitionLoops(child, ranges, locals); };
    if (stmt->kind != StmtKind::loop || stmt->loopKind != LoopKind::serial || !constantExtent(stmt))
        return mapChildren(stmt, ranges, recurse);
    const std::int64_t begin = *constantValue(stmt->begin), end = *constantValue(stmt->end);
    const InScope scope(ranges, stmt);
    SteadyRange finder(stmt->var, {begin, end - 1}, ranges);
    finder.collect(stmt->body[0]);
    const Range steady = finder.steady;
    if (steady.min == begin && steady.max == end - 1)
        return mapChildren(stmt, ranges, recurse);
    std::vector<Stmt> pieces;
    appendPiece(pieces, stmt, begin, steady.min, true, ranges, locals);
    appendPiece(pieces, stmt, steady.min, steady.max + 1, false, ranges, locals);
    appendPiece(pieces, stmt, steady.max + 1, end, true, ranges, locals);
    return makeBlock(std::move(pieces));
}

namespace {

// v's bounds after a condition factor*v + rest >= 0 is folded into them.
void foldIntoBounds(Expr& begin, Expr& end, std::int64_t factor, const LinearForm& rest, const VarRanges& ranges) {
    if (factor > 0) { // v >= ceil(-rest / factor)
        LinearForm bound;
        bound.add(rest, -1);
        bound.constant += factor - 1;
        begin = max(begin, simplify(fromLinear(bound, ranges) / Expr(factor), ranges));
    } else { // v <= floor(rest / -factor)
        end = min(end, simplify(fromLinear(rest, ranges) / Expr(-factor), ranges) + Expr(1));
    }
}

} // namespace

Stmt tightenLoops(const Stmt& stmt, VarRanges& ranges, Unrolling unrolling) {
    if (hasNoBody(stmt))
        return stmt;
    const Stmt inner = mapChildren(stmt, ranges, [&](const Stmt& child) { return tightenLoops(child, ranges, unrolling); });
    if (!inner || inner->kind != StmtKind::loop || inner->loopKind == LoopKind::unrolled || inner->body[0]->kind != StmtKind::guard)
        return inner;
    Expr begin = inner->begin, end = inner->end;
    std::vector<Expr> kept;
    for (const Expr& term : conjuncts(inner->body[0]->condition)) {
        const auto form = asNonNegative(term, ranges);
        const std::int64_t factor = form ? form->coefficient(inner->var) : 0;
        LinearForm rest = form.value_or(LinearForm());
        rest.add(Expr(inner->var), -factor);
        if (factor == 0 || mentions(rest, inner->var))
            kept.push_back(term);
        else
            foldIntoBounds(begin, end, factor, rest, ranges);
    }
    begin = simplify(begin, ranges);
    end = simplify(end, ranges);
    const bool constant = constantValue(begin) && constantValue(end);
    if (!constant && inner->loopKind == LoopKind::vectorized && unrolling == Unrolling::ahead)
        return inner; // one of the loops around it may make the bounds constant yet
    // Lanes cannot come and go: a vectorised loop with variable bounds is run one by one.
    const LoopKind kind = inner->loopKind == LoopKind::vectorized && !constant ? LoopKind::serial : inner->loopKind;
    return makeLoop(kind, inner->var, begin, end, makeGuard(conjunction(kept), inner->body[0]->body[0]));
}

Stmt unrollLoops(const Stmt& stmt, VarRanges& ranges) {
    if (hasNoBody(stmt))
        return stmt;
    const Stmt inner = mapChildren(stmt, ranges, [&](const Stmt& child) { return unrollLoops(child, ranges); });
    if (!inner || inner->kind != StmtKind::loop || inner->loopKind != LoopKind::unrolled || !constantExtent(inner))
        return inner;
    std::vector<Stmt> copies;
    for (std::int64_t i = *constantValue(inner->begin); i < *constantValue(inner->end); ++i)
        copies.push_back(simplifyStmt(substituteVar(inner->body[0], inner->var, Expr(i)), ranges));
    return makeBlock(std::move(copies));
}

namespace {

Stmt optimizeBody(Stmt body, VarRanges& ranges, LocalBuffers& locals) {
    body = hoistGuards(simplifyStmt(body, ranges));
    body = partitionLoops(body, ranges, locals);
    body = tightenLoops(hoistGuards(body), ranges, Unrolling::ahead);
    body = simplifyStmt(unrollLoops(body, ranges), ranges);
    return simplifyStmt(tightenLoops(hoistGuards(body), ranges, Unrolling::done), ranges);
}

Stmt optimizeFor(const Phase& phase, Range range, VarRanges& ranges, LocalBuffers& locals, bool own) {
    const Stmt body = own ? locals.withOwn(phase.body, phase.parallelVar) : phase.body;
    if (range.min == range.max)
        return optimizeBody(substituteVar(body, phase.parallelVar, Expr(range.min)), ranges, locals);
    const InScope scope(ranges, phase.parallelVar, range);
    return optimizeBody(body, ranges, locals);
}

} // namespace

// The parallel loop stays whole, but iterations at its ends may get a body of their own.
Phase optimizePhase(Phase phase, LocalBuffers& locals) {
    VarRanges ranges;
    const Range whole{0, phase.extent - 1};
    Range steady = whole;
    {
        const InScope scope(ranges, phase.parallelVar, whole);
        phase.body = simplifyStmt(phase.body, ranges);
        if (!phase.body)
            return phase;
        SteadyRange finder(phase.parallelVar, whole, ranges);
        finder.collect(phase.body);
        steady = finder.steady;
    }
    const Expr p(phase.parallelVar);
    std::vector<Stmt> versions;
    if (steady.min > whole.min)
        versions.push_back(makeGuard(p < Expr(steady.min), optimizeFor(phase, {whole.min, steady.min - 1}, ranges, locals, true)));
    Stmt main = optimizeFor(phase, steady, ranges, locals, false);
    if (steady.min > whole.min || steady.max < whole.max)
        main = makeGuard(p >= Expr(steady.min) && p <= Expr(steady.max), std::move(main));
    versions.push_back(std::move(main));
    if (steady.max < whole.max)
        versions.push_back(makeGuard(p > Expr(steady.max), optimizeFor(phase, {steady.max + 1, whole.max}, ranges, locals, true)));
    phase.body = makeBlock(std::move(versions));
    return phase;
}

} // namespace tunesmith::loops
