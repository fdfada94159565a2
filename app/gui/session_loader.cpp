// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session_loader.h"
#include <algorithm>
#include <deque>
#include <mutex>

namespace tunesmith {
namespace {

constexpr int kPartMs = 15;    // between two parts: the window has time for a person meanwhile
constexpr int kFollowMs = 1000;
constexpr std::size_t kMostJobs = 10'000; // of a session; what others did is not drawn

} // namespace

// A session that is read by one job at a time; what has been read waits for the window.
struct SessionLoader::Reading {
    std::unique_ptr<SessionReader> reader; // of the jobs
    SessionTracks tracks;
    std::mutex mutex;
    std::deque<SessionNews> news; // guarded by mutex

    Status open(const std::string& store, std::int64_t session) {
        TS_ASSIGN(reader, SessionReader::open(store, session));
        tracks = SessionTracks(reader->resources());
        return {};
    }

    // What there is now; how many slices there will be is known about.
    Status read(const Work& work, std::int64_t about, bool first) {
        std::size_t jobs = 0;
        for (bool more = true; more; first = false) {
            TS_ASSIGN(const SessionPart part, reader->next(work.stop));
            QVector<TimelineTrack> devices = tracks.addDevices(part.slices);
            SessionNews rows{{}, {}, part.session, {}, tracks.slices(part.slices), part.utilisation, part.more};
            if (first)
                rows.tracks = tracks.tracks();
            else
                rows.devices = std::move(devices);
            const std::size_t shown = std::min(part.jobs.size(), kMostJobs);
            for (std::size_t i = 0; i < shown && (!part.more || shown > jobs); ++i)
                rows.jobs.push_back(jobRow(part.jobs[i], static_cast<int>(i)));
            jobs = shown;
            more = part.more;
            const double read = static_cast<double>(part.session.slices);
            work.report(SessionLoader::tr("reading stages").toStdString(), about > 0 ? std::min(1.0, read / static_cast<double>(about)) : -1);
            const std::lock_guard lock(mutex);
            news.push_back(std::move(rows));
        }
        return {};
    }

    std::optional<SessionNews> take() {
        const std::lock_guard lock(mutex);
        if (news.empty())
            return {};
        SessionNews taken = std::move(news.front());
        news.pop_front();
        return taken;
    }
};

SessionLoader::SessionLoader(std::string store, QObject* parent) : QObject(parent), store_(std::move(store)) {
    poll_.setInterval(kPartMs);
    connect(&poll_, &QTimer::timeout, this, &SessionLoader::showPart);
    again_.setInterval(kFollowMs);
    again_.setSingleShot(true);
    connect(&again_, &QTimer::timeout, this, &SessionLoader::follow);
    connect(&listing_, &Job::failed, this, &SessionLoader::broken);
    for (Job* job : {&loading_, &following_})
        connect(job, &Job::failed, this, [this](const QString& reason) { trouble_ = reason; });
}

void SessionLoader::list() {
    listing_.start(
        tr("Reading the list of sessions"), [store = store_](const Work&) { return jobSessions(store); },
        [this](const Result<std::vector<JobSessionSummary>>& sessions) {
            if (sessions.ok())
                emit listed(*sessions);
            else
                emit broken(QString::fromStdString(sessions.error().message));
        });
}

void SessionLoader::load(qint64 session, qint64 slices) {
    stop();
    reading_ = std::make_shared<Reading>();
    running_ = false;
    trouble_.reset();
    loading_.start(
        tr("Reading session %1").arg(session),
        [store = store_, session, slices, reading = reading_](const Work& work) -> Status {
            TS_TRY(reading->open(store, session));
            return reading->read(work, slices, true);
        },
        [this, reading = reading_](const Status& status) { showEnd(reading, status); });
    poll_.start();
}

void SessionLoader::stop() {
    loading_.stop();
    following_.stop();
    poll_.stop();
    again_.stop();
    reading_ = nullptr;
}

void SessionLoader::follow() {
    following_.start(
        tr("Following a session"), [reading = reading_](const Work& work) { return reading->read(work, 0, false); }, [this, reading = reading_](const Status& status) { showEnd(reading, status); });
    poll_.start();
}

void SessionLoader::showPart() {
    if (const std::optional<SessionNews> news = reading_->take()) {
        running_ = news->session.running;
        emit came(*news);
    } else if (!loading_.running() && !following_.running()) {
        poll_.stop();
        if (trouble_)
            emit broken(*trouble_);
        else if (running_)
            again_.start();
    }
}

// What was read before is shown all the same.
void SessionLoader::showEnd(const std::shared_ptr<Reading>& reading, const Status& status) {
    if (!status.ok() && reading == reading_)
        trouble_ = status.error().isCancelled() ? QString() : QString::fromStdString(status.error().message);
}

} // namespace tunesmith
