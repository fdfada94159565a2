// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/apply_schedule.h"

#include <algorithm>
#include <tuple>

#include "core/te/limits.h"

namespace tunesmith::te {
namespace {

using loops::LoopKind;
using loops::Stage;
using loops::StageSchedule;
using loops::TensorRef;
using loops::Var;

class Applying {
public:
    Applying(const LoopPlan& plan, loops::Schedule& schedule) : plan_(plan), schedule_(schedule) {}

    void run() {
        const Stage& stage = schedule_.program().stages.front();
        const TensorRef made = stage.output;
        const bool reduces = stage.reduction != loops::Reduction::none;
        TensorRef reader = reduces ? readerOf(stage) : nullptr;
        std::vector<TensorRef> others;
        for (const Stage& other : schedule_.program().stages)
            if (other.output != made && other.output != reader)
                others.push_back(other.output);
        if (!reduces)
            shape(schedule_[made], everything());
        else if (plan_.home)
            accumulateInBlock(made, reader);
        else
            accumulateInPlace(made, reader);
        for (const TensorRef& other : others)
            plain(schedule_[other]);
    }

private:
    struct Loops {
        std::vector<bool> here; // which of the plan's loops a stage has
        std::vector<Var> vars;  // as far as they are known
    };

    // What takes the finished values over, if all it does is elementwise.
    TensorRef readerOf(const Stage& stage) const {
        const auto& stages = schedule_.program().stages;
        const bool fits = stages.size() == 2 && stages[1].reduction == loops::Reduction::none && stages[1].output->shape == stage.output->shape;
        return fits ? stages[1].output : nullptr;
    }

    Loops everything() const { return {std::vector<bool>(plan_.reduces.size(), true), std::vector<Var>(plan_.reduces.size())}; }

    Loops ofOutput() const {
        Loops loops = everything();
        for (std::size_t i = 0; i < loops.here.size(); ++i)
            loops.here[i] = !plan_.reduces[i];
        return loops;
    }

    Loops ofBlock() const {
        Loops loops = everything();
        for (std::size_t i = 0; i < loops.here.size(); ++i)
            loops.here[i] = !plan_.outside[i];
        return loops;
    }

    void accumulateInPlace(const TensorRef& made, const TensorRef& reader) {
        const TensorRef partial = plan_.lanes ? splitLanes(made) : nullptr;
        shape(schedule_[partial ? partial : made], everything());
        if (partial)
            plain(schedule_[made]);
        if (reader)
            shape(schedule_[reader], ofOutput());
    }

    void accumulateInBlock(const TensorRef& made, const TensorRef& reader) {
        const TensorRef output = reader ? reader : made, block = reader ? made : schedule_.cacheWrite(made);
        const TensorRef partial = plan_.lanes ? splitLanes(block) : nullptr;
        const Var home = shape(schedule_[output], ofOutput())[*plan_.home];
        shape(schedule_[partial ? partial : block], ofBlock());
        schedule_[block].computeAt(output, home);
        if (partial)
            schedule_[partial].computeAt(output, home);
    }

    TensorRef splitLanes(const TensorRef& tensor) {
        const LoopPlan::Step& step = plan_.steps[*plan_.lanes];
        return schedule_.rfactor(tensor, step.from - plan_.axes, step.factor);
    }

    // Makes the loops of a stage; returns them by the plan's numbers.
    std::vector<Var> shape(StageSchedule& stage, Loops loops) const {
        begin(stage, loops);
        for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
            const LoopPlan::Step& step = plan_.steps[i];
            if (!loops.vars[step.from])
                continue;
            if (step.factor == 0) {
                putBehind(stage, loops.vars[step.from], loops.vars[step.other]);
                loops.vars[step.outer] = stage.fuse(loops.vars[step.from], loops.vars[step.other]);
            } else if (plan_.lanes == i) { // lanes are a dimension of their own already
                loops.vars[step.outer] = loops.vars[step.from];
                loops.vars[step.inner] = stage.axes().back();
            } else if (!loops.here[step.outer]) {
                loops.vars[step.inner] = loops.vars[step.from];
            } else {
                std::tie(loops.vars[step.outer], loops.vars[step.inner]) = stage.split(loops.vars[step.from], step.factor);
            }
        }
        order(stage, loops);
        annotate(stage, loops);
        return loops.vars;
    }

    void begin(const StageSchedule& stage, Loops& loops) const {
        for (std::size_t i = 0; i < plan_.axes; ++i)
            if (loops.here[i])
                loops.vars[i] = stage.axes()[i];
        for (std::size_t i = 0; i < stage.reduceAxes().size(); ++i)
            loops.vars[plan_.axes + i] = stage.reduceAxes()[i];
    }

    static void putBehind(StageSchedule& stage, const Var& first, const Var& second) {
        std::vector<Var> order = stage.loops();
        std::erase(order, second);
        order.insert(std::ranges::find(order, first) + 1, second);
        stage.reorder(order);
    }

    // Loops that run around the block have a single iteration within it.
    void order(StageSchedule& stage, const Loops& loops) const {
        std::vector<Var> order, planned;
        for (const std::size_t loop : plan_.order)
            if (loops.vars[loop])
                planned.push_back(loops.vars[loop]);
        for (const Var& loop : stage.loops())
            if (std::ranges::find(planned, loop) == planned.end())
                order.push_back(loop);
        order.insert(order.end(), planned.begin(), planned.end());
        stage.reorder(order);
    }

    void annotate(StageSchedule& stage, const Loops& loops) const {
        for (const std::size_t loop : plan_.order) {
            if (!loops.vars[loop])
                continue;
            switch (plan_.kinds[loop]) {
            case LoopKind::unrolled: stage.unroll(loops.vars[loop]); break;
            case LoopKind::vectorized: stage.vectorize(loops.vars[loop]); break;
            case LoopKind::parallel: stage.parallel(loops.vars[loop]); break;
            default: break;
            }
        }
    }

    static void plain(StageSchedule& stage) {
        if (!stage.axes().empty())
            stage.parallel(stage.axes()[0]);
    }

    const LoopPlan& plan_;
    loops::Schedule& schedule_;
};

std::int64_t nodesOf(const loops::Expr& e) {
    std::int64_t nodes = 1;
    for (const loops::Expr& arg : e->args)
        nodes += nodesOf(arg);
    return nodes;
}

std::int64_t nodesOf(const loops::Stmt& stmt) {
    if (!stmt)
        return 0;
    std::int64_t nodes = 1;
    for (const loops::Expr* e : {&stmt->offset, &stmt->value, &stmt->condition})
        nodes += e->valid() ? nodesOf(*e) : 0;
    for (const loops::Stmt& child : stmt->body)
        nodes += nodesOf(child);
    return nodes;
}

} // namespace

void applyPlan(const LoopPlan& plan, loops::Schedule& schedule) { Applying(plan, schedule).run(); }

Status checkNest(const loops::LoopNest& nest) {
    std::int64_t nodes = 0;
    for (const loops::Phase& phase : nest.phases)
        nodes += nodesOf(phase.body);
    std::int64_t bytes = 0;
    for (const TensorRef& local : nest.locals)
        bytes += elementCount(local->shape) * static_cast<std::int64_t>(byteSize(local->type));
    if (bytes > kMostLocalBytes)
        return inputError("this choice of the schedule's knobs keeps " + std::to_string(bytes) + " bytes in blocks, more than " + std::to_string(kMostLocalBytes) + " of a thread's stack; accumulate further in, or choose factors that divide their loops");
    if (nodes <= kLargestNest)
        return {};
    return inputError("this choice of the schedule's knobs makes a body of " + std::to_string(nodes) + " operations, more than " + std::to_string(kLargestNest) + " that are compiled; unroll less, or choose factors that divide their loops");
}

} // namespace tunesmith::te
