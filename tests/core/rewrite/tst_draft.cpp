// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "rewritten_model.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::rewrite;

namespace {

constexpr std::size_t kMany = 3000; // more than are compared one by one

float numberOf(std::size_t i) { return 1 + static_cast<float>(i % kMany); }

} // namespace

// How a draft finds nodes that are there already, however many there are.
class DraftNodes : public QObject {
    Q_OBJECT

private slots:
    void makesEqualNodesOfAModelOne() {
        Model model;
        const ValueId x = model.input({2});
        std::vector<ValueId> outputs;
        for (std::size_t i = 0; i < 2 * kMany; ++i)
            outputs.push_back(model.add("Add", {x, model.number(numberOf(i))}));
        outputs.push_back(model.add("Add", {outputs[0], outputs[kMany - 1]}));
        outputs.push_back(model.add("Add", {outputs[kMany], outputs[2 * kMany - 1]}));
        const Draft draft = take(draftOf(model.build(outputs))).draft;
        QCOMPARE(draft.order().size(), kMany + 1);
        QCOMPARE(draft.values(), 1 + 2 * kMany + 1); // input, constants and what nodes compute
        for (std::size_t i = 0; i < kMany; ++i)
            QCOMPARE(draft.outputs()[i], draft.outputs()[i + kMany]);
        QCOMPARE(draft.outputs()[2 * kMany], draft.outputs()[2 * kMany + 1]);
    }

    void keepsNodesThatDifferInOperatorOrOrder() {
        Model model;
        const ValueId x = model.input({2}), y = model.input({2});
        std::vector<ValueId> outputs;
        for (std::size_t i = 0; i < 100; ++i) {
            const ValueId c = model.number(numberOf(i));
            for (const char* op : {"Sub", "Div"})
                for (const auto& operands : {std::vector{x, c}, std::vector{c, x}, std::vector{y, c}})
                    outputs.push_back(model.add(op, operands));
        }
        QCOMPARE(take(draftOf(model.build(outputs))).draft.order().size(), outputs.size());
    }

    void findsNodesThatBecameEqualByAReplacement() {
        Model model;
        const ValueId x = model.input({2}), y = model.add("Neg", {x});
        const Graph graph = model.build({y});
        Draft draft = take(draftOf(graph)).draft;
        const ValueNo input = draft.inputs()[0], negated = draft.outputs()[0];
        const ValueNo twice = draft.add("Neg", {negated});
        std::vector<ValueNo> made;
        for (std::size_t i = 0; i < kMany; ++i)
            made.push_back(draft.add("Add", {twice, draft.constant(Tensor::scalar(numberOf(i)))}));
        draft.replace(twice, input);
        for (std::size_t i = 0; i < kMany; ++i)
            QCOMPARE(draft.add("Add", {input, draft.constant(Tensor::scalar(numberOf(i)))}), made[i]);
        QVERIFY(draft.settle());
        draft.setOutputs({made[5]});
        QVERIFY(draft.settle());
        QCOMPARE(draft.add("Add", {input, draft.constant(Tensor::scalar(numberOf(5)))}), made[5]);
    }
};

QTEST_APPLESS_MAIN(DraftNodes)
#include "tst_draft.moc"
