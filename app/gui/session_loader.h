// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/job.h"
#include "app/gui/timeline_rows.h"

namespace tunesmith {

struct SessionNews { // a part of a session, as rows
    std::optional<QVector<TimelineTrack>> tracks; // with the first part: what came before is another session's
    QVector<TimelineTrack> devices;               // that came since
    JobSessionSummary session;                    // slices and jobs: those that have been read
    QVector<TimelineJob> jobs; // none: as they were
    QVector<TimelineSlice> slices;
    std::map<std::string, double> utilisation;
    bool more = false; // other slices are there already
};

// The store's sessions: their list, and one of them, which comes in parts that are small enough for the window's thread. While it runs in another program, what is new
// in it comes once a second.
class SessionLoader : public QObject {
    Q_OBJECT
public:
    explicit SessionLoader(std::string store, QObject* parent = nullptr);

    void list();
    void load(qint64 session, qint64 slices); // instead of the one before; it has about so many
    void stop();
    bool busy() const { return listing_.running() || loading_.running() || poll_.isActive(); }
    Job& loading() { return loading_; }
    QList<Job*> quiet() { return {&listing_, &following_}; } // of which nobody needs to see the progress

signals:
    void listed(const std::vector<tunesmith::JobSessionSummary>& sessions);
    void came(const tunesmith::SessionNews& news);
    void broken(const QString& reason); // empty: cancelled; what has come is not the whole session

private:
    struct Reading;
    void follow();
    void showPart();
    void showEnd(const std::shared_ptr<Reading>& reading, const Status& status);

    const std::string store_;
    std::shared_ptr<Reading> reading_; // null: no session
    bool running_ = false;             // the session, as its last part said
    std::optional<QString> trouble_;   // told once all parts have been
    QTimer poll_, again_;
    Job listing_, loading_, following_; // last: they end before what they talk to
};

} // namespace tunesmith
