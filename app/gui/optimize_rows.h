// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/optimize_runner.h"
#include <QCoreApplication>

namespace tunesmith {

// What the facade says about an optimization as rows of the views.

OptimizeRequest requestOf(const OptimizeChoice& choice, const QStringList& without, const std::string& store);
QVector<NamedChoice> choicesOf(const std::vector<NamedText>& named);

Result<Replay> replayOf(const OptimizedModel& made, const QFont& font, const StopToken& stop); // off the window's thread
QVector<RuleEntry> ruleEntries(const OptimizedRun& run);      // those of the best way, then those it did without
QVector<RefusalEntry> refusalEntries(const OptimizedModel& made);
QVector<OperatorEntry> operatorEntries(const OptimizedModel& made);
QVector<NodeChange> nodeChanges(const Replay& replay);
QVector<CostPoint> costPoints(const OptimizedModel& made);
bool improves(const OptimizedModel& made);

struct OptimizeText {
    Q_DECLARE_TR_FUNCTIONS(OptimizeText)
public:
    static QString headline(const OptimizedModel& made); // "38 → 22 kernels (−42 %)"
    static QString detail(const OptimizedModel& made);
    static QString raceText(const OptimizedModel& made); // what modules said; empty: there was nothing to race
    static QString runName(const OptimizedRun& run, int number); // "2 · beam, without merge-products"
    static QString agreement(double relativeError);              // how far outputs are from those of the original
};

} // namespace tunesmith
