// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/widgets/quiet_test.h"
#include "widgets/base/theme.h"
#include "widgets/tune/plot_style.h"
#include "widgets/tune/strategy_plot.h"
#include <cmath>
#include <qcustomplot.h>

using namespace tunesmith;

namespace {

StrategyRun run(const QString& strategy, int category, QVector<QPointF> best, int trials = 20, qint64 id = 1) {
    return {strategy, category, id, trials, 1, std::move(best)};
}

const StrategyRun kRandom = run("Random", 1, {{1, 8}, {5, 4}});
const StrategyRun kGuided = run("Model-guided", 0, {{1, 8}, {3, 2}}, 30, 2);

int legendEntries(const StrategyPlot& plot) {
    int count = 0;
    for (int i = 0; i < plot.plot()->legend->itemCount(); ++i) // an uneven number leaves a place empty
        count += plot.plot()->legend->item(i) != nullptr;
    return count;
}

} // namespace

class StrategyPlotTest : public QObject {
    Q_OBJECT
private slots:
    void init() {
        QuietTest::start();
        Theme::instance().setMode(Theme::Mode::light);
    }
    void cleanup() { QuietTest::finish(); }

    void totalsPutRunsTogether() {
        const auto totals = strategyTotals({kRandom, kGuided, run("Random", 1, {{2, 3}}), run("Random", 1, {})});
        QCOMPARE(totals.size(), 2);
        QCOMPARE(totals[0].strategy, QString("Model-guided")); // by category: the same everywhere
        QCOMPARE(totals[1].runs, 3);
        QCOMPARE(totals[1].bestMs, 3.0);
        QVERIFY2(totals[1].text().contains("runs: 3") && totals[1].text().contains("3.00 ms"), qPrintable(totals[1].text()));
        QVERIFY(std::isnan(strategyTotals({run("Random", 1, {})}).front().bestMs));
        QVERIFY(strategyTotals({}).isEmpty());
    }

    void curves_data() {
        QTest::addColumn<QVector<QPointF>>("best");
        QTest::addColumn<int>("most");
        QTest::addColumn<QVector<QPointF>>("expected");
        using Points = QVector<QPointF>;
        QTest::newRow("reaches to its end") << Points{{1, 8}, {5, 4}} << 100 << Points{{1, 8}, {5, 4}, {20, 4}};
        QTest::newRow("ends where it falls") << Points{{1, 8}, {20, 4}} << 100 << Points{{1, 8}, {20, 4}};
        QTest::newRow("thinned") << Points{{1, 9}, {2, 8}, {3, 7}, {4, 6}, {20, 5}} << 3 << Points{{1, 9}, {3, 7}, {20, 5}};
        QTest::newRow("at least both ends") << Points{{1, 9}, {2, 8}, {20, 5}} << 0 << Points{{1, 9}, {20, 5}};
        QTest::newRow("nothing") << Points{} << 100 << Points{};
        QTest::newRow("no times") << Points{{1, kUnknown}, {2, 0}, {3, -1}, {kUnknown, 3}, {4, INFINITY}} << 100 << Points{};
    }
    void curves() {
        QFETCH(QVector<QPointF>, best);
        QFETCH(int, most);
        QFETCH(QVector<QPointF>, expected);
        QCOMPARE(curvePoints(run("Random", 0, best), most), expected);
    }

    void aFewOfManyRunsAreDrawn() {
        QVector<StrategyRun> runs{run("Random", 1, {{1, 0.5}}), kGuided};
        for (int i = 0; i < 500; ++i)
            runs.push_back(kRandom);
        const auto drawn = runsToDraw(runs, 10);
        QCOMPARE(drawn.size(), 10);
        QVERIFY(drawn.contains(0) && drawn.contains(1) && drawn.contains(501) && !drawn.contains(400));
        QVERIFY(std::is_sorted(drawn.begin(), drawn.end()));
        QCOMPARE(runsToDraw({kRandom, kGuided}, 10), (QVector<int>{0, 1}));
        QVERIFY(runsToDraw({}, 10).isEmpty());
    }

    void comparesTwoStrategies() {
        StrategyPlot plot;
        plot.resize(500, 300);
        plot.show();
        QVERIFY(plot.title().startsWith("Choose") && !plot.plot()->isVisible());
        plot.setRuns({kRandom, kGuided, run("Random", 1, {{1, 5}}, 10, 3)});
        QCOMPARE(plot.lines(), 3);
        QCOMPARE(legendEntries(plot), 2);
        QVERIFY(plot.plot()->isVisible());
        QVERIFY2(plot.title().contains("every strategy"), qPrintable(plot.title()));
        QVERIFY(plot.accessibleDescription().contains("Random (runs: 2"));
        const auto* random = plot.plot()->graph(0);
        const auto* guided = plot.plot()->graph(1);
        QCOMPARE(random->pen().color(), plot.plot()->graph(2)->pen().color());
        QVERIFY(random->pen().color() != guided->pen().color() && random->pen().style() != guided->pen().style());
        QVERIFY(plot.plot()->yAxis->range().contains(2) && plot.plot()->yAxis->range().contains(8));
        QVERIFY(plot.plot()->xAxis->range().contains(30));
        const QColor light = random->pen().color();
        Theme::instance().setMode(Theme::Mode::dark);
        QVERIFY(plot.plot()->graph(0)->pen().color() != light);
    }

    void saysWhatIsMissing() {
        StrategyPlot plot;
        plot.setRuns({});
        QVERIFY2(plot.title().startsWith("No run"), qPrintable(plot.title()));
        plot.setRuns({kGuided});
        QVERIFY2(plot.title().startsWith("Only Model-guided"), qPrintable(plot.title()));
        QCOMPARE(plot.lines(), 1);
        plot.setRuns({run("Random", 1, {}), run("Grid", 2, {{1, kUnknown}})});
        QVERIFY2(plot.title().contains("failed"), qPrintable(plot.title()));
        QCOMPARE(plot.lines(), 0);
        plot.setRuns({kRandom, run("Grid", 2, {})}); // one that has no times is named, not drawn
        QCOMPARE(legendEntries(plot), 1);
        QVERIFY(plot.accessibleDescription().contains("Grid"));
        plot.showMessage("the store is gone");
        QCOMPARE(plot.accessibleDescription(), QString("the store is gone"));
        QCOMPARE(plot.lines(), 0);
    }

    void namesTheNearestLine() {
        StrategyPlot plot;
        plot.resize(500, 300);
        plot.show();
        plot.setRuns({kRandom, kGuided});
        QTest::qWait(50);
        const auto at = [&](double trial, double ms) {
            return QPoint(qRound(plot.plot()->xAxis->coordToPixel(trial)), qRound(plot.plot()->yAxis->coordToPixel(ms)));
        };
        QVERIFY(plot.nearest(at(20, 2)));
        QCOMPARE(plot.nearest(at(20, 2))->strategy, QString("Model-guided"));
        QVERIFY(!plot.nearest(at(25, 6)));
        QVERIFY2(plot.runText(kRandom).contains("trials: 20"), qPrintable(plot.runText(kRandom)));
    }

    void manyRunsAreDrawnInTime() {
        QVector<StrategyRun> runs;
        for (int i = 0; i < 2000; ++i) {
            QVector<QPointF> best;
            for (int k = 0; k < 500; ++k)
                best.push_back({k + 1.0, 1000.0 / (k + 1 + i % 7)});
            runs.push_back(run(QString("Strategy %1").arg(i % 5), i % 5, best, 100000, i));
        }
        StrategyPlot plot;
        plot.resize(500, 300);
        plot.setRuns(runs);
        QCOMPARE(plot.lines(), StrategyPlot::kMostLines);
        int points = 0;
        for (int i = 0; i < plot.plot()->graphCount(); ++i)
            points += plot.plot()->graph(i)->dataCount();
        QVERIFY2(points <= kPlotDots + StrategyPlot::kMostLines, qPrintable(QString::number(points)));
        QVERIFY2(plot.title().contains("2000"), qPrintable(plot.title()));
        QCOMPARE(legendEntries(plot), 5);
        QCOMPARE(plot.plot()->legend->columnCount(), 2);
        plot.setRuns({kRandom, kGuided});
        QCOMPARE(legendEntries(plot), 2);
        QCOMPARE(plot.plot()->legend->columnCount(), 1);
    }
};

QTEST_MAIN(StrategyPlotTest)
#include "tst_strategy_plot.moc"
