// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/tune_page.h"
#include "app/gui/icons.h"
#include "app/gui/kernel_dock.h"
#include "app/gui/newest_rows.h"
#include "app/gui/page_header.h"
#include "app/gui/space_dock.h"
#include "app/gui/strategy_dock.h"
#include "widgets/base/empty_state.h"
#include "widgets/tune/budget_form.h"
#include "widgets/tune/predicted_plot.h"
#include "widgets/tune/roofline_plot.h"
#include "widgets/tune/workload_table.h"
#include <QComboBox>
#include <QDateTime>
#include <QDockWidget>
#include <QGridLayout>
#include <QLabel>
#include <QLocale>
#include <QStackedWidget>
#include <algorithm>

namespace tunesmith {

namespace {

QVector<StrategyChoice> choicesOf(const std::vector<StrategyInfo>& infos) {
    QVector<StrategyChoice> choices;
    for (const StrategyInfo& info : infos)
        choices.push_back({QString::fromStdString(info.key), QString::fromStdString(info.name),
                           QString::fromStdString(info.help)});
    return choices;
}

// The target, and the space where it is not the usual one.
QString targetText(const RunSummary& run) {
    const QString target = oneLine(run.target);
    for (const StrategyInfo& space : tuneSpaces())
        if (space.key == run.space && space.key != tuneSpaces().front().key)
            return TunePage::tr("%1, %2").arg(target, QString::fromStdString(space.name));
    return target;
}

} // namespace

struct TunePage::History {
    Result<std::vector<TuningTask>> tasks = std::vector<TuningTask>();
    Result<std::vector<RunSummary>> runs = std::vector<RunSummary>();
    std::optional<std::int64_t> run;
    QVector<StoredCurve> curves;
    std::optional<Error> curveError;

    // That of the shown run.
    std::string spaceOr(const std::string& otherwise) const {
        if (runs.ok())
            for (const RunSummary& summary : *runs)
                if (summary.id == run)
                    return summary.space;
        return otherwise;
    }
};

TunePage::TunePage(QAction* open, std::string store, QWidget* parent)
    : DockedPage(QStringLiteral("tunePage"), parent), store_(std::move(store)),
      stack_(new QStackedWidget(this)), headline_(new QLabel(this)), detail_(new QLabel(this)),
      runBox_(new QComboBox(this)), table_(new WorkloadTable(this)), budget_(new BudgetForm(this)),
      convergence_(new ConvergencePlot(this)), predicted_(new PredictedMeasuredPlot(this)),
      roofline_(new RooflinePlot(this)), kernel_(new KernelDock(store_, this)),
      strategies_(new StrategyDock(store_, this)), space_(new SpaceDock(store_, this)) {
    createActions();
    auto* empty = new EmptyState(glyphIcon(Glyph::tune), tr("Nothing to tune yet"),
                                 tr("Open a model first; its workloads then appear here."), this);
    empty->setAction(open);
    auto* shown = new QWidget(this);
    auto* column = new QVBoxLayout(shown);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(createHeader());
    column->addWidget(table_, 1);
    stack_->addWidget(empty);
    stack_->addWidget(shown);
    setCentralWidget(stack_);
    budget_->setStrategies(choicesOf(tuneStrategies()));
    budget_->setSpaces(choicesOf(tuneSpaces()));
    budget_->setMaximumThreads(usableCores());
    BudgetChoice choice = budget_->choice();
    choice.threads = usableCores() > 1 ? 0 : 1;
    budget_->setChoice(choice);
    addDock("budget", tr("Budget"), budget_, Qt::BottomDockWidgetArea);
    addDock("convergence", tr("Best so far"), convergence_, Qt::BottomDockWidgetArea);
    addDock("predicted", tr("Predictions"), predicted_, Qt::BottomDockWidgetArea);
    addDock("roofline", tr("Roofline"), roofline_, Qt::BottomDockWidgetArea, Place::tab);
    auto* kernelDock = addDock("kernel", tr("Kernel"), kernel_, Qt::BottomDockWidgetArea, Place::tab);
    auto* strategyDock = addDock("strategies", tr("Strategies"), strategies_, Qt::BottomDockWidgetArea, Place::tab);
    auto* spaceDock = addDock("space", tr("Space"), space_, Qt::BottomDockWidgetArea, Place::tab);
    connect(kernelDock, &QDockWidget::visibilityChanged, kernel_, &KernelDock::setSeen);
    connect(strategyDock, &QDockWidget::visibilityChanged, &strategies_->reader(), &WorkloadReader::setSeen);
    connect(spaceDock, &QDockWidget::visibilityChanged, &space_->reader(), &WorkloadReader::setSeen);
    connect(table_, &WorkloadTable::currentKeyChanged, this, [this] { showChosen(); });
    connect(table_, &WorkloadTable::currentKeyChanged, roofline_, &RooflinePlot::setCurrent);
    connect(roofline_, &RooflinePlot::kernelChosen, table_, &WorkloadTable::setCurrentKey);
    connect(table_, &WorkloadTable::currentKeyChanged, convergence_, &ConvergencePlot::setCurrent);
    connect(table_, &WorkloadTable::currentKeyChanged, this, &TunePage::showPredictions);
    predicted_->setScale(PredictedMeasuredPlot::Scale::score);
    connect(runBox_, &QComboBox::activated, this,
            [this](int index) { loadHistory(runBox_->itemData(index).toLongLong()); });
    connectRunner();
    resetLayout();
    showModel(nullptr);
}

TunePage::~TunePage() = default;

void TunePage::createActions() {
    start_ = pageCommand(this, "startTuning", tr("&Start tuning"), Qt::Key_F5, tr("Tune the open model within the budget (F5)"), &TunePage::start);
    pause_ = pageCommand(this, "pauseTuning", tr("&Pause"), Qt::Key_F6, tr("Let the machine go; the run can be resumed (F6)"), &TunePage::pause);
    resume_ = pageCommand(this, "resumeTuning", tr("&Resume"), Qt::SHIFT | Qt::Key_F6, tr("Go on with the shown run where it was left (Shift+F6)"), &TunePage::resume);
    stop_ = pageCommand(this, "stopTuning", tr("S&top"), Qt::SHIFT | Qt::Key_F5, tr("End the run; everything measured is kept (Shift+F5)"), &TunePage::stop);
}

QWidget* TunePage::createHeader() {
    auto* header = new QWidget(this);
    auto* grid = new QGridLayout(header);
    grid->setContentsMargins(14, 8, 10, 8);
    grid->setVerticalSpacing(4);
    grid->setColumnStretch(0, 1);
    styleHeadlines(headline_, detail_);
    headline_->setObjectName(QStringLiteral("headline"));
    detail_->setObjectName(QStringLiteral("detail"));
    runBox_->setObjectName(QStringLiteral("runs"));
    runBox_->setAccessibleName(tr("Stored run to show"));
    runBox_->setToolTip(tr("Runs of this model in the trial store"));
    QHBoxLayout* const buttons = commandButtons(commands(), this);
    grid->addWidget(headline_, 0, 0);
    grid->addLayout(buttons, 0, 1, Qt::AlignRight);
    grid->addWidget(detail_, 1, 0);
    grid->addWidget(runBox_, 1, 1, Qt::AlignRight);
    return header;
}

void TunePage::sizeDocks() {
    resizeDocks(docks().first(3), {330, 490, 510}, Qt::Horizontal); // the others are tabs, all of which need a name
    resizeDocks({docks().front()}, {400}, Qt::Vertical);
}

int TunePage::threads() const {
    return budget_->choice().threads;
}

void TunePage::showModel(const OpenModelPtr& model) {
    model_ = model;
    kernel_->setModel(model);
    board_.clear();
    runs_.clear();
    run_.reset();
    beforeMs_ = afterMs_ = {};
    showRows();
    showChosen();
    convergence_->setSeries({});
    predicted_->clear();
    stack_->setCurrentIndex(model ? 1 : 0);
    for (QDockWidget* dock : docks())
        dock->widget()->setEnabled(model != nullptr);
    fillRuns();
    refreshActions();
    refreshHeadline();
    if (model)
        loadHistory({});
}

void TunePage::loadHistory(std::optional<std::int64_t> run) {
    history_.start(
        tr("Reading the trial store"),
        [model = model_->model, store = store_, run, threads = threads(),
         space = budget_->choice().space.toStdString()](const Work&) {
            History history;
            history.runs = tuningRuns(store, model.hash());
            history.run = run;
            if (!run && history.runs.ok() && !history.runs->empty())
                history.run = history.runs->front().id;
            if (model.info().unsupported.empty() && model.info().openDimensions.empty())
                history.tasks = tuningTasks(model, threads, history.spaceOr(space));
            if (history.run) {
                const auto curves = runCurves(store, *history.run);
                if (curves.ok())
                    history.curves = storedCurves(*curves);
                else
                    history.curveError = curves.error();
            }
            return history;
        },
        [this](const History& history) { showHistory(history); });
}

void TunePage::showHistory(const History& history) {
    for (const Error* error : {history.tasks.ok() ? nullptr : &history.tasks.error(),
                               history.runs.ok() ? nullptr : &history.runs.error(),
                               history.curveError ? &*history.curveError : nullptr})
        if (error && !error->isCancelled())
            emit problem(QString::fromStdString(error->message));
    if (running())
        return; // a run was started meanwhile; what it shows is newer
    runs_ = history.runs.valueOr({});
    run_ = history.run;
    for (RunSummary& summary : runs_)
        summary.resumable = summary.resumable || summary.id == broken_;
    board_.clear();
    board_.setTasks(history.tasks.valueOr({}));
    board_.setStored(history.curves);
    convergence_->clear();
    convergence_->setSeries(board_.series());
    for (const StoredCurve& curve : history.curves)
        convergence_->addTrials(curve.entry.key, curve.points);
    const RunSummary* shown = shownRun();
    beforeMs_ = shown ? shown->beforeMs : std::nullopt;
    afterMs_ = shown ? shown->afterMs : std::nullopt;
    shownThreads_ = shown ? shown->threads : 1;
    if (shown && shown->resumable)
        board_.finish(WorkloadState::paused);
    showRows();
    showPredictions();
    showRoof();
    findRoof();
    kernel_->refresh();
    showChosen(true);
    fillRuns();
    refreshActions();
    refreshHeadline();
    emit historyShown();
}

QList<Job*> TunePage::quietJobs() {
    return {&history_, &roof_, &kernel_->job(), &strategies_->reader().job(), &space_->reader().job()};
}

bool TunePage::reading() {
    const QList<Job*> jobs = quietJobs();
    return std::any_of(jobs.begin(), jobs.end(), [](const Job* job) { return job->running(); });
}

void TunePage::selectFirst() {
    if (table_->currentKey().isEmpty() && !board_.rows().isEmpty())
        table_->setCurrentKey(board_.rows().front().key);
}

void TunePage::showChosen(bool again) {
    const QString key = table_->currentKey();
    kernel_->setWorkload(key, shownThreads_);
    for (WorkloadReader* reader : {&strategies_->reader(), &space_->reader()})
        reader->choose({key, shownThreads_, run_}, again);
}

void TunePage::showRows() {
    table_->setRows(board_.rows());
    roofline_->setKernels(board_.kernels());
}

// The ceilings are measured once per machine, when there are kernels to compare with them and the machine is free.
void TunePage::findRoof() {
    if (machine_ || running() || board_.trials() == 0)
        return;
    roof_.start(
        tr("Measuring what this machine can do"),
        [store = store_](const Work& work) { return machineReport(store, false, work); },
        [this](const Result<MachineReport>& report) {
            if (report.ok())
                machine_ = *report;
            else if (!report.error().isCancelled())
                emit problem(QString::fromStdString(report.error().message));
            showRoof();
        });
}

void TunePage::showRoof() {
    Roof roof;
    if (machine_)
        for (const CeilingsAt& ceilings : machine_->threads)
            if (ceilings.threads <= shownThreads_)
                roof = {ceilings.fmaGflops, ceilings.memoryGbs};
    roofline_->setRoof(roof);
}

// Scores compare only within one workload: the plot shows the selected one, or the one of most work.
void TunePage::showPredictions() {
    const auto& rows = board_.rows();
    predictedKey_ = table_->currentKey();
    if (predictedKey_.isEmpty() && !rows.isEmpty())
        predictedKey_ = rows.front().key;
    predicted_->clear();
    predicted_->addTrials(board_.points(predictedKey_));
}

const RunSummary* TunePage::shownRun() const {
    for (const RunSummary& summary : runs_)
        if (run_ == summary.id)
            return &summary;
    return nullptr;
}

void TunePage::fillRuns() {
    const auto text = [](const RunSummary& run) {
        const QString when = QLocale().toString(QDateTime::fromMSecsSinceEpoch(run.startedAt), QLocale::ShortFormat);
        const QString state = run.resumable ? tr("can be resumed") : QString::fromStdString(run.state).toLower();
        return tr("Run %1 · %2 · %3 · %4").arg(run.id).arg(targetText(run), when, state);
    };
    listNewest(runBox_, runs_, run_, text, tr("and %1 older runs"));
}

void TunePage::refreshActions() {
    const bool possible =
        model_ && model_->model.info().unsupported.empty() && model_->model.info().openDimensions.empty();
    const RunSummary* shown = shownRun();
    start_->setEnabled(possible && !running());
    resume_->setEnabled(possible && !running() && shown && shown->resumable);
    pause_->setEnabled(state_ == State::running);
    stop_->setEnabled(state_ == State::running);
    runBox_->setEnabled(!running());
    budget_->setEnabled(model_ && !running());
    kernel_->setTuning(running());
}

QString TunePage::runningText() const {
    const QString name = QString::fromStdString(model_->model.name());
    if (!leg_)
        return tr("Preparing to tune %1").arg(name);
    const QString text = leg_->threads == 1 ? tr("Tuning %1 for one thread").arg(name)
                                            : tr("Tuning %1 for %2 threads").arg(name).arg(leg_->threads);
    return leg_->count == 1 ? text : tr("%1 (part %2 of %3)").arg(text).arg(leg_->index + 1).arg(leg_->count);
}

// What two short series on a shared machine cannot tell apart is not called a difference.
QString TunePage::verdict(int threads, double beforeMs, double afterMs) {
    constexpr double kNoise = 1.05;
    const double ratio = beforeMs / afterMs;
    const QString both = tr("%1 before, %2 now").arg(msText(beforeMs), msText(afterMs));
    const QString times =
        threads == 1 ? tr("%1 on one thread").arg(both) : tr("%1 on %2 threads").arg(both).arg(threads);
    if (ratio > kNoise)
        return tr("%1: %2 times as fast").arg(times, QLocale().toString(ratio, 'f', 1));
    if (ratio > 1 / kNoise)
        return tr("%1: no clear difference").arg(times);
    return tr("%1: slower; was the machine busy?").arg(times);
}

void TunePage::refreshHeadline() {
    if (!model_)
        return;
    const int workloads = static_cast<int>(board_.rows().size());
    QStringList words{tr("Workloads: %1").arg(workloads)};
    if (board_.trials() > 0)
        words << tr("trials: %1").arg(board_.trials());
    if (board_.failed() > 0)
        words << tr("failed: %1").arg(board_.failed());
    detail_->setText(words.join(QStringLiteral(" · ")));
    if (state_ == State::running)
        headline_->setText(runningText());
    else if (running())
        headline_->setText(state_ == State::pausing ? tr("Pausing…") : tr("Stopping…"));
    else if (beforeMs_ && afterMs_)
        headline_->setText(resume_->isEnabled() ? tr("Paused. %1").arg(reached()) : reached());
    else if (board_.trials() > 0)
        headline_->setText(resume_->isEnabled() ? tr("Paused; resume to go on") : tr("Tuned"));
    else
        headline_->setText(start_->isEnabled()
                               ? tr("Ready to tune %1").arg(QString::fromStdString(model_->model.name()))
                               : tr("This model cannot be tuned yet"));
}

} // namespace tunesmith
