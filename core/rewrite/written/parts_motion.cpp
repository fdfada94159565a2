// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/written/families.h"
#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/rule.h"
#include "core/rewrite/written/weights.h"

// Operators that map elements change places with concats and splits, of any number of parts.
namespace tunesmith::rewrite {
namespace {

// The same operator with the same numbers, of other data.
bool mapsLike(const Draft& draft, NodeNo a, NodeNo b) {
    const auto mappedA = mappedOperand(draft, a), mappedB = mappedOperand(draft, b);
    if (draft.node(a).op != draft.node(b).op || !mappedA || mappedA != mappedB || draft.node(a).operands != draft.node(b).operands)
        return false;
    for (std::size_t i = 0; i < draft.node(a).operands; ++i)
        if (i != *mappedA && draft.operand(a, i) != draft.operand(b, i))
            return false;
    return true;
}

WrittenRule joinMaps() {
    return {{"join-maps", "concat(f(a), f(b)) = f(concat(a, b)), of two and more", {kMapsElements, "nobody else reads what f makes"}, false},
            [](const Draft& draft, NodeNo concat) {
                if (!draft.is(concat, "Concat") || draft.node(concat).operands < 2)
                    return std::vector<ValueNo>();
                const NodeNo first = plainMaker(draft, draft.operand(concat, 0));
                for (const ValueNo part : draft.operands(concat)) {
                    const NodeNo map = plainMaker(draft, part);
                    if (map == kNone || !isReadOnce(draft, part) || !mapsLike(draft, first, map))
                        return std::vector<ValueNo>();
                }
                return std::vector{draft.output(concat)};
            },
            [](Draft& draft, const Match& match) {
                const NodeNo first = plainMaker(draft, draft.operand(match.anchor, 0));
                const std::size_t mapped = *mappedOperand(draft, first);
                std::vector<ValueNo> parts;
                for (const ValueNo part : draft.operands(match.anchor))
                    parts.push_back(draft.operand(plainMaker(draft, part), mapped));
                return std::vector{mapAgain(draft, first, mapped, again(draft, match.anchor, parts))};
            },
            [](SampleModel& model) {
                const Shape shape = model.shape(static_cast<std::size_t>(model.between(1, 3)));
                const std::int64_t axis = model.between(0, static_cast<std::int64_t>(shape.size()) - 1);
                const ValueNo number = model.chance(0.5) ? model.number(2, 1) : model.input({1});
                const char* const op = model.pick({"Relu", "Mul", "Sub"});
                std::vector<ValueNo> parts;
                for (std::int64_t i = model.between(2, 4); i > 0; --i) {
                    Shape own = shape;
                    own[static_cast<std::size_t>(axis)] = model.between(1, 3);
                    const ValueNo x = model.input(own);
                    parts.push_back(op == std::string_view("Relu") ? model.draft().add(op, {x})
                                    : model.chance(0.1)            ? model.draft().add(op, {number, x})
                                                                   : model.draft().add(op, {x, number}));
                }
                return model.draft().add(model.draft().table().add("Concat", {{"axis", axis}}), parts);
            }};
}

WrittenRule mapParts() {
    return {{"map-parts", "f(concat(a, b)) = concat(f(a), f(b)), of two and more", {kMapsElements, "only f reads the concat"}, false},
            [](const Draft& draft, NodeNo map) {
                const auto mapped = mappedOperand(draft, map);
                const ValueNo data = mapped ? draft.operand(map, *mapped) : kNone;
                const NodeNo concat = madeBy(draft, data, "Concat");
                return concat != kNone && isReadOnce(draft, data) ? std::vector{draft.output(map)} : std::vector<ValueNo>();
            },
            [](Draft& draft, const Match& match) {
                const std::size_t mapped = *mappedOperand(draft, match.anchor);
                const NodeNo concat = madeBy(draft, draft.operand(match.anchor, mapped), "Concat");
                std::vector<ValueNo> parts = operandsOf(draft, concat);
                for (ValueNo& part : parts)
                    part = mapAgain(draft, match.anchor, mapped, part);
                return std::vector{again(draft, concat, parts)};
            },
            [](SampleModel& model) {
                const Shape shape = model.shape(static_cast<std::size_t>(model.between(1, 3)));
                const std::int64_t axis = model.between(-1, static_cast<std::int64_t>(shape.size()) - 1);
                std::vector<ValueNo> parts;
                for (std::int64_t i = model.between(2, 4); i > 0; --i)
                    parts.push_back(model.input(shape));
                return model.unary(model.draft().add(model.draft().table().add("Concat", {{"axis", axis}}), parts));
            }};
}

// A split into equal or other parts; kNone where it has only one.
ValueNo sampleSplit(SampleModel& model, ValueNo value) {
    if (value == kNone)
        return kNone;
    const Shape shape = model.draft().shape(value);
    const std::size_t axis = model.rng().below(shape.size());
    const std::int64_t first = model.between(1, 2);
    if (shape[axis] <= first)
        return kNone;
    return addSplit(model.draft(), value, static_cast<std::int64_t>(axis), {first, shape[axis] - first});
}

WrittenRule splitFirst() {
    return {{"split-before-map", "split(f(x)) = f(split(x)), for all parts", {kMapsElements, "nobody else reads what f makes"}, false},
            [](const Draft& draft, NodeNo split) {
                std::vector<ValueNo> results;
                const ValueNo data = draft.operand(split, 0);
                const NodeNo map = draft.is(split, "Split") && isReadOnce(draft, data) ? plainMaker(draft, data) : kNone;
                for (std::size_t i = 0; map != kNone && mappedOperand(draft, map) && i < draft.node(split).outputs; ++i)
                    results.push_back(draft.output(split, i));
                return results;
            },
            [](Draft& draft, const Match& match) {
                const NodeNo map = plainMaker(draft, draft.operand(match.anchor, 0));
                const std::size_t mapped = *mappedOperand(draft, map), count = draft.node(match.anchor).outputs;
                const ValueNo parts = withOperand(draft, match.anchor, 0, draft.operand(map, mapped));
                std::vector<ValueNo> results;
                for (std::size_t i = 0; i < count; ++i)
                    results.push_back(parts == kNone ? kNone : mapAgain(draft, map, mapped, parts + static_cast<ValueNo>(i)));
                return results;
            },
            [](SampleModel& model) { return sampleSplit(model, model.unary(model.input(model.shape(static_cast<std::size_t>(model.between(1, 3)))))); }};
}

// What reads the parts, one node each.
std::vector<NodeNo> mapsOfParts(const Draft& draft, NodeNo split) {
    std::vector<NodeNo> maps;
    for (std::size_t i = 0; draft.is(split, "Split") && i < draft.node(split).outputs; ++i) {
        const ValueNo part = draft.output(split, i);
        const NodeNo map = isReadOnce(draft, part) ? draft.consumers(part)[0] : kNone;
        if (map == kNone || !isPlain(draft, map) || !mappedOperand(draft, map) || draft.operand(map, *mappedOperand(draft, map)) != part)
            return {};
        maps.push_back(map);
        if (!mapsLike(draft, maps[0], map))
            return {};
    }
    return maps;
}

WrittenRule mapFirst() {
    return {{"map-before-split", "f(split(x)) = split(f(x)), of all parts", {kMapsElements, "every part is read by f only"}, false},
            [](const Draft& draft, NodeNo split) {
                std::vector<ValueNo> results;
                for (const NodeNo map : mapsOfParts(draft, split))
                    results.push_back(draft.output(map));
                return results;
            },
            [](Draft& draft, const Match& match) {
                const NodeNo map = mapsOfParts(draft, match.anchor)[0];
                const ValueNo parts = withOperand(draft, match.anchor, 0, mapAgain(draft, map, *mappedOperand(draft, map), draft.operand(match.anchor, 0)));
                std::vector<ValueNo> results;
                for (std::size_t i = 0; i < match.values.size(); ++i)
                    results.push_back(parts == kNone ? kNone : parts + static_cast<ValueNo>(i));
                return results;
            },
            [](SampleModel& model) {
                const ValueNo parts = sampleSplit(model, model.input(model.shape(static_cast<std::size_t>(model.between(1, 3)))));
                if (parts == kNone)
                    return kNone;
                const ValueNo number = model.chance(0.5) ? model.number(2) : model.input({});
                const char* const op = model.pick({"Mul", "Sub"});
                const ValueNo a = model.draft().add(op, {parts, number}), b = model.draft().add(op, {model.chance(0.1) ? parts : parts + 1, number});
                return addConcat(model.draft(), {b, a}, 0) == kNone ? model.draft().add("Sum", {b, a}) : addConcat(model.draft(), {b, a}, 0);
            }};
}

} // namespace

void addPartsMotionSubstitutions(std::vector<SubstitutionPtr>& all) {
    for (const auto& rule : {joinMaps(), mapParts(), splitFirst(), mapFirst()})
        all.push_back(written(rule));
}

} // namespace tunesmith::rewrite
