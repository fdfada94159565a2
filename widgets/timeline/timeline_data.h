// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QPair>
#include <QString>
#include <QVector>
#include <limits>

namespace tunesmith {

// What ran when, on what: plain data for the views of this folder. Seconds since all began.

struct TimeSpan {
    double begin = 0, end = 0;
    double length() const { return end - begin; }
    bool operator==(const TimeSpan&) const = default;
};

struct TimelineTrack { // one unit of a resource: of "core" there may be "core 0" and "core 1"
    QString name, resource;
    bool operator==(const TimelineTrack&) const = default;
};

constexpr double kLatest = 1e12; // seconds, 30,000 years; beyond it a double cannot tell stages apart

struct TimelineJob {
    enum class State { waiting, running, paused, done, failed, cancelled };

    qint64 key = 0; // identity; never shown
    QString name;
    int color = 0; // of Theme::category()
    State state = State::waiting;
    QString problem; // why it failed
    int priority = 0; // the higher goes first
    double progress = std::numeric_limits<double>::quiet_NaN(); // of the whole budget, 0 to 1; NaN: not known
    QString budgetLeft; // "312 trials"
    double bestMs = std::numeric_limits<double>::quiet_NaN(); // so far; NaN: none yet
    QString result; // what it came to, of one that tunes no model: "26 kernels → 18 kernels"
    QString does; // "tunes the model net.onnx", on whose devices; empty: not known

    bool ended() const { return state == State::done || state == State::failed || state == State::cancelled; }
    bool operator==(const TimelineJob& other) const;
};
QString stateName(TimelineJob::State state);

struct TimelineSlice { // a stage of a job as it ran
    enum class Kind : quint8 { build, profile, update, other };
    static constexpr int kKinds = 4;

    int job = 0; // its place in the list of jobs
    Kind kind = Kind::other;
    QVector<int> tracks; // all units that it loaded
    double called = 0, begin = 0, end = 0; // it was ready, it had its turn, it was done
    double expected = 0; // how long it was thought to take; 0: nobody knew
    double seconds() const { return end - begin; }
    double waited() const { return begin - called; }
};

struct TimelineWait { // a stage whose turn has not come
    int job = 0;
    TimelineSlice::Kind kind = TimelineSlice::Kind::other;
    QVector<QPair<QString, int>> needs; // so many units of each resource that has tracks
    QString lacks; // a resource without tracks of which there is too little; empty: there is enough of all these
    double called = 0;
};
QString kindName(TimelineSlice::Kind kind);

QString secondsText(double seconds); // with the fitting unit: "12.3 µs", "1.24 s", "2 min 05 s", "3 d 4 h"; "–" for what is no number

} // namespace tunesmith
