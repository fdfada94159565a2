// SPDX-License-Identifier: GPL-3.0-or-later
// Pad: constant, reflect, edge or wrap; negative pads crop.
#include <algorithm>
#include <cstdlib>

#include "core/ops/lowering.h"
#include "core/ops/movement.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {
namespace {

enum class PadMode { constant, reflect, edge, wrap };

struct Pads {
    bool known = true;
    PadMode mode = PadMode::constant;
    std::vector<std::int64_t> before, after; // per dimension
};

Result<PadMode> modeOf(const OpInputs& in) {
    const std::string mode = in.node.stringAttr("mode", "constant");
    if (mode == "constant")
        return PadMode::constant;
    if (mode == "reflect")
        return PadMode::reflect;
    if (mode == "edge")
        return PadMode::edge;
    if (mode == "wrap")
        return PadMode::wrap;
    return in.unsupported("the mode '" + mode + "' is not supported");
}

Result<Pads> padsOf(const OpInputs& in, std::size_t rank) {
    Pads pads;
    TS_ASSIGN(pads.mode, modeOf(in));
    TS_ASSIGN(const IntList given, intList(in, in.node.has("paddings") ? "paddings" : "pads", 1));
    TS_ASSIGN(const IntList named, intList(in, "axes", 3));
    if (!given.given)
        return in.error("has no pads");
    pads.known = given.known && named.known;
    if (!pads.known)
        return pads;
    std::vector<std::int64_t> axes = named.values;
    for (std::size_t i = 0; !named.given && i < rank; ++i)
        axes.push_back(static_cast<std::int64_t>(i));
    TS_ASSIGN(const std::vector<std::size_t> front, frontAxes(in, axes, rank));
    if (given.values.size() != 2 * front.size())
        return in.error("has " + std::to_string(given.values.size()) + " pads for " + std::to_string(front.size()) +
                        " dimensions of " + in.type(0).text());
    pads.before.assign(rank, 0);
    pads.after.assign(rank, 0);
    for (std::size_t i = 0; i < front.size(); ++i) {
        pads.before[front[i]] = given.values[i];
        pads.after[front[i]] = given.values[i + front.size()];
    }
    return pads;
}

template <class Context> bool hasFill(const Context& context) { return context.opset >= 11 && context.has(2); }

Status inferPad(InferContext& in) {
    in.outputs[0].dtype = in.type(0).dtype;
    if (hasFill(in)) {
        TS_TRY(requireSameType(in, 0, 2));
        TS_TRY(requireOneElement(in, 2));
    }
    if (!in.type(0).dims)
        return {};
    Dims dims = *in.type(0).dims;
    TS_ASSIGN(const Pads pads, padsOf(in, dims.size()));
    for (std::size_t d = 0; d < dims.size(); ++d) {
        if (!pads.known) {
            dims[d] = Dim();
            continue;
        }
        constexpr std::int64_t kMost = std::int64_t(1) << 40;
        if (std::min(pads.before[d], pads.after[d]) < -kMost || std::max(pads.before[d], pads.after[d]) > kMost)
            return in.error("a pad is too large");
        if (!dims[d].known()) {
            dims[d] = pads.before[d] == 0 && pads.after[d] == 0 ? dims[d] : Dim();
            continue;
        }
        const std::int64_t extent = dims[d].extent + pads.before[d] + pads.after[d];
        if (extent < 0 || (dims[d].extent == 0 && extent > 0 && pads.mode != PadMode::constant))
            return in.error("cannot pad dimension " + std::to_string(d) + " of " + in.type(0).text() + " to " +
                            std::to_string(extent) + " elements");
        dims[d] = extent;
    }
    in.outputs[0].dims = std::move(dims);
    return {};
}

std::int64_t floorMod(std::int64_t a, std::int64_t b) { return (a % b + b) % b; }

// Which element stands at position i - before; -1 for the constant.
std::int64_t sourceOf(PadMode mode, std::int64_t position, std::int64_t extent) {
    if (position >= 0 && position < extent)
        return position;
    switch (mode) {
    case PadMode::edge: return position < 0 ? 0 : extent - 1;
    case PadMode::wrap: return floorMod(position, extent);
    case PadMode::reflect: {
        if (extent == 1)
            return 0;
        const std::int64_t period = 2 * (extent - 1), at = floorMod(position, period);
        return std::min(at, period - at);
    }
    default: return -1;
    }
}

Tensor fillOf(const EvalContext& context, DType type) {
    if (hasFill(context))
        return context.input(2);
    if (context.node.has("value") && isFloat(type))
        return Tensor::scalar(context.node.floatAttr("value", 0)).cast(type);
    return {};
}

Status evalPad(EvalContext& context, const std::vector<TensorType>& types) {
    const Tensor& data = context.input(0);
    const OpInputs in(context.node, context.opset, std::vector<TensorType>(context.inputs.size()), context.inputs);
    TS_ASSIGN(const Pads pads, padsOf(in, data.rank()));
    IndexMaps maps(data.rank());
    for (std::size_t d = 0; d < maps.size(); ++d)
        for (std::int64_t i = 0; i < (*types[0].dims)[d].extent; ++i)
            maps[d].push_back(sourceOf(pads.mode, i - pads.before[d], data.shape()[d]));
    context.outputs[0] = gatherMapped(data, maps, fillOf(context, data.type()));
    return {};
}

loops::Expr padIndex(PadMode mode, const loops::Expr& i, std::int64_t before, std::int64_t after, std::int64_t extent) {
    const loops::Expr at = i - loops::Expr(before);
    if (before <= 0 && after <= 0)
        return at;
    if (mode == PadMode::constant)
        return at;
    if (mode == PadMode::edge)
        return loops::min(loops::max(at, loops::Expr(0)), loops::Expr(extent - 1));
    if (mode == PadMode::wrap)
        return at % loops::Expr(extent);
    if (extent == 1)
        return 0;
    const loops::Expr last(extent - 1);
    if (before < extent && after < extent) // one reflection at either end
        return last - loops::unary(loops::Op::abs, last - loops::unary(loops::Op::abs, at));
    const loops::Expr folded = at % loops::Expr(2 * (extent - 1));
    return loops::min(folded, loops::Expr(2 * (extent - 1)) - folded);
}

loops::Expr padValue(const LowerContext& context) {
    const DType type = context.outputType();
    if (hasFill(context)) {
        if (context.isConstant(2))
            return elementConstant(context.constant(2));
        return loops::load(context.inputs[2], loops::Indices(context.inputShape(2).size(), loops::Expr(0)));
    }
    return isFloat(type) ? loops::constantOf(type, context.node.floatAttr("value", 0)) : zeroOf(type);
}

Status lowerPad(LowerContext& context) {
    const Shape shape = context.inputShape(0);
    TS_ASSIGN(const Pads pads, padsOf(context, shape.size()));
    context.finish(0, loops::compute("pad", context.outputType(), context.outputShape(), [&](const loops::Indices& i) {
        loops::Expr inside;
        loops::Indices source;
        const auto require = [&](const loops::Expr& condition) {
            inside = inside.valid() ? inside && condition : condition;
        };
        for (std::size_t d = 0; d < i.size(); ++d) {
            source.push_back(padIndex(pads.mode, i[d], pads.before[d], pads.after[d], shape[d]));
            if (pads.mode == PadMode::constant && pads.before[d] > 0)
                require(i[d] >= loops::Expr(pads.before[d]));
            if (pads.mode == PadMode::constant && pads.after[d] > 0)
                require(i[d] < loops::Expr(pads.before[d] + shape[d]));
        }
        if (elementCount(shape) == 0)
            return padValue(context);
        const loops::Expr value = loops::load(context.inputs[0], source);
        return inside.valid() ? loops::select(inside, value, padValue(context)) : value;
    }));
    return {};
}

Status padLowerable(const OpInputs& in) {
    TS_TRY(requireConstant(in, 1, "how much is padded"));
    return requireConstant(in, 3, "which axes are padded");
}

} // namespace

void registerPad(OperatorList& list) {
    addMovement(list, "Pad", Fusion::injective, 1, {1, 4}, inferPad, evalPad, lowerPad, padLowerable);
}

} // namespace tunesmith::ops
