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

void Schedule::inlineStage(const TensorRef& tensor) {
    const std::size_t index = indexOf(tensor);
    const Stage stage = program_.stages[index];
    program_.stages.erase(program_.stages.begin() + static_cast<std::ptrdiff_t>(index));
    stages_.erase(stages_.begin() + static_cast<std::ptrdiff_t>(index));
    for (Stage& other : program_.stages)
        inlineInto(other, stage);
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

TensorRef Schedule::rfactor(const TensorRef& tensor, std::size_t reduceAxis, std::int64_t lanes) {
    const std::size_t index = indexOf(tensor);
    Stage& stage = program_.stages[index];
    const Axis whole = stage.reduceAxes[reduceAxis];
    Stage partial = stage;
    Shape shape = tensor->shape;
    shape.push_back(lanes);
    partial.output = makeTensor(tensor->name + ".partial", tensor->type, shape);
    const Var lane = makeVar(whole.var->name + ".lane"), step = makeVar(whole.var->name + ".step");
    partial.axes.push_back({lane, lanes});
    partial.reduceAxes[reduceAxis] = {step, (whole.extent + lanes - 1) / lanes};
    const Expr position = Expr(step) * Expr(lanes) + Expr(lane);
    const auto moved = [&](const Expr& e) {
        return substitute(e, [&](const Var& var) { return var == whole.var ? position : Expr(); });
    };
    partial.body = moved(partial.body);
    if (partial.guard.valid())
        partial.guard = moved(partial.guard);
    if (whole.extent % lanes != 0) {
        const Expr inside = position < Expr(whole.extent);
        partial.guard = partial.guard.valid() ? partial.guard && inside : inside;
    }
    Indices indices;
    for (Axis& axis : stage.axes) {
        axis.var = makeVar(axis.var->name);
        indices.emplace_back(axis.var);
    }
    stage.reduceAxes = {{makeVar("lane"), lanes}};
    indices.emplace_back(stage.reduceAxes[0].var);
    stage.body = load(partial.output, indices);
    stage.guard = Expr();
    const TensorRef made = partial.output;
    stages_[index] = initial(stage);
    const auto at = static_cast<std::ptrdiff_t>(index);
    stages_.insert(stages_.begin() + at, initial(partial));
    program_.stages.insert(program_.stages.begin() + at, std::move(partial));
    return made;
}

} // namespace tunesmith::loops
