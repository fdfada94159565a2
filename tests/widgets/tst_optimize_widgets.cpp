// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/widgets/quiet_test.h"
#include "widgets/base/theme.h"
#include "widgets/graph/graph_view.h"
#include "widgets/optimize/cost_plot.h"
#include "widgets/optimize/difference_panel.h"
#include "widgets/optimize/optimize_bar.h"
#include "widgets/optimize/plain_table.h"
#include "widgets/optimize/replay_view.h"
#include "widgets/optimize/rule_panel.h"
#include "widgets/optimize/step_slider.h"
#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalSpy>
#include <qcustomplot.h>

using namespace tunesmith;

namespace {

// Five boxes in a column; step 1 takes the second for the third, step 2 the third for the fourth.
Replay sampleReplay() {
    Replay replay;
    for (int i = 0; i < 5; ++i) {
        GraphNode node;
        node.id = i;
        node.title = QStringLiteral("Op%1").arg(i);
        node.rect = {0, i * 100.0, 120, 50};
        replay.scene.nodes.push_back(node);
    }
    replay.scene.edges.push_back({0, 4, {}, {{60, 50}, {60, 400}}, {}});
    replay.scene.size = {120, 450};
    replay.nodes = {{0}, {0, 1}, {1, 2}, {2}, {0}};
    replay.edges = {{0}};
    replay.steps = {{QStringLiteral("simplify"), {QStringLiteral("no-identity")}, 5, 4, false}, {QStringLiteral("merge"), {}, 4, 3, true}};
    replay.unit = QStringLiteral("kernels");
    return replay;
}

RuleEntry rule(const QString& name, qint64 count) {
    RuleEntry entry;
    entry.key = name;
    entry.equation = QStringLiteral("a = b<c>");
    entry.conditions = {QStringLiteral("x < y")};
    entry.evidence = QStringLiteral("proved for all <shapes>");
    entry.count = count;
    entry.gain = 2;
    entry.steps = {1, 3};
    entry.followed = {QStringLiteral("tidy (2)")};
    return entry;
}

QString headline(const ReplayView& view) {
    for (const QLabel* label : view.findChildren<QLabel*>())
        if (label->font().weight() == QFont::DemiBold)
            return label->text();
    return {};
}

} // namespace

class OptimizeWidgetsTest : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { Theme::instance().setMode(Theme::Mode::light); }
    void init() { QuietTest::start(); }
    void cleanup() { QuietTest::finish(); }

    void costs() {
        const QString kernels = QStringLiteral("kernels"), ms = QStringLiteral("ms");
        QCOMPARE(costText(38.0000004, kernels), QStringLiteral("38 kernels"));
        QCOMPARE(changeText(38, 22, kernels), QStringLiteral("38 → 22 kernels"));
        QCOMPARE(gainText(16, kernels), QStringLiteral("−16 kernels"));
        QCOMPARE(gainText(-1, kernels), QStringLiteral("+1 kernels"));
        QCOMPARE(gainText(1e-9, kernels), QStringLiteral("±0 kernels"));
        QCOMPARE(costText(1.23456, ms), QLocale().toString(1.235, 'g', 4) + QStringLiteral(" ms"));
    }

    void walksTheSteps() {
        ReplayView view;
        view.resize(600, 500);
        view.show();
        view.setReplay(sampleReplay());
        QCOMPARE(view.step(), 2);
        QCOMPARE(headline(view), QStringLiteral("Step 2 of 2: merge, 4 → 3 kernels"));
        QVERIFY(view.graph()->presence().node(2) == Presence::vanished && view.graph()->presence().node(3) == Presence::appeared);
        view.findChild<QAction*>(QStringLiteral("previousStep"))->trigger();
        QCOMPARE(headline(view), QStringLiteral("Step 1 of 2: simplify, 5 → 4 kernels; then no-identity"));
        QTest::keyClick(view.findChild<StepSlider*>(), Qt::Key_Home);
        QCOMPARE(headline(view), QStringLiteral("The original graph: 5 kernels"));
        QVERIFY(!view.graph()->presence().hasNode(3));
        QVERIFY(!view.findChild<QAction*>(QStringLiteral("firstStep"))->isEnabled());
        auto* slider = view.findChild<StepSlider*>();
        slider->setFocus();
        QVERIFY(QTest::qWaitForWindowActive(&view));
        QTest::keyClick(slider, Qt::Key_End, Qt::AltModifier);
        QCOMPARE(view.step(), 2);
    }

    void nodesKeepTheirPlaces() {
        ReplayView view;
        view.resize(600, 500);
        view.show();
        view.setReplay(sampleReplay());
        QSignalSpy moved(&view, &ReplayView::stepChanged);
        for (const int step : {0, 1, 2, 1, 0}) {
            view.setStep(step);
            for (int i = 0; i < 5; ++i)
                QCOMPARE(view.graph()->scene().nodes[i].rect, sampleReplay().scene.nodes[i].rect);
        }
        QCOMPARE(moved.count(), 5);
    }

    void whatIsAbsentCannotBeSelected() {
        ReplayView view;
        view.resize(600, 500);
        view.show();
        view.setReplay(sampleReplay());
        view.showNode(3, false);
        QCOMPARE(view.graph()->selectedId(), 3);
        view.setStep(0);
        QCOMPARE(view.graph()->selectedId(), -1);
        QCOMPARE(view.graph()->find(QStringLiteral("Op")), 3);
        view.showNode(1, true);
        QCOMPARE(view.step(), 0);
        QCOMPARE(view.graph()->selectedId(), 1);
        const QPointF at = view.graph()->transform().toView(sampleReplay().scene.nodes[3].rect.center());
        QTest::mouseClick(view.graph(), Qt::LeftButton, {}, at.toPoint());
        QCOMPARE(view.graph()->selectedId(), -1);
    }

    void onlyRulesCanBeDoneWithout() {
        ReplayView view;
        view.setReplay(sampleReplay());
        QSignalSpy without(&view, &ReplayView::withoutRequested), save(&view, &ReplayView::saveRequested);
        auto* doWithout = view.findChild<QPushButton*>(QStringLiteral("withoutRule"));
        auto* saveThis = view.findChild<QPushButton*>(QStringLiteral("saveStep"));
        view.setStep(1);
        auto* undo = view.findChild<QPushButton*>(QStringLiteral("undoRewrite"));
        QSignalSpy undone(&view, &ReplayView::undoRequested);
        QVERIFY(!doWithout->isEnabled() && !undo->isEnabled());
        view.setStep(2);
        view.setBusy(true);
        QVERIFY(doWithout->isEnabled() && !undo->isEnabled());
        view.setBusy(false);
        undo->click();
        QCOMPARE(undone.value(0).value(0).toInt(), 2);
        doWithout->click();
        saveThis->click();
        QCOMPARE(without.value(0).value(0).toString(), QStringLiteral("merge"));
        QCOMPARE(save.value(0).value(0).toInt(), 2);
        view.setReplay({});
        QVERIFY(!saveThis->isEnabled() && !doWithout->isEnabled());
    }

    void theSliderGoesWhereItIsPressed() {
        StepSlider slider;
        slider.setRange(0, 500);
        slider.resize(520, slider.sizeHint().height());
        slider.setMarks({1, 250, 500});
        slider.show();
        QTest::mouseClick(&slider, Qt::LeftButton, {}, {260, 8});
        QVERIFY2(std::abs(slider.value() - 250) < 12, qPrintable(QString::number(slider.value())));
        QVERIFY(!slider.grab().isNull());
    }

    void aVetoOffersAnotherRun() {
        RulePanel panel;
        panel.show();
        QSignalSpy run(&panel, &RulePanel::runRequested);
        auto* again = panel.findChild<QPushButton*>(QStringLiteral("runAgain"));
        panel.setRules({rule(QStringLiteral("merge"), 2), rule(QStringLiteral("swap"), 1)}, QStringLiteral("kernels"));
        QVERIFY(panel.without().isEmpty() && !again->isVisible());
        panel.table()->selectRow(0);
        QTest::keyClick(panel.table(), Qt::Key_Space);
        QCOMPARE(panel.without(), QStringList{QStringLiteral("merge")});
        QVERIFY(again->isVisible() && again->isEnabled());
        panel.setBusy(true);
        QVERIFY(!again->isEnabled());
        panel.setBusy(false);
        again->click();
        QCOMPARE(run.count(), 1);
        panel.setWithout(QStringLiteral("merge"), false);
        QVERIFY(panel.without().isEmpty() && !again->isVisible());
    }

    void theCardTellsAll() {
        RulePanel panel;
        panel.setRules({rule(QStringLiteral("merge"), 2)}, QStringLiteral("kernels"));
        QVERIFY(panel.cardText().startsWith(QStringLiteral("Select a rule")));
        panel.select(QStringLiteral("merge"));
        QCOMPARE(panel.current()->steps, QVector<int>({1, 3}));
        for (const char* part : {"merge", "b<c>", "x < y", "proved for all <shapes>", "times: 2 · cost: −2 kernels · steps: 1, 3", "tidy (2)"})
            QVERIFY2(panel.cardText().contains(QString::fromUtf8(part)), qPrintable(panel.cardText()));
    }

    void barKeepsTheChoice() {
        OptimizeBar bar;
        bar.setSearches({{QStringLiteral("greedy"), QStringLiteral("downhill")}, {QStringLiteral("beam"), QStringLiteral("some")}});
        bar.setCosts({{QStringLiteral("kernels"), {}}, {QStringLiteral("roofline"), {}}});
        bar.setRuleSets({{QStringLiteral("written"), QStringLiteral("by hand")}, {QStringLiteral("all"), QStringLiteral("both")}});
        bar.setChoice({QStringLiteral("beam"), QStringLiteral("roofline"), 1.25, 77, 12, QStringLiteral("all")});
        QCOMPARE(bar.choice().search, QStringLiteral("beam"));
        QCOMPARE(bar.choice().cost, QStringLiteral("roofline"));
        QCOMPARE(bar.choice().alpha, 1.25);
        QCOMPARE(bar.choice().budget, 77);
        QCOMPARE(bar.choice().seconds, 12.0);
        QCOMPARE(bar.choice().rules, QStringLiteral("all"));
        for (const QComboBox* box : bar.findChildren<QComboBox*>())
            if (box->accessibleName() == QStringLiteral("Rules"))
                QVERIFY(box->toolTip().contains(QStringLiteral("both")) && box->accessibleDescription() == QStringLiteral("both") && box->focusPolicy() != Qt::NoFocus);
        bar.setBusy(true);
        bar.setProgress(QStringLiteral("searching"), 0.5);
        QVERIFY(!bar.findChild<QComboBox*>()->isEnabled());
        QCOMPARE(bar.findChild<QProgressBar*>()->value(), 500);
        for (const QWidget* field : bar.findChildren<QWidget*>(Qt::FindDirectChildrenOnly))
            QVERIFY(qobject_cast<const QLabel*>(field) || !field->accessibleName().isEmpty());
    }

    void curvesStandSideBySide() {
        CostPlot plot;
        plot.resize(400, 300);
        plot.setCurves({{QStringLiteral("1 · greedy"), 0, {{0, 38, 0}, {0.5, 30, 4}}}, {QStringLiteral("2 · beam"), 1, {{0, 38, 0}, {2, 22, 9}}}},
                       QStringLiteral("kernels"));
        QCOMPARE(plot.plot()->graphCount(), 2);
        QCOMPARE(plot.plot()->graph(1)->name(), QStringLiteral("2 · beam: 22 kernels"));
        QVERIFY(plot.plot()->xAxis->range().contains(9));
        plot.setOverSeconds(true);
        QVERIFY(!plot.plot()->xAxis->range().contains(9) && plot.plot()->xAxis->range().contains(2));
        QVERIFY(plot.accessibleDescription().contains(QStringLiteral("2 · beam from 38 kernels to 22 kernels")));
        plot.setCurves({}, {});
        QCOMPARE(plot.plot()->graphCount(), 0);
    }

    void aNodeOfTheListIsChosen() {
        DifferencePanel panel;
        panel.setDifference({{QStringLiteral("Conv"), 3, 1}}, {{7, QStringLiteral("a"), QStringLiteral("Conv"), false}, {9, QStringLiteral("b"), QStringLiteral("Relu"), true}});
        QSignalSpy chosen(&panel, &DifferencePanel::nodeChosen);
        auto* table = panel.findChild<PlainTable*>(QStringLiteral("nodeTable"));
        table->selectRow(0);
        table->selectRow(1);
        QCOMPARE(chosen.count(), 2);
        QCOMPARE(chosen[0], QVariantList({qint64(7), true}));
        QCOMPARE(chosen[1], QVariantList({qint64(9), false}));
    }

    void themes() {
        ReplayView view;
        view.resize(500, 400);
        view.setReplay(sampleReplay());
        view.setStep(1);
        const QImage light = view.grab().toImage();
        Theme::instance().setMode(Theme::Mode::dark);
        QVERIFY(view.grab().toImage() != light);
        Theme::instance().setMode(Theme::Mode::light);
    }
};

QTEST_MAIN(OptimizeWidgetsTest)
#include "tst_optimize_widgets.moc"
