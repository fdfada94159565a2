// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/timeline_page.h"
#include "app/gui/devices_dock.h"
#include "app/gui/icons.h"
#include "app/gui/page_header.h"
#include "app/gui/sweep_dock.h"
#include "app/gui/timeline_rows.h"
#include "widgets/base/empty_state.h"
#include "widgets/base/foreign_text.h"
#include "widgets/timeline/jobs_panel.h"
#include "widgets/timeline/timeline_totals.h"
#include "widgets/timeline/timeline_view.h"
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QFileDialog>
#include <QGridLayout>
#include <QLabel>
#include <QMessageBox>
#include <QPushButton>
#include <QSaveFile>
#include <QStackedWidget>
#include <algorithm>

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
      view_(new TimelineView(this)), past_(new TimelineView(this)), sessions_(new QComboBox(this)), totals_(new TimelineTotals(this)), panel_(new JobsPanel(this)), sweep_(new SweepDock(this)), devices_(new DevicesDock(this)), loader_(store_) {
    createActions();
    idle_ = new EmptyState(glyphIcon(Glyph::timeline), tr("Nothing has run yet"),
                           tr("The trial store has no session of jobs: run a file of jobs, which says which models to tune at a time, with which budgets and priorities. Here you then see which "
                              "stage has which core, what was waited for, and how every job stands. Try it with models that are built in: it takes less than a minute."),
                           this);
    idle_->setAction(sample_);
    middle_->addWidget(idle_);
    middle_->addWidget(view_);
    middle_->addWidget(past_);
    auto* shown = new QWidget(this);
    auto* column = new QVBoxLayout(shown);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(createHeader());
    column->addWidget(middle_, 1);
    setCentralWidget(shown);
    addDock("jobs", tr("Jobs"), panel_, Qt::BottomDockWidgetArea);
    areaDock_ = addDock("area", tr("Selected area"), totals_, Qt::BottomDockWidgetArea, Place::tab);
    sweepDock_ = addDock("sweep", tr("Sweep"), sweep_, Qt::BottomDockWidgetArea, Place::tab);
    devicesDock_ = addDock("devices", tr("Devices"), devices_, Qt::BottomDockWidgetArea, Place::tab);
    connectParts();
    connectSessions();
    connectSweep();
    resetLayout();
    refresh();
}

void TimelinePage::createActions() {
    open_ = pageCommand(this, "openJobs", tr("Run &Job File…"), Qt::Key_F8, tr("Tune the models of a file of jobs, or of a sweep, at a time (F8)"), &TimelinePage::chooseFile);
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
    sessions_->setObjectName(QStringLiteral("sessions"));
    sessions_->setAccessibleName(tr("Session to show"));
    sessions_->setToolTip(tr("Programs that ran jobs, newest first; one that runs now is followed"));
    sessions_->setMinimumWidth(fontMetrics().averageCharWidth() * 20);
    grid->addWidget(detail_, 1, 0);
    grid->addWidget(sessions_, 1, 1, Qt::AlignRight);
    return header;
}

void TimelinePage::connectParts() {
    for (TimelineView* view : {view_, past_})
        connect(view, &TimelineView::areaChanged, this, [this, view] {
            if (!view->area().empty())
                areaDock_->raise(); // where its totals are
        });
    clock_.setInterval(kClockMs);
    connect(&clock_, &QTimer::timeout, this, [this] {
        view_->setNow(runner_.seconds());
        refresh();
    });
    connect(&runner_, &JobsRunner::sessionBegan, this, &TimelinePage::showBegun);
    connect(&runner_, &JobsRunner::slicesEnded, this, &TimelinePage::showSlices);
    connect(&runner_, &JobsRunner::runningChanged, this, [this](const std::vector<JobSlice>& slices) { view_->setRunning(rowsOf(slices)); });
    connect(&runner_, &JobsRunner::waitingChanged, this, [this](const std::vector<JobWait>& waits) { view_->setWaiting(tracks_.waits(waits)); });
    connect(&runner_, &JobsRunner::jobsChanged, this, &TimelinePage::showStandings);
    connect(&runner_, &JobsRunner::finished, this, &TimelinePage::showFinished);
    connect(&runner_.job(), &Job::failed, this, [this](const QString& reason) { showFinished(internalError(reason.toStdString())); });
    connect(&runner_.job(), &Job::finished, this, &TimelinePage::stateChanged);
    connect(&runner_.job(), &Job::finished, this, &TimelinePage::refresh);
    connect(&writing_, &Job::failed, this, &TimelinePage::problem);
    connect(&looking_, &Job::failed, this, &TimelinePage::problem);
    connect(&changing_, &Job::failed, this, [this](const QString& reason) {
        emit problem(reason);
        changeNext();
    });
    connect(panel_, &JobsPanel::pauseRequested, this, &TimelinePage::pause);
    connect(panel_, &JobsPanel::resumeRequested, this, &TimelinePage::resume);
    connect(panel_, &JobsPanel::cancelRequested, this, [this](qint64 job) { change(job, JobChange::cancel); });
    connect(panel_, &JobsPanel::priorityRequested, this, [this](qint64 job, int priority) {
        changeLater([store = store_, job, priority] { return setJobPriority(store, job, priority); });
    });
}

void TimelinePage::run(const QString& file) {
    if (running())
        return emit problem(tr("Jobs are running: stop them before others begin."));
    file_ = file;
    runner_.start(file, store_, devices_->choice());
    begin(file == sampleFile_.fileName() ? tr("Sample jobs") : QFileInfo(file).fileName());
}

// Such a file names programs, models and devices, and who opens it may take it for a document.
void TimelinePage::askToRun(const QString& file) {
    if (running())
        return run(file);
    const QString shown = oneLine(QDir::toNativeSeparators(file), kValueLength);
    ask({"runQuestion", tr("Run a file"), tr("%1 says what is to be run.").arg(shown),
         tr("It may start any program with your rights. Run it only if you know it."), tr("&Run")},
        [this, file] { run(file); });
}

void TimelinePage::runWaiting() {
    runner_.startWaiting(store_, devices_->choice());
    begin(tr("Waiting jobs"));
}

void TimelinePage::begin(const QString& title) {
    title_ = title;
    begun_ = sweeping_ = false;
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

void TimelinePage::showBegun(qint64 session, const std::map<std::string, int>& resources) {
    begun_ = true;
    ours_ = session;
    rows_.clear();
    summary_.clear();
    tracks_ = SessionTracks(resources);
    view_->setTracks(tracks_.tracks());
    view_->setLive(TimelineView::Live::here);
    clock_.start();
    loader_.list();
    showSession(session);
}

void TimelinePage::showSlices(const std::vector<JobSlice>& slices) {
    view_->addSlices(rowsOf(slices));
}

QVector<TimelineSlice> TimelinePage::rowsOf(const std::vector<JobSlice>& slices) {
    if (const QVector<TimelineTrack> fresh = tracks_.addDevices(slices); !fresh.isEmpty())
        view_->addTracks(fresh);
    return tracks_.slices(slices);
}

void TimelinePage::showStandings(const std::vector<JobStanding>& standings) {
    const auto known = rows_.size();
    for (const JobStanding& standing : standings) {
        const auto place = static_cast<int>(standing.job);
        if (place >= rows_.size())
            rows_.resize(place + 1);
        rows_[place] = jobRow(standing);
        sweep_->noteChange(standing.id);
    }
    if (rows_.size() > known)
        view_->setJobs(rows_);
    if (!past())
        panel_->setJobs(rows_);
}

void TimelinePage::pause(qint64 job) {
    paused_.insert(job);
    change(job, JobChange::pause);
}

// A job that was not paused here may have come with the store, and runs what its row says: a person should know.
void TimelinePage::resume(qint64 job) {
    if (paused_.contains(job))
        return change(job, JobChange::resume);
    looking_.start(
        tr("Looking at a job"), [store = store_](const Work&) { return listJobs(store); },
        [this, job](const Result<std::vector<QueuedJob>>& jobs) {
            if (!jobs.ok())
                return emit problem(QString::fromStdString(jobs.error().message));
            const auto found = std::ranges::find(*jobs, job, &QueuedJob::id);
            if (found == jobs->end())
                return emit problem(tr("This job is no longer in the store."));
            askToResume(*found);
        });
}

void TimelinePage::askToResume(const QueuedJob& job) {
    const QString does = job.does.empty() ? tr("does what cannot be read") : oneLine(job.does, kValueLength);
    ask({"resumeQuestion", tr("Resume a job"), tr("Job %1 %2.").arg(job.id).arg(does),
         tr("It was not paused in this window, and may have come with the store. Resume it only if you know it."), tr("&Resume")},
        [this, id = job.id] { change(id, JobChange::resume); });
}

// About what is foreign, so nothing of it is markup.
void TimelinePage::ask(const Question& question, std::function<void()> agreed) {
    auto* box = new QMessageBox(QMessageBox::Question, question.title, question.text, QMessageBox::Cancel, this);
    box->setObjectName(QLatin1String(question.name));
    box->setAccessibleName(question.title);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setTextFormat(Qt::PlainText);
    box->setInformativeText(question.explanation);
    QPushButton* agree = box->addButton(question.yes, QMessageBox::AcceptRole);
    box->setDefaultButton(QMessageBox::Cancel); // Enter may have been on its way
    connect(agree, &QPushButton::clicked, this, std::move(agreed));
    box->open();
}

// Jobs are the store's: whoever runs them follows.
void TimelinePage::change(qint64 job, JobChange change) {
    changeLater([store = store_, job, change] { return changeJob(store, job, change); });
}

void TimelinePage::changeLater(std::function<Status()> change) {
    changes_.push_back(std::move(change));
    if (!changing_.running())
        changeNext();
}

// One after the other, for the last one is to stand.
void TimelinePage::changeNext() {
    if (changes_.empty())
        return;
    changing_.start(
        tr("Changing a job"), [change = changes_.takeFirst()](const Work&) { return change(); },
        [this](const Status& changed) {
            if (!changed.ok())
                emit problem(QString::fromStdString(changed.error().message));
            changeNext();
        });
}

void TimelinePage::showFinished(const Result<TunedJobs>& result) {
    clock_.stop();
    view_->setLive(TimelineView::Live::no);
    if (result.ok() && begun_) {
        summary_ = jobsSummary(*result);
        emit done(tr("The jobs have ended. %1").arg(summary_));
    } else if (result.ok()) {
        emit done(sweeping_ ? tr("Every combination of the sweep has been run.") : tr("No job waits."));
    } else if (!result.error().isCancelled()) {
        emit problem(QString::fromStdString(result.error().message));
    }
    sweep_->end();
    loader_.list();
    refresh();
}

void TimelinePage::refresh() {
    const bool shown = shown_.has_value();
    open_->setEnabled(!running());
    sample_->setEnabled(!running());
    waiting_->setEnabled(!running());
    cancel_->setEnabled(running());
    export_->setEnabled(shown && view()->model().size() > 0);
    headline_->setText(!shown ? tr("Jobs") : past() ? tr("Session %1").arg(*shown_) : oneLine(title_));
    detail_->setText(detailNow());
    detail_->setToolTip(plainToolTip(detail_->text())); // which may be longer than there is room
    panel_->setEnabled(shown);
    totals_->setEnabled(shown);
}

QString TimelinePage::detailNow() const {
    if (running() && !begun_)
        return tr("Opening the models…");
    if (past())
        return !unread_.isEmpty() ? unread_ : !news_.tracks ? tr("Reading what ran when…") : sessionSummary(news_.session, news_.utilisation);
    if (running())
        return tr("Running for %1; stages that have ended: %2").arg(secondsText(std::floor(runner_.seconds()))).arg(view_->model().size());
    return !summary_.isEmpty() ? summary_ : tr("Several models are tuned at a time; what is measured has its cores to itself.");
}

QString TimelinePage::headline() const { return headline_->text(); }
QString TimelinePage::detail() const { return detail_->text(); }

void TimelinePage::chooseFile() {
    auto* dialog = new QFileDialog(this, tr("Run a file of jobs, a sweep or a problem"), {}, tr("Files of jobs, sweeps and problems (*.toml);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, &TimelinePage::run);
    dialog->open();
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

void TimelinePage::showDevices() {
    devicesDock_->show();
    devicesDock_->raise();
    devices_->setFocus();
}

void TimelinePage::sizeDocks() {
    resizeDocks({docks().front()}, {280}, Qt::Vertical); // the others are its tabs
}

} // namespace tunesmith
