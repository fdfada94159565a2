// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/widgets/gallery_data.h"
#include "tests/widgets/gallery_timeline.h"
#include "widgets/base/command_palette.h"
#include "widgets/base/empty_state.h"
#include "widgets/base/notice_bar.h"
#include "widgets/base/status_progress.h"
#include "widgets/base/theme.h"
#include "widgets/devices/devices_panel.h"
#include "widgets/export/export_form.h"
#include "widgets/graph/graph_view.h"
#include "widgets/optimize/cost_plot.h"
#include "widgets/optimize/replay_view.h"
#include "widgets/optimize/rule_panel.h"
#include "widgets/timeline/jobs_panel.h"
#include "widgets/timeline/timeline_totals.h"
#include "widgets/timeline/timeline_view.h"
#include "widgets/tune/budget_form.h"
#include "widgets/tune/convergence_plot.h"
#include "widgets/tune/predicted_plot.h"
#include "widgets/tune/roofline_plot.h"
#include "widgets/tune/space_view.h"
#include "widgets/tune/strategy_plot.h"
#include "widgets/tune/workload_table.h"
#include <QAction>
#include <QApplication>
#include <QCommandLineParser>
#include <QDir>
#include <QMainWindow>
#include <QMenuBar>
#include <QSplitter>
#include <QStatusBar>
#include <QTabWidget>
#include <QTest>
#include <QVBoxLayout>
#include <algorithm>

using namespace tunesmith;

namespace {

QWidget* graphPage(GraphView*& view) {
    auto* split = new QSplitter;
    view = new GraphView;
    view->setScene(sampleNetwork(view->font()));
    auto* panel = new PropertiesPanel;
    panel->showNode(sampleProperties());
    split->addWidget(view);
    split->addWidget(panel);
    split->setSizes({900, 380});
    return split;
}

QWidget* tunePage() {
    auto* split = new QSplitter(Qt::Vertical);
    auto* table = new WorkloadTable;
    const auto rows = sampleWorkloads();
    table->setRows(rows);
    auto* lower = new QSplitter;
    auto* form = new BudgetForm;
    form->setStrategies(
        {{"model", "Model-guided annealing", "Learns which configs are fast and tries the best of them."},
         {"random", "Random", "Tries configs at random: a baseline."}});
    form->setSpaces({{"tunesmith", "Tunesmith", "Our own templates."}, {"autotvm", "AutoTVM", "AutoTVM's templates."}});
    auto* convergence = new ConvergencePlot;
    auto* predicted = new PredictedMeasuredPlot;
    QVector<PlotSeries> series;
    for (const auto& row : rows)
        if (row.done > 0)
            series.push_back({row.key, row.name});
    convergence->setSeries(series);
    for (int i = 0; i < series.size(); ++i) {
        convergence->addTrials(series[i].key, sampleTrials(i, rows[i].done));
        predicted->addTrials(sampleTrials(i, rows[i].done));
    }
    auto* roofline = new RooflinePlot;
    roofline->setRoof(sampleRoof());
    roofline->setKernels(sampleKernels());
    roofline->setCurrent("layer3.1.conv2");
    QObject::connect(table, &WorkloadTable::currentKeyChanged, convergence, &ConvergencePlot::setCurrent);
    table->setCurrentKey("layer3.1.conv2");
    for (QWidget* widget : std::initializer_list<QWidget*>{form, convergence, predicted, roofline})
        lower->addWidget(widget);
    lower->setSizes({300, 420, 300, 300});
    split->addWidget(table);
    split->addWidget(lower);
    split->setSizes({260, 420});
    return split;
}

QWidget* optimizePage() {
    auto* split = new QSplitter;
    auto* replay = new ReplayView;
    replay->setReplay(sampleReplay(replay->font()));
    auto* column = new QSplitter(Qt::Vertical);
    auto* rules = new RulePanel;
    rules->setRules({{"merge-convolutions", "conv(x, v1); conv(x, v2) = split(conv(x, concat(v1, v2)))", {"weights are constants"}, "tried on 1800 random models", 1, 2, {"concat-of-split"}, {1}, false},
                     {"merge-products", "matmul(x, v1); matmul(x, v2) = split(matmul(x, concat(v1, v2)))", {}, "proved for all shapes", 3, 4, {}, {2, 3, 4}, false}},
                    "kernels");
    rules->setWithout("merge-products", true);
    rules->select("merge-convolutions");
    auto* costs = new CostPlot;
    costs->setCurves({{"1 · greedy", 0, {{0, 38, 0}, {0.1, 30, 3}, {0.4, 27, 8}}}, {"2 · beam", 1, {{0, 38, 0}, {0.2, 33, 2}, {0.5, 22, 7}}}}, "kernels");
    column->addWidget(rules);
    column->addWidget(costs);
    split->addWidget(replay);
    split->addWidget(column);
    split->setSizes({820, 460});
    column->setSizes({440, 320});
    return split;
}

QWidget* workloadPage() {
    auto* split = new QSplitter;
    auto* strategies = new StrategyPlot;
    strategies->setRuns(sampleRuns());
    auto* space = new SpaceView;
    space->showMap(sampleSpace());
    space->grid()->setCurrent({1, 2});
    split->addWidget(strategies);
    split->addWidget(space);
    return split;
}

QWidget* devicesPanel() {
    auto* panel = new DevicesPanel;
    panel->setTracker({QStringLiteral("lab.example:9290"), QStringLiteral("token"), QStringLiteral("lab.pem"), false});
    panel->setState(DevicesPanel::State::on);
    DeviceEntry free{QStringLiteral("10.0.0.7:9300"), QStringLiteral("epyc, avx512"), QStringLiteral("rack 1"), QStringLiteral("AMD EPYC 9354"), QStringLiteral("full"), 32, 96, 3300, 390, {}, 0, 0};
    DeviceEntry taken = free;
    taken.key = QStringLiteral("10.0.0.8:9300");
    taken.name = QStringLiteral("rack 2");
    taken.client = QStringLiteral("mia@desk:4711/job-3");
    taken.priority = 2;
    taken.seconds = 754;
    panel->setDevices({free, taken}, {{QStringLiteral("ben@desk:99"), QStringLiteral("epyc"), 0, 12}});
    return panel;
}

QWidget* timelinePage(TimelineView*& view) {
    auto* split = new QSplitter(Qt::Vertical);
    view = new TimelineView;
    const SampleTimeline sample = sampleTimeline(4, 4, 180);
    view->setTracks(sample.tracks);
    view->setJobs(sample.jobs);
    view->addSlices(sample.slices);
    auto* totals = new TimelineTotals;
    totals->watch(view);
    auto* jobs = new JobsPanel;
    jobs->setJobs(sample.jobs);
    jobs->setCurrent(sample.jobs[2].key);
    for (QWidget* widget : std::initializer_list<QWidget*>{view, totals, jobs, devicesPanel()})
        split->addWidget(widget);
    split->setSizes({330, 200, 200, 200});
    return split;
}

QWidget* basePage(QAction* open) {
    auto* page = new QWidget;
    auto* column = new QVBoxLayout(page);
    const std::tuple<NoticeBar::Kind, const char*, const char*> notices[] = {
        {NoticeBar::Kind::info, "A trained agent for this operator set is available.", ""},
        {NoticeBar::Kind::success, "resnet18 was tuned: 4.1 times faster than before.", "Show module"},
        {NoticeBar::Kind::warning,
         "Another program used 40 % of the processor; 12 trials were measured again.", ""},
        {NoticeBar::Kind::error,
         "model.onnx: operator Foo of node “foo_1” is not known. Export the model without it.", "Show node"}};
    for (const auto& [kind, text, show] : notices) {
        auto* bar = new NoticeBar;
        bar->showMessage(kind, text, kind == NoticeBar::Kind::error ? "details" : "", show);
        column->addWidget(bar);
    }
    auto* state = new EmptyState(
        QApplication::style()->standardIcon(QStyle::SP_DirOpenIcon), "No model is open",
        "Drop an ONNX file on this window, or open one of the built-in samples to try things out.");
    state->setAction(open);
    column->addWidget(state, 1);
    return page;
}

QWidget* exportPage() {
    auto* form = new ExportForm;
    form->setFolder("/home/ada/modules");
    form->setName("resnet18");
    form->setEstimatedBytes(47'300'000);
    form->setChecks(
        {{"Outputs agree with the original", "largest error 2.1e-6 over 8 random inputs", CheckState::passed},
         {"Every workload has a record", "2 of 21 use the default schedule", CheckState::warning},
         {"C example builds and runs", "running…", CheckState::running},
         {"Instruction sets", "needs AVX2 and FMA", CheckState::passed}});
    return form;
}

void shoot(QWidget& widget, const QDir& folder, const QString& name) {
    QTest::qWait(250);
    widget.grab().save(folder.filePath(name + ".png"));
}

} // namespace

int main(int argc, char** argv) {
    QApplication app(argc, argv);
    QCommandLineParser options;
    options.addHelpOption();
    options.addOption({"screenshot", "Write pictures of all pages to this folder and quit.", "DIR"});
    options.addOption({"theme", "light, dark or system", "THEME", "light"});
    options.process(app);
    const QString theme = options.value("theme");
    Theme::instance().setMode(theme == "dark"     ? Theme::Mode::dark
                              : theme == "system" ? Theme::Mode::system
                                                  : Theme::Mode::light);
    QMainWindow window;
    window.setWindowTitle("Gallery");
    auto* tabs = new QTabWidget;
    window.setCentralWidget(tabs);
    auto* menu = window.menuBar()->addMenu("&File");
    auto* open = menu->addAction("&Open sample…");
    open->setShortcut(QKeySequence::Open);
    menu->addAction(CommandPalette::createAction(&window));
    GraphView* graph = nullptr;
    tabs->addTab(graphPage(graph), "Graph");
    tabs->addTab(optimizePage(), "Optimize");
    tabs->addTab(tunePage(), "Tune");
    tabs->addTab(workloadPage(), "Workload");
    TimelineView* timeline = nullptr;
    tabs->addTab(timelinePage(timeline), "Timeline");
    tabs->addTab(basePage(open), "Base");
    tabs->addTab(exportPage(), "Export");
    auto* progress = new StatusProgress;
    window.statusBar()->addPermanentWidget(progress);
    progress->start("Tuning resnet18");
    progress->setProgress(0.37, 190);
    window.resize(1280, 800);
    window.show();
    if (!options.isSet("screenshot"))
        return app.exec();

    QDir folder(options.value("screenshot"));
    folder.mkpath(".");
    const auto name = [&](const QString& what) { return what + "-" + theme; };
    graph->select(5);
    shoot(window, folder, name("graph"));
    graph->select(-1);
    graph->fit();
    shoot(window, folder, name("graph-far"));
    graph->setTransform(ViewTransform{0.75, {60, -400}});
    graph->setOverlay({"Time", "ms", sampleTimes(graph->scene())});
    graph->showFindBar();
    graph->find("add");
    shoot(window, folder, name("graph-overlay"));
    graph->setScene(denseNetwork(graph->font()));
    shoot(window, folder, name("graph-dense"));
    for (int page = 1; page < tabs->count(); ++page) {
        tabs->setCurrentIndex(page);
        shoot(window, folder, name(tabs->tabText(page).toLower()));
    }
    tabs->setCurrentIndex(4);
    timeline->setScale(timeline->scale().zoomedAt(200, 6));
    timeline->setArea({1, 4, {8, 12}});
    timeline->select(timeline->model().sliceAt(1, 15, 3), false);
    shoot(window, folder, name("timeline-near"));
    const SampleTimeline many = sampleTimeline(12, 6, 100'000);
    timeline->select(-1);
    timeline->setLive(TimelineView::Live::here);
    const double now = timeline->model().span().end;
    timeline->setRunning({{0, TimelineSlice::Kind::profile, {0, 4}, now, now, 0, 2}, {1, TimelineSlice::Kind::build, {2}, now - 1, now - 1, 0, 2}});
    timeline->setNow(now + 3);
    timeline->setScale(timeline->scale().movedBy(1e9));
    shoot(window, folder, name("timeline-live"));
    timeline->setLive(TimelineView::Live::no);
    timeline->setTracks(many.tracks);
    timeline->setJobs(many.jobs);
    timeline->addSlices(many.slices);
    shoot(window, folder, name("timeline-far"));
    CommandPalette palette(&window);
    palette.popup();
    shoot(palette, folder, name("palette"));
    return 0;
}
