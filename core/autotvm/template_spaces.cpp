// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autotvm/template_spaces.h"

#include <algorithm>
#include <map>

#include "core/autotvm/template_builders.h"

namespace tunesmith::autotvm {
namespace {

const std::map<std::string, TemplateBuilder>& builders() {
    static const std::map<std::string, TemplateBuilder> all{
        {"conv2d_NCHWc.x86", convX86},
        {"depthwise_conv2d_NCHWc.x86", depthwiseX86},
        {"dense_pack.x86", densePackX86},
        {"dense_nopack.x86", denseNoPackX86},
        {"batch_matmul.x86", batchMatmulX86},
        {"conv2d_nchw.cuda", convCuda},
        {"conv2d_nchw_winograd.cuda", winogradCuda},
        {"depthwise_conv2d_nchw.cuda", depthwiseCuda},
        {"conv2d_transpose_nchw.cuda", convTransposeCuda},
        {"conv1d_transpose_nchw.cuda", convTranspose1dCuda},
        {"batch_matmul.cuda", batchMatmulCuda},
    };
    return all;
}

std::size_t placeOf(const Record& record, const char* knob) {
    const auto found = std::ranges::find(record.entity, knob, &KnobSetting::name);
    return static_cast<std::size_t>(found - record.entity.begin());
}

} // namespace

Vintage vintageOf(const Record& record) {
    Vintage vintage;
    const auto written = [](const KnobSetting& setting) {
        const auto numbers = setting.kind == "sp" ? setting.numbers() : std::nullopt;
        return numbers && !numbers->empty() && numbers->front() != -1;
    };
    vintage.tails = std::ranges::none_of(record.entity, written);
    vintage.innerTile = placeOf(record, "tile_inner") < record.entity.size();
    vintage.swappedKernelNames = placeOf(record, "tile_rx") < placeOf(record, "tile_ry");
    return vintage;
}

Result<ConfigSpace> spaceOf(const Task& task, const Vintage& vintage) {
    const auto builder = builders().find(task.name);
    if (builder == builders().end())
        return unsupportedError("the space of the AutoTVM template '" + task.name + "' is not known");
    TS_ASSIGN(const Arguments arguments, Arguments::parse(task));
    return builder->second(task.name, arguments, vintage);
}

std::vector<std::string> knownTemplates() {
    std::vector<std::string> names;
    for (const auto& [name, builder] : builders())
        names.push_back(name);
    return names;
}

} // namespace tunesmith::autotvm
