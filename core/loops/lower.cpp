// SPDX-License-Identifier: GPL-3.0-or-later
#include <limits>
#include <set>

#include "core/loops/passes.h"
#include "core/loops/schedule.h"
#include "core/loops/simplify.h"

namespace tunesmith::loops {

// What part of a stage's output a nest computes: for each dimension the first index and how many.
struct Region {
    std::vector<Expr> begin;
    Shape extent;
};

// Where a tensor is kept while the nest runs: the region that the buffer holds, and how.
struct Storage {
    TensorRef buffer;
    Layout layout;
    Region region;
};

class Lowering {
public:
    explicit Lowering(const Schedule& schedule) : schedule_(schedule) {}
    Result<LoopNest> run();

    const Schedule& schedule_;
    LoopNest nest_;
    VarRanges ranges_;
    std::map<TensorRef, Storage> storage_;
    std::map<Var, Expr> values_; // what the axes and split loops of all stages so far are in terms of loops

    Stmt emitAttached(std::size_t consumer, const Var& loop, class StageNest& nest);
    Expr flatten(const Expr& e) const; // loads of tensors -> loads of flat buffers

private:
    // A stage that loads an attached one: its axes in terms of loops, and the variables that run inside the attachment.
    struct Reader {
        std::size_t index;
        std::map<Var, Expr> values;
        std::set<const VarInfo*> inner;
    };
    Region regionFor(const TensorRef& tensor, const std::vector<Reader>& readers) const;
    Region regionAt(std::size_t index, std::size_t consumer, StageNest& nest, const std::vector<std::size_t>& inside);
    Reader readerOver(std::size_t index, const Region& region, std::set<const VarInfo*> inner);
    void addArgument(const TensorRef& tensor);
    void addScratch();
    Status emitPhase(std::size_t stage);
    TensorRef makeLocal(const TensorRef& tensor, const Region& region, const Var& home); // home: the loop that it is attached to

    LocalBuffers locals_;
};

namespace {

Region wholeRegion(const Shape& shape) { return {std::vector<Expr>(shape.size(), Expr(0)), shape}; }

Expr identityOf(Reduction reduction, DType type) {
    const double infinity = std::numeric_limits<double>::infinity();
    if (reduction == Reduction::sum)
        return constantOf(type, 0);
    if (reduction == Reduction::product)
        return constantOf(type, 1);
    const bool maximum = reduction == Reduction::max;
    if (isFloat(type))
        return constantOf(type, maximum ? -infinity : infinity);
    return visitDType(type, [&](auto tag) {
        using T = decltype(tag);
        if constexpr (std::is_integral_v<T>)
            return constantInt(type, static_cast<std::int64_t>(maximum ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max()));
        else
            return constantInt(type, 0);
    });
}

Expr combined(Reduction reduction, Expr accumulated, Expr value) {
    switch (reduction) {
    case Reduction::product: return accumulated * value;
    case Reduction::max: return max(accumulated, value);
    case Reduction::min: return min(accumulated, value);
    default: return accumulated + value;
    }
}

// The values that an index takes while the inner variables run: a first value in terms of the outer variables, and a count.
struct IndexSpan {
    Expr begin;
    std::int64_t count;
};

std::optional<IndexSpan> spanOf(const Expr& index, const VarRanges& ranges, const std::set<const VarInfo*>& inner) {
    LinearForm outer, varying;
    const LinearForm form = toLinear(index, ranges);
    outer.constant = form.constant;
    for (const auto& [atom, factor] : form.terms)
        (usesAny(atom, inner) ? varying : outer).add(atom, factor);
    const Range range = rangeOf(varying, ranges);
    if (range.min <= -kUnbounded / 2 || range.max >= kUnbounded / 2)
        return std::nullopt;
    outer.constant += range.min;
    return IndexSpan{fromLinear(outer, ranges), range.max - range.min + 1};
}

// Collects how `tensor` is indexed in `e`.
void collectLoads(const Expr& e, const TensorRef& tensor, std::vector<std::vector<Expr>>& found) {
    if (e->op == Op::load && e->tensor == tensor)
        found.push_back(e->args);
    for (const Expr& arg : e->args)
        collectLoads(arg, tensor, found);
}

Expr substituteAll(const Expr& e, const std::map<Var, Expr>& values) {
    return substitute(e, [&](const Var& var) {
        const auto found = values.find(var);
        return found == values.end() ? Expr() : found->second;
    });
}

// The smallest box around two regions, or the whole dimension where that cannot be said.
void widen(std::optional<IndexSpan>& span, const std::optional<IndexSpan>& other, std::int64_t wholeExtent, const VarRanges& ranges) {
    if (!span || !other) {
        span = IndexSpan{Expr(0), wholeExtent};
        return;
    }
    LinearForm gap = toLinear(other->begin, ranges);
    gap.add(toLinear(span->begin, ranges), -1);
    if (!gap.isConstant()) {
        span = IndexSpan{Expr(0), wholeExtent};
        return;
    }
    const std::int64_t begin = std::min<std::int64_t>(0, gap.constant);
    const std::int64_t end = std::max(span->count, gap.constant + other->count);
    span = IndexSpan{simplify(span->begin + Expr(begin), ranges), end - begin};
}

} // namespace

// The loops of one stage over one region.
class StageNest {
public:
    StageNest(Lowering& lowering, std::size_t index, const Region& region)
        : lowering_(lowering), index_(index), stage_(lowering.schedule_.program().stages[index]),
          schedule_(lowering.schedule_.stages_[index]) {
        findExtents(region);
        findValues(region);
        for (const auto& [var, value] : values_)
            lowering_.values_[var] = value;
    }

    std::int64_t extentOf(const Var& loop) const { return extents_.at(loop); }
    const std::map<Var, Expr>& values() const { return values_; }
    std::size_t positionOf(const Var& loop) const { return schedule_.positionOf(loop); }

    Stmt emit(std::size_t firstLoop) {
        if (stage_.reduction == Reduction::none)
            return emitLoops(firstLoop);
        firstReduce_ = schedule_.leaves_.size();
        for (std::size_t i = schedule_.leaves_.size(); i-- > 0;)
            if (isReduce(schedule_.leaves_[i]))
                firstReduce_ = i;
        return emitLoops(firstLoop);
    }

private:
    bool isReduce(const Var& loop) const { return reduceLoops_.contains(loop); }

    std::int64_t wholeExtent(std::size_t d) const {
        const auto rounded = schedule_.rounded_.find(stage_.axes[d].var);
        return rounded == schedule_.rounded_.end() ? stage_.output->shape[d] : rounded->second;
    }

    void findExtents(const Region& region) {
        for (std::size_t d = 0; d < stage_.axes.size(); ++d)
            extents_[stage_.axes[d].var] = region.extent[d] == stage_.output->shape[d] ? wholeExtent(d) : region.extent[d];
        for (const Axis& axis : stage_.reduceAxes) {
            extents_[axis.var] = axis.extent;
            reduceLoops_.insert(axis.var);
        }
        for (const auto& relation : schedule_.relations_) {
            if (relation.factor == 0) {
                extents_[relation.parent] = extents_[relation.outer] * extents_[relation.inner];
                if (isReduce(relation.outer))
                    reduceLoops_.insert(relation.parent);
                continue;
            }
            const std::int64_t parent = extents_[relation.parent];
            const std::int64_t factor = std::max<std::int64_t>(1, std::min(relation.factor, parent));
            extents_[relation.inner] = factor;
            extents_[relation.outer] = (parent + factor - 1) / factor;
            if (isReduce(relation.parent))
                reduceLoops_.insert({relation.outer, relation.inner});
        }
    }

    // Each axis in terms of the loops; where a split does not divide, a condition that the iteration exists.
    void findValues(const Region& region) {
        for (const Var& leaf : schedule_.leaves_)
            values_[leaf] = Expr(leaf);
        for (auto it = schedule_.relations_.rbegin(); it != schedule_.relations_.rend(); ++it) {
            if (it->factor == 0) {
                const std::int64_t inner = extents_[it->inner];
                values_[it->outer] = values_[it->parent] / Expr(inner);
                values_[it->inner] = values_[it->parent] % Expr(inner);
                continue;
            }
            const std::int64_t factor = extents_[it->inner];
            values_[it->parent] = values_[it->outer] * Expr(factor) + values_[it->inner];
            if (extents_[it->parent] % factor != 0)
                conditions_.push_back({isReduce(it->parent), values_[it->parent] < Expr(extents_[it->parent])});
        }
        for (std::size_t d = 0; d < stage_.axes.size(); ++d) {
            const Var& axis = stage_.axes[d].var;
            values_[axis] = region.begin[d] + values_[axis];
            const std::int64_t whole = wholeExtent(d);
            if (isConstant(region.begin[d], 0) && region.extent[d] <= whole)
                continue;
            conditions_.push_back({false, values_[axis] < Expr(whole)});
            conditions_.push_back({false, values_[axis] >= Expr(0)});
        }
    }

    Expr condition(bool withReduction) const {
        Expr all = constantInt(DType::boolean, 1);
        for (const auto& [reduce, term] : conditions_)
            if (withReduction || !reduce)
                all = all && term;
        return all;
    }

    LoopKind kindOf(const Var& loop) const {
        const auto found = schedule_.kinds_.find(loop);
        return found == schedule_.kinds_.end() ? LoopKind::serial : found->second;
    }

    Stmt emitLoops(std::size_t position) {
        if (stage_.reduction != Reduction::none && position == firstReduce_ && !initialised_) {
            initialised_ = true;
            Stmt init = emitInit(position);
            return makeBlock({std::move(init), emitLoops(position)});
        }
        if (position == schedule_.leaves_.size())
            return emitStatement();
        const Var& loop = schedule_.leaves_[position];
        lowering_.ranges_.set(loop, {0, extents_[loop] - 1});
        Stmt attached = lowering_.emitAttached(index_, loop, *this);
        Stmt body = makeBlock({std::move(attached), emitPrefetches(loop), emitLoops(position + 1)});
        lowering_.ranges_.erase(loop);
        const LoopKind kind = kindOf(loop) == LoopKind::parallel ? LoopKind::serial : kindOf(loop);
        return makeLoop(kind, loop, Expr(0), Expr(extents_[loop]), std::move(body));
    }

public:
    // Loops further in than `position`, with their ranges set (regions depend on them).
    std::set<const VarInfo*> innerVars(std::size_t position) {
        std::set<const VarInfo*> inner;
        for (std::size_t i = position + 1; i < schedule_.leaves_.size(); ++i) {
            inner.insert(schedule_.leaves_[i].get());
            lowering_.ranges_.set(schedule_.leaves_[i], {0, extents_[schedule_.leaves_[i]] - 1});
        }
        return inner;
    }

private:
    Stmt emitPrefetches(const Var& loop) const {
        std::vector<Stmt> hints;
        for (const auto& hint : schedule_.prefetches_)
            if (hint.loop == loop)
                hints.push_back(makePrefetch(lowering_.storage_.at(hint.input).buffer, atFirstOf(substituteAll(hint.offset, lowering_.values_), loop), hint.cacheLevel));
        return makeBlock(std::move(hints));
    }

    // What does not run yet at this place, the loops further in, at their first iterations.
    Expr atFirstOf(const Expr& e, const Var& loop) const {
        const auto inner = schedule_.leaves_.begin() + static_cast<std::ptrdiff_t>(schedule_.positionOf(loop)) + 1;
        return substitute(e, [&](const Var& var) { return std::find(inner, schedule_.leaves_.end(), var) == schedule_.leaves_.end() ? Expr() : Expr(0); });
    }

    Stmt emitInit(std::size_t position) {
        const Storage& storage = lowering_.storage_.at(stage_.output);
        Stmt body = makeGuard(condition(false), makeStore(storage.buffer, outputOffset(storage),
                                                          identityOf(stage_.reduction, stage_.output->type)));
        for (std::size_t i = schedule_.leaves_.size(); i-- > position;) {
            const Var& loop = schedule_.leaves_[i];
            if (!isReduce(loop))
                body = makeLoop(kindOf(loop), loop, Expr(0), Expr(extents_[loop]), std::move(body));
        }
        return body;
    }

    Stmt emitStatement() {
        const Storage& storage = lowering_.storage_.at(stage_.output);
        const Expr offset = outputOffset(storage);
        Expr value = lowering_.flatten(substituteAll(stage_.body, values_));
        Expr guard = condition(true);
        if (stage_.guard.valid())
            guard = guard && lowering_.flatten(substituteAll(stage_.guard, values_));
        if (stage_.reduction != Reduction::none)
            value = combined(stage_.reduction, load(storage.buffer, {offset}), std::move(value));
        return makeGuard(guard, makeStore(storage.buffer, offset, std::move(value)));
    }

    Expr outputOffset(const Storage& storage) const {
        std::vector<Expr> indices;
        for (std::size_t d = 0; d < stage_.axes.size(); ++d)
            indices.push_back(values_.at(stage_.axes[d].var) - storage.region.begin[d]);
        return storage.layout.offset(storage.region.extent, indices);
    }

    Lowering& lowering_;
    std::size_t index_;
    const Stage& stage_;
    const StageSchedule& schedule_;
    std::map<Var, std::int64_t> extents_;
    std::map<Var, Expr> values_;
    std::set<Var> reduceLoops_;
    std::vector<std::pair<bool, Expr>> conditions_; // about the reduction?, condition
    std::size_t firstReduce_ = 0;
    bool initialised_ = false;
};

Expr Lowering::flatten(const Expr& e) const {
    if (e->args.empty() && e->op != Op::load)
        return e;
    std::vector<Expr> args;
    for (const Expr& arg : e->args)
        args.push_back(flatten(arg));
    if (e->op != Op::load)
        return rebuild(e, std::move(args));
    const Storage& storage = storage_.at(e->tensor);
    for (std::size_t d = 0; d < args.size(); ++d)
        args[d] = args[d] - storage.region.begin[d];
    return load(storage.buffer, {storage.layout.offset(storage.region.extent, args)});
}

TensorRef Lowering::makeLocal(const TensorRef& tensor, const Region& region, const Var& home) {
    const Layout layout = schedule_.layoutOf(tensor);
    TensorRef buffer = makeTensor(tensor->name, tensor->type, {layout.elementCount(region.extent)});
    locals_.add(buffer, home);
    storage_[tensor] = {buffer, layout, region};
    return buffer;
}

// What an attached stage must cover: all that its readers load while their inner variables run.
Region Lowering::regionFor(const TensorRef& tensor, const std::vector<Reader>& readers) const {
    const Shape& shape = tensor->shape;
    std::vector<std::optional<IndexSpan>> spans(shape.size());
    bool first = true;
    for (const Reader& reader : readers) {
        std::vector<std::vector<Expr>> loads;
        collectLoads(schedule_.program().stages[reader.index].body, tensor, loads);
        for (const auto& indices : loads) {
            for (std::size_t d = 0; d < shape.size(); ++d) {
                const auto span = spanOf(substituteAll(indices[d], reader.values), ranges_, reader.inner);
                if (first)
                    spans[d] = span ? span : IndexSpan{Expr(0), shape[d]};
                else
                    widen(spans[d], span, shape[d], ranges_);
            }
            first = false;
        }
    }
    assert(!first && "a stage is attached to a loop of a stage that does not read it");
    Region region;
    for (const auto& span : spans) {
        region.begin.push_back(span->begin);
        region.extent.push_back(span->count);
    }
    return region;
}

Lowering::Reader Lowering::readerOver(std::size_t index, const Region& region, std::set<const VarInfo*> inner) {
    const Stage& stage = schedule_.program().stages[index];
    Reader reader{index, {}, std::move(inner)};
    for (std::size_t d = 0; d < stage.axes.size(); ++d) {
        const Var& axis = stage.axes[d].var;
        reader.values[axis] = region.begin[d] + Expr(axis);
        reader.inner.insert(axis.get());
        ranges_.set(axis, {0, region.extent[d] - 1});
    }
    for (const Axis& axis : stage.reduceAxes) {
        reader.inner.insert(axis.var.get());
        ranges_.set(axis.var, {0, axis.extent - 1});
    }
    return reader;
}

// The readers of an attached stage are the consumer itself and later stages attached to the same loop or further in.
Stmt Lowering::emitAttached(std::size_t consumer, const Var& loop, StageNest& nest) {
    const auto& stages = schedule_.program().stages;
    const std::size_t position = nest.positionOf(loop);
    std::vector<Stmt> nests;
    std::vector<std::size_t> inside; // all stages that the consumer's nest makes from here on, last first
    for (std::size_t i = stages.size(); i-- > 0;) {
        const StageSchedule& candidate = schedule_.stages_[i];
        if (candidate.attachStage_ == stages[consumer].output && nest.positionOf(candidate.attachLoop_) >= position)
            inside.push_back(i);
    }
    std::vector<std::pair<std::size_t, Region>> attached;
    for (const std::size_t i : inside) {
        const Region region = regionAt(i, consumer, nest, inside);
        if (schedule_.stages_[i].attachLoop_ != loop)
            continue;
        makeLocal(stages[i].output, region, loop);
        attached.emplace_back(i, region);
    }
    for (auto it = attached.rbegin(); it != attached.rend(); ++it)
        nests.push_back(StageNest(*this, it->first, it->second).emit(0));
    return makeBlock(std::move(nests));
}

// The region of a stage at the loop that it is attached to.
Region Lowering::regionAt(std::size_t index, std::size_t consumer, StageNest& nest, const std::vector<std::size_t>& inside) {
    const auto& stages = schedule_.program().stages;
    const std::size_t position = nest.positionOf(schedule_.stages_[index].attachLoop_);
    const std::set<const VarInfo*> inner = nest.innerVars(position);
    std::vector<Reader> readers{{consumer, nest.values(), inner}};
    for (const std::size_t other : inside)
        if (other > index && nest.positionOf(schedule_.stages_[other].attachLoop_) >= position)
            readers.push_back(readerOver(other, regionAt(other, consumer, nest, inside), inner));
    return regionFor(stages[index].output, readers);
}

void Lowering::addArgument(const TensorRef& tensor) {
    const Layout layout = schedule_.layoutOf(tensor);
    TensorRef flat = makeTensor(tensor->name, tensor->type, {layout.elementCount(tensor->shape)});
    storage_[tensor] = {flat, layout, wholeRegion(tensor->shape)};
    nest_.arguments.push_back(std::move(flat));
}

void Lowering::addScratch() {
    const Program& program = schedule_.program();
    for (std::size_t i = 0; i < program.stages.size(); ++i)
        if (!schedule_.stages_[i].attachStage_ && !storage_.contains(program.stages[i].output))
            addArgument(program.stages[i].output);
}

Status Lowering::emitPhase(std::size_t index) {
    const Stage& stage = schedule_.program().stages[index];
    const StageSchedule& schedule = schedule_.stages_[index];
    StageNest nest(*this, index, wholeRegion(stage.output->shape));
    Phase phase;
    const bool isParallel = !schedule.leaves_.empty() && schedule.kinds_.contains(schedule.leaves_[0]) &&
                            schedule.kinds_.at(schedule.leaves_[0]) == LoopKind::parallel;
    if (!isParallel) {
        phase.parallelVar = makeVar("once");
        phase.body = nest.emit(0);
    } else {
        phase.parallelVar = schedule.leaves_[0];
        phase.extent = nest.extentOf(phase.parallelVar);
        ranges_.set(phase.parallelVar, {0, phase.extent - 1});
        Stmt attached = emitAttached(index, phase.parallelVar, nest);
        phase.body = makeBlock({std::move(attached), nest.emit(1)});
    }
    nest_.phases.push_back(optimizePhase(std::move(phase), locals_));
    return {};
}

Result<LoopNest> Lowering::run() {
    const Program& program = schedule_.program();
    nest_.name = program.name;
    for (const TensorRef& input : program.inputs)
        addArgument(input);
    nest_.inputCount = program.inputs.size();
    for (const TensorRef& output : program.outputs)
        addArgument(output);
    nest_.outputCount = program.outputs.size();
    for (const TensorRef& output : schedule_.streamed_)
        nest_.streamed.push_back(storage_.at(output).buffer);
    addScratch();
    for (std::size_t i = 0; i < program.stages.size(); ++i)
        if (!schedule_.stages_[i].attachStage_)
            TS_TRY(emitPhase(i));
    nest_.locals = locals_.buffers();
    return std::move(nest_);
}

Result<LoopNest> Schedule::lower() const { return Lowering(*this).run(); }

} // namespace tunesmith::loops
