// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "contrib_case.h"
#include "tests/take.h"

// Fused convolutions, products, activations and norms of com.microsoft.
using namespace tunesmith;

namespace {

const Tensor kAbsent;
using I = std::int64_t;
using Text = std::string;

Tensor picture() {
    return counted({1, 1, 3, 3});
}
Tensor kernel() {
    return floats({1, 1, 2, 2}, {1, -1, .5F, 0});
}

ContribCases products() {
    return {
        {"FusedConv, summand and LeakyRelu",
         {contrib("FusedConv",
                  {{"activation", Text("LeakyRelu")}, {"activation_params", std::vector<float>{.25F}}},
                  {picture(), kernel(), floats({1}, {-1}), floats({1, 1, 2, 2}, {0, 1, 2, -9})}),
          {floats({1, 1, 2, 2}, {-.125F, 1, 3, -1.875F})}}},
        {"FusedConv, HardSigmoid",
         {contrib("FusedConv",
                  {{"activation", Text("HardSigmoid")}, {"activation_params", std::vector<float>{.25F, .5F}}},
                  {picture(), kernel(), floats({1}, {-1})}),
          {floats({1, 1, 2, 2}, {.375F, .5F, .75F, .875F})}}},
        {"FusedGemm, LeakyRelu",
         {contrib("FusedGemm",
                  {{"activation", Text("LeakyRelu")}, {"activation_alpha", .25F}, {"alpha", 2.0F}},
                  {floats({2, 2}, {1, 2, 3, 4}), floats({2, 2}, {1, -1, .5F, 0}), floats({2}, {-1, 0})}),
          {floats({2, 2}, {3, -.5F, 9, -1.5F})}}},
        {"FusedMatMul, batch behind the rows",
         {contrib("FusedMatMul", {{"alpha", .5F}, {"transA", I{1}}, {"transBatchA", I{1}}, {"transB", I{1}}},
                  {counted({2, 3, 2}), counted({3, 2, 2}, -2)}),
          {floats({3, 2, 2}, {-3, 3, -4.5F, 3.5F, 14, 24, 16.5F, 28.5F, 47, 61, 53.5F, 69.5F})}}},
    };
}

ContribCases activations() {
    const Tensor x = floats({2, 2}, {-2, -.5F, 0, 1}), bias = floats({2}, {.5F, -1});
    return {
        {"Gelu", {contrib("Gelu", {}, {x}), {floats({2, 2}, {-.04550028F, -.15426877F, 0, .8413447F})}}},
        {"BiasGelu",
         {contrib("BiasGelu", {}, {x, bias}), {floats({2, 2}, {-.100210816F, -.100210816F, .34573123F, 0})}}},
        {"FastGelu",
         {contrib("FastGelu", {}, {x, bias}), {floats({2, 2}, {-.10042843F, -.10042843F, .345714F, 0})}}},
        {"QuickGelu",
         {contrib("QuickGelu", {}, {x}), {floats({2, 2}, {-.06434137F, -.14961158F, 0, .84579575F})}}},
        {"QuickGelu, alpha",
         {contrib("QuickGelu", {{"alpha", .5F}}, {x}),
          {floats({2, 2}, {-.53788286F, -.21891175F, 0, .6224593F})}}},
    };
}

ContribCases norms() {
    const Tensor x = floats({1, 2, 4}, {1, 2, 3, 4, -1, 0, 2, 5}),
                 skip = floats({2, 4}, {.5F, 0, -1, 1, 2, 2, 2, 2});
    const Tensor gamma = floats({4}, {1, 2, .5F, 1}), beta = floats({4}, {0, .1F, .2F, .3F}),
                 bias = floats({4}, {1, 1, 0, 0});
    const Tensor sum = floats({1, 2, 4}, {2.5F, 3, 2, 5, 2, 3, 4, 7});
    return {
        {"SkipLayerNormalization",
         {contrib("SkipLayerNormalization", {{"epsilon", 1e-3F}}, {x, skip, gamma, beta, bias}, 4),
          {floats({1, 2, 4}, {-.5486098F, -.119443916F, -.2937488F, 1.9458294F, -1.0688924F, -.96889234F, .2F,
                              1.9033384F}),
           {},
           {},
           sum}}},
        {"SkipSimplifiedLayerNormalization",
         {contrib("SkipSimplifiedLayerNormalization", {{"epsilon", 1e-3F}}, {x, skip, gamma, bias}, 4),
          {floats({1, 2, 4}, {.75161207F, 1.8038689F, .30064481F, 1.5032241F, .4528992F, 1.3586977F,
                              .4528992F, 1.5851471F}),
           {},
           {},
           sum}}},
    };
}

ContribCases packedProducts() {
    const std::vector<std::uint8_t> nibbles{0x21, 0x43, 0x65, 0x87, 0xa9, 0xcb, 0xed, 0x0f, 0xff, 0xff, 0xff,
                                            0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 0xed, 0xcb, 0xa9, 0x87, 0x65,
                                            0x43, 0x21, 0x12, 0x12, 0x12, 0x12, 0x12, 0x12, 0x12, 0x12};
    std::vector<std::uint8_t> whole, quarters;
    for (int i = 0; i < 64; ++i)
        whole.push_back(static_cast<std::uint8_t>(i * 37));
    quarters.assign(whole.begin(), whole.begin() + 16);
    Tensor a = Tensor::zeros(DType::f32, {2, 20});
    for (int i = 0; i < 40; ++i)
        a.mutableData<float>()[i] = static_cast<float>(i % 7 - 3);
    const Tensor b4 = bytes({2, 2, 8}, nibbles), b8 = bytes({2, 2, 16}, whole),
                 b2 = bytes({2, 2, 4}, quarters), scales = floats({4}, {.5F, 2, -1, .25F});
    const auto product = [&](I bits, const Tensor& b, const std::vector<Tensor>& more) {
        std::vector<Tensor> inputs{a, b, scales};
        inputs.insert(inputs.end(), more.begin(), more.end());
        return contrib("MatMulNBits", {{"K", I{20}}, {"N", I{2}}, {"bits", bits}, {"block_size", I{16}}},
                       inputs);
    };
    const auto answer = [](float p, float q, float r, float s) {
        return std::vector<Tensor>{floats({2, 2}, {p, q, r, s})};
    };
    return {
        {"MatMulNBits, 4 bits", {product(4, b4, {}), answer(53.5F, -12.5F, 1.5F, -28)}},
        {"MatMulNBits, 4 bits, zero points",
         {product(4, b4, {bytes({2}, {0x31, 0x9f})}), answer(56, -48, -18.5F, -27.5F)}},
        {"MatMulNBits, float zero points, bias",
         {product(4, b4, {floats({4}, {.5F, 1, 7.25F, 3}), {}, floats({2}, {1, 2})}),
          answer(63.75F, -4.25F, -25.5F, -28.5F)}},
        {"MatMulNBits, 8 bits", {product(8, b8, {}), answer(1704, 1202, 543.5F, 579.5F)}},
        {"MatMulNBits, 8 bits, zero points",
         {product(8, b8, {bytes({4}, {1, 255, 128, 3})}), answer(878.5F, 1264.5F, 1051.5F, 517)}},
        {"MatMulNBits, 2 bits", {product(2, b2, {}), answer(12.5F, -6.25F, 13.5F, 11.75F)}},
        {"MatMulNBits, 2 bits, zero points",
         {product(2, b2, {bytes({2}, {0b0110, 0b1101})}), answer(16.5F, -1.75F, 9.5F, 12.25F)}},
    };
}

void addAnswers(const ContribCases& cases) {
    for (const auto& [name, known] : cases)
        QTest::newRow(name) << known;
}

// Sizes that the rows above do not have: ragged blocks, several rows, 16-bit floats.
std::vector<std::pair<const char*, OpCase>> randomCases() {
    Rng rng(3);
    const auto x = [&](const Shape& shape, DType type = DType::f32) {
        return randomTensor(rng, type, shape);
    };
    const auto packed = [&](const Shape& shape) { return randomTensor(rng, DType::u8, shape, 0, 256); };
    const auto nBits = [&](I bits, I k, I n, I block, DType type) {
        const I blocks = (k - 1) / block + 1, perByte = 8 / bits;
        return contrib("MatMulNBits", {{"K", k}, {"N", n}, {"bits", bits}, {"block_size", block}},
                       {x({2, 3, k}, type),
                        packed({n, blocks, block / perByte}),
                        x({n, blocks}, type),
                        packed({n * ((blocks - 1) / perByte + 1)}),
                        {},
                        x({n}, type)});
    };
    return {
        {"FusedConv, groups and Clip", contrib("FusedConv",
                                               {{"activation", Text("Clip")},
                                                {"activation_params", std::vector<float>{-1, 1.5F}},
                                                {"group", I{2}},
                                                {"pads", Ints{1, 1, 1, 1}}},
                                               {x({2, 4, 5, 5}), x({6, 2, 3, 3}), {}, x({2, 6, 5, 5})})},
        {"FusedConv without activation", contrib("FusedConv", {}, {x({1, 2, 5}), x({3, 2, 3})})},
        {"FusedGemm, Elu",
         contrib("FusedGemm", {{"activation", Text("Elu")}, {"transA", I{1}}, {"transB", I{1}}},
                 {x({4, 3}), x({5, 4})})},
        {"TransposeMatMul, vector", contrib("TransposeMatMul", {{"transB", I{1}}}, {x({4}), x({3, 4})})},
        {"FusedMatMul, broadcast",
         contrib("FusedMatMul", {{"transB", I{1}}, {"alpha", .125F}}, {x({2, 1, 3, 4}), x({5, 6, 4})})},
        {"BiasGelu, half", contrib("BiasGelu", {}, {x({3, 4}, DType::f16), x({4}, DType::f16)})},
        {"BiasSplitGelu", contrib("BiasSplitGelu", {}, {x({2, 3, 8}), x({8})})},
        {"SkipLayerNormalization, three outputs",
         contrib("SkipLayerNormalization", {}, {x({2, 3, 5}), x({1, 3, 5}), x({5})}, 3)},
        {"SkipLayerNormalization, rows",
         contrib("SkipLayerNormalization", {{"epsilon", 1e-2F}}, {x({4, 5}), x({4, 5}), x({5}), x({5})}, 1)},
        {"SkipSimplifiedLayerNormalization, all outputs",
         contrib("SkipSimplifiedLayerNormalization", {}, {x({2, 3, 5}), x({2, 3, 5}), x({5})}, 4)},
        {"MatMulNBits, 4 bits, ragged", nBits(4, 37, 5, 16, DType::f32)},
        {"MatMulNBits, 8 bits, half", nBits(8, 64, 3, 32, DType::f16)},
        {"MatMulNBits, 2 bits, whole blocks", nBits(2, 96, 4, 32, DType::f32)},
    };
}

} // namespace

Q_DECLARE_METATYPE(tunesmith::ContribCase)
Q_DECLARE_METATYPE(tunesmith::OpCase)

class TestContribFused : public QObject {
    Q_OBJECT
private slots:
    void answers_data() {
        QTest::addColumn<ContribCase>("known");
        for (const auto& cases : {products(), activations(), norms(), packedProducts()})
            addAnswers(cases);
    }
    void answers() {
        QFETCH(ContribCase, known);
        QCOMPARE(compareAnswers(known), QString());
        QCOMPARE(compareCompiledForm(known.c), QString());
    }

    void compiledForms_data() {
        QTest::addColumn<OpCase>("c");
        for (const auto& [name, c] : randomCases())
            QTest::newRow(name) << c;
    }
    void compiledForms() {
        QFETCH(OpCase, c);
        const double tolerance = c.inputs[0].type() == DType::f16 ? 5e-3 : 1e-4;
        QCOMPARE(compareCompiledForm(c, tolerance), QString());
        QCOMPARE(compareCompiledForm(withSpecialValues(c), tolerance), QString());
        c.opset = 11; // operators that ONNX got later are known all the same
        QCOMPARE(compareCompiledForm(c, tolerance), QString());
    }

    void simplifiedNorm() {
        const Tensor x = floats({1, 2, 4}, {1, 2, 3, 4, -1, 0, 2, 5}), scale = floats({4}, {1, 2, .5F, 1});
        const OpCase c{.op = "SimplifiedLayerNormalization", .inputs = {x, scale}, .outputs = 2};
        const auto outputs = take(runKernel(c));
        QCOMPARE(difference(outputs[0], floats({1, 2, 4}, {.36514813F, 1.4605925F, .5477222F, 1.4605925F,
                                                           -.36514813F, 0, .36514813F, 1.8257407F})),
                 QString());
        QCOMPARE(difference(outputs[1], floats({1, 2, 1}, {.36514813F, .36514813F})), QString());
        QCOMPARE(compareLowering(c), QString());
        QCOMPARE(compareLowering({.op = c.op,
                                  .attributes = {{"axis", I{1}}},
                                  .inputs = {x.cast(DType::f16), counted({2, 4})},
                                  .outputs = 2},
                                 5e-3),
                 QString());
    }

    // Statistics of inputs that are not known yet have the type that a model declares.
    void statisticsOfUnknownTypes() {
        const auto statistic = [](const OpCase& c, DType type) {
            const std::vector<TensorType> types(c.inputs.size(), TensorType(type));
            const auto y = runRule(nodeOf(c), 17, types, std::vector<Tensor>(types.size()));
            return y.ok() ? (*y)[1].dtype : DType::boolean;
        };
        const Tensor x = counted({1, 2});
        for (const OpCase& c :
             {contrib("SkipLayerNormalization", {}, {x, x, x}, 3),
              OpCase{.op = "SimplifiedLayerNormalization", .inputs = {x, x}, .outputs = 2}}) {
            QCOMPARE(statistic(c, DType::undefined), DType::undefined);
            QCOMPARE(statistic(c, DType::f64), DType::f64);
            QCOMPARE(statistic(c, DType::f16), DType::f32);
        }
    }

    void refused_data() {
        QTest::addColumn<OpCase>("c");
        QTest::addColumn<QString>("words");
        const Tensor x = counted({2, 2, 4}), row = counted({4});
        const auto add = [](const char* name, const OpCase& c, const char* words) {
            QTest::newRow(name) << c << QString(words);
        };
        add("missing parameter", contrib("FusedConv", {{"activation", Text("Clip")}}, {picture(), kernel()}),
            "activation_params has 0 numbers, but Clip needs 2");
        add("unknown activation",
            contrib("FusedConv", {{"activation", Text("Swish")}}, {picture(), kernel()}),
            "'Swish' is not known");
        add("summand", contrib("FusedConv", {}, {picture(), kernel(), {}, row}),
            "it is added to the convolution");
        add("bias of another type", contrib("BiasGelu", {}, {x, row.cast(DType::i32)}),
            "must have the same element type");
        add("bias of another size", contrib("BiasGelu", {}, {x, counted({3})}),
            "one bias for each index of the last dimension");
        add("odd halves", contrib("BiasSplitGelu", {}, {counted({2, 4, 5}), counted({5})}),
            "cannot be halved");
        add("four dimensions", contrib("SkipLayerNormalization", {}, {counted({2, 2, 2, 4}), x, row}),
            "must have 3 dimensions");
        add("no gamma", contrib("SkipLayerNormalization", {}, {x, x}), "input 2 is missing");
        add("gamma of another size", contrib("SkipSimplifiedLayerNormalization", {}, {x, x, counted({5})}),
            "one value for each hidden unit");
        const auto packed = [&](const std::map<std::string, Attribute>& more,
                                const std::vector<Tensor>& inputs) {
            std::map<std::string, Attribute> attributes{{"K", I{16}}, {"N", I{4}}, {"block_size", I{16}}};
            for (const auto& [key, value] : more)
                attributes[key] = value;
            return contrib("MatMulNBits", attributes, inputs);
        };
        const Tensor a = counted({2, 16}), b = Tensor::zeros(DType::u8, {4, 1, 8});
        add("blocks", packed({}, {a, Tensor::zeros(DType::u8, {4, 2, 8}), row}),
            "input 1 is uint8[4,2,8] but must be uint8[4,1,8]");
        add("scales", packed({}, {a, b, counted({3})}), "one scale for each block");
        add("zero points", packed({}, {a, b, row, Tensor::zeros(DType::u8, {5})}), "packed zero points");
        add("K", packed({}, {counted({2, 15}), b, row}), "whose last dimension is not K = 16");
        add("bits", packed({{"bits", I{3}}}, {a, b, row}), "weights of 3 bits are not supported");
        add("block size", packed({{"block_size", I{24}}}, {a, b, row}), "a power of 2");
        add("no K", packed({{"K", I{0}}}, {a, b, row}), "K and N must be there");
        add("g_idx", packed({}, {a, b, row, {}, Tensor::zeros(DType::i32, {16})}), "g_idx, is not supported");
    }
    void refused() {
        QFETCH(OpCase, c);
        QFETCH(QString, words);
        QCOMPARE(refusalDifference(c, words), QString());
    }
};

QTEST_APPLESS_MAIN(TestContribFused)
#include "tst_contrib_fused.moc"
