// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>

#include "core/process/text_program.h"
#include "core/store/store.h"
#include "core/workbench/history.h"
#include "core/workbench/rule_import.h"
#include "core/workbench/rule_store.h"

using namespace tunesmith;

namespace {

const QByteArray kRules = "add(v1, v2) = add(v2, v1) where v1: 2x4, v2: 2x4; name: a/1\n"
                          "average_pool(v1) = conv(v1, pool_weights) where v1: 2x4x5x5; name: a/2\n"
                          "relu(add(v1, v2)) = add(relu(v1), relu(v2)) where v1: 2x4, v2: 2x4; name: b/1\n"
                          "conv_relu(v1, v2) = relu(conv(v1, v2)) where v1: 2x4x5x5, v2: 4x4x3x3; name: ab/1\n"
                          "relu(v1) = relu(relu(v1)) where v1: 2x4; name: b/2; status: proved\n";

// Without the solver, what is true is only tested.
std::string provedIfCanBe() { return findProgram("z3") ? "proved" : "tested"; }

} // namespace

// Rules of a store tried and written back.
class RuleVerifications : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    int stores_ = 0;
    std::string store_;

    std::string path(const QString& name) const { return folder_.filePath(name).toStdString(); }

    RuleVerification verify(const std::vector<std::string>& names, const RuleTrialOptions& options) const {
        const auto done = verifyRules(store_, names, options);
        if (!done.ok())
            qFatal("%s", done.error().message.c_str());
        return *done;
    }

    KeptRule kept(const std::string& name) const { return *keptRule(store_, name); }

private slots:
    void aFileIsNotBelieved() {
        for (const char* status : {"proved", "tested 100000"}) {
            QFile file(folder_.filePath("praise.txt"));
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write("relu(v1) = v1 where v1: 2x4; name: praise/1; status: " + QByteArray(status) + "\n");
            file.close();
            const std::string store = path(QString("praise %1.db").arg(status));
            QVERIFY(importRules(store, path("praise.txt"), {100, 0, 2, 1}, {}).ok());
            const KeptRule rule = *keptRule(store, "praise/1");
            QCOMPARE(rule.status, std::string("refuted"));
            QVERIFY(!rule.counterExample.empty());
        }
    }

    void init() {
        store_ = path(QString::number(++stores_) + ".db");
        QFile file(folder_.filePath("rules.txt"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(kRules);
        file.close();
        StopSource stop; // nothing is tried then
        stop.requestStop();
        QVERIFY(!importRules(store_, path("rules.txt"), {}, {stop.token(), {}}).ok());
        QCOMPARE(kept("a/1").status, std::string("untested"));
    }

    void whatCameOfThemIsKept() {
        const RuleVerification done = verify({}, {100, 0, 2, 1});
        QCOMPARE(done.rules, 5U);
        QCOMPARE(done.sound, 2U);
        QCOMPARE(done.guarded, 1U);
        QCOMPARE(done.foundShapesOnly, 1U);
        QCOMPARE(done.refuted.size(), 1U);
        QCOMPARE(done.refuted[0].rule, std::string("b/1"));
        QVERIFY(!done.refuted[0].example.empty() && done.seconds > 0);
        QCOMPARE(kept("a/1").status, provedIfCanBe());
        QCOMPARE_GE(kept("a/1").trials, 100);
        QCOMPARE(kept("a/2").preconditions, std::vector<std::string>{"left to right: pools count their pads"});
        QVERIFY(kept("a/2").counterExample.starts_with("left to right: AveragePool("));
        QCOMPARE(kept("b/1").status, std::string("refuted"));
        QCOMPARE(kept("b/2").status, provedIfCanBe());
    }

    void withoutTheSolverNothingIsProved() {
        qputenv("TUNESMITH_Z3", "/nowhere/z3");
        const RuleVerification done = verify({}, {50, 0, 2, 1});
        qunsetenv("TUNESMITH_Z3");
        QCOMPARE(done.proved, 0U); // the file's word counts for nothing
        QCOMPARE(done.whyNotProved, std::string("z3 is not installed"));
        QCOMPARE(kept("a/1").status, std::string("tested"));
        QCOMPARE(kept("a/1").whyNotProved, std::string("z3 is not installed"));
        QVERIFY(kept("b/1").whyNotProved.empty());
    }

    void proofsAreKept() {
        if (!findProgram("z3"))
            QSKIP("z3 is not installed");
        const RuleVerification done = verify({}, {50, 0, 2, 1});
        QCOMPARE(done.proved, 4U);
        QCOMPARE(done.provedIf, 0U);
        QVERIFY(done.whyNotProved.empty());
        QCOMPARE(kept("ab/1").status, std::string("proved"));
        QCOMPARE(kept("ab/1").preconditions.size(), 2U); // of terms, which models do not have
        QVERIFY(kept("b/1").status == "refuted" && kept("b/1").whyNotProved.empty());
        qputenv("TUNESMITH_Z3", "/nowhere/z3");
        verify({"ab/1"}, {50, 0, 2, 1});
        qunsetenv("TUNESMITH_Z3");
        QCOMPARE(kept("ab/1").status, std::string("proved")); // trials do not take that away
        QVERIFY(exportRules(store_, path("proved.txt")).ok());
        const KeptRule before = kept("a/2");
        store_ = path("proved.db");
        QVERIFY(importRules(store_, path("proved.txt"), {50, 0, 2, 1}).ok());
        QCOMPARE(kept("a/2").status, std::string("proved"));
        QCOMPARE(kept("a/2").preconditions, before.preconditions);
        QCOMPARE(kept("a/2").proofConditions, before.proofConditions);
    }

    void namesChooseRulesAndFamilies() {
        QCOMPARE(verify({"a"}, {10, 0, 1, 1}).rules, 2U);
        QCOMPARE(kept("ab/1").status, std::string("untested"));
        QCOMPARE(verify({"b/1", "ab"}, {10, 0, 1, 1}).rules, 2U);
        const auto nobody = verifyRules(store_, {"a", "c"}, {});
        QVERIFY(!nobody.ok() && nobody.error().message.find("no rule or family 'c'") != std::string::npos);
    }

    void totalsAreSpreadOverWhatCanBeApplied() {
        const RuleVerification done = verify({"a"}, {10, 3000, 2, 1});
        QCOMPARE_GE(done.trials, 3000);
        QCOMPARE_GE(kept("a/1").trials, 700); // of four directions
        QCOMPARE_GE(kept("a/2").trials, 700);
    }

    void threadsDoNotMatter() {
        verify({}, {50, 0, 1, 7});
        const std::vector<KeptRule> one = keptRules(store_)->rules;
        verify({}, {50, 0, 4, 7});
        const std::vector<KeptRule> four = keptRules(store_)->rules;
        for (std::size_t i = 0; i < one.size(); ++i) {
            QCOMPARE(one[i].preconditions, four[i].preconditions);
            QCOMPARE(one[i].counterExample, four[i].counterExample);
            QCOMPARE(one[i].trials, four[i].trials);
        }
    }

    // One bad row, of another version or by somebody's hand, does not hide the others.
    void whatCannotBeReadIsNamed() {
        RuleRow bad;
        bad.text = "add(v1, = v1";
        bad.name = "bad/1";
        bad.status = "tested";
        QVERIFY(Store::open(store_, StoreMode::readWrite).value()->addRules({bad}).ok());
        const KeptRules kept = keptRules(store_).value();
        QCOMPARE(kept.rules.size(), std::size_t(5));
        QCOMPARE(kept.unreadable.size(), std::size_t(1));
        QVERIFY2(kept.unreadable[0].find("bad/1") != std::string::npos, kept.unreadable[0].c_str());
        QCOMPARE(exportRules(store_, path("exported.txt")).value(), std::size_t(5));
        QCOMPARE(verify({"a"}, {10, 0, 1, 1}).rules, std::size_t(2));
        QCOMPARE(verify({}, {10, 0, 1, 1}).rules, std::size_t(5));
        const StoreHealth health = checkStore(store_).value();
        QVERIFY(!health.ok && health.problems.size() == 1 && health.problems[0].find("bad/1") != std::string::npos);
        QVERIFY(!keptRule(store_, "bad/1").ok());
    }

    void whatIsDoneIsKeptWhenStopped() {
        StopSource stop;
        const auto stopped = verifyRules(store_, {}, {100, 0, 1, 1}, {stop.token(), [&](const Progress&) { stop.requestStop(); }});
        QVERIFY(!stopped.ok() && stopped.error().kind == ErrorKind::cancelled);
        QCOMPARE(kept("a/1").status, provedIfCanBe());
        QCOMPARE(kept("a/2").status, std::string("untested"));
    }

    void importBelievesWhatIsStated() {
        verify({}, {200, 0, 2, 1});
        QVERIFY(exportRules(store_, path("known.txt")).ok());
        store_ = path("other.db");
        const auto done = importRules(store_, path("known.txt"), {200, 0, 2, 1});
        QVERIFY(done.ok());
        QCOMPARE(done->added, 5U);
        QCOMPARE(done->unsound.size(), 1U);
        QCOMPARE(done->unsound[0].rule, std::string("b/1"));
        QCOMPARE(kept("a/2").preconditions, std::vector<std::string>{"left to right: pools count their pads"});
    }
};

QTEST_GUILESS_MAIN(RuleVerifications)
#include "tst_rule_verification.moc"
