// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "core/codegen/llvm/llvm_headers.h"
#include "core/loops/stmt.h"

namespace tunesmith {

struct LaneRange {
    std::int64_t first = 0;
    int count = 1;
};

// The lanes of a loop whose iterations can be the lanes of vectors: they do not diverge and each stores to a place of its own.
std::optional<LaneRange> lanesOf(const loops::Stmt& loop);

// A loop that folds its lanes, a power of two of them, into one element: buffer[offset] = buffer[offset] op lanes.
struct LaneFold {
    LaneRange lanes;
    loops::Op op = loops::Op::add;
    loops::Stmt store;
    loops::Expr folded, lane; // what was there, and what each lane adds
};
std::optional<LaneFold> laneFold(const loops::Stmt& loop);

// The lanes of a vector folded pairwise into one value.
llvm::Value* foldLanes(llvm::IRBuilder<>& builder, llvm::Value* vector, const std::function<llvm::Value*(llvm::Value*, llvm::Value*)>& combine);

// Where what all lanes read is from one lane's element on, no more elements than there are lanes: lane / 2, 15 - lane.
struct NeighbouringReads {
    std::int64_t first = 0;   // the lane
    std::vector<int> places; // of each lane behind it
};
std::optional<NeighbouringReads> neighbouringReads(const loops::Expr& offset, const loops::Var& var, std::int64_t firstLane, int lanes);

// Every second of the values of two vectors, of which the second one begins with the last value of the first.
llvm::Value* everySecond(llvm::IRBuilder<>& builder, llvm::Value* first, llvm::Value* second);

} // namespace tunesmith
