// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/PassManager.h>

namespace llvm {
class LPMUpdater;
}

namespace tunesmith {

// In the innermost loops: addresses that are computed from the counter become pointers that step along with it, and one of
// them ends the loop where the counter has no other use. This is the little that our loops need of LLVM's loop strength reduction, whose time grows
// with the square of an unrolled body (nine tenths of compiling it) and whose many pointers then spill.
struct PointerInductionPass : llvm::PassInfoMixin<PointerInductionPass> {
    llvm::PreservedAnalyses run(llvm::Loop& loop, llvm::LoopAnalysisManager& analyses, llvm::LoopStandardAnalysisResults& standard,
                                llvm::LPMUpdater& updater);
};

} // namespace tunesmith
