// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <set>

#include "core/search/started_space.h"
#include "core/search/union_space.h"

using namespace tunesmith;

namespace {

std::shared_ptr<const KnobSpace> part(const std::string& name, std::vector<Knob> knobs, KnobSpace::Filter filter = {}) {
    return std::make_shared<const KnobSpace>(KnobSpace::make(name, std::move(knobs), std::move(filter)).value());
}

// 6 configs, of which the filter allows 4, beside 5
UnionSpace twoWays() {
    const auto filter = [](const KnobSpace& space, const Config& config) {
        return space.value(config, 0).numbers[0] * space.value(config, 1).numbers[0] <= 6;
    };
    return UnionSpace::make({part("direct", {Knob::ofNumbers("x", {1, 2, 4}), Knob::ofNumbers("y", {2, 3})}, filter),
                             part("other", {Knob::ofNumbers("z", {1, 3, 5, 7, 9})})})
        .value();
}

} // namespace

class TestUnionSpace : public QObject {
    Q_OBJECT

private slots:
    void partsFollowOneAnother() {
        const UnionSpace space = twoWays();
        QCOMPARE(QString::fromStdString(space.name()), QString("direct|other"));
        QCOMPARE(*space.size(), 9.0);
        QCOMPARE(space.indexCount(), std::uint64_t{11});
        int members = 0;
        for (std::uint64_t i = 0; i < 12; ++i)
            if (const auto config = space.at(i)) {
                ++members;
                QVERIFY(space.validate(*config).ok());
                QCOMPARE(space.indexOf(*config), i);
                QCOMPARE(UnionSpace::partOf(*config), std::size_t(i < 6 ? 0 : 1));
                QCOMPARE(space.widened(UnionSpace::partOf(*config), space.within(*config)), *config);
                QCOMPARE(space.canonical(*config), *config);
            }
        QCOMPARE(members, 9);
        QCOMPARE(QString::fromStdString(space.describe(*space.at(8))), QString("other: z 5"));
    }

    void wanderingReachesEveryConfigAndNoOther() {
        const UnionSpace space = twoWays();
        Rng rng(3);
        Config config = space.sample(rng);
        std::set<std::uint64_t> visited;
        for (int i = 0; i < 3000; ++i) {
            config = space.neighbour(config, rng);
            QVERIFY(space.validate(config).ok());
            visited.insert(space.hash(config));
            const Config other = space.sample(rng), child = space.cross(config, other, rng);
            QVERIFY(space.validate(child).ok());
            QVERIFY(UnionSpace::partOf(child) == UnionSpace::partOf(config) || child == other);
        }
        QCOMPARE(visited.size(), std::size_t{9});
    }

    void featuresSayWhichPart() {
        const UnionSpace space = twoWays();
        const std::vector<Config> configs{*space.at(7), *space.at(0), *space.at(10)};
        const FeatureMatrix all = space.features(configs);
        QCOMPARE(all.rows, std::size_t{3});
        const std::size_t first = space.part(0).features({}).columns, second = space.part(1).features({}).columns;
        QCOMPARE(all.columns, 2 + first + second);
        for (std::size_t row = 0; row < 3; ++row) {
            const std::size_t own = UnionSpace::partOf(configs[row]);
            QCOMPARE(all.row(row)[own], 1.0f);
            QCOMPARE(all.row(row)[1 - own], 0.0f);
            const auto foreign = own == 0 ? all.row(row).subspan(2 + first) : all.row(row).subspan(2, first);
            QVERIFY(std::ranges::all_of(foreign, [](float value) { return value == 0; }));
            const std::vector<Config> alone{space.within(configs[row])};
            const FeatureMatrix expected = space.part(own).features(alone);
            const auto mine = own == 0 ? all.row(row).subspan(2, first) : all.row(row).subspan(2 + first);
            QVERIFY(std::ranges::equal(mine, expected.row(0)));
        }
        QCOMPARE(space.features({}).columns, all.columns);
    }

    void refusals() {
        QVERIFY(!UnionSpace::make({}).ok());
        const auto a = part("a", {Knob::ofNumbers("x", {1, 2})});
        QVERIFY(UnionSpace::make({a, a}).error().message.find("two parts named a") != std::string::npos);
        std::vector<Knob> many;
        for (int i = 0; i < 63; ++i)
            many.push_back(Knob::ofNumbers("k" + std::to_string(i), {1, 2}));
        QVERIFY(UnionSpace::make({part("huge", many), a}).error().message.find("2^63") != std::string::npos);
        const UnionSpace space = twoWays();
        for (const char* text : {"", "2,0,0,0", "-1,0,0,0", "0,0,0", "1,0,0,5", "0,2,1,0", "1,3,0,0", "1,0,0,0;x"})
            QVERIFY2(!space.validate(Config::parse(text).value()).ok(), text);
    }

    void choicesOfOtherPartsDoNotCount() {
        const UnionSpace space = twoWays();
        QCOMPARE(space.choices()->radices(), (std::vector<std::uint64_t>{2, 3, 2, 5}));
        const Config plain = Config::parse("1,0,0,3").value(), other = Config::parse("1,2,1,3").value();
        QVERIFY(space.validate(plain).ok() && space.validate(other).ok());
        QCOMPARE(space.canonical(other), plain);
        QCOMPARE(space.hash(other), space.hash(plain));
        QCOMPARE(space.indexOf(other), space.indexOf(plain));
        QCOMPARE(space.describe(other), space.describe(plain));
        const std::vector<Config> both{plain, other};
        const FeatureMatrix features = space.features(both);
        QVERIFY(std::ranges::equal(features.row(0), features.row(1)));
    }

    void startingPointsAreThoseGiven() {
        const UnionSpace space = twoWays();
        const StartedSpace started(space, {*space.at(8)});
        QCOMPARE(started.startingPoints(), std::vector<Config>{*space.at(8)});
        QCOMPARE(started.name(), space.name());
        QCOMPARE(started.indexed()->indexCount(), space.indexCount());
        QVERIFY(started.crossover() == space.crossover());
        QCOMPARE(started.features({}).columns, space.features({}).columns);
    }
};

QTEST_GUILESS_MAIN(TestUnionSpace)
#include "tst_union_space.moc"
