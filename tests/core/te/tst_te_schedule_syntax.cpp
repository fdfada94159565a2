// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/te/comprehension.h"
#include "core/te/graph.h"
#include "core/te/printer.h"
#include "tests/core/te/te_case.h"

using namespace tunesmith;

namespace {

std::string product(const std::string& schedule) {
    return "def f(float32[M=12, K=8] A, float32[K, N=32] B) -> C { C[i, j] +=! A[i, k] * B[k, j]\n" + schedule + " }";
}

} // namespace

// Schedules beside statements: what is read, printed and refused, and where.
class TestTeScheduleSyntax : public QObject {
    Q_OBJECT
private slots:
    void printed_data() {
        QTest::addColumn<QString>("schedule");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* schedule, const char* expected) { QTest::newRow(schedule) << schedule << expected; };
        row("schedule C {}", "schedule C { }");
        row("schedule C only { parallel i;; }", "schedule C only { parallel i; }");
        row("schedule C { knob T = 1 | 2 | 4 io, ii = split(i, T) }", "schedule C { knob T = 1 | 2 | 4; io, ii = split(i, T); }");
        row("schedule C { a, b, c = split(j, 2, 4) ij = fuse(i, a) }", "schedule C { a, b, c = split(j, 2, 4); ij = fuse(i, a); }");
        row("schedule C { knob U = on | off  unroll k if U  unroll j if !U && M > 2 }", "schedule C { knob U = on | off; unroll k if U; unroll j if !U && M > 2; }");
        row("schedule C { knob T = divisors(M) | powers(1, 64) | N / 2  require (T + 1) * 2 <= 512  require M % 2 == 0  o, p = split(i, T) }",
            "schedule C { knob T = divisors(M) | powers(1, 64) | N / 2; require (T + 1) * 2 <= 512; require M % 2 == 0; o, p = split(i, T); }");
        row("schedule C { order k, i, j if M > 4 order i, k, j vectorize j accumulate at i }", "schedule C { order k, i, j if M > 4; order i, k, j; vectorize j; accumulate at i; }");
        row("schedule C { unroll i, k  knob T = 2  require T > 0  x, y = split(j, T) }", "schedule C { knob T = 2; require T > 0; x, y = split(j, T); unroll i, k; }");
    }
    void printed() {
        QFETCH(QString, schedule);
        QFETCH(QString, expected);
        const te::Definition definition = take(te::readDefinition(product(schedule.toStdString()), "f.te"));
        QCOMPARE(QString::fromStdString(te::toText(*definition.statements[0].schedule)), expected);
        const std::string printed = te::toText(definition);
        QCOMPARE(te::toText(take(te::readDefinition(printed, "f.te"))), printed);
    }

    // The word means something only where a name follows it.
    void tensorsCalledSchedule() {
        QCOMPARE(problemOf("def f(float32[N=4] X) -> schedule { schedule[i] = X[i] }"), std::string());
        QCOMPARE(problemOf("def f(float32[N=4] X) -> schedule { schedule max=! X[i] }"), std::string());
        QCOMPARE(problemOf("def f(float32[N=4] order) -> unroll { unroll[split] = order[split]  schedule unroll { knob, fuse = split(split, 2) } }"),
                 std::string("f.te:1:91: the name of a knob is missing; here stands ','"));
        QCOMPARE(problemOf("def f(float32[N=4] order) -> unroll { unroll[split] = order[split]  schedule unroll { a, b = split(split, 2) order a, b } }"), std::string());
    }

    // Equal statements with different schedules are different nodes; knobs and loops keep their names.
    void nodesCarryTheirSchedules() {
        const te::Definition definition = take(te::readDefinition(
            "def f(float32[M=4, N=8] X, float32[L=3] Z) -> (Y, V, W) {\n Y[i, j] = X[i, j] * 2\n schedule Y { knob Y_ = 1 | L | divisors(N)  N0, jj = split(j, Y_) }\n"
            " V[i, j] = X[i, j] * 2\n W[i, j] = X[i, j] * 2\n schedule W only { vectorize j } }", "f.te"));
        const Graph graph = take(te::makeGraph(definition));
        const auto text = [&](const char* node) { return QString::fromStdString(graph.node(graph.findNode(node)).stringAttr(te::kTextAttribute)); };
        QCOMPARE(text("Y"), QString("def f(float32[N0_, N1] A0, float32[N2] A1) -> Y { Y[i, j] = A0[i, j] * 2; "
                                    "schedule Y { knob Y_ = 1 | N2 | divisors(N1); N0, jj = split(j, Y_); } }"));
        QCOMPARE(text("V"), QString("def f(float32[N0, N1] A0) -> Y { Y[i, j] = A0[i, j] * 2; }"));
        QCOMPARE(text("W"), QString("def f(float32[N0, N1] A0) -> Y { Y[i, j] = A0[i, j] * 2; schedule Y only { vectorize j; } }"));
        QCOMPARE(graph.node(graph.findNode("Y")).op, std::string(te::kComprehension)); // begins a kernel of its own
        QCOMPARE(graph.node(graph.findNode("V")).op, std::string(te::kElementwise));
        for (const char* node : {"Y", "V", "W"})
            QCOMPARE(QString::fromStdString(take(te::Comprehension::fromText(text(node).toStdString())).text()), text(node));
    }

    void errors_data() {
        QTest::addColumn<QString>("schedule"); // begins in line 2
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* schedule, const char* expected) { QTest::newRow(schedule) << schedule << expected; };
        row("schedule D {}", "f.te:2:10: no statement up to here assigns to 'D'; a schedule follows the statement that it is for");
        row("schedule A {}", "f.te:2:10: no statement up to here assigns to 'A'; a schedule follows the statement that it is for");
        row("schedule C {} schedule C {}", "f.te:2:24: there is a schedule of 'C' already; write one with a knob and conditions, as in unroll k if U");
        row("schedule C", "f.te:2:12: '{' is missing after schedule C; here stands '}'");
        row("schedule C {", "f.te:2:15: a statement, as in Y[i] = X[i], is missing; here stands the end of the file");
        row("schedule C { 5 }", "f.te:2:14: an item of a schedule (knob, require, outer, inner = split(loop, factor), order, unroll, vectorize, parallel, accumulate at) is missing; here stands '5'");
        row("schedule C { tile i }", "f.te:2:19: 'tile' begins no item of a schedule: write knob, require, order, unroll, vectorize, parallel, accumulate at, or loops = split(...); here stands 'i'");
        row("schedule C { a = tile(i) }", "f.te:2:18: loops are made with split(loop, factor) or fuse(outer, inner); here stands 'tile'");
        row("schedule C { knob = 1 }", "f.te:2:19: the name of a knob is missing; here stands '='");
        row("schedule C { knob T }", "f.te:2:21: '=' is missing after the name of a knob; here stands '}'");
        row("schedule C { knob T = }", "f.te:2:23: a value is missing: a number, a name, tensor[index], function(value) or (value); here stands '}'");
        row("schedule C { knob T = 1 | }", "f.te:2:27: a value is missing: a number, a name, tensor[index], function(value) or (value); here stands '}'");
        row("schedule C { knob T = 1 }", "f.te:2:19: nothing depends on the knob 'T'; use it in a split or a condition, or leave it out");
        row("schedule C { knob T = 1 knob T = 2 }", "f.te:2:30: 'T' names something else already; a knob needs a name of its own");
        row("schedule C { knob M = 1 }", "f.te:2:19: 'M' names something else already; a knob needs a name of its own");
        row("schedule C { knob C = 1 }", "f.te:2:19: 'C' names something else already; a knob needs a name of its own");
        row("schedule C { knob k = 1 }", "f.te:2:19: 'k' names something else already; a knob needs a name of its own");
        row("schedule C { knob order = 1 }", "f.te:2:19: 'order' is a word of the language and cannot name a knob");
        row("schedule C { knob T = 1.5 a, b = split(i, T) }", "f.te:2:23: a schedule is made of whole numbers");
        row("schedule C { knob T = 2 knob U = T }", "f.te:2:34: 'T' is a knob, and the values of another one cannot depend on it; write require for what must hold between them");
        row("schedule C { knob T = A[0, 0] }", "f.te:2:23: 'A' cannot be read here: a schedule is known before anything is computed");
        row("schedule C { knob T = i }", "f.te:2:23: 'i' is a loop; only knobs and sizes stand for numbers here");
        row("schedule C { knob T = exp(2) }", "f.te:2:23: in a schedule only min(a, b) and max(a, b) can be called");
        row("schedule C { knob T = min(2) }", "f.te:2:23: in a schedule only min(a, b) and max(a, b) can be called");
        row("schedule C { knob T = divisors(2, 3) }", "f.te:2:23: divisors takes one number, as in divisors(N)");
        row("schedule C { knob T = powers(2) }", "f.te:2:23: powers takes the first and the last number, as in powers(1, 64)");
        row("schedule C { knob T = 1 + powers(1, 2) }", "f.te:2:27: 'powers' lists the values of a knob, as in knob T = powers(1, 64)");
        row("schedule C { a, b = split(i, divisors(M)) }", "f.te:2:30: 'divisors' lists the values of a knob, as in knob T = divisors(N)");
        row("schedule C { unroll i if on }", "f.te:2:26: 'on' is a value of a knob, as in knob U = on | off");
        row("schedule C { require T > 1 }", "f.te:2:22: there is no knob and no size 'T'; write knob T = 1 | 2 | 4");
        row("schedule C { a, b = split(i) }", "f.te:2:28: ',' is missing after the loop that is split; here stands ')'");
        row("schedule C { a = split(i, 2) }", "f.te:2:18: this split makes 2 loops, one more than it has factors, and 1 stand before it");
        row("schedule C { a, b = split(i, 2, 3) }", "f.te:2:21: this split makes 3 loops, one more than it has factors, and 2 stand before it");
        row("schedule C { a, b = split(x, 2) }", "f.te:2:27: there is no loop 'x' here; there are i, j, k");
        row("schedule C { a, b = split(i, 2) c, d = split(i, 2) }", "f.te:2:46: 'i' is no loop any more, it was split into a, b; there are a, b, j, k");
        row("schedule C { a, a = split(i, 2) }", "f.te:2:17: 'a' is named twice");
        row("schedule C { i, b = split(i, 2) }", "f.te:2:14: 'i' names something else already; a loop needs a name of its own");
        row("schedule C { a, N = split(i, 2) }", "f.te:2:17: 'N' names something else already; a loop needs a name of its own");
        row("schedule C { a, at = split(i, 2) }", "f.te:2:17: 'at' is a word of the language and cannot name a loop");
        row("schedule C { a = fuse(i) }", "f.te:2:18: fuse makes one loop of two or more, as in ij = fuse(i, j)");
        row("schedule C { a, b = fuse(i, j) }", "f.te:2:21: fuse makes one loop of two or more, as in ij = fuse(i, j)");
        row("schedule C { a = fuse(i, i) }", "f.te:2:26: 'i' is named twice");
        row("schedule C { a = fuse(i, k) }", "f.te:2:26: 'i' and 'k' cannot be fused: only one of them runs over what is reduced");
        row("schedule C { a = fuse(i, j) order i, j, k }", "f.te:2:35: 'i' is no loop any more, it was fused into a; there are a, k");
        row("schedule C { order i, j }", "f.te:2:14: this order leaves out k; it names all loops: i, j, k");
        row("schedule C { order i, j, k, i }", "f.te:2:29: 'i' is named twice");
        row("schedule C { order i, j, k order k, j, i }", "f.te:2:28: this order is never taken: the one before it has no condition");
        row("schedule C { parallel k }", "f.te:2:23: the iterations of 'k' add up to the same elements and cannot be parallel");
        row("schedule C { accumulate i }", "f.te:2:25: 'at' is missing after accumulate; here stands 'i'");
        row("schedule C { accumulate at k }", "f.te:2:28: 'k' runs over what is reduced; accumulate at a loop outside of it");
        row("schedule C { accumulate at i, j }", "f.te:2:14: accumulate at names one loop, the innermost one outside of what is accumulated");
        row("schedule C { unroll }", "f.te:2:21: a loop is missing; here stands '}'");
        row("schedule C { unroll i if }", "f.te:2:26: a value is missing: a number, a name, tensor[index], function(value) or (value); here stands '}'");
    }
    void errors() {
        QFETCH(QString, schedule);
        QFETCH(QString, expected);
        QCOMPARE(QString::fromStdString(problemOf(product(schedule.toStdString()))), expected);
    }

    // What depends on the sizes: wrong for every choice of the knobs.
    void impossible_data() {
        QTest::addColumn<QString>("schedule");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* schedule, const char* expected) { QTest::newRow(schedule) << schedule << expected; };
        row("schedule C { knob T = 1 | 2  require T > 4  a, b = split(i, T) }", "f.te:2:40: this requirement does not hold (with T = 1; no other choice is allowed either)");
        row("schedule C { require M == 13 }", "f.te:2:24: this requirement does not hold");
        row("schedule C { a, b = split(i, M - 12) }", "f.te:2:32: a loop is split by 1 or more, and this is 0");
        row("schedule C { knob T = 0 | -1 a, b = split(i, T) }", "f.te:2:46: a loop is split by 1 or more, and this is 0 (with T = 0; no other choice is allowed either)");
        row("schedule C { a, b = split(i, 9223372036854775807 + M) }", "f.te:2:50: this number leaves the 64 bits that a number of a schedule has");
        row("schedule C { knob T = 9223372036854775807 * 2 a, b = split(i, T) }", "f.te:2:43: this number leaves the 64 bits that a number of a schedule has");
        row("schedule C { knob T = divisors(M - 12) a, b = split(i, T) }", "f.te:2:34: divisors takes numbers between 1 and 2147483648, and this is 0");
        row("schedule C { knob T = powers(3, 3) a, b = split(i, T) }", "f.te:2:23: there is no power of two from 3 to 3");
        row("schedule C { vectorize i }", "f.te:2:24: only the innermost loop can be vectorized, and 'j' stands within 'i'; order it last");
        row("schedule C { vectorize i, j }", "f.te:2:24: only the innermost loop can be vectorized, and 'j' stands within 'i'; order it last");
        row("schedule C { ij = fuse(i, j) order k, ij vectorize ij }", "f.te:2:52: a vectorized loop has at most 64 iterations, and 'ij' has 384; split it");
        row("schedule C { vectorize k }", "f.te:2:24: lanes that reduce are the inner part of an index variable itself, and 'k' is not; write outer, lanes = split(k, 16) before other splits");
        row("schedule C { parallel j }", "f.te:2:23: only the outermost loop can be parallel, and 'j' stands within 'i'; order it first, or fuse the two");
        row("schedule C { parallel i, j }", "f.te:2:26: only the outermost loop can be parallel, and 'j' stands within 'i'; order it first, or fuse the two");
        row("schedule C { unroll i unroll i }", "f.te:2:30: 'i' is unrolled already; a loop runs in one way");
        row("schedule C { order i, k, j unroll j vectorize j }", "f.te:2:47: 'j' is unrolled already; a loop runs in one way");
        row("schedule C { order k, i, j accumulate at i }", "f.te:2:42: 'i' stands within 'k', which reduces; accumulate at a loop outside of it");
        row("schedule C { accumulate at i accumulate at j }", "f.te:2:44: there are two loops to accumulate at; give all but one a condition that does not hold with it");
        row("schedule C { a, b = split(i, 4) order b, a, j, k accumulate at b }", "f.te:2:64: what is accumulated at 'b' is no block, because of 'b'; order outer parts of loops before inner ones");
    }
    void impossible() {
        QFETCH(QString, schedule);
        QFETCH(QString, expected);
        QCOMPARE(QString::fromStdString(problemOf(product(schedule.toStdString()))), expected);
    }
};

QTEST_APPLESS_MAIN(TestTeScheduleSyntax)
#include "tst_te_schedule_syntax.moc"
