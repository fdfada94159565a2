// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/search/bandit_credit.h"
#include "core/search/bandit_technique.h"
#include "core/search/coordinate_strategy.h"
#include "core/search/genetic_strategy.h"
#include "core/search/simple_strategies.h"
#include "tests/core/search/toy_search.h"

using namespace tunesmith;
using toy::best, toy::budget, toy::convEvaluate, toy::median;

namespace {

KnobSpace bowlSpace() {
    std::vector<Knob> knobs;
    for (int i = 0; i < 4; ++i)
        knobs.push_back(Knob::ofNumbers(
            "k" + std::to_string(i), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
    return KnobSpace::make("bowl", std::move(knobs)).value();
}

double bowlCost(const Config& config) { // no knob depends on another
    double cost = 1;
    for (std::size_t i = 0; i < config.choices.size(); ++i)
        cost += std::pow(static_cast<double>(config.choices[i]) - 5 - 2 * static_cast<double>(i), 2);
    return cost;
}

std::unique_ptr<Technique> makeTechnique(int which) {
    return which == 0   ? makeDifferentialEvolution()
           : which == 1 ? makeUniformMutation()
           : which == 2 ? makeNormalMutation()
                        : makeNelderMead();
}

constexpr std::size_t kTrials = 300;

// The lowest cost after kTrials; without a technique all are random.
double descend(Technique* technique, const KnobSpace& space, const UnitCube& cube, std::uint64_t seed) {
    Measured measured;
    Rng rng(seed);
    const auto fresh = [&](std::uint64_t hash) { return !measured.find(hash); };
    const TechniqueView view{space, cube, measured, fresh, [](std::uint64_t) { return false; }, rng};
    while (measured.all().size() < kTrials) {
        const std::optional<Config> picked = technique ? technique->pick(view) : std::nullopt;
        const Config config = picked ? *picked : space.sample(rng);
        const std::uint64_t hash = space.hash(config);
        if (!fresh(hash))
            continue;
        measured.add(config, hash, hash, bowlCost(config));
        if (technique)
            technique->observed(view, {hash, measured.find(hash), false});
    }
    return measured.best()->cost.value();
}

} // namespace

// What strategies are made of, each by itself.
class TestStrategyParts : public QObject {
    Q_OBJECT
private slots:
    void techniquesDescend_data() {
        QTest::addColumn<int>("which");
        QTest::newRow("differential evolution") << 0;
        QTest::newRow("uniform mutation") << 1;
        QTest::newRow("normal mutation") << 2;
        QTest::newRow("Nelder-Mead") << 3;
    }
    void
    techniquesDescend() { // each by itself, helped by random configs only where it has nothing to propose
        QFETCH(int, which);
        const KnobSpace space = bowlSpace();
        const UnitCube cube(space);
        std::vector<double> mine, random;
        for (std::uint64_t seed = 0; seed < 11; ++seed) {
            mine.push_back(descend(makeTechnique(which).get(), space, cube, seed));
            random.push_back(descend(nullptr, space, cube, seed));
        }
        qInfo("bowl of 160 thousand points after 300 trials: %.0f, random %.0f", median(mine),
              median(random));
        QVERIFY(median(mine) < 0.7 * median(random));
    }
    void cubeAndSpaceAgree() {
        const KnobSpace space = toy::filteredSpace();
        const UnitCube cube(space);
        QCOMPARE(cube.dimensions(), std::size_t{4});
        std::size_t allowed = 0;
        for (std::uint64_t i = 0; i < space.indexCount(); ++i)
            if (const auto config = space.at(i); config && ++allowed)
                QVERIFY(cube.configAt(cube.pointOf(*config)) == config);
        QCOMPARE(static_cast<double>(allowed), *space.size());
        const KnobSpace whole = toy::convSpace(), small = toy::smallSpace();
        QCOMPARE(UnitCube(whole).configAt({-3, 2, 1, 0})->text(), std::string("0,8,7,0")); // clipped
        QCOMPARE(UnitCube(small).dimensions(), std::size_t{2}); // a knob of one value is none
    }
    void repeatedMeasurements() { // the better one counts, under both names
        Measured measured;
        QVERIFY(!measured.best() && !measured.find(1));
        const Config a{{1}, {}}, b{{2}, {}};
        measured.add(a, 1, 1, std::nullopt);
        QVERIFY(!measured.best() && measured.find(1));
        measured.add(a, 1, 7, 5.0); // asked for as 7
        measured.add(b, 2, 2, 4.0);
        measured.add(b, 2, 2, std::nullopt);
        measured.add(b, 2, 2, 9.0);
        QCOMPARE(*measured.best()->cost, 4.0);
        QVERIFY(measured.find(7) == measured.find(1));
        measured.add(a, 1, 1, 3.0);
        QVERIFY(measured.best()->config == a);
        QCOMPARE(measured.all().size(), std::size_t{2});
        QCOMPARE(measured.loss(4, 2), std::log(2.0));
        QCOMPARE(measured.loss(4, -1), 5.0); // no ratio: a share of the range 3 ... 4
        QVERIFY(!Measured::restored(measured.all(), {{9, 2}}, 0));
        QVERIFY(!Measured::restored(measured.all(), {}, 2));
        QVERIFY(Measured::restored(measured.all(), measured.aliases(), measured.bestPlace())->find(7));
    }
    void coordinateDescentFindsABowl() { // where no knob depends on another: without a detour
        const KnobSpace space = bowlSpace();
        const Evaluate evaluate = [](std::span<const Config> configs) -> Result<std::vector<Trial>> {
            std::vector<Trial> trials;
            for (const Config& config : configs) {
                trials.push_back(toy::okTrial({{"time", bowlCost(config), "s"}}));
                trials.back().effective = config;
            }
            return trials;
        };
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const auto strategy = makeCoordinateDescent(space, seed).value();
            SearchOptions search = budget(200);
            search.budget.targetCost = 1;
            search.batch = 4;
            QCOMPARE(runSearch(space, *strategy, evaluate, search).reason, StopReason::targetReached);
        }
    }
    void elitesAreAtMostHalf() { // of a small population; it breeds all the same
        const KnobSpace space = toy::fineConvSpace();
        std::vector<double> small, random;
        for (std::uint64_t seed = 0; seed < 11; ++seed) {
            GeneticOptions genes;
            genes.population = 8;
            genes.elites = 100;
            small.push_back(
                best(runSearch(space, *makeGenetic(space, seed, {}, genes), convEvaluate(space), budget(128))
                         .trials));
            RandomStrategy control(space, seed);
            random.push_back(best(runSearch(space, control, convEvaluate(space), budget(128)).trials));
        }
        QVERIFY(median(small) < median(random));
    }
    void creditOfTheBandit() {
        BanditCredit credit(3, 0.5, 4);
        QVERIFY(std::isinf(credit.scores({0, 0, 0})[0])); // unused ones first
        credit.record(0, false);
        credit.record(0, true); // late successes weigh more: (0*1 + 1*2) / 3
        credit.record(1, true);
        credit.record(1, false); // (1*1 + 0*2) / 3
        const auto bonus = [](double all, double uses) { return 0.5 * std::sqrt(2 * std::log2(all) / uses); };
        QCOMPARE(credit.scores({0, 0, 0})[0], 2.0 / 3 + bonus(4, 2));
        QCOMPARE(credit.scores({0, 0, 0})[1], 1.0 / 3 + bonus(4, 2));
        QVERIFY(std::isinf(credit.scores({0, 0, 0})[2]));
        QCOMPARE(credit.scores({2, 0, 1})[0], 2.0 / 3 + bonus(7, 4)); // under way: a use without credit
        QCOMPARE(credit.scores({2, 0, 1})[2], bonus(7, 1));
        credit.record(2, false); // the window of 4 forgets the first
        QCOMPARE(credit.scores({0, 0, 0})[0], 1.0 + bonus(4, 1));
        QCOMPARE(credit.history().size(), std::size_t{4});
    }
};

QTEST_APPLESS_MAIN(TestStrategyParts)
#include "tst_strategy_parts.moc"
