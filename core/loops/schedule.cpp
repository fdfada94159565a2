// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/loops/schedule.h"

#include <algorithm>

namespace tunesmith::loops {

std::size_t StageSchedule::positionOf(const Var& loop) const {
    const auto found = std::find(leaves_.begin(), leaves_.end(), loop);
    assert(found != leaves_.end() && "not a loop of this stage");
    return static_cast<std::size_t>(found - leaves_.begin());
}

std::pair<Var, Var> StageSchedule::split(const Var& loop, std::int64_t factor) {
    assert(factor > 0);
    const std::size_t at = positionOf(loop);
    const Var outer = makeVar(loop->name + "o"), inner = makeVar(loop->name + "i");
    leaves_[at] = outer;
    leaves_.insert(leaves_.begin() + static_cast<std::ptrdiff_t>(at) + 1, inner);
    relations_.push_back({factor, loop, outer, inner});
    return {outer, inner};
}

Var StageSchedule::fuse(const Var& outer, const Var& inner) {
    const std::size_t at = positionOf(outer);
    assert(at + 1 < leaves_.size() && leaves_[at + 1] == inner && "fused loops must be adjacent");
    const Var fused = makeVar(outer->name + "." + inner->name);
    leaves_[at] = fused;
    leaves_.erase(leaves_.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    relations_.push_back({0, fused, outer, inner});
    return fused;
}

void StageSchedule::reorder(const std::vector<Var>& order) {
    std::vector<std::size_t> places;
    for (const Var& loop : order)
        places.push_back(positionOf(loop));
    std::sort(places.begin(), places.end());
    for (std::size_t i = 0; i < order.size(); ++i)
        leaves_[places[i]] = order[i];
}

void StageSchedule::computeAt(const TensorRef& consumer, const Var& loop) {
    attachStage_ = consumer;
    attachLoop_ = loop;
}

Schedule::Schedule(Program program) : program_(std::move(program)) {
    for (const Stage& stage : program_.stages)
        stages_.push_back(initial(stage));
}

StageSchedule Schedule::initial(const Stage& stage) const {
    StageSchedule schedule;
    for (const Axis& axis : stage.axes)
        schedule.axes_.push_back(axis.var);
    for (const Axis& axis : stage.reduceAxes)
        schedule.reduceAxes_.push_back(axis.var);
    schedule.leaves_ = schedule.axes_;
    schedule.leaves_.insert(schedule.leaves_.end(), schedule.reduceAxes_.begin(), schedule.reduceAxes_.end());
    return schedule;
}

std::size_t Schedule::indexOf(const TensorRef& tensor) const {
    for (std::size_t i = 0; i < program_.stages.size(); ++i)
        if (program_.stages[i].output == tensor)
            return i;
    assert(false && "no stage makes this tensor");
    return 0;
}

StageSchedule& Schedule::operator[](const TensorRef& tensor) { return stages_[indexOf(tensor)]; }

Layout Schedule::layoutOf(const TensorRef& tensor) const {
    const auto found = layouts_.find(tensor);
    return found == layouts_.end() ? Layout::rowMajor(tensor->shape.size()) : found->second;
}

namespace {

// Replaces loads of `stage`'s output by its body.
Expr inlineLoads(const Expr& e, const Stage& stage) {
    if (e->args.empty() && e->op != Op::load)
        return e;
    std::vector<Expr> args;
    for (const Expr& arg : e->args)
        args.push_back(inlineLoads(arg, stage));
    if (e->op != Op::load || e->tensor != stage.output)
        return rebuild(e, std::move(args));
    return substitute(stage.body, [&](const Var& var) {
        for (std::size_t d = 0; d < stage.axes.size(); ++d)
            if (stage.axes[d].var == var)
                return args[d];
        return Expr();
    });
}

} // namespace

void Schedule::inlineStage(const TensorRef& tensor) {
    const std::size_t index = indexOf(tensor);
    const Stage stage = program_.stages[index];
    assert(stage.reduction == Reduction::none && "a reduction cannot be inlined");
    program_.stages.erase(program_.stages.begin() + static_cast<std::ptrdiff_t>(index));
    stages_.erase(stages_.begin() + static_cast<std::ptrdiff_t>(index));
    for (Stage& other : program_.stages) {
        other.body = inlineLoads(other.body, stage);
        if (other.guard.valid())
            other.guard = inlineLoads(other.guard, stage);
    }
}

TensorRef Schedule::cacheWrite(const TensorRef& tensor) {
    const std::size_t index = indexOf(tensor);
    Stage copy = compute(tensor->name, tensor->type, tensor->shape, [&](const Indices& i) { return load(tensor, i); });
    Stage& cached = program_.stages[index];
    const TensorRef local = makeTensor(tensor->name + ".local", tensor->type, tensor->shape);
    cached.output = local;
    copy.output = tensor;
    copy.body = load(local, copy.body->args);
    const auto after = static_cast<std::ptrdiff_t>(index) + 1;
    stages_.insert(stages_.begin() + after, initial(copy));
    program_.stages.insert(program_.stages.begin() + after, std::move(copy));
    return local;
}

} // namespace tunesmith::loops
