// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/loops/passes.h"

namespace tunesmith::loops {
namespace {

// What is tested inside a loop's body, for all iterations of the loops further in at once.
class InnerTests {
public:
    InnerTests(const Stmt& body, VarRanges& ranges) : ranges_(ranges) {
        forEachTest(body, ranges_, inner_, [this](const Expr& term) { collect(term); });
    }

    // In terms of the loops outside; true where no collected test fails.
    Expr allHold() const {
        std::vector<Expr> terms;
        for (const LinearForm& bound : bounds_) {
            const auto isNegative = [](const auto& term) { return term.second < 0; };
            const bool falling = std::all_of(bound.terms.begin(), bound.terms.end(), isNegative);
            LinearForm variable;
            variable.add(bound, falling ? -1 : 1);
            variable.constant = 0;
            const Expr value = fromLinear(variable, ranges_);
            terms.push_back(simplify(falling ? value < Expr(bound.constant + 1) : value >= Expr(-bound.constant), ranges_));
        }
        return conjunction(terms);
    }

    Stmt removedFrom(const Stmt& stmt) const {
        if (hasNoBody(stmt))
            return stmt;
        std::vector<Stmt> children;
        for (const Stmt& child : stmt->body)
            children.push_back(removedFrom(child));
        if (stmt->kind != StmtKind::guard)
            return rebuildChildren(stmt, std::move(children));
        std::vector<Expr> kept;
        for (const Expr& term : conjuncts(stmt->condition))
            if (!collected_.contains(term.get()))
                kept.push_back(term);
        return makeGuard(conjunction(kept), std::move(children[0]));
    }

private:
    // outside + inside >= 0 holds for all inner iterations if outside + (least inside) >= 0.
    void collect(const Expr& term) {
        const auto form = asNonNegative(term, ranges_);
        if (!form)
            return;
        LinearForm outside, inside;
        outside.constant = form->constant;
        for (const auto& [atom, factor] : form->terms) {
            const bool isInner = onlyUses(atom, inner_);
            if (!isInner && usesAny(atom, inner_))
                return;
            (isInner ? inside : outside).add(atom, factor);
        }
        outside.constant += rangeOf(inside, ranges_).min;
        collected_.insert(term.get());
        addBound(std::move(outside));
    }

    // Of bounds that differ by a constant the tighter one says it all.
    void addBound(LinearForm bound) {
        for (LinearForm& known : bounds_) {
            LinearForm difference = bound;
            difference.add(known, -1);
            if (!difference.isConstant())
                continue;
            known.constant = std::min(known.constant, bound.constant);
            return;
        }
        bounds_.push_back(std::move(bound));
    }

    VarRanges& ranges_;
    std::set<const VarInfo*> inner_;
    std::set<const ExprNode*> collected_; // the tests that allHold() covers
    std::vector<LinearForm> bounds_;      // each >= 0
};

} // namespace

Stmt versionLoop(const Stmt& loop, VarRanges& ranges, LocalBuffers& locals) {
    const InScope scope(ranges, loop);
    const InnerTests tests(loop->body[0], ranges);
    const Expr steady = tests.allHold();
    const auto finish = [&](const Stmt& body) { return partitionLoops(simplifyStmt(body, ranges), ranges, locals); };
    const auto serial = [&](Stmt body) { return makeLoop(LoopKind::serial, loop->var, loop->begin, loop->end, std::move(body)); };
    const Stmt whole = finish(loop->body[0]);
    if (isConstant(steady, 0) || isConstant(steady, 1))
        return serial(whole);
    const Stmt steadyBody = tests.removedFrom(loop->body[0]); // by their nodes, which a copy would not keep
    const Stmt within = finish(locals.withOwn(steadyBody, loop->var));
    return serial(makeBlock({makeGuard(steady, within), makeGuard(unary(Op::logicalNot, steady), whole)}));
}

} // namespace tunesmith::loops
