// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>
#include <cmath>

#include "core/cost/learned_model.h"
#include "core/search/strategy_table.h"
#include "tests/core/cost/measured_space.h"
#include "tests/core/search/toy_search.h"

using namespace tunesmith;
using toy::median;

namespace {

constexpr std::uint64_t kSeeds = 20;

std::unique_ptr<Strategy> strategyNamed(const char* name, const Space& space, std::uint64_t seed) {
    StrategyOptions options;
    options.seed = seed;
    options.guided.seed = seed;
    options.model = [seed] { return makeLearnedModel({.seed = seed}); };
    auto made = makeStrategy(name, space, std::move(options));
    if (!made.ok())
        qFatal("%s", made.error().message.c_str());
    return std::move(made).value();
}

SearchBudget budgetOf(std::size_t trials, std::optional<double> targetCost = {}) {
    SearchBudget budget;
    budget.trials = trials;
    budget.targetCost = targetCost;
    return budget;
}

SearchResult searched(const MeasuredSpace& table, const char* strategy, std::uint64_t seed, SearchBudget budget) {
    SearchOptions options;
    options.budget = budget;
    const auto made = strategyNamed(strategy, table.space(), seed);
    return runSearch(table.space(), *made, table.evaluate(), options);
}

// Trials until 95 % of the optimum, of each seed; limit + 1 where it was not reached.
std::vector<std::size_t> trialsTo95(const MeasuredSpace& table, const char* strategy, std::size_t limit) {
    std::vector<std::size_t> all;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        const SearchResult result = searched(table, strategy, seed, budgetOf(limit, table.optimum() / 0.95));
        all.push_back(result.reason == StopReason::targetReached ? *result.best + 1 : limit + 1);
    }
    return all;
}

// The best of so many trials as a share of the optimum, median of the seeds.
double medianBest(const MeasuredSpace& table, const char* strategy, std::size_t trials) {
    std::vector<double> all;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        const SearchResult result = searched(table, strategy, seed, budgetOf(trials));
        all.push_back(table.optimum() / result.trials[*result.best].objectives[0].value);
    }
    return median(all);
}

} // namespace

// Strategies on convolutions whose every schedule was measured. None of them is told the guesses that a tuning begins with.
class TestMeasuredTables : public QObject {
    Q_OBJECT

private slots:
    void tables_data() {
        QTest::addColumn<QString>("file");
        for (const char* name : {"resnet_c2", "resnet_c9", "resnet_c12"})
            QTest::newRow(name) << QStringLiteral(MEASURED_TABLES "/%1.json").arg(QLatin1String(name));
    }
    void tables() {
#ifndef TUNESMITH_HAVE_XGBOOST
        QSKIP("this build has no XGBoost");
#endif
        QFETCH(QString, file);
        const MeasuredSpace table = MeasuredSpace::read(file.toStdString());
        const auto guided = trialsTo95(table, "model-guided", 128);
        const auto random = trialsTo95(table, "random", table.size());
        const auto reached = std::ranges::count_if(guided, [](std::size_t n) { return n <= 128; });
        const double randomBest = medianBest(table, "random", 256);
        const double genetic = medianBest(table, "genetic", 256), bandit = medianBest(table, "bandit", 256);
        qInfo("%zu schedules, optimum %.4f ms; 95 %% within 128 trials: %ld of 20 seeds, median %zu trials, random %zu; best of 256: random %.3f, genetic "
              "%.3f, bandit %.3f of the optimum",
              table.size(), table.optimum(), reached, median(guided), median(random), randomBest, genetic, bandit);
        QVERIFY(reached >= 18);
        QVERIFY(median(guided) < median(random));
        QVERIFY(genetic >= randomBest && bandit >= randomBest);
    }
};

QTEST_GUILESS_MAIN(TestMeasuredTables)
#include "tst_measured_tables.moc"
