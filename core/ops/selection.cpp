// SPDX-License-Identifier: GPL-3.0-or-later
// What depends on the values themselves: OneHot, TopK, NonZero, Compress, Unique.
#include <algorithm>
#include <numeric>

#include "core/ops/movement.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {
namespace {

Status inferOneHot(InferContext& in) {
    TS_TRY(requireNumeric(in, 0));
    TS_TRY(requireNumeric(in, 1));
    in.outputs[0].dtype = in.type(2).dtype;
    if (in.type(2).isStatic() && in.type(2).shape() != Shape{2})
        return in.error("wants two values, off and on, not " + in.type(2).text());
    if (!in.type(0).dims)
        return {};
    Dims dims = *in.type(0).dims;
    Dim depth;
    if (in.isConstant(1)) {
        if (in.constant(1).count() != 1 || in.constant(1).asInt(0) < 0)
            return in.error("its depth must be one number of at least 0");
        depth = in.constant(1).asInt(0);
    }
    TS_ASSIGN(const std::size_t axis, frontAxis(in, in.node.intAttr("axis", -1), dims.size() + 1));
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), depth);
    in.outputs[0].dims = std::move(dims);
    return {};
}

Status evalOneHot(EvalContext& context, const std::vector<TensorType>& types) {
    const Shape shape = types[0].shape();
    const std::size_t axis = frontAxis(context.node.intAttr("axis", -1), shape.size());
    const std::int64_t depth = shape[axis], inner = rowMajorStrides(shape)[axis];
    const Tensor &indices = context.input(0), &values = context.input(2);
    Tensor result = gatherView(values, {shape, Shape(shape.size(), 0), 0}, shape);
    visitWidth(values.type(), [&](auto tag) {
        using T = decltype(tag);
        const T on = rawData<T>(values)[1];
        for (std::int64_t n = 0; n < indices.count(); ++n) {
            const std::int64_t index = indices.asInt(n), front = index < 0 ? index + depth : index;
            if (front >= 0 && front < depth)
                rawData<T>(result)[(n / inner * depth + front) * inner + n % inner] = on;
        }
    });
    context.outputs[0] = std::move(result);
    return {};
}

Status lowerOneHot(LowerContext& context) {
    const Shape shape = context.outputShape();
    const std::size_t axis = frontAxis(context.node.intAttr("axis", -1), shape.size());
    context.finish(0, loops::compute("one_hot", context.outputType(), shape, [&](const loops::Indices& i) {
        loops::Indices at = i;
        at.erase(at.begin() + static_cast<std::ptrdiff_t>(axis));
        const loops::Expr index = loops::cast(DType::i64, loops::load(context.inputs[0], at));
        const loops::Expr front = loops::select(index < loops::Expr(0), index + loops::Expr(shape[axis]), index);
        return loops::select(loops::equal(front, i[axis]), loops::load(context.inputs[2], {loops::Expr(1)}),
                             loops::load(context.inputs[2], {loops::Expr(0)}));
    }));
    return {};
}

Status inferTopK(InferContext& in) {
    TS_TRY(requireNumeric(in, 0));
    if (in.has(1))
        TS_TRY(requireIndexType(in, 1));
    in.outputs[0] = in.type(0);
    if (in.outputs.size() > 1) {
        in.outputs[1] = in.type(0);
        in.outputs[1].dtype = DType::i64;
    }
    if (!in.type(0).dims)
        return {};
    TS_ASSIGN(const std::size_t axis, frontAxis(in, in.node.intAttr("axis", -1), in.type(0).dims->size()));
    Dim k;
    if (in.node.has("k"))
        k = Dim(in.node.intAttr("k", 0));
    else if (!in.has(1))
        return in.error("has no k");
    else if (in.isConstant(1) && in.constant(1).count() == 1)
        k = Dim(in.constant(1).asInt(0));
    const Dim& extent = (*in.type(0).dims)[axis];
    if ((in.isConstant(1) && in.constant(1).count() != 1) || k.extent < -1 || (k.extent == -1 && (in.node.has("k") || in.isConstant(1))) ||
        (k.known() && extent.known() && k.extent > extent.extent))
        return in.error("cannot take the first " + std::to_string(k.extent) + " of " + in.type(0).text());
    for (TensorType& output : in.outputs)
        (*output.dims)[axis] = k;
    return {};
}

// Order of two elements, NaN above everything; equal ones stay in the order of their indices.
template <class T> bool isBelow(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
        if (a != a || b != b)
            return a == a;
    return a < b;
}

Status evalTopK(EvalContext& context, const std::vector<TensorType>& types) {
    const Tensor& original = context.input(0);
    const Tensor data = original.cast(computeType(original.type()));
    const std::size_t axis = frontAxis(context.node.intAttr("axis", -1), data.rank());
    const bool largest = context.node.intAttr("largest", 1) != 0;
    const Shape shape = types[0].shape();
    const std::int64_t extent = data.shape()[axis], k = shape[axis], inner = rowMajorStrides(data.shape())[axis];
    Tensor values = Tensor::zeros(data.type(), shape), indices = Tensor::zeros(DType::i64, shape);
    std::vector<std::int64_t> order(static_cast<std::size_t>(extent));
    visitNumeric(data.type(), [&](auto tag) {
        using T = decltype(tag);
        const T* const source = data.data<T>().data();
        for (std::int64_t line = 0; k > 0 && line < data.count() / extent; ++line) {
            const std::int64_t base = line / inner * inner * extent + line % inner;
            const std::int64_t target = line / inner * inner * k + line % inner;
            std::iota(order.begin(), order.end(), 0);
            std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](std::int64_t a, std::int64_t b) {
                const T x = source[base + a * inner], y = source[base + b * inner];
                if (isBelow(x, y) || isBelow(y, x))
                    return largest ? isBelow(y, x) : isBelow(x, y);
                return a < b;
            });
            for (std::int64_t n = 0; n < k; ++n) {
                values.mutableData<T>()[target + n * inner] = source[base + order[n] * inner];
                indices.mutableData<std::int64_t>()[target + n * inner] = order[n];
            }
        }
    });
    context.outputs[0] = values.cast(original.type());
    if (context.wanted(1))
        context.outputs[1] = std::move(indices);
    return {};
}

Status inferNonZero(InferContext& in) {
    in.outputs[0] = TensorType(DType::i64, Dims(2));
    if (in.type(0).dims)
        in.outputs[0].dims->front() = static_cast<std::int64_t>(std::max<std::size_t>(in.type(0).dims->size(), 1));
    return {};
}

Status evalNonZero(EvalContext& context, const std::vector<TensorType>&) {
    const Tensor& data = context.input(0);
    std::vector<std::int64_t> found;
    for (std::int64_t n = 0; n < data.count(); ++n)
        if (data.asDouble(n) != 0)
            found.push_back(n);
    const Shape shape = data.rank() == 0 ? Shape{1} : data.shape();
    const Shape strides = rowMajorStrides(shape);
    const auto count = static_cast<std::int64_t>(found.size());
    Tensor result = Tensor::zeros(DType::i64, {static_cast<std::int64_t>(shape.size()), count});
    for (std::size_t d = 0; d < shape.size(); ++d)
        for (std::int64_t n = 0; n < count; ++n)
            result.mutableData<std::int64_t>()[static_cast<std::int64_t>(d) * count + n] = found[n] / strides[d] % shape[d];
    context.outputs[0] = std::move(result);
    return {};
}

Status inferCompress(InferContext& in) {
    in.outputs[0].dtype = in.type(0).dtype;
    if (!in.node.has("axis")) {
        in.outputs[0].dims = Dims(1);
        return {};
    }
    if (!in.type(0).dims)
        return {};
    TS_ASSIGN(const std::size_t axis, frontAxis(in, in.node.intAttr("axis", 0), in.type(0).dims->size()));
    in.outputs[0].dims = in.type(0).dims;
    (*in.outputs[0].dims)[axis] = Dim();
    return {};
}

Status evalCompress(EvalContext& context, const std::vector<TensorType>&) {
    const bool flat = !context.node.has("axis");
    const Tensor data = flat ? context.input(0).reshaped({context.input(0).count()}) : context.input(0);
    const std::size_t axis = flat ? 0 : frontAxis(context.node.intAttr("axis", 0), data.rank());
    const Tensor& condition = context.input(1);
    IndexMaps maps(data.rank());
    for (std::size_t d = 0; d < maps.size(); ++d)
        for (std::int64_t i = 0; i < data.shape()[d]; ++i)
            if (d != axis || (i < condition.count() && condition.asInt(i) != 0))
                maps[d].push_back(i);
    if (condition.count() > data.shape()[axis])
        return context.error("its condition is longer than the axis");
    context.outputs[0] = gatherMapped(data, maps, {});
    return {};
}

Status inferUnique(InferContext& in) {
    TS_TRY(requireType(in, 0, [](DType type) { return isNumeric(type) || type == DType::boolean; }, "a number"));
    for (std::size_t i = 1; i < in.outputs.size(); ++i)
        in.outputs[i] = TensorType(DType::i64, Dims(1));
    in.outputs[0].dtype = in.type(0).dtype;
    if (!in.node.has("axis")) {
        in.outputs[0].dims = Dims(1);
        return {};
    }
    if (!in.type(0).dims)
        return {};
    TS_ASSIGN(const std::size_t axis, frontAxis(in, in.node.intAttr("axis", 0), in.type(0).dims->size()));
    in.outputs[0].dims = in.type(0).dims;
    (*in.outputs[0].dims)[axis] = Dim();
    return {};
}

// Slices of a tensor along an axis, compared element by element.
class Slices {
public:
    Slices(const Tensor& data, std::size_t axis)
        : values_(data), count_(data.shape()[axis]), inner_(rowMajorStrides(data.shape())[axis]),
          outer_(elementCount(std::span(data.shape()).first(axis))) {}
    std::int64_t count() const { return count_; }
    int compare(std::int64_t a, std::int64_t b) const {
        for (std::int64_t o = 0; o < outer_; ++o)
            for (std::int64_t i = 0; i < inner_; ++i) {
                const std::int64_t x = (o * count_ + a) * inner_ + i, y = (o * count_ + b) * inner_ + i;
                if (const int order = compareElements(x, y))
                    return order;
            }
        return 0;
    }

private:
    template <class T> static int order(T a, T b) { return isBelow(a, b) ? -1 : isBelow(b, a) ? 1 : 0; }
    int compareElements(std::int64_t x, std::int64_t y) const {
        if (isFloat(values_.type()))
            return order(values_.asDouble(x), values_.asDouble(y));
        if (values_.type() == DType::u64)
            return order(static_cast<std::uint64_t>(values_.asInt(x)), static_cast<std::uint64_t>(values_.asInt(y)));
        return order(values_.asInt(x), values_.asInt(y));
    }
    const Tensor& values_;
    std::int64_t count_, inner_, outer_;
};

Status evalUnique(EvalContext& context, const std::vector<TensorType>&) {
    const bool flat = !context.node.has("axis");
    const Tensor data = flat ? context.input(0).reshaped({context.input(0).count()}) : context.input(0);
    const std::size_t axis = flat ? 0 : frontAxis(context.node.intAttr("axis", 0), data.rank());
    const Slices slices(data, axis);
    std::vector<std::int64_t> order(static_cast<std::size_t>(slices.count()));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return slices.compare(a, b) < 0; });
    struct Group {
        std::int64_t first, count;
        std::vector<std::int64_t> members;
    };
    std::vector<Group> groups;
    for (const std::int64_t slice : order) {
        if (groups.empty() || slices.compare(groups.back().first, slice) != 0)
            groups.push_back({slice, 0, {}});
        groups.back().members.push_back(slice);
        ++groups.back().count;
    }
    if (context.node.intAttr("sorted", 1) == 0)
        std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.first < b.first; });
    IndexMaps maps(data.rank());
    std::vector<std::int64_t> firsts, counts, inverse(order.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
        firsts.push_back(groups[g].first);
        counts.push_back(groups[g].count);
        for (const std::int64_t member : groups[g].members)
            inverse[member] = static_cast<std::int64_t>(g);
    }
    for (std::size_t d = 0; d < maps.size(); ++d)
        for (std::int64_t i = 0; d != axis && i < data.shape()[d]; ++i)
            maps[d].push_back(i);
    maps[axis] = firsts;
    context.outputs[0] = gatherMapped(data, maps, {});
    const std::vector<std::int64_t>* const rest[] = {&firsts, &inverse, &counts};
    for (std::size_t i = 1; i < context.outputs.size(); ++i)
        context.outputs[i] = Tensor::ofInts(*rest[i - 1]);
    return {};
}

} // namespace

void registerSelection(OperatorList& list) {
    addMovement(list, "OneHot", Fusion::injective, 9, {3, 3}, inferOneHot, evalOneHot, lowerOneHot);
    addMovement(list, "TopK", Fusion::opaque, 1, {1, 2, 2}, inferTopK, evalTopK);
    addMovement(list, "NonZero", Fusion::opaque, 9, {1, 1}, inferNonZero, evalNonZero);
    addMovement(list, "Compress", Fusion::opaque, 9, {2, 2}, inferCompress, evalCompress);
    addMovement(list, "Unique", Fusion::opaque, 11, {1, 1, 4}, inferUnique, evalUnique);
}

} // namespace tunesmith::ops
