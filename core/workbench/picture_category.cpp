// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/picture_category.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/ops/operator.h"

namespace tunesmith {
namespace {

using Category = PictureNode::Category;

// Parts of operators' names; the first that occurs decides: ConvTranspose is a convolution, QLinearGlobalAveragePool a pool.
constexpr std::pair<std::string_view, Category> kParts[] = {
    {"Conv", Category::conv},       {"Gemm", Category::dense},      {"MatMul", Category::dense},   {"Einsum", Category::dense},
    {"Attention", Category::dense}, {"LSTM", Category::dense},      {"GRU", Category::dense},      {"RNN", Category::dense},
    {"Pool", Category::pool},       {"Norm", Category::norm},       {"LRN", Category::norm},       {"Softmax", Category::norm},
    {"Gelu", Category::elementwise}, {"Reshape", Category::shape},  {"Flatten", Category::shape},  {"queeze", Category::shape},
    {"Transpose", Category::shape}, {"Concat", Category::shape},    {"Split", Category::shape},    {"Slice", Category::shape},
    {"Pad", Category::shape},       {"Gather", Category::shape},    {"Expand", Category::shape},   {"Tile", Category::shape},
    {"Shape", Category::shape},     {"Constant", Category::shape},  {"SpaceToDepth", Category::shape}, {"DepthToSpace", Category::shape},
    {"Resize", Category::shape},    {"Upsample", Category::shape},  {"Identity", Category::shape}, {"Range", Category::shape},
    {"Size", Category::shape},
};

} // namespace

Category categoryOf(const Node& node) {
    const Operator* definition = findOperator(node.op, node.domain);
    if (!definition)
        return Category::other;
    const auto part = std::ranges::find_if(kParts, [&](const auto& known) { return node.op.find(known.first) != std::string::npos; });
    if (part != std::end(kParts))
        return part->second;
    return definition->fusion == Fusion::elementwise ? Category::elementwise : Category::other;
}

} // namespace tunesmith
