// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <set>

#include "core/loops/program.h"
#include "core/loops/simplify.h"
#include "core/loops/stmt.h"

namespace tunesmith::loops {

// Where local buffers live: the loop in one iteration of which each is filled and read. A part of a loop that gets a body of
// its own gets local buffers of its own, too, so that a last tile of fewer lanes does not keep those of all tiles in memory.
class LocalBuffers {
public:
    void add(const TensorRef& buffer, const Var& home) { homes_.emplace_back(buffer, home); }
    std::vector<TensorRef> buffers() const;
    Stmt withOwn(const Stmt& body, const Var& loop); // a copy of the loop's body with fresh buffers for the small ones that live in it

private:
    std::vector<std::pair<TensorRef, Var>> homes_;
};

class InScope { // puts a loop variable in scope for as long as a body is looked at
public:
    InScope(VarRanges& ranges, const Stmt& loop);
    InScope(VarRanges& ranges, const Var& var, Range range) : ranges_(ranges), var_(var) { ranges_.set(var, range); }
    ~InScope() { ranges_.erase(var_); }
    InScope(const InScope&) = delete;
    InScope& operator=(const InScope&) = delete;

private:
    VarRanges& ranges_;
    Var var_;
};

// What happens to a nest between the schedule and code generation, so that hot loops carry no branch: conditions move out
// of the loops that they do not depend on, become loop bounds where they are about one loop, or split a loop into the part
// where they always hold and thin parts at its ends (loop partitioning); then unrolled loops are written out.
Phase optimizePhase(Phase phase, LocalBuffers& locals);

Stmt simplifyStmt(const Stmt& stmt, VarRanges& ranges);
Stmt hoistGuards(const Stmt& stmt);
Stmt partitionLoops(const Stmt& stmt, VarRanges& ranges, LocalBuffers& locals); // versioned loops, too
Stmt versionLoop(const Stmt& loop, VarRanges& ranges, LocalBuffers& locals);
enum class Unrolling : std::uint8_t { ahead, done };
Stmt tightenLoops(const Stmt& stmt, VarRanges& ranges, Unrolling unrolling = Unrolling::done);
Stmt unrollLoops(const Stmt& stmt, VarRanges& ranges);

// Every test within a statement, a term of a guard's condition, with the loops around it in scope and their variables in
// `inside`. What a versioned loop tests is its own.
void forEachTest(const Stmt& stmt, VarRanges& ranges, std::set<const VarInfo*>& inside, const std::function<void(const Expr&)>& visit);

// The conjuncts of a condition, and how to put them together again.
std::vector<Expr> conjuncts(const Expr& condition);
Expr conjunction(const std::vector<Expr>& terms);

} // namespace tunesmith::loops
