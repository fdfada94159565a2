// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>
#include <thread>

#include "tests/core/store/require.h"
#include "tests/core/store/store_samples.h"

using namespace tunesmith;

namespace {

RuleRow rule(int number) {
    const std::string digits = std::to_string(number);
    const std::vector<std::string> proof{"a; b", "c"};
    return {"a" + digits + " = b", "generated/" + digits, "generated", "tested", 1800, {"group(conv1) = 1", "caf\xc3\xa9 \"x\""}, "", 1'700'000'000'000 + number, proof, "no \"proof\""};
}

} // namespace

class TestStoreRules : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::shared_ptr<Store> store_;
    std::string path_;
    int files_ = 0;

private slots:
    void init() {
        path_ = folder_.filePath(QString::number(++files_) + ".db").toStdString();
        auto store = Store::open(path_);
        REQUIRE_OK(store);
        store_ = store.value();
    }
    void cleanup() { store_.reset(); }

    void rulesComeBackAsTheyWere() {
        QVERIFY(store_->rules().value().empty());
        REQUIRE_OK(store_->addRules({rule(2), rule(1)}));
        const auto rows = store_->rules();
        REQUIRE_OK(rows);
        QCOMPARE(rows.value().size(), std::size_t(2));
        QCOMPARE(rows.value()[1].name, std::string("generated/1"));
        const auto found = store_->rule("generated/2");
        REQUIRE_OK(found);
        QVERIFY(found.value());
        const RuleRow row = *found.value(), expected = rule(2);
        QCOMPARE(row.text, expected.text);
        QCOMPARE(row.origin, expected.origin);
        QCOMPARE(row.status, expected.status);
        QCOMPARE(row.trials, expected.trials);
        QCOMPARE(row.preconditions, expected.preconditions);
        QCOMPARE(row.counterExample, expected.counterExample);
        QCOMPARE(row.createdAt, expected.createdAt);
        QCOMPARE(row.proofConditions, expected.proofConditions);
        QCOMPARE(row.whyNotProved, expected.whyNotProved);
        QVERIFY(!store_->rule("generated/3").value());
        QCOMPARE(store_->stats().value().rules, std::int64_t(2));
        REQUIRE_CLEAN(*store_);
    }

    void theSameTextIsRenewed() {
        REQUIRE_OK(store_->addRules({rule(1), rule(2)}));
        RuleRow again = rule(1);
        again.name = "taso/98";
        again.status = "refuted";
        again.counterExample = "v1: 1x1";
        again.preconditions.clear();
        again.proofConditions.clear();
        again.whyNotProved = "z3 is not installed";
        again.createdAt = 5;
        REQUIRE_OK(store_->addRules({again}));
        const auto rows = store_->rules().value();
        QCOMPARE(rows.size(), std::size_t(2));
        QCOMPARE(rows[0].name, std::string("taso/98"));
        QCOMPARE(rows[0].status, std::string("refuted"));
        QCOMPARE(rows[0].counterExample, std::string("v1: 1x1"));
        QVERIFY(rows[0].preconditions.empty() && rows[0].proofConditions.empty());
        QCOMPARE(rows[0].whyNotProved, std::string("z3 is not installed"));
        QCOMPARE(rows[0].createdAt, rule(1).createdAt);
        REQUIRE_CLEAN(*store_);
    }

    void refusesWhatMakesNoSense_data() {
        QTest::addColumn<QString>("what");
        for (const char* what : {"no text", "no name", "other status", "negative trials", "name of another"})
            QTest::newRow(what) << what;
    }
    void refusesWhatMakesNoSense() {
        QFETCH(QString, what);
        REQUIRE_OK(store_->addRules({rule(1)}));
        RuleRow bad = rule(2);
        if (what == "no text")
            bad.text.clear();
        if (what == "no name")
            bad.name.clear();
        if (what == "other status")
            bad.status = "fine";
        if (what == "negative trials")
            bad.trials = -1;
        if (what == "name of another")
            bad.name = rule(1).name;
        const auto added = store_->addRules({rule(3), bad});
        QVERIFY(!added.ok());
        QVERIFY(!added.error().message.empty());
        QCOMPARE(store_->rules().value().size(), std::size_t(1)); // none of them
    }

    void nowIsTheDefault() {
        RuleRow row = rule(1);
        row.createdAt = 0;
        REQUIRE_OK(store_->addRules({row}));
        QVERIFY(store_->rules().value()[0].createdAt > 1'600'000'000'000);
    }

    void rulesOutliveTheCleaning() {
        REQUIRE_OK(store_->addRules({rule(1)}));
        REQUIRE_OK(store_->gc());
        store_.reset();
        const auto store = Store::open(path_, StoreMode::readOnly);
        REQUIRE_OK(store);
        QCOMPARE(store.value()->rules().value().size(), std::size_t(1));
        QVERIFY(!store.value()->addRules({rule(2)}).ok());
    }

    void manyThreadsAddTheSame() {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&] {
                for (int number = 0; number < 25; ++number)
                    if (!store_->addRules({rule(number)}).ok())
                        qFatal("a rule was not added");
            });
        threads.clear();
        QCOMPARE(store_->rules().value().size(), std::size_t(25));
        REQUIRE_CLEAN(*store_);
    }
};

QTEST_GUILESS_MAIN(TestStoreRules)
#include "tst_store_rules.moc"
