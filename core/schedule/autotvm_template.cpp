// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/autotvm_template.h"

#include <algorithm>

#include "core/schedule/operand_copy.h"

namespace tunesmith {

using loops::TensorRef;
using loops::Var;

Result<KnobSpace> AutotvmTemplate::space(const Workload& workload, const LoweredWorkload& lowered, const Target&) const {
    TS_ASSIGN(autotvm::ConfigSpace space, autotvm::spaceOf(task(workload, lowered)));
    return std::move(space.knobs);
}

std::vector<const AutotvmTemplate*> autotvmTemplates(const LoweredWorkload& lowered) {
    std::vector<const AutotvmTemplate*> found;
    for (const AutotvmTemplate* known : {&autotvmConvTemplate(), &autotvmDepthwiseTemplate(), &autotvmPackTemplate(),
                                         &autotvmNoPackTemplate(), &autotvmBatchTemplate()})
        if (known->matches(lowered, Target()))
            found.push_back(known);
    return found;
}

bool hasAutotvmTemplate(const Workload& workload) {
    const auto lowered = lowerWorkload(workload);
    return lowered.ok() && !autotvmTemplates(*lowered).empty();
}

std::vector<autotvm::Task> autotvmTasks(const Workload& workload) {
    std::vector<autotvm::Task> tasks;
    if (const auto lowered = lowerWorkload(workload); lowered.ok())
        for (const AutotvmTemplate* known : autotvmTemplates(*lowered))
            tasks.push_back(known->task(workload, *lowered));
    return tasks;
}

Config configWith(const KnobSpace& space, const std::map<std::string, std::vector<std::int64_t>>& inner) {
    Config config{std::vector<std::int64_t>(space.knobs().size(), 0), {}};
    for (std::size_t k = 0; k < space.knobs().size(); ++k) {
        const auto wanted = inner.find(space.knobs()[k].name);
        if (wanted == inner.end())
            continue;
        const auto& values = space.knobs()[k].values;
        const auto found = std::ranges::find_if(values, [&](const KnobValue& value) {
            const std::size_t skip = value.numbers.size() - std::min(wanted->second.size(), value.numbers.size());
            return std::equal(value.numbers.begin() + static_cast<std::ptrdiff_t>(skip), value.numbers.end(), wanted->second.begin(),
                              wanted->second.end());
        });
        if (found != values.end())
            config.choices[k] = found - values.begin();
    }
    return config;
}

std::int64_t largestDivisor(std::int64_t extent, std::int64_t most) {
    for (std::int64_t divisor = std::min(extent, most); divisor > 1; --divisor)
        if (extent % divisor == 0)
            return divisor;
    return 1;
}

Unroller& Unroller::over(const Var& loop, std::int64_t extent) {
    if (extent > left_) {
        left_ = 0;
        return *this;
    }
    stage_.unroll(loop);
    left_ /= std::max<std::int64_t>(1, extent);
    return *this;
}

ProductParts productParts(loops::Schedule& schedule) {
    const bool copied = copiesOperand(schedule.program());
    const TensorRef copy = copied ? schedule.program().stages[0].output : nullptr;
    const TensorRef product = schedule.program().stages[copied ? 1 : 0].output, output = schedule.program().outputs[0];
    return {copy, product == output ? schedule.cacheWrite(output) : product, output};
}

std::string autotvmTensor(const Shape& shape) { return "[\"TENSOR\"," + autotvmList(shape) + ",\"float32\"]"; }

std::string autotvmList(const std::vector<std::int64_t>& numbers) {
    std::string text;
    for (const std::int64_t number : numbers)
        text += (text.empty() ? "[" : ",") + std::to_string(number);
    return text.empty() ? "[]" : text + "]";
}

} // namespace tunesmith
