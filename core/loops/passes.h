// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/loops/simplify.h"
#include "core/loops/stmt.h"

namespace tunesmith::loops {

// What happens to a nest between the schedule and code generation, so that hot loops carry no branch: conditions move out
// of the loops that they do not depend on, become loop bounds where they are about one loop, or split a loop into the part
// where they always hold and thin parts at its ends (loop partitioning); then unrolled loops are written out.
Phase optimizePhase(Phase phase);

Stmt simplifyStmt(const Stmt& stmt, VarRanges& ranges);
Stmt hoistGuards(const Stmt& stmt);
Stmt partitionLoops(const Stmt& stmt, VarRanges& ranges);
Stmt tightenLoops(const Stmt& stmt, VarRanges& ranges);
Stmt unrollLoops(const Stmt& stmt, VarRanges& ranges);

// The conjuncts of a condition, and how to put them together again.
std::vector<Expr> conjuncts(const Expr& condition);
Expr conjunction(const std::vector<Expr>& terms);

} // namespace tunesmith::loops
