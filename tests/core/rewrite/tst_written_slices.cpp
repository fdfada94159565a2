// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include "rewritten_model.h"

using namespace tunesmith;
using namespace tunesmith::rewrite;

namespace {

using Ints = std::vector<std::int64_t>;

ValueId slice(Model& model, ValueId value, std::int64_t axis, std::int64_t begin, std::int64_t end) {
    return model.add("Slice", {value, model.ints({begin}), model.ints({end}), model.ints({axis})});
}

// One layer of attention with one head over [1, tokens, width].
ValueId attentionLayer(Model& model, ValueId x, std::int64_t width) {
    const auto square = [&] { return model.weight({width, width}); };
    const ValueId q = model.add("MatMul", {x, square()}), k = model.add("MatMul", {x, square()}), v = model.add("MatMul", {x, square()});
    const ValueId scores = model.add("MatMul", {q, model.add("Transpose", {k}, {{"perm", Ints{0, 2, 1}}})});
    const ValueId mixed = model.add("MatMul", {model.add("MatMul", {model.add("Softmax", {scores}), v}), square()});
    const ValueId sum = model.add("LayerNormalization", {model.add("Add", {x, mixed}), model.weight({width}), model.weight({width})});
    const ValueId inside = model.add("Relu", {model.add("Add", {model.add("MatMul", {sum, model.weight({width, 4 * width})}), model.weight({4 * width})})});
    return model.add("Add", {sum, model.add("MatMul", {inside, model.weight({4 * width, width})})});
}

} // namespace

// Only what is taken out in the end is computed.
class WrittenSlices : public QObject {
    Q_OBJECT

private slots:
    void aClassifierOfOneTokenNeedsNoOthers() {
        Model model;
        const ValueId last = attentionLayer(model, attentionLayer(model, model.input({1, 10, 8}), 8), 8);
        const ValueId first = model.add("Gather", {last, model.graph.addConstant("", Tensor::ofInts({0}).reshaped({}))}, {{"axis", std::int64_t(1)}});
        const Graph before = model.build({model.add("MatMul", {first, model.weight({8, 2})})});
        const ModelDraft draft = draftOf(before).value();
        Draft simple = draft.draft;
        QVERIFY(simplify(simple, writtenSubstitutions(), 100) < 100);
        const Graph after = foldConstants(graphOf(draft, simple, "simplify").value()).value();
        QCOMPARE(differenceBetween(before, after), std::string());
        std::map<std::int64_t, int> products; // by rows
        for (const auto& node : after.nodes())
            if (node->op == "MatMul")
                ++products[*(after.value(node->outputs[0]).type.shape().end() - 2)];
        QCOMPARE(products[10], 8 + 2); // all of the first layer, keys and values of the second
        QCOMPARE(products[1], 6 + 1);  // what the second does with them, and the classifier
    }

    void riseAboveOperators_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<int>("axis");
        QTest::addColumn<int>("found");
        QTest::newRow("rows of a product") << "MatMul" << 1 << 1;
        QTest::newRow("columns of a product") << "MatMul" << 2 << 1;
        QTest::newRow("softmax, another axis") << "Softmax" << 1 << 1;
        QTest::newRow("softmax, its own axis") << "Softmax" << 2 << 0;
        QTest::newRow("sums of all positions so far") << "CumSum" << 1 << 0;
    }
    void riseAboveOperators() {
        QFETCH(QString, op);
        QFETCH(int, axis);
        QFETCH(int, found);
        Model model;
        const ValueId x = model.input({2, 6, 8});
        const ValueId y = op == "MatMul" ? model.add("MatMul", {x, model.weight({8, 8})})
                          : op == "CumSum" ? model.add("CumSum", {x, model.graph.addConstant("", Tensor::ofInts({1}).reshaped({}))})
                                           : model.add("Softmax", {x});
        const Rewritten result = rewritten(model.build({slice(model, y, axis, 1, 3)}), "slice-up");
        QCOMPARE(result.found, std::size_t(found));
        QCOMPARE(result.problem, std::string());
    }

    void groupsAreNotCutOpen() {
        for (const std::int64_t groups : {1, 2}) {
            Model model;
            const ValueId y = model.add("Conv", {model.input({1, 4, 5, 5}), model.weight({6, 4 / groups, 3, 3}), model.weight({6})}, {{"group", groups}});
            const Rewritten result = rewritten(model.build({slice(model, y, 1, 2, 4)}), "slice-up");
            QCOMPARE(result.found, std::size_t(groups == 1 ? 1 : 0));
            QCOMPARE(result.problem, std::string());
            if (groups == 1)
                QCOMPARE(result.graph->value(result.node("Conv").inputs[1]).type.shape(), Shape({2, 4, 3, 3}));
        }
    }

    void stay_data() {
        QTest::addColumn<Ints>("bounds");
        QTest::addColumn<bool>("readBesides");
        QTest::addColumn<std::int64_t>("step");
        QTest::newRow("others read it") << Ints{0, 2} << true << std::int64_t(1);
        QTest::newRow("more than half") << Ints{0, 5} << false << std::int64_t(1);
        QTest::newRow("every second") << Ints{0, 6} << false << std::int64_t(2);
        QTest::newRow("backwards") << Ints{3, 0} << false << std::int64_t(-1);
        QTest::newRow("nothing") << Ints{2, 2} << false << std::int64_t(1);
    }
    void stay() {
        QFETCH(Ints, bounds);
        QFETCH(bool, readBesides);
        QFETCH(std::int64_t, step);
        Model model;
        const ValueId y = model.add("Relu", {model.input({2, 6})});
        std::vector<ValueId> outputs{model.add("Slice", {y, model.ints({bounds[0]}), model.ints({bounds[1]}), model.ints({1}), model.ints({step})})};
        if (readBesides)
            outputs.push_back(model.add("Neg", {y}));
        QCOMPARE(rewritten(model.build(outputs), "slice-up").found, std::size_t(0));
    }

    void boundsThatAreComputedAreNotGuessed() {
        Model model;
        const ValueId y = model.add("Relu", {model.input({2, 6})});
        const ValueId start = model.graph.addInput("start", TensorType(DType::i64, Shape{1}));
        const ValueId out = model.add("Slice", {y, start, model.ints({3}), model.ints({1})});
        const auto draft = draftOf(model.build({out}));
        if (draft.ok())
            QVERIFY(matchesOf(draft->draft, *ruleNamed("slice-up")).empty());
    }

    void partsOfConcatenations() {
        for (const bool across : {false, true}) {
            Model model;
            const ValueId whole = model.add("Concat", {model.input({2, 3}), model.input({2, 5}), model.input({2, 2})}, {{"axis", std::int64_t(-1)}});
            const Rewritten result = rewritten(model.build({slice(model, whole, 1, across ? 2 : 3, 8)}), "slice-of-concat");
            QCOMPARE(result.found, std::size_t(across ? 0 : 1));
            QCOMPARE(result.problem, std::string());
            if (!across)
                QCOMPARE(result.count("Slice") + result.count("Concat"), 0); // the second part itself
        }
    }
};

QTEST_APPLESS_MAIN(WrittenSlices)
#include "tst_written_slices.moc"
