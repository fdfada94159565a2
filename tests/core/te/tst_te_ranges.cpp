// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "tests/core/te/te_case.h"

using namespace tunesmith;

// Which values index variables take, and the proof that no read leaves its tensor.
class TestTeRanges : public QObject {
    Q_OBJECT
private slots:
    void found_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("expected"); // the last stage, without its body
        const auto row = [](const char* name, const char* text, const char* expected) { QTest::newRow(name) << text << expected; };
        row("plain", "def f(float32[M=3, N=4] X) -> Y { Y[i, j] = X[i, j] }", "Y[i<3, j<4]");
        row("transposed", "def f(float32[M=3, N=4] X) -> Y { Y[i, j] = X[j, i] }", "Y[i<4, j<3]");
        row("product", "def f(float32[M=3, K=5] X, float32[K, N=4] W) -> Y { Y[i, j] +=! X[i, k] * W[k, j] }", "Y[i<3, j<4] = sum[k<5]");
        row("the smaller of two", "def f(float32[3] X, float32[5] Z) -> Y { Y[i] = X[i] + Z[i] }", "Y[i<3]");
        row("stated", "def f(float32[N=9] X) -> Y { Y[i] = X[i] where i in 0:N/2 }", "Y[i<4]");
        row("neighbours", "def f(float32[N=9] X) -> Y { Y[i] = X[i] + X[i + 2] }", "Y[i<7]");
        row("only the right neighbour", "def f(float32[N=9] X) -> Y { Y[i] = X[i + 2] }", "Y[i<7]");
        row("stride", "def f(float32[N=9] X) -> Y { Y[i] = X[2 * i] }", "Y[i<5]");
        row("stride and offset", "def f(float32[N=9] X) -> Y { Y[i] = X[2 * i + 1] }", "Y[i<4]");
        row("backwards", "def f(float32[N=9] X) -> Y { Y[i] = X[N - 1 - i] }", "Y[i<9]");
        row("backwards with a stride", "def f(float32[N=9] X) -> Y { Y[i] = X[N - 1 - 3 * i] }", "Y[i<3]");
        row("convolution", "def f(float32[N=9] X, float32[K=3] W) -> Y { Y[i] +=! X[i + k] * W[k] }", "Y[i<7] = sum[k<3]");
        row("convolution with a stride", "def f(float32[N=9] X, float32[K=3] W) -> Y { Y[i] +=! X[2 * i + k] * W[k] }", "Y[i<4] = sum[k<3]");
        row("convolution with padding", "def f(float32[N=9] X, float32[K=3] W) -> Y { Y[i] +=! X[i + k - 1] * W[k] where i in 0:N, 0 <= i + k - 1 < N }", "Y[i<9] = sum[k<3]");
        row("guarded on one side", "def f(float32[N=9] X, float32[K=3] W) -> Y { Y[i] +=! X[i + k - 1] * W[k] where 0 <= i + k - 1 }", "Y[i<8] = sum[k<3]");
        row("guard the other way round", "def f(float32[N=9] X, float32[K=3] W) -> Y { Y[i] +=! X[i - k] * W[k] where i >= k }", "Y[i<9] = sum[k<3]");
        row("guarded by a negation", "def f(float32[N=9] X, float32[K=3] W) -> Y { Y[i] +=! X[i - k] * W[k] where !(i < k) }", "Y[i<9] = sum[k<3]");
        row("choice", "def f(float32[N=4] X) -> Y { Y[i] = i < N ? X[i] : 0.0 where i in 0:9 }", "Y[i<9]");
        row("choice, other branch", "def f(float32[N=4] X) -> Y { Y[i] = i >= N || i < 0 ? 0.0 : X[i] where i in 0:9 }", "Y[i<9]");
        row("choice by equality", "def f(float32[N=4] X) -> Y { Y[i] = i == 2 ? X[i] : 0.0 where i in 0:9 }", "Y[i<9]");
        row("a stronger guard", "def f(float32[N=4] X) -> Y { Y +=! X[k] where k in 0:9, k < N - 1 }", "Y[] = sum[k<9]");
        row("pooling", "def f(float32[H=8] X) -> Y { Y[h] max=! X[2 * h + k] where k in 0:2 }", "Y[h<4] = max[k<2]");
        row("pairs", "def f(float32[N=8] X) -> Y { Y[i, j] = X[2 * i + j] where j in 0:2 }", "Y[i<4, j<2]");
        row("quotient", "def f(float32[N=4] X) -> Y { Y[i] = X[i / 2] where i in 0:8 }", "Y[i<8]");
        row("remainder", "def f(float32[N=4] X) -> Y { Y[i] = X[i % N] where i in 0:100 }", "Y[i<100]");
        row("clamped", "def f(float32[N=4] X, int64[M=7] I) -> Y { Y[i] = X[min(max(I[i], 0), N - 1)] }", "Y[i<7]");
        row("rounds", "def f(float32[A=9] X, float32[B=3] W, float32[C=2] V) -> Y { Y[i] +=! X[i + j + k] * W[j + k] * V[k] }", "Y[i<7] = sum[j<2, k<2]");
        row("a reduction that starts later", "def f(float32[N=9] X) -> Y { Y +=! X[k] where k in 2:5 }", "Y[] = sum[k<3]");
        row("a reduction that must start later", "def f(float32[N=9] X) -> Y { Y +=! X[k - 2] }", "Y[] = sum[k<9]");
        row("scalar", "def f(float32 a) -> Y { Y = a }", "Y[] = ");
    }
    void found() {
        QFETCH(QString, text);
        QFETCH(QString, expected);
        const auto definition = take(te::readDefinition(text.toStdString(), "f.te"));
        const auto program = te::lowerDefinition(definition, te::defaultSizes(definition));
        QVERIFY2(program.ok(), program.ok() ? "" : program.error().message.c_str());
        const QString stage = QString::fromStdString(loops::toText(*program)).section('\n', -2, -2).trimmed();
        QVERIFY2(stage.startsWith(expected), qPrintable(stage));
    }

    void refused_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* name, const char* text, const char* expected) { QTest::newRow(name) << text << expected; };
        row("nobody says", "def f() -> Y { Y[i] = 1.0 }", "f.te:1:18: the range of 'i' does not follow from what is read; state it, as in where i in 0:16");
        row("two unknown ones", "def f(float32[N=9] X) -> Y { Y[i] +=! X[i + k] }", "the range of 'i' does not follow");
        row("behind a quotient", "def f(float32[N=9] X) -> Y { Y[i] = X[i / 2] }", "the range of 'i' does not follow");
        row("guarded on both sides", "def f(float32[N=9] X) -> Y { Y[i] = 0 <= i < N ? X[i] : 0.0 }", "the range of 'i' does not follow");
        row("stated too large", "def f(float32[N=9] X) -> Y { Y[i] = X[i] where i in 0:10 }",
            "f.te:1:39: the index i of 'X' reaches 9, outside of 0:9 (dimension 0); state smaller ranges, or guard the read with i < 9");
        row("stated too large by far", "def f(float32[N=9] X) -> Y { Y[i] = X[i + 1] where i in 0:N }", "the index i + 1 of 'X' reaches 9, outside of 0:9");
        row("below", "def f(float32[N=9] X) -> Y { Y[i] = X[i - 1] where i in 0:N }", "the index i - 1 of 'X' reaches -1, outside of 0:9 (dimension 0); state smaller ranges, or guard the read with 0 <= i - 1");
        row("a constant", "def f(float32[N=9] X) -> Y { Y = X[9] }", "the index 9 of 'X' reaches 9, outside of 0:9");
        row("a negative constant", "def f(float32[N=9] X) -> Y { Y = X[-1] }", "the index -1 of 'X' reaches -1");
        row("starts late", "def f(float32[N=9] X) -> Y { Y[i] = X[i - 1] }", "'i' would start at 1 to keep all reads within their tensors");
        row("stated to start late", "def f(float32[N=9] X) -> Y { Y[i] = X[i] where i in 1:N }", "'i' indexes what is assigned to and starts at 0, not at 1");
        row("empty", "def f(float32[N=9] X) -> Y { Y[i] = X[i] where i in 4:4 }", "the range 4:4 of 'i' is empty");
        row("backwards", "def f(float32[N=9] X) -> Y { Y[i] = X[i] where i in 4:2 }", "the range 4:2 of 'i' is empty");
        row("no room", "def f(float32[H=2] X, float32[K=3] W) -> Y { Y[i] +=! X[i + k] * W[k] }", "f.te:1:55: no 'i' keeps X[i + k] within dimension 0, which has 2 elements");
        row("half a guard", "def f(float32[N=9] X, float32[K=3] W) -> Y { Y[i] +=! X[i + k - 1] * W[k] where i in 0:N, 0 <= i + k - 1 }", "the index i + k - 1 of 'X' reaches 9, outside of 0:9");
        row("a guard too weak", "def f(float32[N=9] X) -> Y { Y +=! X[k] where k in 0:12, k <= N }", "the index k of 'X' reaches 11");
        row("a guard about something else", "def f(float32[N=9] X, float32[N] Z) -> Y { Y +=! X[k] where k in 0:12, Z[0] < 1 }", "the index k of 'X' reaches 11");
        row("the wrong branch", "def f(float32[N=4] X) -> Y { Y[i] = i < N ? 0.0 : X[i] where i in 0:9 }", "the index i of 'X' reaches 8");
        row("a condition does not guard itself", "def f(float32[N=4] X) -> Y { Y +=! X[0] where k in 0:9, k < N && X[k] > 0 }", "the index k of 'X' reaches 8");
        row("an unknown index", "def f(float32[N=4] X, int64[M=7] I) -> Y { Y[i] = X[I[i]] }", "the index I[i] of 'X' has no known bounds");
        row("clamped on one side", "def f(float32[N=4] X, int64[M=7] I) -> Y { Y[i] = X[max(I[i], 0)] }", "outside of 0:4");
        row("divided by what is unknown", "def f(float32[N=4] X, int64 d) -> Y { Y[i] = X[i / d] where i in 0:2 }", "the index i / d of 'X' has no known bounds");
        row("squares", "def f(float32[N=9] X) -> Y { Y[i] = X[i * i] where i in 0:3 }", "");
        row("a kernel that does not fit", "def f(float32[N=9] X, float32[K=3] W) -> Y { Y[i] +=! X[i + k] * W[k] where i in 0:8 }", "the index i + k of 'X' reaches 9");
        row("larger squares", "def f(float32[N=9] X) -> Y { Y[i] = X[i * i] where i in 0:5 }", "the index i * i of 'X' reaches 16");
        row("a factor too large", "def f(float32[N=9] X) -> Y { Y[i] = X[i * 4294967296 * 4294967296 * 4294967296] }", "the numbers in this whole-number expression are too large");
        row("a constant too large", "def f(float32[N=9] X) -> Y { Y[i] = X[i + 9223372036854775807 + 1] }", "too large");
        row("a product of constants", "def f(float32[N=9] X) -> Y { Y[i] = X[i + 4611686018427387904 * 4] }", "too large");
        row("a range too large", "def f() -> Y { Y[i] = 1.0 where i in 0:9223372036854775807 }", "too large");
        row("a value too large", "def f(int64[N=4] X) -> Y { Y[i] = X[i] * 9223372036854775807 }", "too large");
        row("too many elements", "def f() -> Y { Y[i, j, k] = 1.0 where i in 0:1000000, j in 0:1000000, k in 0:1000000 }", "'Y' would have more than");
        row("too many steps", "def f() -> Y { Y +=! float32(i + j + k) where i in 0:1000000, j in 0:1000000, k in 0:1000000 }", "'Y' would take more than");
        row("an input too large", "def f(float32[N=2000000000, N, N] X) -> Y { Y = X[0, 0, 0] }", "'X' has more than");
    }
    void refused() {
        QFETCH(QString, text);
        QFETCH(QString, expected);
        const QString problem = QString::fromStdString(problemOf(text.toStdString()));
        QVERIFY2(expected.isEmpty() ? problem.isEmpty() : problem.contains(expected), qPrintable(problem));
    }

    void sizesThatAreGiven() {
        const auto definition = take(te::readDefinition("def f(float32[N, M=3] X) -> Y { Y[i] = X[i, 2] }", "f.te"));
        QVERIFY(te::checkSizes(definition, te::defaultSizes(definition)).ok()); // nothing is known of N
        QVERIFY(te::checkSizes(definition, {{"N", 4}, {"M", 3}}).ok());
        QVERIFY(!te::checkSizes(definition, {{"N", 4}, {"M", 2}}).ok());
        QVERIFY(!te::checkSizes(definition, {{"N", 0}, {"M", 3}}).ok());
        const auto program = te::lowerDefinition(definition, te::defaultSizes(definition));
        QVERIFY(!program.ok());
        QCOMPARE(program.error().message, "f.te: size 'N' has no value; give it one, as in N=64");
    }
};

QTEST_APPLESS_MAIN(TestTeRanges)
#include "tst_te_ranges.moc"
