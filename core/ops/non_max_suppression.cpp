// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "core/ops/movement.h"
#include "core/ops/rules.h"

// NonMaxSuppression: of overlapping boxes [N, S, 4] the one with the best score [N, C, S] stays, for each image and
// class. The result lists (image, class, box), best score first within a class.
namespace tunesmith::ops {
namespace {

Status checkScalar(const InferContext& in, std::size_t index, DType type) {
    if (!in.has(index))
        return {};
    if (in.type(index).dtype != DType::undefined && in.type(index).dtype != type)
        return in.error("input " + std::to_string(index) + " must be " + std::string(dtypeName(type)));
    if (in.isConstant(index) && in.constant(index).count() != 1)
        return in.error("input " + std::to_string(index) + " must be a scalar");
    return {};
}

Status inferSuppression(InferContext& in) {
    TS_TRY(requireType(
        in, 0, [](DType type) { return type == DType::f32; }, "float32"));
    TS_TRY(requireSameType(in, 0, 1));
    TS_TRY(checkScalar(in, 2, DType::i64));
    TS_TRY(checkScalar(in, 3, DType::f32));
    TS_TRY(checkScalar(in, 4, DType::f32));
    const std::int64_t center = in.node.intAttr("center_point_box", 0);
    if (center != 0 && center != 1)
        return in.error("center_point_box must be 0 or 1, not " + std::to_string(center));
    if (in.isConstant(3) && !(in.constant(3).asDouble(0) >= 0 && in.constant(3).asDouble(0) <= 1))
        return in.error("iou_threshold must be between 0 and 1, not " + std::to_string(in.constant(3).asDouble(0)));
    in.outputs[0] = TensorType(DType::i64, Dims{Dim(), Dim(3)});
    if (!in.type(0).dims || !in.type(1).dims)
        return {};
    const Dims &boxes = *in.type(0).dims, &scores = *in.type(1).dims;
    if (boxes.size() != 3 || scores.size() != 3 || !mergeEqual(boxes[2], Dim(4)) || !mergeEqual(boxes[0], scores[0]) ||
        !mergeEqual(boxes[1], scores[2]))
        return pairError(in, 0, 1, "do not fit: boxes are [N, S, 4] and scores [N, C, S]");
    return {};
}

struct Box {
    float top, left, bottom, right;
    float area() const { return (bottom - top) * (right - left); }
};

// Four numbers are two opposite corners (y, x), or a centre (x, y), a width and a height.
Box boxOf(const float* n, bool center) {
    if (center)
        return {n[1] - n[3] / 2, n[0] - n[2] / 2, n[1] + n[3] / 2, n[0] + n[2] / 2};
    return {std::min(n[0], n[2]), std::min(n[1], n[3]), std::max(n[0], n[2]), std::max(n[1], n[3])};
}

bool overlap(const Box& a, const Box& b, float threshold) {
    const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
    const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
    if (!(height > 0 && width > 0 && a.area() > 0 && b.area() > 0))
        return false;
    const float shared = height * width;
    return shared / (a.area() + b.area() - shared) > threshold;
}

struct SelectionLimits {
    std::int64_t most = 0;
    float overlap = 0;
    bool hasScore = false;
    float score = 0;
    explicit SelectionLimits(const EvalContext& context)
        : most(context.has(2) ? context.input(2).asInt(0) : 0),
          overlap(context.has(3) ? static_cast<float>(context.input(3).asDouble(0)) : 0), hasScore(context.has(4)),
          score(hasScore ? static_cast<float>(context.input(4).asDouble(0)) : 0) {}
};

// The boxes that stay for one class; equal scores keep the order of the boxes.
std::vector<std::int64_t> selected(const std::vector<Box>& boxes, const float* scores, const SelectionLimits& limits) {
    std::vector<std::int64_t> candidates;
    for (std::size_t i = 0; i < boxes.size(); ++i)
        if (limits.hasScore ? scores[i] > limits.score : !std::isnan(scores[i]))
            candidates.push_back(static_cast<std::int64_t>(i));
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](std::int64_t a, std::int64_t b) { return scores[a] > scores[b]; });
    std::vector<std::int64_t> kept;
    for (const std::int64_t candidate : candidates) {
        if (static_cast<std::int64_t>(kept.size()) >= limits.most)
            break;
        const Box& box = boxes[static_cast<std::size_t>(candidate)];
        if (std::none_of(kept.begin(), kept.end(), [&](std::int64_t other) {
                return overlap(box, boxes[static_cast<std::size_t>(other)], limits.overlap);
            }))
            kept.push_back(candidate);
    }
    return kept;
}

Status evalSuppression(EvalContext& context, const std::vector<TensorType>&) {
    const Tensor &boxes = context.input(0), &scores = context.input(1);
    const std::int64_t count = boxes.shape()[1], classes = scores.shape()[1];
    const bool center = context.node.intAttr("center_point_box", 0) != 0;
    const SelectionLimits limits(context);
    std::vector<std::int64_t> rows;
    for (std::int64_t image = 0; image < boxes.shape()[0]; ++image) {
        std::vector<Box> all;
        for (std::int64_t i = 0; i < count; ++i)
            all.push_back(boxOf(boxes.data<float>().data() + (image * count + i) * 4, center));
        for (std::int64_t c = 0; c < classes; ++c)
            for (const std::int64_t box :
                 selected(all, scores.data<float>().data() + (image * classes + c) * count, limits))
                rows.insert(rows.end(), {image, c, box});
    }
    context.outputs[0] = Tensor::ofInts(rows).reshaped({static_cast<std::int64_t>(rows.size()) / 3, 3});
    return {};
}

// Each box is held against all that were kept.
double suppressionSteps(const OpInputs& in) {
    const Shape scores = in.type(1).shape();
    return scores.size() != 3 ? 0 : static_cast<double>(scores[0]) * static_cast<double>(scores[1]) * static_cast<double>(scores[2]) * static_cast<double>(scores[2]);
}

} // namespace

void registerNonMaxSuppression(OperatorList& list) {
    addMovement(list, "NonMaxSuppression", Fusion::opaque, 10, {2, 5}, inferSuppression, evalSuppression);
    list.back().steps = suppressionSteps;
}

} // namespace tunesmith::ops
