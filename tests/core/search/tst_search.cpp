// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <set>

#include "core/search/simple_strategies.h"
#include "tests/core/search/toy_search.h"

using namespace tunesmith;
using toy::budget, toy::convEvaluate, toy::trail;

namespace {

class Log : public SearchObserver {
public:
    void onEvent(const SearchEvent& event) override { events.push_back(event); }
    long count(SearchEvent::Kind kind) const { return std::ranges::count(events, kind, &SearchEvent::kind); }
    std::vector<SearchEvent> events;
};

} // namespace

class TestSearch : public QObject {
    Q_OBJECT
private slots:
    void randomExhaustsWithoutRepeats() {
        const KnobSpace space = toy::convSpace();
        RandomStrategy strategy(space, 3);
        const SearchResult result = runSearch(space, strategy, convEvaluate(space), {});
        QCOMPARE(result.reason, StopReason::exhausted);
        QCOMPARE(result.trials.size(), std::size_t{1008});
        const auto names = trail(result.trials);
        QCOMPARE(std::set<std::string>(names.begin(), names.end()).size(), std::size_t{1008});
        QVERIFY(result.best);
        QCOMPARE(result.trials[*result.best].objectives[0].value, toy::convOptimum(space));
    }
    void randomIsUniform() { // each of the first picks of many seeds hits each third of the space about
                             // equally often
        const KnobSpace space = toy::convSpace();
        std::array<int, 3> hits{};
        for (std::uint64_t seed = 0; seed < 900; ++seed)
            ++hits[space.indexOf(RandomStrategy(space, seed).propose(1)[0]) / 336];
        for (const int hit : hits)
            QVERIFY2(hit > 240 && hit < 360, std::to_string(hit).c_str());
    }
    void gridInOrder() {
        const KnobSpace space = toy::convSpace();
        auto strategy = GridStrategy::make(space);
        QVERIFY(strategy.ok());
        const auto first = (*strategy)->propose(5);
        const std::string state = (*strategy)->saveState();
        auto second = GridStrategy::make(space);
        QVERIFY((*second)->restoreState(state).ok());
        QCOMPARE(space.indexOf(first[4]), std::uint64_t{4});
        QCOMPARE(space.indexOf((*second)->propose(1)[0]), std::uint64_t{5});
        QCOMPARE((*second)->propose(5000).size(), std::size_t{1002});
        QVERIFY((*second)->propose(1).empty());
        QVERIFY(!GridStrategy::make(toy::InliningSpace()).ok());
    }
    void sameSeedSameTrail() {
        const KnobSpace space = toy::convSpace();
        const auto run = [&](std::uint64_t seed) {
            RandomStrategy strategy(space, seed);
            return trail(runSearch(space, strategy, convEvaluate(space), budget(50)).trials);
        };
        QCOMPARE(run(1), run(1));
        QVERIFY(run(1) != run(2));
    }
    void resumeIsExact_data() {
        QTest::addColumn<int>("stopAt");
        for (const int k : {0, 1, 7, 8, 9, 16, 30, 39})
            QTest::addRow("at %d", k) << k;
    }
    void resumeIsExact() {
        QFETCH(int, stopAt);
        const KnobSpace space = toy::convSpace();
        RandomStrategy whole(space, 9);
        const SearchResult uninterrupted = runSearch(space, whole, convEvaluate(space), budget(40));
        // Stopped in the middle of a batch: the rest of it comes back as cancelled.
        StopSource stop;
        int count = 0;
        const Evaluate stopping = [&](std::span<const Config> configs) -> Result<std::vector<Trial>> {
            std::vector<Trial> trials;
            for (const Config& config : configs) {
                if (count == stopAt)
                    stop.requestStop();
                trials.push_back(stop.stopRequested()
                                     ? Trial::failure(config, TrialStatus::cancelled, "cancelled")
                                     : toy::convTrial(space, config));
                count += trials.back().ok();
            }
            return trials;
        };
        RandomStrategy first(space, 9);
        SearchOptions options = budget(40);
        options.stop = stop.token();
        const SearchResult part = runSearch(space, first, stopping, options);
        QCOMPARE(part.reason, StopReason::cancelled);
        QCOMPARE(part.trials.size(), static_cast<std::size_t>(stopAt));
        RandomStrategy second(space, 9);
        int measured = 0;
        const SearchResult rest =
            runSearch(space, second, convEvaluate(space, 0, &measured), budget(40), {part.trials, ""});
        QCOMPARE(trail(rest.trials), trail(uninterrupted.trials));
        QCOMPARE(measured, 40 - stopAt);
        QCOMPARE(rest.best, uninterrupted.best);
    }
    void resumeFromSavedState() {
        const KnobSpace space = toy::convSpace();
        RandomStrategy whole(space, 4);
        const SearchResult uninterrupted = runSearch(space, whole, convEvaluate(space), budget(40));
        RandomStrategy first(space, 4);
        SearchSession session(space, first, budget(40));
        std::string state;
        for (int batch = 0; batch < 3; ++batch) {
            if (batch == 2)
                state = session.saveState(); // after 16 trials; the third batch comes back from the store
            const auto next = session.next();
            session.deliver(*next, *convEvaluate(space)(next->toTry()));
        }
        RandomStrategy second(space, 12345); // its own seed no longer matters
        int measured = 0;
        const SearchResult rest =
            runSearch(space, second, convEvaluate(space, 0, &measured), budget(40), {session.trials(), state});
        QCOMPARE(trail(rest.trials), trail(uninterrupted.trials));
        QCOMPARE(measured, 16);
    }
    void foreignTrialsAreNotWasted() { // stored under another seed: kept, counted, not proposed again
        const KnobSpace space = toy::convSpace();
        RandomStrategy other(space, 1);
        const SearchResult before = runSearch(space, other, convEvaluate(space), budget(20));
        RandomStrategy strategy(space, 2);
        const SearchResult after =
            runSearch(space, strategy, convEvaluate(space), budget(60), {before.trials, ""});
        const auto names = trail(after.trials);
        QCOMPARE(names.size(), std::size_t{60});
        QCOMPARE(std::set<std::string>(names.begin(), names.end()).size(), std::size_t{60});
        for (const std::string& name : trail(before.trials))
            QVERIFY(std::ranges::count(names, name) == 1);
    }
    void damagedStates() {
        const KnobSpace space = toy::convSpace();
        RandomStrategy strategy(space, 4);
        for (const char* state : {"", "{", "[]", "{}", R"({"rng":[1],"seen":[]})", R"({"rng":"x","seen":3})"})
            QVERIFY(!strategy.restoreState(state).ok());
        const SearchResult result =
            runSearch(space, strategy, convEvaluate(space), budget(4), {{}, R"({"trials":3})"});
        QCOMPARE(result.reason, StopReason::failed);
        QVERIFY(!result.message.empty());
    }
    void twoBatchesInFlight() { // next, next, deliver, next, deliver ...: resumed, it is still the same trail
        const KnobSpace space = toy::convSpace();
        const auto run = [&](std::vector<Trial> stored) {
            RandomStrategy strategy(space, 8);
            SearchSession session(space, strategy, budget(40));
            if (!session.resume({std::move(stored), ""}).ok())
                return std::vector<Trial>();
            std::deque<SearchSession::Batch> flight;
            while (true) {
                while (flight.size() < 2) {
                    auto batch = session.next();
                    if (!batch)
                        break;
                    flight.push_back(std::move(*batch));
                }
                if (flight.empty())
                    break;
                session.deliver(flight.front(), *convEvaluate(space)(flight.front().toTry()));
                flight.pop_front();
            }
            return session.result().trials;
        };
        const auto whole = run({});
        QCOMPARE(whole.size(), std::size_t{40});
        QCOMPARE(trail(run({whole.begin(), whole.begin() + 19})), trail(whole));
    }
    void stopReasons() {
        const KnobSpace space = toy::convSpace();
        const auto reason = [&](SearchOptions options) {
            RandomStrategy strategy(space, 3);
            return runSearch(space, strategy, convEvaluate(space), std::move(options)).reason;
        };
        QCOMPARE(reason(budget(0)), StopReason::budgetTrials);
        SearchOptions time;
        double now = 0;
        time.clock = [&] { return now += 0.01; };
        time.budget.seconds = 3;
        QCOMPARE(reason(time), StopReason::budgetTime);
        SearchOptions target;
        target.budget.targetCost = 1;
        QCOMPARE(reason(target), StopReason::targetReached);
        SearchOptions patience;
        patience.budget.patience = 60;
        QCOMPARE(reason(patience), StopReason::converged);
        StopSource stop;
        stop.requestStop();
        SearchOptions cancelled;
        cancelled.stop = stop.token();
        QCOMPARE(reason(cancelled), StopReason::cancelled);
        RandomStrategy strategy(space, 3);
        const SearchResult broken = runSearch(
            space, strategy, [](auto) -> Result<std::vector<Trial>> { return ioError("no worker"); }, {});
        QCOMPARE(broken.reason, StopReason::failed);
        QCOMPARE(broken.message, std::string("no worker"));
        for (int i = 0; i <= static_cast<int>(StopReason::failed); ++i)
            QCOMPARE(static_cast<int>(*stopReasonFromName(stopReasonName(static_cast<StopReason>(i)))), i);
    }
    void notTooManyAreProposedAtOnce() { // no stop ends a proposal
        const KnobSpace space = toy::fineConvSpace();
        RandomStrategy strategy(space, 3);
        SearchOptions options;
        options.batch = std::size_t(1) << 50;
        SearchSession session(space, strategy, options);
        QCOMPARE(session.next()->configs.size(), kMostBatch);
    }
    void observersSeeEverything() {
        const KnobSpace space = toy::convSpace();
        RandomStrategy strategy(space, 3);
        Log log;
        SearchOptions options = budget(20);
        options.observer = &log;
        options.subject = "C2";
        const SearchResult result = runSearch(space, strategy, convEvaluate(space), options);
        QCOMPARE(log.count(SearchEvent::Kind::started), 1);
        QCOMPARE(log.count(SearchEvent::Kind::proposed), 20);
        QCOMPARE(log.count(SearchEvent::Kind::measured), 20);
        QVERIFY(log.count(SearchEvent::Kind::improved) >= 1);
        QCOMPARE(log.events.back().kind, SearchEvent::Kind::stopped);
        QCOMPARE(*log.events.back().reason, result.reason);
        double best = 1e9;
        for (const SearchEvent& event : log.events)
            if (event.kind == SearchEvent::Kind::measured) {
                best = std::min(best, *event.cost);
                QCOMPARE(*event.best, best);
                QCOMPARE(event.subject, std::string("C2"));
            }
    }
};

QTEST_APPLESS_MAIN(TestSearch)
#include "tst_search.moc"
