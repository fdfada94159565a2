// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/memory_budget.h"

namespace tunesmith {
namespace {

std::int64_t roundUp(std::int64_t bytes) { return (std::max<std::int64_t>(bytes, 1) + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment; }

bool overlapInTime(const LiveBuffer& a, const LiveBuffer& b) { return a.firstStep <= b.lastStep && b.firstStep <= a.lastStep; }

struct Placed {
    std::int64_t begin, end;
};

std::int64_t lowestFit(std::vector<Placed>& neighbours, std::int64_t bytes) {
    std::sort(neighbours.begin(), neighbours.end(), [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
    std::int64_t offset = 0;
    for (const Placed& placed : neighbours) {
        if (offset + bytes <= placed.begin)
            break;
        offset = std::max(offset, placed.end);
    }
    return offset;
}

} // namespace

MemoryPlan planMemory(const std::vector<LiveBuffer>& buffers) {
    std::vector<std::size_t> order(buffers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return buffers[a].bytes > buffers[b].bytes; });
    MemoryPlan plan;
    plan.offsets.assign(buffers.size(), 0);
    std::vector<std::size_t> done;
    for (const std::size_t index : order) {
        std::vector<Placed> neighbours;
        for (const std::size_t other : done)
            if (overlapInTime(buffers[index], buffers[other]))
                neighbours.push_back({plan.offsets[other], plan.offsets[other] + roundUp(buffers[other].bytes)});
        const std::int64_t bytes = roundUp(buffers[index].bytes);
        plan.offsets[index] = lowestFit(neighbours, bytes);
        plan.bytes = std::max(plan.bytes, plan.offsets[index] + bytes);
        done.push_back(index);
    }
    return plan;
}

Status checkMemory(const ModulePlan& plan) {
    std::int64_t bytes = plan.arenaBytes;
    const PlanBuffer* largest = nullptr;
    for (const PlanBuffer& buffer : plan.buffers) {
        const bool handedOver = buffer.place == PlanBuffer::Place::input || buffer.place == PlanBuffer::Place::output;
        if (handedOver && __builtin_add_overflow(bytes, buffer.bytes, &bytes))
            bytes = std::numeric_limits<std::int64_t>::max();
        if (buffer.place != PlanBuffer::Place::constant && (!largest || buffer.bytes > largest->bytes))
            largest = &buffer;
    }
    return largest ? checkValueMemory("what a run computes, '" + largest->name + "' with " + memoryText(largest->bytes) + " foremost,", bytes) : Status();
}

} // namespace tunesmith
