// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>
#include <limits>

#include "core/rewrite/written/families.h"
#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/rule.h"
#include "core/rewrite/written/weights.h"

// A Pad before a window becomes the window's own pads.
namespace tunesmith::rewrite {
namespace {

using Extents = std::vector<std::int64_t>;

// What stands in the padding; nothing where it is not known.
std::optional<double> fillOf(const Draft& draft, NodeNo pad) {
    if (draft.table().opset() < 11)
        return draft.op(pad).floatAttr("value", 0);
    return draft.operand(pad, 2) == kNone ? std::optional(0.0) : numberOf(draft, draft.operand(pad, 2));
}

// How much a Pad adds to the spatial dimensions, all begins before all ends; empty where it does anything else.
Extents addedBy(const Draft& draft, NodeNo pad) {
    const std::size_t rank = draft.shape(draft.output(pad)).size();
    const auto stated = numbersOf(draft, pad, draft.op(pad).has("paddings") ? "paddings" : "pads", 1), axes = numbersOf(draft, pad, "axes", 3);
    if (draft.op(pad).stringAttr("mode", "constant") != "constant" || !stated || rank < 3 || (draft.operand(pad, 3) != kNone && !axes))
        return {};
    const std::size_t count = axes ? axes->size() : rank;
    Extents added(2 * (rank - 2));
    for (std::size_t i = 0; i < count; ++i) {
        const auto axis = static_cast<std::size_t>(axes ? ((*axes)[i] + std::int64_t(rank)) % std::int64_t(rank) : std::int64_t(i));
        const std::int64_t begin = (*stated)[i], end = (*stated)[i + count];
        if (begin < 0 || end < 0 || (axis < 2 && begin + end > 0))
            return {};
        if (axis >= 2) {
            added[axis - 2] = begin;
            added[axis - 2 + rank - 2] = end;
        }
    }
    return added;
}

struct Padded {
    NodeNo pad = kNone;
    Extents added;
    double fill = 0;
};

std::optional<Padded> paddedOperand(const Draft& draft, NodeNo window) {
    const NodeNo pad = madeBy(draft, draft.operand(window, 0), "Pad");
    if (pad == kNone)
        return std::nullopt;
    const auto fill = fillOf(draft, pad);
    Extents added = addedBy(draft, pad);
    return fill && !added.empty() ? std::optional(Padded{pad, std::move(added), *fill}) : std::nullopt;
}

Extents padsOf(const Draft& draft, NodeNo window) {
    const std::size_t rank = draft.shape(draft.output(window)).size();
    return draft.op(window).intsAttr("pads", Extents(2 * (rank - 2)));
}

Extents sum(Extents a, const Extents& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
        a[i] += b[i];
    return a;
}

std::vector<ValueNo> widen(Draft& draft, const Match& match, const std::map<std::string, Attribute>& changes) {
    const Padded padded = *paddedOperand(draft, match.anchor);
    std::vector<ValueNo> operands = operandsOf(draft, match.anchor);
    operands[0] = draft.operand(padded.pad, 0);
    std::map<std::string, Attribute> all = changes;
    all["pads"] = sum(padsOf(draft, match.anchor), padded.added);
    return {again(draft, match.anchor, std::move(operands), all)};
}

// A Pad as the opset writes it, mostly of zeros around the last dimensions.
ValueNo samplePad(SampleModel& model, const Shape& shape, double fill) {
    Extents pads(2 * shape.size());
    for (std::size_t d = 0; d < pads.size(); ++d)
        if (d % shape.size() >= 2 || model.chance(0.03))
            pads[d] = model.chance(0.03) ? -1 : model.between(0, 2);
    const double value = model.chance(0.05) ? 1 : fill;
    const std::string mode = model.chance(0.05) ? "edge" : "constant";
    const ValueNo data = model.input(shape);
    if (model.opset() < 11)
        return model.draft().add("Pad", {data}, {{"pads", pads}, {"value", static_cast<float>(value)}, {"mode", mode}});
    if (value == 0 && model.chance(0.5))
        return model.draft().add("Pad", {data, model.ints(pads)}, {{"mode", mode}});
    if (model.opset() < 18 || shape.size() != 4 || model.chance(0.5))
        return model.draft().add("Pad", {data, model.ints(pads), model.number(value)}, {{"mode", mode}});
    return model.draft().add("Pad", {data, model.ints({pads[3], pads[2], pads[7], pads[6]}), model.number(value), model.ints({-1, 2})}, {{"mode", mode}});
}

WrittenRule padConv() {
    return {{"pad-conv", "conv(pad(x), w) = conv(x, w), with pads that are larger by as much", {"zeros are added around the spatial dimensions only"}, true},
            [](const Draft& draft, NodeNo conv) {
                const auto padded = isConv(draft, conv) ? paddedOperand(draft, conv) : std::nullopt;
                return padded && padded->fill == 0 ? std::vector{draft.output(conv)} : std::vector<ValueNo>();
            },
            [](Draft& draft, const Match& match) { return widen(draft, match, {}); },
            [](SampleModel& model) {
                const ConvChoice choice = model.chooseConv();
                return model.conv(choice, samplePad(model, choice.data(), 0), model.chance(0.5));
            }};
}

// Pads of pools must be smaller than their windows, and with ceil_mode a window may start in one padding and not in the other.
bool canWiden(const Draft& draft, NodeNo pool, const Extents& added) {
    const Node& op = draft.op(pool);
    const Extents kernel = op.intsAttr("kernel_shape"), dilations = op.intsAttr("dilations", Extents(kernel.size(), 1)), pads = sum(padsOf(draft, pool), added);
    if (draft.node(pool).outputs != 1 || op.intAttr("ceil_mode", 0) != 0 || op.has("auto_pad") || pads.size() != 2 * kernel.size())
        return false;
    for (std::size_t i = 0; i < pads.size(); ++i)
        if (pads[i] > (kernel[i % kernel.size()] - 1) * dilations[i % kernel.size()])
            return false;
    return true;
}

ValueNo samplePool(SampleModel& model, const char* op, double fill) {
    const auto rank = static_cast<std::size_t>(model.chance(0.7) ? 2 : model.between(1, 3));
    Extents kernel, strides, pads(2 * rank);
    Shape shape{model.between(1, 2), model.between(1, 3)};
    for (std::size_t d = 0; d < rank; ++d) {
        kernel.push_back(model.between(2, 4));
        strides.push_back(model.between(1, 3));
        shape.push_back(kernel[d] + model.between(0, 3));
    }
    for (std::size_t d = 0; d < pads.size() && model.chance(0.3); ++d)
        pads[d] = model.between(0, 1);
    std::map<std::string, Attribute> attributes{{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}};
    if (model.chance(0.2) && model.opset() >= 10)
        attributes["ceil_mode"] = std::int64_t(1);
    const bool average = std::string_view(op) == "AveragePool";
    if (average)
        attributes["count_include_pad"] = std::int64_t(model.chance(0.5));
    else if (model.opset() >= 10 && model.chance(0.2))
        attributes["dilations"] = Extents(rank, 2);
    const ValueNo padded = samplePad(model, shape, fill);
    return model.draft().add(op, {padded}, attributes, !average && model.chance(0.1) ? 2 : 1);
}

WrittenRule padAveragePool() {
    return {{"pad-average-pool",
             "averagepool(pad(x)) = averagepool(x), with pads that are larger by as much and counted",
             {"zeros are added around the spatial dimensions only", "the pool has no pads of its own, or counts them", "all pads together are smaller than the window",
              "the pool rounds down"},
             true},
            [](const Draft& draft, NodeNo pool) {
                const auto padded = draft.is(pool, "AveragePool") ? paddedOperand(draft, pool) : std::nullopt;
                if (!padded || padded->fill != 0 || !canWiden(draft, pool, padded->added))
                    return std::vector<ValueNo>();
                const Extents own = padsOf(draft, pool);
                const bool counts = draft.op(pool).intAttr("count_include_pad", 0) != 0 || std::ranges::all_of(own, [](std::int64_t each) { return each == 0; });
                return counts ? std::vector{draft.output(pool)} : std::vector<ValueNo>();
            },
            [](Draft& draft, const Match& match) { return widen(draft, match, {{"count_include_pad", std::int64_t(1)}}); },
            [](SampleModel& model) { return samplePool(model, "AveragePool", 0); }};
}

WrittenRule padMaxPool() {
    return {{"pad-max-pool",
             "maxpool(pad(x)) = maxpool(x), with pads that are larger by as much",
             {"minus infinity is added around the spatial dimensions only", "nobody asks where the maxima are",
              "all pads together are smaller than the window", "the pool rounds down"},
             true},
            [](const Draft& draft, NodeNo pool) {
                const auto padded = draft.is(pool, "MaxPool") ? paddedOperand(draft, pool) : std::nullopt;
                const bool fits = padded && std::isinf(padded->fill) && padded->fill < 0 && canWiden(draft, pool, padded->added);
                return fits ? std::vector{draft.output(pool)} : std::vector<ValueNo>();
            },
            [](Draft& draft, const Match& match) { return widen(draft, match, {}); },
            [](SampleModel& model) { return samplePool(model, "MaxPool", model.chance(0.1) ? 0 : -std::numeric_limits<double>::infinity()); }};
}

} // namespace

void addPadSubstitutions(std::vector<SubstitutionPtr>& all) {
    all.push_back(written(padConv()));
    all.push_back(written(padAveragePool()));
    all.push_back(written(padMaxPool()));
}

} // namespace tunesmith::rewrite
