// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "contrib_case.h"

// Rare operators of com.microsoft. Expected values are ONNX Runtime's where it has a kernel, otherwise
// written down by hand.
using namespace tunesmith;

namespace {

using I = std::int64_t;
using Attributes = std::map<std::string, Attribute>;

Tensor i32s(const std::vector<std::int32_t>& values) {
    return Tensor::of<std::int32_t>({static_cast<I>(values.size())}, values);
}
Tensor int8s(const Shape& shape, const std::vector<std::int8_t>& values) {
    return Tensor::of<std::int8_t>(shape, values);
}
Tensor shorts(const Shape& shape, const std::vector<std::int16_t>& values) {
    return Tensor::of<std::int16_t>(shape, values);
}

const std::set<std::size_t> kWeights{1, 2, 8, 9, 10, 11};

ContribCases recurrent() {
    const Tensor x = floats({2, 1, 2}, {1, -2, .5F, 3}),
                 bias = floats({1, 8}, {.1F, .2F, .3F, .4F, -.1F, 0, .1F, .2F});
    const OpCase unsignedWeights = contrib("DynamicQuantizeLSTM", {{"hidden_size", I{1}}},
                                           {x,
                                            bytes({1, 2, 4}, {130, 110, 125, 200, 90, 140, 135, 20}),
                                            bytes({1, 1, 4}, {100, 160, 120, 135}),
                                            bias,
                                            {},
                                            floats({1, 1, 1}, {.5F}),
                                            floats({1, 1, 1}, {-.25F}),
                                            {},
                                            floats({1}, {.01F}),
                                            bytes({1}, {120}),
                                            floats({1}, {.02F}),
                                            bytes({1}, {118})},
                                           3, kWeights);
    const Tensor scales = floats({1, 4}, {.01F, .02F, .03F, .005F}), zeros = int8s({1, 4}, {0, 0, 0, 0});
    const OpCase columns =
        contrib("DynamicQuantizeLSTM", {{"hidden_size", I{1}}, {"direction", std::string("reverse")}},
                {x,
                 int8s({1, 2, 4}, {10, -10, 5, 80, -30, 20, 15, -100}),
                 int8s({1, 1, 4}, {-18, 42, 2, 17}),
                 bias,
                 {},
                 {},
                 {},
                 floats({1, 3}, {.3F, -.2F, .6F}),
                 scales,
                 zeros,
                 scales,
                 zeros},
                3, kWeights);
    return {
        {"DynamicQuantizeLSTM, states",
         {unsignedWeights,
          {floats({2, 1, 1, 1}, {.24095163F, .05585746F}), floats({1, 1, 1}, {.05585746F}),
           floats({1, 1, 1}, {.077584505F})}}},
        {"DynamicQuantizeLSTM, columns, reverse, peepholes",
         {columns,
          {floats({2, 1, 1, 1}, {.13496047F, -.14121826F}), floats({1, 1, 1}, {.13496047F}),
           floats({1, 1, 1}, {.56791836F})}}},
    };
}

ContribCases integers() {
    const Tensor image = bytes({1, 2, 3, 2}, {1, 200, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255});
    return {
        {"NhwcMaxPool",
         {contrib("NhwcMaxPool", {{"kernel_shape", Ints{2, 2}}}, {image}),
          {bytes({1, 1, 2, 2}, {9, 200, 11, 255})}}},
        {"MulInteger",
         {contrib("MulInteger", {},
                  {bytes({3}, {0, 3, 255}), bytes({}, {3}), int8s({2, 1}, {-128, 2}), int8s({}, {1})}),
          {Tensor::of<std::int32_t>({2, 3}, {387, 0, -32508, -3, 0, 252})}}},
        {"MulInteger, no zero points",
         {contrib("MulInteger", {}, {bytes({2}, {2, 255}), {}, bytes({2}, {3, 255})}), {i32s({6, 65025})}}},
        {"MatMulInteger16, wraps",
         {contrib("MatMulInteger16", {},
                  {shorts({1, 3}, {-32768, -32768, 5}), shorts({3, 1}, {-32768, -32768, 7})}),
          {Tensor::of<std::int32_t>({1, 1}, {-2147483613})}}},
        {"ReduceSumInteger",
         {contrib("ReduceSumInteger", {{"axes", Ints{1}}, {"keepdims", I{0}}},
                  {int8s({2, 2}, {-128, -128, 100, 27})}),
          {i32s({-256, 127})}}},
        {"ReduceSumInteger, kept",
         {contrib("ReduceSumInteger", {{"axes", Ints{0, -1}}, {"keepdims", I{1}}},
                  {bytes({2, 2}, {255, 255, 255, 1})}),
          {Tensor::of<std::int32_t>({1, 1}, {766})}}},
        {"QLinearReduceMean",
         {contrib("QLinearReduceMean", {{"axes", Ints{1}}, {"keepdims", I{0}}},
                  {bytes({2, 2}, {2, 5, 0, 255}), floats({}, {.5F}), bytes({}, {2}), floats({}, {.25F}),
                   bytes({}, {9})}),
          {bytes({2}, {12, 255})}}},
    };
}

ContribCases forms() {
    const Tensor x = floats({2, 2}, {1, 2, 3, 4});
    const auto number = [](std::int32_t value) { return Tensor::scalar(value); };
    return {
        {"ExpandDims", {contrib("ExpandDims", {}, {x, number(1)}, 1, {1}), {x.reshaped({2, 1, 2})}}},
        {"ExpandDims, from behind",
         {contrib("ExpandDims", {}, {x, number(-3)}, 1, {1}), {x.reshaped({1, 2, 2})}}},
        {"Range",
         {contrib("Range", {}, {number(7), number(-2), number(-4)}, 1, {0, 1, 2}), {i32s({7, 3, -1})}}},
        {"Range, no step",
         {contrib("Range", {}, {Tensor::scalar(1.5F), Tensor::scalar(4.0F)}, 1, {0, 1}),
          {floats({3}, {1.5F, 2.5F, 3.5F})}}},
        {"Range, nothing", {contrib("Range", {}, {number(3), number(3)}, 1, {0, 1}), {i32s({})}}},
        {"UnfoldTensor",
         {contrib("UnfoldTensor", {{"dim", I{0}}, {"size", I{2}}, {"step", I{2}}},
                  {floats({5, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})}),
          {floats({2, 2, 2}, {0, 2, 1, 3, 4, 6, 5, 7})}}},
        {"UnfoldTensor, last",
         {contrib("UnfoldTensor", {{"size", I{2}}}, {floats({3}, {1, 2, 3})}),
          {floats({2, 2}, {1, 2, 2, 3})}}},
        {"ConvTransposeWithDynamicPads",
         {contrib("ConvTransposeWithDynamicPads", {},
                  {floats({1, 1, 2, 2}, {1, 2, 3, 4}), floats({1, 1, 2, 2}, {1, 10, 100, 1000}),
                   Tensor::ofInts({1, 0, 0, 1}), floats({1}, {.5F})},
                  1, {2}),
          {floats({1, 1, 2, 2}, {103.5F, 1234.5F, 300.5F, 3400.5F})}}},
        {"CDist",
         {contrib("CDist", {{"metric", std::string("euclidean")}},
                  {floats({2, 2}, {0, 0, 3, 4}), floats({1, 2}, {0, 1})}),
          {floats({2, 1}, {1, 4.2426405F})}}},
        {"CDist, squares",
         {contrib("CDist", {}, {floats({2, 2}, {0, 0, 3, 4}), floats({1, 2}, {0, 1})}),
          {floats({2, 1}, {1, 18})}}},
        {"BiasAdd",
         {contrib("BiasAdd", {},
                  {floats({1, 2, 2}, {1, 2, 3, 4}), floats({2}, {10, 20}),
                   floats({1, 2, 2}, {100, 200, 300, 400})}),
          {floats({1, 2, 2}, {111, 222, 313, 424})}}},
    };
}

// Groups {1, 3 | 5, 7} of one image: both have the deviation 1.
ContribCases norms() {
    const Tensor last = floats({1, 1, 1, 4}, {1, 3, 5, 7}), gamma = floats({4}, {1, 2, 3, 4}),
                 beta = floats({4}, {0, 0, 10, 20});
    const Attributes two{{"groups", I{2}}, {"epsilon", 0.0F}};
    Attributes silu = two, second = two;
    silu["activation"] = I{1};
    second["channels_last"] = I{0};
    const auto swish = [](double x) { return static_cast<float>(x / (1 + std::exp(-x))); };
    return {
        {"GroupNorm",
         {contrib("GroupNorm", two, {last, gamma, beta}), {floats({1, 1, 1, 4}, {-1, 2, 7, 24})}}},
        {"GroupNorm, SiLU",
         {contrib("GroupNorm", silu, {last, gamma, beta}),
          {floats({1, 1, 1, 4}, {swish(-1), swish(2), swish(7), swish(24)})}}},
        {"GroupNorm, channels second",
         {contrib("GroupNorm", second, {last.reshaped({1, 4, 1, 1}), gamma, beta}),
          {floats({1, 4, 1, 1}, {-1, 2, 7, 24})}}},
        {"SkipGroupNorm",
         {contrib("SkipGroupNorm", two,
                  {floats({1, 1, 1, 4}, {0, 1, 2, 3}), gamma, beta, floats({1, 4}, {1, 1, 1, 1}),
                   floats({4}, {0, 1, 2, 3})},
                  2),
          {floats({1, 1, 1, 4}, {-1, 2, 7, 24}), last}}},
    };
}

// Heads of one number each, so that y = q k v.
ContribCases states() {
    const auto linear = [](I heads, std::vector<float> q) {
        const auto count = static_cast<I>(q.size());
        return contrib("LinearAttention",
                       {{"q_num_heads", heads},
                        {"kv_num_heads", I{2}},
                        {"update_rule", std::string("linear")},
                        {"scale", 1.0F}},
                       {floats({1, 1, count}, q), floats({1, 1, 1}, {3}), floats({1, 1, 2}, {5, 7})}, 2);
    };
    const Tensor state = floats({1, 2, 1, 1}, {15, 21});
    const OpCase conv =
        contrib("CausalConvWithState", {{"dilation", I{2}}},
                {floats({1, 1, 3}, {1, 2, 3}), floats({1, 1, 2}, {10, 1}), {}, floats({1, 1, 2}, {7, 8})}, 2);
    const OpCase last = contrib("CausalConvWithState", {{"channels_last", I{1}}},
                                {floats({1, 2, 2}, {1, 10, 2, 20}), floats({2, 1, 2}, {10, 1, 100, 1})}, 2);
    return {
        {"LinearAttention, a query of two states", {linear(1, {2}), {floats({1, 1, 2}, {30, 42}), state}}},
        {"LinearAttention, a key of two states", {linear(2, {2, 4}), {floats({1, 1, 2}, {30, 84}), state}}},
        {"CausalConvWithState, dilated",
         {conv, {floats({1, 1, 3}, {71, 82, 13}), floats({1, 1, 2}, {2, 3})}}},
        {"CausalConvWithState, channels last",
         {last, {floats({1, 2, 2}, {1, 10, 12, 1020}), floats({1, 1, 2}, {2, 20})}}},
    };
}

ContribCases onlyReference() {
    const Tensor image = floats({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
    return {
        {"CropAndResize",
         {contrib("CropAndResize", {{"extrapolation_value", 9.0F}},
                  {image, floats({2, 4}, {0, 0, 1, 1, .5F, 1, -.5F, 0}), i32s({0, 0}), i32s({2, 3})}),
          {floats({2, 1, 2, 3}, {1, 2, 3, 4, 5, 6, 4.5F, 3.5F, 2.5F, 9, 9, 9})}}},
        {"CropAndResize, nearest",
         {contrib("CropAndResize", {{"mode", std::string("nearest")}},
                  {image, floats({1, 4}, {0, .1F, 1, .9F}), i32s({0}), i32s({1, 3})}),
          {floats({1, 1, 1, 3}, {4, 5, 6})}}},
        {"Inverse",
         {contrib("Inverse", {}, {floats({2, 2}, {0, 2, 4, 1})}), {floats({2, 2}, {-.125F, .25F, .5F, 0})}}},
        {"Unique",
         {contrib("Unique", {}, {floats({6}, {2, 1, 1, 3, 4, 3})}, 3),
          {floats({4}, {2, 1, 3, 4}), Tensor::ofInts({0, 1, 1, 2, 3, 2}), Tensor::ofInts({1, 2, 2, 1})}}},
    };
}

// Shapes, types and left out inputs that the rows above do not have.
std::vector<std::pair<const char*, OpCase>> randomCases() {
    Rng rng(29);
    const auto q = [&](const Shape& shape, DType type) {
        return randomTensor(rng, type, shape, type == DType::i8 ? -128 : 0, type == DType::i8 ? 128 : 256);
    };
    const auto x = [&](const Shape& shape, double low = -2, double high = 2) {
        return randomTensor(rng, DType::f32, shape, low, high);
    };
    const auto d = [&](const Shape& shape) { return randomTensor(rng, DType::f64, shape); };
    const auto lstm = [&](Attributes attributes, DType type, I directions, bool columns,
                          const Tensor& lengths) {
        attributes["hidden_size"] = I{3};
        const Shape scale = columns ? Shape{directions, 12} : Shape{directions};
        return contrib("DynamicQuantizeLSTM", attributes,
                       {x({4, 2, 5}),
                        q({directions, 5, 12}, type),
                        q({directions, 3, 12}, type),
                        x({directions, 24}),
                        lengths,
                        x({directions, 2, 3}),
                        x({directions, 2, 3}),
                        {},
                        x(scale, .002, .01),
                        q(scale, type),
                        x(scale, .002, .01),
                        q(scale, type)},
                       3, {1, 2, 4, 8, 9, 10, 11});
    };
    return {
        {"DynamicQuantizeLSTM, both directions",
         lstm({{"direction", std::string("bidirectional")}}, DType::u8, 2, false, {})},
        {"DynamicQuantizeLSTM, columns", lstm({{"clip", 1.5F}}, DType::i8, 1, true, i32s({4, 4}))},
        {"DynamicQuantizeLSTM, columns of both",
         lstm({{"direction", std::string("bidirectional")}, {"input_forget", I{1}}}, DType::i8, 2, true, {})},
        {"NhwcMaxPool, line",
         contrib("NhwcMaxPool", {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"pads", Ints{1, 1}}},
                 {q({2, 7, 3}, DType::i8)})},
        {"MatMulInteger16, no sign", contrib("MatMulInteger16", {},
                                             {randomTensor(rng, DType::u16, {2, 3, 4}, 0, 65536),
                                              randomTensor(rng, DType::u16, {4, 5}, 0, 65536)})},
        {"MatMulInteger16, one sign", contrib("MatMulInteger16", {},
                                              {randomTensor(rng, DType::u16, {3, 4}, 0, 65536),
                                               randomTensor(rng, DType::i16, {4, 5}, -999, 999)})},
        {"ReduceSumInteger, all", contrib("ReduceSumInteger", {}, {q({3, 4}, DType::u8)})},
        {"QLinearReduceMean, kept",
         contrib("QLinearReduceMean", {{"axes", Ints{-1, 0}}},
                 {q({2, 3, 4}, DType::i8), Tensor::scalar(.3F), {}, Tensor::scalar(.1F)})},
        {"CDist, double",
         contrib("CDist", {{"metric", std::string("euclidean")}},
                 {randomTensor(rng, DType::f64, {5, 3}), randomTensor(rng, DType::f64, {4, 3})})},
        {"CDist, half", contrib("CDist", {}, {x({5, 3}).cast(DType::f16), x({4, 3}).cast(DType::f16)})},
        {"GroupNorm, half images",
         contrib("GroupNorm", {{"groups", I{2}}}, {x({2, 3, 2, 4}).cast(DType::f16), x({4}), x({4})})},
        {"SkipGroupNorm, whole skip",
         contrib("SkipGroupNorm", {{"groups", I{3}}, {"activation", I{1}}, {"channels_last", I{0}}},
                 {x({2, 6, 3, 2}), x({6}), x({6}), x({2, 6, 3, 2}), x({6})}, 2)},
        {"SkipGroupNorm, one position",
         contrib("SkipGroupNorm", {{"groups", I{2}}}, {x({2, 1, 1, 4}), x({4}), x({4}), x({2, 4})}, 2)},
        {"SkipGroupNorm, one position, channels second",
         contrib("SkipGroupNorm", {{"groups", I{2}}, {"channels_last", I{0}}},
                 {x({2, 4, 1, 1}), x({4}), x({4}), x({2, 4}), x({4})}, 2)},
        {"UnfoldTensor, step beyond the axis",
         contrib("UnfoldTensor", {{"dim", I{0}}, {"size", I{2}}, {"step", I{1} << 62}}, {x({3, 4})})},
        {"SkipGroupNorm, no bias",
         contrib("SkipGroupNorm", {{"groups", I{1}}}, {x({2, 3, 2, 4}), x({4}), x({4}), x({2, 1, 1, 4})}, 2)},
        {"SkipGroupNorm, double",
         contrib("SkipGroupNorm", {{"groups", I{2}}}, {d({2, 3, 2, 4}), d({4}), d({4}), d({2, 4})}, 2)},
        {"BiasAdd, double", contrib("BiasAdd", {}, {d({2, 3, 4}), d({4}), d({2, 3, 4})})},
        {"BiasAdd, half",
         contrib("BiasAdd", {},
                 {x({2, 3, 4}).cast(DType::f16), x({4}).cast(DType::f16), x({2, 3, 4}).cast(DType::f16)})},
        {"ConvTransposeWithDynamicPads, no pads",
         contrib("ConvTransposeWithDynamicPads", {{"strides", Ints{2, 3}}},
                 {x({1, 2, 3, 4}), x({2, 2, 3, 3})})},
    };
}

OpCase largeLstm(OpCase lstm) {
    lstm.attributes["hidden_size"] = I{1} << 62;
    return lstm;
}

} // namespace

Q_DECLARE_METATYPE(tunesmith::ContribCase)
Q_DECLARE_METATYPE(tunesmith::OpCase)

class TestContribRare : public QObject {
    Q_OBJECT
private slots:
    void answers_data() {
        QTest::addColumn<ContribCase>("known");
        QTest::addColumn<bool>("compiles");
        for (const auto& cases : {recurrent(), integers(), forms(), norms(), states()})
            for (const auto& [name, known] : cases)
                QTest::newRow(name) << known << (known.c.op != "Range");
        for (const auto& [name, known] : onlyReference())
            QTest::newRow(name) << known << false;
    }
    void answers() {
        QFETCH(ContribCase, known);
        QFETCH(bool, compiles);
        QCOMPARE(compareAnswers(known), QString());
        if (compiles)
            QCOMPARE(compareCompiledForm(known.c, 1e-5), QString());
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
        c.opset = 20;
        QCOMPARE(compareCompiledForm(c, tolerance), QString());
    }

    // States of all sequences become bytes together, so that a large one makes the others coarse until it has
    // ended.
    void shortSequences_data() {
        QTest::addColumn<std::vector<std::int32_t>>("lengths");
        QTest::addColumn<float>("state");
        QTest::addColumn<std::vector<float>>("expected");
        using Numbers = std::vector<float>;
        using Lengths = std::vector<std::int32_t>;
        QTest::newRow("one step") << Lengths{1, 3} << .5F
                                  << Numbers{.1996774971F, -.21632503F, 0, .13207410F, 0, -.0255799852F};
        QTest::newRow("no step") << Lengths{0, 3} << .5F
                                 << Numbers{0, -.21632503F, 0, .132100806F, 0, -.0255919658F};
        QTest::newRow("no step, large state")
            << Lengths{0, 3} << 90.0F << Numbers{0, -.215880513F, 0, .131859213F, 0, -.0258286912F};
    }
    void shortSequences() {
        QFETCH(std::vector<std::int32_t>, lengths);
        QFETCH(float, state);
        QFETCH(std::vector<float>, expected);
        const OpCase c = contrib("DynamicQuantizeLSTM", {{"hidden_size", I{1}}},
                                 {floats({3, 2, 1}, {1, -2, .5F, 3, 2, -.7F}),
                                  bytes({1, 1, 4}, {130, 110, 125, 200}),
                                  bytes({1, 1, 4}, {100, 160, 120, 135}),
                                  {},
                                  i32s(lengths),
                                  floats({1, 2, 1}, {state, .013F}),
                                  {},
                                  {},
                                  floats({1}, {.01F}),
                                  bytes({1}, {120}),
                                  floats({1}, {.02F}),
                                  bytes({1}, {118})},
                                 3, kWeights);
        QCOMPARE(compareAnswers({c,
                                 {floats({3, 1, 2, 1}, expected),
                                  floats({1, 2, 1}, {expected[lengths[0] == 0 ? 2 : 0], expected[5]})}},
                                1e-6),
                 QString());
        QVERIFY(!runExpanded(c).ok()); // it stays where lengths differ
    }

    void refused_data() {
        QTest::addColumn<OpCase>("c");
        QTest::addColumn<QString>("words");
        const auto add = [](const char* name, const OpCase& c, const char* words) {
            QTest::newRow(name) << c << QString(words);
        };
        const OpCase lstm = recurrent().front().second.c;
        const auto changed = [&](std::size_t index, const Tensor& tensor) {
            OpCase c = lstm;
            c.inputs[index] = tensor;
            return c;
        };
        add("lstm, no scale", changed(8, {}), "input 8 is missing");
        add("lstm, weights as ONNX has them", changed(1, bytes({1, 4, 2}, std::vector<std::uint8_t>(8))),
            "the columns of 4 gates");
        add("lstm, scale of two directions", changed(10, floats({2}, {1, 1})), "one for each direction");
        add("lstm, type of a zero point", changed(9, int8s({1}, {0})), "must have the same element type");
        add("lstm, length", changed(4, i32s({3})), "a sequence has the length 3 of 2");
        add("pool of floats",
            contrib("NhwcMaxPool", {{"kernel_shape", Ints{1, 1}}}, {floats({1, 1, 1, 1}, {1})}),
            "int8 or uint8");
        add("pool without positions",
            contrib("NhwcMaxPool", {{"kernel_shape", Ints{1}}}, {bytes({1, 1}, {1})}),
            "must have batch, positions and channels");
        add("axis", contrib("ExpandDims", {}, {floats({1}, {1}), Tensor::scalar(std::int32_t{3})}), "axis");
        add("step of another type",
            contrib("Range", {},
                    {Tensor::scalar(1.0F), Tensor::scalar(2.0F), Tensor::scalar(std::int32_t{1})}),
            "must have the same element type");
        const Tensor word = Tensor::ofStrings({}, {"a"});
        add("words", contrib("Range", {}, {word, word}), "must be numeric");
        add("lstm, hidden size", largeLstm(lstm), "hidden_size is 4611686018427387904");
        add("wide windows", contrib("UnfoldTensor", {{"size", I{4}}}, {floats({3}, {1, 2, 3})}),
            "do not fit");
        add("unique matrix", contrib("Unique", {}, {floats({1, 1}, {1})}, 3), "must have 1 dimensions");
        add("metric",
            contrib("CDist", {{"metric", std::string("cosine")}}, {floats({1, 1}, {1}), floats({1, 1}, {1})}),
            "euclidean or sqeuclidean");
        add("coordinates", contrib("CDist", {}, {floats({1, 2}, {1, 2}), floats({1, 1}, {1})}),
            "as many coordinates");
        add("not square", contrib("Inverse", {}, {floats({1, 2}, {1, 2})}), "holds no square matrices");
        const Tensor image = floats({1, 1, 1, 1}, {1}), box = floats({1, 4}, {0, 0, 1, 1});
        add("image of a box", contrib("CropAndResize", {}, {image, box, i32s({1}), i32s({1, 1})}),
            "box 0 is of image 1, but there are 1");
        add("no pieces", contrib("CropAndResize", {}, {image, box, i32s({0}), i32s({0, 1})}),
            "cannot make pieces");
        add("groups",
            contrib("GroupNorm", {{"groups", I{3}}},
                    {floats({1, 1, 1, 2}, {1, 2}), floats({2}, {1, 1}), floats({2}, {1, 1})}),
            "must divide the 2 channels");
        add("skip",
            contrib("SkipGroupNorm", {{"groups", I{1}}},
                    {floats({1, 1, 1, 2}, {1, 2}), floats({2}, {1, 1}), floats({2}, {1, 1}),
                     floats({1, 3}, {1, 1, 1})},
                    2),
            "one number for each channel");
        add("states of many windows",
            contrib("CausalConvWithState", {{"state_window", I{2}}},
                    {floats({1, 1, 1}, {1}), floats({1, 1, 1}, {1})}, 2),
            "state_window = 0");
        add("heads that do not divide",
            contrib("LinearAttention",
                    {{"q_num_heads", I{2}}, {"kv_num_heads", I{3}}, {"update_rule", std::string("linear")}},
                    {floats({1, 1, 2}, {1, 2}), floats({1, 1, 2}, {1, 2}), floats({1, 1, 3}, {1, 2, 3})}, 2),
            "must be a multiple");
        add("wide bytes", contrib("MatMulInteger16", {}, {bytes({1, 1}, {1}), bytes({1, 1}, {1})}),
            "int16 or uint16");
        add("factors", contrib("MulInteger", {}, {bytes({2}, {1, 2}), {}, bytes({3}, {1, 2, 3})}),
            "cannot be broadcast");
    }
    void refused() {
        QFETCH(OpCase, c);
        QFETCH(QString, words);
        QCOMPARE(refusalDifference(c, words), QString());
    }

    // No type of inputs stops the rule of Range, known or not.
    void rangeOfAnyType() {
        for (int type = 0; type <= static_cast<int>(DType::i2); ++type) {
            const TensorType scalar(static_cast<DType>(type), Shape{});
            const Node node = nodeOf(contrib("Range", {}, {Tensor::scalar(0.0F), Tensor::scalar(1.0F)}));
            const auto own = runRule(node, 17, {scalar, scalar}, {Tensor(), Tensor()});
            QVERIFY(!own.ok() || own->front().dtype == scalar.dtype);
        }
    }

    // Products of operands that are not known yet have the type that a model declares.
    void productsOfUnknownTypes() {
        const auto type = [](DType a, DType b) {
            const Node node =
                nodeOf(contrib("MatMulInteger16", {}, {shorts({1, 1}, {1}), shorts({1, 1}, {1})}));
            const auto y = runRule(node, 17, {TensorType(a, Shape{1, 1}), TensorType(b, Shape{1, 1})},
                                   {Tensor(), Tensor()});
            return y.ok() ? y->front().dtype : DType::boolean;
        };
        QCOMPARE(type(DType::undefined, DType::u16), DType::undefined);
        QCOMPARE(type(DType::u16, DType::undefined), DType::undefined);
        QCOMPARE(type(DType::undefined, DType::undefined), DType::undefined);
        QCOMPARE(type(DType::undefined, DType::i16), DType::i32);
        QCOMPARE(type(DType::i16, DType::undefined), DType::i32);
        QCOMPARE(type(DType::u16, DType::u16), DType::u32);
    }

    // A matrix without an inverse gives no numbers, as in ONNX Runtime.
    void singularMatrix() {
        const auto y = runKernel(contrib("Inverse", {}, {floats({2, 2}, {1, 2, 2, 4})}));
        QVERIFY(y.ok());
        for (I i = 0; i < 4; ++i)
            QVERIFY(!std::isfinite(y->front().asDouble(i)));
    }
};

QTEST_APPLESS_MAIN(TestContribRare)
#include "tst_contrib_rare.moc"
