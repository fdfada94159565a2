// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/substitution/derivation.h"
#include "core/substitution/taso_text.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::substitution;

namespace {

Rule rule(const std::string& line) { return take(parseTasoRules(line)).at(0); }

// Rules by the operators that they are about, over the inputs of TASO's generator.
const Rule& associative() {
    static const Rule made = rule("Matmul[0]{input0(Matmul[0]{input0(x1)input1(w1)})input1(w2)} => "
                                  "Matmul[0]{input0(x1)input1(Matmul[0]{input0(w1)input1(w2)})}");
    return made;
}
const Rule& splitOfConcat() {
    static const Rule made = rule("Split_0[1]{input0(Concat_0[0]{input0(x1)input1(x2)})} => x2");
    return made;
}
const Rule& twoProducts() {
    static const std::string whole = "Matmul[0]{input0(x1)input1(Concat_1[0]{input0(w1)input1(w2)})}";
    static const Rule made = rule("Matmul[0]{input0(x1)input1(w1)} | Matmul[0]{input0(x1)input1(w2)} => Split_1[0]{input0(" + whole + ")} | Split_1[1]{input0(" + whole + ")}");
    return made;
}

std::vector<Rewrite> rewrites(const std::vector<const Rule*>& rules) {
    std::vector<Rewrite> all;
    for (const Rule* each : rules)
        std::ranges::copy(rewritesOf(*each), std::back_inserter(all));
    return all;
}

struct PlainNode {
    char op = 0;
    std::vector<std::uint32_t> inputs;
    std::vector<std::uint32_t>& operands() { return inputs; }
    void settle() {}
    std::size_t hash() const { return std::hash<char>()(op) + inputs.size(); }
    bool operator==(const PlainNode&) const = default;
};

} // namespace

class DerivationTest : public QObject {
    Q_OBJECT

private slots:
    // f(a) = f(b) and so g(f(a)) = g(f(b)) once a = b is known.
    void mergingIsCongruent() {
        EGraph<PlainNode, int> graph;
        const auto add = [&](char op, std::vector<std::uint32_t> inputs) { return graph.add({op, std::move(inputs)}, [] { return 0; }); };
        const auto a = add('a', {}), b = add('b', {}), fa = add('f', {a}), fb = add('f', {b}), gfa = add('g', {fa, a}), gfb = add('g', {fb, b});
        QCOMPARE(graph.nodes(), std::size_t(6));
        QVERIFY(graph.root(gfa) != graph.root(gfb));
        QVERIFY(graph.merge(a, b) && !graph.merge(b, a));
        graph.rebuild();
        QCOMPARE(graph.root(fa), graph.root(fb));
        QCOMPARE(graph.root(gfa), graph.root(gfb));
        QCOMPARE(graph.nodes(), std::size_t(4)); // a, b, f, g
        QCOMPARE(add('f', {b}), graph.root(fa));
        QVERIFY(graph.find({'g', {fb, a}}) && !graph.find({'g', {a, a}}));
    }

    void longerWaysAreFound() {
        const Rule four = rule("Matmul[0]{input0(Matmul[0]{input0(Matmul[0]{input0(x1)input1(w1)})input1(w2)})input1(w3)} => "
                               "Matmul[0]{input0(x1)input1(Matmul[0]{input0(w1)input1(Matmul[0]{input0(w2)input1(w3)})})}");
        const auto known = rewrites({&associative()});
        QVERIFY(isDerived(four, known, {4, 1000}));
        QVERIFY(isImplied(four, known));
        QVERIFY(!isDerived(four, known, {1, 1000}));
        QVERIFY(!isDerived(four, {}) && !isImplied(four, {}));
    }

    void splitsCutWhereTheirConcatPutTogether() {
        const auto known = rewrites({&splitOfConcat()});
        QVERIFY(isImplied(rule("Relu[0]{input0(Split_0[1]{input0(Concat_0[0]{input0(w1)input1(x1)})})} => Relu[0]{input0(x1)}"), known));
        // put together anew: the split is where the last one was
        QVERIFY(isImplied(rule("Split_0[1]{input0(Concat_0[0]{input0(Concat_0[0]{input0(x1)input1(x2)})input1(x3)})} => x3"), known));
        QVERIFY(!isImplied(rule("Split_0[0]{input0(Concat_0[0]{input0(x1)input1(x2)})} => x1"), known));
    }

    void resultsTogetherAreMatchedTogether() {
        const auto known = rewrites({&twoProducts()});
        QCOMPARE(known.size(), std::size_t(2));
        const std::string whole = "Matmul[0]{input0(x2)input1(Concat_1[0]{input0(w3)input1(w1)})}";
        const Rule renamed = rule("Matmul[0]{input0(x2)input1(w3)} | Matmul[0]{input0(x2)input1(w1)} => Split_1[0]{input0(" + whole + ")} | Split_1[1]{input0(" + whole + ")}");
        QVERIFY(isDerived(renamed, known));
        // one result alone leads to nothing: what the other weights are is open
        const Rule alone = rule("Matmul[0]{input0(x1)input1(w1)} => Split_1[0]{input0(Matmul[0]{input0(x1)input1(Concat_1[0]{input0(w1)input1(w2)})})}");
        QCOMPARE(rewritesOf(alone).size(), std::size_t(1));
    }

    // A merge of convolutions is wrong for depthwise ones: classes with other values are not merged.
    void whatDoesNotHoldForTheShapesAtHandDoesNoHarm() {
        const Rule wrong = rule("Matmul[0]{input0(w1)input1(w2)} => Matmul[0]{input0(w2)input1(w1)}");
        QVERIFY(!holds(wrong, 1) && !holdsForReals(wrong, 1));
        QVERIFY(!isImplied(wrong, rewrites({&wrong})));
        TermGraph graph(wrong.variables, 100);
        const auto left = graph.add(wrong, wrong.left[0]), right = graph.add(wrong, wrong.right[0]);
        graph.apply(rewrites({&wrong}));
        QVERIFY(left && right && !graph.equal(*left, *right));
        QVERIFY(graph.refused() > 0);
    }

    void depthwiseFormsAreLookedAt() {
        const Rule sum = rule("EWAdd[0]{input0(Conv3x3S[0]{input0(i1)input1(w4)})input1(Conv3x3S[0]{input0(i1)input1(w5)})} => "
                              "Conv3x3S[0]{input0(i1)input1(EWAdd[0]{input0(w4)input1(w5)})}");
        const auto grouped = depthwise(sum);
        QVERIFY(grouped);
        QCOMPARE(QString::fromStdString(toText(grouped->variables[1])), QString("4x1x3x3"));
        const std::string whole = "Conv3x3S[0]{input0(i1)input1(Concat_0[0]{input0(w4)input1(w5)})}";
        QVERIFY(!depthwise(rule("Conv3x3S[0]{input0(i1)input1(w4)} | Conv3x3S[0]{input0(i1)input1(w5)} => Split_1[0]{input0(" + whole + ")} | Split_1[1]{input0(" + whole + ")}")));
    }

    void linesThatAreNoRules_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("problem");
        const auto row = [](const char* name, const char* text, const char* problem) { QTest::newRow(name) << text << problem; };
        row("unknown operator", "# list\nFold[0]{input0(x1)} => x1", "line 2: no operator is called 'Fold'");
        row("unknown input", "Relu[0]{input0(x9)} => x1", "line 1: no input is called 'x9'");
        row("cut off", "Relu[0]{input0(x1)", "line 1: expected '}' where the line ends");
        row("one side", "Relu[0]{input0(x1)}", "line 1: expected '=>' where the line ends");
        row("two results and one", "x1 | x2 => x1", "line 1: 2 results on the left and 1 on the right");
        row("result of what has one", "Relu[1]{input0(x1)} => x1", "line 1: expected the number of a result before ']{input0(x1)} => x1'");
        row("rest", "x1 => x2 x3", "line 1: expected the end of the line before 'x3'");
        row("operands that it does not take", "MatMul[0]{input0(x1)input1(w4)} => x1", "line 1: matmul does not take 2x4 and 4x4x3x3, or its result is too large");
        row("sides of other shapes", "x1 => i1", "line 1: the left side is 2x4, the right side 2x4x5x5");
        row("nothing", "=> x1", "line 1: expected an operator or an input before '=> x1'");
    }
    void linesThatAreNoRules() {
        QFETCH(QString, text);
        QFETCH(QString, problem);
        const auto rules = parseTasoRules(text.toStdString());
        QVERIFY(!rules.ok());
        QCOMPARE(QString::fromStdString(rules.error().message), problem);
    }

    void longLinesAreRefused() {
        std::string same = "x1", chains, inputs;
        for (int i = 0; i < 16; ++i)
            same += " | x1";
        for (const std::string input : {"x1", "x2", "x3"}) { // 93 nodes
            std::string chain = input;
            for (int i = 0; i < 30; ++i)
                chain = "Relu[0]{input0(" + chain + ")}";
            chains += (chains.empty() ? "" : " | ") + chain;
            inputs += (inputs.empty() ? "" : " | ") + input;
        }
        for (const std::string& line : {same + " => " + same, chains + " => " + inputs}) {
            const auto rules = parseTasoRules(line);
            QVERIFY(!rules.ok() && rules.error().message == "line 1: more than 64 operators and inputs, or 16 results");
        }
    }

    void deepLinesAreRefused() {
        std::string line = "x1";
        for (int i = 0; i < 40; ++i)
            line = "Relu[0]{input0(" + line + ")}";
        const auto rules = parseTasoRules(line + " => x1");
        QVERIFY(!rules.ok() && rules.error().message.ends_with("more than 32 operators in each other"));
    }
};

QTEST_GUILESS_MAIN(DerivationTest)
#include "tst_derivation.moc"
