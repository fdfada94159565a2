// SPDX-License-Identifier: GPL-3.0-or-later
#include <QRegularExpression>
#include <QTest>
#include <set>

#include "core/search/strategy_table.h"
#include "tests/core/search/toy_search.h"

using namespace tunesmith;
using toy::best, toy::budget, toy::convEvaluate, toy::median, toy::smallTrial, toy::trail;

Q_DECLARE_METATYPE(tunesmith::StrategyEntry)

namespace {

StrategyOptions options(std::uint64_t seed) {
    StrategyOptions made;
    made.seed = seed;
    made.model = [] { return std::make_unique<toy::CorrelationModel>(); };
    made.guided.anneal.chains = 16;
    made.guided.anneal.steps = 40;
    return made;
}

std::unique_ptr<Strategy> make(const StrategyEntry& entry, const Space& space, std::uint64_t seed) {
    auto made = makeStrategy(entry.name, space, options(seed));
    return made.ok() ? std::move(made).value() : nullptr;
}

void addStrategies(bool (*wanted)(const StrategyEntry&) = nullptr) {
    QTest::addColumn<StrategyEntry>("entry");
    for (const StrategyEntry& entry : strategyTable())
        if (!wanted || wanted(entry))
            QTest::newRow(std::string(entry.name).c_str()) << entry;
}

bool learnsWithoutModel(const StrategyEntry& entry) {
    return entry.name != "random" && entry.name != "grid" && entry.name != "model-guided";
}

std::vector<Trial> tried(const KnobSpace& space, const std::vector<Config>& configs, unsigned failing = 0) {
    return convEvaluate(space, failing)(configs).value();
}

std::set<std::string> texts(const std::vector<Config>& configs) {
    std::set<std::string> out;
    for (const Config& config : configs)
        out.insert(config.text());
    return out;
}

// The configs that a state names, as its JSON has them: quoted.
std::set<std::string> knownIn(const std::string& state) {
    static const QRegularExpression config("\"\\d+(,\\d+)+\"");
    std::set<std::string> out;
    for (auto found = config.globalMatch(QString::fromStdString(state)); found.hasNext();)
        out.insert(found.next().captured().toStdString());
    return out;
}

} // namespace

class TestStrategies : public QObject {
    Q_OBJECT
private slots:
    void tableIsWellFormed_data() { addStrategies(); }
    void tableIsWellFormed() {
        QFETCH(StrategyEntry, entry);
        const KnobSpace space = toy::convSpace();
        QVERIFY(checkStrategyName(entry.name).ok());
        QVERIFY(!entry.title.empty() && !entry.help.empty() &&
                entry.help.find('\n') == std::string_view::npos);
        QCOMPARE(std::ranges::count(strategyTable(), entry.name, &StrategyEntry::name), 1);
        QCOMPARE(make(entry, space, 1)->name(), std::string(entry.name));
    }
    void unknownNamesGetTheKnownOnes() {
        const KnobSpace space = toy::convSpace();
        for (const char* name : {"tarot", "", "Random", "random "}) {
            const auto made = makeStrategy(name, space, options(1));
            QVERIFY(!made.ok());
            QCOMPARE(made.error().message, checkStrategyName(name).error().message);
            for (const StrategyEntry& entry : strategyTable())
                QVERIFY(made.error().message.find(entry.name) != std::string::npos);
        }
    }
    void needsAreSaid_data() { addStrategies(); }
    void needsAreSaid() { // a tree has neither index nor choices
        QFETCH(StrategyEntry, entry);
        const toy::InliningSpace tree;
        const auto made = makeStrategy(entry.name, tree, options(1));
        QCOMPARE(made.ok(), canSearch(entry, tree));
        QCOMPARE(made.ok(), entry.needs == StrategyNeed::nothing || entry.needs == StrategyNeed::model);
        if (!made.ok()) {
            QVERIFY(made.error().message.find("inlining") != std::string::npos);
            QVERIFY(made.error().message.find(entry.name) != std::string::npos);
        }
        StrategyOptions without;
        QCOMPARE(makeStrategy(entry.name, toy::convSpace(), without).ok(),
                 entry.needs != StrategyNeed::model);
    }
    void sameSeedSameTrail_data() { addStrategies(); }
    void sameSeedSameTrail() {
        QFETCH(StrategyEntry, entry);
        const KnobSpace space = toy::convSpace();
        const auto run = [&](std::uint64_t seed) {
            return trail(
                runSearch(space, *make(entry, space, seed), convEvaluate(space, 10), budget(250)).trials);
        };
        const auto first = run(1);
        QCOMPARE(first.size(), std::size_t{250});
        QCOMPARE(std::set<std::string>(first.begin(), first.end()).size(), first.size());
        QCOMPARE(run(1), first);
        QCOMPARE(run(2) != first, entry.name != "grid");
    }
    void portionsDoNotMatter_data() { addStrategies(); }
    void portionsDoNotMatter() { // neither of proposals nor of outcomes
        QFETCH(StrategyEntry, entry);
        const KnobSpace space = toy::convSpace();
        const auto whole = make(entry, space, 3), parts = make(entry, space, 3);
        for (int round = 0; round < 24; ++round) {
            const std::vector<Config> configs = whole->propose(10);
            std::vector<Config> pieces = parts->propose(3);
            for (const std::size_t more : {0, 1, 6})
                std::ranges::move(parts->propose(more), std::back_inserter(pieces));
            QCOMPARE(texts(pieces).size(), std::size_t{10});
            QVERIFY(pieces == configs);
            const std::vector<Trial> trials = tried(space, configs, 10);
            whole->observe(trials);
            if (entry.needs == StrategyNeed::model) { // fits when it is told: portions are the caller's order
                parts->observe(trials);
                continue;
            }
            for (const Trial& trial : trials)
                parts->observe(std::span(&trial, 1));
        }
        QCOMPARE(parts->saveState(), whole->saveState());
    }
    void outcomesComeLate_data() { addStrategies(); }
    void outcomesComeLate() { // three batches under way, and resumed from what is stored: the same trail
        QFETCH(StrategyEntry, entry);
        const KnobSpace space = toy::convSpace();
        const auto run = [&](std::vector<Trial> stored) {
            const auto strategy = make(entry, space, 8);
            SearchSession session(space, *strategy, budget(240));
            if (!session.resume({std::move(stored), ""}).ok())
                return std::vector<Trial>();
            std::deque<SearchSession::Batch> flight;
            do {
                while (flight.size() < 3) {
                    auto batch = session.next();
                    if (!batch)
                        break;
                    flight.push_back(std::move(*batch));
                }
                if (!flight.empty()) {
                    session.deliver(flight.front(), tried(space, flight.front().toTry(), 10));
                    flight.pop_front();
                }
            } while (!flight.empty());
            return session.result().trials;
        };
        const auto whole = run({});
        QCOMPARE(whole.size(), std::size_t{240});
        QCOMPARE(trail(run({whole.begin(), whole.begin() + 149})), trail(whole));
    }
    void restoredGoesOnExactly_data() {
        QTest::addColumn<StrategyEntry>("entry");
        QTest::addColumn<int>("rounds");
        for (const StrategyEntry& entry : strategyTable())
            for (const int rounds : {0, 1, 7, 20, 31})
                QTest::addRow("%s after %d", std::string(entry.name).c_str(), rounds) << entry << rounds;
    }
    void restoredGoesOnExactly() { // saved with trials under way, of every kind
        QFETCH(StrategyEntry, entry);
        QFETCH(int, rounds);
        const KnobSpace space = toy::convSpace();
        const auto first = make(entry, space, 6);
        std::vector<Config> open = first->propose(8);
        for (int round = 0; round < rounds; ++round) {
            const std::vector<Config> next = first->propose(8);
            first->observe(tried(space, open, 20));
            open = next;
        }
        const std::string state = first->saveState();
        const auto second = make(entry, space, 12345); // its own seed no longer matters
        second->propose(5);
        const Status restored = second->restoreState(state);
        QVERIFY2(restored.ok(), restored.ok() ? "" : restored.error().message.c_str());
        QCOMPARE(second->saveState(), state);
        for (int round = 0; round < 16; ++round) {
            const std::vector<Config> next = first->propose(8);
            QVERIFY(second->propose(8) == next);
            first->observe(tried(space, open, 20));
            second->observe(tried(space, open, 20));
            open = next;
        }
        QCOMPARE(second->saveState(), first->saveState());
    }
    void damagedStatesChangeNothing_data() { addStrategies(); }
    void damagedStatesChangeNothing() {
        QFETCH(StrategyEntry, entry);
        const KnobSpace space = toy::convSpace();
        const auto strategy = make(entry, space, 6);
        runSearch(space, *strategy, convEvaluate(space), budget(150));
        strategy->propose(3);
        const std::string before = strategy->saveState();
        std::vector<std::string> states{"", "{", "[]", "{}", "null", before.substr(0, before.size() / 2)};
        for (const StrategyEntry& other : strategyTable())
            if (learnsWithoutModel(entry) && other.name != entry.name)
                states.push_back(make(other, space, 1)->saveState());
        if (learnsWithoutModel(entry)) { // with trials of another space
            const KnobSpace small = toy::smallSpace();
            const auto stranger = make(entry, small, 1);
            std::vector<Trial> trials;
            for (const Config& config : stranger->propose(8))
                trials.push_back(smallTrial(config));
            stranger->observe(trials);
            states.push_back(stranger->saveState());
        }
        for (const std::string& config : knownIn(before)) // each config of its own, one after the other
            for (const char* foreign : {"\"3\"", "\"99,0,0,0\"", "\"\"", "\"-1,-1,-1,-1\""})
                states.push_back(QString::fromStdString(before).replace(QString::fromStdString(config), foreign).toStdString());
        for (const std::string& state : states) {
            const Status restored = strategy->restoreState(state);
            QVERIFY2(!restored.ok(), state.substr(0, 60).c_str());
            QVERIFY(restored.error().message.find(entry.name) != std::string::npos);
            QCOMPARE(strategy->saveState(), before);
        }
    }
    void exhaustsASmallSpace_data() {
        QTest::addColumn<StrategyEntry>("entry");
        QTest::addColumn<std::size_t>("batch");
        QTest::addColumn<int>("failing"); // every n-th; 0: none
        for (const StrategyEntry& entry : strategyTable())
            for (const std::size_t batch : {1, 7, 64})
                for (const int failing : {0, 1, 2})
                    QTest::addRow("%s by %zu, 1 of %d fails", std::string(entry.name).c_str(), batch, failing)
                        << entry << batch << failing;
    }
    void exhaustsASmallSpace() {
        QFETCH(StrategyEntry, entry);
        QFETCH(std::size_t, batch);
        QFETCH(int, failing);
        const KnobSpace space = toy::smallSpace();
        const auto strategy = make(entry, space, 3);
        SearchOptions search;
        search.batch = batch;
        int count = 0;
        const Evaluate evaluate = [&](std::span<const Config> configs) -> Result<std::vector<Trial>> {
            std::vector<Trial> trials;
            for (const Config& config : configs)
                trials.push_back(failing > 0 && ++count % failing == 0
                                     ? Trial::failure(config, TrialStatus::crashed, "signal 11")
                                     : smallTrial(config));
            return trials;
        };
        const SearchResult result = runSearch(space, *strategy, evaluate, search);
        QCOMPARE(result.reason, StopReason::exhausted);
        const auto names = trail(result.trials);
        QCOMPARE(names.size(), std::size_t{30});
        QCOMPARE(std::set<std::string>(names.begin(), names.end()).size(), std::size_t{30});
        QVERIFY(strategy->propose(1).empty());
    }
    void aSingleConfig_data() { addStrategies(); }
    void aSingleConfig() {
        QFETCH(StrategyEntry, entry);
        const KnobSpace space = KnobSpace::make("one", {Knob::ofNumbers("a", {4})}).value();
        const auto strategy = make(entry, space, 3);
        QVERIFY(strategy->propose(0).empty());
        const std::vector<Config> configs = strategy->propose(8);
        QCOMPARE(configs.size(), std::size_t{1});
        Trial trial = toy::okTrial({{"time", 1.0, "s"}});
        trial.asked = trial.effective = configs[0];
        strategy->observe(std::span(&trial, 1));
        QVERIFY(strategy->propose(8).empty());
    }
    void keepsToTheFilter_data() { addStrategies(); }
    void keepsToTheFilter() {
        QFETCH(StrategyEntry, entry);
        const KnobSpace space = toy::filteredSpace();
        QVERIFY(*space.size() > 200 && *space.size() < 500);
        const SearchResult result = runSearch(space, *make(entry, space, 4), convEvaluate(space), {});
        QCOMPARE(result.reason, StopReason::exhausted);
        QCOMPARE(static_cast<double>(result.trials.size()), *space.size());
        const auto names = trail(result.trials);
        QCOMPARE(std::set<std::string>(names.begin(), names.end()).size(), names.size());
        for (const Trial& trial : result.trials)
            QVERIFY(space.validate(trial.asked).ok());
    }
    void startingPointsComeFirst_data() { addStrategies(); }
    void startingPointsComeFirst() {
        QFETCH(StrategyEntry, entry);
        class Started : public KnobSpace {
        public:
            explicit Started(const KnobSpace& space) : KnobSpace(space) {}
            std::vector<Config> startingPoints() const override { return {*at(700), *at(3)}; }
        };
        const Started space(toy::convSpace());
        const auto strategy = make(entry, space, 3);
        std::vector<Config> configs = strategy->propose(9);
        QCOMPARE(space.indexOf(configs[0]), std::uint64_t{700});
        QCOMPARE(space.indexOf(configs[1]), std::uint64_t{3});
        std::ranges::move(strategy->propose(2000), std::back_inserter(configs));
        QCOMPARE(texts(configs).size(), std::size_t{1008});
        QCOMPARE(configs.size(), std::size_t{1008});
    }
    void failuresDoNotStarve_data() {
        QTest::addColumn<StrategyEntry>("entry");
        QTest::addColumn<unsigned>("failing");
        for (const StrategyEntry& entry : strategyTable())
            for (const unsigned failing : {10u, 50u, 100u})
                QTest::addRow("%s, %u %% fail", std::string(entry.name).c_str(), failing) << entry << failing;
    }
    void failuresDoNotStarve() {
        QFETCH(StrategyEntry, entry);
        QFETCH(unsigned, failing);
        const KnobSpace space = toy::convSpace();
        double optimum = 1e9;
        for (std::uint64_t i = 0; i < space.indexCount(); ++i)
            optimum = std::min(optimum, best({toy::convTrialOrFailure(space, *space.at(i), failing)}));
        std::vector<double> reached;
        for (std::uint64_t seed = 0; seed < 5; ++seed) {
            const SearchResult result =
                runSearch(space, *make(entry, space, seed), convEvaluate(space, failing), budget(256));
            QCOMPARE(result.trials.size(), std::size_t{256});
            const auto failed = static_cast<unsigned>(
                std::ranges::count_if(result.trials, [](const Trial& trial) { return !trial.ok(); }));
            QVERIFY2(failed <= 256 * std::min(failing + 20, 100u) / 100, std::to_string(failed).c_str());
            QCOMPARE(result.best.has_value(), failing < 100);
            reached.push_back(optimum / best(result.trials));
        }
        if (learnsWithoutModel(entry) && failing < 100)
            QVERIFY2(median(reached) > 0.93, std::to_string(median(reached)).c_str());
    }
    void trialsOfOthersAreKnown_data() { addStrategies(); }
    void trialsOfOthersAreKnown() {
        QFETCH(StrategyEntry, entry);
        const KnobSpace space = toy::convSpace();
        const auto strategy = make(entry, space, 2);
        const std::vector<Config> others = makeStrategy("random", space, options(99)).value()->propose(500);
        strategy->propose(4);
        strategy->observe(tried(space, others));
        const std::vector<Config> mine = strategy->propose(2000);
        QVERIFY(mine.size() >= 504 && mine.size() <= 508); // the first four may have been among the others'
        const std::set<std::string> known = texts(others);
        for (const Config& config : mine)
            QVERIFY(!known.contains(config.text()));
    }
    void trialsOfOthersTeach_data() { addStrategies(learnsWithoutModel); }
    void
    trialsOfOthersTeach() { // after 200 random ones of somebody else the first 40 are better than without
        QFETCH(StrategyEntry, entry);
        const KnobSpace space = toy::fineConvSpace();
        std::vector<double> alone, taught;
        for (std::uint64_t seed = 0; seed < 11; ++seed) {
            alone.push_back(
                best(runSearch(space, *make(entry, space, seed), convEvaluate(space), budget(40)).trials));
            const auto strategy = make(entry, space, seed);
            const auto random = makeStrategy("random", space, options(1000 + seed)).value();
            strategy->observe(tried(space, random->propose(200)));
            taught.push_back(best(runSearch(space, *strategy, convEvaluate(space), budget(40)).trials));
        }
        qInfo("%s: best of 40 trials %.4f ms, with those of others %.4f ms", std::string(entry.name).c_str(),
              1e3 * median(alone), 1e3 * median(taught));
        QVERIFY(median(taught) < median(alone));
    }
    void skippedAndCancelledTeachNothing_data() { addStrategies(); }
    void skippedAndCancelledTeachNothing() { // nothing waits for them
        QFETCH(StrategyEntry, entry);
        const KnobSpace space = toy::convSpace();
        const auto strategy = make(entry, space, 2);
        std::set<std::string> seen;
        for (int round = 0; round < 40; ++round) {
            const std::vector<Config> configs = strategy->propose(8);
            QCOMPARE(configs.size(), std::size_t{8});
            std::vector<Trial> trials = tried(space, configs);
            for (std::size_t i = 0; i < trials.size(); ++i) {
                QVERIFY(seen.insert(configs[i].text()).second);
                if (i % 2 == 0)
                    trials[i] = Trial::failure(
                        configs[i], i % 4 == 0 ? TrialStatus::skipped : TrialStatus::cancelled, "");
            }
            strategy->observe(trials);
        }
    }
    void costsOfNoUse_data() { addStrategies(); }
    void costsOfNoUse() { // infinite and missing numbers count as failures, all equal ones as equal
        QFETCH(StrategyEntry, entry);
        const KnobSpace space = toy::convSpace();
        for (const double cost : {std::nan(""), HUGE_VAL, -HUGE_VAL, 0.0, 1.0, -1.0}) {
            const auto strategy = make(entry, space, 2);
            std::set<std::string> seen;
            for (int round = 0; round < 20; ++round) {
                const std::vector<Config> configs = strategy->propose(8);
                std::vector<Trial> trials;
                for (const Config& config : configs) {
                    trials.push_back(toy::okTrial({{"time", cost, "s"}}));
                    trials.back().asked = trials.back().effective = config;
                    QVERIFY(seen.insert(config.text()).second);
                }
                strategy->observe(trials);
            }
            QCOMPARE(seen.size(), std::size_t{160});
            const std::string state = strategy->saveState();
            QVERIFY(make(entry, space, 1)->restoreState(state).ok());
        }
    }
    void trialsOfAnotherSpaceDoNoHarm_data() { addStrategies(); }
    void trialsOfAnotherSpaceDoNoHarm() {
        QFETCH(StrategyEntry, entry);
        const KnobSpace conv = toy::convSpace();
        const UnionSpace joined = toy::joinedSpace();
        for (const Space* space : {static_cast<const Space*>(&conv), static_cast<const Space*>(&joined)}) {
            const auto strategy = make(entry, *space, 2);
            std::vector<Trial> strangers;
            for (const char* text : {"1,1,1", "99,0,0,0", "", "0,0,0,-1", "-1", "7,0,0,0,0,0,0,0"}) {
                strangers.push_back(toy::okTrial({{"time", 1e-9, "s"}}));
                strangers.back().asked = strangers.back().effective = Config::parse(text).value();
            }
            strategy->observe(strangers);
            const Evaluate evaluate = [](std::span<const Config> configs) -> Result<std::vector<Trial>> {
                std::vector<Trial> trials;
                for (const Config& config : configs)
                    trials.push_back(smallTrial(config));
                return trials;
            };
            const SearchResult result = runSearch(*space, *strategy, evaluate, budget(200));
            QCOMPARE(result.trials.size(), std::size_t{200});
            for (const Trial& trial : result.trials)
                QVERIFY(space->validate(trial.asked).ok());
        }
    }
    void treeWithoutIndex_data() {
        addStrategies([](const StrategyEntry& entry) { return canSearch(entry, toy::InliningSpace()); });
    }
    void treeWithoutIndex() { // where what is built differs from what was asked
        QFETCH(StrategyEntry, entry);
        toy::InliningProblem problem;
        const SearchResult result = runSearch(problem.space(), *make(entry, problem.space(), 5),
                                              evaluateWith(problem, {}), budget(200));
        const auto names = trail(result.trials);
        QCOMPARE(names.size(), std::size_t{200});
        QCOMPARE(std::set<std::string>(names.begin(), names.end()).size(), std::size_t{200});
        std::set<std::string> known; // asked or built
        for (std::size_t i = 0; i < result.trials.size(); ++i) {
            if (i % 8 == 0) // those of one batch do not know of each other
                for (std::size_t j = i - std::min<std::size_t>(i, 8); j < i; ++j)
                    known.insert(result.trials[j].effective.text());
            QVERIFY(entry.name == "random" || !known.contains(names[i])); // random knows what was asked only
        }
        QVERIFY(result.trials[*result.best].objectives[0].value < toy::InliningProblem::optimum() + 0.2);
    }
    void costsOfBothSigns_data() { addStrategies(learnsWithoutModel); }
    void costsOfBothSigns() { // two objectives by a weight, into the negative
        QFETCH(StrategyEntry, entry);
        toy::CheckpointProblem problem;
        const TrialCost cost = [](const Trial& t) {
            return t.objectives[0].value - 0.1 * t.objectives[1].value;
        };
        StrategyOptions made = options(3);
        made.cost = cost;
        const auto strategy = makeStrategy(entry.name, problem.space(), made).value();
        SearchOptions search = budget(200);
        search.cost = cost;
        const SearchResult result = runSearch(problem.space(), *strategy, evaluateWith(problem, {}), search);
        double optimum = 1e9;
        const KnobSpace& space = dynamic_cast<const KnobSpace&>(problem.space());
        for (std::uint64_t i = 0; i < space.indexCount(); ++i)
            optimum = std::min(optimum, cost(tryConfig(problem, *space.at(i), {})));
        QVERIFY(optimum < 0);
        QVERIFY(cost(result.trials[*result.best]) < optimum + 0.1 * std::abs(optimum));
    }
    void beatsRandom_data() { addStrategies(learnsWithoutModel); }
    void beatsRandom() { // the best of 256 trials, median of 25 seeds, on 33 thousand rugged points
        QFETCH(StrategyEntry, entry);
        const KnobSpace space = toy::fineConvSpace();
        static const double kOptimum = toy::convOptimum(space);
        const auto reached = [&](std::string_view name) {
            std::vector<double> out;
            for (std::uint64_t seed = 0; seed < 25; ++seed) {
                const auto strategy = makeStrategy(name, space, options(seed)).value();
                out.push_back(kOptimum /
                              best(runSearch(space, *strategy, convEvaluate(space), budget(256)).trials));
            }
            return median(out);
        };
        const double mine = reached(entry.name), random = reached("random");
        qInfo("best of 256 trials, median of 25 seeds: %s %.3f of the optimum, random %.3f",
              std::string(entry.name).c_str(), mine, random);
        QVERIFY(mine > random);
    }
};

QTEST_APPLESS_MAIN(TestStrategies)
#include "tst_strategies.moc"
