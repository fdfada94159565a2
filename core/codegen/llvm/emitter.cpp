// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/emitter.h"

#include <unordered_map>

#include "core/codegen/llvm/alias_scopes.h"
#include "core/codegen/llvm/byte_dots.h"
#include "core/codegen/llvm/casts.h"
#include "core/codegen/llvm/float_math.h"
#include "core/codegen/llvm/integer_math.h"
#include "core/codegen/llvm/kernel_function.h"
#include "core/codegen/llvm/lanes.h"
#include "core/codegen/llvm/small_floats.h"
#include "core/codegen/llvm/streamed_stores.h"
#include "core/codegen/llvm/transpose.h"
#include "core/codegen/llvm/value_types.h"
#include "core/loops/program.h"
#include "core/loops/simplify.h"

namespace tunesmith {
namespace {

using loops::Expr;
using loops::Op;
using loops::Stmt;
using loops::StmtKind;
using loops::Var;
using llvm::Value;

constexpr int kMaxTransposed = 16;

class PhaseEmitter {
public:
    PhaseEmitter(llvm::Module& module, const loops::LoopNest& nest, const loops::Phase& phase, Isa isa, const std::string& name)
        : context_(module.getContext()), builder_(context_), isa_(isa), math_(builder_, isa), nest_(nest), scopes_(context_, nest), streamed_(nest, phase) {
        auto* pointer = builder_.getPtrTy();
        auto* type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer, builder_.getInt64Ty(), builder_.getInt64Ty()}, false);
        function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
        function_->addFnAttr(llvm::Attribute::NoUnwind);
        builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));
        bindBuffers();
        if (!streamed_.none())
            emitStreaming(phase);
        emitBody(phase);
    }

    llvm::Function* function() { return function_; }

private:
    // Types -----------------------------------------------------------------------------------------------------------
    llvm::Type* valueType(DType type) { return valueTypeOf(builder_, type); }
    llvm::Type* memoryType(DType type) { return memoryTypeOf(builder_, type); }
    static llvm::Type* vectorOf(llvm::Type* type, int lanes) {
        return llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
    }
    static bool isVector(Value* value) { return value->getType()->isVectorTy(); }
    Value* widen(Value* value) { return isVector(value) ? value : builder_.CreateVectorSplat(static_cast<unsigned>(lanes_), value); }
    void matchWidths(Value*& a, Value*& b) {
        if (isVector(a) != isVector(b)) {
            a = widen(a);
            b = widen(b);
        }
    }

    void bindBuffers() {
        for (std::size_t i = 0; i < nest_.arguments.size(); ++i) {
            Value* slot = builder_.CreateConstGEP1_64(builder_.getPtrTy(), function_->getArg(0), i);
            auto* pointer = builder_.CreateAlignedLoad(builder_.getPtrTy(), slot, llvm::Align(8), nest_.arguments[i]->name);
            buffers_[nest_.arguments[i].get()] = pointer;
        }
        for (const auto& local : nest_.locals) {
            auto* type = llvm::ArrayType::get(memoryType(local->type), static_cast<std::uint64_t>(local->shape[0]));
            auto* slot = builder_.CreateAlloca(type, nullptr, local->name);
            slot->setAlignment(llvm::Align(64));
            buffers_[local.get()] = slot;
        }
    }

    void emitBody(const loops::Phase& phase) {
        emitLoop(phase.parallelVar, function_->getArg(1), function_->getArg(2), phase.body);
        builder_.CreateRetVoid();
    }

    // The version for buffers that begin a cache line; what is emitted after it is for others.
    void emitStreaming(const loops::Phase& phase) {
        auto* streaming = llvm::BasicBlock::Create(context_, "streaming", function_);
        auto* plain = llvm::BasicBlock::Create(context_, "plain", function_);
        builder_.CreateCondBr(streamed_.areAligned(builder_, [&](const loops::TensorDecl* buffer) { return buffers_.at(buffer); }), streaming, plain);
        builder_.SetInsertPoint(streaming);
        streams_ = true;
        emitLoop(phase.parallelVar, function_->getArg(1), function_->getArg(2), phase.body);
        streamed_.finish(builder_);
        builder_.CreateRetVoid();
        streams_ = false;
        builder_.SetInsertPoint(plain);
    }

    // Statements ------------------------------------------------------------------------------------------------------
    void emit(const Stmt& stmt) {
        if (!stmt)
            return;
        switch (stmt->kind) {
        case StmtKind::block:
            for (const Stmt& child : stmt->body)
                emit(child);
            return;
        case StmtKind::store: return emitStore(stmt);
        case StmtKind::prefetch: return emitPrefetch(stmt);
        case StmtKind::guard: return emitGuard(stmt);
        case StmtKind::loop: break;
        }
        if (stmt->loopKind == loops::LoopKind::vectorized && !vectorVar_) {
            if (lanesOf(stmt))
                return emitVectorized(stmt);
            if (const auto fold = laneFold(stmt))
                return emitFold(stmt, *fold);
        }
        if (stmt->loopKind == loops::LoopKind::transposed && canTranspose(stmt))
            return emitTransposed(stmt);
        emitLoop(stmt->var, emitExpr(stmt->begin), emitExpr(stmt->end), stmt->body[0]);
    }

    // A rotated loop: one test before, one at the end of each iteration.
    void emitLoop(const Var& var, Value* begin, Value* end, const Stmt& stmt) {
        auto* before = builder_.GetInsertBlock();
        auto* body = llvm::BasicBlock::Create(context_, var->name, function_);
        auto* after = llvm::BasicBlock::Create(context_, "after." + var->name, function_);
        builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), body, after);
        builder_.SetInsertPoint(body);
        auto* index = builder_.CreatePHI(builder_.getInt64Ty(), 2, var->name);
        index->addIncoming(begin, before);
        vars_[var.get()] = index;
        emit(stmt);
        Value* next = builder_.CreateAdd(index, builder_.getInt64(1), "", true, true);
        index->addIncoming(next, builder_.GetInsertBlock());
        builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), body, after);
        builder_.SetInsertPoint(after);
        vars_.erase(var.get());
    }

    void emitGuard(const Stmt& stmt) {
        auto* body = llvm::BasicBlock::Create(context_, "then", function_);
        auto* after = llvm::BasicBlock::Create(context_, "after.if", function_);
        builder_.CreateCondBr(emitExpr(stmt->condition), body, after);
        builder_.SetInsertPoint(body);
        emit(stmt->body[0]);
        builder_.CreateBr(after);
        builder_.SetInsertPoint(after);
    }

    void emitVectorized(const Stmt& stmt) {
        setLanes(stmt->var, *lanesOf(stmt));
        emit(stmt->body[0]);
        vectorVar_ = nullptr;
    }

    void emitFold(const Stmt& loop, const LaneFold& fold) {
        setLanes(loop->var, fold.lanes);
        const auto combine = [&](Value* a, Value* b) { return math_.binary(fold.op, a, b); };
        Value* folded = foldLanes(builder_, widen(emitExpr(fold.lane)), combine);
        vectorVar_ = nullptr;
        storeTo(fold.store, combine(emitExpr(fold.folded), folded), 0);
    }

    void setLanes(const Var& var, const LaneRange& lanes) {
        vectorVar_ = var;
        firstLane_ = lanes.first;
        lanes_ = lanes.count;
    }

    // Rows of lanes, as many as fit a transposition in registers.
    bool canTranspose(const Stmt& rows) const {
        const auto begin = loops::constantValue(rows->begin), end = loops::constantValue(rows->end);
        const Stmt& lanes = rows->body[0];
        return begin && end && *end - *begin <= kMaxTransposed && lanes->kind == StmtKind::loop && lanes->loopKind == loops::LoopKind::vectorized &&
               lanes->body[0]->kind == StmtKind::store && lanesOf(lanes).value_or(LaneRange{0, kMaxTransposed + 1}).count <= kMaxTransposed;
    }

    // What lies side by side along the rows and apart along the lanes is read by rows and transposed; the rest is written out.
    void emitTransposed(const Stmt& rows) {
        const Stmt& lanes = rows->body[0];
        const std::int64_t begin = *loops::constantValue(rows->begin), end = *loops::constantValue(rows->end);
        readTransposed(lanes->body[0]->value, rows->var, begin, end, lanes);
        for (row_ = 0; begin + row_ < end; ++row_) {
            vars_[rows->var.get()] = builder_.getInt64(static_cast<std::uint64_t>(begin + row_));
            emitVectorized(lanes);
        }
        vars_.erase(rows->var.get());
        transposedLoads_.clear();
    }

    void readTransposed(const Expr& e, const Var& row, std::int64_t begin, std::int64_t end, const Stmt& lanes) {
        if (e->op != Op::load) {
            if (e->op != Op::select || e->isFree) // what may be out of bounds is read where its condition is tested
                for (const Expr& arg : e->args)
                    readTransposed(arg, row, begin, end, lanes);
            return;
        }
        if (loops::strideAlong(e->args[0], row) != 1 || loops::strideAlong(e->args[0], lanes->var).value_or(0) <= 1 || transposedLoads_.contains(e.get()))
            return;
        std::vector<Value*> read;
        vectorVar_ = row;
        for (std::int64_t lane = *loops::constantValue(lanes->begin); lane < *loops::constantValue(lanes->end); ++lane) {
            vars_[lanes->var.get()] = builder_.getInt64(static_cast<std::uint64_t>(lane));
            read.push_back(loadFrom(e, vectorOf(memoryType(e->type), static_cast<int>(end - begin)), begin));
        }
        vars_.erase(lanes->var.get());
        vectorVar_ = nullptr;
        transposedLoads_[e.get()] = transposed(builder_, read);
    }

    void emitPrefetch(const Stmt& stmt) {
        Value* place = address(buffers_.at(stmt->buffer.get()), memoryType(stmt->buffer->type), stmt->offset, 0, Bounds::beyond);
        scopes_.mark(*builder_.CreateIntrinsic(llvm::Intrinsic::prefetch, {place->getType()},
                                               {place, builder_.getInt32(0), builder_.getInt32(static_cast<unsigned>(4 - stmt->cacheLevel)), builder_.getInt32(1)}), stmt->buffer.get());
    }

    void storeTo(const Stmt& stmt, Value* value, std::int64_t lane) {
        const auto& buffer = stmt->buffer;
        Value* place = address(buffers_.at(buffer.get()), memoryType(buffer->type), stmt->offset, lane);
        auto* store = builder_.CreateAlignedStore(value, place, llvm::Align(byteSize(buffer->type)));
        scopes_.mark(*store, buffer.get());
        if (streams_)
            streamed_.add(*store, buffer.get(), atLane(stmt->offset, lane));
    }

    // A sum that begins with 0 + -0 may be either zero: so the first addition to a buffer of zeros is none.
    Value* emitStored(const Stmt& stmt) {
        const auto isOwn = [&](const Expr& e) { return e->op == Op::load && e->tensor == stmt->buffer; };
        const llvm::IRBuilderBase::FastMathFlagGuard guard(builder_);
        if (stmt->value->op == Op::add && (isOwn(stmt->value->args[0]) || isOwn(stmt->value->args[1]))) {
            llvm::FastMathFlags flags;
            flags.setNoSignedZeros();
            builder_.setFastMathFlags(flags);
        }
        return emitExpr(stmt->value);
    }

    void emitStore(const Stmt& stmt) {
        Value* value = emitStored(stmt);
        if (stmt->value->type == DType::boolean) {
            llvm::Type* type = isVector(value) ? vectorOf(builder_.getInt8Ty(), lanes_) : builder_.getInt8Ty();
            value = builder_.CreateZExt(value, type);
        } else if (isSmallFloat(stmt->buffer->type)) {
            value = roundToSmallFloat(builder_, value, stmt->buffer->type);
        }
        const auto stride = laneStride(stmt->offset);
        if (stride == 0) {
            storeTo(stmt, value, firstLane_);
        } else if (stride == 1) {
            storeTo(stmt, widen(value), firstLane_);
        } else {
            for (int lane = 0; lane < lanes_; ++lane)
                storeTo(stmt, isVector(value) ? builder_.CreateExtractElement(value, static_cast<std::uint64_t>(lane)) : value, firstLane_ + lane);
        }
    }

    // Addresses -------------------------------------------------------------------------------------------------------
    std::optional<std::int64_t> laneStride(const Expr& offset) const { return vectorVar_ ? loops::strideAlong(offset, vectorVar_) : 0; }

    Expr atLane(const Expr& offset, std::int64_t lane) const {
        return vectorVar_ ? loops::substitute(offset, [&](const Var& var) { return var == vectorVar_ ? Expr(lane) : Expr(); }) : offset;
    }

    // Variable part first, constant part as a second step: the back end folds the latter into the instruction.
    enum class Bounds : std::uint8_t { within, beyond }; // of the buffer
    Value* address(Value* base, llvm::Type* element, const Expr& offset, std::int64_t lane, Bounds bounds = Bounds::within) {
        const auto flags = bounds == Bounds::within ? llvm::GEPNoWrapFlags::inBounds() : llvm::GEPNoWrapFlags::none();
        const loops::LinearForm form = loops::toLinear(atLane(offset, lane), loops::VarRanges());
        Value* pointer = base;
        for (const auto& [atom, factor] : form.terms) {
            Value* term = emitScalarIndex(atom);
            if (factor != 1)
                term = builder_.CreateMul(term, builder_.getInt64(static_cast<std::uint64_t>(factor)), "", false, true);
            pointer = builder_.CreateGEP(element, pointer, term, "", flags);
        }
        if (form.constant != 0)
            pointer = builder_.CreateGEP(element, pointer, builder_.getInt64(static_cast<std::uint64_t>(form.constant)), "", flags);
        return pointer;
    }

    // An index that is the same for all lanes, even while a vectorised loop is emitted.
    Value* emitScalarIndex(const Expr& e) {
        const Var kept = std::exchange(vectorVar_, nullptr);
        Value* value = emitExpr(e);
        vectorVar_ = kept;
        return value;
    }

    // Expressions -----------------------------------------------------------------------------------------------------
    Value* emitExpr(const Expr& e) {
        switch (e->op) {
        case Op::constant: return constant(e);
        case Op::var: return variable(e->var);
        case Op::load: return emitLoad(e);
        case Op::select: return emitSelect(e);
        case Op::cast: return emitCast(e);
        default: break;
        }
        if (e->op == Op::add && isFloat(e->type))
            if (Value* fused = fusedMultiplyAdd(e->args[0], e->args[1]))
                return fused;
        if (e->op == Op::dot4 || (e->op == Op::add && e->args[1]->op == Op::dot4))
            return e->op == Op::add ? dotAdd(e->args[0], e->args[1]) : dotAdd(loops::constantInt(e->type, 0), e);
        Value* a = emitExpr(e->args[0]);
        const DType type = e->args[0]->type;
        if (e->args.size() == 1)
            return isFloat(type) ? math_.unary(e->op, a) : emitIntUnary(builder_, e->op, a, isSigned(type));
        Value* b = emitExpr(e->args[1]);
        matchWidths(a, b);
        if (isFloat(type) && isSigmoid(e))
            return math_.sigmoid(a, b);
        return isFloat(type) ? math_.binary(e->op, a, b) : emitIntBinary(builder_, e->op, a, b, isSigned(type));
    }

    Value* constant(const Expr& e) {
        if (isFloat(e->type))
            return llvm::ConstantFP::get(valueType(e->type), e->floatValue);
        return llvm::ConstantInt::get(valueType(e->type), static_cast<std::uint64_t>(e->intValue), true);
    }

    Value* variable(const Var& var) {
        if (var != vectorVar_)
            return vars_.at(var.get());
        std::vector<llvm::Constant*> lanes;
        for (int lane = 0; lane < lanes_; ++lane)
            lanes.push_back(builder_.getInt64(static_cast<std::uint64_t>(firstLane_ + lane)));
        return llvm::ConstantVector::get(lanes);
    }

    Value* loadFrom(const Expr& e, llvm::Type* type, std::int64_t lane) {
        const bool masked = mask_ && type->isVectorTy(); // lanes that do not read may be out of bounds
        Value* place = address(buffers_.at(e->tensor.get()), memoryType(e->type), e->args[0], lane, masked ? Bounds::beyond : Bounds::within);
        const llvm::Align alignment(byteSize(e->type));
        llvm::Instruction* loaded = masked ? static_cast<llvm::Instruction*>(builder_.CreateMaskedLoad(type, place, alignment, mask_, llvm::Constant::getNullValue(type)))
                                           : builder_.CreateAlignedLoad(type, place, alignment);
        scopes_.mark(*loaded, e->tensor.get());
        return loaded;
    }

    Value* emitLoad(const Expr& e) {
        llvm::Type* element = memoryType(e->type);
        const auto stride = laneStride(e->args[0]);
        Value* value = nullptr;
        if (const auto known = transposedLoads_.find(e.get()); vectorVar_ && known != transposedLoads_.end()) {
            value = known->second[static_cast<std::size_t>(row_)];
        } else if (stride == 0) {
            value = loadFrom(e, element, firstLane_);
        } else if (stride == 1) {
            value = loadFrom(e, vectorOf(element, lanes_), firstLane_);
        } else if (stride == 2 && !mask_ && lanes_ > 2) {
            value = loadEverySecond(e, element);
        } else if (const auto places = mask_ ? std::nullopt : neighbouringReads(e->args[0], vectorVar_, firstLane_, lanes_)) {
            value = loadNeighbours(e, element, *places);
        } else {
            value = llvm::PoisonValue::get(vectorOf(element, lanes_));
            for (int lane = 0; lane < lanes_; ++lane)
                value = builder_.CreateInsertElement(value, loadFrom(e, element, firstLane_ + lane), static_cast<std::uint64_t>(lane));
        }
        if (isSmallFloat(e->type))
            return widenSmallFloat(builder_, value, e->type);
        return e->type == DType::boolean ? builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType())) : value;
    }

    Value* loadNeighbours(const Expr& e, llvm::Type* element, const NeighbouringReads& from) {
        const int count = std::ranges::max(from.places) + 1;
        return builder_.CreateShuffleVector(loadFrom(e, vectorOf(element, count), from.first), from.places);
    }

    // Two vectors that share an element hold all of them.
    Value* loadEverySecond(const Expr& e, llvm::Type* element) {
        Value* place = address(buffers_.at(e->tensor.get()), element, e->args[0], firstLane_);
        const auto half = [&](int first) {
            Value* begin = builder_.CreateConstInBoundsGEP1_64(element, place, static_cast<unsigned>(first));
            auto* loaded = builder_.CreateAlignedLoad(vectorOf(element, lanes_), begin, llvm::Align(byteSize(e->type)));
            scopes_.mark(*loaded, e->tensor.get());
            return loaded;
        };
        return everySecond(builder_, half(0), half(lanes_ - 1));
    }

    Value* fusedMultiplyAdd(const Expr& a, const Expr& b) {
        const bool left = a->op == Op::mul;
        if (!left && b->op != Op::mul)
            return nullptr;
        const Expr& product = left ? a : b;
        Value* x = emitExpr(product->args[0]);
        Value* y = emitExpr(product->args[1]);
        Value* z = emitExpr(left ? b : a);
        if (isVector(x) || isVector(y) || isVector(z)) {
            x = widen(x);
            y = widen(y);
            z = widen(z);
        }
        return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
    }

    Value* dotAdd(const Expr& sum, const Expr& dot) {
        Value *x = emitExpr(sum), *y = emitExpr(dot->args[0]), *z = emitExpr(dot->args[1]);
        const bool any = isVector(x) || isVector(y) || isVector(z);
        return any ? emitDotAdd(builder_, isa_, widen(x), widen(y), widen(z)) : emitDotAdd(builder_, isa_, x, y, z);
    }

    Value* emitSelect(const Expr& e) {
        Value* condition = emitExpr(e->args[0]);
        const bool guards = !e->isFree && loops::readsMemory(e);
        if (guards && !isVector(condition))
            return emitBranchingSelect(e, condition);
        Value* a = guards ? emitMasked(e->args[1], condition) : emitExpr(e->args[1]);
        Value* b = guards ? emitMasked(e->args[2], builder_.CreateNot(condition)) : emitExpr(e->args[2]);
        matchWidths(a, b);
        if (isVector(condition) && !isVector(a)) {
            a = widen(a);
            b = widen(b);
        }
        return builder_.CreateSelect(condition, a, b);
    }

    // Only the lanes of the mask read.
    Value* emitMasked(const Expr& e, Value* mask) {
        Value* const outer = std::exchange(mask_, mask_ ? builder_.CreateAnd(mask_, mask) : mask);
        Value* value = emitExpr(e);
        mask_ = outer;
        return value;
    }

    // The side that is not taken may read out of bounds (a padded read), so it must not be evaluated.
    Value* emitBranchingSelect(const Expr& e, Value* condition) {
        auto* thenBlock = llvm::BasicBlock::Create(context_, "select.then", function_);
        auto* elseBlock = llvm::BasicBlock::Create(context_, "select.else", function_);
        auto* join = llvm::BasicBlock::Create(context_, "select.join", function_);
        builder_.CreateCondBr(condition, thenBlock, elseBlock);
        const auto emitSide = [&](llvm::BasicBlock* block, const Expr& side) {
            builder_.SetInsertPoint(block);
            Value* value = emitExpr(side);
            if (vectorVar_)
                value = widen(value);
            auto* end = builder_.GetInsertBlock();
            builder_.CreateBr(join);
            return std::pair(value, end);
        };
        const auto [a, aEnd] = emitSide(thenBlock, e->args[1]);
        const auto [b, bEnd] = emitSide(elseBlock, e->args[2]);
        builder_.SetInsertPoint(join);
        auto* phi = builder_.CreatePHI(a->getType(), 2);
        phi->addIncoming(a, aEnd);
        phi->addIncoming(b, bEnd);
        return phi;
    }

    Value* emitCast(const Expr& e) {
        const Expr& from = e->args[0];
        return castValue(builder_, emitExpr(from), {from->type, isSaturated(from)}, e->type);
    }

    llvm::LLVMContext& context_;
    llvm::IRBuilder<> builder_;
    const Isa isa_;
    const FloatMath math_;
    const loops::LoopNest& nest_;
    const AliasScopes scopes_;
    StreamedStores streamed_;
    bool streams_ = false; // while their version is emitted
    llvm::Function* function_ = nullptr;
    std::unordered_map<const loops::TensorDecl*, Value*> buffers_;
    std::unordered_map<const loops::VarInfo*, Value*> vars_;
    Var vectorVar_;
    std::int64_t firstLane_ = 0;
    int lanes_ = 1;
    Value* mask_ = nullptr; // of the lanes that read, if not all do
    std::unordered_map<const loops::ExprNode*, std::vector<Value*>> transposedLoads_; // a value for each row
    std::int64_t row_ = 0;
};

} // namespace

Status emitKernel(llvm::Module& module, const loops::LoopNest& nest, const Target& target, const std::string& name) {
    TS_TRY(checkTypes(nest));
    for (std::size_t i = 0; i < nest.phases.size(); ++i) {
        PhaseEmitter emitter(module, nest, nest.phases[i], target.isa, name + "_" + std::to_string(i));
        setTarget(*emitter.function(), nest, target);
    }
    return {};
}

} // namespace tunesmith
