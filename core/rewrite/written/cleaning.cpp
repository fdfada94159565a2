// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/written/families.h"
#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/rule.h"
#include "core/rewrite/written/weights.h"

// Nodes whose result is one of their operands.
namespace tunesmith::rewrite {
namespace {

using Finder = std::function<ValueNo(const Draft&, NodeNo)>; // the operand that is the result; kNone

// The match is the result and what stands in its place.
WrittenRule removal(std::string name, std::string equation, std::vector<std::string> conditions, Finder operand, std::function<ValueNo(SampleModel&)> sample) {
    return {{std::move(name), std::move(equation), std::move(conditions), true},
            [operand = std::move(operand)](const Draft& draft, NodeNo node) {
                const ValueNo same = operand(draft, node);
                const bool fits = same != kNone && draft.value(same).type == draft.value(draft.output(node)).type;
                return fits ? std::vector{draft.output(node), same} : std::vector<ValueNo>();
            },
            [](Draft&, const Match& match) { return std::vector{match.values[1]}; }, std::move(sample)};
}

ValueNo sampled(SampleModel& model) { return model.input(model.shape(static_cast<std::size_t>(model.between(0, 4)))); }

WrittenRule identity() {
    return removal(
        "remove-identity", "identity(x) = x", {}, [](const Draft& draft, NodeNo node) { return draft.is(node, "Identity") ? draft.operand(node, 0) : kNone; },
        [](SampleModel& model) { return model.draft().add("Identity", {model.chance(0.5) ? model.unary(sampled(model)) : sampled(model)}); });
}

WrittenRule dropout() {
    return removal(
        "remove-dropout", "dropout(x) = x", {"it is for inference", "nobody reads the mask"},
        [](const Draft& draft, NodeNo node) {
            if (!draft.is(node, "Dropout") || (draft.node(node).outputs > 1 && !isUnread(draft, draft.output(node, 1))))
                return kNone;
            const bool trains = draft.table().opset() >= 12 && draft.operand(node, 2) != kNone && !isFilledWith(draft, draft.operand(node, 2), 0);
            return trains ? kNone : draft.operand(node, 0);
        },
        [](SampleModel& model) {
            const ValueNo x = model.unary(sampled(model));
            if (model.opset() < 12)
                return model.draft().add("Dropout", {x}, {{"ratio", 0.5F}});
            const bool trains = model.chance(0.1);
            const std::size_t outputs = model.chance(0.1) ? 2 : 1;
            if (!trains && model.chance(0.5))
                return model.draft().add("Dropout", {x, model.number(0.25)}, {}, outputs);
            return model.draft().add("Dropout", {x, model.number(0.5), model.draft().constant(Tensor::scalar<bool>(trains))}, {}, outputs);
        });
}

WrittenRule cast() {
    return removal(
        "remove-cast", "cast(x) = x", {"the type stays"},
        [](const Draft& draft, NodeNo node) { return draft.is(node, "Cast") || draft.is(node, "CastLike") ? draft.operand(node, 0) : kNone; },
        [](SampleModel& model) {
            const ValueNo x = model.unary(sampled(model));
            return model.draft().add("Cast", {x}, {{"to", static_cast<std::int64_t>(model.chance(0.2) ? DType::f64 : model.type())}});
        });
}

// Slice with all extents unchanged takes everything, but may turn it round.
bool keepsOrder(const Draft& draft, NodeNo slice) {
    if (draft.operand(slice, 4) == kNone)
        return true;
    const Tensor* const steps = draft.constant(draft.operand(slice, 4));
    return steps && std::ranges::all_of(steps->asInts(), [](std::int64_t step) { return step > 0; });
}

WrittenRule movement() {
    return removal(
        "remove-movement", "reshape(x) = x, and the same of flatten, squeeze, unsqueeze, expand, slice and transpose", {"shape and order of the elements stay"},
        [](const Draft& draft, NodeNo node) {
            const bool fits = isReshape(draft, node) || draft.is(node, "Expand") || (draft.is(node, "Slice") && keepsOrder(draft, node)) ||
                              (draft.is(node, "Transpose") && std::ranges::is_sorted(permOf(draft, node)));
            return fits ? draft.operand(node, 0) : kNone;
        },
        [](SampleModel& model) {
            const Shape shape = model.shape(static_cast<std::size_t>(model.between(1, 4)));
            const ValueNo x = model.input(shape);
            switch (model.between(0, 4)) {
            case 0: return model.draft().add("Reshape", {x, model.ints(model.chance(0.7) ? shape : Shape{-1})});
            case 1: return model.draft().add("Flatten", {x}, {{"axis", std::int64_t(1)}});
            case 2: return model.draft().add("Expand", {x, model.ints(model.chance(0.8) ? Shape{1} : Shape{2, 1, 1})});
            case 3: return model.draft().add("Transpose", {x}, {{"perm", model.permutation(shape.size())}});
            default: break;
            }
            const std::int64_t step = model.chance(0.3) ? -1 : 1, first = step < 0 ? shape[0] - 1 : 0, last = step < 0 ? -shape[0] - 1 : shape[0];
            if (model.opset() < 10)
                return model.draft().add("Slice", {x}, {{"starts", Shape{0}}, {"ends", Shape{model.chance(0.7) ? shape[0] : 1}}, {"axes", Shape{0}}});
            return model.draft().add("Slice", {x, model.ints({first}), model.ints({last}), model.ints({0}), model.ints({step})});
        });
}

WrittenRule single() {
    return removal(
        "remove-joining-of-one", "concat(x) = x, and the same of sum, maximum, minimum, mean and of a split into one part", {"there is one operand and one result"},
        [](const Draft& draft, NodeNo node) {
            const bool alone = draft.node(node).operands == 1 && isOneOf(draft.op(node).op, {"Concat", "Sum", "Max", "Min", "Mean"});
            return alone || (draft.is(node, "Split") && draft.node(node).outputs == 1) ? draft.operand(node, 0) : kNone;
        },
        [](SampleModel& model) {
            const ValueNo x = model.input(model.shape(static_cast<std::size_t>(model.between(1, 4))));
            switch (model.between(0, 2)) {
            case 0: return model.draft().add("Concat", {x}, {{"axis", std::int64_t(0)}});
            case 1: return model.draft().add("Split", {x}, {{"axis", std::int64_t(0)}, {"num_outputs", std::int64_t(1)}});
            default: return model.draft().add(model.pick({"Sum", "Max", "Mean"}), {x});
            }
        });
}

WrittenRule neutral() {
    return removal(
        "remove-neutral-constant", "x + 0 = x - 0 = x * 1 = x / 1 = x ^ 1 = x", {"the constant does not change the shape"},
        [](const Draft& draft, NodeNo node) {
            const std::string& op = draft.op(node).op;
            if (!isOneOf(op, {"Add", "Sub", "Mul", "Div", "Pow"}) || draft.node(node).operands != 2)
                return kNone;
            const double none = op == "Add" || op == "Sub" ? 0 : 1;
            if (isFilledWith(draft, draft.operand(node, 1), none))
                return draft.operand(node, 0);
            return (op == "Add" || op == "Mul") && isFilledWith(draft, draft.operand(node, 0), none) ? draft.operand(node, 1) : kNone;
        },
        [](SampleModel& model) {
            const ValueNo x = model.unary(sampled(model));
            if (x == kNone || !isFloat(model.draft().dtype(x)))
                return kNone;
            const char* const op = model.pick({"Add", "Sub", "Mul", "Div", "Pow"});
            const double value = model.chance(0.1) ? 2 : op == std::string_view("Add") || op == std::string_view("Sub") ? 0 : 1;
            const ValueNo constant = model.number(value, static_cast<std::size_t>(model.between(0, 3)));
            return model.chance(0.7) ? model.draft().add(op, {x, constant}) : model.draft().add(op, {constant, x});
        });
}

// Relu(Relu(x)): the second has nothing left to do.
WrittenRule idempotent() {
    return removal(
        "remove-repeated", "f(f(x)) = f(x)", {"f is relu, absolute value, sign, floor, ceil or round, or clips to constant limits"},
        [](const Draft& draft, NodeNo node) {
            const NodeNo before = plainMaker(draft, draft.operand(node, 0));
            if (before == kNone || draft.node(before).op != draft.node(node).op)
                return kNone;
            const auto own = draft.operands(node), others = draft.operands(before);
            const bool sameLimits = draft.is(node, "Clip") && std::ranges::equal(own.subspan(1), others.subspan(1));
            return sameLimits || isOneOf(draft.op(node).op, {"Relu", "Abs", "Sign", "Floor", "Ceil", "Round"}) ? draft.operand(node, 0) : kNone;
        },
        [](SampleModel& model) {
            const ValueNo x = sampled(model);
            if (model.chance(0.3) && model.opset() >= 11) {
                const ValueNo low = model.number(model.pick({-1.0, 0.0, 3.0})), high = model.number(2);
                return model.draft().add("Clip", {model.draft().add("Clip", {x, low, high}), low, high});
            }
            const char* const op = model.pick({"Relu", "Abs", "Sign", "Floor", "Ceil", "Neg"});
            return model.draft().add(op, {model.draft().add(op, {x})});
        });
}

WrittenRule undone() {
    return removal(
        "remove-undone", "f(f(x)) = x", {"f is minus or not"},
        [](const Draft& draft, NodeNo node) {
            const NodeNo before = plainMaker(draft, draft.operand(node, 0));
            const bool fits = before != kNone && draft.node(before).op == draft.node(node).op && isOneOf(draft.op(node).op, {"Neg", "Not"});
            return fits ? draft.operand(before, 0) : kNone;
        },
        [](SampleModel& model) {
            const char* const op = model.pick({"Neg", "Neg", "Abs"});
            return model.draft().add(op, {model.draft().add(op, {model.unary(sampled(model))})});
        });
}

} // namespace

void addCleaningSubstitutions(std::vector<SubstitutionPtr>& all) {
    for (const auto& rule : {identity(), dropout(), cast(), movement(), single(), neutral(), idempotent(), undone()})
        all.push_back(written(rule));
}

} // namespace tunesmith::rewrite
