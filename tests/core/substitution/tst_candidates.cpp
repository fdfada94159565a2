// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <set>

#include "core/substitution/candidates.h"
#include "core/substitution/derivation.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::substitution;

namespace {

const std::vector<Rule>& candidates() {
    static const std::vector<Rule> rules = [] {
        EnumerationOptions options;
        options.threads = 2;
        return take(findCandidates(take(TermEnumeration::run(options))));
    }();
    return rules;
}

std::set<std::string> textsOf(const std::vector<Rule>& rules) {
    std::set<std::string> texts;
    for (const Rule& rule : rules)
        texts.insert(toText(rule));
    return texts;
}

std::vector<Rule> prunedOfTwo(int threads) {
    EnumerationOptions options;
    options.operators = 2;
    options.threads = threads;
    return *withoutDerived(take(findCandidates(take(TermEnumeration::run(options)))), threads);
}

} // namespace

class CandidatesTest : public QObject {
    Q_OBJECT

private slots:
    // What substitutions are known for, of up to three operators on each side.
    void knownEquationsAreFound_data() {
        QTest::addColumn<QString>("equation");
        for (const char* equation : {
                 "matmul(matmul(v1, v2), v3) = matmul(v1, matmul(v2, v3))",
                 "matmul(v1, add(v2, v3)) = add(matmul(v1, v2), matmul(v1, v3))",
                 "matmul(v1, v2); matmul(v1, v3) = split1a(matmul(v1, concat1(v2, v3))); split1b(matmul(v1, concat1(v2, v3)))",
                 "matmul(v1, v2); matmul(v3, v2) = split0a(matmul(concat0(v1, v3), v2)); split0b(matmul(concat0(v1, v3), v2))",
                 "add(matmul(v1, v2), matmul(v3, v4)) = matmul(concat1(v1, v3), concat0(v2, v4))",
                 "transpose(matmul(v1, v2)) = matmul(transpose(v2), transpose(v1))",
                 "v1 = transpose(transpose(v1))",
                 "transpose(concat0(v1, v2)) = concat1(transpose(v1), transpose(v2))",
                 "conv(v1, add(v2, v3)) = add(conv(v1, v2), conv(v1, v3))",
                 "conv(add(v1, v2), v3) = add(conv(v1, v3), conv(v2, v3))",
                 "conv(v1, v2); conv(v1, v3) = split1a(conv(v1, concat0(v2, v3))); split1b(conv(v1, concat0(v2, v3)))",
                 "conv(concat0(v1, v2), v3) = concat0(conv(v1, v3), conv(v2, v3))",
                 "add(conv(v1, v2), conv(v3, v4)) = conv(concat1(v1, v3), concat1(v2, v4))",
                 "concat1(conv(v1, v2), conv(v3, v4)) = conv(concat1(v1, v3), concat0(v2, v4))", // as a convolution of two groups
                 "conv_relu(v1, v2) = relu(conv(v1, v2))",
                 "conv(v1, v2) = conv(v1, enlarge(v2))",
                 "average_pool(v1) = conv(v1, pool_weights)",
                 "v1 = conv(v1, conv_identity33)",
                 "v1 = matmul(v1, product_identity)",
                 "v1 = mul(ones, v1)",
                 "v1 = split0a(concat0(v1, v2))",
                 "concat0(concat1(v1, v2), concat1(v3, v4)) = concat1(concat0(v1, v3), concat0(v2, v4))",
                 "relu(concat1(v1, v2)) = concat1(relu(v1), relu(v2))",
                 "max_pool(concat1(v1, v2)) = concat1(max_pool(v1), max_pool(v2))",
                 "add(add(v1, v2), v3) = add(add(v1, v3), v2)",
                 "mul(add(v1, v2), v3) = add(mul(v1, v3), mul(v2, v3))",
                 "conv(scale(v1, v2), v3) = scale(conv(v1, v3), v2)",
             })
            QTest::newRow(equation) << equation;
    }
    void knownEquationsAreFound() {
        QFETCH(QString, equation);
        static const std::set<std::string> texts = textsOf(candidates());
        QVERIFY(texts.contains(equation.toStdString()));
    }

    void allAreTrueAndSayWhatTheirOperandsDoNot() {
        QVERIFY(candidates().size() > 1000);
        QCOMPARE(textsOf(candidates()).size(), candidates().size());
        for (const Rule& rule : candidates()) {
            QVERIFY2(holds(rule, 17) && holdsForReals(rule, 17), toText(rule).c_str());
            QVERIFY2(!followsFromOperands(rule), toText(rule).c_str());
        }
    }

    // They hold for the sum of squares that stands for the largest of a window.
    void whatIsTrueOfTheStandInsOnlyIsNoCandidate() {
        const std::set<std::string> texts = textsOf(candidates());
        QVERIFY(!texts.contains("max_pool(scale(v1, v2)) = scale(max_pool(v1), mul(v2, v2))"));
        CandidateCounts counts;
        EnumerationOptions options;
        take(findCandidates(take(TermEnumeration::run(options)), &counts));
        QVERIFY(counts.untrue > 0);
    }

    void theRulesDoNotDependOnThreads() {
        const auto one = prunedOfTwo(1), two = prunedOfTwo(2);
        QVERIFY(one.size() > 20);
        QVERIFY(std::ranges::equal(one, two, {}, [](const Rule& rule) { return toText(rule); }, [](const Rule& rule) { return toText(rule); }));
    }

    // A rule is dropped when those that stay lead from each side to the other.
    void whatIsLeftOutFollows() {
        EnumerationOptions options;
        options.operators = 2;
        const auto all = take(findCandidates(take(TermEnumeration::run(options))));
        const auto kept = prunedOfTwo(1);
        QVERIFY(kept.size() < all.size());
        std::vector<Rewrite> known;
        for (const Rule& rule : kept)
            std::ranges::copy(rewritesOf(rule), std::back_inserter(known));
        for (const Rule& rule : all)
            QVERIFY2(rewritesOf(rule).empty() || isDerived(rule, known, {6, 3000}), toText(rule).c_str());
    }

    void stops() {
        StopSource source;
        source.requestStop();
        const TermEnumeration all = take(TermEnumeration::run({.operators = 2}));
        const auto found = findCandidates(all, nullptr, source.token());
        QVERIFY(!found.ok() && found.error().isCancelled());
        QVERIFY(!withoutDerived(candidates(), 1, source.token()));
    }
};

QTEST_GUILESS_MAIN(CandidatesTest)
#include "tst_candidates.moc"
