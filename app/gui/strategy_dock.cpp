// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/strategy_dock.h"
#include "core/workbench/tune.h"
#include "widgets/base/foreign_text.h"

namespace tunesmith {
namespace {

// A strategy keeps its colour in every workload; what this program does not know comes behind.
std::pair<QString, int> shownAs(const std::string& key) {
    const std::vector<StrategyInfo>& known = tuneStrategies();
    for (std::size_t i = 0; i < known.size(); ++i)
        if (known[i].key == key)
            return {QString::fromStdString(known[i].name), static_cast<int>(i)};
    return {oneLine(key), static_cast<int>(known.size())};
}

} // namespace

QVector<StrategyRun> strategyRuns(const std::vector<StoredSearch>& searches) {
    QVector<StrategyRun> runs;
    for (const StoredSearch& search : searches) {
        const auto [name, category] = shownAs(search.strategy);
        StrategyRun run{name, category, search.run, static_cast<int>(search.trials), static_cast<int>(search.failed), {}};
        for (const BestSoFar& point : search.best)
            run.best.push_back({static_cast<double>(point.trial), point.ms});
        runs.push_back(std::move(run));
    }
    return runs;
}

StrategyDock::StrategyDock(std::string store, QWidget* parent)
    : StrategyPlot(parent), store_(std::move(store)), reader_([this](const auto& choice) { read(choice); }, this) {
    connect(&reader_.job(), &Job::failed, this, &StrategyDock::showMessage);
}

void StrategyDock::read(const WorkloadReader::Choice& choice) {
    if (choice.workload.isEmpty())
        return showMessage(tr("Choose a workload to compare strategies on it."));
    using Runs = Result<QVector<StrategyRun>>;
    reader_.start(
        tr("Reading the runs of a workload"),
        [store = store_, choice](const Work& work) -> Runs {
            TS_ASSIGN(const auto searches,
                      workloadSearches(store, choice.workload.toStdString(), choice.threads, choice.run, work.stop));
            return strategyRuns(searches);
        },
        [this](const Runs& runs) {
            if (runs.ok())
                setRuns(*runs);
            else if (!runs.error().isCancelled())
                showMessage(QString::fromStdString(runs.error().message));
        });
}

} // namespace tunesmith
