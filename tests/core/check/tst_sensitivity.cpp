// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <cmath>
#include <limits>

#include "core/check/sensitivity.h"
#include "core/graph/graph_builder.h"

using namespace tunesmith;

namespace {

Tensor floats(const std::vector<float>& values) { return Tensor::of<float>({std::ssize(values)}, values); }

} // namespace

Q_DECLARE_METATYPE(Tensor)

class TestSensitivity : public QObject {
    Q_OBJECT

private slots:
    void nudgesFloatsALittleAndNothingElse() {
        const std::vector<Tensor> inputs{floats({1, -200, 0, 3e-30F}), Tensor::ofInts({1, 2}), Tensor::scalar(4.0)};
        const auto moved = nudgedInputs(inputs, 5);
        bool changed = false;
        for (std::int64_t i = 0; i < 4; ++i) {
            const double a = inputs[0].asDouble(i), b = moved[0].asDouble(i);
            QVERIFY(std::abs(a - b) <= 1.2e-6 * std::abs(a));
            changed = changed || a != b;
        }
        QVERIFY(changed);
        QCOMPARE(moved[0].asDouble(2), 0.0);
        QCOMPARE(moved[1].asInts(), inputs[1].asInts());
        QVERIFY(std::abs(moved[2].asDouble(0) - 4) <= 4e-6 && moved[2].asDouble(0) != 4);
        QCOMPARE(nudgedInputs(inputs, 5)[0].asDouble(1), moved[0].asDouble(1));
    }

    void nudgesAreOfTheSizeThatIsAskedFor_data() {
        QTest::addColumn<int>("type");
        QTest::addColumn<double>("largest");
        QTest::newRow("f32") << int(DType::f32) << 1e-3;
        QTest::newRow("f64") << int(DType::f64) << 1e-3;
        QTest::newRow("f16, by rounding at least") << int(DType::f16) << 2e-3;
        QTest::newRow("bf16, by rounding at least") << int(DType::bf16) << 1.6e-2;
    }
    void nudgesAreOfTheSizeThatIsAskedFor() {
        QFETCH(int, type);
        QFETCH(double, largest);
        const std::vector<Tensor> inputs{floats(std::vector<float>(500, 3.3F)).cast(DType(type))};
        const Tensor moved = nudgedInputs(inputs, 1, 1e-3)[0];
        double seen = 0;
        for (std::int64_t i = 0; i < moved.count(); ++i)
            seen = std::max(seen, std::abs(moved.asDouble(i) / inputs[0].asDouble(i) - 1));
        QVERIFY(seen > 3e-4 && seen <= largest);
    }

    void largestNumbersStayFinite() {
        const std::vector<Tensor> inputs{floats(std::vector<float>(50, std::numeric_limits<float>::max()))};
        const Tensor moved = nudgedInputs(inputs, 1)[0];
        for (std::int64_t i = 0; i < moved.count(); ++i)
            QVERIFY(std::isfinite(moved.asDouble(i)));
    }

    void weightsAreNudgedAndNothingElse() {
        GraphBuilder builder("net");
        builder.setOpset("", 17);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{2}));
        const ValueId sum = builder.add("Add", {x, builder.addConstant("w", floats({1, 2}))});
        builder.setOutputs({builder.add("Reshape", {sum, builder.addConstant("shape", Tensor::ofInts({2}))})});
        const Graph graph = *builder.build(), moved = *nudgedWeights(graph, 3);
        QVERIFY(moved.value(moved.findValue("w")).constant.asDouble(1) != 2);
        QVERIFY(std::abs(moved.value(moved.findValue("w")).constant.asDouble(1) - 2) < 3e-6);
        QCOMPARE(moved.value(moved.findValue("shape")).constant.asInts(), std::vector<std::int64_t>{2});
        QCOMPARE(moved.nodeCount(), graph.nodeCount());
    }

    // (-1)^2.000001 is no number.
    void exponentsStay() {
        GraphBuilder builder("g");
        builder.setOpset("", 17);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{2}));
        builder.setOutputs({builder.add("Mul", {builder.add("Pow", {x, builder.addConstant("two", floats({2, 2}))}), builder.addConstant("w", floats({1, 2}))})});
        const Graph moved = *nudgedWeights(*builder.build(), 3);
        QCOMPARE(moved.value(moved.findValue("two")).constant.asDouble(0), 2.0);
        QVERIFY(moved.value(moved.findValue("w")).constant.asDouble(0) != 1);
    }

    void deviationsHaveADistanceOrAShare_data() {
        QTest::addColumn<Tensor>("reference");
        QTest::addColumn<Tensor>("other");
        QTest::addColumn<double>("distance");
        QTest::addColumn<double>("share");
        QTest::addColumn<double>("outside");
        constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
        QTest::newRow("equal") << floats({1, 2}) << floats({1, 2}) << 0.0 << 0.0 << 0.0;
        QTest::newRow("to the scale") << floats({0, 4}) << floats({1, 4}) << 0.25 << 0.0 << 0.5;
        QTest::newRow("within the tolerance") << floats({0, 4}) << floats({0, 4.002F}) << 0.0005 << 0.0 << 0.0;
        QTest::newRow("NaN stays NaN") << floats({kNaN, 4}) << floats({kNaN, 4}) << 0.0 << 0.0 << 0.0;
        QTest::newRow("a NaN too many") << floats({1, 4}) << floats({kNaN, 4}) << 0.0 << 0.5 << 0.5;
        QTest::newRow("the other infinity") << floats({kInf, 4}) << floats({-kInf, 4}) << 0.0 << 0.5 << 0.5;
        QTest::newRow("integers") << Tensor::ofInts({1, 2, 3, 4}) << Tensor::ofInts({1, 2, 3, 99}) << 0.0 << 0.25 << 0.25;
        QTest::newRow("of zeros") << floats({0}) << floats({1e-9F}) << double(kInf) << 0.0 << 1.0;
        QTest::newRow("shape") << floats({0}) << floats({0, 0}) << double(kInf) << 0.0 << 1.0;
        QTest::newRow("empty") << floats({}) << floats({}) << 0.0 << 0.0 << 0.0;
    }
    void deviationsHaveADistanceOrAShare() {
        QFETCH(Tensor, reference);
        QFETCH(Tensor, other);
        QFETCH(double, distance);
        QFETCH(double, share);
        QFETCH(double, outside);
        const Deviation deviation = deviationOf(reference, other);
        QVERIFY(deviation.distance == distance || std::abs(deviation.distance - distance) < 1e-6);
        QCOMPARE(deviation.share, share);
        QCOMPARE(deviation.outside, outside);
    }

    void nudgesExplainWhatIsOutside_data() {
        QTest::addColumn<Tensor>("reference");
        QTest::addColumn<Tensor>("other");
        QTest::addColumn<Tensor>("nudged");
        QTest::addColumn<bool>("plain");
        QTest::addColumn<bool>("holds");
        const Tensor zeros = floats(std::vector<float>(99, 0)), a = floats({0, 100});
        std::vector<float> one(100, 0), other(100, 0), many(100, 5);
        one[0] = other[1] = 5;
        one[99] = other[99] = many[99] = 100;
        std::vector<float> base(100, 0);
        base[99] = 100;
        QTest::newRow("equal") << a << a << a << true << true;
        QTest::newRow("steady") << a << floats({0.02F, 100}) << floats({0.00001F, 100}) << false << false;
        QTest::newRow("ten times as much") << a << floats({0.09F, 100}) << floats({0.01F, 100}) << false << true;
        QTest::newRow("more than ten times") << a << floats({0.11F, 100}) << floats({0.01F, 100}) << false << false;
        QTest::newRow("beyond a hundredth") << a << floats({3, 100}) << floats({0.4F, 100}) << false << false;
        QTest::newRow("twice as much, grown") << a << floats({3, 100}) << floats({2, 100}) << false << true;
        QTest::newRow("another choice") << floats(base) << floats(one) << floats(other) << false << true;
        QTest::newRow("as large, everywhere") << floats(base) << floats(many) << floats(other) << false << false;
        QTest::newRow("integers that turn") << Tensor::ofInts({1, 2}) << Tensor::ofInts({1, 3}) << Tensor::ofInts({0, 2}) << false << true;
        QTest::newRow("integers that do not") << Tensor::ofInts({1, 2}) << Tensor::ofInts({1, 3}) << Tensor::ofInts({1, 2}) << false << false;
        QTest::newRow("NaN") << a << floats({0, std::numeric_limits<float>::quiet_NaN()}) << floats({50, 100}) << false << false;
        QTest::newRow("another shape") << a << zeros << zeros << false << false;
    }
    void nudgesExplainWhatIsOutside() {
        QFETCH(Tensor, reference);
        QFETCH(Tensor, other);
        QFETCH(Tensor, nudged);
        Agreement agreement;
        agreement.addDraw(std::vector{reference}, std::vector{other});
        agreement.addNudge(std::vector{reference}, std::vector{nudged});
        QTEST(agreement.plain(), "plain");
        QTEST(agreement.holds(), "holds");
        QCOMPARE(agreement.draws(), 1);
        QCOMPARE(agreement.text().empty(), agreement.plain());
    }

    void oneOutputDoesNotExcuseAnother() {
        const Tensor a = floats({0, 100}), moved = floats({3, 100});
        Agreement agreement;
        agreement.addDraw(std::vector{a, a}, std::vector{a, moved});
        agreement.addNudge(std::vector{a, a}, std::vector{moved, a});
        QVERIFY(!agreement.holds());
        QVERIFY(agreement.text().starts_with("output 1: "));
        QVERIFY(std::abs(agreement.difference() - 0.03) < 1e-6 && std::abs(agreement.nudged() - 0.03) < 1e-6);
        Agreement fewer;
        fewer.addDraw(std::vector{a, a}, std::vector{a});
        QVERIFY(!fewer.plain() && !fewer.holds());
    }
};

QTEST_APPLESS_MAIN(TestSensitivity)
#include "tst_sensitivity.moc"
