// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>
#include <complex>
#include <numbers>

#include "op_case.h"

using namespace tunesmith;

Q_DECLARE_METATYPE(tunesmith::OpCase)
Q_DECLARE_METATYPE(tunesmith::Tensor)

// Windows, mel weights, DFT and STFT.
class SignalTest : public QObject {
    Q_OBJECT
private slots:
    void knownAnswers_data();
    void knownAnswers();
    void spectraAreDefiningSums_data();
    void spectraAreDefiningSums();
    void inverseGivesTheSignalBack();
    void oneSidedSpectra();
    void framesOfAStft();
    void shapes();
    void refused_data();
    void refused();
};

namespace {

const std::int64_t one = 1, zero = 0;
Tensor number(std::int64_t value) { return Tensor::scalar(value); }

using Complex = std::complex<double>;

std::vector<Complex> definingSum(const std::vector<Complex>& x, double sign) {
    std::vector<Complex> y(x.size());
    for (std::size_t k = 0; k < x.size(); ++k)
        for (std::size_t n = 0; n < x.size(); ++n)
            y[k] += x[n] * std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k * n) / static_cast<double>(x.size()));
    return y;
}

Tensor run(const OpCase& c) {
    const auto outputs = runKernel(c);
    if (!outputs.ok())
        qFatal("%s", outputs.error().message.c_str());
    return (*outputs)[0];
}

} // namespace

void SignalTest::knownAnswers_data() {
    QTest::addColumn<OpCase>("op");
    QTest::addColumn<Tensor>("expected");
    QTest::newRow("hann") << OpCase{"HannWindow", 17, {}, {number(4)}} << floats({4}, {0, 0.5F, 1, 0.5F});
    QTest::newRow("hann symmetric") << OpCase{"HannWindow", 17, {{"periodic", zero}}, {number(5)}} << floats({5}, {0, 0.5F, 1, 0.5F, 0});
    QTest::newRow("hamming") << OpCase{"HammingWindow", 17, {}, {number(2)}} << floats({2}, {4.0F / 46, 1});
    QTest::newRow("blackman") << OpCase{"BlackmanWindow", 17, {}, {number(4)}} << floats({4}, {0, 0.34F, 1, 0.34F});
    QTest::newRow("in double") << OpCase{"HannWindow", 17, {{"output_datatype", std::int64_t{11}}}, {number(2).cast(DType::i32)}}
                               << floats({2}, {0, 1}).cast(DType::f64);
    QTest::newRow("in integers") << OpCase{"HannWindow", 17, {{"output_datatype", std::int64_t{6}}}, {number(4)}}
                                 << floats({4}, {0, 0, 1, 0}).cast(DType::i32);
    QTest::newRow("empty window") << OpCase{"HannWindow", 17, {}, {number(0)}} << floats({0}, {});
    // Bins 0, 1 and 2 of 4: a triangle whose peak is bin 1.
    QTest::newRow("mel") << OpCase{"MelWeightMatrix", 17, {}, {number(1), number(6), number(7), Tensor::scalar(0.0F), Tensor::scalar(3.5F)}}
                         << floats({4, 1}, {0, 1, 0, 0});
    const Tensor ramp = floats({1, 4, 1}, {1, 2, 3, 4});
    QTest::newRow("dft") << OpCase{"DFT", 17, {}, {ramp}} << floats({1, 4, 2}, {10, 0, -2, 2, -2, 0, -2, -2});
    QTest::newRow("dft cut off") << OpCase{"DFT", 17, {}, {ramp, number(2)}} << floats({1, 2, 2}, {3, 0, -1, 0});
    QTest::newRow("dft padded") << OpCase{"DFT", 17, {}, {floats({1, 1, 1}, {5}), number(2)}} << floats({1, 2, 2}, {5, 0, 5, 0});
    QTest::newRow("dft one-sided") << OpCase{"DFT", 17, {{"onesided", one}}, {ramp}} << floats({1, 3, 2}, {10, 0, -2, 2, -2, 0});
    QTest::newRow("dft axis of opset 20") << OpCase{"DFT", 20, {}, {floats({2, 1, 1}, {1, 2}), Tensor(), number(0)}}
                                          << floats({2, 1, 2}, {3, 0, -1, 0});
    QTest::newRow("dft default axis of opset 20") << OpCase{"DFT", 20, {}, {floats({2, 1, 1}, {1, 2})}} << floats({2, 1, 2}, {1, 0, 2, 0});
    QTest::newRow("dft of nothing") << OpCase{"DFT", 17, {}, {floats({0, 4, 1}, {})}} << floats({0, 4, 2}, {});
    QTest::newRow("stft") << OpCase{"STFT", 17, {}, {ramp, number(2), Tensor(), number(2)}}
                          << floats({1, 2, 2, 2}, {3, 0, -1, 0, 7, 0, -1, 0});
    QTest::newRow("stft with window") << OpCase{"STFT", 17, {{"onesided", zero}}, {ramp, number(1), floats({2}, {1, 0})}}
                                      << floats({1, 3, 2, 2}, {1, 0, 1, 0, 2, 0, 2, 0, 3, 0, 3, 0});
}

void SignalTest::knownAnswers() {
    QFETCH(OpCase, op);
    QFETCH(Tensor, expected);
    QCOMPARE(answerDifference(op, expected), QString());
}

void SignalTest::spectraAreDefiningSums_data() {
    QTest::addColumn<int>("length");
    for (const int length : {1, 2, 3, 5, 6, 8, 12, 30, 63, 64, 65, 97, 194, 301})
        QTest::addRow("%d", length) << length;
}

// Along the middle axis of a batch of complex signals.
void SignalTest::spectraAreDefiningSums() {
    QFETCH(int, length);
    Rng rng(6);
    const Shape shape{2, length, 3, 2};
    const Tensor x = randomTensor(rng, DType::f64, shape);
    for (const bool inverse : {false, true}) {
        const Tensor y = run({"DFT", 17, {{"axis", one}, {"inverse", std::int64_t{inverse}}}, {x}});
        QCOMPARE(y.shape(), shape);
        for (std::int64_t b = 0; b < 2; ++b)
            for (std::int64_t j = 0; j < 3; ++j) {
                const auto at = [&](std::int64_t i) { return ((b * length + i) * 3 + j) * 2; };
                std::vector<Complex> line;
                for (std::int64_t i = 0; i < length; ++i)
                    line.emplace_back(x.asDouble(at(i)), x.asDouble(at(i) + 1));
                const auto expected = definingSum(line, inverse ? 1 : -1);
                for (std::int64_t k = 0; k < length; ++k) {
                    const Complex actual(y.asDouble(at(k)), y.asDouble(at(k) + 1));
                    QVERIFY(std::abs(actual - expected[static_cast<std::size_t>(k)] / (inverse ? double(length) : 1.0)) < 1e-10);
                }
            }
    }
}

void SignalTest::inverseGivesTheSignalBack() {
    Rng rng(7);
    const Tensor x = randomTensor(rng, DType::f32, {3, 10, 2});
    const Tensor there = run({"DFT", 17, {}, {x}});
    QCOMPARE(difference(run({"DFT", 17, {{"inverse", one}}, {there}}), x), QString());
}

void SignalTest::oneSidedSpectra() {
    Rng rng(8);
    for (const std::int64_t length : {1, 2, 7, 10}) {
        const Tensor x = randomTensor(rng, DType::f64, {2, length, 1});
        const Tensor half = run({"DFT", 17, {{"onesided", one}}, {x}});
        QCOMPARE(half.shape(), (Shape{2, length / 2 + 1, 2}));
        const Tensor back = run({"DFT", 17, {{"onesided", one}, {"inverse", one}}, {half, number(length)}});
        QCOMPARE(difference(back, x), QString());
    }
    const Tensor even = run({"DFT", 17, {{"onesided", one}, {"inverse", one}}, {floats({1, 3, 2}, {10, 0, -2, 2, -2, 0})}});
    QCOMPARE(difference(even, floats({1, 4, 1}, {1, 2, 3, 4})), QString()); // the length is even where none is given
}

// A frame of an STFT is the DFT of what the window shows.
void SignalTest::framesOfAStft() {
    Rng rng(9);
    const Tensor signal = randomTensor(rng, DType::f32, {2, 20, 1}), window = randomTensor(rng, DType::f32, {6});
    const Tensor y = run({"STFT", 17, {}, {signal, number(4), window}});
    QCOMPARE(y.shape(), (Shape{2, 4, 4, 2}));
    for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t f = 0; f < 4; ++f) {
            std::vector<Complex> frame;
            for (std::int64_t i = 0; i < 6; ++i)
                frame.emplace_back(signal.asDouble(b * 20 + f * 4 + i) * window.asDouble(i));
            const auto expected = definingSum(frame, -1);
            for (std::int64_t k = 0; k < 4; ++k) {
                const std::int64_t at = ((b * 4 + f) * 4 + k) * 2;
                QVERIFY(std::abs(Complex(y.asDouble(at), y.asDouble(at + 1)) - expected[static_cast<std::size_t>(k)]) < 1e-5);
            }
        }
}

void SignalTest::shapes() {
    const Dim batch = Dim::named("N");
    const TensorType x(DType::f32, Dims{batch, 8, 1}), count(DType::i64, Dims{});
    const auto text = [](const auto& types) { return QString::fromStdString((*types)[0].text()); };
    QCOMPARE(text(runRule("DFT", 17, {}, {x})), QString("float32[N,8,2]"));
    QCOMPARE(text(runRule("DFT", 17, {{"onesided", one}}, {x})), QString("float32[N,5,2]"));
    QCOMPARE(text(runRule("DFT", 17, {}, {x, count})), QString("float32[N,?,2]"));
    QCOMPARE(text(runRule("DFT", 20, {}, {x, count, count})), QString("float32[?,?,2]"));
    QCOMPARE(text(runRule("STFT", 17, {}, {x, count, TensorType(DType::f32, Dims{4})})), QString("float32[N,?,3,2]"));
    QCOMPARE(text(runRule("HannWindow", 17, {}, {count})), QString("float32[?]"));
    QCOMPARE(text(runRule("MelWeightMatrix", 17, {}, {count, count, count, TensorType(DType::f32, Dims{}), TensorType(DType::f32, Dims{})})),
             QString("float32[?,?]"));
}

void SignalTest::refused_data() {
    QTest::addColumn<OpCase>("op");
    QTest::addColumn<QString>("words");
    const Tensor x = floats({1, 4, 1}, {1, 2, 3, 4}), complex = floats({1, 2, 2}, {1, 2, 3, 4}), low = Tensor::scalar(0.0F);
    QTest::newRow("negative window") << OpCase{"HannWindow", 17, {}, {number(-1)}} << "-1 elements";
    QTest::newRow("two windows") << OpCase{"HannWindow", 17, {}, {Tensor::ofInts({2, 3})}} << "must be a scalar";
    QTest::newRow("window of strings") << OpCase{"HannWindow", 17, {{"output_datatype", std::int64_t{8}}}, {number(2)}} << "no type of numbers";
    QTest::newRow("no bands") << OpCase{"MelWeightMatrix", 17, {}, {number(0), number(8), number(8), low, low}} << "num_mel_bins";
    QTest::newRow("edges above half the rate")
        << OpCase{"MelWeightMatrix", 17, {}, {number(2), number(8), number(8), low, Tensor::scalar(100.0F)}} << "edges";
    QTest::newRow("edges that fall")
        << OpCase{"MelWeightMatrix", 17, {}, {number(2), number(8), number(8), Tensor::scalar(4.0F), Tensor::scalar(-400.0F)}} << "edges";
    QTest::newRow("three parts") << OpCase{"DFT", 17, {}, {floats({1, 1, 3}, {1, 2, 3})}} << "real";
    QTest::newRow("axis of the parts") << OpCase{"DFT", 17, {{"axis", std::int64_t{-1}}}, {x}} << "real and imaginary";
    QTest::newRow("axis too far") << OpCase{"DFT", 17, {{"axis", std::int64_t{3}}}, {x}} << "axis 3";
    QTest::newRow("no length") << OpCase{"DFT", 17, {}, {x, number(0)}} << "length cannot be 0";
    QTest::newRow("one-sided complex") << OpCase{"DFT", 17, {{"onesided", one}}, {complex}} << "needs real input";
    QTest::newRow("one-sided real back") << OpCase{"DFT", 17, {{"onesided", one}, {"inverse", one}}, {x}} << "needs complex input";
    QTest::newRow("no frames") << OpCase{"STFT", 17, {}, {x, number(1)}} << "needs a window";
    QTest::newRow("no step") << OpCase{"STFT", 17, {}, {x, number(0), Tensor(), number(2)}} << "step cannot be 0";
    QTest::newRow("frame too long") << OpCase{"STFT", 17, {}, {x, number(1), Tensor(), number(5)}} << "does not fit";
    QTest::newRow("two lengths") << OpCase{"STFT", 17, {}, {x, number(1), floats({2}, {1, 1}), number(3)}} << "its frames 3";
    QTest::newRow("one-sided complex frames") << OpCase{"STFT", 17, {}, {complex, number(1), Tensor(), number(2)}} << "onesided = 0";
}

void SignalTest::refused() {
    QFETCH(OpCase, op);
    QFETCH(QString, words);
    const auto outputs = runKernel(op);
    QVERIFY(!outputs.ok());
    QVERIFY2(outputs.error().message.find(words.toStdString()) != std::string::npos, outputs.error().message.c_str());
}

QTEST_APPLESS_MAIN(SignalTest)
#include "tst_signal.moc"
