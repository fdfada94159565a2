// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include <numbers>

#include "rewritten_model.h"

using namespace tunesmith;
using namespace tunesmith::rewrite;

namespace {

using Ints = std::vector<std::int64_t>;

ValueId second(ValueId first) { return ValueId(static_cast<std::int64_t>(first.index()) + 1); }

// The nodes into which exporters write a layer normalization.
struct LayerNorm {
    Ints axes{-1};
    float power = 2, epsilon = 1e-3F;
};
ValueId layerNorm(Model& model, ValueId x, const LayerNorm& of = {}) {
    const auto mean = [&](ValueId value) { return model.add("ReduceMean", {value}, {{"axes", of.axes}}); };
    const ValueId centred = model.add("Sub", {x, mean(x)});
    const ValueId variance = mean(model.add("Pow", {centred, model.number(of.power)}));
    const ValueId normal = model.add("Div", {centred, model.add("Sqrt", {model.add("Add", {variance, model.number(of.epsilon)})})});
    return model.add("Add", {model.add("Mul", {normal, model.weight({6})}), model.weight({6})});
}

} // namespace

class WrittenMotion : public QObject {
    Q_OBJECT

private slots:
    void transposesPassActivations() {
        Model model;
        const ValueId x = model.add("Transpose", {model.input({2, 3, 4})}, {{"perm", Ints{2, 0, 1}}});
        const Graph down = model.build({model.add("Transpose", {model.add("Relu", {x})}, {{"perm", Ints{1, 2, 0}}})});
        for (const char* rule : {"transpose-down", "transpose-up"}) {
            const Rewritten result = rewritten(down, rule);
            QCOMPARE(result.found, std::size_t(1));
            QCOMPARE(result.problem, std::string());
            QCOMPARE(rewritten(*result.graph, "one-transpose").graph->nodeCount(), std::size_t(1));
        }
    }

    void whatIsReadTwiceDoesNotMove() {
        Model model;
        const ValueId x = model.add("Transpose", {model.input({2, 3})}, {{"perm", Ints{1, 0}}});
        const Graph graph = model.build({model.add("Relu", {x}), x});
        QCOMPARE(rewritten(graph, "transpose-down").found, std::size_t(0));
    }

    void numbersPassReshapesToAnyRank() {
        Model model;
        const ValueId x = model.add("Reshape", {model.input({6}), model.ints({1, 2, 3})});
        const ValueId scaled = model.add("Mul", {x, model.weight({1, 1, 1})}); // of a higher rank than the data before
        const Rewritten result = rewritten(model.build({scaled}), "reshape-down");
        QCOMPARE(result.found, std::size_t(1));
        QCOMPARE(result.problem, std::string());
    }

    void arithmeticOfDifferentTranspositionsStays() {
        Model model;
        const ValueId a = model.add("Transpose", {model.input({3, 3, 3})}, {{"perm", Ints{1, 0, 2}}});
        const ValueId b = model.add("Transpose", {model.input({3, 3, 3})}, {{"perm", Ints{0, 2, 1}}});
        QCOMPARE(rewritten(model.build({model.add("Add", {a, b})}), "transpose-down-arithmetic").found, std::size_t(0));
    }

    void repeatedWeightsAreTransposedWithTheData() {
        Model model;
        const ValueId a = model.add("Transpose", {model.input({2, 3, 4})}, {{"perm", Ints{0, 2, 1}}});
        const Rewritten result = rewritten(model.build({model.add("Add", {model.weight({3}), a})}), "transpose-down-arithmetic");
        QCOMPARE(result.found, std::size_t(1));
        QCOMPARE(result.problem, std::string());
    }

    void productsOfMatricesTurn_data() {
        QTest::addColumn<QList<int>>("perm");
        QTest::addColumn<int>("found");
        QTest::newRow("last two") << QList<int>{0, 2, 1} << 1;
        QTest::newRow("others") << QList<int>{1, 0, 2} << 0;
    }
    void productsOfMatricesTurn() {
        QFETCH(QList<int>, perm);
        QFETCH(int, found);
        Model model;
        const ValueId y = model.add("MatMul", {model.input({2, 3, 4}), model.weight({4, 5})});
        const Rewritten result = rewritten(model.build({model.add("Transpose", {y}, {{"perm", Ints(perm.begin(), perm.end())}})}), "transpose-of-product");
        QCOMPARE(result.found, std::size_t(found));
        QCOMPARE(result.problem, std::string());
    }
    void productsOfActivationsStay() {
        Model model;
        const ValueId y = model.add("MatMul", {model.input({3, 4}), model.input({4, 5})});
        QCOMPARE(rewritten(model.build({model.add("Transpose", {y})}), "transpose-of-product").found, std::size_t(0));
    }

    // All parts, or none: the others would be read before they are mapped.
    void partsOfASplitMoveTogether() {
        for (const bool besides : {false, true}) {
            Model model;
            const ValueId parts = model.add("Split", {model.input({4, 6}), model.ints({2, 4})}, {{"axis", std::int64_t(1)}}, 2);
            std::vector<ValueId> outputs{model.add("Relu", {second(parts)}), model.add("Relu", {parts})};
            if (besides)
                outputs.push_back(model.add("Neg", {parts}));
            const Rewritten result = rewritten(model.build(outputs), "map-before-split");
            QCOMPARE(result.found, std::size_t(besides ? 0 : 1));
            QCOMPARE(result.problem, std::string());
        }
    }
    void differentNumbersAreNotJoined() {
        for (const bool same : {false, true}) {
            Model model;
            const ValueId two = model.number(2), three = model.number(3);
            const ValueId a = model.add("Mul", {model.input({2, 3}), two}), b = model.add("Mul", {model.input({4, 3}), same ? two : three});
            const Rewritten result = rewritten(model.build({model.add("Concat", {a, b, a}, {{"axis", std::int64_t(0)}})}), "join-maps");
            QCOMPARE(result.found, std::size_t(same ? 1 : 0));
            QCOMPARE(result.problem, std::string());
        }
    }

    void geluIsRecognized_data() {
        QTest::addColumn<int>("opset");
        QTest::addColumn<double>("root");
        QTest::addColumn<int>("found");
        QTest::newRow("opset 20") << 20 << std::numbers::sqrt2 << 1;
        QTest::newRow("as text") << 20 << 1.41421 << 1;
        QTest::newRow("opset 17") << 17 << std::numbers::sqrt2 << 0;
        QTest::newRow("another number") << 20 << 1.5 << 0;
    }
    void geluIsRecognized() {
        QFETCH(int, opset);
        QFETCH(double, root);
        QFETCH(int, found);
        Model model(opset);
        const ValueId x = model.input({3, 4});
        const ValueId inside = model.add("Add", {model.add("Erf", {model.add("Div", {x, model.number(static_cast<float>(root))})}), model.number(1)});
        const Rewritten result = rewritten(model.build({model.add("Mul", {model.add("Mul", {x, inside}), model.number(0.5)})}), "recognize-gelu");
        QCOMPARE(result.found, std::size_t(found));
        QCOMPARE(result.problem, std::string());
        if (found)
            QCOMPARE(result.graph->nodeCount(), std::size_t(1));
    }

    // In double precision a root of 2 of six digits is another number.
    void geluOfDoublesIsRecognized() {
        for (const double root : {std::numbers::sqrt2, 1.41421}) {
            Model model(20);
            const auto number = [&](double value) { return model.graph.addConstant("", Tensor::scalar(value)); };
            const ValueId x = model.graph.addInput("x", TensorType(DType::f64, Shape{3, 4}));
            const ValueId inside = model.add("Add", {model.add("Erf", {model.add("Div", {x, number(root)})}), number(1)});
            const Rewritten result = rewritten(model.build({model.add("Mul", {model.add("Mul", {x, inside}), number(0.5)})}), "recognize-gelu");
            QCOMPARE(result.found, std::size_t(root == std::numbers::sqrt2 ? 1 : 0));
            QCOMPARE(result.problem, std::string());
        }
    }

    void layerNormIsRecognized() {
        Model model;
        const ValueId x = model.input({2, 5, 6});
        const Rewritten result = rewritten(model.build({layerNorm(model, x)}), "recognize-layer-norm");
        QCOMPARE(result.found, std::size_t(1));
        QCOMPARE(result.problem, std::string());
        QCOMPARE(result.graph->nodeCount(), std::size_t(1));
        QCOMPARE(result.node("LayerNormalization").floatAttr("epsilon", 0), 1e-3F);
    }
    void whatIsNearlyALayerNormStays() {
        const std::vector<std::tuple<Ints, float, int>> cases{{{1}, 2.0F, 17}, {{-1}, 3.0F, 17}, {{0, 2}, 2.0F, 17}, {{-1}, 2.0F, 13}};
        for (const auto& [axes, power, opset] : cases) {
            Model model(opset);
            const ValueId x = model.input({6, 6, 6});
            QCOMPARE(rewritten(model.build({layerNorm(model, x, {axes, power, 1e-3F})}), "recognize-layer-norm").found, std::size_t(0));
        }
    }

    void groupsMergeInPairs_data() {
        QTest::addColumn<int>("groups");
        QTest::addColumn<int>("opset");
        QTest::addColumn<int>("found");
        QTest::newRow("2") << 2 << 17 << 1;
        QTest::newRow("6") << 6 << 17 << 1;
        QTest::newRow("6, old opset") << 6 << 9 << 1;
        QTest::newRow("depthwise") << 12 << 17 << 1;
        QTest::newRow("1") << 1 << 17 << 0;
        QTest::newRow("3") << 3 << 17 << 0;
    }
    void groupsMergeInPairs() {
        QFETCH(int, groups);
        QFETCH(int, opset);
        QFETCH(int, found);
        Model model(opset);
        const ValueId y = model.add("Conv", {model.input({1, 12, 5, 5}), model.weight({24, 12 / groups, 3, 2}), model.weight({24})},
                                    {{"group", std::int64_t(groups)}, {"pads", Ints{1, 0, 0, 1}}, {"dilations", Ints{1, 2}}});
        const Rewritten result = rewritten(model.build({y}), "merge-groups");
        QCOMPARE(result.found, std::size_t(found));
        QCOMPARE(result.problem, std::string());
        if (found)
            QCOMPARE(result.node("Conv").intAttr("group", 0), std::int64_t(groups / 2));
    }
};

QTEST_APPLESS_MAIN(WrittenMotion)
#include "tst_written_motion.moc"
