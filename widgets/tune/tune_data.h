// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QString>
#include <QVector>
#include <limits>

namespace tunesmith {

// What the tuning views show. Times in milliseconds; NaN: not known yet.
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

enum class WorkloadState { waiting, running, paused, done, failed };
QString stateName(WorkloadState state);

struct WorkloadEntry {
    QString key;  // identity; never shown
    QString name; // name of the layer, or of the first one that uses it
    QString op, shape;
    double space = 0;         // number of configs
    int done = 0, budget = 0; // trials
    double bestMs = kUnknown, gflops = kUnknown, firstMs = kUnknown;
    WorkloadState state = WorkloadState::waiting;
    QVector<double> bestSoFar; // ms after each trial, for the sparkline; may be thinned

    bool operator==(const WorkloadEntry& other) const;
    double speedup() const { return firstMs / bestMs; }
};

struct TrialPoint {
    int index = 0;        // within its workload, ascending
    double ms = kUnknown; // unknown when it failed
    bool failed = false;
    double predicted = kUnknown; // ms, or the score of a model that only ranks
};

QString msText(double ms); // three digits with the fitting unit: "1.24 ms", "830 µs"; "–" when unknown
QString spaceText(double configs); // "1.2 M"

} // namespace tunesmith
