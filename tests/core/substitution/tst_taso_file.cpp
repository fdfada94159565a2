// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QTest>
#include <set>

#include "core/substitution/rule_text.h"
#include "core/substitution/taso_file.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::substitution;

namespace {

std::string varint(std::uint64_t value) {
    std::string bytes;
    for (; value >= 128; value >>= 7)
        bytes += static_cast<char>(value | 128U);
    return bytes + static_cast<char>(value);
}

// Messages as the format has them.
std::string number(int field, std::int64_t value) { return varint(static_cast<unsigned>(field) * 8U) + varint(static_cast<std::uint64_t>(value)); }
std::string message(int field, const std::string& content) { return varint(static_cast<unsigned>(field) * 8U + 2U) + varint(content.size()) + content; }

struct Tensor {
    int op, result = 0;
};
using Parameters = std::vector<std::pair<int, int>>;

std::string operation(int type, const std::vector<Tensor>& inputs, const Parameters& parameters = {}) {
    std::string content = number(1, type);
    for (const Tensor& input : inputs)
        content += message(2, number(1, input.op) + number(2, input.result));
    for (const auto& [key, value] : parameters)
        content += message(3, number(1, key) + number(2, value));
    return content;
}

std::string output(int source, int target, int sourceResult = 0, int targetResult = 0) {
    return message(3, number(1, source) + number(2, target) + number(3, sourceResult) + number(4, targetResult));
}

std::string ruleOf(const std::vector<std::string>& source, const std::vector<std::string>& target, const std::string& outputs) {
    std::string content;
    for (const std::string& each : source)
        content += message(1, each);
    for (const std::string& each : target)
        content += message(2, each);
    return message(1, content + outputs);
}

constexpr int kConv = 3, kRelu = 8, kConcat = 12, kSplit = 13, kAdd = 16, kMatmul = 18;

Parameters kernel(int height, int width, int stride = 1, int activation = 0) {
    return {{4, height}, {5, width}, {6, stride}, {7, stride}, {8, 0}, {9, activation}};
}
Parameters alongAxis(int axis, int rank) { return {{1, 2}, {11, axis}, {10, rank}}; }
std::string sum(int first = -1, int second = -2) { return operation(kAdd, {{first}, {second}}); }
std::string commutes() { return ruleOf({sum()}, {sum(-2, -1)}, output(0, 0)); }
std::string equalsItself(const std::string& operation) { return ruleOf({operation}, {operation}, output(0, 0)); }

QByteArray bytesOf(const std::string& text) { return QByteArray::fromStdString(text); }

} // namespace

class TasoFileTest : public QObject {
    Q_OBJECT

    QByteArray shipped_;

private slots:
    void initTestCase() {
        QFile file(qEnvironmentVariable("TUNESMITH_TEST_DATA", QString(TUNESMITH_SOURCE_DIR) + "/../shared") + "/data/taso/graph_subst.pb");
        if (file.open(QIODevice::ReadOnly))
            shipped_ = file.readAll();
    }

    void theShippedFileHasWhatIsKnownOfIt() {
        if (shipped_.isEmpty())
            QSKIP("TUNESMITH_TEST_DATA names no folder with data/taso/graph_subst.pb");
        const std::vector<Rule> rules = take(parseTasoFile(shipped_.toStdString()));
        QCOMPARE(rules.size(), std::size_t(133));
        QCOMPARE(std::ranges::count_if(rules, [](const Rule& rule) { return rule.left.size() == 2; }), 13);
        std::set<std::string> words, texts;
        for (const Rule& rule : rules) {
            words.insert(toText(rule));
            texts.insert(ruleText(rule));
            QVERIFY2(holds(rule, 1) && holdsForReals(rule, 1), ruleText(rule).c_str());
        }
        QCOMPARE(texts.size(), std::size_t(128)); // 65, 91, 105, 130 and 131 repeat others
        QCOMPARE(words.size(), std::size_t(120)); // what is said of matrices is said of images again
        QCOMPARE(ruleText(rules[99]), ruleText(rules[130]));
        QCOMPARE(ruleText(rules[77]), std::string("matmul(v1, v2); matmul(v1, v3) = split1a(matmul(v1, concat1(v2, v3))); split1b(matmul(v1, concat1(v2, v3))) "
                                                  "where v1: 2x4, v2: 4x4, v3: 4x4"));
        QCOMPARE(ruleText(rules[125]), std::string("concat1(conv(v1, v2), conv(v1, v3)) = conv(v1, concat0(v2, v3)) where v1: 2x4x5x5, v2: 4x4x3x3, v3: 4x4x3x3"));
    }

    void shapesAreWhatOperatorsAskFor_data() {
        QTest::addColumn<QByteArray>("file");
        QTest::addColumn<QString>("text");
        const auto row = [](const char* name, const std::string& file, const char* text) { QTest::newRow(name) << bytesOf(file) << text; };
        row("matrices by default", commutes(), "add(v1, v2) = add(v2, v1) where v1: 2x4, v2: 2x4");
        row("matmul", equalsItself(operation(kMatmul, {{-1}, {-2}}, {{9, 0}})), "matmul(v1, v2) = matmul(v1, v2) where v1: 2x4, v2: 4x4");
        row("kernel", equalsItself(operation(kConv, {{-7}, {-9}}, kernel(1, 3))), "conv(v1, v2) = conv(v1, v2) where v1: 2x4x5x5, v2: 4x4x1x3");
        row("with Relu", ruleOf({operation(kConv, {{-1}, {-2}}, kernel(3, 3, 1, 2))}, {operation(kConv, {{-1}, {-2}}, kernel(3, 3)), operation(kRelu, {{0}})}, output(0, 1)),
            "conv_relu(v1, v2) = relu(conv(v1, v2)) where v1: 2x4x5x5, v2: 4x4x3x3");
        row("rank", equalsItself(operation(kConcat, {{-1}, {-2}}, alongAxis(1, 4))), "concat1(v1, v2) = concat1(v1, v2) where v1: 2x4x5x5, v2: 2x4x5x5");
        row("parts",
            ruleOf({operation(kRelu, {{-1}}), operation(kRelu, {{-2}})},
                   {operation(kConcat, {{-1}, {-2}}, alongAxis(0, 2)), operation(kRelu, {{0}}), operation(kSplit, {{1}}, {{2, 2}, {11, 0}})}, output(0, 2, 0, 0) + output(1, 2, 0, 1)),
            "relu(v1); relu(v2) = split0a(relu(concat0(v1, v2))); split0b(relu(concat0(v1, v2))) where v1: 2x4, v2: 2x4");
        row("a variable is a result", ruleOf({sum()}, {sum()}, output(-1, -1)), "v1 = v1 where v1: 2x4");
        row("fields that are not known", message(1, number(9, 5) + message(8, "?") + commutes().substr(2)), "add(v1, v2) = add(v2, v1) where v1: 2x4, v2: 2x4");
    }
    void shapesAreWhatOperatorsAskFor() {
        QFETCH(QByteArray, file);
        QFETCH(QString, text);
        const auto rules = take(parseTasoFile(file.toStdString()));
        QCOMPARE(rules.size(), std::size_t(1));
        QCOMPARE(QString::fromStdString(ruleText(rules[0])), text);
    }

    void saysWhatIsWrong_data() {
        QTest::addColumn<QByteArray>("file");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const std::string& file, const char* says) { QTest::newRow(name) << bytesOf(file) << says; };
        row("nothing", "", "no rule");
        row("text", "Hello, World", "rule 0: ");
        row("second rule", commutes() + equalsItself(operation(99, {{-1}, {-2}})), "rule 1: source operator 0: an operator of type 99");
        row("no rule", message(5, "x"), "field 5 is no rule");
        row("huge length", varint(10) + varint(~0ULL) + "abc", "ends in the middle");
        row("huge length inside", message(1, varint(10) + varint(1ULL << 40)), "ends in the middle");
        row("endless number", std::string(20, '\xff'), "more than ten bytes");
        row("group", varint(11), "of kind 3");
        row("no type", message(1, message(1, "")), "an operator has no type");
        row("half an operand", equalsItself(number(1, kAdd) + message(2, number(1, -1)) + message(2, "")), "an operand lacks a number");
        row("no operators", ruleOf({}, {sum()}, output(-1, 0)), "0 operators");
        row("many operators", ruleOf(std::vector<std::string>(9, sum()), {sum()}, output(0, 0)), "9 operators");
        row("no outputs", ruleOf({sum()}, {sum()}, ""), "no outputs");
        row("reads itself", equalsItself(sum(0)), "source operator 0: operator 0 is read before it is there");
        row("cycle", ruleOf({sum(1), sum(0)}, {sum()}, output(0, 0)), "operator 1 is read before");
        row("output of no operator", ruleOf({sum()}, {sum()}, output(0, 1)), "operator 1 is read before");
        row("second result of a sum", ruleOf({sum()}, {sum()}, output(0, 0, 1)), "operator 0 has no result 1");
        row("result -1", ruleOf({sum()}, {sum()}, output(0, 0, -1)), "operator 0 has no result -1");
        row("one operand", equalsItself(operation(kAdd, {{-1}})), "1 operands where add has 2");
        row("axis", equalsItself(operation(kConcat, {{-1}, {-2}}, alongAxis(7, 2))), "an axis 7");
        row("three parts", equalsItself(operation(kConcat, {{-1}, {-2}}, {{1, 3}, {11, 0}})), "more or less than two parts");
        row("stride", equalsItself(operation(kConv, {{-1}, {-2}}, kernel(3, 3, 2))), "stride");
        row("tanh", equalsItself(operation(kConv, {{-1}, {-2}}, kernel(3, 3, 1, 3))), "activation 3");
        row("two kernels", ruleOf({operation(kConv, {{-1}, {-2}}, kernel(3, 3))}, {operation(kConv, {{-1}, {-2}}, kernel(1, 1))}, output(0, 0)), "other ranks or kernels");
        row("kernel of no size", equalsItself(operation(kConv, {{-1}, {-2}}, kernel(2, 2))), "no shapes");
        row("split of nothing", equalsItself(operation(kSplit, {{-1}}, {{2, 2}, {11, 0}})), "no shapes");
        row("sides differ", ruleOf({operation(kConcat, {{-1}, {-1}}, alongAxis(0, 2))}, {operation(kConcat, {{-1}, {-1}}, alongAxis(1, 2))}, output(0, 0)), "no shapes");
        row("nine variables", ruleOf({sum(), sum(-3, -4), sum(-5, -6), sum(-7, -8), sum(-9, -1)}, {sum()}, output(0, 0)), "more than 8 variables");
        row("no end of shapes", ruleOf({sum(), sum(-3, -4), sum(-5, -6), sum(-7, -8), operation(kSplit, {{0}}, {{2, 2}, {11, 0}})}, {sum()}, output(0, 0)), "shapes");
    }
    void saysWhatIsWrong() {
        QFETCH(QByteArray, file);
        QFETCH(QString, says);
        const auto rules = parseTasoFile(file.toStdString());
        QVERIFY(!rules.ok());
        QVERIFY2(QString::fromStdString(rules.error().message).contains(says), rules.error().message.c_str());
    }

    void whatIsCutOffIsFoundOut() {
        const std::string first = commutes(), second = equalsItself(operation(kConv, {{-1}, {-2}}, kernel(3, 3)));
        const std::string whole = first + second;
        for (std::size_t size = 0; size < whole.size(); ++size)
            QCOMPARE(parseTasoFile(whole.substr(0, size)).ok(), size == first.size());
        const std::string shipped = shipped_.left(2000).toStdString();
        for (std::size_t size = 0; size < shipped.size(); ++size)
            if (const auto rules = parseTasoFile(shipped.substr(0, size)); !rules.ok())
                QVERIFY2(size == 0 || rules.error().message.starts_with("rule "), rules.error().message.c_str());
    }

    void changedBytesDoNoHarm() {
        const std::string whole = commutes() + equalsItself(operation(kConv, {{-1}, {-2}}, kernel(3, 3))) + shipped_.left(1000).toStdString();
        Rng rng(7);
        for (int i = 0; i < 20'000; ++i) {
            std::string changed = whole;
            for (std::uint64_t j = 0; j <= rng.below(3); ++j)
                changed[rng.below(changed.size())] = static_cast<char>(rng.below(256));
            if (const auto rules = parseTasoFile(changed); rules.ok())
                for (const Rule& rule : *rules)
                    QVERIFY(!ruleText(rule).empty());
        }
    }

    // Eight operators that each read the one before twice.
    void sharedOperatorsStayShort() {
        std::vector<std::string> side{sum()};
        for (int i = 0; i < 7; ++i)
            side.push_back(sum(i, i));
        const auto rules = take(parseTasoFile(ruleOf(side, side, output(7, 7))));
        QVERIFY(ruleText(rules[0]).size() < 10'000);
    }
};

QTEST_GUILESS_MAIN(TasoFileTest)
#include "tst_taso_file.moc"
