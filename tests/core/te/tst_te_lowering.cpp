// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QTest>

#include "core/base/sanitizers.h"
#include "tests/core/te/te_case.h"

using namespace tunesmith;

namespace {

void compare(const Tensor& found, const Shape& shape, const std::vector<double>& expected) {
    QCOMPARE(found.shape(), shape);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double value = found.asDouble(static_cast<std::int64_t>(i));
        QVERIFY2(std::abs(value - expected[i]) <= 1e-5 * (1 + std::abs(expected[i])),
                 qPrintable(QString("element %1 is %2 and not %3").arg(i).arg(value).arg(expected[i])));
    }
}

double at(const Tensor& tensor, std::initializer_list<std::int64_t> index) {
    std::int64_t offset = 0;
    std::size_t d = 0;
    for (const std::int64_t i : index)
        offset = offset * tensor.shape()[d++] + i;
    return tensor.asDouble(offset);
}

} // namespace

// Comprehensions against loops written by hand, on random inputs.
class TestTeLowering : public QObject {
    Q_OBJECT
    Rng rng_{7};

private slots:
    void product() {
        const Tensor a = randomFloats(rng_, {5, 7}), b = randomFloats(rng_, {7, 6});
        std::vector<double> expected;
        for (int i = 0; i < 5; ++i)
            for (int j = 0; j < 6; ++j) {
                double sum = 0;
                for (int k = 0; k < 7; ++k)
                    sum += at(a, {i, k}) * at(b, {k, j});
                expected.push_back(sum);
            }
        compare(evaluateText("def f(float32[M=5, K=7] A, float32[K, N=6] B) -> C { C[i, j] +=! A[i, k] * B[k, j] }", {a, b})[0], {5, 6}, expected);
    }

    void batchedProduct() {
        const Tensor a = randomFloats(rng_, {2, 3, 5, 4}), b = randomFloats(rng_, {2, 6, 4});
        std::vector<double> expected;
        for (int n = 0; n < 2; ++n)
            for (int h = 0; h < 3; ++h)
                for (int i = 0; i < 5; ++i)
                    for (int j = 0; j < 6; ++j) {
                        double sum = 0;
                        for (int k = 0; k < 4; ++k)
                            sum += at(a, {n, h, i, k}) * at(b, {n, j, k});
                        expected.push_back(0.5 * sum);
                    }
        compare(evaluateText("def f(float32[B=2, H=3, M=5, K=4] Q, float32[B, N=6, K] T) -> S {"
                             "  P[n, h, i, j] +=! Q[n, h, i, k] * T[n, j, k]  S[n, h, i, j] = P[n, h, i, j] * 0.5 }",
                             {a, b})[0],
                {2, 3, 5, 6}, expected);
    }

    void convolution_data() {
        QTest::addColumn<int>("stride");
        QTest::addColumn<int>("pad");
        QTest::addColumn<QString>("text");
        const QString head = "def f(float32[N=2, C=3, H=7, W=8] X, float32[O=4, C, KH=3, KW=3] F) -> Y { Y[n, o, h, w] +=! ";
        QTest::newRow("plain") << 1 << 0 << head + "X[n, c, h + kh, w + kw] * F[o, c, kh, kw] }";
        QTest::newRow("stride") << 2 << 0 << head + "X[n, c, 2 * h + kh, w * 2 + kw] * F[o, c, kh, kw] }";
        QTest::newRow("padding") << 1 << 1 << head + "X[n, c, h + kh - 1, w + kw - 1] * F[o, c, kh, kw] where h in 0:H, w in 0:W, 0 <= h + kh - 1 < H, 0 <= w + kw - 1 < W }";
        QTest::newRow("stride and padding") << 2 << 1 << head + "X[n, c, 2*h + kh - 1, 2*w + kw - 1] * F[o, c, kh, kw] where h in 0:(H + 1)/2, w in 0:(W + 1)/2, 0 <= 2*h + kh - 1 < H, 0 <= 2*w + kw - 1 < W }";
        QTest::newRow("padding by a choice") << 1 << 1 << head + "(0 <= h + kh - 1 < H && 0 <= w + kw - 1 < W ? X[n, c, h + kh - 1, w + kw - 1] : 0) * F[o, c, kh, kw] where h in 0:H, w in 0:W }";
    }
    void convolution() {
        QFETCH(int, stride);
        QFETCH(int, pad);
        QFETCH(QString, text);
        const Tensor x = randomFloats(rng_, {2, 3, 7, 8}), f = randomFloats(rng_, {4, 3, 3, 3});
        const int height = (7 + 2 * pad - 3) / stride + 1, width = (8 + 2 * pad - 3) / stride + 1;
        std::vector<double> expected;
        for (int n = 0; n < 2; ++n)
            for (int o = 0; o < 4; ++o)
                for (int h = 0; h < height; ++h)
                    for (int w = 0; w < width; ++w) {
                        double sum = 0;
                        for (int c = 0; c < 3; ++c)
                            for (int kh = 0; kh < 3; ++kh)
                                for (int kw = 0; kw < 3; ++kw) {
                                    const int ih = h * stride + kh - pad, iw = w * stride + kw - pad;
                                    if (ih >= 0 && ih < 7 && iw >= 0 && iw < 8)
                                        sum += at(x, {n, c, ih, iw}) * at(f, {o, c, kh, kw});
                                }
                        expected.push_back(sum);
                    }
        compare(evaluateText(text.toStdString(), {x, f})[0], {2, 4, height, width}, expected);
    }

    void softmax() {
        const Tensor x = randomFloats(rng_, {4, 9});
        std::vector<double> expected;
        for (int i = 0; i < 4; ++i) {
            double sum = 0;
            for (int j = 0; j < 9; ++j)
                sum += std::exp(at(x, {i, j}));
            for (int j = 0; j < 9; ++j)
                expected.push_back(std::exp(at(x, {i, j})) / sum);
        }
        compare(evaluateText("def f(float32[M=4, N=9] X) -> Y { m[i] max=! X[i, j]  e[i, j] = exp(X[i, j] - m[i])"
                             " s[i] +=! e[i, j]  Y[i, j] = e[i, j] / s[i] }",
                             {x})[0],
                {4, 9}, expected);
    }

    void layerNorm() {
        const Tensor x = randomFloats(rng_, {3, 8}), g = randomFloats(rng_, {8}), b = randomFloats(rng_, {8});
        std::vector<double> expected;
        for (int i = 0; i < 3; ++i) {
            double mean = 0, variance = 0;
            for (int j = 0; j < 8; ++j)
                mean += at(x, {i, j}) / 8;
            for (int j = 0; j < 8; ++j)
                variance += std::pow(at(x, {i, j}) - mean, 2) / 8;
            for (int j = 0; j < 8; ++j)
                expected.push_back((at(x, {i, j}) - mean) / std::sqrt(variance + 1e-5) * at(g, {j}) + at(b, {j}));
        }
        compare(evaluateText("def norm(float32[M=3, N=8] X, float32[N] G, float32[N] B) -> Y {"
                             " sum[i] +=! X[i, j]; mean[i] = sum[i] / N; d[i, j] = X[i, j] - mean[i]; sq[i] +=! d[i, j] * d[i, j];"
                             " Y[i, j] = d[i, j] / sqrt(sq[i] / N + 1e-5) * G[j] + B[j] }",
                             {x, g, b})[0],
                {3, 8}, expected);
    }

    void reductions() {
        const Tensor x = randomFloats(rng_, {4, 5});
        std::vector<double> sums(4, 0), products(4, 1), greatest(4, -10), least(4, 10);
        for (std::size_t i = 0; i < 4; ++i)
            for (int j = 0; j < 5; ++j) {
                const double value = at(x, {static_cast<std::int64_t>(i), j});
                sums[i] += value;
                products[i] *= value;
                greatest[i] = std::max(greatest[i], value);
                least[i] = std::min(least[i], value);
            }
        const auto found = evaluateText("def f(float32[4, 5] X) -> (A, B, C, D) { A[i] +=! X[i, j]; B[i] *=! X[i, j]; C[i] max=! X[i, j]; D[i] min=! X[i, j] }", {x});
        compare(found[0], {4}, sums);
        compare(found[1], {4}, products);
        compare(found[2], {4}, greatest);
        compare(found[3], {4}, least);
    }

    void scalarsAndShiftedReductions() {
        const Tensor x = randomFloats(rng_, {9});
        double sum = 0;
        for (int k = 2; k < 5; ++k)
            sum += at(x, {k}) * k;
        const auto found = evaluateText("def f(float32[N=9] X, float32 a) -> (S, T) { S +=! X[k] * float32(k) where k in 2:5; T = S * a }",
                                        {x, Tensor::scalar(2.0f)});
        compare(found[0], {}, {sum});
        compare(found[1], {}, {2 * sum});
    }

    void wholeNumbers() {
        const Tensor x = Tensor::of<std::int32_t>({4}, std::vector<std::int32_t>{7, -7, 8, 0});
        const Tensor i = Tensor::of<std::int64_t>({4}, std::vector<std::int64_t>{3, -5, 100, 1});
        const auto found = evaluateText(
            "def f(int32[N=4] X, int64[N] I) -> (Q, R, G, A, Z, L) { Q[i] = X[i] / 2; R[i] = X[i] % 3; G[i] = X[min(max(I[i], 0), N - 1)];"
            " A[i, j] = int32(i * 10 + j) where i in 0:2, j in 0:3; Z[i] = X[i] / X[3]; L[i] max=! X[(i + k) % N] where i in 0:4, k in 0:2 }",
            {x, i});
        compare(found[0], {4}, {3, -4, 4, 0});
        compare(found[1], {4}, {1, 2, 2, 0});
        compare(found[2], {4}, {0, 7, 0, -7});
        compare(found[3], {2, 3}, {0, 1, 2, 10, 11, 12});
        compare(found[4], {4}, {0, 0, 0, 0}); // dividing by zero gives zero
        compare(found[5], {4}, {7, 8, 8, 7});
        QCOMPARE(found[0].type(), DType::i32);
    }

    void numbersWrapAround() {
        const Tensor x = Tensor::of<std::uint8_t>({2}, std::vector<std::uint8_t>{250, 3});
        compare(evaluateText("def f(uint8[N=2] X) -> Y { Y[i] = X[i] + (200 + 100 - 200) }", {x})[0], {2}, {94, 103});
    }

    void functionsAndChoices() {
        const Tensor x = randomFloats(rng_, {6});
        std::vector<double> expected;
        for (int i = 0; i < 6; ++i) {
            const double v = at(x, {i});
            expected.push_back(v > 0.2 && v < 0.8 ? std::erf(v) : v <= 0.2 || v == 5 ? std::tanh(v) + std::pow(std::abs(v), 1.5) : -std::floor(v * 3));
        }
        compare(evaluateText("def f(float32[N=6] X) -> Y { Y[i] = 0.2 < X[i] < 0.8 ? erf(X[i]) : X[i] <= 0.2 || X[i] == 5.0 ? tanh(X[i]) + pow(abs(X[i]), 1.5) : -floor(X[i] * 3) }", {x})[0],
                {6}, expected);
    }

    void halfFloats() {
        const Tensor x = randomFloats(rng_, {5}).cast(DType::f16);
        std::vector<double> expected;
        for (int i = 0; i < 5; ++i)
            expected.push_back(at(x, {i}) * 2);
        const Tensor found = evaluateText("def f(float16[N=5] X) -> Y { Y[i] = float16(X[i] * 2.0) }", {x})[0];
        QCOMPARE(found.type(), DType::f16);
        compare(found, {5}, expected);
    }

    // The reference for tuning: 6e7 products in some seconds, also on a slow machine.
    void isFastEnough() {
        const Tensor a = randomFloats(rng_, {250, 400}), b = randomFloats(rng_, {400, 600});
        QElapsedTimer timer;
        timer.start();
        const auto found = evaluateText("def f(float32[M=250, K=400] A, float32[K, N=600] B) -> C { C[i, j] +=! A[i, k] * B[k, j] }", {a, b});
        qInfo() << timer.elapsed() << "ms";
        QCOMPARE(found[0].shape(), Shape({250, 600}));
        QVERIFY2(kSanitized || timer.elapsed() < 20'000, qPrintable(QString::number(timer.elapsed())));
    }
};

QTEST_APPLESS_MAIN(TestTeLowering)
#include "tst_te_lowering.moc"
