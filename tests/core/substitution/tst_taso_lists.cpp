// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QTest>

#include "core/substitution/candidates.h"
#include "core/substitution/derivation.h"
#include "core/substitution/rule_text.h"
#include "core/substitution/taso_text.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::substitution;

namespace {

const std::vector<Rule>& generated() {
    static const std::vector<Rule> rules = [] {
        EnumerationOptions options;
        options.threads = 2;
        return *withoutDerived(take(findCandidates(take(TermEnumeration::run(options)))), 2);
    }();
    return rules;
}

std::vector<Rewrite> allRewrites(const std::vector<Rule>& rules) {
    std::vector<Rewrite> rewrites;
    for (const Rule& rule : rules)
        for (const Rewrite& rewrite : rewritesOf(rule))
            rewrites.push_back(rewrite);
    return rewrites;
}

} // namespace

// What the public generator finds, against what ours does.
class TasoListsTest : public QObject {
    Q_OBJECT

private slots:
    void generatedRulesAreReadAsTheyAreWritten() {
        for (const Rule& rule : generated()) {
            const std::string text = ruleText(rule);
            QCOMPARE(ruleText(take(parseRule(text))), text);
        }
    }

    void everyTrueRuleIsFoundOrImplied_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<int>("count");
        QTest::newRow("the artefact's operators") << "generated_820_rules.txt" << 820;
        QTest::newRow("the last version's operators") << "generated_619_rules.txt" << 619;
    }
    void everyTrueRuleIsFoundOrImplied() {
        QFETCH(QString, file);
        QFETCH(int, count);
        QFile list(qEnvironmentVariable("TUNESMITH_TEST_DATA", QString(TUNESMITH_SOURCE_DIR) + "/../shared") + "/data/taso/" + file);
        if (!list.open(QIODevice::ReadOnly))
            QSKIP("TUNESMITH_TEST_DATA names no folder with data/taso");
        const std::vector<Rule> rules = take(parseTasoRules(list.readAll().toStdString()));
        QCOMPARE(rules.size(), std::size_t(count));
        const std::vector<Rewrite> known = allRewrites(generated());
        int untrue = 0, missing = 0;
        for (const Rule& rule : rules) {
            if (!holdsForReals(rule, 1)) {
                ++untrue;
                qInfo("not true: %s", toText(rule).c_str());
            } else if (!isImplied(rule, known, {4, 3000}) && !isImplied(rule, known, {6, 20000})) {
                ++missing;
                qInfo("missing: %s", toText(rule).c_str());
            }
        }
        qInfo("%d rules: %d not true, %d missing", count, untrue, missing);
        QCOMPARE(missing, 0);
        QCOMPARE(untrue, 2); // where a pool's mean is taken for its sum, and the weights of a mean for ones
    }
};

QTEST_GUILESS_MAIN(TasoListsTest)
#include "tst_taso_lists.moc"
