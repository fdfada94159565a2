// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/rng.h"

#include <QTest>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace tunesmith;

// The known answers are those of the authors' C code (prng.di.unimi.it: splitmix64.c, xoshiro256starstar.c).
class TestRng : public QObject {
    Q_OBJECT
private slots:
    void generatorMatchesTheReference() {
        Rng rng(0);
        rng.setState({1, 2, 3, 4});
        for (const quint64 expected :
             {11520ull, 0ull, 1509978240ull, 1215971899390074240ull, 1216172134540287360ull})
            QCOMPARE(quint64(rng.next()), expected);
    }

    void seedingMatchesTheReference_data() {
        QTest::addColumn<quint64>("seed");
        QTest::addColumn<quint64>("firstStateWord");
        QTest::addColumn<quint64>("firstDraw");
        QTest::newRow("0") << quint64(0) << quint64(16294208416658607535u) << quint64(0x99ec5f36cb75f2b4);
        QTest::newRow("42") << quint64(42) << quint64(13679457532755275413u) << quint64(0x15780b2e0c2ec716);
        QTest::newRow("1234567") << quint64(1234567) << quint64(6457827717110365317u)
                                 << quint64(0x30a3a1c363600467);
        QTest::newRow("all ones") << ~quint64(0) << quint64(16490336266968443936u)
                                  << quint64(0x8f5520d52a7ead08);
    }
    void seedingMatchesTheReference() {
        QFETCH(quint64, seed);
        Rng rng(seed);
        QTEST(quint64(rng.state()[0]), "firstStateWord");
        QTEST(quint64(rng.next()), "firstDraw");
    }

    void sameSeedSameTrail() {
        Rng a(7);
        Rng b(7);
        Rng other(8);
        int differing = 0;
        for (int i = 0; i < 1000; ++i) {
            const auto draw = a.next();
            QCOMPARE(draw, b.next());
            differing += draw != other.next() ? 1 : 0;
        }
        QVERIFY(differing > 990);
    }

    void aCopyAndASavedStateRepeat() {
        Rng rng(3);
        rng.next();
        Rng copy = rng;
        Rng restored(99);
        restored.setState(rng.state());
        for (int i = 0; i < 10; ++i) {
            const auto draw = rng.next();
            QCOMPARE(copy.next(), draw);
            QCOMPARE(restored.next(), draw);
        }
    }

    void belowIsUniform_data() {
        QTest::addColumn<int>("bound");
        for (const int bound : {2, 3, 7, 10, 64, 1000})
            QTest::addRow("%d", bound) << bound;
    }
    // Pearson's chi-square against the uniform distribution; the limit is mean plus five deviations, and the seed is fixed.
    void belowIsUniform() {
        QFETCH(int, bound);
        const int draws = 200 * bound;
        std::vector<int> counts(static_cast<std::size_t>(bound));
        Rng rng(11);
        for (int i = 0; i < draws; ++i)
            ++counts.at(rng.below(static_cast<std::uint64_t>(bound)));
        double chiSquare = 0;
        for (const int count : counts)
            chiSquare += (count - 200.0) * (count - 200.0) / 200.0;
        const double freedom = bound - 1;
        QVERIFY2(chiSquare < freedom + 5 * std::sqrt(2 * freedom), qPrintable(QString::number(chiSquare)));
    }

    void belowStaysInside_data() {
        QTest::addColumn<quint64>("bound");
        QTest::newRow("one") << quint64(1);
        QTest::newRow("three") << quint64(3);
        QTest::newRow("over half of the range") << (quint64(1) << 63) + 1;
        QTest::newRow("largest") << ~quint64(0);
    }
    void belowStaysInside() {
        QFETCH(quint64, bound);
        Rng rng(5);
        for (int i = 0; i < 1000; ++i)
            QVERIFY(rng.below(bound) < bound);
    }

    // With bound 3 * 2^62, plain remainders would fall under 2^62 half of the time instead of a third.
    void belowIsUnbiasedForLargeBounds() {
        const std::uint64_t quarter = std::uint64_t(1) << 62;
        Rng rng(17);
        int low = 0;
        for (int i = 0; i < 30000; ++i)
            low += rng.below(3 * quarter) < quarter ? 1 : 0;
        QVERIFY2(std::abs(low - 10000) < 500, qPrintable(QString::number(low)));
    }

    void uniformFillsTheUnitInterval() {
        Rng rng(2);
        double sum = 0;
        double lowest = 1;
        double highest = 0;
        for (int i = 0; i < 100000; ++i) {
            const double draw = rng.uniform();
            QVERIFY(draw >= 0 && draw < 1);
            sum += draw;
            lowest = std::min(lowest, draw);
            highest = std::max(highest, draw);
        }
        QVERIFY(std::abs(sum / 100000 - 0.5) < 0.005);
        QVERIFY(lowest < 0.001 && highest > 0.999);
    }

    void uniformFloatExcludesTheUpperEnd() {
        Rng rng(4);
        for (int i = 0; i < 100000; ++i) {
            const float draw = rng.uniform(-2.0f, 3.0f);
            QVERIFY(draw >= -2.0f && draw < 3.0f);
        }
        const float next = std::nextafter(1.0f, 2.0f);
        for (int i = 0; i < 1000; ++i)
            QVERIFY(rng.uniform(1.0f, next) == 1.0f); // nothing else lies between the two
    }

    void normalHasItsMoments() {
        Rng rng(6);
        const int draws = 100000;
        double sum = 0;
        double squares = 0;
        for (int i = 0; i < draws; ++i) {
            const double draw = rng.normal();
            QVERIFY(std::isfinite(draw));
            sum += draw;
            squares += draw * draw;
        }
        QVERIFY(std::abs(sum / draws) < 0.02);
        QVERIFY(std::abs(squares / draws - 1) < 0.03);
    }

    void chanceKeepsItsOdds() {
        Rng rng(9);
        int hits = 0;
        for (int i = 0; i < 10000; ++i) {
            QVERIFY(!rng.chance(0));
            QVERIFY(rng.chance(1));
            hits += rng.chance(0.25) ? 1 : 0;
        }
        QVERIFY(std::abs(hits - 2500) < 250);
    }
};

QTEST_GUILESS_MAIN(TestRng)
#include "tst_rng.moc"
