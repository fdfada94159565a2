// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/loops/expr.h"

namespace tunesmith::loops {

// Loop nests: what a schedule makes of a program, and what code is generated from. Loads and stores go to flat buffers
// (one-dimensional TensorDecls) at an element offset.
// versioned: run like a serial loop, but what is tested inside of it is tested once per iteration (loop_versions.cpp).
enum class LoopKind : std::uint8_t { serial, vectorized, unrolled, parallel, versioned, transposed };
// transposed: around a vectorised loop; what lies side by side along it and apart along the lanes is read by rows and transposed
// in registers.
const char* loopKindName(LoopKind kind);

// prefetch: asks for the cache line of an element that is read soon; the offset may lie beyond the buffer.
enum class StmtKind : std::uint8_t { block, loop, store, guard, prefetch };

struct StmtNode;
using Stmt = std::shared_ptr<const StmtNode>; // null: nothing to do

struct StmtNode {
    StmtKind kind;
    std::vector<Stmt> body; // the statements of a block; the one body of a loop or guard
    LoopKind loopKind = LoopKind::serial;
    Var var;
    Expr begin, end;        // of a loop: var runs over [begin, end)
    TensorRef buffer;       // of a store or prefetch
    Expr offset, value;     // a prefetch has no value
    Expr condition;         // of a guard
    int cacheLevel = 0;     // of a prefetch: 1 or 2, where it is fetched to
};

Stmt makeBlock(std::vector<Stmt> statements); // flattens, drops nulls
Stmt makeLoop(LoopKind kind, const Var& var, Expr begin, Expr end, Stmt body);
Stmt makeStore(const TensorRef& buffer, Expr offset, Expr value);
Stmt makePrefetch(const TensorRef& buffer, Expr offset, int cacheLevel);
Stmt makeGuard(Expr condition, Stmt body);
bool hasNoBody(const Stmt& stmt); // null, a store or a prefetch

Stmt rebuildChildren(const Stmt& stmt, std::vector<Stmt> children); // the same statement over another body
Stmt substituteVar(const Stmt& stmt, const Var& var, const Expr& value);
// The same tree with fresh loop variables, for code that is emitted twice.
std::string toText(const Stmt& stmt, int indent = 0);

// A kernel: phases that run one after another (a barrier between them); the iterations of a phase's parallel loop are
// independent and may be dealt out to threads. Arguments are flat buffers.
struct Phase {
    Var parallelVar;
    std::int64_t extent = 1; // iterations of the parallel loop
    Stmt body;
};

struct LoopNest {
    std::string name;
    std::vector<TensorRef> arguments; // inputs, then outputs, then scratch buffers shared by phases
    std::size_t inputCount = 0, outputCount = 0;
    std::vector<TensorRef> streamed; // outputs that are written past the caches: they would not stay there until they are read
    std::vector<TensorRef> locals; // per thread, live within one iteration of a parallel loop
    std::vector<Phase> phases;
};

std::string toText(const LoopNest& nest);
bool uses(const LoopNest& nest, Op op); // in what it stores

} // namespace tunesmith::loops
