// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QTest>

#include "core/te/limits.h"
#include "core/te/parser.h"
#include "core/te/printer.h"
#include "tests/core/te/te_case.h"

using namespace tunesmith;

namespace {

QString errorOf(const std::string& text) {
    const auto definition = te::parse(text, "f.te");
    return definition.ok() ? QString() : QString::fromStdString(definition.error().message);
}

std::string ofValue(const std::string& value) { return "def f(float32[N] X) -> Y { Y[i] = " + value + " }"; }

} // namespace

class TestTeSyntax : public QObject {
    Q_OBJECT
private slots:
    void printed_data() {
        QTest::addColumn<QString>("value");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* value, const char* expected) { QTest::newRow(value) << value << expected; };
        row("1 + 2 * 3", "1 + 2 * 3");
        row("(1 + 2) * 3", "(1 + 2) * 3");
        row("1 - (2 - 3)", "1 - (2 - 3)");
        row("(1 - 2) - 3", "1 - 2 - 3");
        row("((X[i]))", "X[i]");
        row("-X[i] * 2", "-X[i] * 2");
        row("-(X[i] * 2)", "-(X[i] * 2)");
        row("- -1", "--1");
        row("0 <= i < N", "0 <= i && i < N");
        row("0 < i < 5 < N", "0 < i && i < 5 && 5 < N");
        row("a < b == c", "a < b && b == c");
        row("(a < b) == c", "(a < b) == c");
        row("a || b && c", "a || b && c");
        row("(a || b) && c", "(a || b) && c");
        row("!a && !(b || c)", "!a && !(b || c)");
        row("a ? b : c ? d : e", "a ? b : c ? d : e");
        row("(a ? b : c) ? d : e", "(a ? b : c) ? d : e");
        row("(a ? b : c) + 1", "(a ? b : c) + 1");
        row("max(X[i], 0.0)", "max(X[i], 0.0)");
        row("float32(i)", "float32(i)");
        row("1.50", "1.5");
        row(".5", "0.5");
        row("1e3", "1000.0");
        row("1E-20", "1e-20");
        row("2.", "2.0");
        row("9223372036854775807", "9223372036854775807");
        row("X[i + 1, (j)]", "X[i + 1, j]");
        row("S[]", "S");
        row("x # comment", "x");
    }
    void printed() {
        QFETCH(QString, value);
        QFETCH(QString, expected);
        const std::string text = ofValue(value.toStdString() + "\n");
        const te::Definition definition = take(te::parse(text, "f.te"));
        QCOMPARE(QString::fromStdString(te::toText(definition.statements[0].value)), expected);
        const std::string printed = te::toText(definition);
        QCOMPARE(te::toText(take(te::parse(printed, "f.te"))), printed);
    }

    void wholeDefinitions() {
        const te::Definition definition = take(te::parse(R"(
# scores of attention
def scores(float32[M=128, K=64] Q, float32[N=128, K] Kt, int64 shift) -> (S, P) {
    P[i, j] +=! Q[i, k] * Kt[j, k] where k in 0:K, i < M;
    S[i, j] max=! P[i, k]
    T min=! P[i, j] ;;
    U[] *=! P[i, j] where 0 <= i < M, j in 1:N - 1
}
)", "f.te"));
        QCOMPARE(te::toText(definition), "def scores(float32[M=128, K=64] Q, float32[N=128, K] Kt, int64 shift) -> S, P { "
                                         "P[i, j] +=! Q[i, k] * Kt[j, k] where k in 0:K, i < M; S[i, j] max=! P[i, k]; T min=! P[i, j]; "
                                         "U *=! P[i, j] where j in 1:N - 1, 0 <= i && i < M; }");
        QCOMPARE(definition.inputs.size(), 3);
        QVERIFY(definition.inputs[2].dimensions.empty());
        QCOMPARE(definition.statements[1].output.place.line, 5);
        QCOMPARE(definition.statements[1].output.place.column, 5);
    }

    void errors_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* name, const std::string& text, const char* expected) {
            QTest::newRow(name) << QString::fromStdString(text) << expected;
        };
        row("nothing", "", "f.te:1:1: a file begins with a definition");
        row("only a comment", "# x", "f.te:1:4: a file begins with a definition");
        row("another language", "import numpy", "f.te:1:1: a file begins with a definition");
        row("no name", "def (", "f.te:1:5: the name of the definition is missing; here stands '('");
        row("cut off", "def f(float32[N] X) -> Y { Y[i] = X[i", "f.te:1:38: ',' is missing after an argument of 'X'; here stands the end of the file");
        row("cut off before the value", "def f(float32[N] X) -> Y { Y[i] =", "f.te:1:34: a value is missing");
        row("no type", "def f(X) -> Y {}", "f.te:1:7: 'X' is no element type");
        row("strings", "def f(string[N] X) -> Y {}", "f.te:1:7: 'string' is no element type");
        row("size of zero", "def f(float32[0] X) -> Y {}", "f.te:1:15: a size lies between 1 and");
        row("size too large", "def f(float32[N=99999999999] X) -> Y {}", "f.te:1:17: a size lies between 1 and");
        row("fraction as a size", "def f(float32[1.5] X) -> Y {}", "f.te:1:15: a size is a number or a name");
        row("no outputs", "def f(float32[N] X) { Y[i] = X[i] }", "f.te:1:21: '->' is missing after the inputs; here stands '{'");
        row("plain sum", "def f(float32[N] X) -> Y { Y += X[i] }", "f.te:1:30: a reduction starts from its neutral element: write +=! instead of +=");
        row("no assignment", "def f(float32[N] X) -> Y { Y[i] X[i] }", "f.te:1:33: after 'Y[...]' comes =, +=!");
        row("max without =!", "def f(float32[N] X) -> Y { Y max= X[i] }", "f.te:1:33: '=!' is missing after 'max'; here stands '='");
        row("expression as an axis", "def f(float32[N] X) -> Y { Y[i+1] = X[i] }", "f.te:1:31: ',' is missing after an index variable of what is assigned to");
        row("number as an axis", "def f(float32[N] X) -> Y { Y[0] = X[i] }", "f.te:1:30: an index variable: what is assigned to is indexed by plain names");
        row("range of an expression", "def f(float32[N] X) -> Y { Y[i] = X[i] where i+1 in 0:4 }", "f.te:1:50: a range is stated of one index variable");
        row("range without an end", "def f(float32[N] X) -> Y { Y[i] = X[i] where i in 0 }", "f.te:1:53: ':' is missing after the beginning of a range");
        row("half a choice", ofValue("a ? b"), "':' is missing after what a choice");
        row("two definitions", "def f() -> Y { Y[i] = 1 where i in 0:2 } def g", "f.te:1:42: a file holds one definition");
        row("a string", ofValue("\"x\""), "f.te:1:35: '\"' has no meaning here");
        row("a zero byte", std::string("def f(") + '\0' + ")", "f.te:1:7: the byte 0x00 has no meaning here");
        row("another alphabet", ofValue("\xc3\xa4"), "the byte 0xc3 has no meaning here");
        row("a number with a tail", ofValue("1x"), "a number cannot go on with 'x'");
        row("a number too large", ofValue("9223372036854775808"), "this number is larger than 64 bits hold");
        row("a float too large", ofValue("1e999"), "this number is larger than 64 bits hold");
        row("third line", "def f(float32[N] X)\n  -> Y {\n    Y[i] = @\n}", "f.te:3:12: '@' has no meaning here");
    }
    void errors() {
        QFETCH(QString, text);
        QFETCH(QString, expected);
        const QString error = errorOf(text.toStdString());
        QVERIFY2(error.contains(expected), qPrintable(error));
        QVERIFY(!error.contains('\n'));
    }

    // Whatever is too much is said at once, and nobody's stack overflows.
    void tooMuch_data() {
        QTest::addColumn<std::string>("text");
        QTest::addColumn<QString>("expected");
        const auto repeated = [](const std::string& part, std::size_t count) {
            std::string all;
            for (std::size_t i = 0; i < count; ++i)
                all += part;
            return all;
        };
        QTest::newRow("10 MB of brackets") << ofValue(repeated("(", 10'000'000)) << "a definition has at most";
        QTest::newRow("many brackets") << ofValue(repeated("(", 500'000)) << "nested";
        QTest::newRow("many square brackets") << ofValue(repeated("X[", 100'000)) << "nested";
        QTest::newRow("many signs") << ofValue(repeated("-", 500'000) + "1") << "nested";
        QTest::newRow("many nots") << ofValue(repeated("!", 500'000) + "1") << "nested";
        QTest::newRow("many choices") << ofValue(repeated("a?", 100'000)) << "nested";
        QTest::newRow("choices in a row") << ofValue(repeated("a?b:", 100'000)) << "nested";
        QTest::newRow("a long sum") << ofValue(repeated("1+", 200'000) + "1") << "at most 2000 numbers, names and operators";
        QTest::newRow("a long comparison") << ofValue(repeated("1<", 200'000) + "1") << "at most 2000 numbers, names and operators";
        QTest::newRow("comparisons in comparisons") << ofValue(repeated("(1<", 60) + "1" + repeated("<1)", 60)) << "at most 2000";
        QTest::newRow("many statements") << "def f(float32 X) -> Y {" + repeated("Y = X;", 100'000) + "}" << "at most 500 statements";
        QTest::newRow("many inputs") << "def f(" + repeated("float32 X,", 100'000) << "at most 200 inputs";
        QTest::newRow("many dimensions") << "def f(float32[" + repeated("2,", 100'000) << "at most 8 dimensions";
        QTest::newRow("many axes") << "def f() -> Y { Y[" + repeated("i,", 100'000) << "at most 8 dimensions";
        QTest::newRow("a long name") << "def " + repeated("f", 100'000) << "a name has at most 100 characters";
        QTest::newRow("a long number") << ofValue(repeated("1", 100'000)) << "larger than 64 bits";
        QTest::newRow("zeros") << std::string(1'000'000, '\0') << "0x00";
        QTest::newRow("spaces") << std::string(1'000'000, ' ') << "a file begins with a definition";
    }
    void tooMuch() {
        QFETCH(std::string, text);
        QFETCH(QString, expected);
        QElapsedTimer timer;
        timer.start();
        const QString error = errorOf(text);
        QVERIFY2(error.contains(expected), qPrintable(error.left(500)));
        QVERIFY(error.size() < 1000);
        QVERIFY2(timer.elapsed() < 5000, qPrintable(QString::number(timer.elapsed())));
    }

    // Every beginning of a good text is an error and nothing worse.
    void everyBeginning() {
        const std::string text = "def f(float32[M=2, K=4] Q, bool b) -> (S, P) { P[i] +=! b ? Q[i, k] : exp(-1.5e-3) where k in 0:K, 0 <= k < 4; S max=! P[i]; }";
        QVERIFY(te::parse(text, "f.te").ok());
        for (std::size_t length = 0; length < text.size(); ++length) {
            const QString error = errorOf(text.substr(0, length));
            QVERIFY2(error.startsWith("f.te:1:"), qPrintable(QString::number(length) + error));
        }
    }
};

QTEST_APPLESS_MAIN(TestTeSyntax)
#include "tst_te_syntax.moc"
