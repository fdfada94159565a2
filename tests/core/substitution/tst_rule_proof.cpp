// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>
#include <set>
#include <thread>

#include "core/substitution/rule_proof.h"
#include "core/substitution/rule_text.h"
#include "core/substitution/taso_file.h"
#include "proof_testing.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::substitution;
using namespace std::chrono_literals;

namespace {

struct Named {
    const char *name, *text, *condition = "";
};

constexpr Named kClassics[] = {
    {"products associate", "matmul(matmul(v1, v2), v3) = matmul(v1, matmul(v2, v3)) where v1: 2x4, v2: 4x4, v3: 4x4"},
    {"product of a sum", "matmul(v1, add(v2, v3)) = add(matmul(v1, v2), matmul(v1, v3)) where v1: 2x4, v2: 4x4, v3: 4x4"},
    {"transposed product", "transpose(matmul(v1, v2)) = matmul(transpose(v2), transpose(v1)) where v1: 2x4, v2: 4x4"},
    {"products with one matrix", "matmul(v1, v2); matmul(v1, v3) = split1a(matmul(v1, concat1(v2, v3))); split1b(matmul(v1, concat1(v2, v3)))"
                                 " where v1: 2x4, v2: 4x4, v3: 4x4"},
    {"sum of products", "add(matmul(v1, v2), matmul(v3, v4)) = matmul(concat1(v1, v3), concat0(v2, v4)) where v1: 2x4, v2: 4x4, v3: 2x4, v4: 4x4"},
    {"conv of a sum", "conv(add(v1, v2), v3) = add(conv(v1, v3), conv(v2, v3)) where v1: 2x4x5x5, v2: 2x4x5x5, v3: 4x4x3x3"},
    {"conv with a sum", "conv(v1, add(v2, v3)) = add(conv(v1, v2), conv(v1, v3)) where v1: 2x4x5x5, v2: 4x4x3x3, v3: 4x4x3x3"},
    {"conv and relu", "relu(conv(v1, v2)) = conv_relu(v1, v2) where v1: 2x4x5x5, v2: 4x4x3x3"},
    {"enlarged", "conv(v1, v2) = conv(v1, enlarge(v2)) where v1: 2x4x5x5, v2: 4x4x1x3"},
    {"mean as weights", "average_pool(v1) = conv(v1, pool_weights) where v1: 2x4x5x5"},
    {"identity", "relu(v1) = conv_relu(v1, conv_identity33) where v1: 2x4x5x5"},
    {"parts of a concat", "split0b(concat0(v1, v2)) = v2 where v1: 2x4, v2: 4x4"},
    {"relu of parts", "split1a(relu(v1)) = relu(split1a(v1)) where v1: 2x(2+2)"},
    {"parts of what is put together unlike", "split0a(add(concat0(v1, v2), v3)) = add(v1, split0a(v3)) where v1: 2x4, v2: 4x4, v3: (2+4)x4"},
    {"mean and points", "conv(average_pool(v1), v2) = average_pool(conv(v1, v2)) where v1: 2x4x5x5, v2: 4x4x1x1", "v2 is 1x1"},
    {"filters", "conv(v1, v2); conv(v1, v3) = split1a(conv(v1, concat0(v2, v3))); split1b(conv(v1, concat0(v2, v3))) where v1: 2x4x5x5, v2: 4x4x3x3, v3: 4x4x3x3",
     "conv(v1, v2) has one group"},
    {"channels", "add(conv(v1, v2), conv(v3, v4)) = conv(concat1(v1, v3), concat1(v2, v4)) where v1: 2x4x5x5, v2: 4x4x3x3, v3: 2x4x5x5, v4: 4x4x3x3",
     "conv(concat1(v1, v3), concat1(v2, v4)) has one group"},
    {"groups", "concat1(conv(v1, v2), conv(v3, v4)) = conv(concat1(v1, v3), concat0(v2, v4)) where v1: 2x4x5x5, v2: 4x4x3x3, v3: 2x4x5x5, v4: 4x4x3x3",
     "v1 and v3 have the same extent along axis 1; v2 and v4 have the same extent along axis 0"},
};

// True with the shapes that they have, or not even there.
constexpr Named kFalse[] = {
    {"relu of a sum", "relu(add(v1, v2)) = add(relu(v1), relu(v2)) where v1: 2x4, v2: 2x4"},
    {"product commutes", "matmul(v1, v2) = matmul(v2, v1) where v1: 4x4, v2: 4x4"},
    {"sum of products of others", "add(matmul(v1, v2), matmul(v3, v4)) = matmul(add(v1, v3), add(v2, v4)) where v1: 4x4, v2: 4x4, v3: 4x4, v4: 4x4"},
    {"concat commutes", "concat0(v1, v2) = concat0(v2, v1) where v1: 2x4, v2: 2x4"},
    {"other part", "split0a(concat0(v1, v2)) = v2 where v1: 4x4, v2: 4x4"},
    {"largest of a sum", "max_pool(add(v1, v2)) = add(max_pool(v1), max_pool(v2)) where v1: 2x4x5x5, v2: 2x4x5x5"},
    {"mean and filters", "conv(average_pool(v1), v2) = average_pool(conv(v1, v2)) where v1: 2x4x5x5, v2: 4x4x3x3"},
    {"one product of two", "matmul(v1, v2); matmul(v1, v3) = split1b(matmul(v1, concat1(v2, v3))); split1a(matmul(v1, concat1(v2, v3)))"
                           " where v1: 2x4, v2: 4x4, v3: 4x4"},
    {"a product left out", "mul(conv(v1, v2), v3) = conv(v1, v2) where v1: 2x4x5x5, v2: 4x4x3x3, v3: 2x4x5x5"},
};

Rule ruleFrom(const std::string& text) { return take(parseRule(text)); }

std::string joined(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts)
        all += (all.empty() ? "" : "; ") + text;
    return all;
}

Z3Prover::Options program(const std::string& path, int milliseconds = 10000) { return {path, milliseconds, 512}; }

// A program that does as the script says.
std::string script(const QTemporaryDir& folder, const char* name, const char* text) {
    QFile file(folder.filePath(name));
    if (!file.open(QIODevice::WriteOnly))
        qFatal("cannot write the script");
    file.write(QByteArray("#!/bin/sh\n") + text + "\n");
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return file.fileName().toStdString();
}

// All rules in which one operator reads something else, or is another one.
std::vector<Rule> spoiled(const Rule& rule) {
    std::vector<Rule> rules;
    const auto add = [&](TermId id, auto&& change) {
        Rule other = rule;
        change(other.nodes[id]);
        rules.push_back(std::move(other));
    };
    for (TermId id = 0; id < rule.nodes.size(); ++id) {
        const Term& term = rule.nodes[id];
        if (term.op == TermOp::input)
            continue;
        add(id, [](Term& t) { std::swap(t.inputs[0], t.inputs[1]); });
        add(id, [](Term& t) { t.part = t.op == TermOp::split ? 1 - t.part : t.part; });
        add(id, [](Term& t) { t.axis = t.op == TermOp::concat ? 1 - t.axis : t.axis; });
        const auto another = [](TermOp op) {
            return op == TermOp::add ? TermOp::mul : op == TermOp::conv ? TermOp::convRelu : op == TermOp::relu ? TermOp::transpose : op;
        };
        add(id, [&](Term& t) { t.op = another(t.op); });
        for (TermId read = 0; read < id; ++read)
            for (std::size_t i = 0; i < static_cast<std::size_t>(traits(term.op).inputs); ++i)
                add(id, [&](Term& t) { t.inputs[i] = read; });
    }
    std::erase_if(rules, [](const Rule& other) {
        for (const Term& term : other.nodes)
            for (int i = 0; i < traits(term.op).inputs; ++i)
                if (term.inputs[static_cast<std::size_t>(i)] >= other.nodes.size())
                    return true;
        return !legalShapes(other);
    });
    return rules;
}

} // namespace

class RuleProofTest : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    Z3Prover z3_;

    static void addRows(std::span<const Named> rules) {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("condition");
        for (const Named& rule : rules)
            QTest::newRow(rule.name) << rule.text << rule.condition;
    }

private slots:
    void initTestCase() {
        if (const auto answer = z3_.check("(check-sat)\n"); !answer.ok())
            QSKIP(answer.error().message.c_str());
    }

    void classics_data() { addRows(kClassics); }
    void classics() {
        QFETCH(QString, text);
        QFETCH(QString, condition);
        const RuleProof proof = take(proveRule(ruleFrom(text.toStdString()), z3_));
        QVERIFY2(proof.isProved, proof.whyNot.c_str());
        QCOMPARE(joined(proof.conditions), condition.toStdString());
    }

    // What a rule needs a condition for, nothing proves without.
    void noConditionIsInVain() {
        for (const Named& each : kClassics) {
            const Rule rule = ruleFrom(each.text);
            const ProofSearch search = searchProof(rule);
            for (std::size_t i = 0; i < search.conditions.size(); ++i) {
                std::vector<ShapeCondition> fewer = search.conditions;
                fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
                QVERIFY2(!searchProofUnder(rule, fewer).isFound, each.name);
            }
        }
    }

    void falseRulesAreNotProved_data() { addRows(kFalse); }
    void falseRulesAreNotProved() {
        QFETCH(QString, text);
        const Rule rule = ruleFrom(text.toStdString());
        QVERIFY(!holdsReally(rule));
        const RuleProof proof = take(proveRule(rule, z3_));
        QVERIFY(!proof.isProved);
        QCOMPARE(proof.whyNot, std::string("no proof was found"));
    }

    // Neither are those that come of true ones by a slip of the pen.
    void spoiledRulesAreNotProved() {
        int wrong = 0;
        for (const Named& each : kClassics)
            for (const Rule& rule : spoiled(ruleFrom(each.text))) {
                if (holdsReally(rule))
                    continue;
                ++wrong;
                QVERIFY2(!searchProof(rule).isFound, toText(rule).c_str());
            }
        qInfo("%d wrong rules", wrong);
        QVERIFY(wrong > 150);
    }

    // What is proved holds for other shapes, too.
    void proofsAreTried() {
        Rng rng(3);
        for (const Named& each : kClassics) {
            const Rule rule = ruleFrom(each.text);
            const ProofSearch search = searchProof(rule);
            int tried = 0;
            for (int i = 0; i < 3000 && tried < 40; ++i)
                if (const auto other = reshaped(rule, search.conditions, rng)) {
                    ++tried;
                    QVERIFY2(holdsReally(*other), ruleText(*other).c_str());
                }
            QVERIFY2(tried >= 3, each.name);
        }
    }

    // Of TASO's rules: those that ignore groups or unequal extents need conditions, and no others do.
    void elevenOfTasosRulesNeedConditions() {
        QFile file(qEnvironmentVariable("TUNESMITH_TEST_DATA", QString(TUNESMITH_SOURCE_DIR) + "/../shared") + "/data/taso/graph_subst.pb");
        if (!file.open(QIODevice::ReadOnly))
            QSKIP("TUNESMITH_TEST_DATA names no folder with data/taso");
        const std::vector<Rule> rules = take(parseTasoFile(file.readAll().toStdString()));
        std::set<std::size_t> guarded;
        for (std::size_t i = 0; i < rules.size(); ++i) {
            const RuleProof proof = take(proveRule(rules[i], z3_));
            QVERIFY2(proof.isProved, ruleText(rules[i]).c_str());
            if (!proof.conditions.empty())
                guarded.insert(i);
        }
        QCOMPARE(guarded, (std::set<std::size_t>{98, 99, 100, 105, 125, 126, 127, 128, 129, 130, 131}));
    }

    // The solver does not believe a search that is wrong.
    void z3HasTheLastWord() {
        const Rule rule = ruleFrom(kClassics[0].text);
        ProofProblem problem = searchProof(rule).problem;
        QCOMPARE(take(z3_.check(smtText(problem))), Z3Prover::Answer::holds);
        problem.steps.clear();
        QCOMPARE(take(z3_.check(smtText(problem))), Z3Prover::Answer::notProved);
        QCOMPARE(take(z3_.check(smtText(searchProof(ruleFrom(kFalse[0].text)).problem))), Z3Prover::Answer::notProved);
    }

    void readableProblem() {
        const std::string text = smtText(searchProof(ruleFrom("transpose(transpose(v1)) = v1 where v1: 2x4")).problem);
        QCOMPARE(text, std::string("(set-logic QF_UF)\n(declare-sort Tensor 0)\n(declare-fun v1 () Tensor)\n(define-fun t0 () Tensor v1)\n"
                                   "(declare-fun transpose (Tensor) Tensor)\n(define-fun t1 () Tensor (transpose t0))\n(define-fun t2 () Tensor (transpose t1))\n"
                                   "(assert (= t2 t0)) ; transposed twice\n(assert (not (and true (= t2 t0))))\n(check-sat)\n"));
    }

    void unusualProgramsProveNothing_data() {
        QTest::addColumn<QString>("script");
        QTest::addColumn<int>("milliseconds");
        QTest::addColumn<QString>("why");
        QTest::newRow("dead") << "exit 3" << 10000 << "dead ended before it had answered";
        QTest::newRow("killed") << "kill -9 $$" << 10000 << "killed ended before it had answered";
        QTest::newRow("silent") << "sleep 1000" << 100 << "silent did not answer in time";
        QTest::newRow("undecided") << "echo unknown; sleep 1000" << 10000 << "z3 does not find it in its time";
        QTest::newRow("confused") << "echo '(error \"line 1\")'; sleep 1000" << 10000 << "z3 says (error \"line 1\")";
        QTest::newRow("against it") << "echo sat; sleep 1000" << 10000 << "z3 does not find it in its time";
    }
    void unusualProgramsProveNothing() {
        QFETCH(QString, script);
        QFETCH(int, milliseconds);
        QFETCH(QString, why);
        Z3Prover prover(program(::script(folder_, QTest::currentDataTag(), script.toUtf8()), milliseconds));
        const RuleProof proof = take(proveRule(ruleFrom(kClassics[0].text), prover));
        QVERIFY(!proof.isProved);
        QCOMPARE(proof.whyNot, why.toStdString());
    }

    void noProgram() {
        Z3Prover missing(program("/nowhere/z3"));
        QCOMPARE(take(proveRule(ruleFrom(kClassics[0].text), missing)).whyNot, std::string("z3 is not installed"));
        qputenv("TUNESMITH_Z3", "/nowhere/either");
        Z3Prover named;
        QCOMPARE(take(proveRule(ruleFrom(kClassics[0].text), named)).whyNot, std::string("z3 is not installed"));
        qunsetenv("TUNESMITH_Z3");
    }

    // The next rule gets a new process.
    void aDeadProgramIsReplaced() {
        const QByteArray once = "test -e " + folder_.filePath("was").toUtf8() + " && exec z3 \"$@\"; touch " + folder_.filePath("was").toUtf8();
        Z3Prover prover(program(script(folder_, "once", once)));
        QVERIFY(!take(proveRule(ruleFrom(kClassics[0].text), prover)).isProved);
        QVERIFY(take(proveRule(ruleFrom(kClassics[0].text), prover)).isProved);
        QVERIFY(take(proveRule(ruleFrom(kClassics[1].text), prover)).isProved);
    }

    void cancelled() {
        StopSource stopped;
        stopped.requestStop();
        QCOMPARE(proveRule(ruleFrom(kClassics[0].text), z3_, stopped.token()).error().kind, ErrorKind::cancelled);
        StopSource later;
        std::jthread other([&] { std::this_thread::sleep_for(200ms), later.requestStop(); });
        Z3Prover prover(program(script(folder_, "slow", "sleep 1000"), 100000));
        const auto begun = std::chrono::steady_clock::now();
        QCOMPARE(proveRule(ruleFrom(kClassics[0].text), prover, later.token()).error().kind, ErrorKind::cancelled);
        QVERIFY(std::chrono::steady_clock::now() - begun < 10s);
    }
};

QTEST_GUILESS_MAIN(RuleProofTest)
#include "tst_rule_proof.moc"
