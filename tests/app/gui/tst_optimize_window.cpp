// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/optimize_page.h"
#include "app/gui/optimize_rows.h"
#include "tests/app/gui/tiny_onnx.h"
#include "tests/app/gui/window_fixture.h"
#include "tests/widgets/quiet_test.h"
#include "widgets/base/empty_state.h"
#include "widgets/graph/graph_view.h"
#include "widgets/optimize/cost_plot.h"
#include "widgets/optimize/difference_panel.h"
#include "widgets/optimize/optimize_bar.h"
#include "widgets/optimize/plain_table.h"
#include "widgets/optimize/replay_view.h"
#include "widgets/optimize/rule_panel.h"
#include <QComboBox>
#include <QElapsedTimer>
#include <QFile>
#include <QFileDialog>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <qcustomplot.h>

#include <algorithm>

using namespace tunesmith;

namespace {

constexpr int kSoon = 60000;

void choose(OptimizePage* page, const QString& search, const QString& cost = QStringLiteral("kernels")) {
    OptimizeChoice choice = page->bar()->choice();
    choice.search = search;
    choice.cost = cost;
    page->bar()->setChoice(choice);
}

// The page of a window with the model open.
OptimizePage* ready(WindowFixture& fixture, const QString& model, const QString& search = QStringLiteral("backtracking")) {
    if (!fixture.open(model))
        return nullptr;
    fixture.window().showPage(MainWindow::Page::optimize);
    choose(fixture.window().optimizePage(), search);
    return fixture.window().optimizePage();
}

bool finish(OptimizePage* page) {
    page->start();
    return QTest::qWaitFor([page] { return !page->running(); }, kSoon);
}

QString headline(const OptimizePage* page) { return page->findChild<QLabel*>(QStringLiteral("optimizeHeadline"))->text(); }

// The first step that the rule was applied in, not to simplify.
int firstStepOf(const OptimizedModel& made, const std::string& rule) {
    const auto found = std::ranges::find(made.steps, rule, &GraphStep::rule);
    return static_cast<int>(found - made.steps.begin()) + 1;
}

// Two 1x1 convolutions of two groups that read x, and their sum.
QByteArray groupedPairOnnx() {
    const auto weights = [](const QByteArray& name) {
        return protoNumber(1, 2) + protoNumber(1, 1) + protoNumber(1, 1) + protoNumber(1, 1) + protoNumber(2, 1) + protoField(8, name) + protoField(9, QByteArray(8, name == "w" ? 63 : 62));
    };
    const QByteArray group = protoField(5, protoField(1, "group") + protoNumber(3, 2) + QByteArray("\xa0\x01\x02", 3)); // its type: an integer
    QByteArray nodes;
    for (const char* name : {"w", "v"})
        nodes += protoField(1, tinyNode("Conv", {"x", name}, QByteArray("conv_") + name, QByteArray("node_") + name) + group);
    nodes += protoField(1, tinyNode("Add", {"conv_w", "conv_v"}, "y", "sum")) + protoField(5, weights("w")) + protoField(5, weights("v"));
    const auto image = [](const QByteArray& name) {
        QByteArray shape;
        for (const int extent : {1, 2, 3, 3})
            shape += protoField(1, protoNumber(1, extent));
        return protoField(1, name) + protoField(2, protoField(1, protoNumber(1, 1) + protoField(2, shape)));
    };
    return protoNumber(1, 8) + protoField(7, nodes + protoField(2, "pair") + protoField(11, image("x")) + protoField(12, image("y"))) +
           protoField(8, protoField(1, "") + protoNumber(2, 13));
}

QString emptyText(const OptimizePage* page) {
    for (const EmptyState* state : page->findChildren<EmptyState*>())
        if (state->isVisible())
            return state->accessibleName() + QLatin1Char('\n') + state->accessibleDescription();
    return {};
}

} // namespace

// The Optimize page in the window.
class TstOptimizeWindow : public QObject {
    Q_OBJECT
private slots:
    void init() { QuietTest::start(); }
    void cleanup() { QuietTest::finish(); }

    void saysWhatToDoWithoutAModel() {
        WindowFixture fixture;
        fixture.window().showPage(MainWindow::Page::optimize);
        OptimizePage* page = fixture.window().optimizePage();
        QVERIFY(emptyText(page).startsWith(QStringLiteral("Nothing to optimize yet")));
        QVERIFY(!page->commands()[0]->isEnabled() && !page->commands()[1]->isEnabled());
        page->start();
        QVERIFY(!page->running());
    }

    void optimizesAndReplays() {
        WindowFixture fixture;
        OptimizePage* page = ready(fixture, QStringLiteral("encoder"));
        QVERIFY(page);
        QVERIFY(emptyText(page).startsWith(QStringLiteral("Not optimized yet")));
        QVERIFY(finish(page));
        QVERIFY2(page->run() != nullptr, qPrintable(fixture.notice()));
        const OptimizedModel& made = page->run()->made;
        QVERIFY(emptyText(page).isEmpty());
        QVERIFY2(headline(page).contains(QStringLiteral("kernels (−")), qPrintable(headline(page)));
        QCOMPARE(page->replay()->step(), static_cast<int>(made.steps.size()));
        QCOMPARE(page->replay()->graph()->scene().nodes.size(), page->run()->replay.nodes.size());
        const GraphView* graph = page->replay()->graph();
        page->replay()->setStep(0);
        QVERIFY(!graph->presence().nodes.contains(Presence::appeared) && !graph->presence().nodes.contains(Presence::vanished));
        page->replay()->setStep(1);
        QVERIFY(graph->presence().nodes.contains(Presence::appeared) && graph->presence().nodes.contains(Presence::vanished));
        page->rules()->select(QString::fromStdString(made.rules.front().rule));
        QVERIFY(page->rules()->cardText().contains(QStringLiteral("Equation")));
        page->replay()->setStep(0);
        emit page->rules()->table()->activated(page->rules()->table()->currentIndex());
        QCOMPARE(page->replay()->step(), firstStepOf(made, made.rules.front().rule));
        const auto* difference = page->findChild<DifferencePanel*>();
        QVERIFY(!difference->operators().isEmpty() && !difference->nodes().isEmpty());
        qint64 after = 0;
        for (const OperatorEntry& entry : difference->operators())
            after += entry.after;
        QCOMPARE(after, made.nodesAfter);
        fixture.window().findChild<QAction*>(QStringLiteral("closeModel"))->trigger();
        QVERIFY(!page->run() && page->replay()->graph()->scene().nodes.isEmpty());
    }

    // A rewrite in the middle is taken back: another run beside the first, in which the others are still there.
    void rewritesAreTakenBack() {
        WindowFixture fixture;
        OptimizePage* page = ready(fixture, QStringLiteral("encoder"));
        QVERIFY(page && finish(page) && page->run());
        const OptimizedRunPtr first = page->run();
        auto* undo = page->findChild<QPushButton*>(QStringLiteral("undoRewrite"));
        page->replay()->setStep(0);
        QVERIFY(!undo->isEnabled());
        const int step = firstStepOf(first->made, "merge-products");
        page->replay()->setStep(step);
        QVERIFY(undo->isEnabled());
        undo->click();
        QVERIFY(page->running() && !undo->isEnabled());
        QTRY_VERIFY_WITH_TIMEOUT(!page->running(), kSoon);
        QVERIFY2(page->run() != first, qPrintable(fixture.notice()));
        const OptimizedModel& made = page->run()->made;
        QCOMPARE(made.undone, std::vector<std::string>{"merge-products"});
        QVERIFY(made.costAfter > first->made.costAfter && made.costAfter < made.costBefore);
        QCOMPARE(page->findChild<QComboBox*>(QStringLiteral("optimizeRuns"))->count(), 2);
        QVERIFY2(OptimizeText::runName(*page->run(), 2).contains(QStringLiteral("merge-products taken back")), qPrintable(OptimizeText::runName(*page->run(), 2)));
        QCOMPARE(page->findChild<CostPlot*>()->plot()->graphCount(), 1); // nothing was searched for the second one
        const QString detail = page->findChild<QLabel*>(QStringLiteral("optimizeDetail"))->text();
        QVERIFY2(detail.contains(QStringLiteral("taken back: merge-products")), qPrintable(detail));
        page->replay()->setStep(static_cast<int>(made.steps.size()));
        undo->click(); // and cancelled
        page->cancel();
        QVERIFY(!page->running() && undo->isEnabled());
    }

    void rulesOfAStoreWithoutAny() {
        WindowFixture fixture;
        OptimizePage* page = ready(fixture, QStringLiteral("mlp"));
        QVERIFY(page);
        OptimizeChoice choice = page->bar()->choice();
        QCOMPARE(choice.rules, QStringLiteral("written"));
        choice.rules = QStringLiteral("stored");
        page->bar()->setChoice(choice);
        QVERIFY(finish(page));
        QVERIFY(!page->run());
        QVERIFY2(emptyText(page).startsWith(QStringLiteral("Could not be optimized")), qPrintable(emptyText(page)));
        for (const char* word : {"has no verified rules", "rules generate", "rules verify"})
            QVERIFY2(emptyText(page).contains(QLatin1String(word)), qPrintable(emptyText(page)));
    }

    void searchesAreCompared() {
        WindowFixture fixture;
        OptimizePage* page = ready(fixture, QStringLiteral("encoder"), QStringLiteral("greedy"));
        QVERIFY(page && finish(page));
        choose(page, QStringLiteral("beam"));
        QVERIFY(finish(page));
        const QCustomPlot* plot = page->findChild<CostPlot*>()->plot();
        QCOMPARE(plot->graphCount(), 2);
        QVERIFY(plot->graph(0)->name().startsWith(QStringLiteral("1 · greedy")) && plot->graph(1)->name().startsWith(QStringLiteral("2 · beam")));
        auto* runs = page->findChild<QComboBox*>(QStringLiteral("optimizeRuns"));
        QVERIFY(runs->isVisible() && runs->count() == 2 && runs->currentIndex() == 1);
        emit runs->activated(0);
        QCOMPARE(page->run()->request.search, std::string("greedy"));
    }

    void doesWithoutARule() {
        WindowFixture fixture;
        OptimizePage* page = ready(fixture, QStringLiteral("encoder"));
        QVERIFY(page && finish(page));
        const QString rule = QString::fromStdString(page->run()->made.rules.front().rule);
        page->replay()->setStep(firstStepOf(page->run()->made, rule.toStdString()));
        page->findChild<QPushButton*>(QStringLiteral("withoutRule"))->click();
        QCOMPARE(page->rules()->without(), QStringList{rule});
        auto* again = page->findChild<QPushButton*>(QStringLiteral("runAgain"));
        QVERIFY(again->isVisible());
        again->click();
        QTRY_VERIFY_WITH_TIMEOUT(!page->running(), kSoon);
        QCOMPARE(page->run()->request.without, std::vector<std::string>{rule.toStdString()});
        for (const RuleUse& use : page->run()->made.rules)
            QVERIFY(use.rule != rule.toStdString());
        QCOMPARE(page->rules()->without(), QStringList{rule}); // still in the list, to be allowed again
        QVERIFY(!again->isVisible());
    }

    void refusalsHaveTheirReasons() {
        OptimizedModel made;
        made.refusals = {{"merge-convolutions", "the convolution has groups", 12}, {"merge-convolutions", "pads differ", 3}};
        RefusalPanel panel;
        panel.setRefusals(refusalEntries(made), QStringLiteral("none"));
        const auto* table = panel.findChild<PlainTable*>();
        QCOMPARE(table->model()->rowCount(), 2);
        QCOMPARE(table->model()->index(0, 1).data().toLongLong(), 12);
        QCOMPARE(table->model()->index(1, 2).data().toString(), QStringLiteral("pads differ"));
        panel.setRefusals({}, QStringLiteral("none"));
        QVERIFY(table->isHidden());
    }

    // Two convolutions of the same tensor that only groups keep apart.
    void whatNearlyFitsIsSaid() {
        WindowFixture fixture;
        QFile file(fixture.path(QStringLiteral("groups.onnx")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(groupedPairOnnx());
        file.close();
        OptimizePage* page = ready(fixture, file.fileName(), QStringLiteral("greedy"));
        QVERIFY(page && finish(page));
        QVERIFY2(page->run() != nullptr, qPrintable(fixture.notice()));
        const auto* table = page->findChild<PlainTable*>(QStringLiteral("refusalTable"));
        QCOMPARE(table->model()->rowCount(), 1);
        QCOMPARE(table->model()->index(0, 0).data().toString(), QStringLiteral("merge-convolutions"));
        QCOMPARE(table->model()->index(0, 1).data().toLongLong(), 2);
        QCOMPARE(table->model()->index(0, 2).data().toString(), QStringLiteral("the convolution has groups"));
    }

    void racesAreTold() {
        OptimizedModel made;
        made.unit = "ms";
        made.costBefore = made.costAfter = 2;
        made.notRaced = "nothing is written";
        QVERIFY(OptimizeText::detail(made).contains(QStringLiteral("not raced against the original: nothing is written")));
        made.notRaced.clear();
        QVERIFY(OptimizeText::raceText(made).isEmpty() && OptimizeText::headline(made).startsWith(QStringLiteral("Nothing cheaper was found")));
        made.raced = made.keptOriginal = true;
        made.timed = {{2, 2}, {1, 2}};
        QVERIFY(OptimizeText::headline(made).startsWith(QStringLiteral("The graph stays as it was")));
        const QString detail = OptimizeText::detail(made);
        QVERIFY2(detail.contains(QStringLiteral("not certainly faster as a module")) && detail.contains(QStringLiteral("2 → 2, 1 → 2")), qPrintable(detail));
        QVERIFY2(detail.contains(QStringLiteral("off by %1 %").arg(QLocale().toString(25.0, 'f', 1))) && detail.contains(QStringLiteral("Kendall's tau")), qPrintable(detail));
    }

    // What is shown may be saved, so modules have been asked.
    void costsInMsAreRaced() {
        OptimizeChoice choice;
        for (const char* cost : {"kernels", "roofline", "measured", "planned"}) {
            choice.cost = QLatin1String(cost);
            QCOMPARE(requestOf(choice, {}, {}).measure, choice.cost != QLatin1String("kernels"));
        }
    }

    void nothingToImprove() {
        WindowFixture fixture;
        OptimizePage* page = ready(fixture, QStringLiteral("mlp"));
        QVERIFY(page && finish(page));
        QVERIFY2(headline(page).startsWith(QStringLiteral("Nothing cheaper was found")), qPrintable(headline(page)));
        QVERIFY(!page->replay()->graph()->scene().nodes.isEmpty());
        QCOMPARE(page->replay()->step(), 0);
    }

    void openDimensionsAreSaid() {
        WindowFixture fixture;
        QFile file(fixture.path(QStringLiteral("open.onnx")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(tinyOnnx("Relu", "N"));
        file.close();
        OptimizePage* page = ready(fixture, file.fileName());
        QVERIFY(page && finish(page));
        QVERIFY(!page->run());
        QVERIFY2(emptyText(page).contains(QStringLiteral("dimension 'N' is open")), qPrintable(emptyText(page)));
        QVERIFY(fixture.notice().contains(QStringLiteral("dimension 'N' is open")));
    }

    // The reference kernels of the check take a while on resnet18.
    void cancels() {
        WindowFixture fixture;
        OptimizePage* page = ready(fixture, QStringLiteral("resnet18"));
        QVERIFY(page);
        Job* job = page->jobs().front();
        for (const int wait : {0, 50, 200}) {
            page->start();
            QTest::qWait(wait);
            QElapsedTimer timer;
            timer.start();
            page->cancel();
            QVERIFY(!page->running() && page->commands()[0]->isEnabled() && timer.elapsed() < 100);
            QTRY_VERIFY_WITH_TIMEOUT(!job->running(), kSoon);
            qInfo("after %d ms: the work ended %lld ms after the wish", wait, timer.elapsed());
            QVERIFY(!page->run());
        }
        QVERIFY(fixture.notice().isEmpty());
        QVERIFY(finish(page) && page->run());
    }

    void takesTheBestSoFar() {
        WindowFixture fixture;
        OptimizePage* page = ready(fixture, QStringLiteral("mobilenet_v2"));
        QVERIFY(page);
        OptimizeChoice choice = page->bar()->choice();
        choice.search = QStringLiteral("mcts");
        choice.budget = 100'000'000;
        choice.alpha = 10;
        page->bar()->setChoice(choice);
        QAction* enough = page->commands()[1];
        QVERIFY(!enough->isEnabled());
        page->start();
        QVERIFY(enough->isEnabled());
        QTest::qWait(300);
        enough->trigger();
        QTRY_VERIFY_WITH_TIMEOUT(!page->running(), kSoon);
        QVERIFY2(page->run() && improves(page->run()->made), qPrintable(fixture.notice()));
        QVERIFY(page->run()->made.expanded > 0);
    }

    void anotherModelEndsTheSearch() {
        WindowFixture fixture;
        OptimizePage* page = ready(fixture, QStringLiteral("resnet18"));
        QVERIFY(page);
        page->start();
        QVERIFY(fixture.open(QStringLiteral("mlp")));
        QVERIFY(!page->running() && !page->run());
    }

    void savesAndOpens() {
        WindowFixture fixture;
        OptimizePage* page = ready(fixture, QStringLiteral("encoder"));
        QVERIFY(page && finish(page));
        const auto nodes = page->run()->made.nodesAfter;
        QSignalSpy saved(page, &OptimizePage::saved), problem(page, &OptimizePage::problem);
        page->save(page->run(), fixture.path(QStringLiteral("missing/better.onnx")), 1);
        QTRY_COMPARE_WITH_TIMEOUT(problem.count(), 1, kSoon);
        const QString path = fixture.path(QStringLiteral("better.onnx"));
        page->save(page->run(), path, static_cast<int>(page->run()->made.steps.size()));
        QTRY_COMPARE_WITH_TIMEOUT(saved.count(), 1, kSoon);
        QVERIFY2(fixture.notice().contains(QStringLiteral("outputs equal to the original's")), qPrintable(fixture.notice()));
        QVERIFY(fixture.open(path));
        QCOMPARE(fixture.window().model()->model.info().nodes, nodes);
    }

    // Another one comes while the name is chosen.
    void savesTheRunThatWasShown() {
        WindowFixture fixture;
        OptimizePage* page = ready(fixture, QStringLiteral("encoder"));
        QVERIFY(page && finish(page));
        const OptimizedRunPtr first = page->run();
        emit page->findChild<ReplayView*>()->saveRequested(static_cast<int>(first->made.steps.size()));
        auto* dialog = page->findChild<QFileDialog*>();
        QVERIFY(dialog);
        OptimizeChoice choice = page->bar()->choice();
        choice.budget = 1;
        page->bar()->setChoice(choice);
        QVERIFY(finish(page) && page->run() != first && page->run()->made.steps.size() < first->made.steps.size());
        const QString path = fixture.path(QStringLiteral("first.onnx"));
        QSignalSpy saved(page, &OptimizePage::saved);
        emit dialog->fileSelected(path);
        dialog->reject();
        QTRY_COMPARE_WITH_TIMEOUT(saved.count(), 1, kSoon);
        QVERIFY(fixture.open(path));
        QCOMPARE(fixture.window().model()->model.info().nodes, first->made.nodesAfter);
    }
};

int main(int argc, char** argv) {
    return windowTestMain<TstOptimizeWindow>("tst_optimize_window", argc, argv);
}
#include "tst_optimize_window.moc"
