// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <set>

#include "core/search/pareto.h"
#include "core/search/search_session.h"
#include "core/search/simple_strategies.h"
#include "tests/core/search/toy_clients.h"

using namespace tunesmith;

class TestToyClients : public QObject {
    Q_OBJECT
private slots:
    void treeOfDecisions() {
        toy::InliningProblem problem;
        RandomStrategy strategy(problem.space(), 1);
        SearchOptions options;
        options.budget.trials = 200;
        const SearchResult result = runSearch(problem.space(), strategy, evaluateWith(problem, {}), options);
        QCOMPARE(result.trials.size(), std::size_t{200});
        int differ = 0;
        std::set<std::string> asked;
        for (const Trial& trial : result.trials) {
            QVERIFY(trial.ok());
            QVERIFY(problem.space().validate(trial.asked).ok());
            QVERIFY(problem.space().validate(trial.effective).ok());
            QVERIFY(!toy::InliningSpace::decode(trial.effective)[2]); // the compiler refuses this one
            differ += trial.asked != trial.effective;
            asked.insert(trial.asked.text());
        }
        QVERIFY(differ > 20);
        QCOMPARE(asked.size(), std::size_t{200});
        QVERIFY(!problem.space().indexed());
        QVERIFY(!problem.space().size());
        QVERIFY(result.trials[*result.best].objectives[0].value < 0.7);
        QCOMPARE(std::get<TreePart>(problem.describe()[0].part).items.size(), toy::sites().size());
    }
    void
    treeEnds() { // without an index the end is found by repeats: not to the last rare tree, but it is found
        toy::InliningSpace space;
        std::set<std::string> trees;
        for (std::uint64_t bits = 0; bits < (1ull << toy::sites().size()); ++bits) {
            std::vector<bool> inlined(toy::sites().size());
            for (std::size_t i = 0; i < inlined.size(); ++i)
                inlined[i] = (bits >> i) & 1;
            trees.insert(toy::InliningSpace::encode(inlined).text());
        }
        RandomStrategy strategy(space, 1);
        const std::size_t drawn = strategy.propose(100000).size();
        QVERIFY2(drawn > trees.size() * 9 / 10 && drawn <= trees.size(), std::to_string(drawn).c_str());
    }
    void sameArtifactSameHash() {
        toy::InliningProblem problem;
        const Config base = toy::InliningSpace::encode(
            {true, false, false, true, false, false, false, false, false, false, false, false, false, false});
        Config more = base;
        more.payload = "s0 s2 s3"; // asks for what the compiler refuses
        const auto a = problem.build(base, {}), b = problem.build(more, {});
        QCOMPARE(a->artifact.hash, b->artifact.hash);
        QVERIFY(b->effective == base);
    }
    void twoObjectives() {
        toy::CheckpointProblem problem;
        const auto objectives = problem.objectives();
        auto strategy = GridStrategy::make(problem.space());
        const SearchResult result = runSearch(problem.space(), **strategy, evaluateWith(problem, {}), {});
        QCOMPARE(result.trials.size(), std::size_t{729});
        const auto front = paretoFront(result.trials, objectives);
        QVERIFY(front.size() > 5 && front.size() < 200);
        for (std::size_t i = 1; i < front.size(); ++i) { // time grows, and buys free tape
            const Trial& a = result.trials[front[i - 1]];
            const Trial& b = result.trials[front[i]];
            QVERIFY(a.objectives[0].value < b.objectives[0].value);
            QVERIFY(a.objectives[1].value < b.objectives[1].value);
        }
        QCOMPARE(result.trials[front.front()].objectives[0].value, 1.0);         // nothing recomputed
        QCOMPARE(result.trials[front.back()].objectives[1].value, 200.0 - 21.0); // everything from snapshots
        for (const Trial& trial : result.trials) // nothing is outside of the front's cover
            QVERIFY(std::ranges::any_of(front, [&](std::size_t i) {
                return result.trials[i].objectives[0].value <= trial.objectives[0].value &&
                       result.trials[i].objectives[1].value >= trial.objectives[1].value;
            }));
    }
    void paretoBasics() {
        using Points = std::vector<std::vector<double>>;
        QVERIFY(paretoFront(Points{}).empty());
        QCOMPARE(paretoFront(Points{{1, 1}, {1, 1}}), (std::vector<std::size_t>{0}));
        QCOMPARE(paretoFront(Points{{3, 1}, {1, 3}, {2, 2}, {3, 3}, {2, 4}}),
                 (std::vector<std::size_t>{1, 2, 0}));
        QVERIFY(!dominates(std::vector<double>{1, 1}, std::vector<double>{1, 1}));
        QVERIFY(!dominates(std::vector<double>{std::nan(""), 0}, std::vector<double>{1, 1}));
    }
    void environmentMasks() {
        toy::GridWalk walk;
        QVERIFY(walk.reset(1).ok());
        QCOMPARE(walk.actionMask(), (std::vector<bool>{false, true, false, false}));
        QVERIFY(!walk.step(0).ok());
        QVERIFY(!walk.step(4).ok());
        QVERIFY(!walk.step(-1).ok());
        const Action way[] = {1, 1, 1, 0, 0, 3, 3, 3, 0, 0, 1, 1, 1};
        StepResult last;
        for (const Action action : way) {
            QVERIFY(!last.done);
            const auto step = walk.step(action);
            QVERIFY(step.ok());
            last = *step;
        }
        QVERIFY(last.done);
        QCOMPARE(last.reward, 10.0);
        QCOMPARE(std::ranges::count(walk.actionMask(), true), 0);
        QVERIFY(!walk.step(3).ok());
    }
    void environmentSnapshots() {
        toy::GridWalk walk;
        Rng agent(7);
        const auto act = [&](Environment& environment) {
            const auto mask = environment.actionMask();
            std::vector<Action> open;
            for (std::size_t i = 0; i < mask.size(); ++i)
                if (mask[i])
                    open.push_back(static_cast<Action>(i));
            return open.empty() ? StepResult{0, true} : *environment.step(open[agent.below(open.size())]);
        };
        for (int episode = 0; episode < 50; ++episode) {
            QVERIFY(walk.reset(static_cast<std::uint64_t>(episode)).ok());
            for (int i = 0; i < episode % 7; ++i)
                act(walk);
            const auto snapshot = walk.snapshot();
            QVERIFY(snapshot.ok());
            const Rng agentThen = agent;
            std::vector<double> first, second;
            for (int i = 0; i < 30; ++i)
                first.push_back(act(walk).reward);
            toy::GridWalk other; // a snapshot also moves to another instance
            QVERIFY(other.restore(*snapshot).ok());
            agent = agentThen;
            for (int i = 0; i < 30; ++i)
                second.push_back(act(other).reward);
            QCOMPARE(second, first);
            QCOMPARE(other.observation().arrays[0].values, walk.observation().arrays[0].values);
        }
        QVERIFY(!walk.restore({"rubbish"}).ok());
    }
};

QTEST_APPLESS_MAIN(TestToyClients)
#include "tst_toy_clients.moc"
