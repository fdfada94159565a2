// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/equivalence.h"

#include <QTest>

#include <limits>

using namespace tunesmith;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor floats(const std::vector<float>& values) {
    return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

} // namespace

Q_DECLARE_METATYPE(std::vector<float>)

class TestEquivalence : public QObject {
    Q_OBJECT
private slots:
    void pairs_data() {
        using V = std::vector<float>;
        QTest::addColumn<V>("reference");
        QTest::addColumn<V>("other");
        QTest::addColumn<int>("worst"); // -2: equal
        QTest::newRow("same") << V{1, 2, 3} << V{1, 2, 3} << -2;
        QTest::newRow("inside relative") << V{1000, 1} << V{1000.9f, 1} << -2;
        QTest::newRow("outside relative") << V{1000, 1} << V{1001.5f, 1} << 0;
        QTest::newRow("small element, inside the scale") << V{100, 0.001f} << V{100, 0.009f} << -2;
        QTest::newRow("small element, outside the scale") << V{100, 0.001f} << V{100, 0.02f} << 1;
        QTest::newRow("zero met nearly, with scale") << V{1, 0} << V{1, 0.00009f} << -2;
        QTest::newRow("zero missed") << V{1, 0} << V{1, 0.0002f} << 1;
        QTest::newRow("all zero") << V{0, 0} << V{0, -0.0f} << -2;
        QTest::newRow("all zero missed") << V{0, 0} << V{0, 1e-30f} << 1;
        QTest::newRow("NaN meets NaN") << V{kNan, 1} << V{kNan, 1} << -2;
        QTest::newRow("NaN appears") << V{1, 1} << V{1, kNan} << 1;
        QTest::newRow("NaN vanishes") << V{1, kNan} << V{1, 1} << 1;
        QTest::newRow("infinity meets infinity") << V{kInf, -kInf, 1} << V{kInf, -kInf, 1} << -2;
        QTest::newRow("infinity of the other sign") << V{1, kInf} << V{1, -kInf} << 1;
        QTest::newRow("infinity appears") << V{1, 2} << V{kInf, 2} << 0;
        QTest::newRow("infinity does not widen the scale") << V{kInf, 1, 1} << V{kInf, 1, 1.5f} << 2;
        QTest::newRow("the worst of two") << V{1, 1, 1} << V{1.1f, 1.5f, 1.2f} << 1;
        QTest::newRow("nothing to compare") << V{} << V{} << -2;
    }
    void pairs() {
        QFETCH(std::vector<float>, reference);
        QFETCH(std::vector<float>, other);
        QFETCH(int, worst);
        for (const DType type : {DType::f32, DType::f64}) {
            const Difference difference =
                compareTensors(floats(reference).cast(type), floats(other).cast(type));
            QCOMPARE(difference.equal, worst == -2);
            QCOMPARE(difference.text.empty(), difference.equal);
            if (worst >= 0)
                QCOMPARE(difference.worst, std::int64_t{worst});
        }
    }

    void figures() {
        const Difference difference = compareTensors(floats({-4, 2, 0}), floats({-4, 2.5f, 0.25f}));
        QCOMPARE(difference.scale, 4.0);
        QCOMPARE(difference.maxAbs, 0.5);
        QCOMPARE(difference.maxRel, 0.25);
        QCOMPARE(difference.mismatches, std::int64_t{2});
        QCOMPARE(difference.worst, std::int64_t{2});
        QVERIFY2(difference.text.find("2 of 3 elements") != std::string::npos, difference.text.c_str());
    }

    void ownTolerance() {
        QVERIFY(!compareTensors(floats({1}), floats({1.05f})).equal);
        QVERIFY(compareTensors(floats({1}), floats({1.05f}), {.relative = 0.1}).equal);
    }

    void integersBoolsAndStringsMatchExactly() {
        const std::int64_t large = (std::int64_t{1} << 60) + 1; // as doubles the next two are the same
        QVERIFY(compareTensors(Tensor::ofInts({large}), Tensor::ofInts({large})).equal);
        QVERIFY(!compareTensors(Tensor::ofInts({large}), Tensor::ofInts({large + 1})).equal);
        QVERIFY(!compareTensors(Tensor::ofInts({100000}), Tensor::ofInts({100001})).equal);
        QVERIFY(!compareTensors(Tensor::scalar(true), Tensor::scalar(false)).equal);
        QVERIFY(compareTensors(Tensor::scalar(true), Tensor::scalar(true)).equal);
        QVERIFY(compareTensors(Tensor::ofStrings({1}, {"a"}), Tensor::ofStrings({1}, {"a"})).equal);
        QVERIFY(!compareTensors(Tensor::ofStrings({1}, {"a"}), Tensor::ofStrings({1}, {"b"})).equal);
    }

    void halfPrecision() {
        const auto half = [](float value) { return Tensor::scalar(floatToHalf(value)); };
        QVERIFY(compareTensors(half(1), half(1)).equal);
        QVERIFY(!compareTensors(half(1), half(1.01f)).equal);
        QVERIFY(compareTensors(half(kNan), half(kNan)).equal);
    }

    void typesAndShapesMustAgree() {
        QVERIFY(!compareTensors(floats({1, 2}), floats({1, 2}).reshaped({2, 1})).equal);
        QVERIFY(!compareTensors(floats({1}), floats({1}).cast(DType::f64)).equal);
        QVERIFY(!compareTensors(floats({1}), Tensor()).equal);
        QVERIFY(compareTensors(Tensor(), Tensor()).equal);
        const auto difference = compareTensors(floats({1, 2}), floats({1, 2}).reshaped({1, 2}));
        QCOMPARE(difference.text, std::string("is float32[1,2] instead of float32[2]"));
    }

    void lists() {
        const std::vector<Tensor> a{floats({1}), floats({2})}, b{floats({1}), floats({3})};
        const std::vector<std::string> names{"first", "second"};
        QVERIFY(requireEquivalent(a, a, names).ok());
        const Status differs = requireEquivalent(a, b, names);
        QVERIFY(!differs.ok());
        QVERIFY2(differs.error().message.find("output 'second' differs") != std::string::npos,
                 differs.error().message.c_str());
        QVERIFY(!requireEquivalent(a, std::vector<Tensor>{a[0]}).ok());
        QVERIFY(requireEquivalent({}, {}).ok());
    }
};

QTEST_GUILESS_MAIN(TestEquivalence)
#include "tst_equivalence.moc"
