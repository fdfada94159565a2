// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/rotary.h"

#include <algorithm>
#include <numeric>

#include "core/ops/kernel.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {
namespace {

// One head at one position.
template <class T> void rotateHead(const RotaryShape& s, const T* x, const T* cos, const T* sin, T* y) {
    for (std::int64_t i = 0; i < s.pairs(); ++i) {
        const std::int64_t first = s.interleaved ? 2 * i : i, second = s.interleaved ? first + 1 : first + s.pairs();
        const auto c = static_cast<double>(cos[i]), a = static_cast<double>(x[first]);
        const auto d = static_cast<double>(sin[i]), b = static_cast<double>(x[second]);
        y[first] = static_cast<T>(a * c - b * d);
        y[second] = static_cast<T>(a * d + b * c);
    }
    std::copy(x + s.rotated, x + s.size, y + s.rotated);
}

} // namespace

void rotate(const RotaryShape& s, const Tensor& x, const Tensor& cos, const Tensor& sin, std::span<const std::int64_t> rows, Tensor& y) {
    visitFloat(x.type(), [&](auto tag) {
        using T = decltype(tag);
        for (std::int64_t b = 0; b < s.batch; ++b)
            for (std::int64_t t = 0; t < s.length; ++t)
                for (std::int64_t h = 0; h < s.heads; ++h) {
                    const std::int64_t at = (s.headsFirst ? (b * s.heads + h) * s.length + t : (b * s.length + t) * s.heads + h) * s.size;
                    const std::int64_t row = rows[static_cast<std::size_t>(b * s.length + t)] * s.pairs();
                    rotateHead(s, x.data<T>().data() + at, cos.data<T>().data() + row, sin.data<T>().data() + row, y.mutableData<T>().data() + at);
                }
    });
}

ValueId expandRotation(ExpandContext& c, const RotaryShape& s, ValueId x, ValueId cos, ValueId sin) {
    const std::int64_t headAxis = s.headsFirst ? 1 : 2;
    const ValueId wideCos = c.unsqueeze(cos, headAxis), wideSin = c.unsqueeze(sin, headAxis);
    const ValueId turned = s.rotated == s.size ? x : c.slice(x, 3, 0, s.rotated);
    Shape paired = s.shape();
    paired.back() = s.pairs();
    ValueId first, second;
    if (s.interleaved) {
        paired.push_back(2);
        const ValueId pairs = c.reshape(turned, paired);
        first = c.pick(pairs, 0, 4);
        second = c.pick(pairs, 1, 4);
    } else {
        first = c.slice(turned, 3, 0, s.pairs());
        second = c.slice(turned, 3, s.pairs(), s.rotated);
    }
    const ValueId real = c.add("Sub", c.add("Mul", first, wideCos), c.add("Mul", second, wideSin));
    const ValueId imaginary = c.add("Add", c.add("Mul", first, wideSin), c.add("Mul", second, wideCos));
    Shape whole = s.shape();
    whole.back() = s.rotated;
    std::vector<ValueId> parts{real, imaginary};
    if (s.interleaved)
        parts = {c.reshape(c.concat({c.unsqueeze(real, 4), c.unsqueeze(imaginary, 4)}, 4), whole)};
    if (s.rotated < s.size)
        parts.push_back(c.slice(x, 3, s.rotated, s.size));
    return parts.size() == 1 ? parts.front() : c.concat(parts, 3);
}

namespace {

enum RotaryInput : std::size_t { kX, kCos, kSin, kPositions };

RotaryShape rotaryShape(const Node& node, const Shape& x) {
    RotaryShape s;
    const bool packed = x.size() == 3;
    s.batch = x[0];
    s.headsFirst = !packed;
    s.heads = packed ? node.intAttr("num_heads", 1) : x[1];
    s.length = x[packed ? 1 : 2];
    s.size = packed ? x[2] / s.heads : x[3];
    s.rotated = node.intAttr("rotary_embedding_dim", 0);
    s.rotated = s.rotated == 0 ? s.size : s.rotated;
    s.interleaved = node.intAttr("interleaved", 0) != 0;
    return s;
}

Status checkRotated(const OpInputs& in) {
    const Dims& x = *in.type(kX).dims;
    const std::int64_t heads = in.node.intAttr("num_heads", 0);
    if (x.size() != 3 && x.size() != 4)
        return in.error("the input " + in.type(kX).text() + " must have 3 or 4 dimensions");
    if (x.size() == 3 && heads < 1)
        return in.error("needs the attribute num_heads, for its input has 3 dimensions");
    if (!x.back().known())
        return {};
    if (x.size() == 3 && x[2].extent % heads != 0)
        return in.error("the last dimension of " + in.type(kX).text() + " cannot be split into " + std::to_string(heads) + " heads");
    const std::int64_t size = x.size() == 3 ? x[2].extent / heads : x[3].extent;
    const std::int64_t stated = in.node.intAttr("rotary_embedding_dim", 0), rotated = stated == 0 ? size : stated;
    if (rotated < 0 || rotated > size || rotated % 2 != 0)
        return in.error("cannot rotate " + std::to_string(rotated) + " of " + std::to_string(size) + " elements: an even number is needed");
    for (const std::size_t cache : {kCos, kSin})
        if (in.type(cache).dims && !mergeEqual(in.type(cache).dims->back(), Dim(rotated / 2)))
            return pairError(in, kX, cache, "do not fit: a cache has " + std::to_string(rotated / 2) + " numbers for each position");
    return {};
}

Status inferRotary(InferContext& in) {
    TS_TRY(requireFloat(in, kX));
    TS_TRY(inferSameAsFirst(in));
    const std::size_t cacheRank = in.has(kPositions) ? 2 : 3;
    for (const std::size_t cache : {kCos, kSin}) {
        TS_TRY(requireSameType(in, kX, cache));
        if (in.type(cache).dims && in.type(cache).dims->size() != cacheRank)
            return in.error("the cache " + in.type(cache).text() + " must have " + std::to_string(cacheRank) + " dimensions " +
                            (in.has(kPositions) ? "with" : "without") + " position_ids");
    }
    TS_TRY(requireSameShape(in, kCos, kSin));
    if (in.has(kPositions)) {
        TS_TRY(requireType(in, kPositions, isInteger, "an integer type"));
        if (in.type(kPositions).dims && in.type(kPositions).dims->size() != 2)
            return in.error("the positions " + in.type(kPositions).text() + " must be [batch, length]");
    }
    if (!in.type(kX).dims)
        return {};
    TS_TRY(checkRotated(in));
    const Dims& x = *in.type(kX).dims;
    const Dim &batch = x[0], &length = x[x.size() - 2];
    const std::size_t rows = in.has(kPositions) ? kPositions : kCos;
    const auto& places = in.type(rows).dims;
    if (places && (!mergeEqual((*places)[0], batch) || !mergeEqual((*places)[1], length)))
        return pairError(in, kX, rows, "do not fit: there must be one position for each of batch and length");
    return {};
}

Status evalRotary(EvalContext& context) {
    const RotaryShape s = rotaryShape(context.node, context.input(kX).shape());
    std::vector<std::int64_t> rows(static_cast<std::size_t>(s.batch * s.length));
    std::iota(rows.begin(), rows.end(), 0);
    if (context.has(kPositions)) {
        rows = context.input(kPositions).asInts();
        const std::int64_t known = context.input(kCos).shape()[0];
        for (const std::int64_t row : rows)
            if (row < 0 || row >= known)
                return context.error("position " + std::to_string(row) + " is none of the " + std::to_string(known) + " that the caches have");
    }
    rotate(s, context.input(kX), context.input(kCos), context.input(kSin), rows, context.outputs[0]);
    return {};
}

Status writeRotary(ExpandContext& context) {
    TS_TRY(context.requireShapes());
    const RotaryShape s = rotaryShape(context.node, context.type(kX).shape());
    const DType type = context.type(kX).dtype;
    const auto angles = [&](RotaryInput cache) {
        const ValueId all = context.widened(context.node.inputs[cache], type);
        return context.has(kPositions) ? context.add("Gather", all, context.node.inputs[kPositions]) : all;
    };
    ValueId x = context.widened(context.node.inputs[kX], type);
    if (!s.headsFirst)
        x = context.reshape(x, s.shape());
    ValueId y = expandRotation(context, s, x, angles(kCos), angles(kSin));
    if (!s.headsFirst)
        y = context.reshape(y, context.type(kX).shape());
    context.outputs[0] = context.narrowed(y, type);
    return {};
}

} // namespace

void registerRotary(OperatorList& list) {
    addOperator(list, "RotaryEmbedding", Fusion::opaque, 23, {3, 4}, inferRotary, evalRotary);
    list.back().expand = writeRotary;
}

} // namespace tunesmith::ops
