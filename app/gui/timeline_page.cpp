// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/timeline_page.h"
#include "app/gui/icons.h"
#include "app/gui/page_header.h"
#include "app/gui/timeline_rows.h"
#include "core/workbench/machine.h"
#include "widgets/base/empty_state.h"
#include "widgets/base/foreign_text.h"
#include "widgets/timeline/jobs_panel.h"
#include "widgets/timeline/timeline_totals.h"
#include "widgets/timeline/timeline_view.h"
#include <QDir>
#include <QDockWidget>
#include <QFileDialog>
#include <QGridLayout>
#include <QLabel>
#include <QSaveFile>
#include <QStackedWidget>

namespace tunesmith {
namespace {

constexpr int kClockMs = 200;

// Also what explains the format to a person who saves it.
constexpr const char* kSampleFile = R"(# Three models at a time. Each stage has its turn; what is measured has its cores to itself.
policy = "predictive"   # or sequential, greedy, fair
threads = 1             # for all jobs that do not say otherwise
trials = 8              # per workload

[[job]]
model = "mlp"           # a sample that is built in, or a file beside this one

[[job]]
name = "mlp, random"
model = "mlp"
strategy = "random"

[[job]]
model = "encoder"
trials = 2
priority = 1            # goes first where both are ready
)";

} // namespace

TimelinePage::TimelinePage(std::string store, QWidget* parent)
    : DockedPage(QStringLiteral("timelinePage"), parent), store_(std::move(store)), headline_(new QLabel(this)), detail_(new QLabel(this)), middle_(new QStackedWidget(this)),
      view_(new TimelineView(this)), totals_(new TimelineTotals(this)), panel_(new JobsPanel(this)) {
    createActions();
    idle_ = new EmptyState(glyphIcon(Glyph::timeline), tr("Nothing has run yet"),
                           tr("A file of jobs says which models to tune at a time, with which budgets and priorities. Here you see which stage has which core, what was waited for, and how "
                              "every job stands. Try it with models that are built in: it takes less than a minute."),
                           this);
    idle_->setAction(sample_);
    middle_->addWidget(idle_);
    middle_->addWidget(view_);
    auto* shown = new QWidget(this);
    auto* column = new QVBoxLayout(shown);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(createHeader());
    column->addWidget(middle_, 1);
    setCentralWidget(shown);
    addDock("jobs", tr("Jobs"), panel_, Qt::BottomDockWidgetArea);
    addDock("area", tr("Selected area"), totals_, Qt::BottomDockWidgetArea, Place::tab);
    connectParts();
    resetLayout();
    refresh();
}

void TimelinePage::createActions() {
    open_ = pageCommand(this, "openJobs", tr("Run &Job File…"), Qt::Key_F8, tr("Tune the models of a file of jobs at a time (F8)"), &TimelinePage::chooseFile);
    sample_ = pageCommand(this, "runSampleJobs", tr("Run &Sample Jobs"), {}, tr("Tune a few built-in models at a time"), &TimelinePage::runSample);
    cancel_ = pageCommand(this, "cancelJobs", tr("Stop &Jobs"), Qt::SHIFT | Qt::Key_F8, tr("Stop; what was measured is kept, and the jobs wait to be gone on with (Shift+F8)"), &TimelinePage::cancel);
    export_ = pageCommand(this, "exportTrace", tr("Export &Trace…"), Qt::CTRL | Qt::Key_F8, tr("Write all stages as a trace for Perfetto, or as a table (Ctrl+F8)"), &TimelinePage::chooseExport);
    waiting_ = pageCommand(this, "runWaitingJobs", tr("Run &Waiting Jobs"), {}, tr("Go on with the jobs that wait: of a window that was closed, or added by tunesmith-cli jobs add"),
                           &TimelinePage::runWaiting);
    saveSample_ = pageCommand(this, "saveSampleJobs", tr("Save Sample Job &File…"), {}, tr("Write a file of jobs to begin with"), &TimelinePage::chooseSampleFile);
}

QWidget* TimelinePage::createHeader() {
    auto* header = new QWidget(this);
    auto* grid = new QGridLayout(header);
    grid->setContentsMargins(14, 8, 10, 6);
    grid->setVerticalSpacing(6);
    grid->setColumnStretch(0, 1);
    styleHeadlines(headline_, detail_);
    headline_->setObjectName(QStringLiteral("timelineHeadline"));
    detail_->setObjectName(QStringLiteral("timelineDetail"));
    grid->addWidget(headline_, 0, 0);
    grid->addLayout(commandButtons(commands(), this), 0, 1, Qt::AlignRight);
    grid->addWidget(detail_, 1, 0, 1, 2);
    return header;
}

void TimelinePage::connectParts() {
    totals_->watch(view_);
    connect(view_, &TimelineView::areaChanged, this, [this] {
        if (!view_->area().empty())
            docks().last()->raise(); // where its totals are
    });
    clock_.setInterval(kClockMs);
    connect(&clock_, &QTimer::timeout, this, [this] {
        view_->setNow(runner_.seconds());
        refresh();
    });
    connect(&runner_, &JobsRunner::slicesEnded, this, &TimelinePage::showSlices);
    connect(&runner_, &JobsRunner::runningChanged, this, [this](const std::vector<JobSlice>& slices) { view_->setRunning(jobSlices(slices, usableCores())); });
    connect(&runner_, &JobsRunner::jobsChanged, this, &TimelinePage::showStandings);
    connect(&runner_, &JobsRunner::finished, this, &TimelinePage::showFinished);
    connect(&runner_.job(), &Job::failed, this, [this](const QString& reason) { showFinished(internalError(reason.toStdString())); });
    connect(&runner_.job(), &Job::finished, this, &TimelinePage::stateChanged);
    connect(&runner_.job(), &Job::finished, this, &TimelinePage::refresh);
    connect(&writing_, &Job::failed, this, &TimelinePage::problem);
    connect(&changing_, &Job::failed, this, &TimelinePage::problem);
    connect(panel_, &JobsPanel::pauseRequested, this, [this](qint64 job) { change(job, JobChange::pause); });
    connect(panel_, &JobsPanel::resumeRequested, this, [this](qint64 job) { change(job, JobChange::resume); });
    connect(panel_, &JobsPanel::cancelRequested, this, [this](qint64 job) { change(job, JobChange::cancel); });
    connect(panel_, &JobsPanel::priorityRequested, this, [this](qint64 job, int priority) {
        changeLater([store = store_, job, priority] { return setJobPriority(store, job, priority); });
    });
}

void TimelinePage::run(const QString& file) {
    if (running())
        return emit problem(tr("Jobs are running: stop them before others begin."));
    runner_.start(file, store_);
    begin(file == sampleFile_.fileName() ? tr("Sample jobs") : QFileInfo(file).fileName());
}

void TimelinePage::runWaiting() {
    runner_.startWaiting(store_);
    begin(tr("Waiting jobs"));
}

void TimelinePage::begin(const QString& title) {
    title_ = title;
    begun_ = false;
    refresh();
    emit stateChanged();
}

void TimelinePage::runSample() {
    const QByteArray text(kSampleFile);
    if (!sampleFile_.open() || !sampleFile_.resize(0) || sampleFile_.write(text) != text.size() || !sampleFile_.flush())
        return emit problem(tr("%1 cannot be written: %2").arg(sampleFile_.fileName(), sampleFile_.errorString()));
    run(sampleFile_.fileName());
}

void TimelinePage::cancel() {
    runner_.stop();
    cancel_->setEnabled(false);
}

void TimelinePage::showBegun() {
    begun_ = true;
    rows_.clear();
    timeline_ = {};
    summary_.clear();
    view_->setTracks(jobTracks(usableCores()));
    view_->setLive(true);
    middle_->setCurrentWidget(view_);
    clock_.start();
}

void TimelinePage::showSlices(const std::vector<JobSlice>& slices) {
    timeline_.slices.insert(timeline_.slices.end(), slices.begin(), slices.end());
    view_->addSlices(jobSlices(slices, usableCores()));
}

// All jobs come with the first ones.
void TimelinePage::showStandings(const std::vector<JobStanding>& standings) {
    const bool first = !begun_;
    if (first)
        showBegun();
    for (const JobStanding& standing : standings) {
        const auto place = static_cast<int>(standing.job);
        if (place >= rows_.size())
            rows_.resize(place + 1);
        rows_[place] = jobRow(standing);
    }
    if (first) {
        view_->setJobs(rows_);
        refresh();
    }
    panel_->setJobs(rows_);
}

// Jobs are the store's: whoever runs them follows.
void TimelinePage::change(qint64 job, JobChange change) {
    changeLater([store = store_, job, change] { return changeJob(store, job, change); });
}

void TimelinePage::changeLater(std::function<Status()> change) {
    changing_.start(
        tr("Changing a job"), [change = std::move(change)](const Work&) { return change(); },
        [this](const Status& changed) {
            if (!changed.ok())
                emit problem(QString::fromStdString(changed.error().message));
        });
}

void TimelinePage::showFinished(const Result<TunedJobs>& result) {
    clock_.stop();
    view_->setLive(false);
    if (result.ok() && begun_) {
        timeline_ = result->timeline;
        summary_ = jobsSummary(*result);
        emit done(tr("The jobs have ended. %1").arg(summary_));
    } else if (result.ok()) {
        emit done(tr("No job waits."));
    } else if (!result.error().isCancelled()) {
        emit problem(QString::fromStdString(result.error().message));
    }
    refresh();
}

void TimelinePage::refresh() {
    const bool shown = middle_->currentWidget() == view_;
    open_->setEnabled(!running());
    sample_->setEnabled(!running());
    waiting_->setEnabled(!running());
    cancel_->setEnabled(running());
    export_->setEnabled(!running() && !timeline_.slices.empty());
    headline_->setText(shown ? oneLine(title_) : tr("Jobs"));
    if (running())
        detail_->setText(shown ? tr("Running for %1; stages that have ended: %2").arg(secondsText(std::floor(runner_.seconds()))).arg(timeline_.slices.size()) : tr("Opening the models…"));
    else
        detail_->setText(!summary_.isEmpty() ? summary_ : tr("Several models are tuned at a time; what is measured has its cores to itself."));
    for (QDockWidget* dock : docks())
        dock->widget()->setEnabled(shown);
}

QString TimelinePage::headline() const { return headline_->text(); }
QString TimelinePage::detail() const { return detail_->text(); }

void TimelinePage::chooseFile() {
    auto* dialog = new QFileDialog(this, tr("Run a file of jobs"), {}, tr("Files of jobs (*.toml);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, &TimelinePage::run);
    dialog->open();
}

void TimelinePage::chooseExport() {
    auto* dialog = new QFileDialog(this, tr("Export the stages"), {}, tr("Trace for Perfetto (*.json);;Table (*.csv)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("json"));
    dialog->selectFile(QStringLiteral("jobs.json"));
    connect(dialog, &QFileDialog::filterSelected, dialog, [dialog](const QString& filter) { dialog->setDefaultSuffix(filter.contains(QLatin1String("csv")) ? QStringLiteral("csv") : QStringLiteral("json")); });
    connect(dialog, &QFileDialog::fileSelected, this, &TimelinePage::exportTo);
    dialog->open();
}

void TimelinePage::exportTo(const QString& path) {
    if (timeline_.slices.empty())
        return emit problem(tr("No stage has run yet: there is nothing to export."));
    writing_.start(
        tr("Writing %1").arg(QFileInfo(path).fileName()), [timeline = timeline_, path](const Work&) { return exportTimeline(timeline, path.toStdString()); },
        [this, path](const Status& written) {
            if (written.ok())
                emit saved(tr("Saved %1.").arg(QDir::toNativeSeparators(path)));
            else
                emit problem(QString::fromStdString(written.error().message));
        });
}

void TimelinePage::chooseSampleFile() {
    auto* dialog = new QFileDialog(this, tr("Save a file of jobs to begin with"), {}, tr("Files of jobs (*.toml)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("toml"));
    dialog->selectFile(QStringLiteral("jobs.toml"));
    connect(dialog, &QFileDialog::fileSelected, this, &TimelinePage::saveSampleTo);
    dialog->open();
}

void TimelinePage::saveSampleTo(const QString& path) {
    QSaveFile file(path);
    const QByteArray text(kSampleFile);
    if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size() || !file.commit())
        return emit problem(tr("%1 cannot be written: %2").arg(QDir::toNativeSeparators(path), file.errorString()));
    emit saved(tr("Saved %1.").arg(QDir::toNativeSeparators(path)));
}

void TimelinePage::sizeDocks() {
    resizeDocks(docks(), {280, 280}, Qt::Vertical);
}

} // namespace tunesmith
