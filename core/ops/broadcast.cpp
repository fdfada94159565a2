// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/broadcast.h"

#include "core/ops/rules.h"

namespace tunesmith::ops {

std::optional<Dim> broadcastDim(const Dim& a, const Dim& b) {
    if (a.known() && a.extent == 1)
        return b;
    if (b.known() && b.extent == 1)
        return a;
    if (a.known() && b.known())
        return a.extent == b.extent ? std::optional<Dim>(a) : std::nullopt;
    if (a.known() || b.known())
        return a.known() ? a : b;
    return a == b ? a : Dim();
}

std::optional<Dims> broadcastDims(const Dims& a, const Dims& b) {
    const Dims& longer = a.size() >= b.size() ? a : b;
    const Dims& shorter = a.size() >= b.size() ? b : a;
    Dims result = longer;
    const std::size_t offset = longer.size() - shorter.size();
    for (std::size_t i = 0; i < shorter.size(); ++i) {
        const auto dim = broadcastDim(longer[offset + i], shorter[i]);
        if (!dim)
            return std::nullopt;
        result[offset + i] = *dim;
    }
    return result;
}

Status inferBroadcastOutput(InferContext& in, DType type) {
    in.outputs[0] = TensorType(type);
    Dims all;
    bool known = true;
    for (std::size_t i = 0; i < in.count(); ++i) {
        if (!in.has(i))
            return in.error("input " + std::to_string(i) + " is missing");
        known = known && in.type(i).dims;
        if (!known)
            continue;
        auto wider = broadcastDims(all, *in.type(i).dims);
        if (!wider && i == 1)
            return pairError(in, 0, 1, "cannot be broadcast together");
        if (!wider)
            return in.error("input " + in.type(i).text() + " cannot be broadcast to " +
                            TensorType(in.type(i).dtype, all).text());
        all = std::move(*wider);
    }
    if (known)
        in.outputs[0].dims = std::move(all);
    return {};
}

bool broadcastsTo(const Dims& from, const Dims& to) {
    if (from.size() > to.size())
        return false;
    for (std::size_t i = 0; i < from.size(); ++i) {
        const Dim& f = from[i];
        const Dim& t = to[to.size() - from.size() + i];
        if (f.known() && t.known() && f.extent != 1 && f.extent != t.extent)
            return false;
    }
    return true;
}

Shape broadcastStrides(const Shape& operand, const Shape& output) {
    assert(operand.size() <= output.size());
    const Shape own = rowMajorStrides(operand);
    Shape strides(output.size(), 0);
    const std::size_t offset = output.size() - operand.size();
    for (std::size_t i = 0; i < operand.size(); ++i)
        strides[offset + i] = operand[i] == 1 ? 0 : own[i];
    return strides;
}

} // namespace tunesmith::ops
