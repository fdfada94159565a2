// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/codegen/kernel.h"
#include "core/graph/tensor.h"
#include "core/loops/layout.h"
#include "core/ops/index_inputs.h"

namespace tunesmith {

// A compiled model as plain data: which kernels run in which order on which memory. Made by module/build, executed by
// runtime/ (in an exported module or a worker), described in module.json.

// A piece of memory that steps see. Inputs, outputs and constants are memory of their own; everything else lies in the
// arena, where buffers that are never alive together share bytes. A dynamic buffer is allocated by the step that fills it: of
// a value whose size is not known before.
struct PlanBuffer {
    enum class Place : std::uint8_t { arena, input, output, constant, dynamic };
    std::string name;
    Place place = Place::arena;
    std::int64_t offset = 0; // bytes: in the arena, in the weights file; the index of the input or output otherwise
    std::int64_t bytes = 0;  // what kernels may touch; offsets are multiples of kBufferAlignment
    std::string layout;      // for people: "NCHW16c"
    loops::Layout order = loops::Layout(); // how the graph's value of that name lies in it; of arena, inputs and outputs
};

// A node that is no kernel: the reference kernels compute it (runtime/reference_steps.h).
struct PlanNode {
    std::string op;
    std::vector<std::byte> graph; // of this node alone (graph/graph_codec.h); constants lie in the weights
};

// One call of a kernel, or one node. Arguments in the order of the loop nest: inputs, outputs, scratch.
struct PlanStep {
    std::string name;      // of the graph nodes it computes: "conv1+relu"
    std::size_t kernel = 0;
    std::vector<std::size_t> arguments; // indices of buffers
    std::int64_t flops = 0;
    std::string workload;  // key of its workload
    std::string config;    // text of the schedule's config
    double expectedMs = 0; // of the record that it was chosen by; 0: default schedule, not measured
    std::size_t inputs = 0, outputs = 0; // of the arguments; the rest is scratch
    std::optional<PlanNode> node = {}; // then there is no kernel
};

inline constexpr std::int64_t kOpenExtent = -1; // depends on values

struct PlanTensor { // an input or output of the model, always row-major at the interface
    std::string name;
    DType type;
    Shape shape; // extents of outputs may be kOpenExtent
    std::size_t buffer;
    bool ranked = true; // false: not even the rank of this output is known before a run
    std::optional<std::size_t> fallback = {}; // of an input: the buffer that holds its default value
    IndexRange indices = {}; // of an input: where it must lie (index_limits.h)
};

struct PlanConstant {
    std::size_t buffer;
    Tensor packed; // bytes as kernels read them
};

struct ModulePlan {
    std::string name;
    Target target;
    std::vector<PlanBuffer> buffers;
    std::vector<KernelObject> kernels; // distinct; symbol names are unique
    std::vector<PlanStep> steps;
    std::vector<PlanTensor> inputs, outputs;
    std::vector<PlanConstant> constants;
    std::int64_t arenaBytes = 0;
    std::int64_t weightBytes = 0;
};

} // namespace tunesmith
