// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/loops/layout.h"
#include "core/loops/program.h"
#include "core/loops/stmt.h"

namespace tunesmith::loops {

// How a program is computed, in the classic primitives (Halide, PLDI'13; TVM, OSDI'18): each stage has a list of loops that
// starts as its axes followed by its reduction axes and is reshaped by split, fuse and reorder; loops are annotated; a stage
// runs on its own, is inlined into its consumers, or is computed at a loop of one consumer into a small local buffer that
// covers just what that iteration reads. Wrong use of a primitive is a bug of a template and asserts.
class StageSchedule {
public:
    const std::vector<Var>& axes() const { return axes_; }             // the output's dimensions
    const std::vector<Var>& reduceAxes() const { return reduceAxes_; }
    const std::vector<Var>& loops() const { return leaves_; }          // outermost first

    std::pair<Var, Var> split(const Var& loop, std::int64_t factor); // outer, inner; the inner one has `factor` iterations
    Var fuse(const Var& outer, const Var& inner);                    // must be adjacent
    void reorder(const std::vector<Var>& order);                     // the named loops take their places in this order
    void vectorize(const Var& loop) { kinds_[loop] = LoopKind::vectorized; }
    void transpose(const Var& loop) { kinds_[loop] = LoopKind::transposed; } // around a vectorised loop, up to 16 of each
    void unroll(const Var& loop) { kinds_[loop] = LoopKind::unrolled; }
    void parallel(const Var& loop) { kinds_[loop] = LoopKind::parallel; } // outermost loop of a stage of its own only
    // Two versions of the loop's body instead of many: every iteration chooses the one without tests where all of them hold.
    // For bodies so large that a copy for every edge and corner of an image would take long to compile.
    void version(const Var& loop) { kinds_[loop] = LoopKind::versioned; }
    void computeAt(const TensorRef& consumer, const Var& loop);
    // Once per iteration of `loop`, asks for the element of an input at `offset` of its buffer (as its layout puts it), in terms of
    // this stage's loops and axes and of those around it, loops further in at their first iterations. A hint: what lies beyond the buffer
    // does no harm.
    void prefetch(const Var& loop, const TensorRef& input, Expr offset, int cacheLevel = 2) {
        prefetches_.push_back({loop, input, std::move(offset), cacheLevel});
    }
    // Computes as many indices of an axis as if the output were so large, instead of testing for the last one in every
    // iteration: what it computes beyond goes into the padding of the layouts, whose room the caller answers for.
    void roundUp(const Var& axis, std::int64_t extent) { rounded_[axis] = extent; }

private:
    friend class Schedule;
    friend class Lowering;
    friend class StageNest;
    struct Relation { // split (factor > 0): parent = outer * factor + inner; fuse: parent is the fused loop
        std::int64_t factor;
        Var parent, outer, inner;
    };
    struct Prefetch {
        Var loop;
        TensorRef input;
        Expr offset;
        int cacheLevel;
    };
    std::size_t positionOf(const Var& loop) const;

    std::vector<Prefetch> prefetches_;
    std::vector<Var> axes_, reduceAxes_, leaves_;
    std::vector<Relation> relations_;
    std::map<Var, LoopKind> kinds_;
    std::map<Var, std::int64_t> rounded_; // extents of axes
    TensorRef attachStage_; // null: a phase of its own
    Var attachLoop_;
};

class Schedule {
public:
    explicit Schedule(Program program);

    const Program& program() const { return program_; }
    StageSchedule& operator[](const TensorRef& tensor);
    // Where a tensor lies in memory: for inputs and outputs a contract with the caller, for local buffers in terms of the
    // region that they hold. Row-major unless set.
    void setLayout(const TensorRef& tensor, Layout layout) { layouts_[tensor] = std::move(layout); }
    Layout layoutOf(const TensorRef& tensor) const;
    // Writes an output past the caches. Its stage stores each element once, and no other reads it.
    void stream(const TensorRef& output) { streamed_.push_back(output); }
    void inlineStage(const TensorRef& tensor); // into every consumer; not for reductions
    // Splits a stage in two: the computation, into a tensor of its own (returned), and a copy to `tensor`.
    TensorRef cacheWrite(const TensorRef& tensor);
    // Splits a reduction into `lanes` partial ones over every lanes-th element, as a tensor with one more, innermost
    // dimension (returned), which can be vectorised, and their combination.
    TensorRef rfactor(const TensorRef& tensor, std::size_t reduceAxis, std::int64_t lanes);

    Result<LoopNest> lower() const;

private:
    friend class Lowering;
    friend class StageNest;
    std::size_t indexOf(const TensorRef& tensor) const;
    StageSchedule initial(const Stage& stage) const;

    Program program_;
    std::vector<StageSchedule> stages_; // parallel to program_.stages
    std::map<TensorRef, Layout> layouts_;
    std::vector<TensorRef> streamed_;
};

} // namespace tunesmith::loops
