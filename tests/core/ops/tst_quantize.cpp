// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>
#include <limits>

#include "op_case.h"

using namespace tunesmith;

Q_DECLARE_METATYPE(tunesmith::OpCase)
Q_DECLARE_METATYPE(tunesmith::Tensor)

// Quantisation and products of quantised tensors: rounding, saturation, granularity, wrapping sums, the lowerings, and
// what is refused.
class QuantizeTest : public QObject {
    Q_OBJECT
private slots:
    void knownAnswers_data();
    void knownAnswers();
    void dynamic_data();
    void dynamic();
    void roundTrip();
    void productsMatchFloats_data();
    void productsMatchFloats();
    void zeroSized();
    void refused_data();
    void refused();
};

namespace {

template <class T> Tensor of(const Shape& shape, const std::vector<int>& values) {
    return Tensor::of<std::int64_t>(shape, {values.begin(), values.end()}).cast(dtypeOf<T>);
}
using S8 = std::int8_t;
using U8 = std::uint8_t;
using S32 = std::int32_t;

const Tensor kNone;
const float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
Tensor scale(float value) {
    return Tensor::scalar(value);
}

OpCase quantize(std::vector<Tensor> inputs, std::map<std::string, Attribute> attributes = {}, std::int64_t opset = 13) {
    return {"QuantizeLinear", opset, std::move(attributes), std::move(inputs)};
}
OpCase dequantize(std::vector<Tensor> inputs, std::map<std::string, Attribute> attributes = {},
                  std::int64_t opset = 13) {
    return {"DequantizeLinear", opset, std::move(attributes), std::move(inputs)};
}

void elementRows() {
    const Tensor x = floats({8}, {0, 1, 3, 5, 7, -1, 1000, -1000});
    QTest::newRow("half to even") << quantize({x, scale(2)}) << of<U8>({8}, {0, 0, 2, 2, 4, 0, 255, 0});
    QTest::newRow("signed") << quantize({x, scale(2), of<S8>({}, {1})}) << of<S8>({8}, {1, 1, 3, 3, 5, 1, 127, -128});
    QTest::newRow("16 bits") << quantize({x, scale(0.01F), of<std::int16_t>({}, {0})}, {}, 21)
                             << of<std::int16_t>({8}, {0, 100, 300, 500, 700, -100, 32767, -32768});
    QTest::newRow("not numbers") << quantize({floats({3}, {kInfinity, -kInfinity, kNan}), scale(1), of<U8>({}, {9})})
                                 << of<U8>({3}, {255, 0, 0});
    QTest::newRow("integers") << quantize({of<S32>({3}, {-9, 9, 2000}), scale(4), of<U8>({}, {10})})
                              << of<U8>({3}, {8, 12, 255});
    QTest::newRow("float16") << quantize({floats({2}, {1, -1}).cast(DType::f16), scale(0.5F).cast(DType::f16),
                                          of<S8>({}, {0})},
                                         {}, 19)
                             << of<S8>({2}, {2, -2});
    QTest::newRow("scalar") << quantize({scale(6), scale(2)}) << of<U8>({}, {3});
    const Tensor matrix = floats({2, 3}, {2, 4, 6, 8, 10, 12});
    QTest::newRow("per axis") << quantize({matrix, floats({3}, {1, 2, 3}), of<U8>({3}, {0, 1, 2})})
                              << of<U8>({2, 3}, {2, 3, 4, 8, 6, 6});
    QTest::newRow("per first axis") << quantize({matrix, floats({2}, {1, 2}), kNone}, {{"axis", std::int64_t{-2}}})
                                    << of<U8>({2, 3}, {2, 4, 6, 4, 5, 6});
    QTest::newRow("blocks") << quantize({matrix, floats({2, 2}, {1, 2, 4, 1}), of<S8>({2, 2}, {0, 1, 0, -1})},
                                        {{"block_size", std::int64_t{2}}}, 21)
                            << of<S8>({2, 3}, {2, 4, 4, 2, 2, 11});
    QTest::newRow("stated type") << quantize({matrix, scale(1)}, {{"output_dtype", std::int64_t{3}}}, 21)
                                 << of<S8>({2, 3}, {2, 4, 6, 8, 10, 12});

    const Tensor stored = of<U8>({2, 3}, {0, 1, 128, 129, 254, 255});
    QTest::newRow("back") << dequantize({stored, scale(0.5F), of<U8>({}, {128})})
                          << floats({2, 3}, {-64, -63.5F, 0, 0.5F, 63, 63.5F});
    QTest::newRow("back without zero") << dequantize({of<S8>({2}, {-128, 127}), scale(2)}) << floats({2}, {-256, 254});
    QTest::newRow("back int32") << dequantize({of<S32>({2}, {-100000, 7}), scale(2)}) << floats({2}, {-200000, 14});
    QTest::newRow("back per axis") << dequantize({stored, floats({2}, {1, 2}), of<U8>({2}, {0, 255})},
                                                 {{"axis", std::int64_t{0}}})
                                   << floats({2, 3}, {0, 1, 128, -252, -2, 0});
    QTest::newRow("back blocks") << dequantize({stored, floats({1, 3}, {1, 2, 4}), kNone},
                                               {{"axis", std::int64_t{0}}, {"block_size", std::int64_t{2}}}, 21)
                                 << floats({2, 3}, {0, 2, 512, 129, 508, 1020});
    QTest::newRow("back to float16") << dequantize({of<S8>({1}, {3}), scale(0.5F).cast(DType::f16)}, {}, 19)
                                     << floats({1}, {1.5F}).cast(DType::f16);
}

void productRows() {
    const Tensor a = of<U8>({2, 3}, {11, 7, 3, 10, 6, 2}), b = of<S8>({3, 2}, {1, -4, 2, 5, 3, 6});
    QTest::newRow("plain") << OpCase{"MatMulInteger", 10, {}, {a, b}} << of<S32>({2, 2}, {34, 9, 28, 2});
    QTest::newRow("zero points") << OpCase{"MatMulInteger", 10, {}, {a, b, of<U8>({}, {12}), of<S8>({1}, {1})}}
                                 << of<S32>({2, 2}, {-23, -60, -26, -64});
    QTest::newRow("per row and column") << OpCase{"MatMulInteger",
                                                  10,
                                                  {},
                                                  {a, b, of<U8>({2}, {1, 2}), of<S8>({2}, {0, 1})}}
                                        << of<S32>({2, 2}, {10 + 12 + 6, -50 + 24 + 10, 8 + 8, -40 + 16});
    QTest::newRow("vector") << OpCase{"MatMulInteger", 10, {}, {of<U8>({3}, {1, 2, 3}), b}} << of<S32>({2}, {14, 24});
    // sums 34, 9, 28, 2 times 0.5 * 0.5 / 2 = 0.125: 4.25, 1.125, 3.5, 0.25
    const auto qmatmul = [&](const Tensor& scaleA, const Tensor& scaleB, const Tensor& zero) {
        return OpCase{
            "QLinearMatMul", 10, {}, {a, scaleA, of<U8>({}, {0}), b, scaleB, of<S8>({}, {0}), scale(2), zero}};
    };
    QTest::newRow("requantised") << qmatmul(scale(0.5F), scale(0.5F), of<U8>({}, {1})) << of<U8>({2, 2}, {5, 2, 5, 1});
    QTest::newRow("scales per row and column")
        << qmatmul(floats({2}, {2, 4}), floats({2}, {1, 0.5F}), of<S8>({}, {-1})) << of<S8>({2, 2}, {33, 3, 55, 1});
    QTest::newRow("saturates") << qmatmul(scale(100), scale(1), of<S8>({}, {0}))
                               << of<S8>({2, 2}, {127, 127, 127, 100});

    const Tensor image = of<U8>({1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10}),
                 window = of<U8>({1, 1, 2, 2}, {1, 1, 1, 1});
    QTest::newRow("convolution") << OpCase{"ConvInteger", 10, {}, {image, window, of<U8>({}, {1})}}
                                 << of<S32>({1, 1, 2, 2}, {12, 16, 24, 28});
    QTest::newRow("convolution with padding")
        << OpCase{"ConvInteger", 10, {{"pads", Ints{1, 1, 0, 0}}}, {image, window, of<U8>({}, {1})}}
        << of<S32>({1, 1, 3, 3}, {1, 3, 5, 5, 12, 16, 11, 24, 28});
    const Tensor two = of<S8>({2, 1, 1, 1}, {1, 3});
    QTest::newRow("convolution zeros per channel")
        << OpCase{"ConvInteger", 10, {}, {of<U8>({1, 1, 1, 2}, {5, 6}), two, kNone, of<S8>({2}, {0, 1})}}
        << of<S32>({1, 2, 1, 2}, {5, 6, 10, 12});
    QTest::newRow("requantised convolution")
        << OpCase{"QLinearConv",
                  10,
                  {},
                  {of<U8>({1, 1, 1, 2}, {5, 6}), scale(1), of<U8>({}, {4}), two, floats({2}, {2, 0.5F}),
                   of<S8>({2}, {0, 1}), scale(1), of<U8>({}, {10}), of<S32>({2}, {1, -9})}}
        << of<U8>({1, 2, 1, 2}, {14, 16, 6, 8}); // (1, 2) + 1 times 2; (2, 4) - 9 times a half: -3.5 and -2.5
}

} // namespace

void QuantizeTest::knownAnswers_data() {
    QTest::addColumn<OpCase>("c");
    QTest::addColumn<Tensor>("y");
    elementRows();
    productRows();
}

void QuantizeTest::knownAnswers() {
    QFETCH(OpCase, c);
    QFETCH(Tensor, y);
    QCOMPARE(answerDifference(c, y, 0), QString());
    QCOMPARE(compareLowering(c, 0), QString());
    for (std::size_t i = 0; i < c.inputs.size(); ++i) // scalars that are known are burnt into the lowering
        if (!c.inputs[i].absent() && c.inputs[i].count() == 1)
            c.constants.insert(i);
    QCOMPARE(compareLowering(c, 0), QString());
}

void QuantizeTest::dynamic_data() {
    QTest::addColumn<Tensor>("x");
    QTest::addColumn<Tensor>("y");
    QTest::addColumn<float>("scale");
    QTest::addColumn<int>("zero");
    QTest::newRow("both signs") << floats({2, 2}, {-1, 0, 1, 4.1F}) << of<U8>({2, 2}, {0, 50, 100, 255}) << 0.02F << 50;
    QTest::newRow("positive") << floats({2}, {1, 2.55F}) << of<U8>({2}, {100, 255}) << 0.01F << 0;
    QTest::newRow("negative") << floats({2}, {-2.55F, -1}) << of<U8>({2}, {0, 155}) << 0.01F << 255;
    QTest::newRow("zeros") << floats({2}, {0, 0}) << of<U8>({2}, {0, 0}) << 1.0F << 0;
    QTest::newRow("scalar") << floats({}, {2.55F}) << of<U8>({}, {255}) << 0.01F << 0;
}

void QuantizeTest::dynamic() {
    QFETCH(Tensor, x);
    QFETCH(Tensor, y);
    QFETCH(float, scale);
    QFETCH(int, zero);
    const OpCase c{"DynamicQuantizeLinear", 11, {}, {x}, 3};
    const auto result = runKernel(c);
    QVERIFY2(result.ok(), result.ok() ? "" : result.error().message.c_str());
    QCOMPARE(difference((*result)[0], y, 0), QString());
    QCOMPARE(difference((*result)[1], Tensor::scalar(scale), 1e-6), QString());
    QCOMPARE(difference((*result)[2], of<U8>({}, {zero}), 0), QString());
    QCOMPARE(compareLowering(c, 1e-6), QString());
}

void QuantizeTest::roundTrip() {
    Rng rng(5);
    const Tensor x = randomTensor(rng, DType::f32, {4, 7, 3}, -1, 1),
                 scales = randomTensor(rng, DType::f32, {7}, 0.01, 0.02);
    const Tensor zeros = randomTensor(rng, DType::u8, {7}, 100, 150);
    const auto stored = runKernel(quantize({x, scales, zeros}));
    QVERIFY(stored.ok());
    const auto back = runKernel(dequantize({stored->front(), scales, zeros}));
    QVERIFY(back.ok());
    for (std::int64_t i = 0; i < x.count(); ++i)
        QVERIFY(std::fabs(back->front().asDouble(i) - x.asDouble(i)) <= 0.5 * scales.asDouble(i / 3 % 7) + 1e-6);
}

void QuantizeTest::productsMatchFloats_data() {
    QTest::addColumn<OpCase>("integers");
    QTest::addColumn<OpCase>("reals");
    Rng rng(9);
    const auto row = [&](const char* name, const char* op, const char* real, const Shape& a, const Shape& b,
                         const std::map<std::string, Attribute>& attributes) {
        const Tensor left = randomTensor(rng, DType::u8, a, 0, 256), right = randomTensor(rng, DType::i8, b, -128, 128);
        const Tensor shifted = runKernel({"Sub", 14, {}, {left.cast(DType::f32), scale(100)}})->front();
        QTest::newRow(name) << OpCase{op, 10, attributes, {left, right, of<U8>({}, {100})}}
                            << OpCase{real, 13, attributes, {shifted, right.cast(DType::f32)}};
    };
    row("matrices", "MatMulInteger", "MatMul", {5, 9}, {9, 3}, {});
    row("batches", "MatMulInteger", "MatMul", {3, 1, 5, 4}, {2, 4, 3}, {});
    row("matrix and vector", "MatMulInteger", "MatMul", {5, 4}, {4}, {});
    row("images", "ConvInteger", "Conv", {2, 4, 6, 5}, {6, 2, 3, 3},
        {{"group", std::int64_t{2}}, {"pads", Ints{1, 0, 2, 1}}, {"strides", Ints{2, 1}}, {"dilations", Ints{1, 2}}});
    row("signals", "ConvInteger", "Conv", {1, 3, 9}, {2, 3, 4}, {{"auto_pad", std::string("SAME_UPPER")}});
}

void QuantizeTest::productsMatchFloats() {
    QFETCH(OpCase, integers);
    QFETCH(OpCase, reals);
    const auto exact = runKernel(integers), real = runKernel(reals);
    QVERIFY2(exact.ok(), exact.ok() ? "" : exact.error().message.c_str());
    QVERIFY(real.ok());
    QCOMPARE(exact->front().type(), DType::i32);
    QCOMPARE(difference(exact->front().cast(DType::f32), real->front(), 1e-6), QString());
    QCOMPARE(compareLowering(integers, 0), QString());
}

void QuantizeTest::zeroSized() {
    const auto nothing = runKernel(quantize({floats({0, 3}, {}), floats({3}, {1, 1, 1})}));
    QVERIFY(nothing.ok());
    QCOMPARE(nothing->front().shape(), (Shape{0, 3}));
    const auto empty = runKernel({"DynamicQuantizeLinear", 11, {}, {floats({0}, {})}, 3});
    QVERIFY(empty.ok());
    QCOMPARE((*empty)[1].asDouble(0), 1.0);
    const auto sums = runKernel({"MatMulInteger", 10, {}, {of<U8>({2, 0}, {}), of<U8>({0, 1}, {})}});
    QVERIFY(sums.ok());
    QCOMPARE(difference(sums->front(), of<S32>({2, 1}, {0, 0})), QString());
}

void QuantizeTest::refused_data() {
    QTest::addColumn<OpCase>("c");
    QTest::addColumn<QString>("words");
    const auto row = [](const char* name, const OpCase& c, const char* words) { QTest::newRow(name) << c << words; };
    const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6}), bytes = of<U8>({2, 3}, {1, 2, 3, 4, 5, 6});
    row("length", quantize({x, floats({2}, {1, 1})}), "one for each index of axis 1");
    row("axis", quantize({x, floats({3}, {1, 1, 1})}, {{"axis", std::int64_t{2}}}), "axis 2 is out of range");
    row("rank of scale", quantize({x, floats({2, 3}, {1, 1, 1, 1, 1, 1})}), "one for each index");
    row("zero point", quantize({x, floats({3}, {1, 1, 1}), of<U8>({}, {1})}), "must have the same shape");
    row("type of zero point", quantize({x, scale(1), of<S32>({}, {1})}), "must be an integer of 16 bits or less");
    row("type", quantize({x, scale(1), of<U8>({}, {1})}, {{"output_dtype", std::int64_t{3}}}, 21),
        "not the type of the zero point");
    row("float16", quantize({x, scale(1)}, {{"output_dtype", std::int64_t{10}}}, 21), "output_dtype 10 is neither");
    row("blocks", quantize({x, floats({2, 2}, {1, 1, 1, 1})}, {{"block_size", std::int64_t{1}}}, 21),
        "one scale for every 1 elements");
    row("negative blocks", quantize({x, floats({2, 3}, {1, 1, 1, 1, 1, 1})}, {{"block_size", std::int64_t{-1}}}, 21),
        "one scale for every");
    row("strings", quantize({Tensor::ofStrings({1}, {"a"}), scale(1)}), "must be a floating-point type or int32");
    row("floats back", dequantize({x, scale(1)}), "must be an integer of 16 bits or less");
    row("other zero point", dequantize({bytes, scale(1), of<S8>({}, {1})}), "must have the same element type");
    row("dynamic double", {"DynamicQuantizeLinear", 11, {}, {x.cast(DType::f64)}, 3}, "must be float32");
    const Tensor square = of<U8>({3, 2}, {1, 2, 3, 4, 5, 6});
    row("inner", {"MatMulInteger", 10, {}, {bytes, bytes}}, "inner dimensions differ");
    row("int32", {"MatMulInteger", 10, {}, {bytes.cast(DType::i32), square}}, "must be int8 or uint8");
    row("rows", {"MatMulInteger", 10, {}, {bytes, square, of<U8>({3}, {1, 2, 3})}}, "one value per row");
    row("columns", {"MatMulInteger", 10, {}, {bytes, square, kNone, of<U8>({3}, {1, 2, 3})}}, "one value per column");
    row("summed", {"MatMulInteger", 10, {}, {bytes, square, of<U8>({1, 3}, {1, 2, 3})}}, "one value per row");
    const auto qmatmul = [&](const Tensor& a, const Tensor& scaleB, const Tensor& scaleY) {
        return OpCase{"QLinearMatMul",
                      10,
                      {},
                      {a, scale(1), of<U8>({}, {0}), square, scaleB, of<U8>({}, {0}), scaleY, of<U8>({}, {0})}};
    };
    row("scale of the result", qmatmul(bytes, scale(1), floats({2}, {1, 2})),
        "input 6 is float32[2] but must be a scalar");
    row("scale beside a vector", qmatmul(of<U8>({3}, {1, 2, 3}), floats({2}, {1, 2}), scale(1)), "must be a scalar");
    const Tensor image = of<U8>({1, 1, 2, 2}, {1, 2, 3, 4}), window = of<U8>({1, 1, 1, 1}, {1});
    row("image zeros", {"ConvInteger", 10, {}, {image, window, of<U8>({2}, {1, 2})}}, "one value for the whole tensor");
    row("window zeros", {"ConvInteger", 10, {}, {image, window, kNone, of<U8>({2}, {1, 2})}},
        "one value per output channel");
    row("kernel", {"ConvInteger", 10, {{"kernel_shape", Ints{2, 2}}}, {image, window}},
        "kernel_shape [2, 2] does not fit");
    row("missing", {"QLinearConv", 10, {}, {image, scale(1)}}, "input 2 is missing");
}

void QuantizeTest::refused() {
    QFETCH(OpCase, c);
    QFETCH(QString, words);
    QCOMPARE(refusalDifference(c, words), QString());
}

QTEST_GUILESS_MAIN(QuantizeTest)
#include "tst_quantize.moc"
