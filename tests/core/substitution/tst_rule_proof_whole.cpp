// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QTest>
#include <set>

#include "core/substitution/candidates.h"
#include "core/substitution/derivation.h"
#include "core/substitution/rule_proof.h"
#include "core/substitution/rule_text.h"
#include "proof_testing.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::substitution;

namespace {

bool hasConstants(const Rule& rule) {
    return std::ranges::any_of(rule.nodes, [](const Term& term) { return term.op != TermOp::input && traits(term.op).inputs == 0; });
}

} // namespace

// All rules that are generated.
class RuleProofWholeTest : public QObject {
    Q_OBJECT

    std::vector<Rule> rules_;

private slots:
    void initTestCase() {
        EnumerationOptions options;
        options.threads = 2;
        rules_ = *withoutDerived(take(findCandidates(take(TermEnumeration::run(options)))), 2);
    }

    // Those that are not are of constants that look like data, and of means and largest elements of constants.
    void mostAreProved() {
        Z3Prover z3;
        if (const auto answer = z3.check("(check-sat)\n"); !answer.ok())
            QSKIP(answer.error().message.c_str());
        int proved = 0, guarded = 0;
        QElapsedTimer timer;
        timer.start();
        for (const Rule& rule : rules_) {
            const RuleProof proof = take(proveRule(rule, z3));
            proved += proof.isProved;
            guarded += !proof.conditions.empty();
            if (!proof.isProved)
                qInfo("%s: %s", proof.whyNot.c_str(), ruleText(rule).c_str());
            QVERIFY2(proof.isProved || hasConstants(rule), ruleText(rule).c_str());
        }
        const double seconds = static_cast<double>(timer.elapsed()) / 1000;
        qInfo("%d of %zu rules are proved, %d of those under conditions, in %.1f s", proved, rules_.size(), guarded, seconds);
        QVERIFY(proved >= 350);
        QVERIFY(timer.elapsed() < 180'000);
    }

    // What is proved holds for other shapes of the variables.
    void proofsAreTried() {
        Rng rng(3);
        std::size_t tried = 0, rules = 0;
        for (const Rule& rule : rules_) {
            const ProofSearch search = searchProof(rule);
            std::size_t ofThis = 0;
            for (int i = 0; search.isFound && i < 2000 && ofThis < 60; ++i)
                if (const auto other = reshaped(rule, search.conditions, rng)) {
                    ++ofThis;
                    QVERIFY2(holdsReally(*other), ruleText(*other).c_str());
                }
            tried += ofThis;
            rules += ofThis > 0;
        }
        qInfo("%zu choices of shapes for %zu rules", tried, rules);
        QVERIFY(rules > 250);
    }
};

QTEST_GUILESS_MAIN(RuleProofWholeTest)
#include "tst_rule_proof_whole.moc"
