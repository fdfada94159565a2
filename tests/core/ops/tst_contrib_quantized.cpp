// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "contrib_case.h"
#include "tests/take.h"

// Quantised operators of com.microsoft. Expected values are ONNX Runtime's, and bytes must be equal to them.
using namespace tunesmith;

namespace {

using I = std::int64_t;
using Attributes = std::map<std::string, Attribute>;

Tensor real(float value) {
    return Tensor::scalar(value);
}
Tensor u8(std::uint8_t value) {
    return Tensor::scalar(value);
}
Tensor i8(std::int8_t value) {
    return Tensor::scalar(value);
}
Tensor asSigned(const Tensor& x) { // the same bits
    Tensor result = Tensor::zeros(DType::i8, x.shape());
    std::ranges::copy(x.bytes(), result.mutableBytes().begin());
    return result;
}
Tensor signedBytes(const Shape& shape, const std::vector<std::int8_t>& values) {
    return Tensor::of<std::int8_t>(shape, values);
}
Tensor mixed(const Shape& shape, int factor) { // bytes without an order
    Tensor x = Tensor::zeros(DType::u8, shape);
    for (std::int64_t i = 0; i < x.count(); ++i)
        x.mutableData<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * factor);
    return x;
}

Tensor left() {
    return bytes({8}, {0, 1, 2, 3, 127, 128, 200, 255});
}
Tensor right() {
    return bytes({8}, {255, 254, 7, 3, 0, 128, 1, 2});
}

ContribCases arithmetic() {
    const std::vector<Tensor> ties{left(), real(.5F), u8(1), right(), real(.25F), u8(0), real(1), u8(1)};
    const std::vector<Tensor> odd{asSigned(left()), real(.3F), i8(-5),     asSigned(right()),
                                  real(.07F),       i8(9),     real(.11F), i8(3)};
    return {
        {"QLinearAdd, ties",
         {contrib("QLinearAdd", {}, ties), {bytes({8}, {64, 64, 3, 3, 64, 96, 101, 128})}}},
        {"QLinearAdd, signed",
         {contrib("QLinearAdd", {}, odd), {signedBytes({8}, {10, 12, 21, 21, 127, -128, -128, 9})}}},
        {"QLinearMul, ties", {contrib("QLinearMul", {}, ties), {bytes({8}, {0, 1, 2, 2, 1, 255, 26, 64})}}},
        {"QLinearMul, signed",
         {contrib("QLinearMul", {}, odd), {signedBytes({8}, {-7, -10, 0, -6, -128, 127, 81, -2})}}},
    };
}

Tensor image() {
    return mixed({1, 2, 4, 4}, 37);
}
Tensor imageLast() {
    Tensor last = Tensor::zeros(DType::u8, {1, 4, 4, 2});
    for (std::int64_t i = 0; i < 32; ++i)
        last.mutableData<std::uint8_t>()[i] = image().data<std::uint8_t>()[i % 2 * 16 + i / 2];
    return last;
}

ContribCases pools() {
    const auto pool = [](const Tensor& x, const Attributes& attributes) {
        return contrib("QLinearAveragePool", attributes, {x, real(.1F), u8(3), real(.1F), u8(5)});
    };
    const Attributes padded{
        {"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}};
    Attributes counted = padded;
    counted["count_include_pad"] = I{1};
    return {
        {"QLinearAveragePool",
         {pool(image(), padded), {bytes({1, 2, 2, 2}, {95, 107, 146, 116, 110, 102, 98, 111})}}},
        {"QLinearAveragePool, padding counts",
         {pool(image(), counted), {bytes({1, 2, 2, 2}, {45, 73, 99, 116, 52, 70, 67, 111})}}},
        {"QLinearAveragePool, the whole image, a tie",
         {contrib("QLinearAveragePool", {{"kernel_shape", Ints{1, 2}}},
                  {bytes({1, 1, 1, 2}, {1, 2}), real(1), u8(1), real(1), u8(1)}),
          {bytes({1, 1, 1, 1}, {1})}}},
        {"QLinearAveragePool, the whole image, channels last, ties",
         {contrib("QLinearAveragePool", {{"kernel_shape", Ints{2, 1}}, {"channels_last", I{1}}},
                  {bytes({1, 2, 1, 2}, {1, 2, 2, 5}), real(1), u8(1), real(1), u8(1)}),
          {bytes({1, 1, 1, 2}, {1, 3})}}},
        {"QLinearGlobalAveragePool",
         {contrib("QLinearGlobalAveragePool", {}, {asSigned(image()), real(.1F), i8(3), real(.05F), i8(5)}),
          {signedBytes({1, 2, 1, 1}, {10, 42})}}},
        {"QLinearGlobalAveragePool, channels last",
         {contrib("QLinearGlobalAveragePool", {{"channels_last", I{1}}},
                  {imageLast(), real(.1F), u8(3), real(.05F), u8(5)}),
          {bytes({1, 1, 1, 2}, {202, 234})}}},
    };
}

ContribCases functions() {
    const Tensor rows = bytes({1, 2, 3, 2}, {0, 10, 20, 30, 200, 210, 100, 255, 1, 2, 3, 4});
    const auto softmax = [&](I opset, I axis) {
        return contrib("QLinearSoftmax", {{"opset", opset}, {"axis", axis}},
                       {rows, real(.05F), u8(7), real(1.0F / 256), u8(0)});
    };
    const Tensor choice = Tensor::of<std::uint8_t>({8}, {1, 0, 1, 0, 1, 1, 0, 0}).cast(DType::boolean);
    return {
        {"QLinearSigmoid",
         {contrib("QLinearSigmoid", {}, {left(), real(.05F), u8(128), real(1.0F / 256), u8(0)}),
          {bytes({8}, {0, 0, 0, 0, 125, 128, 249, 255})}}},
        {"QLinearLeakyRelu",
         {contrib("QLinearLeakyRelu", {{"alpha", .1F}},
                  {asSigned(left()), real(.5F), i8(10), real(.25F), i8(-3)}),
          {signedBytes({8}, {-5, -5, -5, -4, 127, -31, -16, -5})}}},
        {"QLinearSoftmax, one axis",
         {softmax(13, 1), {bytes({1, 2, 3, 2}, {2, 0, 185, 205, 255, 255, 254, 255, 71, 51, 0, 0})}}},
        {"QLinearSoftmax, last axis",
         {softmax(13, -1), {bytes({1, 2, 3, 2}, {97, 159, 97, 159, 97, 159, 0, 255, 125, 131, 125, 131})}}},
        {"QLinearSoftmax, flattened",
         {softmax(12, 2), {bytes({1, 2, 3, 2}, {0, 0, 0, 0, 97, 159, 0, 255, 0, 0, 0, 0})}}},
        {"QLinearConcat",
         {contrib("QLinearConcat", {{"axis", I{1}}},
                  {real(.5F), u8(2), left().reshaped({2, 4}), real(.25F), u8(0),
                   bytes({2, 2}, {255, 254, 7, 3}), real(.5F), u8(2)},
                  1, {0, 1, 3, 4, 6, 7}),
          {bytes({2, 6}, {2, 2, 3, 4, 255, 254, 66, 66, 102, 130, 7, 3})}}},
        {"QLinearWhere",
         {contrib("QLinearWhere", {},
                  {choice, left(), real(.25F), u8(1), bytes({1}, {9}), real(.3F), u8(0), real(.5F), u8(2)}),
          {bytes({8}, {2, 7, 2, 7, 65, 66, 7, 7})}}},
    };
}

ContribCases products() {
    const Tensor a = floats({2, 3}, {-1, .5F, 2, 0, .25F, -3}), b = mixed({3, 2}, 57),
                 stored = mixed({2, 3}, 91);
    const Tensor scales = floats({2}, {.1F, .2F}), bias = floats({2}, {1, -1});
    return {
        {"DynamicQuantizeMatMul",
         {contrib("DynamicQuantizeMatMul", {}, {a, asSigned(b), scales, signedBytes({2}, {3, -4}), bias}),
          {floats({2, 2}, {.7588235F, -8.258823F, 13.129412F, -24.929413F})}}},
        {"MatMulIntegerToFloat",
         {contrib("MatMulIntegerToFloat", {},
                  {stored, b, real(.1F), scales, u8(7), bytes({2}, {3, 200}), bias}),
          {floats({2, 2}, {488.20004F, -628.2001F, 544.81006F, -744.82007F})}}},
        {"QGemm",
         {contrib("QGemm", {{"transB", I{1}}, {"alpha", .5F}},
                  {stored, real(.1F), u8(7), asSigned(mixed({2, 3}, 57)), scales, signedBytes({2}, {3, -4}),
                   Tensor::of<std::int32_t>({2}, {5, -6}), real(2), u8(9)}),
          {bytes({2, 2}, {69, 31, 76, 24})}}},
        {"QGemm to floats",
         {contrib("QGemm", {{"alpha", .5F}}, {stored, real(.1F), u8(7), b, real(.1F), u8(3)}),
          {floats({2, 2}, {243.60002F, 91.42F, 271.90503F, 112.50003F})}}},
        {"QLinearConv, channels last",
         {contrib("QLinearConv", {{"channels_last", I{1}}},
                  {imageLast(), real(.1F), u8(3), asSigned(mixed({1, 2, 2, 2}, 77)), real(.2F), i8(0),
                   real(3), u8(100)}),
          {bytes({1, 3, 3, 1}, {0, 0, 0, 218, 92, 0, 0, 0, 34})}}},
    };
}

ContribCases tables() {
    std::vector<std::uint8_t> nibbles{0x21, 0x43, 0x65, 0x87, 0xa9, 0xcb, 0xed, 0x0f,
                                      0x12, 0x12, 0x12, 0x12, 0x12, 0x12, 0x12, 0x12};
    std::vector<std::uint8_t> twoRows = nibbles;
    twoRows.insert(twoRows.end(), nibbles.rbegin(), nibbles.rend());
    const Tensor scales = floats({2, 2}, {.5F, 2, 1, -1});
    const Attributes four{{"block_size", I{16}}};
    const auto coded = [](const Tensor& a, const std::vector<std::uint8_t>& codes, const Tensor& scale, I n,
                          I kind) {
        return contrib("MatMulBnb4",
                       {{"K", a.shape()[1]}, {"N", n}, {"block_size", I{16}}, {"quant_type", kind}},
                       {a, bytes({static_cast<I>(codes.size())}, codes), scale});
    };
    std::vector<std::uint8_t> allCodes;
    for (int i = 0; i < 16; ++i)
        allCodes.push_back(static_cast<std::uint8_t>(i % 8 * 0x22 + 0x10));
    return {
        {"GatherBlockQuantized, 4 bits",
         {contrib("GatherBlockQuantized", four, {bytes({2, 16}, twoRows), Tensor::ofInts({0}), scales}),
          {floats({1, 32}, {-3.5F, -3,   -2.5F, -2,   -1.5F, -1,  -.5F, 0,   .5F, 1,   1.5F,
                            2,     2.5F, 3,     3.5F, -4,    -12, -14,  -12, -14, -12, -14,
                            -12,   -14,  -12,   -14,  -12,   -14, -12,  -14, -12, -14})}}},
        {"GatherBlockQuantized, 4 bits, zero points",
         {contrib("GatherBlockQuantized", four,
                  {bytes({2, 16}, twoRows), Tensor::ofInts({-2}), scales, bytes({2, 1}, {0x31, 0x9f})}),
          {floats({1, 32}, {0,  .5F, 1,  1.5F, 2,  2.5F, 3,  3.5F, 4,  4.5F, 5,  5.5F, 6,  6.5F, 7,  -.5F,
                            -2, -4,  -2, -4,   -2, -4,   -2, -4,   -2, -4,   -2, -4,   -2, -4,   -2, -4})}}},
        {"GatherBlockQuantized, int4",
         {contrib("GatherBlockQuantized",
                  {{"block_size", I{16}}, {"gather_axis", I{1}}, {"quantize_axis", I{0}}},
                  {floats({2, 2}, {-8, 7, 3, -1}).cast(DType::i4), Tensor::ofInts({1, 0}),
                   floats({1, 2}, {.5F, 2}), floats({1, 2}, {-1, 2}).cast(DType::i4)},
                  1, {0, 3}),
          {floats({2, 2}, {10, -3.5F, -6, 2})}}},
        {"MatMulBnb4, NF4",
         {coded(floats({2, 3}, {0, 1, 2, 3, 4, 5}), {0x12, 0x34, 0x5f}, floats({1}, {2}), 2, 1),
          {floats({2, 2}, {-2.629816F, 3.630453F, -12.326916F, 6.815164F})}}},
        {"MatMulBnb4, FP4",
         {coded(floats({2, 3}, {0, 1, 2, 3, 4, 5}), {0x12, 0x34, 0x5f}, floats({1}, {2}), 2, 0),
          {floats({2, 2}, {5.3333335F, 0, 15.364584F, 3.5F})}}},
        {"MatMulBnb4, all codes",
         {coded(counted({1, 32}), allCodes, floats({2}, {2, 3}), 1, 0), {floats({1, 1}, {-116.87501F})}}},
        {"EmbedLayerNormalization",
         {contrib("EmbedLayerNormalization", {{"epsilon", .1F}},
                  {Tensor::of<std::int32_t>({1, 3}, {1, 0, 2}), Tensor::of<std::int32_t>({1, 3}, {0, 1, 0}),
                   floats({3, 2}, {0, 1, 4, 9, 16, 25}), counted({4, 2}), floats({2, 2}, {1, -1, 3, 2}),
                   floats({2}, {1, 2}), floats({2}, {.5F, 0}), Tensor::of<std::int32_t>({1, 3}, {1, 1, 0})},
                  3),
          {floats({1, 3, 2},
                  {-.487729609F, 1.975459218F, -.345154226F, 1.69030845F, -.496889532F, 1.993779063F}),
           Tensor::of<std::int32_t>({1}, {2}), floats({1, 3, 2}, {5, 9, 5, 6, 21, 29})}}},
        {"EmbedLayerNormalization, masks of padding on the left, holes and other numbers",
         {contrib("EmbedLayerNormalization", {},
                  {Tensor::zeros(DType::i32, {4, 3}), {}, counted({1, 2}), counted({3, 2}), {}, counted({2}),
                   counted({2}), Tensor::of<std::int32_t>({4, 3}, {0, 1, 1, 1, 0, 1, 2, 1, -1, 0, 0, 0})},
                  2),
          {{}, Tensor::of<std::int32_t>({4}, {2, 2, 1, 0})}}},
    };
}

// Shapes, types and left out inputs that the rows above do not have.
std::vector<std::pair<const char*, OpCase>> randomCases() {
    Rng rng(11);
    const auto q = [&](const Shape& shape, DType type) {
        return randomTensor(rng, type, shape, type == DType::i8 ? -128 : 0, type == DType::i8 ? 128 : 256);
    };
    const auto q4 = [&](const Shape& shape, DType type) {
        return randomTensor(rng, DType::f32, shape, type == DType::i4 ? -8 : 0, type == DType::i4 ? 7 : 15)
            .cast(type);
    };
    const auto x = [&](const Shape& shape, double low = -2, double high = 2) {
        return randomTensor(rng, DType::f32, shape, low, high);
    };
    const std::vector<Tensor> pair{q({3, 1, 5}, DType::u8), real(.3F), {},        q({4, 5}, DType::u8),
                                   floats({1}, {.7F}),      {},        real(.9F), {}};
    return {
        {"QLinearAdd, broadcast, no zero points", contrib("QLinearAdd", {}, pair)},
        {"QLinearMul, broadcast, no zero points", contrib("QLinearMul", {}, pair)},
        {"QLinearAveragePool, line, overhanging",
         contrib("QLinearAveragePool", {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"ceil_mode", I{1}}},
                 {q({2, 3, 8}, DType::i8), real(.4F), i8(3), real(.3F)})},
        {"QLinearAveragePool, channels last",
         contrib("QLinearAveragePool", {{"kernel_shape", Ints{2, 2}}, {"channels_last", I{1}}},
                 {q({2, 5, 4, 3}, DType::u8), real(.4F), u8(3), real(.3F), u8(9)})},
        {"QLinearGlobalAveragePool, line",
         contrib("QLinearGlobalAveragePool", {}, {q({2, 3, 7}, DType::u8), real(.4F), {}, real(.3F)})},
        {"QLinearSigmoid, signed",
         contrib("QLinearSigmoid", {},
                 {q({3, 9}, DType::i8), real(.06F), i8(-7), real(1.0F / 256), i8(-128)})},
        {"QLinearLeakyRelu, no zero points",
         contrib("QLinearLeakyRelu", {}, {q({40}, DType::i8), real(.06F), {}, real(.05F)})},
        {"QLinearWhere, broadcast",
         contrib("QLinearWhere", {},
                 {randomTensor(rng, DType::u8, {3, 1}, 0, 2).cast(DType::boolean), q({4}, DType::i8),
                  real(.3F), i8(3), q({2, 1, 1}, DType::i8), real(.2F), i8(-3), real(.25F), i8(1)})},
        {"QLinearConcat, three parts",
         contrib("QLinearConcat", {{"axis", I{-2}}},
                 {real(.5F), i8(2), q({2, 3}, DType::i8), real(.4F), i8(1), q({1, 3}, DType::i8), real(.5F),
                  i8(2), q({3, 3}, DType::i8), real(.6F), i8(0)})},
        {"DynamicQuantizeMatMul, one scale",
         contrib("DynamicQuantizeMatMul", {}, {x({2, 3, 4}), q({4, 5}, DType::u8), floats({1}, {.1F})})},
        {"DynamicQuantizeMatMul, all positive",
         contrib("DynamicQuantizeMatMul", {},
                 {x({3, 4}, 1, 2), q({4, 5}, DType::i8), x({5}, 0, 1), q({5}, DType::i8), x({5})})},
        {"MatMulIntegerToFloat, no zero points",
         contrib("MatMulIntegerToFloat", {},
                 {q({2, 3, 4}, DType::i8), q({4, 5}, DType::i8), floats({1}, {.1F}), real(.2F)})},
        {"QGemm, transposed",
         contrib("QGemm", {{"transA", I{1}}},
                 {q({4, 3}, DType::u8), real(.1F), u8(100), q({4, 5}, DType::u8), x({5}, .1, .2),
                  q({5}, DType::u8), randomTensor(rng, DType::i32, {3, 1}, -99, 99), real(30), u8(128)})},
        {"GatherBlockQuantized, 8 bits",
         contrib("GatherBlockQuantized", {{"bits", I{8}}, {"block_size", I{16}}},
                 {q({5, 40}, DType::u8), Tensor::of<std::int32_t>({2, 2}, {4, 0, -1, 2}), x({5, 3}),
                  q({5, 3}, DType::u8)})},
        {"GatherBlockQuantized, 2 bits",
         contrib("GatherBlockQuantized", {{"bits", I{2}}, {"block_size", I{16}}, {"quantize_axis", I{-1}}},
                 {q({2, 3, 10}, DType::u8), Tensor::of<std::int32_t>({}, {1}), x({2, 3, 3})})},
        {"GatherBlockQuantized, int4 with zero points",
         contrib("GatherBlockQuantized", {{"block_size", I{16}}},
                 {q4({5, 40}, DType::i4), Tensor::ofInts({4, 0, -1}), x({5, 3}), q4({5, 3}, DType::i4)}, 1,
                 {0, 3})},
        {"GatherBlockQuantized, uint4 without zero points",
         contrib("GatherBlockQuantized",
                 {{"block_size", I{16}}, {"gather_axis", I{-1}}, {"quantize_axis", I{0}}},
                 {q4({20, 6}, DType::u4), Tensor::ofInts({5, 0}), x({2, 6})}, 1, {0})},
        {"MatMulBnb4, odd rows, half",
         contrib("MatMulBnb4", {{"K", I{19}}, {"N", I{5}}, {"block_size", I{32}}},
                 {x({2, 19}).cast(DType::f16), q({48}, DType::u8), x({3}).cast(DType::f16)})},
        {"QEmbedLayerNormalization", contrib("QEmbedLayerNormalization", {{"epsilon", .1F}},
                                             {randomTensor(rng, DType::i32, {2, 3}, 0, 5),
                                              randomTensor(rng, DType::i32, {2, 3}, 0, 2),
                                              q({5, 4}, DType::u8),
                                              q({7, 4}, DType::u8),
                                              q({2, 4}, DType::u8),
                                              q({4}, DType::i8),
                                              q({4}, DType::i8),
                                              randomTensor(rng, DType::i32, {2, 3}, 0, 2),
                                              real(.1F),
                                              real(.2F),
                                              real(.3F),
                                              real(.01F),
                                              real(.02F),
                                              u8(100),
                                              u8(3),
                                              {},
                                              i8(5),
                                              i8(-6)},
                                             2)},
        {"EmbedLayerNormalization, ids of positions", contrib("EmbedLayerNormalization", {},
                                                              {randomTensor(rng, DType::i32, {2, 3}, 0, 5),
                                                               {},
                                                               x({5, 4}),
                                                               x({7, 4}),
                                                               {},
                                                               x({4}),
                                                               x({4}),
                                                               {},
                                                               randomTensor(rng, DType::i32, {1, 3}, 0, 7)},
                                                              3)},
        {"Trilu", contrib("Trilu", {{"upper", I{0}}}, {x({2, 3, 4})})},
        {"GatherND", contrib("GatherND", {}, {x({3, 4}), Tensor::ofInts({2, 1, 0, 3}).reshaped({2, 2})})},
        {"Pad", contrib("Pad", {}, {x({2, 3}), Tensor::ofInts({0, 1, 1, 2}), real(7)}, 1, {1, 2})},
        {"DequantizeLinear of 16 bits", contrib("DequantizeLinear", {{"axis", I{0}}},
                                                {randomTensor(rng, DType::i16, {2, 3}, -999, 999), x({2}),
                                                 randomTensor(rng, DType::i16, {2}, -9, 9)})},
        {"QuantizeLinear to 16 bits",
         contrib("QuantizeLinear", {}, {x({2, 3}, -99, 99), real(.01F), Tensor::scalar(std::uint16_t{700})})},
    };
}

} // namespace

Q_DECLARE_METATYPE(tunesmith::ContribCase)
Q_DECLARE_METATYPE(tunesmith::OpCase)
Q_DECLARE_METATYPE(tunesmith::Tensor)

class TestContribQuantized : public QObject {
    Q_OBJECT
private slots:
    void answers_data() {
        QTest::addColumn<ContribCase>("known");
        for (const auto& cases : {arithmetic(), pools(), functions(), products(), tables()})
            for (const auto& [name, known] : cases)
                QTest::newRow(name) << known;
    }
    void answers() {
        QFETCH(ContribCase, known);
        QCOMPARE(compareAnswers(known), QString());
        // Lowerings are evaluated in double, where the sum of a mean may fall to the other side of a tie.
        QCOMPARE(compareCompiledForm(known.c, known.c.op == "QLinearAveragePool" ? 0.011 : 1e-5), QString());
    }

    void compiledForms_data() {
        QTest::addColumn<OpCase>("c");
        for (const auto& [name, c] : randomCases())
            QTest::newRow(name) << c;
    }
    void compiledForms() {
        QFETCH(OpCase, c);
        const double tolerance = c.inputs[0].type() == DType::f16 ? 5e-3 : 1e-5;
        QCOMPARE(compareCompiledForm(c, tolerance), QString());
        c.opset = 12;
        QCOMPARE(compareCompiledForm(c, tolerance), QString());
    }

    // Every pair of bytes, with scales that put many results on ties.
    void everyPair_data() {
        QTest::addColumn<QString>("op");
        QTest::newRow("sum") << "QLinearAdd";
        QTest::newRow("product") << "QLinearMul";
    }
    void everyPair() {
        QFETCH(QString, op);
        Tensor all = Tensor::zeros(DType::u8, {256});
        std::iota(all.mutableData<std::uint8_t>().begin(), all.mutableData<std::uint8_t>().end(),
                  std::uint8_t{0});
        const OpCase c =
            contrib(op.toStdString(), {},
                    {all.reshaped({256, 1}), real(.5F), u8(3), all, real(.25F), u8(250), real(.75F), u8(7)});
        QCOMPARE(compareCompiledForm(c, 0), QString());
    }

    // Scales of unknown rank, and a table that has no axis to quantise along, stay as they are.
    void tablesThatStay_data() {
        QTest::addColumn<Tensor>("table");
        QTest::newRow("scales") << counted({4, 32}).cast(DType::i4);
        QTest::newRow("scales, uint4") << counted({4, 32}).cast(DType::u4);
        QTest::newRow("axis") << counted({32}).cast(DType::i4);
    }
    void tablesThatStay() {
        QFETCH(Tensor, table);
        GraphBuilder builder;
        builder.setOpset("", 17);
        builder.setOpset("com.microsoft", 1);
        Node node;
        node.op = "GatherBlockQuantized";
        node.domain = "com.microsoft";
        node.attributes = {{"block_size", I{16}}};
        node.inputs = {builder.addConstant("table", table),
                       builder.addInput("picked", TensorType(DType::i64, Shape{2})),
                       builder.addInput("scales", TensorType(DType::f32))};
        node.outputs = {builder.addValue("y", TensorType(DType::f32, Shape{2, 32}))};
        builder.setOutputs(node.outputs);
        builder.addNode(std::move(node));
        const auto graph = builder.build();
        QVERIFY(graph.ok());
        const auto expanded = expandNodes(*graph);
        QVERIFY(expanded.ok());
        QCOMPARE(expanded->nodeCount(), std::size_t{1});
        QVERIFY(!checkLowerable(*expanded, NodeId(0)).ok());
    }

    void refused_data() {
        QTest::addColumn<OpCase>("c");
        QTest::addColumn<QString>("words");
        const auto add = [](const char* name, const OpCase& c, const char* words) {
            QTest::newRow(name) << c << QString(words);
        };
        const Tensor q = left();
        add("no scale", contrib("QLinearAdd", {}, {q, {}, u8(0), q, real(1), u8(0), real(1), u8(0)}),
            "input 1 is missing");
        add("types",
            contrib("QLinearMul", {}, {q, real(1), u8(0), asSigned(q), real(1), i8(0), real(1), u8(0)}),
            "must have the same element type");
        add("broadcast",
            contrib("QLinearAdd", {},
                    {q, real(1), u8(0), bytes({3}, {1, 2, 3}), real(1), u8(0), real(1), u8(0)}),
            "cannot be broadcast");
        add("scale of a channel",
            contrib("QLinearSigmoid", {}, {q, floats({2}, {1, 2}), u8(0), real(1), u8(0)}),
            "must be a scalar");
        add("window",
            contrib("QLinearAveragePool", {{"kernel_shape", Ints{9, 9}}},
                    {image(), real(1), u8(0), real(1), u8(0)}),
            "");
        add("concat inputs", contrib("QLinearConcat", {{"axis", I{0}}}, {real(1), u8(0), q, real(1)}),
            "each part needs a tensor, a scale and a zero point");
        add("columns",
            contrib("DynamicQuantizeMatMul", {}, {counted({2, 8}), mixed({8, 3}, 1), floats({2}, {1, 2})}),
            "one scale for each column");
        add("inner dimensions",
            contrib("QGemm", {}, {mixed({2, 3}, 1), real(1), u8(0), mixed({2, 3}, 1), real(1), u8(0)}),
            "the inner dimensions differ");
        add("codes",
            contrib("MatMulBnb4", {{"K", I{16}}, {"N", I{2}}, {"block_size", I{16}}},
                    {counted({1, 16}), mixed({15}, 1), counted({2})}),
            "two codes in each byte");
        add("index",
            contrib("GatherBlockQuantized", {{"block_size", I{16}}},
                    {mixed({2, 8}, 1), Tensor::ofInts({2}), counted({2, 1})}),
            "index 2 is out of range");
        add("scale of a table",
            contrib("QEmbedLayerNormalization", {},
                    {Tensor::of<std::int32_t>({1, 1}, {0}),
                     {},
                     mixed({2, 2}, 1),
                     mixed({2, 2}, 1),
                     {},
                     mixed({2}, 1),
                     mixed({2}, 1)}),
            "input 8 is missing");
        add("bits of a table",
            contrib("GatherBlockQuantized", {{"block_size", I{16}}, {"bits", I{8}}},
                    {counted({2, 16}).cast(DType::u4), Tensor::ofInts({1}), counted({2, 1})}),
            "its table has elements of 4");
        add("both axes",
            contrib("GatherBlockQuantized", {{"block_size", I{16}}, {"quantize_axis", I{0}}},
                    {mixed({2, 8}, 1), Tensor::ofInts({1}), counted({2, 1})}),
            "are the same");
    }
    void refused() {
        QFETCH(OpCase, c);
        QFETCH(QString, words);
        QCOMPARE(refusalDifference(c, words), QString());
    }
};

QTEST_APPLESS_MAIN(TestContribQuantized)
#include "tst_contrib_quantized.moc"
