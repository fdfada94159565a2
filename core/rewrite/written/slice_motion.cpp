// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/written/cut.h"
#include "core/rewrite/written/families.h"
#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/rule.h"
#include "core/rewrite/written/weights.h"

// Slices rise to where what they take out is all that is computed: a classifier that reads the first token wants no others of the last layer.
namespace tunesmith::rewrite {
namespace {

// The slice's data if nobody else reads them and there is an operator before.
NodeNo makerOfCut(const Draft& draft, NodeNo slice) {
    const ValueNo data = draft.operand(slice, 0);
    return data != kNone && isReadOnce(draft, data) ? plainMaker(draft, data) : kNone;
}

ValueNo sampleCut(SampleModel& model, ValueNo value) {
    if (value == kNone || model.draft().shape(value).empty())
        return kNone;
    Draft& draft = model.draft();
    const Shape shape = draft.shape(value);
    const std::size_t axis = model.rng().below(shape.size());
    const std::int64_t extent = model.between(1, std::max<std::int64_t>(1, model.chance(0.8) ? shape[axis] / 2 : shape[axis]));
    const std::int64_t begin = model.between(0, std::max<std::int64_t>(0, shape[axis] - extent));
    if (model.chance(0.7) || model.opset() < 10)
        return addSlice(draft, value, {axis, begin, extent});
    const std::int64_t step = model.chance(0.1) ? 2 : 1, from = static_cast<std::int64_t>(axis) - static_cast<std::int64_t>(shape.size());
    const std::int64_t end = begin + extent == shape[axis] ? INT64_MAX : begin + extent;
    const ValueNo starts = model.ints({begin - shape[axis]}), ends = model.ints({end});
    return draft.add("Slice", {value, starts, ends, model.ints({from}), model.ints({step})});
}

Shape thinned(SampleModel& model, Shape shape) {
    for (std::int64_t& extent : shape)
        extent = model.chance(0.3) ? 1 : extent;
    while (!shape.empty() && model.chance(0.3))
        shape.erase(shape.begin());
    return shape;
}

Shape wideShape(SampleModel& model, std::int64_t least = 1) { return model.shape(static_cast<std::size_t>(model.between(least, 4)), 6); }

ValueNo sampleArithmetic(SampleModel& model) {
    const Shape shape = wideShape(model);
    const ValueNo a = model.input(shape);
    const ValueNo b = model.chance(0.5) ? model.input(thinned(model, shape)) : model.weight(thinned(model, shape));
    return model.chance(0.3) ? model.unary(a) : model.draft().add(model.pick({"Add", "Sub", "Mul"}), {a, b});
}

ValueNo sampleProduct(SampleModel& model) {
    const Shape sizes = model.shape(3, 6);
    if (model.chance(0.3)) {
        const bool a = model.chance(0.5), b = model.chance(0.5);
        const ValueNo left = model.input(a ? Shape{sizes[1], sizes[0]} : Shape{sizes[0], sizes[1]});
        const ValueNo right = model.weight(b ? Shape{sizes[2], sizes[1]} : Shape{sizes[1], sizes[2]});
        const ValueNo bias = model.weight(model.pick<Shape>({{sizes[2]}, {sizes[0], 1}, {sizes[0], sizes[2]}, {}}));
        return model.draft().add("Gemm", {left, right, bias}, {{"transA", std::int64_t(a)}, {"transB", std::int64_t(b)}});
    }
    Shape x = model.shape(static_cast<std::size_t>(model.between(0, 2)), 4), w = thinned(model, x);
    x.insert(x.end(), {sizes[0], sizes[1]});
    w.insert(w.end(), {sizes[1], sizes[2]});
    return model.chance(0.2) ? model.draft().add("MatMul", {model.input(x), model.input({sizes[1]})}) : model.draft().add("MatMul", {model.input(x), model.weight(w)});
}

ValueNo sampleNormalization(SampleModel& model) {
    const Shape shape = wideShape(model);
    const auto rank = static_cast<std::int64_t>(shape.size()), axis = model.between(-rank, rank - 1);
    const ValueNo x = model.input(shape);
    if (model.opset() < 17 || model.chance(0.5))
        return model.chance(0.2) ? model.draft().add("Softmax", {x}) : model.draft().add("Softmax", {x}, {{"axis", axis}});
    const Shape normal(shape.end() - (axis < 0 ? -axis : rank - axis), shape.end());
    return model.draft().add("LayerNormalization", {x, model.weight(normal), model.weight(normal)}, {{"axis", axis}});
}

ValueNo sampleReduction(SampleModel& model) {
    const Shape shape = wideShape(model);
    const auto rank = static_cast<std::int64_t>(shape.size());
    const std::vector<std::int64_t> axes{model.between(-rank, rank - 1)};
    const std::int64_t kept = model.between(0, 1);
    const ValueNo x = model.input(shape);
    if (model.opset() >= 18)
        return model.draft().add("ReduceMean", {x, model.ints(axes)}, {{"keepdims", kept}});
    return model.draft().add(model.pick({"ReduceMean", "ReduceMax"}), {x}, {{"axes", axes}, {"keepdims", kept}});
}

ValueNo sampleGather(SampleModel& model) {
    const Shape shape = wideShape(model);
    const std::size_t axis = model.rng().below(shape.size());
    const Shape positions = model.shape(static_cast<std::size_t>(model.between(0, 2)), 4);
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(elementCount(positions)));
    for (std::int64_t& number : numbers)
        number = model.between(0, shape[axis] - 1);
    const ValueNo indices = model.draft().constant(Tensor::ofInts(numbers).reshaped(positions));
    return model.draft().add("Gather", {model.input(shape), indices}, {{"axis", static_cast<std::int64_t>(axis)}});
}

ValueNo sampleConcat(SampleModel& model) {
    Shape shape = wideShape(model);
    const std::size_t axis = model.rng().below(shape.size());
    std::vector<ValueNo> parts;
    for (std::int64_t i = model.between(1, 3); i > 0; --i) {
        shape[axis] = model.between(1, 4);
        parts.push_back(model.input(shape));
    }
    return model.draft().add(model.draft().table().add("Concat", {{"axis", static_cast<std::int64_t>(axis)}}), parts);
}

ValueNo samplePool(SampleModel& model) {
    const ValueNo x = model.input(model.shape(4, 4));
    return model.chance(0.5) ? model.draft().add("GlobalAveragePool", {x}) : model.draft().add("MaxPool", {x}, {{"kernel_shape", std::vector<std::int64_t>{1, 1}}});
}

ValueNo sampleOperator(SampleModel& model) {
    switch (model.between(0, 9)) {
    case 0: return sampleArithmetic(model);
    case 1: return sampleProduct(model);
    case 2: return sampleNormalization(model);
    case 3: return sampleReduction(model);
    case 4: return sampleGather(model);
    case 5: return sampleConcat(model);
    case 6: return samplePool(model);
    case 7: return model.reshaped(model.input(wideShape(model)));
    case 8: return model.transposed(model.input(wideShape(model)));
    default: {
        const ConvChoice choice = model.chooseConv();
        return model.conv(choice, model.input(choice.data()), model.chance(0.5));
    }
    }
}

// At most half of what is there: copies of two operands' cuts then cost less than what is saved.
bool isWorthIt(const Draft& draft, NodeNo slice, const Cut& cut) { return 2 * cut.extent <= draft.shape(draft.operand(slice, 0))[cut.axis]; }

WrittenRule rise() {
    WrittenRule rule{{"slice-up", "slice(f(x, ...)) = f(slice(x), ...)",
             {"f computes positions along the slice's axis each by itself", "nobody else reads what f makes", "the slice takes at most half along one axis, without steps"},
             true},
            [](const Draft& draft, NodeNo slice) {
                const auto cut = cutOf(draft, slice);
                const NodeNo node = cut ? makerOfCut(draft, slice) : kNone;
                return node != kNone && isWorthIt(draft, slice, *cut) && operandCuts(draft, node, *cut) ? std::vector{draft.output(slice)} : std::vector<ValueNo>();
            },
            [](Draft& draft, const Match& match) {
                const Cut cut = *cutOf(draft, match.anchor);
                const NodeNo node = makerOfCut(draft, match.anchor);
                return std::vector{cutAgain(draft, node, cut, *operandCuts(draft, node, cut))};
            },
            [](SampleModel& model) { return sampleCut(model, sampleOperator(model)); }};
    rule.card.savesWork = true;
    return rule;
}

// The operand of a concatenation that has all of a cut along its axis, and the cut there.
std::optional<std::pair<ValueNo, Cut>> partWith(const Draft& draft, NodeNo concat, Cut cut) {
    const std::int64_t rank = static_cast<std::int64_t>(draft.shape(draft.output(concat)).size()), axis = draft.op(concat).intAttr("axis", 0);
    if (static_cast<std::int64_t>(cut.axis) != (axis < 0 ? axis + rank : axis))
        return std::nullopt;
    for (const ValueNo part : draft.operands(concat)) {
        const std::int64_t extent = draft.shape(part)[cut.axis];
        if (cut.begin < extent)
            return cut.begin + cut.extent <= extent ? std::optional(std::pair(part, cut)) : std::nullopt;
        cut.begin -= extent;
    }
    return std::nullopt;
}

WrittenRule partOfConcat() {
    const auto concatBefore = [](const Draft& draft, NodeNo slice) { return madeBy(draft, draft.operand(slice, 0), "Concat"); };
    return {{"slice-of-concat", "slice(concat(a, b, ...)) = slice(b)", {"the slice takes from one part only"}, true},
            [concatBefore](const Draft& draft, NodeNo slice) {
                const auto cut = cutOf(draft, slice);
                const NodeNo concat = cut ? concatBefore(draft, slice) : kNone;
                return concat != kNone && partWith(draft, concat, *cut) ? std::vector{draft.output(slice)} : std::vector<ValueNo>();
            },
            [concatBefore](Draft& draft, const Match& match) {
                const auto part = *partWith(draft, concatBefore(draft, match.anchor), *cutOf(draft, match.anchor));
                return std::vector{addSlice(draft, part.first, part.second)};
            },
            [](SampleModel& model) { return sampleCut(model, sampleConcat(model)); }};
}

WrittenRule sliceOfSlice() {
    const auto inner = [](const Draft& draft, NodeNo slice) -> std::optional<Cut> {
        const auto cut = cutOf(draft, slice);
        const NodeNo before = cut ? madeBy(draft, draft.operand(slice, 0), "Slice") : kNone;
        const auto first = before == kNone ? std::nullopt : cutOf(draft, before);
        return first && first->axis == cut->axis ? std::optional(Cut{cut->axis, first->begin + cut->begin, cut->extent}) : std::nullopt;
    };
    return {{"one-slice", "slice(slice(x)) = slice(x)", {"both take neighbours along the same axis"}, true},
            [inner](const Draft& draft, NodeNo slice) { return inner(draft, slice) ? std::vector{draft.output(slice)} : std::vector<ValueNo>(); },
            [inner](Draft& draft, const Match& match) {
                const Cut cut = *inner(draft, match.anchor);
                return std::vector{addSlice(draft, draft.operand(draft.maker(draft.operand(match.anchor, 0), "Slice"), 0), cut)};
            },
            [](SampleModel& model) { return sampleCut(model, sampleCut(model, model.input(model.shape(static_cast<std::size_t>(model.between(1, 2)), 9)))); }};
}

// The position that a Gather of one constant index takes.
std::optional<Cut> positionOf(const Draft& draft, NodeNo gather) {
    const auto index = draft.is(gather, "Gather") ? numberOf(draft, draft.operand(gather, 1)) : std::nullopt;
    if (!index)
        return std::nullopt;
    const Shape& shape = draft.shape(draft.operand(gather, 0));
    const std::int64_t axis = draft.op(gather).intAttr("axis", 0), from = axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis;
    const std::int64_t extent = shape[static_cast<std::size_t>(from)], at = static_cast<std::int64_t>(*index);
    return Cut{static_cast<std::size_t>(from), at < 0 ? at + extent : at, 1};
}

WrittenRule gatherAsSlice() {
    return {{"gather-to-slice", "gather(x, i) = reshape(slice(x, i, i + 1))", {"i is one constant index", "nobody else reads x"}, true},
            [](const Draft& draft, NodeNo gather) {
                const bool fits = makerOfCut(draft, gather) != kNone && positionOf(draft, gather);
                return fits ? std::vector{draft.output(gather)} : std::vector<ValueNo>();
            },
            [](Draft& draft, const Match& match) {
                const Shape shape = draft.shape(draft.output(match.anchor));
                return std::vector{addReshape(draft, addSlice(draft, draft.operand(match.anchor, 0), *positionOf(draft, match.anchor)), shape)};
            },
            [](SampleModel& model) {
                const ValueNo x = model.unary(model.input(wideShape(model)));
                const auto rank = static_cast<std::int64_t>(model.draft().shape(x).size()), axis = model.between(-rank, rank - 1);
                const std::int64_t extent = model.draft().shape(x)[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
                const Tensor index = Tensor::ofInts({model.between(-extent, extent - 1)}).reshaped(model.pick<Shape>({{}, {}, {1}, {1, 1}}));
                return model.draft().add("Gather", {x, model.draft().constant(index)}, {{"axis", axis}});
            }};
}

} // namespace

void addSliceSubstitutions(std::vector<SubstitutionPtr>& all) {
    for (const auto& rule : {rise(), partOfConcat(), sliceOfSlice(), gatherAsSlice()})
        all.push_back(written(rule));
}

} // namespace tunesmith::rewrite
