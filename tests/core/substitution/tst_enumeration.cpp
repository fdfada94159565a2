// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <map>
#include <set>

#include "core/substitution/enumeration.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::substitution;

namespace {

EnumerationOptions optionsOf(int operators, int threads = 1) {
    EnumerationOptions options;
    options.operators = operators;
    options.threads = threads;
    return options;
}

const TermEnumeration& twoOperators() {
    static const TermEnumeration all = take(TermEnumeration::run(optionsOf(2, 2)));
    return all;
}

std::map<std::string, TermRecord> byText(const TermEnumeration& all) {
    std::map<std::string, TermRecord> found;
    for (TermId id = 0; id < all.terms().size(); ++id)
        found[all.text(id)] = all.terms()[id];
    return found;
}

} // namespace

class EnumerationTest : public QObject {
    Q_OBJECT

private slots:
    void eachTermIsListedOnce() {
        const TermEnumeration& all = twoOperators();
        QCOMPARE(byText(all).size(), all.terms().size());
        QCOMPARE(all.firstOfSize(1), all.inputs().size());
        for (int size = 0; size <= 2; ++size)
            for (std::size_t id = all.firstOfSize(size); id < all.firstOfSize(size + 1); ++id)
                QCOMPARE(int(all.terms()[id].size), size);
    }

    // One operator at a time, against the shapes of all pairs of inputs.
    void noTermOfOneOperatorIsMissing() {
        const TermEnumeration& all = twoOperators();
        std::set<std::string> expected;
        for (const TermInput& a : all.inputs())
            for (const TermInput& b : all.inputs()) {
                const auto add = [&](const char* name, const Term& term) {
                    if (shapeOf(term, a.shape, b.shape).rank > 0)
                        expected.insert(std::string(name) + "(" + a.name + ", " + b.name + ")");
                };
                add("matmul", {TermOp::matmul});
                if (a.role == TensorRole::data && b.role == TensorRole::weights) {
                    add("conv", {TermOp::conv});
                    add("conv_relu", {TermOp::convRelu});
                }
                add("scale", {TermOp::scale});
                add("concat0", {TermOp::concat, 0});
                add("concat1", {TermOp::concat, 1});
            }
        const auto listed = byText(all);
        for (const std::string& text : expected)
            QVERIFY2(listed.contains(text), text.c_str());
        QVERIFY(listed.contains("add(x1, x2)") && !listed.contains("add(x2, x1)")); // the same
        QVERIFY(listed.contains("conv(i1, d33_1)")); // four groups
        QVERIFY(!listed.contains("conv(k33_1, k33_2)") && !listed.contains("conv(i1, i2)") && !listed.contains("max_pool(k33_1)"));
        QVERIFY(listed.contains("matmul(matmul(x1, w1), w2)") && listed.contains("add(relu(x1), relu(x1))"));
    }

    void equationsHaveEqualFingerprints_data() {
        QTest::addColumn<QString>("left");
        QTest::addColumn<QString>("right");
        QTest::addColumn<bool>("equal");
        const auto row = [](const char* left, const char* right, bool equal) { QTest::newRow(left) << left << right << equal; };
        row("matmul(matmul(x1, w1), w2)", "matmul(x1, matmul(w1, w2))", true);
        row("matmul(x1, product_identity)", "x1", true);
        row("transpose(transpose(x1))", "x1", true);
        row("add(x1, add(x2, x3))", "add(x2, add(x1, x3))", true);
        row("scale(scale(x1, s1), s2)", "scale(scale(x1, s2), s1)", true);
        row("scale(scale(x1, s1), s1)", "x1", false);
        row("average_pool(i1)", "conv(i1, pool_weights)", true);
        row("conv(i1, conv_identity33)", "i1", true);
        row("conv(i1, conv_identity13)", "conv(i1, conv_identity31)", true);
        row("conv(i1, enlarge(k13_1))", "conv(i1, k13_1)", true);
        row("relu(conv(i1, k33_1))", "conv_relu(i1, k33_1)", true);
        row("split0a(concat0(x1, x2))", "x1", true);
        row("split1b(concat1(x1, x2))", "x2", true);
        row("matmul(x1, w1)", "matmul(x1, w2)", false);
        row("relu(relu(x1))", "relu(x1)", false); // true, but not of a polynomial
        row("mul(i1, ones)", "i1", true);
    }
    void equationsHaveEqualFingerprints() {
        QFETCH(QString, left);
        QFETCH(QString, right);
        QFETCH(bool, equal);
        const auto terms = byText(twoOperators());
        QVERIFY2(terms.contains(left.toStdString()) && terms.contains(right.toStdString()), "not enumerated");
        QCOMPARE(terms.at(left.toStdString()).fingerprint == terms.at(right.toStdString()).fingerprint, equal);
    }

    void theListDoesNotDependOnThreads() {
        const TermEnumeration one = take(TermEnumeration::run(optionsOf(2, 1)));
        QCOMPARE(one.terms().size(), twoOperators().terms().size());
        for (std::size_t id = 0; id < one.terms().size(); ++id) {
            QVERIFY(one.terms()[id].term == twoOperators().terms()[id].term);
            QCOMPARE(one.terms()[id].fingerprint, twoOperators().terms()[id].fingerprint);
        }
    }

    void otherSeedsFindTheSameEquations() {
        EnumerationOptions options = optionsOf(1);
        options.seed = 99;
        const auto other = byText(take(TermEnumeration::run(options)));
        std::map<std::uint64_t, std::set<std::string>> classes;
        std::set<std::set<std::string>> here, there;
        for (const auto& [text, record] : other)
            classes[record.fingerprint].insert(text);
        for (const auto& [fingerprint, texts] : classes)
            there.insert(texts);
        classes.clear();
        const TermEnumeration own = take(TermEnumeration::run(optionsOf(1)));
        for (const auto& [text, record] : byText(own))
            classes[record.fingerprint].insert(text);
        for (const auto& [fingerprint, texts] : classes)
            here.insert(texts);
        QVERIFY(here == there);
    }

    void stops() {
        StopSource source;
        source.requestStop();
        const auto stopped = TermEnumeration::run(optionsOf(3), source.token());
        QVERIFY(!stopped.ok() && stopped.error().isCancelled());
    }

    void saysHowFarItIs() {
        std::vector<TermEnumeration::Progress> seen;
        const auto all = take(TermEnumeration::run(optionsOf(2), {}, [&](const auto& progress) { seen.push_back(progress); }));
        QCOMPARE(seen.size(), std::size_t(2));
        QCOMPARE(seen.back().terms, all.terms().size());
        QVERIFY(seen.back().bytes > seen.front().bytes);
    }
};

QTEST_GUILESS_MAIN(EnumerationTest)
#include "tst_enumeration.moc"
