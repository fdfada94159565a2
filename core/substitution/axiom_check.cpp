// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/axiom_check.h"

#include <algorithm>
#include <optional>

#include "core/substitution/prime_value.h"
#include "core/substitution/real_value.h"
#include "core/substitution/rule_text.h"

namespace tunesmith::substitution {
namespace {

constexpr int kRealTrials = 24;

struct Primes {
    using Value = PrimeValue;
    using Operand = PrimeOperand;
    static Value random(const TermShape& shape, Rng& rng) { return randomValue(shape, rng); }
    static Value evaluate(const Term& term, const TermShape& shape, const Operand& a, const Operand& b) {
        Value value;
        evaluateTerm(term, shape, a, b, value);
        return value;
    }
};

// Many different whole numbers: the largest of a window is one element then.
struct Reals {
    using Value = RealValue;
    using Operand = RealOperand;
    static Value random(const TermShape& shape, Rng& rng) {
        Value value(static_cast<std::size_t>(shape.count()));
        for (double& element : value)
            element = static_cast<double>(rng.below(2001)) - 1000;
        return value;
    }
    static Value evaluate(const Term& term, const TermShape& shape, const Operand& a, const Operand& b) { return evaluateReal(term, shape, a, b); }
};

class AxiomChecker {
public:
    AxiomChecker(const Axiom& axiom, int most, const StopToken& stop)
        : axiom_(axiom), rule_(axiom.rule), most_(most), stop_(stop), shapes_(rule_.nodes.size()) {}

    AxiomCheck run() {
        for (const TermId legal : axiom_.legal) {
            compare_ = legal == axiom_.legal[0]; // the others are legal for the same shapes, or something is wrong anyway
            order_.clear();
            putInOrder(legal);
            extend(0);
        }
        return std::move(result_);
    }

private:
    // A term's nodes, each right after its operands: what does not fit shows early.
    void putInOrder(TermId id) {
        if (std::ranges::find(order_, id) != order_.end())
            return;
        for (int i = 0; i < traits(rule_.nodes[id].op).inputs; ++i)
            putInOrder(rule_.nodes[id].inputs[static_cast<std::size_t>(i)]);
        order_.push_back(id);
    }

    bool isFree(TermId id) const { return traits(rule_.nodes[id].op).inputs == 0; }

    void extend(std::size_t place) {
        if (!result_.problem.empty() || stop_.stopRequested())
            return;
        if (place == order_.size())
            return finish();
        const TermId id = order_[place];
        if (isFree(id))
            return chooseShape(id, place);
        shapes_[id] = computed(id);
        if (shapes_[id].rank > 0 && conditionsMayHold())
            extend(place + 1);
        shapes_[id] = {};
    }

    TermShape computed(TermId id) const {
        const Term& term = rule_.nodes[id];
        const TermShape none;
        return anyShapeOf(term, shapes_[term.inputs[0]], term.inputs[1] == kNoTerm ? none : shapes_[term.inputs[1]]);
    }

    void chooseShape(TermId id, std::size_t place) {
        const TermOp op = rule_.nodes[id].op;
        const auto with = [&](std::uint8_t rank) {
            TermShape shape;
            shape.rank = rank;
            chooseExtent(id, shape, 0, place);
        };
        if (op == TermOp::input) {
            with(1);
            with(2);
        } else if (op == TermOp::productIdentity) {
            with(2);
        }
        if (op != TermOp::productIdentity)
            with(4);
        shapes_[id] = {};
    }

    // Of rank 1 there are single numbers only. What an equation of extents says of this one is not tried otherwise.
    void chooseExtent(TermId id, TermShape shape, std::size_t axis, std::size_t place) {
        if (axis == shape.rank)
            return chooseCuts(id, shape, 0, place);
        const auto said = saidExtent(id, axis);
        const int most = shape.rank == 1 ? 1 : axis < 2 ? most_ : std::max(most_, 3); // kernels are of 3
        for (int extent = said ? *said : 1; extent <= (said ? std::min(*said, most) : most); ++extent) {
            shape.extents[axis] = static_cast<std::uint16_t>(extent);
            if (isShapeOfConstant(rule_.nodes[id], shape, axis))
                chooseExtent(id, shape, axis + 1, place);
        }
    }

    void chooseCuts(TermId id, TermShape shape, std::size_t axis, std::size_t place) {
        const Term& term = rule_.nodes[id];
        while (axis < 4 && (term.op != TermOp::input || rule_.variables[term.inputs[0]].cuts[axis] == 0 || !isSplitAlong(axis)))
            ++axis;
        if (axis >= shape.rank) {
            shapes_[id] = shape;
            if (conditionsMayHold())
                extend(place + 1);
            return;
        }
        for (std::uint16_t cut = 1; cut < shape.extents[axis]; ++cut) {
            shape.cuts[axis] = cut;
            chooseCuts(id, shape, axis + 1, place);
        }
    }

    bool isSplitAlong(std::size_t axis) const {
        return std::ranges::any_of(rule_.nodes, [&](const Term& term) { return term.op == TermOp::split && term.axis == axis; });
    }

    // Whether a constant may have this extent after those before it.
    static bool isShapeOfConstant(const Term& term, const TermShape& shape, std::size_t axis) {
        const int extent = shape.extents[axis];
        if (term.op == TermOp::productIdentity || (term.op == TermOp::convIdentity && axis < 2))
            return extent == shape.extents[0];
        if (term.op == TermOp::convIdentity)
            return extent == (axis == 2 ? term.axis : term.part);
        return term.op != TermOp::poolWeights || axis == 0 || extent == (axis == 1 ? 1 : 3);
    }

    // The shape of a constant that is the right side.
    TermShape asLeftSide(TermId id) const {
        TermShape shape = shapes_[rule_.left[0]];
        shape.cuts = {};
        bool fits = id == rule_.right[0] && rule_.nodes[id].op != TermOp::input;
        for (std::size_t axis = 0; axis < shape.rank; ++axis)
            fits = fits && isShapeOfConstant(rule_.nodes[id], shape, axis);
        return fits ? shape : TermShape();
    }

    std::optional<int> saidExtent(TermId id, std::size_t axis) const {
        for (const AxiomCondition& condition : axiom_.conditions)
            for (const auto& [one, other] : {std::pair(&condition.left, &condition.right), std::pair(&condition.right, &condition.left)})
                if (one->size() == 1 && (*one)[0].node == id && (*one)[0].axis == axis)
                    if (const auto value = product(*other))
                        return value;
        return std::nullopt;
    }

    std::optional<int> product(const std::vector<AxiomExtent>& extents) const {
        int value = 1;
        for (const AxiomExtent& extent : extents) {
            if (shapes_[extent.node].rank == 0)
                return std::nullopt;
            value *= shapes_[extent.node].extents[extent.axis];
        }
        return value;
    }

    bool conditionsMayHold() const {
        return std::ranges::all_of(axiom_.conditions, [&](const AxiomCondition& condition) {
            const auto left = product(condition.left), right = product(condition.right);
            return !left || !right || *left == *right;
        });
    }

    void finish() {
        const std::vector<TermShape> before = shapes_;
        for (TermId id = 0; id < rule_.nodes.size() && result_.problem.empty(); ++id) {
            if (shapes_[id].rank > 0)
                continue;
            shapes_[id] = isFree(id) ? asLeftSide(id) : computed(id);
            if (shapes_[id].rank == 0 && conditionsMayHold())
                return fail("no operands for " + termText(rule_, id), before);
        }
        if (!conditionsMayHold()) {
            shapes_ = before;
            return;
        }
        if (!shapes_[rule_.left[0]].sameExtents(shapes_[rule_.right[0]]))
            return fail("sides of other shapes", before);
        if (compare_) {
            ++result_.shapes;
            if (!(axiom_.piecewise ? sidesAreEqual<Reals>(kRealTrials) : sidesAreEqual<Primes>(1)))
                return fail("other values", before);
        }
        shapes_ = before;
    }

    void fail(const std::string& what, const std::vector<TermShape>& before) {
        result_.problem = axiom_.name + ": " + what;
        for (TermId id = 0; id < rule_.nodes.size(); ++id)
            if (isFree(id))
                result_.problem += ", " + termText(rule_, id) + ": " + toText(shapes_[id]);
        shapes_ = before;
    }

    template <class Numbers> bool sidesAreEqual(int trials) {
        for (int trial = 0; trial < trials; ++trial) {
            std::vector<typename Numbers::Value> values;
            for (TermId id = 0; id < rule_.nodes.size(); ++id)
                values.push_back(valueOf<Numbers>(id, values));
            if (values[rule_.left[0]] != values[rule_.right[0]])
                return false;
        }
        return true;
    }

    template <class Numbers> typename Numbers::Value valueOf(TermId id, const std::vector<typename Numbers::Value>& values) {
        const Term& term = rule_.nodes[id];
        if (term.op == TermOp::input)
            return Numbers::random(shapes_[id], rng_);
        const auto operand = [&](std::size_t i) {
            const bool has = static_cast<int>(i) < traits(term.op).inputs;
            return has ? typename Numbers::Operand{shapes_[term.inputs[i]], values[term.inputs[i]]} : typename Numbers::Operand{};
        };
        return Numbers::evaluate(term, shapes_[id], operand(0), operand(1));
    }

    const Axiom& axiom_;
    const Rule& rule_;
    const int most_;
    const StopToken& stop_;
    std::vector<TermShape> shapes_; // by node; rank 0: not chosen yet
    std::vector<TermId> order_;
    bool compare_ = true;
    Rng rng_{11};
    AxiomCheck result_;
};

} // namespace

AxiomCheck checkAxiom(const Axiom& axiom, int most, const StopToken& stop) { return AxiomChecker(axiom, most, stop).run(); }

} // namespace tunesmith::substitution
