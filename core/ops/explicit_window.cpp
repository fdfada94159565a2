// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/explicit_window.h"

#include <algorithm>

#include "core/ops/window.h"

namespace tunesmith {
namespace {

Node explicitly(Node node, const ops::WindowGeometry& geometry, bool dilated) {
    std::vector<std::int64_t> strides, dilations, pads(2 * geometry.rank());
    for (std::size_t d = 0; d < geometry.rank(); ++d) {
        strides.push_back(geometry.dims[d].stride);
        dilations.push_back(geometry.dims[d].dilation);
        pads[d] = geometry.dims[d].padBegin;
        pads[geometry.rank() + d] = geometry.dims[d].padEnd;
    }
    node.attributes.erase("auto_pad");
    node.attributes["strides"] = std::move(strides);
    node.attributes["pads"] = std::move(pads);
    if (dilated)
        node.attributes["dilations"] = std::move(dilations);
    return node;
}

} // namespace

Node withExplicitWindow(const Graph& graph, Node node, std::int64_t opset) {
    const bool conv = node.op == "Conv", pool = node.op == "AveragePool" || node.op == "MaxPool";
    if (!node.domain.empty() || (!conv && !pool) || !graph.value(node.inputs[0]).type.isStatic() || (conv && !graph.value(node.inputs[1]).type.isStatic()))
        return node;
    const Shape x = graph.value(node.inputs[0]).type.shape(), w = conv ? graph.value(node.inputs[1]).type.shape() : Shape();
    const Shape kernel = conv ? Shape(w.begin() + std::min<std::ptrdiff_t>(2, std::ssize(w)), w.end()) : node.intsAttr("kernel_shape");
    const auto windows = ops::readWindows(node, kernel);
    if (!windows.ok() || x.size() != kernel.size() + 2)
        return node;
    const auto geometry = ops::windowGeometry(*windows, {x.begin() + 2, x.end()});
    if (!geometry.ok())
        return node;
    if (conv) {
        node.attributes["kernel_shape"] = std::vector<std::int64_t>(kernel.begin(), kernel.end());
        node.attributes["group"] = node.intAttr("group", 1);
    }
    const bool dilated = conv || node.has("dilations") || (node.op == "MaxPool" && opset >= 10);
    return explicitly(std::move(node), *geometry, dilated);
}

} // namespace tunesmith
