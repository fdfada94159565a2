// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <numeric>

#include "core/ops/contrib/contrib.h"

namespace tunesmith::ops {

// Operators whose images are [N, spatial..., C] where ONNX has [N, C, spatial...].

inline bool channelsLast(const Node& node) {
    return node.intAttr("channels_last", 0) != 0;
}

// [N, spatial..., C] as [N, C, spatial...], and back.
template <class Extents> Extents channelsSecond(Extents extents) {
    std::rotate(extents.begin() + 1, extents.end() - 1, extents.end());
    return extents;
}
template <class Extents> Extents channelsBehind(Extents extents) {
    std::rotate(extents.begin() + 1, extents.begin() + 2, extents.end());
    return extents;
}
inline std::vector<std::int64_t> countedAxes(std::size_t rank) {
    std::vector<std::int64_t> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
}

// These apply an operator of ONNX to such images: input 0 and the one output have channels last.
Status inferChannelsLast(InferContext& in, const std::string& onnx);
Status evalChannelsLast(EvalContext& context, const std::string& onnx);
ValueId addChannelsLast(ExpandContext& context, const std::string& onnx,
                        const std::map<std::string, Attribute>& attributes);

} // namespace tunesmith::ops
