// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/written/families.h"
#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/rule.h"
#include "core/rewrite/written/weights.h"

// Transposes and reshapes change places with operators that map elements.
namespace tunesmith::rewrite {
namespace {

bool moves(const Draft& draft, NodeNo node, bool transposes) { return transposes ? draft.is(node, "Transpose") : isReshape(draft, node); }

ValueNo sampleMove(SampleModel& model, ValueNo value, bool transposes) { return transposes ? model.transposed(value) : model.reshaped(value); }

ValueNo sampleData(SampleModel& model) { return model.input(model.shape(static_cast<std::size_t>(model.between(1, 4)))); }

// f(m(x)) = m(f(x)).
WrittenRule down(bool transposes) {
    const std::string name = transposes ? "transpose" : "reshape";
    return {{name + "-down", "f(" + name + "(x)) = " + name + "(f(x))", {kMapsElements, "only f reads what is moved"}, false},
            [transposes](const Draft& draft, NodeNo node) {
                const auto mapped = mappedOperand(draft, node);
                const ValueNo data = mapped ? draft.operand(node, *mapped) : kNone;
                const NodeNo move = plainMaker(draft, data);
                return move != kNone && moves(draft, move, transposes) && isReadOnce(draft, data) ? std::vector{draft.output(node)} : std::vector<ValueNo>();
            },
            [](Draft& draft, const Match& match) {
                const std::size_t mapped = *mappedOperand(draft, match.anchor);
                const NodeNo move = plainMaker(draft, draft.operand(match.anchor, mapped));
                return std::vector{withOperand(draft, move, 0, mapAgain(draft, match.anchor, mapped, draft.operand(move, 0)))};
            },
            [transposes](SampleModel& model) { return model.unary(sampleMove(model, sampleData(model), transposes)); }};
}

// m(f(x)) = f(m(x)).
WrittenRule up(bool transposes) {
    const std::string name = transposes ? "transpose" : "reshape";
    return {{name + "-up", name + "(f(x)) = f(" + name + "(x))", {kMapsElements, "nobody else reads what f makes"}, false},
            [transposes](const Draft& draft, NodeNo node) {
                const ValueNo data = draft.operand(node, 0);
                const NodeNo map = moves(draft, node, transposes) && isReadOnce(draft, data) ? plainMaker(draft, data) : kNone;
                return map != kNone && mappedOperand(draft, map) ? std::vector{draft.output(node)} : std::vector<ValueNo>();
            },
            [](Draft& draft, const Match& match) {
                const NodeNo map = plainMaker(draft, draft.operand(match.anchor, 0));
                const std::size_t mapped = *mappedOperand(draft, map);
                return std::vector{mapAgain(draft, map, mapped, withOperand(draft, match.anchor, 0, draft.operand(map, mapped)))};
            },
            [transposes](SampleModel& model) { return sampleMove(model, model.unary(sampleData(model)), transposes); }};
}

} // namespace

void addMotionSubstitutions(std::vector<SubstitutionPtr>& all) {
    for (const bool transposes : {true, false}) {
        all.push_back(written(down(transposes)));
        all.push_back(written(up(transposes)));
    }
}

} // namespace tunesmith::rewrite
