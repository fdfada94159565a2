// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/autotvm/template_spaces.h"
#include "core/schedule/template.h"

namespace tunesmith {

// AutoTVM's templates for x86 (core/autotvm) as ways to schedule our workloads: their spaces, index for index, and loops after
// what their schedules do with the knobs. README.md says where ours differ.
class AutotvmTemplate : public ScheduleTemplate {
public:
    // What AutoTVM would call this workload. Of a workload that matches.
    virtual autotvm::Task task(const Workload& workload, const LoweredWorkload& lowered) const = 0;
    Result<KnobSpace> space(const Workload& workload, const LoweredWorkload& lowered, const Target& target) const final;
};

// Those that know a workload, the default first; several are ways of their own. It must not have been prepared.
std::vector<const AutotvmTemplate*> autotvmTemplates(const LoweredWorkload& lowered);
bool hasAutotvmTemplate(const Workload& workload);
std::vector<autotvm::Task> autotvmTasks(const Workload& workload); // one for each

const AutotvmTemplate& autotvmConvTemplate();      // conv2d_NCHWc.x86
const AutotvmTemplate& autotvmDepthwiseTemplate(); // depthwise_conv2d_NCHWc.x86
const AutotvmTemplate& autotvmPackTemplate();      // dense_pack.x86
const AutotvmTemplate& autotvmNoPackTemplate();    // dense_nopack.x86
const AutotvmTemplate& autotvmBatchTemplate();     // batch_matmul.x86

// Shared by them -----------------------------------------------------------------------------------------------------

// A config by the names of its knobs.
class KnobReader {
public:
    KnobReader(const KnobSpace& space, const Config& config) : space_(space), config_(config) {}
    const std::vector<std::int64_t>& operator[](const char* knob) const { return space_.value(config_, *space_.knobIndex(knob)).numbers; }
    std::int64_t inner(const char* knob) const { return (*this)[knob].back(); }
    bool has(const char* knob) const { return space_.knobIndex(knob).has_value(); }

private:
    const KnobSpace& space_;
    const Config& config_;
};

// The config with these inner parts of its splits (or other numbers); of a knob that has no such value, the first one.
Config configWith(const KnobSpace& space, const std::map<std::string, std::vector<std::int64_t>>& inner);
std::int64_t largestDivisor(std::int64_t extent, std::int64_t most);

// Loops that a body is written out over, from the innermost one out, as long as it stays so small that it compiles in about a
// second; further loops stay loops, as they would for AutoTVM only where it gives up. What is so large does not fit the
// registers anyway.
class Unroller {
public:
    static constexpr std::int64_t kMostVectors = 512;
    explicit Unroller(loops::StageSchedule& stage, std::int64_t weight = 1) : stage_(stage), left_(kMostVectors / weight) {}
    Unroller& over(const loops::Var& loop, std::int64_t extent);

private:
    loops::StageSchedule& stage_;
    std::int64_t left_;
};

// What a tile holds in local memory must fit a stack: AutoTVM would take it from the heap.
inline constexpr std::int64_t kMostLocalFloats = 32768;

struct ProductParts {
    loops::TensorRef copy; // of an operand (operand_copy.h); may be none
    loops::TensorRef sums; // a local tile of them
    loops::TensorRef output;
};
ProductParts productParts(loops::Schedule& schedule);

std::string autotvmTensor(const Shape& shape); // ["TENSOR",[1,64],"float32"]
std::string autotvmList(const std::vector<std::int64_t>& numbers);

} // namespace tunesmith
