// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/workload_reader.h"
#include "core/workbench/workload_history.h"
#include "widgets/tune/strategy_plot.h"

namespace tunesmith {

QVector<StrategyRun> strategyRuns(const std::vector<StoredSearch>& searches);

// Compares the strategies on the chosen workload, over all stored runs that tuned it for the shown number of threads.
class StrategyDock : public StrategyPlot {
    Q_OBJECT
public:
    explicit StrategyDock(std::string store, QWidget* parent = nullptr);

    WorkloadReader& reader() { return reader_; }

private:
    void read(const WorkloadReader::Choice& choice);

    std::string store_;
    WorkloadReader reader_;
};

} // namespace tunesmith
