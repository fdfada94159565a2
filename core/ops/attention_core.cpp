// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/attention_core.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/scratch.h"
#include "core/ops/broadcast.h"
#include "core/ops/dense.h"
#include "core/ops/movement.h"

namespace tunesmith::ops {
namespace {

constexpr double kUnseen = -std::numeric_limits<double>::infinity();

// One row of scores at a time, from products to probabilities.
class ScoreRows {
public:
    ScoreRows(const AttentionShape& shape, const AttentionRule& rule, const Tensor& bias, const ShowScores& show)
        : shape_(shape), rule_(rule), bias_(bias), show_(show),
          strides_(bias.absent() ? Shape(4, 0) : broadcastStrides(bias.shape(), shape.scores())) {}

    void finish(std::int64_t row, std::span<double> scores) const {
        for (double& score : scores)
            score *= rule_.scale;
        shown(AttentionStep::scaled, row, scores);
        if (rule_.softcap > 0)
            for (double& score : scores)
                score = rule_.softcap * std::tanh(score / rule_.softcap);
        shown(AttentionStep::capped, row, scores);
        const bool visible = addBias(row, scores);
        shown(AttentionStep::biased, row, scores);
        if (visible || !rule_.hiddenRows)
            normalise(scores);
        else
            std::ranges::fill(scores, 0.0);
        shown(AttentionStep::probabilities, row, scores);
    }

private:
    void shown(AttentionStep step, std::int64_t row, std::span<const double> scores) const {
        if (show_)
            show_(step, row, scores);
    }

    // Whether the bias leaves anything to see.
    bool addBias(std::int64_t row, std::span<double> scores) const {
        if (bias_.absent())
            return true;
        const std::int64_t i = row % shape_.queries, head = row / shape_.queries % shape_.heads;
        const std::int64_t batch = row / shape_.queries / shape_.heads;
        const double* const own = bias_.data<double>().data() + batch * strides_[0] + head * strides_[1] + i * strides_[2];
        bool visible = false;
        for (std::size_t j = 0; j < scores.size(); ++j) {
            const double value = own[static_cast<std::int64_t>(j) * strides_[3]];
            visible = visible || value != kUnseen;
            scores[j] += value;
        }
        return visible;
    }

    static void normalise(std::span<double> scores) {
        double most = kUnseen, sum = 0;
        for (const double score : scores)
            most = std::isnan(score) || score > most ? score : most;
        for (double& score : scores)
            sum += score = std::exp(score - most);
        for (double& score : scores)
            score /= sum;
    }

    const AttentionShape& shape_;
    const AttentionRule& rule_;
    const Tensor& bias_;
    const ShowScores& show_;
    const Shape strides_;
};

Scratch<double> columnsOf(const double* rows, std::int64_t count, std::int64_t length) {
    Scratch<double> columns(static_cast<std::size_t>(count * length));
    for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t j = 0; j < length; ++j)
            columns[static_cast<std::size_t>(j * count + i)] = rows[i * length + j];
    return columns;
}

} // namespace

Tensor headsApart(const Tensor& x, std::int64_t heads) {
    if (x.rank() == 4)
        return x;
    const std::int64_t batch = x.shape()[0], length = x.shape()[1], size = x.shape()[2] / heads;
    const Shape shape{batch, heads, length, size};
    return gatherView(x, {shape, {length * heads * size, size, heads * size, 1}, 0}, shape);
}

Tensor headsTogether(const Tensor& x) {
    const Shape& s = x.shape();
    return gatherView(x, {{s[0], s[2], s[1], s[3]}, {s[1] * s[2] * s[3], s[3], s[2] * s[3], 1}, 0}, {s[0], s[2], s[1] * s[3]});
}

Tensor extendedCache(const Tensor& past, const Tensor& more) {
    if (past.absent())
        return more;
    Shape shape = more.shape();
    const std::int64_t before = past.shape()[2], own = shape[2], size = shape[3];
    shape[2] += before;
    Tensor all = Tensor::zeros(more.type(), shape);
    const Shape strides = rowMajorStrides(shape);
    copyView(past, wholeView(past), all, {past.shape(), strides, 0});
    copyView(more, wholeView(more), all, {{shape[0], shape[1], own, size}, strides, before * size});
    return all;
}

void attend(const AttentionShape& s, const AttentionRule& rule, const Tensor& q, const Tensor& k, const Tensor& v,
            const Tensor& bias, Tensor& y, const ShowScores& show) {
    const Tensor wideQ = q.cast(DType::f64), wideK = k.cast(DType::f64), wideV = v.cast(DType::f64);
    Tensor wideY = Tensor::zeros(DType::f64, y.shape());
    const ScoreRows rows(s, rule, bias, show);
    Scratch<double> columns, scores(static_cast<std::size_t>(s.queries * s.keys));
    for (std::int64_t head = 0; head < s.batch * s.heads; ++head) {
        const std::int64_t shared = head / s.group();
        const double* const values = wideV.data<double>().data() + shared * s.keys * s.valueSize;
        if (head % s.group() == 0)
            columns = columnsOf(wideK.data<double>().data() + shared * s.keys * s.size, s.keys, s.size);
        std::ranges::fill(scores, 0.0);
        multiplyAccumulate<double>(s.queries, s.keys, s.size, wideQ.data<double>().data() + head * s.queries * s.size, s.size, 1,
                                   columns.data(), s.keys, scores.data(), s.keys);
        for (std::int64_t i = 0; i < s.queries; ++i)
            rows.finish(head * s.queries + i, std::span(scores).subspan(static_cast<std::size_t>(i * s.keys), static_cast<std::size_t>(s.keys)));
        multiplyAccumulate<double>(s.queries, s.valueSize, s.keys, scores.data(), s.keys, 1, values, s.valueSize,
                                   wideY.mutableData<double>().data() + head * s.queries * s.valueSize, s.valueSize);
    }
    y = wideY.cast(y.type());
}

AttentionNodes expandAttention(ExpandContext& to, const AttentionShape& s, const AttentionRule& rule, DType type, ValueId q, ValueId k,
                               ValueId v, ValueId bias) {
    // The queries of heads that share their keys are the rows of one product.
    const bool grouped = s.group() > 1;
    const auto shared = [&](ValueId rows, std::int64_t length) { return grouped ? to.reshape(rows, {s.batch, s.kvHeads, s.group() * s.queries, length}) : rows; };
    const auto apart = [&](ValueId rows, std::int64_t length) { return grouped ? to.reshape(rows, {s.batch, s.heads, s.queries, length}) : rows; };
    AttentionNodes made;
    const ValueId products = to.add("MatMul", shared(q, s.size), to.transpose(k, {0, 1, 3, 2}));
    made.scaled = apart(to.add("Mul", products, to.number(type, rule.scale)), s.keys);
    made.capped = made.scaled;
    if (rule.softcap > 0) {
        const ValueId cap = to.number(type, rule.softcap);
        made.capped = to.add("Mul", to.add("Tanh", {to.add("Div", made.scaled, cap)}), cap);
    }
    made.biased = bias.valid() ? to.add("Add", made.capped, bias) : made.capped;
    made.probabilities = to.add("Softmax", {made.biased}, {{"axis", std::int64_t{3}}});
    if (bias.valid() && rule.hiddenRows) {
        const std::vector<std::int64_t> last{-1};
        const ValueId most = to.onnxOpset < 18 ? to.add("ReduceMax", {bias}, {{"axes", last}}) : to.add("ReduceMax", std::vector{bias, to.addConstant(Tensor::ofInts(last))});
        const ValueId hidden = to.add("Equal", most, to.number(type, kUnseen));
        made.probabilities = to.add("Where", {hidden, to.number(type, 0), made.probabilities});
    }
    made.y = apart(to.add("MatMul", shared(made.probabilities, s.keys), v), s.valueSize);
    return made;
}

} // namespace tunesmith::ops
