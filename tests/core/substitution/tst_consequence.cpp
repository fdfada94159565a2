// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/substitution/consequence.h"
#include "core/substitution/taso_text.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::substitution;

namespace {

Rule rule(const std::string& line) { return take(parseTasoRules(line)).at(0); }
std::string of(const std::string& op, const std::string& a) { return op + "[0]{input0(" + a + ")}"; }
std::string of(const std::string& op, const std::string& a, const std::string& b) { return op + "[0]{input0(" + a + ")input1(" + b + ")}"; }

const Rule& associative() {
    static const Rule made = rule(of("Matmul", of("Matmul", "x1", "w1"), "w2") + " => " + of("Matmul", "x1", of("Matmul", "w1", "w2")));
    return made;
}
const Rule& firstOfConcat() {
    static const Rule made = rule(of("Split_0", of("Concat_0", "x1", "x2")) + " => x1");
    return made;
}
const Rule& reluOfConcat() {
    static const Rule made = rule(of("Relu", of("Concat_0", "x1", "x2")) + " => " + of("Concat_0", of("Relu", "x1"), of("Relu", "x2")));
    return made;
}

KnownRewrites known(const std::vector<const Rule*>& rules) {
    KnownRewrites made;
    for (const Rule* each : rules)
        made.add(*each);
    return made;
}

} // namespace

class ConsequenceTest : public QObject {
    Q_OBJECT

private slots:
    void whatCanBeUndoneIsKnown() {
        const KnownRewrites made = known({&associative(), &firstOfConcat()});
        QCOMPARE(made.all.size(), std::size_t(3)); // nothing is written for a variable alone
        QCOMPARE(made.reversible.size(), std::size_t(2));
    }

    // From both sides to the middle: half the rounds of a way from one of them.
    void longWaysAreFoundFromBothSides() {
        const std::string left = of("Matmul", of("Matmul", of("Matmul", "x1", "w1"), "w2"), "w3");
        const std::string right = of("Matmul", "x1", of("Matmul", "w1", of("Matmul", "w2", "w3")));
        const Rule four = rule(left + " => " + right);
        QVERIFY(!isDerived(four, known({&associative()}).all, {1, 1000}));
        QVERIFY(isConsequence(four, known({&associative()}), {1, 1000}));
        QVERIFY(!isConsequence(four, known({&reluOfConcat()}), {3, 2000}));
    }

    // Nobody computes two things to throw one away; that the direction back follows is enough.
    void wasteIsNoLoss() {
        const Rule wasteful = rule(of("Split_0", of("Relu", of("Concat_0", "x1", of("Matmul", "x1", "w1")))) + " | " + of("Matmul", "x1", "w1") + " => " + of("Relu", "x1") +
                                   " | " + of("Matmul", "x1", "w1"));
        const Rule single = rule(of("Split_0", of("Relu", of("Concat_0", "x1", "x1"))) + " => " + of("Relu", "x1"));
        const KnownRewrites rules = known({&reluOfConcat(), &firstOfConcat()});
        for (const Rule* each : {&wasteful, &single}) {
            QVERIFY(!isDerived(*each, rules.all));
            QVERIFY(isConsequence(*each, rules, {2, 1000}));
            QVERIFY(!isConsequence(*each, known({&reluOfConcat()}), {2, 1000}));
        }
    }

    // Both directions waste the same, so both must be led to.
    void whatIsWastedOnBothSidesCounts() {
        const std::string kept = of("Split_0", of("EWAdd", of("Concat_0", "x1", "x2"), of("Concat_0", "x3", "x1")));
        const Rule sum = rule(kept + " => " + of("Split_0", of("Concat_0", of("EWAdd", "x1", "x3"), "x1")));
        QVERIFY(!isConsequence(sum, known({&firstOfConcat()}), {2, 1000}));
    }
};

QTEST_GUILESS_MAIN(ConsequenceTest)
#include "tst_consequence.moc"
