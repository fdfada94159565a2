// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QTest>

#include "tests/core/schedule/text_case.h"
#include "tests/core/te/schedule_case.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

struct Row {
    const char* name;
    const char* expectedSpaces; // of the kernels, in order, with the number of configs of the first
    const char* text;
};

const std::vector<Row>& rows() {
    static const std::vector<Row> table{
        {"product", "40 written|matmul",
         "def f(float32[M=23, K=31] A, float32[K, N=53] B) -> C { C[i, j] +=! A[i, k] * B[k, j]"
         " schedule C { knob TI = 1 | 2 | 4 | 6  knob TJ = 16 | 32 | 64  knob U = 1 | 4  require TI * TJ <= 256"
         " io, ii = split(i, TI)  jo, ji = split(j, TJ)  jv, jl = split(ji, 16)  ko, ki = split(k, U)"
         " order io, jo, ko, ki, ii, jv, jl  unroll ki, ii, jv  vectorize jl  parallel io } }"},
        {"product alone with an epilogue", "6 written",
         "def f(float32[M=12, K=20] A, float32[K, N=32] B, float32[N] b) -> C { P[i, j] +=! A[i, k] * B[k, j]"
         " schedule P only { knob TI = divisors(M)  io, ii = split(i, TI)  jo, jv, jl = split(j, 2, 8)  p = fuse(io, jo)  order p, k, ii, jv, jl  unroll ii, jv  vectorize jl  parallel p }"
         " C[i, j] = max(P[i, j] + b[j], 0.0) }"},
        {"without knobs", "1 written",
         "def f(float32[M=9, K=31] A, float32[N=20, K] B) -> C { C[i, j] +=! A[i, k] * B[j, k] schedule C only { ko, kl = split(k, 8)  vectorize kl  parallel i } }"},
        {"convolution with padding", "0 written|generic",
         "def f(float32[N=1, C=3, H=9, W=11] X, float32[O=8, C, KH=3, KW=3] F, float32[O] B) -> Y {"
         " Z[n, o, h, w] +=! X[n, c, h + kh - 1, w + kw - 1] * F[o, c, kh, kw] where h in 0:H, w in 0:W, 0 <= h + kh - 1 < H, 0 <= w + kw - 1 < W"
         " schedule Z { knob TW = 4 | 8  knob TO = 1 | 2 | 3  knob UK = on | off  wo, wi = split(w, TW)  oo, oi = split(o, TO)  p = fuse(n, oo)"
         " order p, h, wo, c, kh, kw, oi, wi  parallel p  unroll oi  vectorize wi  unroll kw if UK }"
         " Y[n, o, h, w] = max(Z[n, o, h, w] + B[o], 0.0) }"},
        {"stencil", "0 written|generic",
         "def f(float32[H=20, W=41] X) -> Y { Y[h, w] = (X[h, w + 1] + X[h + 2, w + 1] + X[h + 1, w] + X[h + 1, w + 2]) / 4 - X[h + 1, w + 1]"
         " schedule Y { knob TH = divisors(H - 2)  knob L = powers(4, 16)  ho, hi = split(h, TH)  wo, wl = split(w, L)  order ho, wo, hi, wl  parallel ho  unroll hi  vectorize wl } }"},
        {"elementwise", "3 written",
         "def f(float32[A=3, B=5, C=70] X) -> (Y) { Y[a, b, c] = exp(X[a, b, c]) * 2"
         " schedule Y only { knob T = 1 | 16 | 1000  all = fuse(a, b, c)  o, i = split(all, T)  parallel o  vectorize i if T <= 16 } }"},
        {"elementwise with a follower", "2 written",
         "def f(float32[M=30, N=50] X, float32[N] b) -> Z { Y[i, j] = X[i, j] * 2 schedule Y only { knob L = 8 | 16  jo, jl = split(j, L)  vectorize jl  parallel i } Z[i, j] = tanh(Y[i, j]) + b[j] }"},
        {"rows", "0 written|generic generic",
         "def f(float32[M=6, K=100] X) -> Y { S[i] +=! X[i, k]"
         " schedule S { knob L = 4 | 16  knob U = 1 | 2  ko, kl = split(k, L)  ka, kb = split(ko, U)  order i, ka, kb, kl  vectorize kl  unroll kb  parallel i } Y[i, j] = X[i, j] / S[i] }"},
        {"a maximum in lanes with its epilogue", "2 written",
         "def f(float32[M=6, K=100] X) -> Y { S[i] max=! X[i, k] schedule S only { knob L = 4 | 16  ko, kl = split(k, L)  io, ii = split(i, 4)  order io, ko, ii, kl  vectorize kl  unroll ii }"
         " Y[i] = exp(S[i]) }"},
        {"a fused loop split around the sum", "3 written",
         "def f(float32[M=13, K=7] A, float32[K, N=37] B) -> C { C[i, j] +=! A[i, k] * B[k, j]"
         " schedule C only { knob T = 1 | 10 | 64  ij = fuse(i, j)  a, b = split(ij, T)  order a, k, b  parallel a  vectorize b } }"},
        {"the sum outermost", "2 written",
         "def f(float32[M=13, K=7] A, float32[K, N=37] B) -> C { C[i, j] +=! A[i, k] * B[k, j] schedule C only { knob V = on | off  order k, i, j  vectorize j if V } }"},
        {"double precision and whole numbers", "1 written generic",
         "def f(float64[M=9, K=20] X, int32[M, K] Z) -> (Y, V) { Y[i] +=! X[i, k] * X[i, k] schedule Y only { ko, kl = split(k, 8)  vectorize kl  parallel i } V[i, k] = Z[i, k] / 3 + 1 }"},
        {"whole numbers", "2 written",
         "def f(int32[M=7, K=20] X, int8[K] D) -> Y { Y[i] *=! X[i, k] + int32(D[k]) schedule Y only { knob L = 4 | 8  ko, kl = split(k, L)  io, ii = split(i, 2)  order io, ko, ii, kl  vectorize kl  parallel io } }"},
        {"half precision", "1 written", "def f(float16[M=7, K=20] X) -> Y { Y[i, k] = float16(X[i, k] * 2.0) schedule Y only { p = fuse(i, k)  o, l = split(p, 8)  vectorize l  parallel o } }"},
        {"a single element", "1 written", "def f(float32 a) -> Y { Y = exp(a) schedule Y only { } }"},
    };
    return table;
}

const char* const kLoops = "def f(float32[M=64, K=64] A, float32[K, N=64] B) -> C { C[i, j] +=! A[i, k] * B[k, j] schedule C ";

QString keyOf(const std::string& schedule) { return QString::fromStdString(workloadsOf(kLoops + schedule + " }", Target()).at(0).key); }

} // namespace

// Schedules that a user wrote: their spaces, and that every config computes what the text says.
class TestWrittenSchedules : public QObject {
    Q_OBJECT
private slots:
    void everyConfigComputesTheText_data() {
        QTest::addColumn<int>("row");
        for (std::size_t i = 0; i < rows().size(); ++i)
            QTest::newRow(rows()[i].name) << static_cast<int>(i);
    }
    void everyConfigComputesTheText() {
        QFETCH(int, row);
        const Row& kase = rows()[static_cast<std::size_t>(row)];
        for (const Isa isa : {Isa::avx2, Isa::avx512}) {
            if (!hostSupports(isa))
                continue;
            Target target;
            target.isa = isa;
            QStringList spaces;
            for (const Workload& workload : workloadsOf(kase.text, target)) {
                const auto space = take(ScheduleSpace::make(workload, target));
                if (spaces.empty() && !QString(kase.expectedSpaces).startsWith("0") && space.space().name() == "written")
                    QCOMPARE(static_cast<int>(*space.space().size()), QString(kase.expectedSpaces).section(' ', 0, 0).toInt());
                spaces << QString::fromStdString(space.space().name());
                QCOMPARE(take(Workload::deserialize(workload.serialize())).key, workload.key);
                const std::string wrong = wrongConfig(workload, space, target, 6);
                QVERIFY2(wrong.empty(), wrong.c_str());
            }
            QCOMPARE(spaces.join(' '), QString(kase.expectedSpaces).section(' ', 1));
        }
    }

    // What the loops of tst_te_schedules do not show: lanes, and threads that share a kernel.
    void randomSchedules_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QStringList>("axes");
        QTest::addColumn<QStringList>("reduced");
        QTest::newRow("product") << "def f(float32[M=9, K=12] A, float32[K, N=20] B) -> Z { Y[i, j] +=! A[i, k] * B[k, j] @ Z[i, j] = Y[i, j] * 2 + 1 }" << QStringList{"i", "j"} << QStringList{"k"};
        QTest::newRow("padded convolution") << "def f(float32[C=2, H=5, W=9] X, float32[O=3, C, K=3, K] F) -> Y { Y[o, h, w] +=! X[c, h + a - 1, w + b - 1] * F[o, c, a, b]"
                                               " where h in 0:H, w in 0:W, 0 <= h + a - 1 < H, 0 <= w + b - 1 < W @ }" << QStringList{"o", "h", "w"} << QStringList{"c", "a", "b"};
        QTest::newRow("extremum") << "def f(float32[M=7, N=9, K=10] X) -> Y { Y[i] max=! X[i, j, k] where j + k < 15 @ }" << QStringList{"i"} << QStringList{"j", "k"};
        QTest::newRow("elementwise") << "def f(float32[M=7, N=9, K=4] X) -> Y { Y[i, j, k] = X[M - 1 - i, j, k] * float32(i * j) @ }" << QStringList{"i", "j", "k"} << QStringList();
    }
    void randomSchedules() {
        QFETCH(QString, text);
        QFETCH(QStringList, axes);
        QFETCH(QStringList, reduced);
        std::vector<std::string> outer, inner;
        for (const QString& name : axes)
            outer.push_back(name.toStdString());
        for (const QString& name : reduced)
            inner.push_back(name.toStdString());
        const Target target = take(hostTarget(2));
        Rng rng(5);
        int compiled = 0;
        for (int i = 0; i < 60 && compiled < 20; ++i) {
            const std::string schedule = randomSchedule(rng, outer, inner);
            const std::string whole = QString(text).replace("@", QString::fromStdString(schedule)).toStdString();
            const auto definition = te::readDefinition(whole, "f.te");
            if (!definition.ok() || !te::checkSizes(*definition, te::defaultSizes(*definition)).ok())
                continue;
            const Workload workload = workloadsOf(whole, target).at(0);
            const std::string wrong = wrongConfig(workload, take(ScheduleSpace::make(workload, target)), target, 0);
            QVERIFY2(wrong.empty(), (schedule + wrong).c_str());
            ++compiled;
        }
        QVERIFY(compiled > 10);
    }

    void theFirstValuesAreTheDefault() {
        const auto defaultOf = [](const std::string& schedule) {
            const auto space = take(ScheduleSpace::make(workloadsOf(kLoops + schedule + " }", Target()).at(0), Target()));
            return QString::fromStdString(space.space().describe(space.defaultConfig()));
        };
        const std::string loops = " a, b = split(i, T) c, d = split(j, V) }";
        QCOMPARE(defaultOf("only { knob T = 4 | 2 knob V = 1 | 8" + loops), QString("T 4, V 1"));
        QCOMPARE(defaultOf("only { knob T = 4 | 2 knob V = 1 | 8 require T * V == 16" + loops), QString("T 2, V 8"));
        QCOMPARE(defaultOf("{ knob T = 4 | 2 knob V = 1 | 8 require T != 4" + loops), QString("written: T 2, V 1"));
        QCOMPARE(defaultOf("only { knob T = on | off unroll k if T }"), QString("T on"));
        QCOMPARE(defaultOf("only { parallel i }"), QString("knobs none"));
    }

    // Records are shared by what is the same, comments and spaces aside, and by nothing else.
    void keysKnowTheSchedule() {
        const QString key = keyOf("{ knob T = 1 | 2  a, b = split(i, T) }");
        QCOMPARE(keyOf("{ # in tiles\n knob T = 1|2; a,b = split(i, (T)); }"), key);
        QSet<QString> keys{key};
        const char* const others[]{"{ }", "only { }", "{ knob T = 1 | 2  a, b = split(j, T) }", "{ knob T = 2 | 1  a, b = split(i, T) }", "only { knob T = 1 | 2  a, b = split(i, T) }",
                                   "{ knob T = 1 | 2  a, b = split(i, T)  unroll b }", "{ knob T = 1 | 2  a, b = split(i, T)  require M > 1 }"};
        for (const char* other : others) {
            const QString its = keyOf(other);
            QVERIFY2(!keys.contains(its), other);
            keys << its;
        }
    }

    // A statement with a schedule begins a kernel, one without joins it.
    void kernels() {
        const auto count = [](const std::string& statements) {
            return workloadsOf("def f(float32[M=8, K=8] A, float32[K, N=8] B) -> D { P[i, j] +=! A[i, k] * B[k, j] " + statements + " }", Target()).size();
        };
        QCOMPARE(count("C[i, j] = exp(P[i, j]) D[i, j] = C[i, j] + 1"), std::size_t(1));
        QCOMPARE(count("schedule P { parallel i } C[i, j] = exp(P[i, j]) D[i, j] = C[i, j] + 1"), std::size_t(1));
        QCOMPARE(count("C[i, j] = exp(P[i, j]) schedule C { parallel i } D[i, j] = C[i, j] + 1"), std::size_t(2));
        QCOMPARE(count("C[i, j] = exp(P[i, j]) schedule C { } D[i, j] = C[i, j] + 1 schedule D { }"), std::size_t(3));
    }

    // The most that a text may write out is compiled in bearable time.
    void largestBodies() {
        const auto workloads = workloadsOf("def f(float32[M=100, K=100] A, float32[K, N=100] B) -> C { C[i, j] +=! A[i, k] * B[k, j]"
                                           " schedule C only { knob U = 1 | 4 | 6  a, b = split(i, 18) c, d = split(j, 21) e, g = split(k, U) order a, c, e, b, d, g unroll b, d, g parallel a } }", Target());
        QElapsedTimer timer;
        timer.start();
        const auto space = take(ScheduleSpace::make(workloads[0], Target()));
        const std::string wrong = wrongConfig(workloads[0], space, Target(), 0);
        QVERIFY2(wrong.empty(), wrong.c_str());
        static_cast<void>(packageOf(take(space.schedule({{1}, {}})), Target()));
        qInfo("%lld ms", timer.elapsed());
        const auto larger = space.schedule({{2}, {}});
        QVERIFY(!larger.ok());
        QVERIFY2(QString::fromStdString(larger.error().message).startsWith("this choice of the schedule's knobs makes a body of"), larger.error().message.c_str());
        qInfo("%lld ms", timer.elapsed());
    }
};

QTEST_GUILESS_MAIN(TestWrittenSchedules)
#include "tst_written_schedules.moc"
