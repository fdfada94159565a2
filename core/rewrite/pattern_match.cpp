// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/rewrite/pattern_constants.h"

namespace tunesmith::rewrite {
namespace {

bool isFloat(const Draft& draft, ValueNo value) {
    const DType type = draft.dtype(value);
    return type == DType::f32 || type == DType::f64 || type == DType::f16 || type == DType::bf16;
}

bool isOne(const Draft& draft, ValueNo value) { return elementCount(draft.shape(value)) == 1; }

// Two operands of a node that has two, no more.
bool isBinary(const Draft& draft, NodeNo node, std::string_view op) {
    return draft.is(node, op) && draft.node(node).operands == 2 && draft.operand(node, 0) != kNone && draft.operand(node, 1) != kNone;
}

bool swapsLastTwo(const Draft& draft, NodeNo node) {
    const std::size_t rank = draft.shape(draft.operand(node, 0)).size();
    std::vector<std::int64_t> wanted(rank), perm = draft.op(node).intsAttr("perm");
    for (std::size_t d = 0; d < rank; ++d)
        wanted[d] = static_cast<std::int64_t>(d);
    if (rank < 2)
        return false;
    std::swap(wanted[rank - 1], wanted[rank - 2]);
    if (perm.empty() && rank == 2)
        return true;
    return perm == wanted;
}

// Zeros around the kernels of weights, equally many on both sides.
bool enlarges(const Draft& draft, NodeNo node) {
    const Tensor* const pads = draft.constant(draft.operand(node, 1));
    const ValueNo filling = draft.operand(node, 2);
    const Tensor* const zero = draft.constant(filling);
    if (!pads || pads->count() != 8 || draft.op(node).stringAttr("mode", "constant") != "constant" || draft.node(node).operands > 3)
        return false;
    if (filling != kNone && (!zero || zero->count() != 1 || zero->asDouble(0) != 0))
        return false;
    const std::vector<std::int64_t> p = pads->asInts();
    return p[0] == 0 && p[1] == 0 && p[4] == 0 && p[5] == 0 && p[2] == p[6] && p[3] == p[7] && p[2] >= 0 && p[3] >= 0;
}

// Collects all assignments of values to the terms of one side.
class Finder {
public:
    Finder(const Pattern& pattern, const Draft& draft, std::vector<std::vector<ValueNo>>& found)
        : pattern_(pattern), draft_(draft), found_(found), values_(pattern.rule.nodes.size(), kNone) {}

    void run(NodeNo anchor) {
        for (std::size_t i = 0; i < draft_.node(anchor).outputs; ++i)
            solve({{pattern_.from[0], draft_.output(anchor, i)}}, 1);
    }

private:
    struct Goal {
        TermId term;
        ValueNo value;
    };
    using Goals = std::vector<Goal>;
    static constexpr std::size_t kMostFound = 64;
    static constexpr std::int64_t kMostSteps = 200'000; // results that share an input have as many places as that has readers, each

    // Reaches the goals, then looks for the results that are left.
    void solve(Goals goals, std::size_t results) {
        if (found_.size() >= kMostFound || ++steps_ > kMostSteps)
            return;
        if (goals.empty()) {
            if (results < pattern_.from.size())
                return findResult(results);
            if (std::ranges::find(found_, values_) == found_.end() && bindingOf(pattern_, draft_, values_))
                found_.push_back(values_);
            return;
        }
        const auto [term, value] = goals.back();
        goals.pop_back();
        if (value == kNone || draft_.value(value).type == kNone || (values_[term] != kNone && values_[term] != value))
            return;
        if (values_[term] == value)
            return solve(std::move(goals), results);
        values_[term] = value;
        expand(term, value, goals, results);
        values_[term] = kNone;
    }

    void expand(TermId id, ValueNo value, const Goals& goals, std::size_t results) {
        const Term& term = pattern_.rule.nodes[id];
        const auto with = [&](std::initializer_list<Goal> more) {
            Goals all = goals;
            all.insert(all.end(), more.begin(), more.end());
            solve(std::move(all), results);
        };
        if (!isFloat(draft_, value) || !draft_.table().isStatic(draft_.value(value).type))
            return;
        if (term.op == TermOp::input)
            return fitsVariable(id, value) ? solve(goals, results) : void();
        if (substitution::traits(term.op).inputs == 0)
            return draft_.constant(value) && isConstant(term, *draft_.constant(value)) ? solve(goals, results) : void();
        NodeNo node = draft_.value(value).maker;
        if (node == kNone || !draft_.op(node).domain.empty())
            return;
        if (term.op == TermOp::convRelu) {
            node = draft_.is(node, "Relu") ? draft_.maker(draft_.operand(node, 0), "Conv") : kNone;
            if (node == kNone)
                return;
        }
        if (!fitsOperator(term, node, value))
            return;
        const ValueNo a = draft_.operand(node, 0), b = draft_.operand(node, 1);
        if (substitution::traits(term.op).inputs == 1)
            return with({{term.inputs[0], a}});
        if (term.op == TermOp::scale)
            return scaled(term, a, b, with);
        with({{term.inputs[1], b}, {term.inputs[0], a}});
        if (term.op == TermOp::add || term.op == TermOp::mul)
            with({{term.inputs[1], a}, {term.inputs[0], b}});
    }

    template <class With> void scaled(const Term& term, ValueNo a, ValueNo b, const With& with) const {
        if (isOne(draft_, b))
            with({{term.inputs[1], b}, {term.inputs[0], a}});
        if (isOne(draft_, a))
            with({{term.inputs[1], a}, {term.inputs[0], b}});
    }

    bool fitsVariable(TermId id, ValueNo value) const {
        const std::size_t rank = draft_.shape(value).size();
        switch (pattern_.rank[id]) {
        case 1: return isOne(draft_, value);
        case 4: return pattern_.kind == Pattern::Kind::free || rank == 4;
        default: return true;
        }
    }

    bool fitsOperator(const Term& term, NodeNo node, ValueNo value) const {
        switch (term.op) {
        case TermOp::matmul: return isBinary(draft_, node, "MatMul") && draft_.shape(draft_.operand(node, 0)).size() > 1 && draft_.shape(draft_.operand(node, 1)).size() > 1;
        case TermOp::add: return isBinary(draft_, node, "Add");
        case TermOp::mul:
        case TermOp::scale: return isBinary(draft_, node, "Mul");
        case TermOp::conv:
        case TermOp::convRelu: return isBinary(draft_, node, "Conv") && draft_.shape(value).size() == 4;
        case TermOp::averagePool: return draft_.is(node, "AveragePool") && draft_.shape(value).size() == 4;
        case TermOp::maxPool: return draft_.is(node, "MaxPool") && draft_.node(node).outputs == 1 && draft_.shape(value).size() == 4;
        case TermOp::enlarge: return draft_.is(node, "Pad") && draft_.shape(value).size() == 4 && enlarges(draft_, node);
        case TermOp::relu: return draft_.is(node, "Relu");
        case TermOp::concat: return isBinary(draft_, node, "Concat");
        case TermOp::split: return draft_.is(node, "Split") && draft_.node(node).outputs == 2 && draft_.value(value).output == term.part;
        case TermOp::transpose: return draft_.is(node, "Transpose") && swapsLastTwo(draft_, node);
        default: return false;
        }
    }

    // Another result of the same operator as some reader of what is bound already.
    void findResult(std::size_t index) {
        const TermId result = pattern_.from[index];
        if (values_[result] != kNone)
            return solve({}, index + 1);
        std::vector<ValueNo> tried;
        for (const ValueNo bound : std::vector<ValueNo>(values_))
            if (bound != kNone)
                for (const NodeNo reader : draft_.consumers(bound))
                    tryResult(result, reader, index, tried);
    }

    void tryResult(TermId result, NodeNo reader, std::size_t index, std::vector<ValueNo>& tried) {
        for (std::size_t i = 0; i < draft_.node(reader).outputs; ++i) {
            const ValueNo value = draft_.output(reader, i);
            if (std::ranges::find(tried, value) != tried.end() || std::ranges::find(values_, value) != values_.end())
                continue;
            tried.push_back(value);
            solve({{result, value}}, index + 1);
            tryDeeper(result, value, index, tried);
        }
    }

    // The result itself may be an operator or two above what is shared.
    void tryDeeper(TermId result, ValueNo value, std::size_t index, std::vector<ValueNo>& tried) {
        if (depthOf(result) < 2)
            return;
        for (const NodeNo reader : draft_.consumers(value))
            for (std::size_t i = 0; i < draft_.node(reader).outputs; ++i) {
                const ValueNo above = draft_.output(reader, i);
                if (std::ranges::find(tried, above) == tried.end() && std::ranges::find(values_, above) == values_.end()) {
                    tried.push_back(above);
                    solve({{result, above}}, index + 1);
                }
            }
    }

    int depthOf(TermId id) const {
        const Term& term = pattern_.rule.nodes[id];
        int deepest = 0;
        for (int i = 0; term.op != TermOp::input && i < substitution::traits(term.op).inputs; ++i)
            deepest = std::max(deepest, depthOf(term.inputs[static_cast<std::size_t>(i)]));
        return term.op == TermOp::input ? 0 : deepest + (term.op == TermOp::convRelu ? 2 : 1);
    }

    const Pattern& pattern_;
    const Draft& draft_;
    std::vector<std::vector<ValueNo>>& found_;
    std::vector<ValueNo> values_; // by term
    std::int64_t steps_ = 0;
};

// Reads what the operators of the bound terms have in common.
class Binder {
public:
    Binder(const Pattern& pattern, const Draft& draft, const std::vector<ValueNo>& values) : pattern_(pattern), draft_(draft) { binding_.values = values; }

    std::optional<Binding> run() {
        for (TermId id = 0; id < pattern_.rule.nodes.size(); ++id)
            if (pattern_.inFrom[id] && !bind(pattern_.rule.nodes[id], binding_.values[id]))
                return std::nullopt;
        return binding_;
    }

private:
    bool bind(const Term& term, ValueNo value) {
        const NodeNo node = value == kNone ? kNone : draft_.value(value).maker;
        switch (term.op) {
        case TermOp::conv: return bindConv(term, node);
        case TermOp::convRelu: return bindConv(term, draft_.value(draft_.operand(node, 0)).maker);
        case TermOp::averagePool: return bindOnce(binding_.averagePool, draft_.node(node).op);
        case TermOp::maxPool: return bindOnce(binding_.maxPool, draft_.node(node).op);
        case TermOp::concat:
        case TermOp::split: return bindAxis(term, node);
        default: return true;
        }
    }

    // One with the weights of a pool is that pool.
    bool bindConv(const Term& term, NodeNo conv) {
        const auto window = windowOf(draft_, conv);
        if (window && arePoolWeights(pattern_.rule, term.inputs[1])) {
            const OperatorNo pool = averagePoolOperator(draft_.table(), *window, draft_.shape(draft_.operand(conv, 1)));
            return pool != kNone && bindOnce(binding_.averagePool, pool);
        }
        if (!window || (binding_.window && *binding_.window != *window))
            return false;
        binding_.window = window;
        return true;
    }

    static bool bindOnce(OperatorNo& slot, OperatorNo op) {
        if (slot != kNone && slot != op)
            return false;
        slot = op;
        return true;
    }

    bool bindAxis(const Term& term, NodeNo node) {
        const auto rank = static_cast<std::int64_t>(draft_.shape(draft_.operand(node, 0)).size());
        std::int64_t axis = draft_.op(node).intAttr("axis", 0);
        axis += axis < 0 ? rank : 0;
        if (pattern_.kind == Pattern::Kind::free) {
            const int fromBack = static_cast<int>(axis - rank);
            auto& slot = binding_.axes[term.axis];
            const auto& other = binding_.axes[1 - term.axis];
            if ((slot && *slot != fromBack) || other == fromBack)
                return false;
            slot = fromBack;
            return true;
        }
        const auto wanted = axisOf(pattern_, binding_, term.axis, static_cast<std::size_t>(rank));
        return wanted && static_cast<std::int64_t>(*wanted) == axis;
    }

    const Pattern& pattern_;
    const Draft& draft_;
    Binding binding_;
};

} // namespace

void findPattern(const Pattern& pattern, const Draft& draft, NodeNo anchor, std::vector<std::vector<ValueNo>>& found) {
    Finder(pattern, draft, found).run(anchor);
}

std::optional<Binding> bindingOf(const Pattern& pattern, const Draft& draft, const std::vector<ValueNo>& values) { return Binder(pattern, draft, values).run(); }

} // namespace tunesmith::rewrite
