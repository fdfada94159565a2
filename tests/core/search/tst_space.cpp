// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <set>

#include "tests/core/search/toy_clients.h"

using namespace tunesmith;

class TestSpace : public QObject {
    Q_OBJECT
private slots:
    void configText_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<bool>("good");
        QTest::newRow("empty") << "" << true;
        QTest::newRow("one") << "7" << true;
        QTest::newRow("several") << "3,0,-12" << true;
        QTest::newRow("payload only") << ";inline a/b" << true;
        QTest::newRow("payload with separators") << "1,2;x;y,z" << true;
        QTest::newRow("trailing comma") << "1," << false;
        QTest::newRow("leading comma") << ",1" << false;
        QTest::newRow("word") << "a" << false;
        QTest::newRow("plus") << "+1" << false;
        QTest::newRow("leading zero") << "01" << false;
        QTest::newRow("space") << "1, 2" << false;
        QTest::newRow("empty payload") << "1;" << false;
        QTest::newRow("too large") << "99999999999999999999" << false;
    }
    void configText() {
        QFETCH(QString, text);
        QFETCH(bool, good);
        const auto config = Config::parse(text.toStdString());
        QCOMPARE(config.ok(), good);
        if (good)
            QCOMPARE(config->text(), text.toStdString());
    }
    void configHashIsStable() {
        // Stored in databases: these values must never change.
        QCOMPARE(hexHash(Config{{3, 0, 12}, ""}.hash()), hexHash(Config::parse("3,0,12")->hash()));
        std::set<std::uint64_t> hashes;
        for (const char* text : {"", "0", "0,0", "1", "1,0", "0,1", ";0", ";0,0", "0;0"})
            hashes.insert(Config::parse(text)->hash());
        QCOMPARE(hashes.size(), std::size_t{9});
    }
    void indexRoundTrip() {
        const KnobSpace space = toy::convSpace();
        QCOMPARE(space.indexCount(), std::uint64_t{1008});
        QCOMPARE(*space.size(), 1008.0);
        std::set<std::uint64_t> hashes;
        for (std::uint64_t i = 0; i < space.indexCount(); ++i) {
            const auto config = space.at(i);
            QVERIFY(config);
            QVERIFY(space.validate(*config).ok());
            QCOMPARE(space.indexOf(*config), i);
            hashes.insert(space.hash(*config));
        }
        QCOMPARE(hashes.size(), std::size_t{1008});
        QVERIFY(!space.at(1008));
        QCOMPARE(space.at(1)->choices,
                 (std::vector<std::int64_t>{1, 0, 0, 0})); // the first knob runs fastest
    }
    void filterAcrossKnobs() {
        const auto filter = [](const KnobSpace& space, const Config& config) {
            return space.value(config, 0).numbers[0] * space.value(config, 1).numbers[0] <= 8;
        };
        const auto made = KnobSpace::make(
            "tiles", {Knob::ofNumbers("x", {1, 2, 4, 8}), Knob::ofNumbers("y", {1, 2, 4, 8})}, filter);
        QVERIFY(made.ok());
        const KnobSpace& space = *made;
        QCOMPARE(*space.size(), 10.0);
        QCOMPARE(space.indexCount(), std::uint64_t{16});
        QVERIFY(!space.at(15));
        QVERIFY(!space.validate(Config{{3, 3}, ""}).ok());
        Rng rng(1);
        Config config = space.sample(rng);
        std::set<std::uint64_t> visited;
        for (int i = 0; i < 2000; ++i) {
            const Config next = space.neighbour(config, rng);
            QVERIFY(space.validate(next).ok());
            int changed = 0;
            for (std::size_t k = 0; k < 2; ++k)
                changed += next.choices[k] != config.choices[k];
            QCOMPARE(changed, 1);
            config = next;
            visited.insert(config.hash());
            QVERIFY(space.validate(space.cross(space.sample(rng), config, rng)).ok());
        }
        QCOMPARE(visited.size(), std::size_t{10});
    }
    void rareAndHugeSpace() { // too large to count, and only one config in 2^21 is allowed
        std::vector<Knob> knobs;
        for (int i = 0; i < 21; ++i)
            knobs.push_back(Knob::ofNumbers("k" + std::to_string(i), {0, 1}));
        const auto space =
            KnobSpace::make("rare", std::move(knobs), [](const KnobSpace&, const Config& config) {
                return std::ranges::count(config.choices, 1) == 21;
            });
        QVERIFY(space.ok());
        Rng rng(5);
        QVERIFY(space->validate(space->sample(rng)).ok());
    }
    void refusals_data() {
        QTest::addColumn<int>("which");
        QTest::addColumn<QString>("words");
        QTest::newRow("no knobs") << 0 << "no knobs";
        QTest::newRow("no values") << 1 << "no values";
        QTest::newRow("ragged") << 2 << "different lengths";
        QTest::newRow("same name") << 3 << "two knobs named a";
        QTest::newRow("nothing allowed") << 4 << "allows no config";
        QTest::newRow("too many") << 5 << "2^63";
    }
    void refusals() {
        QFETCH(int, which);
        QFETCH(QString, words);
        const Knob a = Knob::ofNumbers("a", {1, 2});
        std::vector<Knob> many;
        for (int i = 0; i < 80; ++i)
            many.push_back(Knob::ofNumbers("k" + std::to_string(i), {1, 2}));
        const std::vector<std::vector<Knob>> knobs{{},     {{"a", {}}}, {{"a", {{"x", {1}}, {"y", {1, 2}}}}},
                                                   {a, a}, {a},         many};
        const auto space = KnobSpace::make("s", knobs[static_cast<std::size_t>(which)],
                                           which == 4 ? [](const KnobSpace&, const Config&) { return false; }
                                                      : KnobSpace::Filter());
        QVERIFY(!space.ok());
        QVERIFY2(QString::fromStdString(space.error().message).contains(words),
                 space.error().message.c_str());
    }
    void validateSaysWhy() {
        const KnobSpace space = toy::convSpace();
        QVERIFY(!space.validate(Config{{0, 0}, ""}).ok());
        QVERIFY(!space.validate(Config{{0, 0, 0, 0}, "x"}).ok());
        QVERIFY(!space.validate(Config{{0, 0, 0, -1}, ""}).ok());
        QVERIFY(space.validate(Config{{0, 0, 0, 2}, ""}).error().message.find("unroll") != std::string::npos);
    }
    void features() {
        const auto space =
            KnobSpace::make("f", {{"tile", {{"4x16", {4, 16}}, {"-1", {-1, 0}}}}, Knob::ofNumbers("u", {7})})
                .value();
        const std::vector<Config> configs{{{0, 0}, ""}, {{1, 0}, ""}};
        const FeatureMatrix m = space.features(configs);
        QCOMPARE(m.rows, std::size_t{2});
        QCOMPARE(m.columns, std::size_t{5}); // two numbers and two one-hots of tile, one number of u
        const auto expect = [&](std::size_t row, std::vector<float> values) {
            for (std::size_t i = 0; i < values.size(); ++i)
                QVERIFY(std::abs(m.row(row)[i] - values[i]) < 1e-5f);
        };
        expect(0, {std::log2(5.0f), std::log2(17.0f), 1, 0, 3});
        expect(1, {-1, 0, 0, 1, 3});
        QCOMPARE(space.describe(configs[0]), std::string("tile 4x16, u 7"));
    }
    void trialNames() {
        for (int i = 0; i <= static_cast<int>(TrialStatus::cancelled); ++i)
            QCOMPARE(static_cast<int>(*trialStatusFromName(trialStatusName(static_cast<TrialStatus>(i)))), i);
        QVERIFY(!trialStatusFromName("nonsense"));
        QCOMPARE(statusOf(timeoutError("t"), true), TrialStatus::runTimeout);
        QCOMPARE(statusOf(timeoutError("t"), false), TrialStatus::buildTimeout);
        QCOMPARE(statusOf(cancelledError(), false), TrialStatus::cancelled);
        QCOMPARE(statusOf(inputError("x"), false), TrialStatus::buildError);
    }
};

QTEST_APPLESS_MAIN(TestSpace)
#include "tst_space.moc"
