// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/template.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "core/schedule/autotvm_template.h"
#include "core/schedule/in_place.h"
#include "core/schedule/large_outputs.h"
#include "core/te/apply_schedule.h"
#include "core/te/bound_schedule.h"

namespace tunesmith {

using loops::Program;
using loops::Reduction;
using loops::Stage;

namespace {

using Templates = std::vector<const ScheduleTemplate*>;

const Templates& plainTemplates() { // the first that matches schedules a workload; the last one always does
    static const Templates all{&convTemplate(), &fewOutputsTemplate(), &windowTemplate(), &matmulTemplate(), &dotMatmulTemplate(), &dotConvTemplate(), &nbitsTemplate(), &rowsTemplate(), &columnsTemplate(), &rearrangeTemplate(), &genericTemplate()};
    return all;
}

} // namespace

Result<KnobSpace> KnobTemplate::space(const Workload&, const LoweredWorkload& lowered, const Target& target) const {
    return KnobSpace::make(name(), knobs(lowered, target), filter(lowered, target));
}

Config KnobTemplate::guess(const KnobSpace& space, const LoweredWorkload& lowered, const Target& target) const {
    Config best;
    double bestPrior = 0;
    for (std::uint64_t i = 0; i < space.indexCount(); ++i) {
        const auto config = space.at(i);
        if (!config)
            continue;
        const double value = prior(space, *config, lowered, target);
        if (best.choices.empty() || value > bestPrior) {
            best = *config;
            bestPrior = value;
        }
    }
    return best;
}

Result<ScheduleSpace> ScheduleSpace::make(const Workload& workload, const Target& target) {
    ScheduleSpace made;
    made.target_ = target;
    TS_ASSIGN(made.lowered_, lowerWorkload(workload));
    const Status found = workload.space == SpaceKind::tunesmith ? made.findOwnWays(workload) : made.findAutotvmWays(workload);
    if (!found.ok())
        return found.error().within("workload '" + workload.name + "'");
    std::vector<std::shared_ptr<const KnobSpace>> parts;
    for (const Way& way : made.ways_)
        parts.push_back(way.space);
    if (parts.size() == 1) {
        made.space_ = parts[0];
        return made;
    }
    TS_ASSIGN(UnionSpace all, UnionSpace::make(std::move(parts)));
    made.union_ = std::make_shared<const UnionSpace>(std::move(all));
    made.space_ = made.union_;
    return made;
}

// What the user wrote, then, unless that is to stand alone, the first of the plain templates that matches and the algorithms that
// can stand in for it. A template without any config for the workload does not match it.
Status ScheduleSpace::findOwnWays(const Workload& workload) {
    if (textTemplate().matches(lowered_, target_))
        TS_TRY(addWay(textTemplate(), workload));
    if (lowered_.written && lowered_.written->only())
        return {};
    const auto joins = [&](const ScheduleTemplate* schedules) { return schedules->matches(lowered_, target_) && addWay(*schedules, workload).ok(); };
    const bool any = std::ranges::any_of(plainTemplates(), joins);
    assert(any && "the generic template fits everything");
    static_cast<void>(any);
    for (const ScheduleTemplate* algorithm : {&winogradTemplate(2), &winogradTemplate(4)})
        joins(algorithm);
    return {};
}

Status ScheduleSpace::findAutotvmWays(const Workload& workload) {
    for (const ScheduleTemplate* known : autotvmTemplates(lowered_))
        TS_TRY(addWay(*known, workload));
    return ways_.empty() ? unsupportedError(std::string("no template of ") + spaceKindName(workload.space) + " knows it") : Status();
}

Status ScheduleSpace::addWay(const ScheduleTemplate& schedules, const Workload& workload) {
    TS_ASSIGN(KnobSpace space, schedules.space(workload, lowered_, target_));
    ways_.push_back({&schedules, std::make_shared<const KnobSpace>(std::move(space))});
    return {};
}

std::vector<Config> ScheduleSpace::guesses() const {
    const auto guessOf = [&](const Way& way) { return way.schedules->guess(*way.space, lowered_, target_); };
    if (!union_)
        return {guessOf(ways_[0])};
    std::vector<std::size_t> order(ways_.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return ways_[i].schedules->standing(lowered_, target_); });
    std::vector<Config> all;
    for (const std::size_t way : order)
        all.push_back(union_->widened(way, guessOf(ways_[way])));
    return all;
}

Result<ScheduledKernel> ScheduleSpace::schedule(const Config& config) const {
    TS_TRY(space_->validate(config));
    const Way& way = union_ ? ways_[UnionSpace::partOf(config)] : ways_[0];
    ScheduledKernel scheduled{{}, lowered_};
    LoweredWorkload& lowered = scheduled.lowered;
    way.schedules->prepare(lowered);
    loops::Schedule schedule(lowered.program);
    way.schedules->apply(schedule, lowered, *way.space, union_ ? union_->within(config) : config, target_);
    for (std::size_t i = 0; i < lowered.program.inputs.size(); ++i)
        schedule.setLayout(lowered.program.inputs[i], lowered.argumentLayouts[i]);
    for (std::size_t i = 0; i < lowered.program.outputs.size(); ++i)
        if (!lowered.outputLayouts[i].isRowMajor()) // else it may have been written with other dimensions
            schedule.setLayout(lowered.program.outputs[i], lowered.outputLayouts[i]);
    streamLargeOutputs(schedule, lowered);
    TS_ASSIGN(scheduled.nest, schedule.lower());
    if (way.schedules == &textTemplate())
        TS_TRY(te::checkNest(scheduled.nest));
    return scheduled;
}

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
