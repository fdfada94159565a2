// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QTest>

#include "core/substitution/candidates.h"
#include "core/substitution/rule_text.h"
#include "core/substitution/stored_rule.h"
#include "core/substitution/taso_file.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::substitution;

namespace {

bool sameRule(const Rule& a, const Rule& b) { return a.variables == b.variables && a.nodes == b.nodes && a.left == b.left && a.right == b.right; }

const std::string kSum = "add(v1, v2) = add(v2, v1) where v1: 2x4, v2: 2x4";

} // namespace

class RuleTextTest : public QObject {
    Q_OBJECT

    static void readsWhatIsWritten(const std::vector<Rule>& rules) {
        for (const Rule& rule : rules) {
            const std::string text = ruleText(rule);
            const auto again = parseRule(text);
            QVERIFY2(again.ok(), again.ok() ? "" : (text + ": " + again.error().message).c_str());
            QCOMPARE(ruleText(*again), text);
            QVERIFY(sameRule(take(parseRule(ruleText(*again))), *again));
            QCOMPARE(holds(*again, 3), holds(rule, 3));
        }
    }

private slots:
    void readsWhatTheGeneratorFinds() {
        EnumerationOptions options;
        options.operators = 2;
        const std::vector<Rule> rules = take(findCandidates(take(TermEnumeration::run(options))));
        QVERIFY(rules.size() > 100);
        readsWhatIsWritten(rules);
    }

    void readsTasosRules() {
        QFile file(qEnvironmentVariable("TUNESMITH_TEST_DATA", QString(TUNESMITH_SOURCE_DIR) + "/../shared") + "/data/taso/graph_subst.pb");
        if (!file.open(QIODevice::ReadOnly))
            QSKIP("TUNESMITH_TEST_DATA names no folder with data/taso/graph_subst.pb");
        readsWhatIsWritten(take(parseTasoFile(file.readAll().toStdString())));
    }

    void readsOtherFormsOfTheSame_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("canonical");
        QTest::newRow("names") << "add(x, y1_)=add(y1_,x)where y1_ : 2 x 4,x:2x4" << QString::fromStdString(kSum);
        QTest::newRow("results") << "relu(b); matmul(a, b) = relu(b); matmul(a, b) where a: 4x4, b: 4x4"
                                 << "matmul(v1, v2); relu(v2) = matmul(v1, v2); relu(v2) where v1: 4x4, v2: 4x4";
        QTest::newRow("constants only") << "conv_identity33 = enlarge(conv_identity13)" << "conv_identity33 = enlarge(conv_identity13)";
        QTest::newRow("cuts") << "v = concat1(split1a(v), split1b(v)) where v: 4x(1+2)" << "v1 = concat1(split1a(v1), split1b(v1)) where v1: 4x(1+2)";
        QTest::newRow("scalar") << "scale(v, s) = scale(v, s) where v: 2x4, s: 1" << "scale(v1, v2) = scale(v1, v2) where v1: 2x4, v2: 1";
    }
    void readsOtherFormsOfTheSame() {
        QFETCH(QString, text);
        QFETCH(QString, canonical);
        QCOMPARE(QString::fromStdString(ruleText(take(parseRule(text.toStdString())))), canonical);
    }

    void saysWhatIsWrong_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const QString& text, const char* says) { QTest::newRow(name) << text << says; };
        row("nothing", "", "column 1: expected an operator or a variable, but the line ends");
        row("no right side", "relu(v1)", "column 9: expected ';' or '=', but the line ends");
        row("empty right side", "relu(v1) = ", "expected an operator or a variable, but the line ends");
        row("no operator", "frob(v1) = v1 where v1: 2x4", "column 1: no operator is called 'frob'");
        row("no axis", "concat(v1, v1) = v1 where v1: 2x4", "no operator is called 'concat'");
        row("axis 4", "concat4(v1, v1) = v1 where v1: 2x4", "no operator is called 'concat4'");
        row("split without part", "split0(v1) = v1 where v1: 2x4", "no operator is called 'split0'");
        row("an operand more", "relu(v1, v2) = v1 where v1: 2x4", "column 8: expected ')', not ', v2) = v1");
        row("an operand less", "add(v1) = v1 where v1: 2x4", "column 7: expected ',', not ') = v1");
        row("an operand where there is none", "ones(v1) = v1 where v1: 2x4", "column 5: expected ';' or '='");
        row("a number", "add(1, v1) = v1 where v1: 2x4", "column 5: expected an operator or a variable, not '1, v1)");
        row("results", "relu(v1); v1 = relu(v1) where v1: 2x4", "expected ';' and another result, as on the left,");
        row("a result more", "relu(v1) = relu(v1); v1 where v1: 2x4", "expected an operand or 'where'");
        row("no shapes", "relu(v1) = relu(v1)", "expected an operand or 'where'");
        row("a shape missing", "add(v1, v2) = add(v2, v1) where v1: 2x4", "expected a shape for v2, but the line ends");
        row("a shape too many", "relu(v1) = relu(v1) where v1: 2x4, v2: 2x4", "column 36: the equation has no variable 'v2'");
        row("two shapes", "relu(v1) = relu(v1) where v1: 2x4, v1: 2x4", "'v1' has a shape already");
        row("no colon", "relu(v1) = relu(v1) where v1 2x4", "column 30: expected ':'");
        row("extent 0", "relu(v1) = relu(v1) where v1: 2x0", "expected a number from 1 to 4096, not '0'");
        row("extent -1", "relu(v1) = relu(v1) where v1: -1x4", "expected a number from 1 to 4096");
        row("large extent", "relu(v1) = relu(v1) where v1: 99999999999999999999", "expected a number");
        row("large sum", "relu(v1) = relu(v1) where v1: (4000+4000)x1", "an extent is more than 4096");
        row("many elements", "relu(v1) = relu(v1) where v1: 4096x4096", "more than 65536 elements");
        row("five extents", "relu(v1) = relu(v1) where v1: 1x1x1x1x1", "at most four extents");
        row("half a cut", "relu(v1) = relu(v1) where v1: (4)x4", "column 33: expected '+'");
        row("more", "relu(v1) = relu(v1) where v1: 2x4 and so on", "expected the end of the rule, not 'and so on'");
        row("fields", "relu(v1) = relu(v1) where v1: 2x4; origin: a", "expected the end of the rule");
        row("operands", "v1 = matmul(v1, v1) where v1: 2x4", "column 6: matmul does not take 2x4 and 2x4");
        row("no cut", "v1 = split0a(v1) where v1: 2x4", "column 6: split does not take 2x4");
        row("too large", "v1 = concat0(v1, v1) where v1: 500x2", "or its result is too large");
        row("sides", "v1 = transpose(v1) where v1: 2x4", "column 6: the left side is 2x4, the right side 4x2");
        row("deep", QString("relu(").repeated(40) + "v1", "more than 32 operators in each other");
        QStringList many;
        for (int i = 0; i < 16; ++i)
            many << QString("add(add(v%1, v%2), add(v%3, v%4))").arg(4 * i + 1).arg(4 * i + 2).arg(4 * i + 3).arg(4 * i + 4);
        row("many", many.join("; "), "more than 64 operators and variables");
        row("many results", QStringList(17, "relu(v1)").join("; "), "more than 16 results");
        row("results without end", QStringList(150'000, "relu(v1)").join("; "), "more than 16 results");
    }
    void saysWhatIsWrong() {
        QFETCH(QString, text);
        QFETCH(QString, says);
        const auto rule = parseRule(text.toStdString());
        QVERIFY(!rule.ok());
        QVERIFY2(QString::fromStdString(rule.error().message).contains(says), rule.error().message.c_str());
    }

    void changedTextDoesNoHarm() {
        const std::string whole = "matmul(v1, v2); split0a(concat0(v1, v3)) = matmul(v1, v2); v1 where v1: 2x(2+2), v2: 4x4, v3: 2x4; name: a/1; status: tested 7; if: x \\; y";
        const std::string_view letters = "v1();:=,x+ 0d\\e";
        Rng rng(3);
        for (int i = 0; i < 50'000; ++i) {
            std::string changed = whole;
            for (std::uint64_t j = 0; j <= rng.below(3); ++j)
                changed[rng.below(changed.size())] = i % 2 ? letters[rng.below(letters.size())] : static_cast<char>(rng.below(256));
            if (const auto rule = parseStoredRule(changed); rule.ok())
                QCOMPARE(storedRuleText(take(parseStoredRule(storedRuleText(*rule)))), storedRuleText(*rule));
        }
    }

    void keepsWhatIsKnown() {
        StoredRule rule;
        rule.rule = take(parseRule(kSum));
        QCOMPARE(storedRuleText(rule), kSum);
        rule.name = "taso/98";
        rule.origin = "taso 98";
        rule.status = RuleStatus::tested;
        rule.trials = 1800;
        rule.preconditions = {"group(conv1) = 1", "a; b \\ c"};
        rule.counterExample = "v1: 2x4\nv2: 3x4";
        const std::string text = storedRuleText(rule);
        QCOMPARE(text, kSum + "; name: taso/98; origin: taso 98; status: tested 1800; if: group(conv1) = 1; if: a\\; b \\\\ c; otherwise: v1: 2x4\\nv2: 3x4");
        const StoredRule again = take(parseStoredRule(text));
        QVERIFY(sameRule(again.rule, rule.rule));
        QCOMPARE(again.name, rule.name);
        QCOMPARE(again.origin, rule.origin);
        QVERIFY(again.status == rule.status);
        QCOMPARE(again.trials, rule.trials);
        QCOMPARE(again.preconditions, rule.preconditions);
        QCOMPARE(again.counterExample, rule.counterExample);
        rule.status = RuleStatus::refuted;
        const std::string refuted = storedRuleText(rule);
        QVERIFY(refuted.ends_with("; refuted by: v1: 2x4\\nv2: 3x4"));
        QCOMPARE(take(parseStoredRule(refuted)).counterExample, rule.counterExample);
    }

    void keepsWhatIsKnownOfProofs() {
        StoredRule rule;
        rule.rule = take(parseRule(kSum));
        rule.status = RuleStatus::proved;
        rule.trials = 7;
        rule.preconditions = {"c"};
        rule.proofConditions = {"a; b", "v1 is 1x1"};
        const std::string text = storedRuleText(rule);
        QCOMPARE(text, kSum + "; status: proved 7; if: c; proved if: a\\; b; proved if: v1 is 1x1");
        const StoredRule again = take(parseStoredRule(text));
        QVERIFY(again.status == RuleStatus::proved);
        QCOMPARE(again.proofConditions, rule.proofConditions);
        QVERIFY(again.whyNotProved.empty());
        rule = {};
        rule.rule = take(parseRule(kSum));
        rule.whyNotProved = "z3 is not installed";
        QCOMPARE(storedRuleText(rule), kSum + "; not proved: z3 is not installed");
        QCOMPARE(take(parseStoredRule(storedRuleText(rule))).whyNotProved, rule.whyNotProved);
    }

    void preconditionsNameTermsAsTheTextDoes() {
        const std::string swapped = "relu(v2) = relu(relu(v2)) where v2: 2x4";
        QVERIFY(parseStoredRule(swapped + "; name: a").ok());
        const auto named = parseStoredRule(swapped + "; if: v2 is small");
        QVERIFY(!named.ok() && named.error().message.find("as they are in 'relu(v1) = relu(relu(v1)) where v1: 2x4'") != std::string::npos);
        QVERIFY(!parseStoredRule(swapped + "; status: proved; proved if: v2 is small").ok());
        QVERIFY(parseStoredRule("relu( v1)=relu(relu(v1) ) where v1:2x4 ;if: v1 is small").ok());
    }

    void saysWhatIsWrongWithFields_data() {
        QTest::addColumn<QString>("fields");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const char* fields, const char* says) { QTest::newRow(name) << fields << says; };
        row("no colon", "; name", "column 51: expected 'key: value'");
        row("other key", "; colour: red", "column 51: expected name, origin, status, if, 'proved if', 'not proved', otherwise or 'refuted by', not 'colour'");
        row("no value", "; name: ; origin: a", "'name' has no value");
        row("twice", "; name: a; name: b", "column 59: 'name' is there twice");
        row("two counter-examples", "; otherwise: a; refuted by: b", "column 64: there are two counter-examples");
        row("status", "; status: fine", "no status is called 'fine'");
        row("trials", "; status: tested many", "expected how many trials there were, not 'many'");
        row("trials below 0", "; status: tested -1", "expected how many trials");
        row("proof without", "; status: tested 5; proved if: v1 is small", "'proved if' needs that status");
        row("proof and none", "; status: proved; not proved: z3 is not installed", "exclude each other");
        row("escape", "; name: a\\b", "after a backslash");
        row("escape at the end", "; name: a\\", "after a backslash");
    }
    void saysWhatIsWrongWithFields() {
        QFETCH(QString, fields);
        QFETCH(QString, says);
        const auto rule = parseStoredRule(kSum + fields.toStdString());
        QVERIFY(!rule.ok());
        QVERIFY2(QString::fromStdString(rule.error().message).contains(says), rule.error().message.c_str());
    }

    void filesHaveRemarks() {
        const std::string line = kSum + "; name: a";
        const auto rules = take(parseStoredRules("# two rules\n\n" + line + "\r\n  # again\n" + kSum));
        QCOMPARE(rules.size(), std::size_t(2));
        QCOMPARE(rules[0].name, std::string("a"));
        QCOMPARE(storedRulesText(rules), line + "\n" + kSum + "\n");
        QVERIFY(take(parseStoredRules("")).empty());
        const auto wrong = parseStoredRules("# one\n" + kSum + "\nrelu(\n");
        QVERIFY(!wrong.ok());
        QVERIFY2(wrong.error().message.starts_with("line 3: column 6: "), wrong.error().message.c_str());
    }
};

QTEST_GUILESS_MAIN(RuleTextTest)
#include "tst_rule_text.moc"
