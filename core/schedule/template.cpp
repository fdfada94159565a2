// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/template.h"

#include <algorithm>
#include <set>

namespace tunesmith {

using loops::Program;
using loops::Reduction;
using loops::Stage;

const std::vector<const ScheduleTemplate*>& scheduleTemplates() {
    static const std::vector<const ScheduleTemplate*> templates{&convTemplate(), &windowTemplate(), &matmulTemplate(),
                                                                &rowsTemplate(), &genericTemplate()};
    return templates;
}

Result<ScheduleSpace> ScheduleSpace::make(const Workload& workload, const Target& target) {
    ScheduleSpace made;
    made.target_ = target;
    TS_ASSIGN(made.lowered_, lowerWorkload(workload));
    for (const ScheduleTemplate* candidate : scheduleTemplates())
        if (!made.template_ && candidate->matches(made.lowered_, target))
            made.template_ = candidate;
    auto space = KnobSpace::make(made.template_->name(), made.template_->knobs(made.lowered_, target),
                                 made.template_->filter(made.lowered_, target));
    if (!space.ok())
        return space.error().within("workload '" + workload.name + "'");
    made.space_ = std::make_shared<const KnobSpace>(std::move(*space));
    return made;
}

Config ScheduleSpace::defaultConfig() const {
    Config best;
    double bestPrior = 0;
    for (std::uint64_t i = 0; i < space_->indexCount(); ++i) {
        const auto config = space_->at(i);
        if (!config)
            continue;
        const double prior = template_->prior(*space_, *config, lowered_, target_);
        if (best.choices.empty() || prior > bestPrior) {
            best = *config;
            bestPrior = prior;
        }
    }
    return best;
}

Result<ScheduledKernel> ScheduleSpace::schedule(const Config& config) const {
    TS_TRY(space_->validate(config));
    ScheduledKernel scheduled{{}, lowered_};
    loops::Schedule schedule(lowered_.program);
    template_->apply(schedule, scheduled.lowered, *space_, config, target_);
    for (std::size_t i = 0; i < lowered_.program.inputs.size(); ++i)
        schedule.setLayout(lowered_.program.inputs[i], scheduled.lowered.argumentLayouts[i]);
    for (std::size_t i = 0; i < lowered_.program.outputs.size(); ++i)
        schedule.setLayout(lowered_.program.outputs[i], scheduled.lowered.outputLayouts[i]);
    TS_ASSIGN(scheduled.nest, schedule.lower());
    return scheduled;
}

namespace {

// Whether `stage` reads `tensor` only at its own indices.
bool readsInPlace(const loops::Expr& e, const loops::TensorRef& tensor, const Stage& stage) {
    if (e->op == loops::Op::load && e->tensor == tensor)
        for (std::size_t d = 0; d < e->args.size(); ++d) {
            const bool same = e->args[d]->op == loops::Op::var && e->args[d]->var == stage.axes[d].var;
            if (!same && !(stage.axes[d].extent == 1 && loops::isConstant(e->args[d], 0)))
                return false;
        }
    return std::all_of(e->args.begin(), e->args.end(), [&](const loops::Expr& arg) { return readsInPlace(arg, tensor, stage); });
}

} // namespace

const Stage* onlyReduction(const Program& program) {
    const Stage* found = nullptr;
    if (program.outputs.size() != 1 || program.stages.size() > 2)
        return nullptr;
    for (const Stage& stage : program.stages)
        if (stage.reduction != Reduction::none) {
            if (found)
                return nullptr;
            found = &stage;
        }
    const Stage& last = program.stages.back();
    if (!found || found == &last)
        return found;
    const bool fits = found->output->shape == last.output->shape && readsInPlace(last.body, found->output, last);
    return fits ? found : nullptr;
}

AnchorStages anchorStages(loops::Schedule& schedule) {
    const loops::TensorRef anchor = onlyReduction(schedule.program())->output;
    const loops::TensorRef output = schedule.program().outputs[0];
    return anchor == output ? AnchorStages{schedule.cacheWrite(output), output} : AnchorStages{anchor, output};
}

std::vector<std::int64_t> tileCandidates(std::int64_t extent, std::int64_t limit) {
    std::set<std::int64_t> sizes{1};
    for (std::int64_t size = 2; size <= std::min(limit, extent); ++size) {
        const std::int64_t covered = (extent + size - 1) / size * size;
        if (extent % size == 0 || covered - extent <= extent / 8)
            sizes.insert(size);
    }
    if (extent <= limit)
        sizes.insert(extent);
    return {sizes.begin(), sizes.end()};
}

} // namespace tunesmith
