// SPDX-License-Identifier: GPL-3.0-or-later
// Reshape, Flatten, Squeeze, Unsqueeze: the same bytes under another shape.
#include <algorithm>

#include "core/ops/movement.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {
namespace {

// Extents whose product matters, split into the known part and the unknown dimensions.
struct Factors {
    std::int64_t known = 1;
    std::vector<std::string> symbols;
    bool opaque = false; // holds a dimension that has not even a name, or more elements than can be counted

    void add(const Dim& dim) {
        if (dim.known())
            opaque = __builtin_mul_overflow(known, dim.extent, &known) || opaque;
        else if (dim.symbol.empty())
            opaque = true;
        else
            symbols.push_back(dim.symbol);
    }
    bool complete() const { return symbols.empty() && !opaque; }
};

// all / part, where it is a number or one name.
Dim quotient(Factors all, const Factors& part) {
    for (const std::string& symbol : part.symbols) {
        const auto found = std::find(all.symbols.begin(), all.symbols.end(), symbol);
        if (found == all.symbols.end())
            return {};
        all.symbols.erase(found);
    }
    if (all.opaque || part.opaque || part.known == 0 || all.known % part.known != 0)
        return {};
    if (all.symbols.empty())
        return all.known / part.known;
    return all.symbols.size() == 1 && all.known == part.known ? Dim::named(all.symbols.front()) : Dim();
}

Error cannotReshape(const InferContext& in, const std::vector<std::int64_t>& wanted) {
    return in.error("cannot reshape " + in.type(0).text() + " to " + attributeText(wanted));
}

// Fills what -1 stands for, and checks that the counts agree where they are known.
Status fillInferred(InferContext& in, const std::vector<std::int64_t>& wanted, const std::vector<bool>& copied, Dims& dims) {
    Factors all, part; // dimensions that 0 copies cancel out
    const Dims& data = *in.type(0).dims;
    for (std::size_t i = 0; i < data.size(); ++i)
        if (i >= copied.size() || !copied[i])
            all.add(data[i]);
    Dim* inferred = nullptr;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        if (wanted[i] == -1)
            inferred = &dims[i];
        else if (!copied[i])
            part.add(dims[i]);
    }
    const bool complete = all.complete() && part.complete();
    if (!inferred)
        return complete && all.known != part.known ? Status(cannotReshape(in, wanted)) : Status();
    if (complete && (part.known == 0 ? all.known != 0 : all.known % part.known != 0))
        return cannotReshape(in, wanted);
    *inferred = complete && part.known == 0 ? Dim(0) : quotient(all, part);
    return {};
}

Status reshapeTo(InferContext& in, const std::vector<std::int64_t>& wanted) {
    const auto& data = in.type(0).dims;
    const bool allowZero = in.node.intAttr("allowzero", 0) != 0;
    if (std::count(wanted.begin(), wanted.end(), -1) > 1)
        return in.error("the shape holds more than one -1");
    Dims dims(wanted.size());
    std::vector<bool> copied(wanted.size(), false);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i] < -1)
            return cannotReshape(in, wanted);
        copied[i] = wanted[i] == 0 && !allowZero;
        if (wanted[i] > 0 || (wanted[i] == 0 && allowZero))
            dims[i] = wanted[i];
        else if (copied[i] && data) {
            if (i >= data->size())
                return cannotReshape(in, wanted);
            dims[i] = (*data)[i];
        }
    }
    if (data)
        TS_TRY(fillInferred(in, wanted, copied, dims));
    in.outputs[0].dims = std::move(dims);
    return {};
}

Status inferReshape(InferContext& in) {
    in.outputs[0].dtype = in.type(0).dtype;
    TS_ASSIGN(const IntList wanted, intList(in, "shape", 1));
    if (!wanted.given)
        return in.error("has no shape");
    if (in.has(1) && in.type(1).dims && in.type(1).dims->size() != 1)
        return in.error("the shape must be a list, not " + in.type(1).text());
    if (wanted.known)
        return reshapeTo(in, wanted.values);
    // A file may declare an empty list wrongly, and a scalar leaves no extent open.
    if (in.type(1).dims && in.type(1).dims->front().known() && in.type(1).dims->front().extent > 0) {
        TS_ASSIGN(in.outputs[0].dims, openDims(in, 1));
    }
    return {};
}

Status inferFlatten(InferContext& in) {
    in.outputs[0].dtype = in.type(0).dtype;
    if (!in.type(0).dims)
        return in.outputs[0].dims = Dims(2), Status();
    const Dims& dims = *in.type(0).dims;
    const auto rank = static_cast<std::int64_t>(dims.size());
    std::int64_t axis = in.node.intAttr("axis", 1);
    if (axis < -rank || axis > rank)
        return in.error("axis " + std::to_string(axis) + " is out of range for " + in.type(0).text());
    axis += axis < 0 ? rank : 0;
    in.outputs[0].dims = Dims{productOf(dims.begin(), dims.begin() + axis), productOf(dims.begin() + axis, dims.end())};
    return {};
}

Status inferSqueeze(InferContext& in) {
    in.outputs[0].dtype = in.type(0).dtype;
    TS_ASSIGN(const IntList axes, intList(in, "axes", 1));
    if (!in.type(0).dims || !axes.known)
        return {};
    const Dims& dims = *in.type(0).dims;
    std::vector<bool> dropped(dims.size(), false);
    TS_ASSIGN(const std::vector<std::size_t> front, frontAxes(in, axes.values, dims.size()));
    for (const std::size_t axis : front) {
        if (dims[axis].known() && dims[axis].extent != 1)
            return in.error("cannot drop dimension " + std::to_string(axis) + " of " + in.type(0).text());
        dropped[axis] = true;
    }
    Dims kept;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        if (!axes.given && !dims[i].known())
            return {}; // it may turn out to be 1
        if (axes.given ? !dropped[i] : dims[i].extent != 1)
            kept.push_back(dims[i]);
    }
    in.outputs[0].dims = std::move(kept);
    return {};
}

Status inferUnsqueeze(InferContext& in) {
    in.outputs[0].dtype = in.type(0).dtype;
    TS_ASSIGN(const IntList axes, intList(in, "axes", 1));
    if (!axes.given)
        return in.error("has no axes");
    if (!in.type(0).dims || !axes.known)
        return {};
    const std::size_t rank = in.type(0).dims->size() + axes.values.size();
    if (rank > kMostDimensions)
        return in.error("would make a tensor of " + std::to_string(rank) + " dimensions");
    TS_ASSIGN(const std::vector<std::size_t> added, frontAxes(in, axes.values, rank));
    Dims dims;
    std::size_t next = 0;
    for (std::size_t i = 0; i < rank; ++i)
        dims.push_back(std::find(added.begin(), added.end(), i) != added.end() ? Dim(1) : (*in.type(0).dims)[next++]);
    in.outputs[0].dims = std::move(dims);
    return {};
}

Status evalReshape(EvalContext& context, const std::vector<TensorType>& types) {
    context.outputs[0] = context.input(0).reshaped(types[0].shape());
    return {};
}

// Indices into `from` of the element at `index` of `to`. Dimensions are taken in the smallest groups of equal product, so
// that dimensions which a reshape leaves alone keep plain indices.
loops::Indices reshapedIndices(const Shape& from, const Shape& to, const loops::Indices& index) {
    loops::Indices result;
    std::size_t f = 0, t = 0;
    while (f < from.size()) {
        std::int64_t inner = from[f], outer = 1;
        const std::size_t firstFrom = f++;
        loops::Expr linear = 0;
        while (outer != inner) {
            if (outer < inner && t < to.size()) {
                linear = linear * loops::Expr(to[t]) + index[t];
                outer *= to[t++];
            } else
                inner *= from[f++];
        }
        std::int64_t rest = inner;
        for (std::size_t d = firstFrom; d < f; ++d) {
            rest /= from[d];
            const loops::Expr quotient = rest == 1 ? linear : linear / loops::Expr(rest);
            result.push_back(d == firstFrom ? quotient : quotient % loops::Expr(from[d]));
        }
    }
    return result;
}

Status lowerReshape(LowerContext& context) {
    const Shape from = context.inputShape(0), to = context.outputShape();
    context.finish(0, loops::compute("reshape", context.outputType(), to, [&](const loops::Indices& i) {
        if (elementCount(to) == 0)
            return zeroOf(context.outputType());
        return loops::load(context.inputs[0], reshapedIndices(from, to, i));
    }));
    return {};
}

} // namespace

void registerReshape(OperatorList& list) {
    addMovement(list, "Reshape", Fusion::alias, 1, {1, 2}, inferReshape, evalReshape, lowerReshape);
    addMovement(list, "Flatten", Fusion::alias, 1, {1, 1}, inferFlatten, evalReshape, lowerReshape);
    addMovement(list, "Squeeze", Fusion::alias, 1, {1, 2}, inferSqueeze, evalReshape, lowerReshape);
    addMovement(list, "Unsqueeze", Fusion::alias, 1, {1, 2}, inferUnsqueeze, evalReshape, lowerReshape);
}

} // namespace tunesmith::ops
