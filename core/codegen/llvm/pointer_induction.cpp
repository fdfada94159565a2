// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/pointer_induction.h"

#include <limits>
#include <vector>

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>

namespace tunesmith {
namespace {

using llvm::GetElementPtrInst;

// Addresses that stay at fixed distances from each other while the loop runs.
struct Walk {
    const llvm::SCEVAddRecExpr* path;
    std::int64_t step; // bytes
    std::vector<std::pair<GetElementPtrInst*, std::int64_t>> addresses; // and their distance from the path
    std::int64_t middle = 0; // distance of the pointer that walks
};

class Inductor {
public:
    Inductor(llvm::Loop& loop, llvm::ScalarEvolution& evolution)
        : loop_(loop), evolution_(evolution), layout_(loop.getHeader()->getDataLayout()), expander_(evolution, layout_, "walk") {}

    bool run() {
        for (llvm::BasicBlock* block : loop_.blocks())
            for (llvm::Instruction& instruction : *block)
                if (auto* address = llvm::dyn_cast<GetElementPtrInst>(&instruction))
                    collect(address);
        std::erase_if(walks_, [&](const Walk& walk) {
            return !expander_.isSafeToExpandAt(walk.path->getStart(), loop_.getLoopPreheader()->getTerminator());
        });
        llvm::Value* next = nullptr;
        for (Walk& walk : walks_)
            next = rewrite(walk);
        llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(replaced_); // what they were computed from, too
        if (next)
            endByPointer(walks_.back(), next);
        return next;
    }

private:
    void collect(GetElementPtrInst* address) {
        constexpr std::size_t kMostPointers = 6; // each takes a register
        if (address->hasAllConstantIndices() || !evolution_.isSCEVable(address->getType()))
            return;
        const auto* path = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution_.getSCEV(address));
        if (!path || path->getLoop() != &loop_ || !path->isAffine())
            return;
        const auto* step = llvm::dyn_cast<llvm::SCEVConstant>(path->getStepRecurrence(evolution_));
        if (!step)
            return;
        for (Walk& walk : walks_)
            if (const auto* distance = llvm::dyn_cast<llvm::SCEVConstant>(evolution_.getMinusSCEV(path, walk.path))) {
                walk.addresses.emplace_back(address, distance->getAPInt().getSExtValue());
                return;
            }
        if (walks_.size() < kMostPointers)
            walks_.push_back({path, step->getAPInt().getSExtValue(), {{address, 0}}, 0});
    }

    llvm::Value* start(const Walk& walk) {
        const llvm::SCEV* from = evolution_.getAddExpr(walk.path->getStart(), evolution_.getConstant(llvm::APInt(64, walk.middle, true)));
        return expander_.expandCodeFor(from, walk.path->getType(), loop_.getLoopPreheader()->getTerminator()->getIterator());
    }

    // Distances from a pointer in the middle of what is read take one byte in an instruction, not four.
    std::int64_t middle(const Walk& walk) const {
        std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = std::numeric_limits<std::int64_t>::min();
        for (const auto& [address, distance] : walk.addresses)
            for (const llvm::User* user : address->users()) {
                llvm::APInt offset(64, 0);
                if (const auto* inner = llvm::dyn_cast<GetElementPtrInst>(user); inner && !inner->accumulateConstantOffset(layout_, offset))
                    continue;
                least = std::min(least, distance + offset.getSExtValue());
                most = std::max(most, distance + offset.getSExtValue());
            }
        if (least > most)
            return 0;
        return (least + most) / 2 / 64 * 64;
    }

    // The pointer of the next turn.
    llvm::Value* rewrite(Walk& walk) {
        walk.middle = middle(walk);
        llvm::Value* first = start(walk);
        llvm::IRBuilder<> builder(&loop_.getHeader()->front());
        llvm::PHINode* pointer = builder.CreatePHI(first->getType(), 2, "walk");
        builder.SetInsertPoint(loop_.getLoopLatch()->getTerminator());
        llvm::Value* next = builder.CreateGEP(builder.getInt8Ty(), pointer, builder.getInt64(static_cast<std::uint64_t>(walk.step)));
        pointer->addIncoming(first, loop_.getLoopPreheader());
        pointer->addIncoming(next, loop_.getLoopLatch());
        for (const auto& [address, distance] : walk.addresses) {
            llvm::Value* same = pointer;
            if (distance != walk.middle) {
                builder.SetInsertPoint(address);
                same = builder.CreateGEP(builder.getInt8Ty(), pointer,
                                         builder.getInt64(static_cast<std::uint64_t>(distance - walk.middle)));
            }
            address->replaceAllUsesWith(same);
            replaced_.emplace_back(address);
        }
        return next;
    }

    // Where the counter served the addresses alone, a pointer takes its place in the test of the loop, too: one register and
    // one addition less.
    void endByPointer(const Walk& walk, llvm::Value* next) {
        auto* branch = llvm::dyn_cast<llvm::BranchInst>(loop_.getLoopLatch()->getTerminator());
        auto* test = branch && branch->isConditional() ? llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition()) : nullptr;
        llvm::PHINode* counter = test && test->hasOneUse() ? counterOf(*test) : nullptr;
        const auto* turns = llvm::dyn_cast<llvm::SCEVConstant>(evolution_.getBackedgeTakenCount(&loop_));
        if (!counter || !turns || !servesOnly(*counter, *test))
            return;
        const std::int64_t count = turns->getAPInt().getSExtValue() + 1;
        llvm::IRBuilder<> builder(loop_.getLoopPreheader()->getTerminator());
        llvm::Value* end = builder.CreateGEP(builder.getInt8Ty(), start(walk), builder.getInt64(static_cast<std::uint64_t>(count * walk.step)));
        builder.SetInsertPoint(branch);
        const bool goesOn = loop_.contains(branch->getSuccessor(0));
        branch->setCondition(builder.CreateICmp(goesOn ? llvm::CmpInst::ICMP_NE : llvm::CmpInst::ICMP_EQ, next, end));
        test->eraseFromParent();
        llvm::RecursivelyDeleteDeadPHINode(counter);
    }

    llvm::PHINode* counterOf(const llvm::ICmpInst& test) const {
        for (llvm::PHINode& phi : loop_.getHeader()->phis())
            if (test.getOperand(0) == &phi || test.getOperand(0) == phi.getIncomingValueForBlock(loop_.getLoopLatch()))
                return &phi;
        return nullptr;
    }

    bool servesOnly(const llvm::PHINode& counter, const llvm::ICmpInst& test) const {
        const llvm::Value* next = counter.getIncomingValueForBlock(loop_.getLoopLatch());
        const auto within = [&](const llvm::Value* value) {
            return llvm::all_of(value->users(), [&](const llvm::User* user) { return user == next || user == &counter || user == &test; });
        };
        return within(&counter) && within(next);
    }

    llvm::Loop& loop_;
    llvm::ScalarEvolution& evolution_;
    const llvm::DataLayout& layout_;
    llvm::SCEVExpander expander_;
    std::vector<Walk> walks_;
    llvm::SmallVector<llvm::WeakTrackingVH, 16> replaced_;
};

} // namespace

llvm::PreservedAnalyses PointerInductionPass::run(llvm::Loop& loop, llvm::LoopAnalysisManager&, llvm::LoopStandardAnalysisResults& standard,
                                                  llvm::LPMUpdater&) {
    if (!loop.isLoopSimplifyForm() || !Inductor(loop, standard.SE).run())
        return llvm::PreservedAnalyses::all();
    standard.SE.forgetLoop(&loop);
    return llvm::getLoopPassPreservedAnalyses();
}

} // namespace tunesmith
