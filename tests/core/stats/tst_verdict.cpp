// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/stats/verdict.h"
#include "two_modes.h"
#include <QTest>
#include <cmath>

using namespace tunesmith;
using namespace tunesmith::testing;

class TestVerdict : public QObject {
    Q_OBJECT

    static PairedRatio ratioOf(double low, double middle, double high, std::size_t pairs = 100) {
        PairedRatio ratio;
        ratio.pairs = pairs;
        ratio.quantile = 0.05;
        ratio.lowA = 1;
        ratio.lowB = middle;
        ratio.ratioLow = low;
        ratio.ratio = middle;
        ratio.ratioHigh = high;
        return ratio;
    }

private slots:
    void wording_data() {
        QTest::addColumn<double>("low");
        QTest::addColumn<double>("middle");
        QTest::addColumn<double>("high");
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("text");
        const auto row = [](double low, double middle, double high, const char* name, const char* text) {
            QTest::newRow(text) << low << middle << high << name << text;
        };
        row(1 / 1.05, 1 / 1.04, 1 / 1.03, "faster", "B is 3 to 5 % faster");
        row(1.03, 1.04, 1.05, "slower", "B is 3 to 5 % slower");
        row(1.032, 1.034, 1.039, "slower", "B is 3.2 to 3.9 % slower");
        row(1.0401, 1.0402, 1.0403, "slower", "B is about 4.0 % slower");
        row(1.002, 1.02, 1.05, "slower", "B is 0.2 to 5.0 % slower");
        row(1.40, 1.7, 2.1, "slower", "B is 40 to 110 % slower");
        row(1 / 2.4, 1 / 2.2, 1 / 2.1, "faster", "B is 2.1 to 2.4 times as fast");
        row(12, 13, 14, "slower", "B is 12 to 14 times as slow");
        row(0.995, 1, 1.004, "same", "A and B are equally fast within 1 %");
        row(1.002, 1.004, 1.006, "same", "A and B are equally fast within 1 %");
    }
    void wording() {
        QFETCH(double, low);
        QFETCH(double, middle);
        QFETCH(double, high);
        QFETCH(QString, name);
        QFETCH(QString, text);
        const Verdict verdict = judge(ratioOf(low, middle, high));
        QCOMPARE(QString(verdictName(verdict.kind)), name);
        QCOMPARE(QString::fromStdString(verdict.text), text);
        QCOMPARE(verdict.more, std::size_t(0));
        QCOMPARE(verdict.ratio, middle);
        QCOMPARE(verdict.ratioLow, low);
        QCOMPARE(verdict.ratioHigh, high);
    }

    void namesAndTolerance() {
        VerdictOptions options;
        options.nameA = "untuned";
        options.nameB = "tuned";
        options.tolerance = 0.1;
        QCOMPARE(judge(ratioOf(0.95, 1, 1.05), options).text,
                 std::string("untuned and tuned are equally fast within 10 %"));
        QCOMPARE(judge(ratioOf(0.5, 0.6, 0.8), options).text, std::string("tuned is 25 to 100 % faster"));
    }

    void cannotTellAsksForMore() {
        const Verdict wide = judge(ratioOf(0.9, 0.97, 1.05)), narrow = judge(ratioOf(0.96, 0.97, 1.001));
        QCOMPARE(int(wide.kind), int(VerdictKind::cannotTell));
        QCOMPARE(wide.text, "cannot tell, measure " + std::to_string(wide.more) + " more");
        QVERIFY(wide.more > narrow.more && narrow.more >= 25);
        QVERIFY(judge(ratioOf(0.5, 1, 2)).more <= 100000);
        QVERIFY(judge(ratioOf(0.001, 1, 1000, 5000)).more <= 100000);
    }

    void tooFewPairs() {
        const std::vector<double> few(5, 1.0), none, other(6, 1.0);
        const auto verdict = judgePaired(few, few);
        QVERIFY(verdict.ok());
        QCOMPARE(int(verdict->kind), int(VerdictKind::cannotTell));
        QCOMPARE(verdict->text, std::string("cannot tell, measure 15 more"));
        QCOMPARE(judgePaired(none, none)->more, kMinimumPairs);
        QVERIFY(!judgePaired(few, other).ok());
    }

    // The slow mode falls on A in one case and on B in the other: the means say the opposite of the truth.
    void rightWhereMeansAreWrong() {
        int meanWrong = 0;
        for (std::uint64_t seed = 0; seed < 40; ++seed) {
            // A is 5 % faster, but more of its blocks fall into slow episodes
            TwoModeMachine quiet(seed, 0.2), busy(seed + 500, 0.8);
            std::vector<double> a, b;
            for (int i = 0; i < 400; ++i) {
                a.push_back(busy.run(0.00095));
                b.push_back(quiet.run(0.001));
            }
            meanWrong += mean(a) > mean(b);
            const auto verdict = judgePaired(a, b);
            QVERIFY(verdict.ok());
            QVERIFY2(verdict->kind == VerdictKind::slower || verdict->kind == VerdictKind::cannotTell,
                     qPrintable(QString("seed %1: ").arg(seed) + QString::fromStdString(verdict->text)));
        }
        QVERIFY2(meanWrong >= 35, "the series do not mislead the mean: the test proves nothing");
    }

    void decidesTwoModeSeries_data() {
        QTest::addColumn<double>("truth");
        QTest::addColumn<int>("kind");
        QTest::newRow("5 % faster") << 1 / 1.05 << int(VerdictKind::faster);
        QTest::newRow("4 % slower") << 1.04 << int(VerdictKind::slower);
        QTest::newRow("equal") << 1.0 << int(VerdictKind::same);
        QTest::newRow("twice as fast") << 0.5 << int(VerdictKind::faster);
    }
    void decidesTwoModeSeries() {
        QFETCH(double, truth);
        QFETCH(int, kind);
        int right = 0, wrong = 0;
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            TwoModeMachine machine(seed);
            const auto [a, b] = interleaved(machine, 0.0005, 0.0005 * truth, 400);
            const auto verdict = judgePaired(a, b);
            QVERIFY(verdict.ok());
            right += int(verdict->kind) == kind;
            wrong += int(verdict->kind) != kind && verdict->kind != VerdictKind::cannotTell;
        }
        QVERIFY2(right >= 48, qPrintable(QString("right %1 of 60").arg(right)));
        QVERIFY2(wrong <= 3, qPrintable(QString("wrong %1 of 60").arg(wrong)));
    }

    // Measuring as often as the verdict asks for ends with a decision, and the number was of the right size.
    void followingTheAdviceEnds() {
        int decided = 0;
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            TwoModeMachine machine(seed);
            auto [a, b] = interleaved(machine, 0.0005, 0.0005 * 1.03, 20);
            for (int round = 0; round < 6; ++round) {
                const auto verdict = judgePaired(a, b);
                QVERIFY(verdict.ok());
                if (verdict->kind != VerdictKind::cannotTell) {
                    decided += verdict->kind == VerdictKind::slower;
                    break;
                }
                const auto more = interleaved(machine, 0.0005, 0.0005 * 1.03,
                                              int(std::min<std::size_t>(verdict->more, 2000)));
                a.insert(a.end(), more.first.begin(), more.first.end());
                b.insert(b.end(), more.second.begin(), more.second.end());
            }
        }
        QVERIFY2(decided >= 18, qPrintable(QString("decided rightly %1 of 20").arg(decided)));
    }
};

QTEST_GUILESS_MAIN(TestVerdict)
#include "tst_verdict.moc"
