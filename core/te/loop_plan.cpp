// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/loop_plan.h"

#include <algorithm>

#include "core/te/limits.h"
#include "core/te/schedule_numbers.h"

namespace tunesmith::te {
namespace {

using loops::LoopKind;

class Planner {
public:
    Planner(const NumberedSchedule& schedule, const Sizes& values) : schedule_(schedule), values_(values), plan_(schedule.blank) {}

    Result<LoopPlan> run() {
        for (const Term& requirement : schedule_.text.requirements) {
            TS_ASSIGN(const std::int64_t number, numberOf(schedule_.source, requirement, values_));
            if (number == 0)
                return error(requirement.place, "this requirement does not hold");
        }
        TS_TRY(split());
        TS_TRY(chooseOrder());
        plan_.kinds.assign(extents_.size(), LoopKind::serial);
        for (std::size_t i = 0; i < schedule_.text.marks.size(); ++i)
            TS_TRY(mark(schedule_.text.marks[i], schedule_.marked[i]));
        TS_TRY(checkWrittenOut());
        if (plan_.reduced > 0)
            TS_TRY(chooseHome());
        return std::move(plan_);
    }

private:
    Error error(const Place& place, const std::string& sentence) const { return errorAt(schedule_.source, place, sentence); }
    std::string quoted(std::size_t loop) const { return "'" + schedule_.names[loop] + "'"; }

    Result<bool> applies(const LoopMark& mark) const {
        if (!mark.condition)
            return true;
        TS_ASSIGN(const std::int64_t number, numberOf(schedule_.source, *mark.condition, values_));
        return number != 0;
    }

    // A factor that is larger than its loop takes all of it.
    Status split() {
        extents_ = schedule_.extents;
        for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
            LoopPlan::Step& step = plan_.steps[i];
            const auto& factors = schedule_.factors[i];
            const std::int64_t whole = extents_[step.from];
            if (factors.empty()) {
                const __int128_t fused = __int128_t(whole) * extents_[step.other];
                if (fused > kMostIterations)
                    return error(schedule_.text.output.place, "a fused loop has more than " + std::to_string(kMostIterations) + " iterations");
                extents_.push_back(static_cast<std::int64_t>(fused));
                continue;
            }
            TS_ASSIGN(const std::int64_t factor, productOf(factors));
            step.factor = std::min(factor, whole);
            tails_ += whole % step.factor != 0 ? 1 : 0;
            extents_.push_back((whole + step.factor - 1) / step.factor);
            extents_.push_back(step.factor);
        }
        return {};
    }

    Result<std::int64_t> productOf(const std::vector<Term>& factors) const {
        __int128_t product = 1;
        for (const Term& factor : factors) {
            TS_ASSIGN(const std::int64_t number, numberOf(schedule_.source, factor, values_));
            if (number < 1)
                return error(factor.place, "a loop is split by 1 or more, and this is " + std::to_string(number));
            product = std::min<__int128_t>(product * number, kMostIterations);
        }
        return static_cast<std::int64_t>(product);
    }

    Status chooseOrder() {
        plan_.order = schedule_.natural;
        for (std::size_t i = 0; i < schedule_.text.marks.size(); ++i) {
            const LoopMark& mark = schedule_.text.marks[i];
            if (mark.kind != LoopMark::Kind::order)
                continue;
            TS_ASSIGN(const bool taken, applies(mark));
            if (!taken)
                continue;
            plan_.order = schedule_.marked[i];
            break;
        }
        return {};
    }

    std::size_t positionOf(std::size_t loop) const {
        return static_cast<std::size_t>(std::ranges::find(plan_.order, loop) - plan_.order.begin());
    }

    Status mark(const LoopMark& mark, const std::vector<std::size_t>& loops) {
        if (mark.kind == LoopMark::Kind::order)
            return {};
        TS_ASSIGN(const bool taken, applies(mark));
        for (std::size_t i = 0; taken && i < loops.size(); ++i) {
            const std::size_t loop = loops[i];
            const Place& place = mark.loops[i].place;
            if (mark.kind == LoopMark::Kind::accumulate) {
                if (asked_)
                    return error(place, "there are two loops to accumulate at; give all but one a condition that does not hold with it");
                asked_ = &mark.loops[i];
                asksFor_ = loop;
                continue;
            }
            if (plan_.kinds[loop] != LoopKind::serial)
                return error(place, quoted(loop) + " is " + wayOf(plan_.kinds[loop]) + " already; a loop runs in one way");
            plan_.kinds[loop] = kindOf(mark.kind);
            if (mark.kind == LoopMark::Kind::unroll && !unrolls_)
                unrolls_ = &mark.loops[i];
            if (mark.kind == LoopMark::Kind::vectorize)
                TS_TRY(vectorize(loop, place));
            if (mark.kind == LoopMark::Kind::parallel && positionOf(loop) > 0)
                return error(place, "only the outermost loop can be parallel, and " + quoted(loop) + " stands within " + quoted(plan_.order[0]) + "; order it first, or fuse the two");
        }
        return {};
    }

    static LoopKind kindOf(LoopMark::Kind kind) {
        return kind == LoopMark::Kind::unroll ? LoopKind::unrolled : kind == LoopMark::Kind::vectorize ? LoopKind::vectorized : LoopKind::parallel;
    }
    static const char* wayOf(LoopKind kind) {
        return kind == LoopKind::unrolled ? "unrolled" : kind == LoopKind::vectorized ? "vectorized" : "parallel";
    }

    Status vectorize(std::size_t loop, const Place& place) {
        const std::size_t position = positionOf(loop);
        if (position + 1 < plan_.order.size())
            return error(place, "only the innermost loop can be vectorized, and " + quoted(plan_.order[position + 1]) + " stands within " + quoted(loop) + "; order it last");
        if (extents_[loop] > kMostLanes)
            return error(place, "a vectorized loop has at most " + std::to_string(kMostLanes) + " iterations, and " + quoted(loop) + " has " + std::to_string(extents_[loop]) + "; split it");
        if (!plan_.reduces[loop])
            return {};
        for (std::size_t i = 0; i < plan_.steps.size(); ++i)
            if (plan_.steps[i].inner == loop && plan_.steps[i].factor > 0 && plan_.steps[i].from < plan_.axes + plan_.reduced)
                plan_.lanes = i;
        if (!plan_.lanes)
            return error(place, "lanes that reduce are the inner part of an index variable itself, and " + quoted(loop) + " is not; write outer, lanes = split(k, 16) before other splits");
        return {};
    }

    // Every tail and every guarded loop may double the bodies that are written out.
    Status checkWrittenOut() const {
        const auto bounded = [](__int128_t number) { return std::min<__int128_t>(number, std::int64_t(1) << 62); };
        __int128_t copies = 1;
        for (const std::size_t loop : plan_.order)
            if (plan_.kinds[loop] == LoopKind::unrolled)
                copies = bounded(copies * extents_[loop]);
        if (const std::int64_t most = kMostWrittenOut / schedule_.operations; copies > std::max<std::int64_t>(1, most))
            return error(unrolls_->place, "unrolled loops write this statement out " + std::to_string(static_cast<std::int64_t>(copies)) + " times, and " + std::to_string(most) + " are allowed; unroll fewer or shorter loops");
        if (copies == 1 && tails_ == 0)
            return {};
        __int128_t versions = copies * schedule_.operations;
        for (std::size_t i = 0; i < tails_ + schedule_.guardedLoops; ++i)
            versions = bounded(versions * 2);
        if (versions > kMostVersions)
            return error(schedule_.text.output.place, std::to_string(tails_) + " splits that leave tails and " + std::to_string(schedule_.guardedLoops) + " guarded loops make too many versions of this statement; choose factors that divide their loops, or split and unroll less");
        return {};
    }

    // Loops before the first one that reduces run around what is added up in a buffer, if that is a block and a small one.
    Status chooseHome() {
        const auto reduces = std::ranges::find_if(plan_.order, [&](std::size_t loop) { return plan_.reduces[loop]; });
        const auto first = static_cast<std::size_t>(reduces - plan_.order.begin());
        if (asked_ && positionOf(asksFor_) > first)
            return error(asked_->place, quoted(asksFor_) + " stands within " + quoted(*reduces) + ", which reduces; accumulate at a loop outside of it");
        if (!asked_ && first == 0)
            return {};
        const std::size_t home = asked_ ? positionOf(asksFor_) : first - 1;
        plan_.outside.assign(extents_.size(), false);
        const std::optional<std::size_t> broken = findOutside(home);
        if (broken && asked_)
            return error(asked_->place, "what is accumulated at " + quoted(asksFor_) + " is no block, because of " + quoted(*broken) +
                                            "; order outer parts of loops before inner ones");
        const __int128_t bytes = blockBytes(home);
        if (bytes > kMostAccumulatorBytes && asked_)
            return error(asked_->place, "what is accumulated at " + quoted(asksFor_) + " takes more than " + std::to_string(kMostAccumulatorBytes) + " bytes; split the loops within it");
        if (!broken && bytes <= kMostAccumulatorBytes)
            plan_.home = plan_.order[home];
        return {};
    }

    // A loop that was split may run around the block with its outer parts only, a fused one as a whole or not at all. Returns one that
    // does not.
    std::optional<std::size_t> findOutside(std::size_t home) {
        std::vector<bool> inside(extents_.size(), true); // in every part
        for (std::size_t position = 0; position <= home; ++position) {
            plan_.outside[plan_.order[position]] = true;
            inside[plan_.order[position]] = false;
        }
        for (auto step = plan_.steps.rbegin(); step != plan_.steps.rend(); ++step) {
            if (step->factor == 0) {
                if (!plan_.outside[step->outer] && !inside[step->outer])
                    return step->outer;
                for (const std::size_t part : {step->from, step->other}) {
                    plan_.outside[part] = plan_.outside[step->outer];
                    inside[part] = inside[step->outer];
                }
                continue;
            }
            if (!plan_.outside[step->outer] && !inside[step->inner])
                return step->inner;
            plan_.outside[step->from] = plan_.outside[step->outer] && plan_.outside[step->inner];
            inside[step->from] = inside[step->outer] && inside[step->inner];
        }
        return std::nullopt;
    }

    __int128_t blockBytes(std::size_t home) const {
        __int128_t bytes = schedule_.elementBytes;
        for (std::size_t position = home + 1; position < plan_.order.size(); ++position) {
            const std::size_t loop = plan_.order[position];
            const bool held = !plan_.reduces[loop] || plan_.kinds[loop] == LoopKind::vectorized;
            if (held)
                bytes = std::min<__int128_t>(bytes * extents_[loop], __int128_t(1) << 62);
        }
        return bytes;
    }

    const NumberedSchedule& schedule_;
    const Sizes& values_;
    LoopPlan plan_;
    std::vector<std::int64_t> extents_;
    const Name *asked_ = nullptr, *unrolls_ = nullptr;
    std::size_t asksFor_ = 0, tails_ = 0;
};

} // namespace

Result<LoopPlan> planLoops(const NumberedSchedule& schedule, const Sizes& values) { return Planner(schedule, values).run(); }

} // namespace tunesmith::te
