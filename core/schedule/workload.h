// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/loops/layout.h"
#include "core/loops/program.h"
#include "core/schedule/layouts.h"
#include "core/schedule/space_kind.h"
#include "core/schedule/weight_transform.h"

namespace tunesmith {

namespace te {
class BoundSchedule;
}

// What is tuned: the computation of one kernel at concrete shapes and layouts, without the values of its weights. It is
// itself a small graph, so that the reference engine is its oracle and ONNX bytes carry it to worker processes. Equal
// computations anywhere in any model have the same key and share their records.
struct Workload {
    std::string key;  // 16 hexadecimal digits
    std::string name; // "conv2d 1x64x56x56 -> 64 k3x3 +bias +relu"
    std::string op;   // of the first node
    Graph graph;
    std::vector<loops::Layout> inputLayouts; // of graph.inputs()
    std::vector<bool> constantInputs;        // weights: the schedule may pack them as it likes
    std::vector<loops::Layout> outputLayouts;
    std::int64_t flops = 0;
    // What it is tuned over. A config means something in its own space only, so the space is part of the key: trials and records
    // of one space are never taken for those of another.
    SpaceKind space = SpaceKind::tunesmith;

    std::int64_t bytes() const;    // everything that is read or written, once
    std::string shapeText() const; // "1x64x56x56, 64x64x3x3 -> 1x64x56x56"
    std::string serialize() const; // JSON header and ONNX bytes, for the store and for workers
    static Result<Workload> deserialize(std::string_view text); // from anybody: what lowers and schedules it takes for granted is checked
};

// The workload over another space, with its key there; as it is in our own where no template of that space knows it.
Workload inSpace(Workload workload, SpaceKind space);

// Cuts a group out of a graph. `inputs` says which value of the graph each graph input of the workload stands for.
struct ExtractedWorkload {
    Workload workload;
    std::vector<ValueId> inputs;
};
Result<ExtractedWorkload> extractWorkload(const Graph& graph, const KernelGroup& group, const LayoutPlan& layouts);
// The workload that copies one value from a layout to another.
Result<Workload> conversionWorkload(const TensorType& type, const loops::Layout& from, const loops::Layout& to);

// The tensor expression of all nodes of a workload as one program, single-use elementwise stages merged into their readers.
struct LoweredWorkload {
    loops::Program program;
    std::vector<ValueId> arguments; // the value of workload.graph that each program input is: an input or a small constant
    std::vector<loops::Layout> argumentLayouts;
    std::vector<bool> constantArguments;
    std::vector<WeightTransform> argumentTransforms; // none unless a template asks for one of a constant
    std::vector<loops::Layout> outputLayouts;
    std::shared_ptr<const te::BoundSchedule> written; // of the first node's stage, by the user who wrote it; usually null
};
Result<LoweredWorkload> lowerWorkload(const Workload& workload);

} // namespace tunesmith
