// SPDX-License-Identifier: GPL-3.0-or-later
// Sessions of the store: which there are, the one that is shown, its export.
#include "app/gui/newest_rows.h"
#include "app/gui/timeline_page.h"
#include "widgets/timeline/jobs_panel.h"
#include "widgets/timeline/timeline_totals.h"
#include "widgets/timeline/timeline_view.h"
#include <QComboBox>
#include <QDir>
#include <QFileDialog>
#include <QStackedWidget>
#include <algorithm>

namespace tunesmith {

void TimelinePage::connectSessions() {
    totals_->watch(view_);
    sessions_->hide();
    connect(sessions_, &QComboBox::activated, this, [this](int index) { showSession(sessions_->itemData(index).toLongLong()); });
    connect(&loader_, &SessionLoader::listed, this, &TimelinePage::fillSessions);
    connect(&loader_, &SessionLoader::came, this, &TimelinePage::showNews);
    connect(&loader_, &SessionLoader::broken, this, [this](const QString& reason) {
        unread_ = reason.isEmpty() ? tr("Reading was cancelled: what is shown is not the whole session. Choose it again to read it.") : reason;
        refresh();
        if (!reason.isEmpty())
            emit problem(reason);
    });
}

void TimelinePage::showEvent(QShowEvent* event) {
    DockedPage::showEvent(event);
    loader_.list();
}

// Other programs may have begun sessions meanwhile.
void TimelinePage::changeEvent(QEvent* event) {
    DockedPage::changeEvent(event);
    if (event->type() == QEvent::ActivationChange && isActiveWindow() && isVisible())
        loader_.list();
}

void TimelinePage::fillSessions(const std::vector<JobSessionSummary>& sessions) {
    known_ = sessions;
    if (sessions_->view()->isVisible())
        return; // a person is choosing
    const auto text = [this](const JobSessionSummary& session) {
        const bool now = running() && begun_ && session.id == ours_;
        return now ? tr("Now · %1").arg(sessionName(session)) : sessionName(session);
    };
    listNewest(sessions_, sessions, shown_, text, tr("and %1 older sessions, which tunesmith-cli jobs sessions lists"));
    if (!shown_ && !running() && !sessions.empty())
        showSession(sessions.front().id);
}

void TimelinePage::showSession(qint64 session) {
    if (shown_ == session && unread_.isEmpty())
        return;
    shown_ = session;
    unread_.clear();
    loader_.stop();
    news_ = {};
    if (past()) {
        past_->setTracks({});
        past_->setLive(TimelineView::Live::no);
        const auto known = std::ranges::find(known_, session, &JobSessionSummary::id);
        loader_.load(session, known == known_.end() ? 0 : known->slices);
    }
    sessions_->setCurrentIndex(sessions_->findData(session));
    bringUp();
}

void TimelinePage::bringUp() {
    middle_->setCurrentWidget(view());
    totals_->watch(view());
    panel_->setJobs(past() ? news_.jobs : rows_);
    refresh();
}

void TimelinePage::showNews(const SessionNews& news) {
    const bool was = news_.session.running;
    if (news.tracks)
        past_->setTracks(*news.tracks);
    if (!news.devices.isEmpty())
        past_->addTracks(news.devices);
    if (!news.jobs.isEmpty()) {
        past_->setJobs(news.jobs);
        panel_->setJobs(news.jobs);
    }
    past_->addSlices(news.slices);
    if (news.session.running != was)
        past_->setLive(news.session.running ? TimelineView::Live::elsewhere : TimelineView::Live::no);
    if (news.session.running)
        past_->setNow(news.session.seconds);
    SessionNews latest = news;
    latest.slices = {};
    if (!latest.tracks)
        latest.tracks = news_.tracks;
    if (latest.jobs.isEmpty())
        latest.jobs = news_.jobs;
    news_ = std::move(latest);
    if (was && !news.session.running)
        loader_.list();
    refresh();
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
    if (!shown_ || view()->model().size() == 0)
        return emit problem(tr("No stage has run yet: there is nothing to export."));
    writing_.start(
        tr("Writing %1").arg(QFileInfo(path).fileName()), [store = store_, session = *shown_, path](const Work& work) -> Status {
            TS_ASSIGN(const JobTimeline timeline, sessionTimeline(store, session, work.stop));
            return exportTimeline(timeline, path.toStdString(), work.stop);
        },
        [this, path](const Status& written) {
            if (written.ok())
                emit saved(tr("Saved %1.").arg(QDir::toNativeSeparators(path)));
            else if (!written.error().isCancelled())
                emit problem(QString::fromStdString(written.error().message));
        });
}

} // namespace tunesmith
