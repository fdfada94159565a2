// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QTest>

#include "tests/core/te/schedule_case.h"
#include "tests/core/te/te_case.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

Tensor randomTensor(Rng& rng, DType type, const Shape& shape) {
    Tensor tensor = Tensor::zeros(type, shape);
    visitDType(type, [&](auto tag) {
        using T = decltype(tag);
        for (T& value : tensor.mutableData<T>()) {
            if constexpr (std::is_same_v<T, Half>)
                value = floatToHalf(rng.uniform(-1.0f, 1.0f));
            else if constexpr (std::is_same_v<T, BFloat>)
                value = floatToBfloat(rng.uniform(-1.0f, 1.0f));
            else if constexpr (std::is_floating_point_v<T>)
                value = static_cast<T>(rng.uniform(-1.0f, 1.0f));
            else
                value = static_cast<T>(rng.below(100));
        }
    });
    return tensor;
}

const char* const kProduct = "def f(float32[M=13, K=7] A, float32[K, N=37] B) -> C { C[i, j] +=! A[i, k] * B[k, j] ";

} // namespace

// Every choice of a schedule's knobs computes what the statement says: the loops are run as they stand and compared.
class TestTeSchedules : public QObject {
    Q_OBJECT
private slots:
    void everyChoiceComputesTheStatement_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<int>("allowed"); // choices
        const auto row = [](const char* name, const std::string& text, int allowed) { QTest::newRow(name) << QString::fromStdString(text) << allowed; };
        row("nothing said", kProduct + std::string("schedule C {} }"), 1);
        row("product with accumulators", kProduct + std::string(
            "schedule C { knob TI = 1 | 2 | 4 | 6 | 13 | 20  knob TJ = 16 | 32 | 64  knob U = 1 | 4  require TI * TJ <= 256"
            " io, ii = split(i, TI)  jo, ji = split(j, TJ)  jv, jl = split(ji, 16)  ko, ki = split(k, U)"
            " order io, jo, ko, ki, ii, jv, jl  unroll ki, ii, jv  vectorize jl  parallel io } }"), 24);
        row("product with an epilogue",
            "def f(float32[M=13, K=7] A, float32[K, N=37] B, float32[N] b) -> C { P[i, j] +=! A[i, k] * B[k, j]"
            " schedule P { knob TI = 2 | 5  knob TJ = 8 | 32  io, ii = split(i, TI)  jo, jv, jl = split(j, TJ / 8, 8)  order io, jo, k, ii, jv, jl  unroll ii, jv  vectorize jl  parallel io }"
            " C[i, j] = max(P[i, j] + b[j], 0.0) }", 4);
        row("fused rows and columns", kProduct + std::string(
            "schedule C { knob TI = 1 | 3 | 4  io, ii = split(i, TI)  jo, ji = split(j, 16)  p = fuse(io, jo)  order p, k, ii, ji  parallel p  vectorize ji  unroll ii } }"), 3);
        row("a fused loop that is split", kProduct + std::string("schedule C { knob T = 1 | 10 | 64  ij = fuse(i, j)  a, b = split(ij, T)  order a, b, k  parallel a } }"), 3);
        row("a fused loop split around the sum", kProduct + std::string("schedule C { knob T = 1 | 10 | 64  ij = fuse(i, j)  a, b = split(ij, T)  order a, k, b  parallel a  vectorize b } }"), 3);
        row("fused within the block", kProduct + std::string("schedule C { io, ii = split(i, 4)  jo, ji = split(j, 8)  t = fuse(ii, ji)  order io, jo, k, t  vectorize t } }"), 1);
        row("loops fused that are not neighbours", kProduct + std::string("schedule C { io, ii = split(i, 4)  p = fuse(j, io)  order p, k, ii  parallel p } }"), 1);
        row("inner parts outside", kProduct + std::string("schedule C { io, ii = split(i, 4)  jo, ji = split(j, 8)  order ii, ji, k, io, jo } }"), 1);
        row("the sum outermost", kProduct + std::string("schedule C { order k, i, j  vectorize j if N <= 64 } }"), 1);
        row("the sum innermost", kProduct + std::string("schedule C { knob U = 1 | 2 | 3  ko, ki = split(k, U)  order i, j, ko, ki  unroll ki  parallel i } }"), 3);
        row("accumulated further out", kProduct + std::string("schedule C { knob T = 3 | 16  jo, ji = split(j, T)  order i, jo, k, ji  accumulate at i  parallel i } }"), 2);
        row("two orders", kProduct + std::string("schedule C { knob S = on | off  order j, i, k if S  order i, j, k  parallel i if !S  parallel j if S } }"), 2);
        row("lanes of the sum", "def f(float32[M=5, K=70] X) -> S { S[i] +=! X[i, k] schedule S { knob L = 1 | 4 | 16 | 64  knob U = 1 | 2  ko, kl = split(k, L)  ka, kb = split(ko, U)"
            " order i, ka, kb, kl  vectorize kl  unroll kb  parallel i } }", 8);
        row("lanes of a maximum with an epilogue", "def f(float32[M=5, K=70] X) -> Y { S[i] max=! X[i, k] where k in 3:K - 1, X[i, k] < 0.5"
            " schedule S { knob L = 8 | 16  io, ii = split(i, 2)  ko, kl = split(k, L)  order io, ko, ii, kl  vectorize kl  unroll ii } Y[i] = exp(S[i]) }", 2);
        row("lanes of a single sum", "def f(float32[K=70] X) -> S { S +=! X[k] * X[k] schedule S { ko, kl = split(k, 16)  vectorize kl } }", 1);
        row("lanes with the sum outermost", "def f(float32[M=5, K=70] X) -> S { S[i] +=! X[i, k] schedule S { ko, kl = split(k, 8)  order ko, i, kl  vectorize kl } }", 1);
        row("padded convolution",
            "def f(float32[N=1, C=3, H=9, W=11] X, float32[O=8, C, KH=3, KW=3] F, float32[O] B) -> Y {"
            " Z[n, o, h, w] +=! X[n, c, h + kh - 1, w + kw - 1] * F[o, c, kh, kw] where h in 0:H, w in 0:W, 0 <= h + kh - 1 < H, 0 <= w + kw - 1 < W"
            " schedule Z { knob TW = 1 | 4 | 11  knob TO = 1 | 2 | 3  knob UK = on | off  wo, wi = split(w, TW)  oo, oi = split(o, TO)  p = fuse(n, oo)"
            " order p, h, wo, c, kh, kw, oi, wi  parallel p  unroll oi, wi  unroll kw if UK }"
            " Y[n, o, h, w] = max(Z[n, o, h, w] + B[o], 0.0) }", 18);
        row("stencil", "def f(float32[H=20, W=41] X) -> Y { Y[h, w] = (X[h, w + 1] + X[h + 2, w + 1] + X[h + 1, w] + X[h + 1, w + 2]) / 4 - X[h + 1, w + 1]"
            " schedule Y only { knob TH = divisors(H - 2) | 4  knob L = powers(4, 16)  ho, hi = split(h, TH)  wo, wl = split(w, L)  order ho, wo, hi, wl  parallel ho  unroll hi  vectorize wl } }", 21);
        row("elementwise of three dimensions", "def f(float32[A=3, B=5, C=7] X) -> Y { Y[a, b, c] = exp(X[a, b, c]) * 2"
            " schedule Y { knob T = 1 | 16 | 1000  all = fuse(a, b, c)  o, i = split(all, T)  parallel o  vectorize i if T <= 16 } }", 3);
        row("tails in tails", "def f(float32[M=23, N=29] X) -> Y { Y[i, j] = X[i, j] + 1 schedule Y { a, b, c = split(i, 2, 3)  d, e = split(j, 8)  f_, g = split(e, 3)  u, v = split(d, 3)"
            " order a, u, v, b, f_, c, g  unroll c, b  parallel a } }", 1);
        row("guarded triangle", "def f(float32[M=9, M] A, float32[M, N=20] B) -> C { C[i, j] +=! A[i, k] * B[k, j] where k <= i"
            " schedule C { knob T = 1 | 2 | 4  io, ii = split(i, T)  jo, jl = split(j, 8)  order io, jo, k, ii, jl  parallel io  vectorize jl  unroll ii } }", 3);
        row("whole numbers", "def f(int32[M=7, K=20] X, int8[K] D) -> Y { Y[i] *=! X[i, k] + int32(D[k]) schedule Y { ko, kl = split(k, 8)  io, ii = split(i, 2)  order io, ko, ii, kl  vectorize kl  parallel io } }", 1);
        row("half precision", "def f(float16[M=7, K=20] X) -> Y { Y[i, k] = float16(X[i, k] * 2.0) schedule Y { p = fuse(i, k)  o, l = split(p, 8)  vectorize l  parallel o } }", 1);
        row("a range that starts later", "def f(float32[M=7, K=20] X) -> Y { Y[i] min=! X[i, k] where k in 5:K schedule Y { io, ii = split(i, 3)  ko, ki = split(k, 4)  order io, ko, ii, ki  unroll ii } }", 1);
        row("a block that is too large", "def f(float32[M=3, K=2] A, float32[K, N=40000] B) -> C { C[i, j] +=! A[i, k] * B[k, j] schedule C { order i, k, j } }", 1);
        row("a single element", "def f(float32 a) -> Y { Y = exp(a) schedule Y { } }", 1);
    }
    void everyChoiceComputesTheStatement() {
        QFETCH(QString, text);
        QFETCH(int, allowed);
        const te::Definition definition = take(te::readDefinition(text.toStdString(), "f.te"));
        const loops::Program whole = take(te::lowerDefinition(definition, te::defaultSizes(definition)));
        ScheduledStatement statement(definition, 0, whole);
        QVERIFY2(statement.problem.empty(), statement.problem.c_str());
        Rng rng(7);
        std::vector<Tensor> inputs;
        for (const loops::TensorRef& input : statement.program.inputs)
            inputs.push_back(randomTensor(rng, input->type, input->shape));
        const auto wanted = take(loops::evaluate(statement.program, inputs));
        for (std::size_t i = 0; i < statement.choices(); ++i) {
            const std::string wrong = statement.check(i, inputs, wanted);
            QVERIFY2(wrong.empty(), wrong.c_str());
        }
        QCOMPARE(static_cast<int>(statement.allowed), allowed);
    }

    void randomSchedules_data() {
        QTest::addColumn<QString>("before");
        QTest::addColumn<QString>("after");
        QTest::addColumn<QStringList>("axes");
        QTest::addColumn<QStringList>("reduced");
        QTest::newRow("product") << "def f(float32[M=7, K=5] A, float32[K, N=11] B) -> Y { Y[i, j] +=! A[i, k] * B[k, j]" << "" << QStringList{"i", "j"} << QStringList{"k"};
        QTest::newRow("product with an epilogue") << "def f(float32[M=7, K=5] A, float32[K, N=11] B) -> Z { Y[i, j] +=! A[i, k] * B[k, j]" << "Z[i, j] = Y[i, j] * 2 + 1" << QStringList{"i", "j"} << QStringList{"k"};
        QTest::newRow("padded convolution") << "def f(float32[C=2, H=5, W=6] X, float32[O=3, C, K=3, K] F) -> Y { Y[o, h, w] +=! X[c, h + a - 1, w + b - 1] * F[o, c, a, b] where h in 0:H, w in 0:W, 0 <= h + a - 1 < H, 0 <= w + b - 1 < W"
                                            << "" << QStringList{"o", "h", "w"} << QStringList{"c", "a", "b"};
        QTest::newRow("extremum of rows") << "def f(float32[M=7, N=9, K=10] X) -> Y { Y[i] max=! X[i, j, k] where j + k < 15" << "" << QStringList{"i"} << QStringList{"j", "k"};
        QTest::newRow("elementwise") << "def f(float32[M=7, N=9, K=4] X) -> Y { Y[i, j, k] = X[M - 1 - i, j, k] * float32(i * j)" << "" << QStringList{"i", "j", "k"} << QStringList();
        QTest::newRow("single element") << "def f(int64[M=7, N=9] X) -> Z { Y +=! X[i, j]" << "Z = Y + 1" << QStringList() << QStringList{"i", "j"};
    }
    void randomSchedules() {
        QFETCH(QString, before);
        QFETCH(QString, after);
        QFETCH(QStringList, axes);
        QFETCH(QStringList, reduced);
        const auto plain = [](const QStringList& list) {
            std::vector<std::string> names;
            for (const QString& name : list)
                names.push_back(name.toStdString());
            return names;
        };
        Rng rng(31);
        int allowed = 0;
        for (int i = 0; i < 600; ++i) {
            const auto loops = axes.isEmpty() ? randomSchedule(rng, plain(reduced), {}) : randomSchedule(rng, plain(axes), plain(reduced));
            const std::string text = before.toStdString() + " " + loops + after.toStdString() + " }";
            const auto definition = te::readDefinition(text, "f.te");
            const auto whole = definition.ok() ? te::lowerDefinition(*definition, te::defaultSizes(*definition)) : Result<loops::Program>(definition.error());
            if (!whole.ok())
                continue; // lanes of too late a loop, and the like
            ScheduledStatement statement(*definition, 0, *whole);
            std::vector<Tensor> inputs;
            for (const loops::TensorRef& input : statement.program.inputs)
                inputs.push_back(randomTensor(rng, input->type, input->shape));
            const std::string wrong = statement.check(0, inputs, take(loops::evaluate(statement.program, inputs)));
            QVERIFY2(wrong.empty(), (text + "\n" + wrong).c_str());
            ++allowed;
        }
        QVERIFY2(allowed > 200, qPrintable(QString::number(allowed)));
    }

    // Blocks are added up in buffers of their own where the order allows it.
    void accumulators() {
        const auto localsOf = [](const std::string& schedule) {
            const te::Definition definition = take(te::readDefinition(kProduct + schedule + " }", "f.te"));
            const loops::Program whole = take(te::lowerDefinition(definition, te::defaultSizes(definition)));
            const ScheduledStatement statement(definition, 0, whole);
            loops::Schedule made(statement.program);
            te::applyPlan(take(statement.bound->plan({})), made);
            std::vector<std::int64_t> sizes;
            for (const loops::TensorRef& local : take(made.lower()).locals)
                sizes.push_back(local->shape[0]);
            return sizes;
        };
        using Sizes = std::vector<std::int64_t>;
        QCOMPARE(localsOf("schedule C { order i, j, k }"), Sizes{1});
        QCOMPARE(localsOf("schedule C { order i, k, j }"), Sizes{37});
        QCOMPARE(localsOf("schedule C { order k, i, j }"), Sizes{});
        QCOMPARE(localsOf("schedule C { order i, j, k accumulate at i }"), Sizes{37});
        QCOMPARE(localsOf("schedule C { a, b = split(i, 13) c, d = split(j, 37) order a, c, k, b, d }"), Sizes{13 * 37});
        QCOMPARE(localsOf("schedule C { a, b = split(i, 4) order b, k, a, j }"), Sizes{});
        QCOMPARE(localsOf("schedule C { a, b = split(k, 4) order i, j, a, b vectorize b }"), (Sizes{1, 4}));
    }

    void nestsThatAreTooLarge() {
        loops::LoopNest nest;
        QVERIFY(te::checkNest(nest).ok());
        nest.locals = {loops::makeTensor("block", DType::f32, {200'000})};
        QCOMPARE(te::checkNest(nest).error().message, std::string("this choice of the schedule's knobs keeps 800000 bytes in blocks, more than 524288 of a thread's stack; "
                                                                  "accumulate further in, or choose factors that divide their loops"));
    }

    // However much a text wants, it is refused at once or has small loops.
    void tooMuch_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("expected");
        const auto large = [](const std::string& schedule) { return "def f(float32[M=1000, K=1000] A, float32[K, N=1000] B) -> C { C[i, j] +=! A[i, k] * B[k, j] schedule C { " + schedule + " } }"; };
        const auto row = [](const char* name, const std::string& text, const char* expected) { QTest::newRow(name) << QString::fromStdString(text) << expected; };
        const auto repeated = [](std::size_t count, const auto& text) {
            std::string all;
            for (std::size_t i = 0; i < count; ++i)
                all += text(std::to_string(i));
            return all;
        };
        row("unrolling", large("unroll i, j, k"), "unrolled loops write this statement out 1000000000 times, and 2730 are allowed; unroll fewer or shorter loops");
        row("tails in tails", large("c0, d0 = split(i, 999) " + repeated(20, [](const std::string& i) { return "c" + std::to_string(std::stoi(i) + 1) + ", d" + std::to_string(std::stoi(i) + 1) + " = split(d" + i + ", " + std::to_string(998 - std::stoi(i)) + ") "; }) + "unroll c1"),
            "21 splits that leave tails and 0 guarded loops make too many versions of this statement; choose factors that divide their loops, or split and unroll less");
        row("guards in parts", "def f(float32[H=1024, W=1024] X) -> Y { Y[h, w] +=! X[h + a - 1, w + b - 1] where h in 0:H, w in 0:W, a in 0:3, b in 0:3, 0 <= h + a - 1 < H, 0 <= w + b - 1 < W"
            " schedule Y { c, d, e, f_, g, h_, i = split(h, 2, 2, 2, 2, 2, 2) j, k, l, m, n, o, p = split(w, 2, 2, 2, 2, 2, 2) unroll g, h_, i, o, p } }",
            "0 splits that leave tails and 16 guarded loops make too many versions");
        row("lanes", large("order i, k, j vectorize j"), "a vectorized loop has at most 64 iterations, and 'j' has 1000; split it");
        row("a large block", large("order i, k, j accumulate at i") , "");
        row("a larger block", large("a, b = split(i, 100) order a, k, b, j accumulate at a"), "what is accumulated at 'a' takes more than 131072 bytes; split the loops within it");
        row("knobs", large(repeated(100, [](const std::string& i) { return "knob T" + i + " = 1 | 2 "; })), "a schedule has at most 32 knobs");
        row("values", large("knob T = 0" + repeated(100'000, [](const std::string& i) { return " | " + i; })), "a knob has at most 256 values");
        row("divisors", "def f(float32[N=1102701600] X) -> Y { Y +=! X[i] schedule Y { knob T = divisors(N) a, b = split(i, T) } }", "the knob 'T' has 1440 values and may have 256; list fewer of them");
        row("combinations", large(repeated(20, [](const std::string& i) { return "knob T" + i + " = 1 | 2 "; }) + repeated(20, [](const std::string& i) { return "unroll i if T" + i + " > 5 "; })), "up to here the knobs have 131072 combinations, and a schedule may have 65536; list fewer values");
        row("requirements", large(repeated(1000, [](const std::string&) { return std::string("require 1 < 2 "); })), "a schedule has at most 32 requirements");
        row("a long requirement", large("require 1" + repeated(10'000, [](const std::string&) { return std::string(" + 1"); })), "at most 2000 numbers, names and operators");
        row("a deep requirement", large("require " + std::string(10'000, '(')), "nested");
        row("splits", large(repeated(100, [](const std::string& i) { return "a" + i + ", b" + i + " = split(i, 2) "; })), "a schedule splits and fuses at most 48 times");
        row("loops", large(repeated(30, [](const std::string& i) { return "a" + i + ", b" + i + " = split(" + (i == "0" ? "i" : "b" + std::to_string(std::stoi(i) - 1)) + ", 2) "; })), "a schedule has at most 48 loops");
        row("names", large("a" + repeated(10'000, [](const std::string&) { return std::string(", a"); }) + " = split(i, 2)"), "at most 48 loops are named here");
        row("factors", large("a, b = split(i" + repeated(10'000, [](const std::string&) { return std::string(", 2"); })), "a loop is split into at most 48 parts");
        row("marks", large(repeated(1000, [](const std::string&) { return std::string("unroll i "); })), "a schedule says at most 48 times how loops run");
        row("a large space without a choice", large("knob A0 = powers(1, 32768) knob A1 = powers(1, 32768) knob A2 = powers(1, 32768) knob A3 = powers(1, 32768) require A0 + A1 + A2 + A3 < 0"), "this requirement does not hold (with A0 = 1, A1 = 1, A2 = 1, A3 = 1; no other choice is allowed either)");
        const std::string knobs = repeated(16, [](const std::string& i) { return "knob K" + i + " = 1 | 2 "; });
        const auto over = [&](const std::string& between) { return "K0" + repeated(15, [&](const std::string& i) { return between + "K" + std::to_string(std::stoi(i) + 1); }); };
        row("many requirements that hold", large(knobs + repeated(30, [&](const std::string&) { return "require " + over(" + ") + " > 0 "; }) + "require K0 < 0"),
            "no choice is allowed among the first 16");
        row("many schedules whose last choice is allowed", "def f(float32[N=64] B0) -> B100 { " + repeated(100, [&](const std::string& i) {
            const std::string next = "B" + std::to_string(std::stoi(i) + 1);
            return next + "[i] = B" + i + "[i] + 1.0 schedule " + next + " { " + knobs + " require " + over(" * ") + " == 65536 a, b = split(i, K0) } ";
        }) + "}", "try too many choices until one is allowed");
        row("fused beyond measure", "def f(float32[N=33554432] X, float32[N] Z) -> S { S +=! X[i] * Z[j] schedule S { a, b = split(i, 20000000) t = fuse(a, b) u = fuse(t, j) } }", "a fused loop has more than 1125899906842624 iterations");
    }
    void tooMuch() {
        QFETCH(QString, text);
        QFETCH(QString, expected);
        QElapsedTimer timer;
        timer.start();
        const QString problem = QString::fromStdString(problemOf(text.toStdString()));
        QVERIFY2(expected.isEmpty() ? problem.isEmpty() : problem.contains(expected), qPrintable(problem));
        QVERIFY(!problem.contains('\n') && problem.size() < 1000);
        QVERIFY2(timer.elapsed() < 5000, qPrintable(QString::number(timer.elapsed())));
    }
};

QTEST_APPLESS_MAIN(TestTeSchedules)
#include "tst_te_schedules.moc"
