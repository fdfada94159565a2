// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <set>

#include "core/search/parameter_space.h"
#include "core/search/strategy_table.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

using Kind = Parameter::Kind;

Parameter number(const std::string& name, int count) {
    Parameter made{name, Kind::number, {}, {}, 0, {}};
    for (int i = 0; i < count; ++i) {
        made.values.push_back(std::to_string(1 << i));
        made.numbers.push_back(1 << i);
    }
    return made;
}
Parameter choice(const std::string& name, std::vector<std::string> values, std::size_t standard = 0) { return {name, Kind::choice, std::move(values), {}, standard, {}}; }
Parameter order(const std::string& name, std::vector<std::string> items) { return {name, Kind::order, std::move(items), {}, 0, {}}; }
Parameter given(Parameter parameter, std::size_t other, std::vector<bool> holds) {
    parameter.conditions.push_back({other, std::move(holds)});
    return parameter;
}

// mode a: nothing else; mode b: size 1 2 4 8; mode c: an order of three, and size
ParameterSpace conditional() {
    return take(ParameterSpace::make("conditional", {choice("mode", {"a", "b", "c"}, 1), given(number("size", 4), 0, {false, true, true}),
                                                     given(order("loops", {"x", "y", "z"}), 0, {false, false, true})}));
}

std::string chosenText(const ParameterSpace& space, const Config& config, std::size_t parameter) {
    std::string text;
    for (const std::size_t value : space.chosen(config, parameter))
        text += space.parameters()[parameter].values[value];
    return text;
}

} // namespace

// Numbers, choices and orders, some of which count only under conditions.
class ParameterSpaceTest : public QObject {
    Q_OBJECT

private slots:
    void countsWhatCounts() {
        const ParameterSpace space = conditional();
        QCOMPARE(space.indexCount(), std::uint64_t(3 * 4 * 6));
        QCOMPARE(*space.size(), 1.0 + 4 + 4 * 6);
        std::set<std::string> seen;
        for (std::uint64_t i = 0; i < space.indexCount(); ++i)
            if (const auto config = space.at(i)) {
                QCOMPARE(space.indexOf(*config), i);
                QVERIFY(space.validate(*config).ok());
                seen.insert(space.describe(*config));
            }
        QCOMPARE(seen.size(), std::size_t(29));
        QVERIFY(seen.contains("mode a"));
        QVERIFY(seen.contains("mode b, size 8"));
        QVERIFY(seen.contains("mode c, size 2, loops z y x"));
        QVERIFY(!space.at(space.indexCount()));
    }

    void whatDoesNotCountIsOneConfig() {
        const ParameterSpace space = conditional();
        const Config plain{{0, 0, 0, 0}, {}}, other{{0, 3, 2, 1}, {}}, counts{{2, 3, 2, 1}, {}};
        QCOMPARE(space.hash(plain), space.hash(other));
        QCOMPARE(space.canonical(other), plain);
        QCOMPARE(space.indexOf(other), space.indexOf(plain));
        QCOMPARE(space.canonical(counts), counts);
        QVERIFY(space.chosen(other, 1).empty() && space.chosen(other, 2).empty());
        QCOMPARE(space.features(std::span(&plain, 1)).values, space.features(std::span(&other, 1)).values);
        QVERIFY(space.features(std::span(&plain, 1)).values != space.features(std::span(&counts, 1)).values);
    }

    void aConditionOnWhatDoesNotCount() {
        const ParameterSpace space = take(ParameterSpace::make("chain", {choice("a", {"off", "on"}), given(choice("b", {"off", "on"}), 0, {false, true}),
                                                                         given(number("c", 3), 1, {true, false})}));
        QCOMPARE(space.describe({{0, 0, 2}, {}}), std::string("a off"));
        QCOMPARE(space.describe({{1, 0, 2}, {}}), std::string("a on, b off, c 4"));
        QCOMPARE(*space.size(), 1.0 + 1 + 3);
    }

    void ordersAreAllReached() {
        const ParameterSpace space = take(ParameterSpace::make("orders", {order("of", {"a", "b", "c", "d"})}));
        QCOMPARE(*space.size(), 24.0);
        std::set<std::string> seen;
        for (std::uint64_t i = 0; i < 24; ++i)
            seen.insert(chosenText(space, *space.at(i), 0));
        QCOMPARE(seen.size(), std::size_t(24));
        QCOMPARE(chosenText(space, space.startingPoints().at(0), 0), std::string("abcd"));
    }

    // A neighbour differs in one parameter that counts: of an order, two items change places.
    void neighboursAreNear() {
        const ParameterSpace space = take(ParameterSpace::make("near", {order("of", {"a", "b", "c", "d", "e"}), number("n", 6)}));
        Rng rng(3);
        for (int i = 0; i < 500; ++i) {
            const Config from = space.sample(rng), to = space.neighbour(from, rng);
            QVERIFY(space.validate(to).ok() && !(from == to));
            const std::string a = chosenText(space, from, 0), b = chosenText(space, to, 0);
            int moved = 0;
            for (std::size_t place = 0; place < a.size(); ++place)
                moved += a[place] != b[place];
            QVERIFY(moved == 0 || (moved == 2 && chosenText(space, from, 1) == chosenText(space, to, 1)));
        }
    }

    void whatIsMadeIsValidAndCanonical() {
        const ParameterSpace space = conditional();
        Rng rng(1);
        Config config = space.startingPoints().at(0);
        QCOMPARE(space.describe(config), std::string("mode b, size 1"));
        for (int i = 0; i < 300; ++i) {
            const Config sample = space.sample(rng);
            config = rng.chance(0.5) ? space.neighbour(config, rng) : space.cross(config, sample, rng);
            for (const Config& each : {sample, config}) {
                QVERIFY(space.validate(each).ok());
                QCOMPARE(space.canonical(each), each);
            }
        }
    }

    void aSingleConfig() {
        const ParameterSpace space = take(ParameterSpace::make("single", {choice("only", {"one"}), order("alone", {"x"})}));
        Rng rng(1);
        QCOMPARE(*space.size(), 1.0);
        QCOMPARE(space.neighbour(space.sample(rng), rng), space.sample(rng));
        QCOMPARE(chosenText(space, space.sample(rng), 1), std::string("x"));
    }

    void hugeSpacesHaveNoIndex() {
        std::vector<Parameter> flags;
        for (int i = 0; i < 200; ++i)
            flags.push_back(choice("flag" + std::to_string(i), {"off", "on"}));
        const ParameterSpace space = take(ParameterSpace::make("huge", flags));
        QVERIFY(*space.size() > 1e60 && !space.indexed() && space.choices());
        Rng rng(1);
        QVERIFY(space.validate(space.neighbour(space.sample(rng), rng)).ok());
        QVERIFY(!makeStrategy("grid", space, {}).ok());
        QCOMPARE(take(makeStrategy("genetic", space, {}))->propose(20).size(), std::size_t(20));
    }

    // The grid tries each config once, and those whose parameters do not count not at all.
    void strategiesTryEachOnce_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"random", "grid", "annealing", "genetic", "bandit", "coordinate"})
            QTest::newRow(name) << name;
    }
    void strategiesTryEachOnce() {
        QFETCH(QString, name);
        const ParameterSpace space = conditional();
        const auto strategy = take(makeStrategy(name.toStdString(), space, {}));
        std::set<std::string> seen;
        for (;;) {
            const std::vector<Config> configs = strategy->propose(4);
            std::vector<Trial> trials;
            for (const Config& config : configs) {
                QVERIFY(seen.insert(space.describe(config)).second);
                Trial trial;
                trial.asked = trial.effective = space.canonical(config);
                trial.objectives = {{"cost", 1.0 + static_cast<double>(space.hash(config) % 1000), ""}};
                trials.push_back(std::move(trial));
            }
            strategy->observe(trials);
            if (configs.size() < 4)
                break;
        }
        QCOMPARE(seen.size(), std::size_t(29));
    }

    void nonsense_data() {
        QTest::addColumn<int>("which");
        QTest::addColumn<QString>("says");
        QTest::newRow("nothing") << 0 << "no parameters";
        QTest::newRow("twice") << 1 << "two parameters named a";
        QTest::newRow("no values") << 2 << "no values";
        QTest::newRow("other default") << 3 << "another default";
        QTest::newRow("numbers missing") << 4 << "what its numbers are";
        QTest::newRow("condition on itself") << 5 << "before it";
        QTest::newRow("condition on an order") << 6 << "before it";
        QTest::newRow("condition of another length") << 7 << "before it";
    }
    void nonsense() {
        QFETCH(int, which);
        QFETCH(QString, says);
        Parameter numberless = number("n", 3);
        numberless.numbers.pop_back();
        const std::vector<std::vector<Parameter>> all{{},
                                                      {choice("a", {"x"}), choice("a", {"x"})},
                                                      {choice("a", {})},
                                                      {choice("a", {"x"}, 1)},
                                                      {numberless},
                                                      {given(choice("a", {"x"}), 0, {true})},
                                                      {order("o", {"x", "y"}), given(choice("a", {"x"}), 0, {true, true})},
                                                      {choice("a", {"x", "y"}), given(choice("b", {"x"}), 0, {true})}};
        const auto made = ParameterSpace::make("bad", all[static_cast<std::size_t>(which)]);
        QVERIFY(!made.ok());
        QVERIFY2(QString::fromStdString(made.error().message).contains(says), made.error().message.c_str());
    }

    void configsOfOtherSpaces() {
        const ParameterSpace space = conditional();
        for (const char* text : {"", "0", "3,0,0,0", "0,-1,0,0", "0,0,0,2", "0,0,0,0,0", "0,0,0,0;more"})
            QVERIFY2(!space.validate(take(Config::parse(text))).ok(), text);
    }
};

QTEST_GUILESS_MAIN(ParameterSpaceTest)
#include "tst_parameter_space.moc"
