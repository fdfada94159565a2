// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/graph/graph_presence.h"
#include <QStringList>

namespace tunesmith {

// What the views about the optimization of a graph show. Costs are in a unit of their own: "kernels", "ms".

QString costText(double cost, const QString& unit); // "38 kernels", "1.24 ms"
QString changeText(double before, double after, const QString& unit); // "38 → 22 kernels"
QString gainText(double gain, const QString& unit); // "−2 kernels" for a gain of two: what the change did to the cost

struct NamedChoice {
    QString name, help;
};

struct OptimizeChoice {
    QString search, cost;
    double alpha = 1.05;
    qint64 budget = 1000;
    double seconds = 0; // 0: no limit
    QString rules;
};

// A rule that was applied, or that is not to be.
struct RuleEntry {
    QString key; // its name
    QString equation;
    QStringList conditions;
    QString evidence; // why it is believed
    qint64 count = 0;
    double gain = 0;
    QStringList followed; // simplifications that its steps led to, "name (3)"
    QVector<int> steps;   // where it was used, from 1
    bool without = false; // not to be used in the next run

    bool operator==(const RuleEntry&) const = default;
};

struct RefusalEntry {
    QString key; // rule and reason
    QString rule, reason;
    qint64 count = 0;

    bool operator==(const RefusalEntry&) const = default;
};

struct OperatorEntry {
    QString key; // the operator
    qint64 before = 0, after = 0;

    bool operator==(const OperatorEntry&) const = default;
};

struct NodeChange {
    qint64 key = 0; // node of the picture
    QString name, op;
    bool appeared = false;

    bool operator==(const NodeChange&) const = default;
};

struct ReplayStep {
    QString rule;
    QStringList followed; // simplifications
    double costBefore = 0, costAfter = 0;
    bool optional = true; // one can do without the rule
};

// All graphs of an optimization on one laid-out picture: the first one and one after each step.
struct Replay {
    GraphScene scene;
    QVector<Turns> nodes, edges;
    QVector<ReplayStep> steps;
    QString unit;
};

// One search: the best cost so far wherever it fell, and its end.
struct CostPoint {
    double seconds = 0, cost = 0;
    qint64 expanded = 0;
};

struct CostCurve {
    QString name; // "1 · backtracking"
    int category = 0;
    QVector<CostPoint> points;
};

} // namespace tunesmith
