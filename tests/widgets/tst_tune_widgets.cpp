// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/widgets/quiet_test.h"
#include "widgets/base/table_copy.h"
#include "widgets/base/theme.h"
#include "widgets/tune/budget_form.h"
#include "widgets/tune/convergence_plot.h"
#include "widgets/tune/plot_style.h"
#include "widgets/tune/kernel_view.h"
#include "widgets/tune/predicted_plot.h"
#include "widgets/tune/roofline_plot.h"
#include "widgets/tune/workload_delegates.h"
#include "widgets/tune/workload_table.h"
#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QElapsedTimer>
#include <QHeaderView>
#include <QSignalSpy>
#include <QSpinBox>
#include <cmath>
#include <qcustomplot.h>

using namespace tunesmith;

namespace {

WorkloadEntry workload(const QString& key, double best, int done = 10) {
    WorkloadEntry row;
    row.key = key;
    row.name = "conv " + key;
    row.op = "Conv";
    row.shape = "1x64x56x56";
    row.space = 1e6;
    row.done = done;
    row.budget = 64;
    row.firstMs = 4;
    row.bestMs = best;
    row.gflops = 20;
    row.state = WorkloadState::running;
    row.bestSoFar = {4, 3, best};
    return row;
}

QVector<TrialPoint> trials(int from, int count, double start = 10) {
    QVector<TrialPoint> result;
    for (int i = from; i < from + count; ++i) {
        TrialPoint trial;
        trial.index = i;
        trial.failed = i % 10 == 9;
        trial.ms = trial.failed
                       ? kUnknown
                       : start * (0.3 + 0.7 * std::exp(-i / 50.0)) * (1 + 0.4 * ((i * 37) % 11) / 10.0);
        trial.predicted = trial.ms * (1 + 0.1 * ((i * 13) % 7));
        result.push_back(trial);
    }
    return result;
}

QString keyAt(const WorkloadTable& table, int row) {
    return table.model()->index(row, 0).data(kRowKeyRole).toString();
}

} // namespace

class TuneWidgetsTest : public QObject {
    Q_OBJECT
private slots:
    void init() {
        QuietTest::start();
        Theme::instance().setMode(Theme::Mode::light);
    }
    void cleanup() { QuietTest::finish(); }

    void modelIsSound() {
        WorkloadModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setRows({workload("a", 1), workload("b", kUnknown)});
        model.setRows({workload("a", 0.5), workload("b", 2), workload("c", 3)});
        model.setRows({});
        model.setRows({workload("x", 1)});
        QCOMPARE(model.rowCount(), 1);
        QCOMPARE(model.index(0, WorkloadModel::trials).data().toString(), QString("10 / 64"));
        QVERIFY(model.index(0, WorkloadModel::speedup).data().toString().startsWith("4.00"));
        for (int column = 0; column < model.columnCount(); ++column)
            QVERIFY(!model.headerData(column, Qt::Horizontal, Qt::WhatsThisRole).toString().isEmpty());
    }

    void unchangedUnknownsAreQuiet() {
        WorkloadModel model;
        model.setRows({workload("a", kUnknown)});
        QSignalSpy spy(&model, &QAbstractItemModel::dataChanged);
        model.setRows({workload("a", kUnknown)});
        QCOMPARE(spy.count(), 0);
    }

    void tableSortsAndKeepsTheSelection() {
        WorkloadTable table;
        QSignalSpy spy(&table, &WorkloadTable::currentKeyChanged);
        table.setRows({workload("a", 3), workload("b", 1), workload("c", kUnknown)});
        QCOMPARE(keyAt(table, 0), QString("a"));
        table.setCurrentKey("b");
        QCOMPARE(table.currentKey(), QString("b"));
        QCOMPARE(spy.last()[0].toString(), QString("b"));
        table.sortByColumn(WorkloadModel::best, Qt::AscendingOrder);
        QCOMPARE(keyAt(table, 0), QString("b"));
        QCOMPARE(keyAt(table, 2), QString("c"));
        table.setRows({workload("a", 0.5), workload("b", 1), workload("c", kUnknown)});
        QCOMPARE(keyAt(table, 0), QString("a"));
        QCOMPARE(table.currentKey(), QString("b"));
        table.setRows({workload("b", 1), workload("z", 2)});
        QCOMPARE(table.currentKey(), QString("b"));
        QVERIFY(tableAsTsv(table).contains("conv b\tConv"));
        table.setCurrentKey("unknown");
        QVERIFY(table.currentKey().isEmpty());
    }

    void tablePaintsItsBars() {
        WorkloadTable table;
        table.resize(1400, 200);
        table.setRows({workload("a", 3, 32), workload("b", 1, 64)});
        const auto image = table.grab().toImage();
        const auto bar = Theme::mix(Theme::instance().color(Theme::Role::accent),
                                    Theme::instance().color(Theme::Role::surface), 0.55);
        int blue = 0;
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x)
                blue += image.pixelColor(x, y).rgb() == bar.rgb();
        QVERIFY2(blue > 300, qPrintable(QString::number(blue)));
    }

    void sparklines() {
        const QRectF area(0, 0, 100, 20);
        const auto line = sparkline({8, 4, 2}, area);
        QCOMPARE(line.first(), QPointF(0, 0));
        QCOMPARE(line.last(), QPointF(100, 20));
        QVERIFY(std::abs(line[2].y() - 10) < 1e-9);
        QVERIFY(sparkline({}, area).isEmpty());
        QVERIFY(sparkline({1}, area).isEmpty());
        QVERIFY(sparkline({kUnknown, -1}, area).isEmpty());
        QCOMPARE(sparkline({3, 3, 3}, area).last().y(), 10.0);
        QVERIFY(sparkline(QVector<double>(100000, 5.0), area).size() <= 210);
    }

    void numbers_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("expected");
        QTest::newRow("ms") << msText(1.236) << "1.24 ms";
        QTest::newRow("µs") << msText(0.0125) << "12.5 µs";
        QTest::newRow("s") << msText(2500) << "2.50 s";
        QTest::newRow("unknown") << msText(kUnknown) << "–";
        QTest::newRow("small space") << spaceText(512) << "512";
        QTest::newRow("space") << spaceText(1.2e6) << "1.20 M";
    }
    void numbers() {
        QFETCH(QString, text);
        QTEST(text, "expected");
    }

    void ranks_data() {
        QTest::addColumn<QVector<double>>("a");
        QTest::addColumn<QVector<double>>("b");
        QTest::addColumn<double>("expected");
        QTest::newRow("same order") << QVector<double>{1, 2, 3} << QVector<double>{10, 200, 3000} << 1.0;
        QTest::newRow("opposite") << QVector<double>{1, 2, 3} << QVector<double>{3, 2, 1} << -1.0;
        QTest::newRow("ties") << QVector<double>{1, 2, 2, 3} << QVector<double>{1, 2, 3, 4}
                              << 4.5 / std::sqrt(4.5 * 5.0);
        QTest::newRow("constant") << QVector<double>{1, 1} << QVector<double>{3, 2} << std::nan("");
        QTest::newRow("one") << QVector<double>{1} << QVector<double>{3} << std::nan("");
    }
    void ranks() {
        QFETCH(QVector<double>, a);
        QFETCH(QVector<double>, b);
        QFETCH(double, expected);
        const double rho = rankCorrelation(a, b);
        QVERIFY(std::isnan(expected) ? std::isnan(rho) : std::abs(rho - expected) < 1e-12);
    }

    void convergenceFallsAndReaches() {
        ConvergencePlot plot;
        plot.resize(600, 400);
        plot.setSeries({{"a", "conv1"}, {"b", "conv2"}});
        plot.addTrials("a", trials(0, 60));
        plot.addTrials("a", trials(60, 41));
        plot.addTrials("unknown", trials(0, 5));
        QTRY_VERIFY(plot.replots() >= 2);
        const auto* best = plot.plot()->graph(2);
        QCOMPARE(best->name(), QString("conv1"));
        QTRY_COMPARE((best->data()->constEnd() - 1)->key, 100.0);
        double last = 1e9;
        for (auto it = best->data()->constBegin(); it != best->data()->constEnd(); ++it) {
            QVERIFY(it->value <= last);
            last = it->value;
        }
        QCOMPARE(plot.plot()->graph(1)->dataCount(), 10);
        QVERIFY(plot.accessibleDescription().contains("conv1"));
    }

    void convergenceIsThrottledAndThinned() {
        ConvergencePlot plot;
        plot.resize(600, 400);
        plot.setSeries({{"a", "conv1"}});
        plot.setSeries({{"a", "conv1"}});
        QElapsedTimer timer;
        timer.start();
        for (int i = 0; i < 300; ++i) {
            plot.addTrials("a", trials(i * 100, 100));
            if (i % 50 == 0)
                QTest::qWait(1);
        }
        const int most = static_cast<int>(timer.elapsed() / kPlotIntervalMs) + 3;
        QVERIFY2(plot.replots() <= most, qPrintable(QString::number(plot.replots())));
        QVERIFY(plot.dots() <= kPlotDots);
        QVERIFY(plot.dots() > kPlotDots / 4);
        plot.clear();
        QCOMPARE(plot.plot()->graphCount(), 0);
    }

    // A store from elsewhere has any number of trials and workloads, and numbers them as it likes.
    void convergenceOfForeignTrials() {
        ConvergencePlot plot;
        QVector<PlotSeries> series;
        for (int i = 0; i < 20'000; ++i)
            series.push_back({QString::number(i), QStringLiteral("layer")});
        plot.setSeries(series);
        QCOMPARE(plot.plot()->graphCount(), 3 * ConvergencePlot::kMostLines);
        plot.addTrials("19999", trials(0, 10)); // of one that has no line
        for (const bool failed : {false, true}) {
            QVector<TrialPoint> points;
            for (int i = 0; i < 200'000; ++i)
                points.push_back({i % 2 == 0 ? 0 : 1'000'000 - i, 5.0, failed, kUnknown});
            plot.addTrials("0", points);
        }
        for (int line = 0; line < 2; ++line)
            QVERIFY(plot.plot()->graph(line)->dataCount() > 0 && plot.plot()->graph(line)->dataCount() <= 100);
    }

    void currentSeriesComesToTheFront() {
        ConvergencePlot plot;
        plot.setSeries({{"a", "conv1"}, {"b", "conv2"}});
        plot.setCurrent("b");
        QVERIFY(plot.plot()->graph(5)->pen().widthF() > plot.plot()->graph(2)->pen().widthF());
        QVERIFY(!plot.plot()->graph(0)->visible());
        plot.setCurrent("");
        QCOMPARE(plot.plot()->graph(5)->pen().widthF(), plot.plot()->graph(2)->pen().widthF());
    }

    void predictedCountsWhatItCan() {
        PredictedMeasuredPlot plot;
        plot.resize(400, 400);
        QVERIFY(std::isnan(plot.correlation()));
        QVERIFY(!plot.title().isEmpty());
        auto points = trials(0, 100);
        points.push_back({100, 5.0, false, kUnknown});
        plot.addTrials(points);
        QCOMPARE(plot.dots(), 90);
        QVERIFY(plot.correlation() > 0.7);
        QVERIFY(plot.title().contains("90"));
        plot.addTrials(trials(100, 20000));
        QVERIFY(plot.dots() <= kPlotDots);
        QVERIFY(plot.dots() > kPlotDots / 4);
        QTRY_VERIFY(plot.accessibleDescription().contains("18"));
        plot.clear();
        QCOMPARE(plot.dots(), 0);
    }

    void scoresRankTheOtherWay() {
        PredictedMeasuredPlot plot;
        plot.setScale(PredictedMeasuredPlot::Scale::score);
        QVector<TrialPoint> points;
        for (int i = 0; i < 20; ++i)
            points.push_back(
                {i, 1.0 + i, false, 3.0 - i}); // the better its score, the faster; some below zero
        plot.addTrials(points);
        QCOMPARE(plot.dots(), 20);
        QCOMPARE(plot.correlation(), 1.0);
        QTRY_VERIFY(plot.plot()->xAxis->range().contains(-16));
        QVERIFY(plot.plot()->xAxis->range().contains(3));
        QVERIFY(plot.plot()->yAxis->range().contains(20));
        QCOMPARE(plot.plot()->xAxis->scaleType(), QCPAxis::stLinear);
    }

    void roofsAreWhereMemoryAndArithmeticMeet() {
        const Roof roof{100, 10};
        QCOMPARE(roof.at(1), 10.0);
        QCOMPARE(roof.at(10), 100.0);
        QCOMPARE(roof.at(1000), 100.0);
        QVERIFY(std::isnan(Roof().at(1)));
        // 2 ms at half of what the memory allows, 1 ms at the arithmetic's limit
        const QVector<RooflineKernel> kernels{{"a", "pool", 1e7, 1e7, 2.0, 1}, {"b", "conv", 1e8, 1e6, 1.0, 1}, {"c", "copy", 0, 1e6, 1.0, 1}};
        QCOMPARE(shareOfRoof(kernels, roof), 2.0 / 3.0);
        QVERIFY(std::isnan(shareOfRoof(kernels, {})) && std::isnan(shareOfRoof({}, roof)));
    }

    void rooflineShowsWhatItKnows() {
        RooflinePlot plot;
        plot.resize(400, 300);
        plot.show();
        const RooflineKernel conv{"b", "conv", 1e8, 1e6, 1.0, 1};
        plot.setKernels({{"a", "pool", 1e7, 1e7, 2.0, 4}, conv, {"c", "copy", 0, 1e6, 1.0, 1}, {"d", "not measured", 1e6, 1e6, kUnknown, 1}});
        QTRY_COMPARE(plot.dots(), 2);
        QVERIFY(!plot.title().contains('%') && !plot.kernelText(conv).contains('%'));
        plot.setRoof({100, 10});
        QVERIFY(plot.title().contains("%"));
        QVERIFY2(plot.kernelText(conv).contains("100 % of what the arithmetic allows"), qPrintable(plot.kernelText(conv)));
        plot.setCurrent("b");
        QTRY_COMPARE(plot.plot()->graph(4)->dataCount(), 1);
        const QPoint at(qRound(plot.plot()->xAxis->coordToPixel(100)), qRound(plot.plot()->yAxis->coordToPixel(100)));
        QCOMPARE(plot.nearest(at)->key, QString("b"));
        QVERIFY(!plot.nearest(at + QPoint(60, 60)));
        QSignalSpy chosen(&plot, &RooflinePlot::kernelChosen);
        QTest::mousePress(plot.plot(), Qt::LeftButton, {}, at);
        QCOMPARE(chosen.size(), 1);
        plot.setKernels({});
        QTRY_COMPARE(plot.dots(), 0);
    }

    void theHotLoopOfAKernelIsMarked() {
        KernelView view;
        view.resize(500, 300);
        QVERIFY(view.summary().startsWith("Choose") && !view.page(0)->isVisible());
        KernelText kernel{"conv", "oc_tile 2", "for i", "define", QString("nop\n").repeated(100), 40, 3, "Hot loop: 3 instructions"};
        view.showKernel(kernel);
        QVERIFY(view.summary().contains("conv") && view.summary().contains("3 instructions"));
        QCOMPARE(view.page(0)->toPlainText(), QString("for i"));
        QCOMPARE(view.page(2)->extraSelections().size(), 3);
        QCOMPARE(view.page(2)->extraSelections().front().cursor.blockNumber(), 40);
        kernel.hotLine = 98; // beyond the end there is nothing to mark
        kernel.hotLines = 50;
        view.showKernel(kernel);
        QCOMPARE(view.page(2)->extraSelections().size(), 3); // two lines and the empty one behind them
        view.showMessage("no kernel");
        QVERIFY(view.page(2)->toPlainText().isEmpty() && view.page(2)->extraSelections().isEmpty());
        QCOMPARE(view.accessibleDescription(), QString("no kernel"));
    }

    void budgetRoundTrips_data() {
        QTest::addColumn<int>("kind");
        QTest::addColumn<int>("amount");
        QTest::newRow("per workload") << int(BudgetKind::trialsPerWorkload) << 128;
        QTest::newRow("total") << int(BudgetKind::totalTrials) << 5000;
        QTest::newRow("seconds") << int(BudgetKind::seconds) << 90;
    }
    void budgetRoundTrips() {
        QFETCH(int, kind);
        QFETCH(int, amount);
        BudgetForm form;
        form.setMaximumThreads(8);
        form.setStrategies({{"random", "Random", "at random"}, {"model", "Model-guided", "learns"}});
        form.setSpaces({{"own", "Own", "ours"}, {"other", "Other", "theirs"}});
        QCOMPARE(form.choice().space, QString("own"));
        QSignalSpy spy(&form, &BudgetForm::changed);
        const BudgetChoice wanted{static_cast<BudgetKind>(kind), amount, "model", 4, 77, "other"};
        form.setChoice(wanted);
        QVERIFY(form.choice() == wanted);
        QVERIFY(spy.count() >= 1);
    }

    void devicesAreThereBesideThisMachine() {
        BudgetForm form;
        form.setMaximumThreads(2);
        const auto threads = [&form] { return form.findChildren<QSpinBox*>()[1]->maximum(); };
        BudgetChoice wanted = form.choice();
        QVERIFY(wanted.device.isEmpty() && threads() == 2);
        wanted.device = QStringLiteral("lab");
        form.setChoice(wanted);
        QVERIFY(form.choice().device.isEmpty()); // there is none
        form.setDevices({{QStringLiteral("pi"), QStringLiteral("Pi"), QStringLiteral("one")}, {QStringLiteral("lab"), QStringLiteral("Lab"), QStringLiteral("two"), 32}});
        QVERIFY(form.choice().device.isEmpty()); // and nobody chose one
        wanted.devices = 3;
        wanted.threads = 24;
        form.setChoice(wanted);
        QVERIFY(form.choice() == wanted && threads() == 32);
        form.setDevices({{QStringLiteral("lab"), QStringLiteral("Lab"), QStringLiteral("two"), 32}}); // in another place
        QVERIFY(form.choice() == wanted);
        form.setDevices({});
        QVERIFY(form.choice().device.isEmpty() && form.choice().threads == 2);
        QSignalSpy asked(&form, &BudgetForm::devicesWanted);
        form.findChild<QToolButton*>()->click();
        QCOMPARE(asked.count(), 1);
    }

    void budgetRemembersTheAmountOfEachKind() {
        BudgetForm form;
        QVERIFY(form.choice().strategy.isEmpty());
        form.setStrategies({{"model", "Model-guided", "learns"}, {"random", "Random", "at random"}});
        QCOMPARE(form.choice().strategy, QString("model"));
        auto* kind = form.findChild<QComboBox*>();
        auto* amount = form.findChild<QSpinBox*>();
        amount->setValue(99);
        kind->setCurrentIndex(2);
        QCOMPARE(form.choice().kind, BudgetKind::seconds);
        kind->setCurrentIndex(0);
        QCOMPARE(form.choice().amount, 99);
        for (const auto* widget : form.findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly))
            if (widget->focusPolicy() != Qt::NoFocus)
                QVERIFY2(!widget->accessibleName().isEmpty(), widget->metaObject()->className());
    }
};

QTEST_MAIN(TuneWidgetsTest)
#include "tst_tune_widgets.moc"
