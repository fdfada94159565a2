// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <cmath>

#include "core/autotvm/loop_features.h"

using namespace tunesmith;
using namespace tunesmith::autotvm;

namespace {

// C[i][j] += A[i][k] * B[k][j], 128 each: what TVM's own test of its features takes.
LoopNest gemm() {
    LoopNest nest;
    nest.loops = {{"i", 128}, {"j", 128}, {"k", 128}};
    nest.accesses = {{"C", {128, 1, 0}}, {"A_0", {128, 0, 1}}, {"B_0", {0, 1, 128}}};
    nest.additions = nest.multiplications = 1;
    return nest;
}

std::vector<double> numbersOf(const TouchFeature& touch) {
    return {touch.stride, touch.mod, touch.count, touch.reuse, touch.threadCount, touch.threadReuse};
}

float logarithm(double x) {
    return static_cast<float>(x < 0 ? -std::log2(1 - x) : std::log2(1 + x));
}

} // namespace

class TestAutotvmFeatures : public QObject {
    Q_OBJECT

private slots:
    void golden() {
        QVERIFY(gemm().check().ok());
        const auto loops = loopFeatures(gemm());
        QCOMPARE(loops.size(), std::size_t{3});
        const std::vector<std::vector<double>> attributes{
            {128, 1, 128, 2097152}, {128, 2, 16384, 16384}, {128, 3, 2097152, 128}};
        const std::vector<std::vector<std::vector<double>>> touched{
            {{128, -1, 16384, 128, 0, 0}, {0, -1, 16384, 128, 0, 0}, {128, -1, 16384, 128, 0, 0}},
            {{0, -1, 128, 128, 0, 0}, {1, -1, 16384, 1, 0, 0}, {1, -1, 128, 128, 0, 0}},
            {{1, -1, 128, 1, 0, 0}, {128, -1, 128, 1, 0, 0}, {0, -1, 1, 128, 0, 0}}};
        const std::vector<std::string> names{"A_0", "B_0", "C"};
        for (std::size_t i = 0; i < 3; ++i) {
            const LoopFeature& loop = loops[i];
            QCOMPARE((std::vector<double>{loop.length, static_cast<double>(loop.nestLevel), loop.topdown,
                                          loop.bottomup}),
                     attributes[i]);
            QVERIFY(loop.kind == LoopKind::serial);
            QCOMPARE(loop.additions, i == 2 ? 1 : 0);
            QCOMPARE(loop.multiplications, i == 2 ? 1 : 0);
            QCOMPARE(loop.divisions, 0);
            QCOMPARE(loop.touched.size(), std::size_t{3});
            for (std::size_t access = 0; access < 3; ++access) {
                QCOMPARE(loop.touched[access].access, names[access]);
                QCOMPARE(numbersOf(loop.touched[access]), touched[i][access]);
            }
        }
        QCOMPARE(curveFeatures(gemm(), 30).size(), std::size_t{720});
        QCOMPARE(curveFeatures(gemm()).size(), std::size_t{480});
    }

    void flattened() {
        const auto out = itervarFeatures(gemm(), {1500, 0});
        QCOMPARE(out.size(), std::size_t{3 * (4 + 11 + 3 + 3 * 6) + 2});
        std::vector<float> expected{logarithm(128), 2, logarithm(16384), logarithm(16384)};
        expected.insert(expected.end(), {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}); // serial
        expected.insert(expected.end(), {0, 0, 0});
        for (const double x : {0, -1, 128, 128, 0, 0, 1, -1, 16384, 1, 0, 0, 1, -1, 128, 128, 0, 0})
            expected.push_back(logarithm(x));
        const std::vector<float> second(out.begin() + 36, out.begin() + 72);
        QCOMPARE(second, expected);
        QCOMPARE(second[19], -1.0f); // -log2(2): no modulo
        QCOMPARE(out[out.size() - 2], 1500.0f);
        QCOMPARE(out.back(), 0.0f);
    }

    // A row of 8 in two parts, by hand: x[4 * o + i] is read, y[o] written.
    void byHand() {
        LoopNest nest;
        nest.loops = {{"o", 2, LoopKind::parallel}, {"i", 4, LoopKind::vectorized}};
        nest.accesses = {{"x", {4, 1}}, {"y", {1, 0}, {-1, 7}}};
        const auto loops = loopFeatures(nest);
        QCOMPARE(numbersOf(loops[0].touched[0]), (std::vector<double>{4, -1, 8, 1, 0, 0}));
        QCOMPARE(numbersOf(loops[0].touched[1]), (std::vector<double>{1, -1, 2, 4, 0, 0}));
        QCOMPARE(numbersOf(loops[1].touched[1]), (std::vector<double>{0, 7, 1, 4, 0, 0}));
        // of x: counts 0, 2, 3; reuses 0, 0, 0; topdown 0, 1, 3
        const auto curve = curveFeatures(nest, 4);
        const std::vector<float> countToReuse{0, 0, 0, 1, 0, 0, 0, 0}, reuseToCount{3, 0, 3, 1, 3, 2, 3, 3},
            countToTopdown{0, 0, 0, 1, 1, 0, 3, 0}, topdownToCount{0, 0, 2, 0, 2, 1, 3, 0};
        QCOMPARE(std::vector<float>(curve.begin(), curve.begin() + 8), countToReuse);
        QCOMPARE(std::vector<float>(curve.begin() + 8, curve.begin() + 16), reuseToCount);
        QCOMPARE(std::vector<float>(curve.begin() + 16, curve.begin() + 24), countToTopdown);
        QCOMPARE(std::vector<float>(curve.begin() + 24, curve.begin() + 32), topdownToCount);
        const auto flat = itervarFeatures(nest);
        QCOMPARE(flat[4 + 8], 1.0f); // parallel
        QCOMPARE(flat[4 + 11 + 3 + 12 + 4 + 7], 1.0f);
    }

    void blocksAndThreads() {
        LoopNest nest;
        nest.loops = {{"b", 4, LoopKind::blockX}, {"t", 8, LoopKind::threadX}, {"k", 16}};
        nest.accesses = {{"x", {8, 1, 0}}, {"w", {0, 0, 1}}};
        const auto loops = loopFeatures(nest);
        // w: 16 elements, by every thread; x: one element for each
        QCOMPARE(numbersOf(loops[0].touched[0]), (std::vector<double>{0, -1, 16, 32, 1, 4}));
        QCOMPARE(numbersOf(loops[0].touched[1]), (std::vector<double>{8, -1, 32, 16, 4, 1}));
        QCOMPARE(numbersOf(loops[1].touched[1]), (std::vector<double>{1, -1, 8, 16, 0, 0}));
    }

    void edges() {
        LoopNest nothing;
        QVERIFY(nothing.check().ok());
        QVERIFY(loopFeatures(nothing).empty() && itervarFeatures(nothing).empty() &&
                curveFeatures(nothing).empty());
        LoopNest single;
        single.loops = {{"i", 1}};
        single.accesses = {{"x", {1}}};
        QCOMPARE(curveFeatures(single, 1), (std::vector<float>{0, 0, 0, 0, 0, 0, 0, 0}));
        QVERIFY(curveFeatures(single, 0).empty());
        LoopNest wrong = gemm();
        wrong.loops[1].extent = 0;
        QVERIFY(!wrong.check().ok());
        wrong = gemm();
        wrong.accesses[0].strides.pop_back();
        QVERIFY(!wrong.check().ok());
        wrong = gemm();
        wrong.accesses[0].mods = {1};
        QVERIFY(!wrong.check().ok());
        wrong = gemm();
        wrong.accesses[0].name = "A_0";
        QVERIFY(!wrong.check().ok());
    }

    void knobs() {
        const std::vector<KnobSetting> entity{{"tile", "sp", "[-1,2,4]"},
                                              {"order", "re", "[1,0]"},
                                              {"ann", "an", R"(["unroll","vthread","?"])"},
                                              {"step", "ot", "1500"},
                                              {"flag", "ot", "true"},
                                              {"word", "ot", "\"x\""}};
        std::vector<float> expected{-1, 2, 4, 1, 0};
        expected.insert(expected.end(), {0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0});
        expected.insert(expected.end(), {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0});
        expected.insert(expected.end(), {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
        expected.insert(expected.end(), {1500, 1, 0});
        QCOMPARE(knobFeatures(entity), expected);
        QVERIFY(knobFeatures({}).empty());
    }
};

QTEST_GUILESS_MAIN(TestAutotvmFeatures)
#include "tst_autotvm_features.moc"
