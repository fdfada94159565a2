// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <vector>

#include "core/codegen/target.h"
#include "core/loops/schedule.h"
#include "core/schedule/workload.h"
#include "core/search/union_space.h"

namespace tunesmith {

// A family of schedules for one kind of workload: which knobs there are, and how a choice of them shapes the loops.
// Templates are stateless; one that matches a workload can schedule every config of its space on every target.
class ScheduleTemplate {
public:
    virtual ~ScheduleTemplate() = default;
    virtual const char* name() const = 0;
    virtual bool matches(const LoweredWorkload& lowered, const Target& target) const = 0;
    // An error: the template has no config for it. Of our own templates that is no mistake, another one will do.
    virtual Result<KnobSpace> space(const Workload& workload, const LoweredWorkload& lowered, const Target& target) const = 0;
    // The config of an untuned kernel: the best guess without measuring.
    virtual Config guess(const KnobSpace& space, const LoweredWorkload& lowered, const Target& target) const = 0;
    // How good a guess the template is for this workload, against the others that match; the highest one's best config is the
    // default. Below 1: only where it was measured.
    virtual double standing(const LoweredWorkload&, const Target&) const { return 1; }
    // May replace the program by one that computes the same and ask for constants to be transformed.
    virtual void prepare(LoweredWorkload&) const {}
    // Splits, orders and annotates the loops; may change the layouts of constant arguments.
    virtual void apply(loops::Schedule& schedule, LoweredWorkload& lowered, const KnobSpace& space, const Config& config,
                       const Target& target) const = 0;
};

// A template whose knobs are its own, and which guesses by looking at every config.
class KnobTemplate : public ScheduleTemplate {
public:
    virtual std::vector<Knob> knobs(const LoweredWorkload& lowered, const Target& target) const = 0;
    virtual KnobSpace::Filter filter(const LoweredWorkload&, const Target&) const { return {}; }
    virtual double prior(const KnobSpace& space, const Config& config, const LoweredWorkload& lowered,
                         const Target& target) const = 0; // higher is better

    Result<KnobSpace> space(const Workload& workload, const LoweredWorkload& lowered, const Target& target) const final;
    Config guess(const KnobSpace& space, const LoweredWorkload& lowered, const Target& target) const final;
};

const ScheduleTemplate& convTemplate();
const ScheduleTemplate& fewOutputsTemplate();
const ScheduleTemplate& winogradTemplate(std::int64_t m); // 2 or 4
const ScheduleTemplate& windowTemplate();
const ScheduleTemplate& matmulTemplate();
const ScheduleTemplate& dotMatmulTemplate();
const ScheduleTemplate& dotConvTemplate();
const ScheduleTemplate& nbitsTemplate();
const ScheduleTemplate& rowsTemplate();
const ScheduleTemplate& columnsTemplate();
const ScheduleTemplate& rearrangeTemplate();
const ScheduleTemplate& genericTemplate();
const ScheduleTemplate& textTemplate(); // of a user: before all others

// A kernel of a workload under one config: its loops, and the layouts in which it wants its arguments.
struct ScheduledKernel {
    loops::LoopNest nest;
    LoweredWorkload lowered; // with the argument layouts that the template chose
};

// A workload together with the templates that can schedule it on a target. Several are ways of their own (direct and
// Winograd convolution) and stand side by side in the space.
class ScheduleSpace {
public:
    static Result<ScheduleSpace> make(const Workload& workload, const Target& target);

    const Space& space() const { return *space_; } // a KnobSpace, or a UnionSpace of those of several templates
    const LoweredWorkload& lowered() const { return lowered_; }
    Config defaultConfig() const { return guesses().front(); } // the config of an untuned kernel
    std::vector<Config> guesses() const;                       // the best guess of each way without measuring, the default first
    Result<ScheduledKernel> schedule(const Config& config) const;

private:
    struct Way {
        const ScheduleTemplate* schedules;
        std::shared_ptr<const KnobSpace> space;
    };
    Status findOwnWays(const Workload& workload);
    Status findAutotvmWays(const Workload& workload);
    Status addWay(const ScheduleTemplate& schedules, const Workload& workload);

    Target target_;
    LoweredWorkload lowered_;
    std::vector<Way> ways_;
    std::shared_ptr<const UnionSpace> union_; // null with a single way
    std::shared_ptr<const Space> space_;
};

// Shared by templates -------------------------------------------------------------------------------------------------

// The one reduction of a program and the last stage, which reads it (made by cacheWrite when the reduction is the output).
struct AnchorStages {
    loops::TensorRef anchor, output;
};
AnchorStages anchorStages(loops::Schedule& schedule);
const loops::Stage* onlyReduction(const loops::Program& program); // null unless there is exactly one, read at its own index
std::vector<std::int64_t> tileCandidates(std::int64_t extent, std::int64_t limit); // divisors and sizes that leave short tails

} // namespace tunesmith
