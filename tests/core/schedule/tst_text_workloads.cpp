// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "tests/core/schedule/text_case.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

struct Row {
    const char* name;
    const char* expectedTemplates; // of the kernels, in order
    const char* text;
};

const std::vector<Row>& rows() {
    static const std::vector<Row> table{
        {"product", "matmul", "def f(float32[M=23, K=31] A, float32[K, N=53] B) -> C { C[i, j] +=! A[i, k] * B[k, j] }"},
        {"product with an epilogue", "matmul",
         "def f(float32[M=12, K=20] A, float32[K, N=32] B, float32[N] b) -> C { P[i, j] +=! A[i, k] * B[k, j]  C[i, j] = max(P[i, j] + b[j], 0.0) }"},
        {"batched product", "matmul", "def f(float32[B=3, M=12, K=20] X, float32[B, K, N=32] Y) -> C { C[n, i, j] +=! X[n, i, k] * Y[n, k, j] }"},
        {"product with shared rows", "matmul", "def f(float32[B=3, M=5, K=8] X, float32[K, N=16] Y) -> C { C[n, i, j] +=! X[n, i, k] * Y[k, j] }"},
        {"product of few columns", "matmul", "def f(float32[M=23, K=31] A, float32[K, N=5] B) -> C { C[i, j] +=! A[i, k] * B[k, j] }"},
        {"product with a transposed side", "matmul", "def f(float32[M=9, K=31] A, float32[N=20, K] B) -> C { C[i, j] +=! A[i, k] * B[j, k] }"},
        {"sides the other way round", "columns", "def f(float32[M=9, K=31] A, float32[K, N=20] B) -> C { C[i, j] +=! B[k, j] * A[i, k] }"},
        {"product with a guard", "generic", "def f(float32[M=9, M] A, float32[M, N=20] B) -> C { C[i, j] +=! A[i, k] * B[k, j] where k <= i }"},
        {"product of neighbours", "columns", "def f(float32[M=9, K=12] A, float32[K, N=20] B) -> C { C[i, j] +=! A[i, k] * B[k + 1, j] }"},
        {"both sides by column", "columns", "def f(float32[K=9, N=20] A, float32[K, N] B) -> C { C[i, j] +=! A[k, j] * B[k, j] where i in 0:4 }"},
        {"tensors called as our stages are", "generic generic", "def f(float32[M=5, N=9] X) -> conv { matmul[i] +=! X[i, k]  conv[i, j] = X[i, j] - matmul[i] }"},
        {"convolution with padding and a stride", "generic",
         "def f(float32[N=1, C=3, H=9, W=11] X, float32[O=8, C, KH=3, KW=3] F, float32[O] B) -> Y {"
         " Z[n, o, h, w] +=! X[n, c, 2*h + kh - 1, 2*w + kw - 1] * F[o, c, kh, kw] where h in 0:(H+1)/2, w in 0:(W+1)/2, 0 <= 2*h + kh - 1 < H, 0 <= 2*w + kw - 1 < W"
         " Y[n, o, h, w] = max(Z[n, o, h, w] + B[o], 0.0) }"},
        {"padding by a choice", "generic", "def f(float32[H=9, W=33] X) -> Y { Y[h, w] = 1 <= h <= H && 2 <= w < W + 2 ? X[h - 1, w - 2] : -1.0 where h in 0:H + 2, w in 0:W + 4 }"},
        {"softmax", "generic generic generic generic",
         "def f(float32[M=4, N=37] X) -> Y { m[i] max=! X[i, j]  e[i, j] = exp(X[i, j] - m[i])  s[i] +=! e[i, j]  Y[i, j] = e[i, j] / s[i] }"},
        {"a single element", "generic", "def f(float32[N=100] X) -> Y { Y +=! X[k] * X[k] }"},
        {"a single element of a single one", "generic", "def f(float32 a) -> Y { Y = exp(a) }"},
        {"a reduction that starts later", "generic", "def f(float32[M=7, N=100] X) -> Y { Y[i] *=! X[i, k] where k in 20:23 }"},
        {"gather", "generic", "def f(float32[N=10, D=20] X, int64[M=7] I) -> Y { Y[i, d] = X[min(max(I[i], 0), N - 1), d] }"},
        {"whole numbers", "generic", "def f(int32[M=7, N=20] X, int32[N] D) -> Y { Y[i, j] = X[i, j] / D[j] * 3 + X[i, (j + 1) % N] % 5 }"},
        {"bytes", "generic", "def f(uint8[M=70] X) -> Y { Y[i] = X[i] * 7 + 200 }"},
        {"truth values", "generic", "def f(float32[M=70] X, float32[M] Z) -> Y { Y[i] = X[i] < Z[i] && X[i] > 0.25 }"},
        {"double precision", "generic", "def f(float32[M=7, K=50] X) -> Y { Y[i] +=! float64(X[i, k]) * 0.5 }"},
        {"half precision", "generic", "def f(float16[M=70] X) -> Y { Y[i] = float16(X[i] * 2.0 + 1) }"},
        {"an index as a value", "generic", "def f(float32[M=7, N=20] X) -> Y { Y[i, j] = X[i, j] + float32(i * 100 + j) }"},
        {"backwards", "generic", "def f(float32[N=50] X) -> Y { Y[i] = X[N - 1 - i] }"},
        {"pooling", "generic", "def f(float32[C=4, H=8, W=10] X) -> Y { Y[c, h, w] max=! X[c, 2*h + kh, 2*w + kw] where kh in 0:2, kw in 0:2 }"},
        {"a chain that reads itself often", "generic",
         "def f(float32[N=50] X) -> F { A[i] = X[i]*X[i]*X[i]*X[i]*X[i]; B[i] = A[i]-A[i]*A[i]+A[i]/2; C[i] = B[i]*B[i]-B[i]+B[i]*B[i]; D[i] = C[i]*C[i]+C[i]-C[i]*C[i]*C[i];"
         " E[i] = D[i]*D[i]-D[i]+D[i]*D[i]; F[i] = E[i]-E[i]*E[i] }"},
    };
    return table;
}

} // namespace

// Kernels of text tensor expressions: which template takes them, and that every schedule computes what the text says.
class TestTextWorkloads : public QObject {
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
            QStringList templates;
            for (const Workload& workload : workloadsOf(kase.text, target)) {
                const auto space = take(ScheduleSpace::make(workload, target));
                templates << QString::fromStdString(space.space().name());
                const std::string wrong = wrongConfig(workload, space, target, 3);
                QVERIFY2(wrong.empty(), wrong.c_str());
            }
            QCOMPARE(templates.join(' '), QString(kase.expectedTemplates));
        }
    }

    void workloadsSurviveTheirSerialization() {
        for (const Row& row : rows())
            for (const Workload& workload : workloadsOf(row.text, Target()))
                QCOMPARE(take(Workload::deserialize(workload.serialize())).key, workload.key);
    }

    void equalStatementsShareTheirKey() {
        const auto chain = workloadsOf("def f(float32[M=8, K=16] X, float32[K, K] W, float32[K, K] V) -> C { A[i, j] +=! X[i, k] * W[k, j]  C[i, j] +=! A[i, k] * V[k, j] }", Target());
        QCOMPARE(chain.size(), std::size_t(2));
        QCOMPARE(chain[0].key, chain[1].key);
    }
};

QTEST_GUILESS_MAIN(TestTextWorkloads)
#include "tst_text_workloads.moc"
