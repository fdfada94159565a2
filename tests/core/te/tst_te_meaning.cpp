// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "tests/core/te/te_case.h"

using namespace tunesmith;

// What names mean and which types terms have.
class TestTeMeaning : public QObject {
    Q_OBJECT
private slots:
    void names_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("expected"); // nothing: the text is good
        const auto row = [](const char* name, const char* text, const char* expected) { QTest::newRow(name) << text << expected; };
        row("good", "def f(float32[N=4] X) -> Y { Y[i] = X[i] }", "");
        row("no inputs", "def f() -> Y { Y[i] = float32(i) where i in 0:4 }", "");
        row("scalars", "def f(float32 a, float32 b) -> Y { Y = a + b[] }", "");
        row("several outputs", "def f(float32[N=4] X) -> (Z, Y) { Y[i] = X[i]; Z[i] = Y[i] * 2 }", "");
        row("the same input twice", "def f(float32[N=4] X, float32[N] X) -> Y { Y[i] = X[i] }", "f.te:1:34: there is a tensor 'X' already");
        row("assigned twice", "def f(float32[N=4] X) -> Y { Y[i] = X[i]; Y[i] = X[i] }", "f.te:1:43: there is a tensor 'Y' already; each is assigned to once");
        row("an input assigned to", "def f(float32[N=4] X) -> X { X[i] = X[i] }", "there is a tensor 'X' already");
        row("a size called as a tensor", "def f(float32[X=4] X) -> Y { Y[i] = X[i] }", "'X' is a size already");
        row("two defaults", "def f(float32[N=4] X, float32[N=5] Z) -> Y { Y[i] = X[i] }", "size 'N' is 4 and 5; give one number");
        row("a word of the language", "def f(float32[N=4] max) -> Y { Y[i] = 1.0 where i in 0:2 }", "'max' is a word of the language");
        row("unknown tensor", "def f(float32[N=4] X) -> Y { Y[i] = Z[i] }", "f.te:1:37: there is no tensor 'Z' up to here");
        row("read before it is made", "def f(float32[N=4] X) -> Y { Y[i] = Z[i]; Z[i] = X[i] }", "there is no tensor 'Z' up to here");
        row("recursion", "def f(float32[N=4] X) -> Y { Y[i] = Y[i] + X[i] }", "'Y' is read where it is assigned to");
        row("recursion of a scalar", "def f(float32[N=4] X) -> Y { Y +=! Y + X[i] }", "'Y' is read where it is assigned to");
        row("elements of a size", "def f(float32[N=4] X) -> Y { Y[i] = N[i] }", "'N' is no tensor and has no elements");
        row("elements of an index", "def f(float32[N=4] X) -> Y { Y[i] = i[i] }", "'i' is no tensor and has no elements");
        row("too few indices", "def f(float32[N=4, N] X) -> Y { Y[i] = X[i] }", "'X' has 2 dimensions and is read with 1 index");
        row("too many indices", "def f(float32[N=4] X) -> Y { Y[i] = X[i, i] }", "'X' has 1 dimension and is read with 2 indices");
        row("no indices", "def f(float32[N=4] X) -> Y { Y[i] = X }", "'X' has 1 dimension and is read without an index");
        row("unknown variable", "def f(float32[N=4] X) -> Y { Y[i] = X[k] }", "f.te:1:39: 'k' is neither a tensor nor a size nor an index of 'Y'; to reduce over it, write +=!");
        row("an axis twice", "def f(float32[N=4, N] X) -> Y { Y[i, i] = X[i, i] }", "index variable 'i' stands twice on the left side");
        row("an axis called as a tensor", "def f(float32[N=4] X) -> Y { Y[X] = 1.0 where X in 0:2 }", "'X' names something else already");
        row("an axis called as a size", "def f(float32[N=4] X) -> Y { Y[N] = X[N] }", "'N' names something else already");
        row("nothing to reduce", "def f(float32[N=4] X) -> Y { Y[i] +=! X[i] }", "nothing is reduced here");
        row("a guard without a reduction", "def f(float32[N=4] X) -> Y { Y[i] = X[i] where i < 2 }", "only a reduction can leave elements out");
        row("a range of nobody", "def f(float32[N=4] X) -> Y { Y[i] = X[i] where k in 0:2 }", "'k' is no index variable of this statement");
        row("a range stated twice", "def f(float32[N=4] X) -> Y { Y[i] = X[i] where i in 0:2, i in 0:3 }", "the range of 'i' is stated twice");
        row("a range of a tensor", "def f(int64 n, float32[N=4] X) -> Y { Y[i] = X[i] where i in 0:n }", "'n' cannot stand in a range");
        row("no output", "def f(float32[N=4] X) -> Z { Y[i] = X[i] }", "no statement assigns to the output 'Z'");
        row("an input as an output", "def f(float32[N=4] X) -> X { Y[i] = X[i] }", "no statement assigns to the output 'X'");
        row("an output twice", "def f(float32[N=4] X) -> Y, Y { Y[i] = X[i] }", "'Y' is named twice among the outputs");
        row("computed for nobody", "def f(float32[N=4] X) -> Y { Z[i] = X[i]; Y[i] = X[i] }", "'Z' is computed and not used");
        row("too many variables", "def f(float32[N=4] X) -> Y { Y +=! X[a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q+r+s+t+u+v+w+x+y+z+aa+bb+cc+dd+ee+ff+gg] }",
            "a statement has at most 32 index variables");
    }
    void names() { check(); }

    void types_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* name, const char* text, const char* expected) { QTest::newRow(name) << text << expected; };
        row("numbers take a type", "def f(float64[N=4] X, int8[N] Z) -> Y { Y[i] = X[i] * 2 + 0.5 + float64(Z[i] + 1) }", "");
        row("sizes take a type", "def f(float32[N=4] X) -> Y { Y[i] = X[i] / N }", "");
        row("half floats", "def f(float16[N=4] X) -> Y { Y[i] = float16(X[i] * 2.0) }", "");
        row("bfloat", "def f(bfloat16[N=4] X) -> Y { Y[i] = X[i] * 2.0 }", "");
        row("truth values", "def f(bool[N=4] B, float32[N] X) -> Y { Y[i] = B[i] != (X[i] > 0) }", "");
        row("two types", "def f(float32[N=4] X, float64[N] Z) -> Y { Y[i] = X[i] + Z[i] }", "float32 and float64 do not mix; cast one, as in float32(...)");
        row("an index as a value", "def f(float32[N=4] X) -> Y { Y[i] = X[i] + i }", "float32 and int64 do not mix");
        row("a fraction and an integer", "def f(int32[N=4] X) -> Y { Y[i] = X[i] + 0.5 }", "a fraction and int32 do not mix");
        row("a function of integers", "def f(int32[N=4] X) -> Y { Y[i] = exp(X[i]) }", "'exp' is for floats, and this is int32");
        row("unknown function", "def f(float32[N=4] X) -> Y { Y[i] = relu(X[i]) }", "there is no function 'relu'");
        row("two few arguments", "def f(float32[N=4] X) -> Y { Y[i] = max(X[i]) }", "'max' takes 2 values and is given 1");
        row("too many arguments", "def f(float32[N=4] X) -> Y { Y[i] = exp(X[i], 1.0) }", "'exp' takes 1 value and is given 2");
        row("cast of nothing", "def f(float32[N=4] X) -> Y { Y[i] = float32() * X[i] }", "'float32' takes 1 value and is given 0");
        row("half inside", "def f(float32[N=4] X) -> Y { Y[i] = float16(X[i]) * 2 }", "float16 is only for storing");
        row("half sum", "def f(float32[N=4] X) -> Y { Y +=! float16(X[i]) }", "float16 is only for storing");
        row("a number as a condition", "def f(float32[N=4] X) -> Y { Y[i] = X[i] ? 1.0 : 2.0 }", "the condition of a choice must be a truth value");
        row("a number as a guard", "def f(float32[N=4] X) -> Y { Y +=! X[i] where i }", "a guard must be a truth value");
        row("sum of truth values", "def f(float32[N=4] X) -> Y { Y +=! X[i] > 0 }", "truth values cannot be reduced");
        row("arithmetic of truth values", "def f(bool[N=4] X) -> Y { Y[i] = X[i] + X[i] }", "this is a truth value and not a number");
        row("not a number", "def f(float32[N=4] X) -> Y { Y[i] = !X[i] }", "what ! turns around must be a truth value");
        row("truth and a number", "def f(bool[N=4] X) -> Y { Y[i] = X[i] == 1 }", "a truth value and a number do not mix");
        row("branches of two types", "def f(bool[N=4] X) -> Y { Y[i] = X[i] ? int32(1) : int64(1) }", "int32 and int64 do not mix");
        row("float as an index", "def f(float32[N=4] X) -> Y { Y[i] = X[int64(X[i]) + 0.5] }", "a fraction and int64 do not mix");
        row("fraction as an index", "def f(float32[N=4] X) -> Y { Y[i] = X[0.5] where i in 0:2 }", "an index of 'X' must be an int64, and this is a fraction");
        row("int32 as an index", "def f(float32[N=4] X, int32[N] I) -> Y { Y[i] = X[I[i]] }", "an index of 'X' must be an int64, and this is int32; write int64(...)");
        row("fraction as a range", "def f(float32[N=4] X) -> Y { Y[i] = X[i] where i in 0:1.5 }", "the end of a range must be an int64");
        row("a number too large for its type", "def f(int8[N=4] X) -> Y { Y[i] = X[i] + 300 }", "300 does not fit into int8");
        row("a size too large for its type", "def f(uint8[N=400] X) -> Y { Y[i] = X[i] + N }", "400 does not fit into uint8");
    }
    void types() { check(); }

private:
    static void check() {
        QFETCH(QString, text);
        QFETCH(QString, expected);
        const QString problem = QString::fromStdString(problemOf(text.toStdString()));
        QVERIFY2(expected.isEmpty() ? problem.isEmpty() : problem.contains(expected), qPrintable(problem));
        QVERIFY(!problem.contains('\n'));
    }
};

QTEST_APPLESS_MAIN(TestTeMeaning)
#include "tst_te_meaning.moc"
