// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <sys/resource.h>
#include <limits>

#include "core/base/rng.h"
#include "core/search/pbqp.h"

using namespace tunesmith;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Shape {
    std::size_t nodes, alternatives; // at most
    double edges, forbidden;         // shares
};

std::vector<double> randomCosts(Rng& rng, std::size_t count, double forbidden) {
    std::vector<double> costs;
    for (std::size_t i = 0; i < count; ++i)
        costs.push_back(rng.chance(forbidden) ? kInfinity : static_cast<double>(rng.below(40)) - 8); // whole numbers: sums are exact
    return costs;
}

void join(PbqpProblem& problem, Rng& rng, std::size_t a, std::size_t b, double forbidden) {
    problem.edges.push_back({a, b, randomCosts(rng, problem.nodes[a].size() * problem.nodes[b].size(), forbidden)});
}

PbqpProblem randomNodes(Rng& rng, std::size_t count, std::size_t alternatives, double forbidden) {
    PbqpProblem problem;
    for (std::size_t n = 0; n < count; ++n)
        problem.nodes.push_back(randomCosts(rng, 1 + rng.below(alternatives), forbidden));
    return problem;
}

// Also with several edges between two nodes, and either one first.
PbqpProblem randomProblem(Rng& rng, const Shape& shape) {
    PbqpProblem problem = randomNodes(rng, rng.below(shape.nodes + 1), shape.alternatives, shape.forbidden);
    for (std::size_t a = 0; a < problem.nodes.size(); ++a)
        for (std::size_t b = 0; b < problem.nodes.size(); ++b)
            if (a != b && rng.chance(shape.edges / 2))
                join(problem, rng, a, b, shape.forbidden);
    return problem;
}

double leastOfAll(const PbqpProblem& problem) {
    std::vector<std::size_t> choice(problem.nodes.size(), 0);
    double least = kInfinity;
    for (;;) {
        least = std::min(least, problem.cost(choice));
        std::size_t n = 0;
        while (n < choice.size() && ++choice[n] == problem.nodes[n].size())
            choice[n++] = 0;
        if (n == choice.size())
            return least;
    }
}

std::int64_t peakMegabytes() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss / 1024;
}

} // namespace

class PbqpTest : public QObject {
    Q_OBJECT

private slots:
    void agreesWithTryingAll_data() {
        QTest::addColumn<int>("nodes");
        QTest::addColumn<int>("alternatives");
        QTest::addColumn<double>("edges");
        QTest::addColumn<double>("forbidden");
        QTest::newRow("sparse") << 8 << 3 << 0.2 << 0.0;
        QTest::newRow("dense") << 7 << 3 << 0.7 << 0.0;
        QTest::newRow("complete") << 6 << 4 << 2.0 << 0.0;
        QTest::newRow("some forbidden") << 7 << 3 << 0.5 << 0.2;
        QTest::newRow("most forbidden") << 6 << 4 << 0.5 << 0.6;
        QTest::newRow("one alternative") << 6 << 1 << 0.5 << 0.05;
    }
    void agreesWithTryingAll() {
        QFETCH(int, nodes);
        QFETCH(int, alternatives);
        QFETCH(double, edges);
        QFETCH(double, forbidden);
        const Shape shape{static_cast<std::size_t>(nodes), static_cast<std::size_t>(alternatives), edges, forbidden};
        int feasible = 0;
        for (std::uint64_t seed = 0; seed < 400; ++seed) {
            Rng rng(seed);
            const PbqpProblem problem = randomProblem(rng, shape);
            const PbqpSolution solution = solvePbqp(problem);
            const double least = leastOfAll(problem);
            QVERIFY(solution.proven);
            QCOMPARE(solution.feasible, least < kInfinity);
            if (!solution.feasible)
                continue;
            ++feasible;
            QCOMPARE(solution.cost, least);
            QCOMPARE(problem.cost(solution.choice), least);
            QCOMPARE(solvePbqp(problem).choice, solution.choice);
        }
        QVERIFY(feasible > 20);
    }

    // Dynamic programming: nothing is guessed, so no branches are needed.
    void treesAndSeriesParallelGraphsNeedNoBranches() {
        for (std::uint64_t seed = 0; seed < 200; ++seed) {
            Rng rng(seed);
            PbqpProblem problem = randomNodes(rng, 9, 3, 0.1);
            const bool tree = seed % 2 == 0;
            for (std::size_t n = 1; n < problem.nodes.size(); ++n) {
                const std::size_t other = tree || n == 1 ? rng.below(n) : n - 1;
                join(problem, rng, n, other, 0.1);
                if (!tree && n > 1) // a residual connection around one node: neighbours of both were joined before
                    join(problem, rng, n - 2, n, 0.1);
            }
            const PbqpSolution solution = solvePbqp(problem, 0);
            const double least = leastOfAll(problem);
            QVERIFY(solution.proven);
            QCOMPARE(solution.feasible, least < kInfinity);
            if (solution.feasible)
                QCOMPARE(solution.cost, least);
        }
    }

    void nothingToChoose() {
        const PbqpSolution none = solvePbqp({});
        QVERIFY(none.feasible && none.proven && none.choice.empty());
        const PbqpSolution one = solvePbqp({{{3, 1, 2}}, {}});
        QCOMPARE(one.choice, std::vector<std::size_t>{1});
        QCOMPARE(one.cost, 1.0);
        QCOMPARE(solvePbqp({{{2, 2}, {5, 4, 4}}, {}}).choice, (std::vector<std::size_t>{0, 1})); // of equals the first
    }

    void edgesOfTheSameTwoAddUp() {
        const PbqpProblem problem{{{0, 0}, {0, 0}}, {{0, 1, {0, 5, 1, 9}}, {1, 0, {9, 2, 3, 9}}}};
        const PbqpSolution solution = solvePbqp(problem);
        QCOMPARE(solution.choice, (std::vector<std::size_t>{1, 0}));
        QCOMPARE(solution.cost, 3.0);
    }

    void saysWhereAllIsForbidden() {
        for (const PbqpProblem& problem : {PbqpProblem{{{kInfinity, kInfinity}}, {}}, PbqpProblem{{{0, 1}, {2}}, {{0, 1, {kInfinity, kInfinity}}}}}) {
            const PbqpSolution solution = solvePbqp(problem);
            QVERIFY(!solution.feasible && solution.proven && solution.choice.empty());
        }
    }

    // A chain with residual connections, as deep as no model is: time and stack stay small.
    void longChains() {
        Rng rng(7);
        PbqpProblem problem = randomNodes(rng, 60000, 4, 0);
        for (std::size_t n = 1; n < problem.nodes.size(); ++n) {
            join(problem, rng, n - 1, n, 0);
            if (n % 5 == 0)
                join(problem, rng, n - 3, n, 0);
        }
        const PbqpSolution solution = solvePbqp(problem);
        QVERIFY(solution.feasible && solution.proven);
        std::vector<std::size_t> other = solution.choice;
        for (std::size_t n = 0; n < 2000; ++n) { // no single change is better
            other[n] = (other[n] + 1) % problem.nodes[n].size();
            QVERIFY(problem.cost(other) >= solution.cost);
            other[n] = solution.choice[n];
        }
    }

    // Grids do not get smaller by themselves: each level of the descent has a problem of its own.
    void gridsTakeLittleMemory() {
        constexpr std::size_t kSide = 24, kAlternatives = 27;
        Rng rng(3);
        PbqpProblem problem;
        for (std::size_t n = 0; n < kSide * kSide; ++n)
            problem.nodes.push_back(randomCosts(rng, kAlternatives, 0));
        for (std::size_t n = 0; n < kSide * kSide; ++n) {
            if (n % kSide > 0)
                join(problem, rng, n - 1, n, 0);
            if (n >= kSide)
                join(problem, rng, n - kSide, n, 0);
        }
        const std::int64_t before = peakMegabytes();
        const PbqpSolution solution = solvePbqp(problem, 300);
        QVERIFY(solution.feasible && !solution.proven);
        const std::int64_t taken = peakMegabytes() - before;
        QVERIFY2(taken < 700, qPrintable(QString("%1 MB").arg(taken)));
    }

    // Too much to try: the best guess, and no claim. A node that everything reads would be the same, with hints it is easy.
    void saysWhatIsNotProven() {
        Rng rng(11);
        PbqpProblem problem;
        for (int n = 0; n < 60; ++n)
            problem.nodes.push_back(randomCosts(rng, 6, 0));
        for (std::size_t a = 0; a < problem.nodes.size(); ++a)
            for (std::size_t b = 0; b < a; ++b)
                join(problem, rng, a, b, 0);
        const PbqpSolution quick = solvePbqp(problem, 100);
        QVERIFY(quick.feasible && !quick.proven);
        const PbqpSolution longer = solvePbqp(problem, 2000);
        QVERIFY(longer.cost <= quick.cost);
        double average = 0;
        for (int i = 0; i < 50; ++i) {
            std::vector<std::size_t> choice;
            for (std::size_t n = 0; n < problem.nodes.size(); ++n)
                choice.push_back(rng.below(6));
            average += problem.cost(choice) / 50;
        }
        QVERIFY(quick.cost < average);
    }
};

QTEST_GUILESS_MAIN(PbqpTest)
#include "tst_pbqp.moc"
