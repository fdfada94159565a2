// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "contrib_case.h"
#include "tests/take.h"

// The attention family of com.microsoft. Expected values are ONNX Runtime's.
using namespace tunesmith;

namespace {

using I = std::int64_t;
using Attributes = std::map<std::string, Attribute>;

// Quarters without an order: ((i * factor) % range - shift) / 4.
Tensor quarters(const Shape& shape, int factor, int range, int shift) {
    Tensor x = Tensor::zeros(DType::f32, shape);
    for (std::int64_t i = 0; i < x.count(); ++i)
        x.mutableData<float>()[i] = static_cast<float>(i * factor % range - shift) / 4;
    return x;
}
Tensor numbers(const Shape& shape, const std::vector<std::int32_t>& values) {
    return Tensor::of<std::int32_t>(shape, values);
}
Tensor total(std::int32_t value) {
    return Tensor::scalar(value);
}

ContribCases grouped() {
    const Tensor q = quarters({1, 1, 16}, 7, 11, 5), k = quarters({1, 1, 8}, 5, 7, 3),
                 v = quarters({1, 1, 8}, 3, 7, 3);
    const Tensor pastK = quarters({1, 1, 3, 8}, 5, 11, 5), pastV = quarters({1, 1, 3, 8}, 7, 13, 6);
    const Attributes heads{{"num_heads", I{2}}, {"kv_num_heads", I{1}}};
    Attributes local = heads;
    local.insert({{"local_window_size", I{2}}, {"softcap", .5F}, {"scale", 2.0F}});
    const Attributes rotary{{"num_heads", I{1}}, {"kv_num_heads", I{1}}, {"do_rotary", I{1}}};
    return {
        {"GroupQueryAttention, decoding",
         {contrib("GroupQueryAttention", heads, {q, k, v, pastK, pastV, numbers({1}, {1}), total(3)}, 3, {6}),
          {floats({1, 1, 16}, {-1.2336622F, 0.16122074F, -0.53976589F, 0.23366223F, -0.46732447F, 0.30610371F,
                               -0.39488298F, 0.37854517F, -1.2065412F, 0.1521804F, -0.4674432F, 0.20654121F,
                               -0.41308242F, 0.26090202F, -0.35872161F, 0.31526279F}),
           {},
           floats({1, 1, 3, 8}, {-1.5F, 0.25F, -1.25F, 0.5F,   -1, 0.75F, -0.75F, 1, -0.75F, 0, 0.75F, -0.25F,
                                 0.5F,  -0.5F, 0.25F,  -0.75F, 0,  0,     0,      0, 0,      0, 0,     0})}}},
        {"GroupQueryAttention, window, softcap and sink",
         {contrib(
              "GroupQueryAttention", local,
              {q, k, v, pastK, pastV, numbers({1}, {2}), total(3), {}, {}, {}, {}, quarters({2}, 3, 5, 2)}, 3,
              {6}),
          {floats({1, 1, 16}, {-0.52874666F, 0.27656674F, 0.36280662F, 0.19250678F, 0.27874663F, -0.6106267F,
                               0.19468667F, -0.69468671F, -0.4353908F, 0.21946804F, 0.30370998F, 0.14749381F,
                               0.23173572F, -0.4950974F, 0.15976147F, -0.56707162F})}}},
        {"GroupQueryAttention, rotated prompt",
         {contrib("GroupQueryAttention", rotary,
                  {quarters({1, 2, 48}, 7, 11, 5),
                   {},
                   {},
                   quarters({1, 1, 3, 16}, 1, 5, 2),
                   quarters({1, 1, 3, 16}, 3, 5, 2),
                   numbers({1}, {1}),
                   total(2),
                   quarters({4, 8}, 3, 9, 4),
                   quarters({4, 8}, 5, 9, 4)},
                  3, {6}),
          {floats({1, 2, 16}, {-0.25F,
                               -1.25F,
                               0.5F,
                               -0.5F,
                               1.25F,
                               0.25F,
                               -0.75F,
                               1,
                               0,
                               -1,
                               0.75F,
                               -0.25F,
                               -1.25F,
                               0.5F,
                               -0.5F,
                               1.25F,
                               0.75299591F,
                               -0.24700408F,
                               -0.33582991F,
                               0.50299591F,
                               0.41417006F,
                               -0.58582991F,
                               0.25299591F,
                               0.16417007F,
                               -0.83582991F,
                               0.0029959083F,
                               -0.085829914F,
                               0.75299591F,
                               -0.24700408F,
                               -0.33582991F,
                               0.50299591F,
                               0.41417006F})}}},
    };
}

ContribCases dense() {
    const Tensor q = quarters({1, 2, 4}, 7, 11, 5), x = quarters({1, 2, 3}, 7, 11, 5);
    return {
        {"MultiHeadAttention, masks",
         {contrib("MultiHeadAttention", {{"num_heads", I{2}}},
                  {q, quarters({1, 3, 4}, 5, 7, 3), quarters({1, 3, 4}, 3, 7, 3), quarters({12}, 3, 7, 3),
                   numbers({1, 3}, {1, 0, 1}), quarters({1, 1, 2, 3}, 3, 5, 2)}),
          {floats({1, 2, 4}, {-0.63361555F, 0.86638439F, -0.23990887F, 0.80493164F, -0.5732758F, 0.9267242F,
                              0.36291194F, 0.35281605F})}}},
        {"MultiHeadAttention, a mask of other numbers",
         {contrib("MultiHeadAttention", {{"num_heads", I{1}}},
                  {floats({1, 1, 1}, {0}),
                   floats({1, 3, 1}, {0, 0, 0}),
                   floats({1, 3, 1}, {1, 3, 8}),
                   {},
                   numbers({1, 3}, {1, -1, 2})}),
          {floats({1, 1, 1}, {4.5F})}}},
        {"MultiHeadAttention, cache",
         {contrib("MultiHeadAttention", {{"num_heads", I{2}}, {"unidirectional", I{1}}, {"scale", .5F}},
                  {q,
                   quarters({1, 2, 4}, 5, 7, 3),
                   quarters({1, 2, 4}, 3, 7, 3),
                   {},
                   {},
                   {},
                   quarters({1, 2, 1, 2}, 5, 7, 3),
                   quarters({1, 2, 1, 2}, 3, 7, 3)},
                  3),
          {floats({1, 2, 4},
                  {-0.75F, 0, 0.75F, -0.25F, -0.25192833F, -0.19922864F, 0.59692144F, -0.40307853F}),
           floats({1, 2, 3, 2},
                  {-0.75F, 0.5F, -0.75F, 0.5F, 0.75F, 0.25F, 0, -0.5F, 0, -0.5F, -0.25F, -0.75F}),
           floats({1, 2, 3, 2},
                  {-0.75F, 0, -0.75F, 0, 0.5F, -0.5F, 0.75F, -0.25F, 0.75F, -0.25F, 0.25F, -0.75F})}}},
        {"MultiHeadAttention, causal, one query of more keys",
         {contrib("MultiHeadAttention", {{"num_heads", I{1}}, {"unidirectional", I{1}}},
                  {floats({1, 1, 1}, {0}), floats({1, 2, 1}, {0, 0}), floats({1, 2, 1}, {1, 3})}),
          {floats({1, 1, 1}, {2})}}},
        {"MultiHeadAttention, causal, one query of more keys as heads, cache",
         {contrib("MultiHeadAttention", {{"num_heads", I{1}}, {"unidirectional", I{1}}},
                  {floats({1, 1, 1}, {0}),
                   floats({1, 1, 2, 1}, {0, 0}),
                   floats({1, 1, 2, 1}, {1, 3}),
                   {},
                   {},
                   {},
                   floats({1, 1, 1, 1}, {0}),
                   floats({1, 1, 1, 1}, {5})}),
          {floats({1, 1, 1}, {3})}}},
        {"MultiHeadAttention, causal, more keys than queries",
         {contrib("MultiHeadAttention", {{"num_heads", I{1}}, {"unidirectional", I{1}}},
                  {floats({1, 2, 1}, {0, 0}), floats({1, 3, 1}, {0, 0, 0}), floats({1, 3, 1}, {1, 3, 8})}),
          {floats({1, 2, 1}, {1, 4})}}},
        {"MultiHeadAttention, causal, fewer keys than queries",
         {contrib("MultiHeadAttention", {{"num_heads", I{1}}, {"unidirectional", I{1}}},
                  {floats({1, 3, 1}, {0, 0, 0}), floats({1, 2, 1}, {0, 0}), floats({1, 2, 1}, {1, 3})}),
          {floats({1, 3, 1}, {1, 2, 2})}}},
        {"Attention, wide values",
         {contrib("Attention", {{"num_heads", I{2}}, {"qkv_hidden_sizes", Ints{2, 2, 4}}},
                  {x, quarters({3, 8}, 5, 9, 4), quarters({8}, 3, 7, 3), numbers({1}, {1})}),
          {floats({1, 2, 4}, {1.75F, -1.9375F, 1.1875F, -2.5F, 1.75F, -1.9375F, 1.1875F, -2.5F})}}},
        {"Attention, padding on the left, cache",
         {contrib("Attention", {{"num_heads", I{1}}, {"unidirectional", I{1}}},
                  {x, quarters({3, 6}, 5, 9, 4), quarters({6}, 3, 7, 3), numbers({2}, {3, 1}),
                   quarters({2, 1, 1, 1, 2}, 3, 7, 3)},
                  2),
          {floats({1, 2, 2}, {0.75F, -1.8125F, -0.79680604F, 0.22928394F}),
           floats({2, 1, 1, 3, 2}, {-0.75F, 0, 1.3125F, -1.25F, -0.75F, 0.3125F, 0.75F, -0.25F, 0.75F,
                                    -1.8125F, -0.8125F, 0.25F})}}},
        {"QAttention",
         {contrib("QAttention", {{"num_heads", I{1}}},
                  {bytes({1, 2, 3}, {0, 40, 80, 120, 160, 200}),
                   Tensor::of<std::int8_t>({3, 6}, {-128, -91, -54, -17, 20, 57, 94, -125, -88, -51, -14, 23,
                                                    60, 97, -122, -85, -48, -11}),
                   quarters({6}, 3, 7, 3),
                   Tensor::scalar(.02F),
                   Tensor::scalar(.01F),
                   {},
                   Tensor::scalar(std::uint8_t{120}),
                   Tensor::scalar(std::int8_t{3})}),
          {floats({1, 2, 2}, {0.77199239F, -2.0039911F, 0.76672703F, -1.9977965F})}}},
        {"RotaryEmbedding, first position",
         {contrib("RotaryEmbedding", {},
                  {q, Tensor::ofInts({1}), quarters({4, 1}, 3, 9, 4), quarters({4, 1}, 5, 9, 4)}),
          {floats({1, 2, 4}, {0.1875F, -0.4375F, -0.1875F, -0.4375F, -0.4375F, -0.5625F, 0.5F, -0.75F})}}},
        {"RotaryEmbedding, pairs side by side",
         {contrib("RotaryEmbedding",
                  {{"interleaved", I{1}}, {"rotary_embedding_dim", I{2}}, {"num_heads", I{1}}},
                  {q.reshaped({1, 1, 2, 4}), Tensor::ofInts({2, 0}).reshaped({1, 2}),
                   quarters({3, 1}, 3, 9, 4), quarters({3, 1}, 5, 9, 4)}),
          {floats({1, 1, 2, 4}, {-0.25F, 1.1875F, -0.5F, 1.25F, -1, 0.5F, 1, 0})}}},
    };
}

// Masks of a batch of 2 in all forms.
std::vector<std::pair<const char*, OpCase>> randomCases() {
    Rng rng(5);
    const auto x = [&](const Shape& shape, DType type = DType::f32) {
        return randomTensor(rng, type, shape);
    };
    const auto flags = [&](const Shape& shape) { return randomTensor(rng, DType::i32, shape, 0, 2); };
    const auto group = [&](I queries, I rows, std::vector<std::int32_t> lengths, std::int32_t all,
                           const Attributes& more, std::vector<Tensor> rest = {}, DType type = DType::f32) {
        Attributes attributes{{"num_heads", I{4}}, {"kv_num_heads", I{2}}};
        attributes.insert(more.begin(), more.end());
        const I batch = static_cast<I>(lengths.size());
        std::vector<Tensor> inputs{x({batch, queries, 32}, type),
                                   x({batch, queries, 16}, type),
                                   x({batch, queries, 16}, type),
                                   {},
                                   {},
                                   numbers({batch}, lengths),
                                   total(all)};
        if (rows > 0)
            inputs[3] = x({batch, 2, rows, 8}, type), inputs[4] = x({batch, 2, rows, 8}, type);
        inputs.insert(inputs.end(), rest.begin(), rest.end());
        return contrib("GroupQueryAttention", attributes, inputs, 3, {6});
    };
    const auto angles = [&](DType type = DType::f32) {
        return std::vector<Tensor>{x({12, 4}, type), x({12, 4}, type)};
    };
    const Tensor positions = randomTensor(rng, DType::i64, {1, 3}, 0, 12);
    const Attributes rotates{{"do_rotary", I{1}}}, pairs{{"do_rotary", I{1}}, {"rotary_interleaved", I{1}}};
    const std::vector<Tensor> places{angles()[0], angles()[1], positions};
    return {
        {"group: one query, buffer", group(1, 6, {3, 5}, 6, rotates, angles())},
        {"group: one query, growing", group(1, 4, {4}, 5, pairs, angles())},
        {"group: several queries, buffer", group(3, 7, {4, 2}, 5, rotates, angles())},
        {"group: prompt into a buffer", group(4, 6, {3, 3}, 4, rotates, angles())},
        {"group: prompt without a cache", group(4, 0, {3}, 4, {})},
        {"group: positions given", group(3, 7, {4}, 5, rotates, places)},
        {"group: half", group(2, 5, {3}, 4, rotates, angles(DType::f16), DType::f16)},
        {"group: window", group(2, 9, {6, 4}, 7, {{"local_window_size", I{3}}})},
        {"group: not causal", group(3, 6, {4}, 5, {{"causal", I{0}}})},
        {"group: smooth", group(2, 6, {4}, 5, {{"smooth_softmax", I{1}}, {"softcap", 3.0F}})},
        {"group: bias", group(2, 6, {4, 3}, 5, {}, {{}, {}, {}, x({2, 1, 2, 5}), x({4})})},
        {"heads: lengths",
         contrib("MultiHeadAttention", {{"num_heads", I{2}}},
                 {x({2, 3, 8}), x({2, 5, 8}), x({2, 5, 12}), x({28}), numbers({2}, {4, 0})})},
        {"heads: mask for queries",
         contrib("MultiHeadAttention", {{"num_heads", I{2}}, {"mask_filter_value", -3.0F}},
                 {x({2, 3, 8}), x({2, 5, 8}), x({2, 5, 8}), {}, flags({2, 3, 5})})},
        {"heads: keys and values as heads",
         contrib("MultiHeadAttention", {{"num_heads", I{2}}},
                 {x({2, 3, 8}), x({2, 2, 5, 4}), x({2, 2, 5, 4}), x({24})}, 3)},
        {"heads: cache, causal, half",
         contrib("MultiHeadAttention", {{"num_heads", I{2}}, {"unidirectional", I{1}}},
                 {x({2, 3, 8}, DType::f16),
                  x({2, 3, 8}, DType::f16),
                  x({2, 3, 8}, DType::f16),
                  {},
                  flags({2, 5}),
                  {},
                  x({2, 2, 2, 4}, DType::f16),
                  x({2, 2, 2, 4}, DType::f16)},
                 3)},
        {"packed: bias of scores",
         contrib("Attention", {{"num_heads", I{2}}},
                 {x({2, 3, 5}), x({5, 12}), x({12}), flags({2, 3}), {}, x({1, 2, 3, 3})}, 2)},
        {"packed: left padding", contrib("Attention", {{"num_heads", I{2}}, {"scale", .3F}},
                                         {x({2, 3, 5}), x({5, 12}), {}, numbers({4}, {3, 2, 1, 0})})},
        {"packed bytes: scales of columns",
         contrib("QAttention", {{"num_heads", I{2}}, {"unidirectional", I{1}}},
                 {randomTensor(rng, DType::u8, {2, 3, 5}, 0, 256),
                  randomTensor(rng, DType::i8, {5, 12}, -128, 128),
                  x({12}),
                  Tensor::scalar(.02F),
                  randomTensor(rng, DType::f32, {12}, .01, .02),
                  flags({2, 5}),
                  Tensor::scalar(std::uint8_t{7}),
                  {},
                  x({2, 2, 2, 2, 2})},
                 2)},
        {"rotary: hidden without heads",
         contrib("RotaryEmbedding", {},
                 {x({2, 3, 12}), randomTensor(rng, DType::i64, {2, 3}, 0, 9), x({9, 3}), x({9, 3})})},
        {"rotary: part of a head, half",
         contrib(
             "RotaryEmbedding", {{"rotary_embedding_dim", I{4}}, {"num_heads", I{2}}},
             {x({1, 3, 12}, DType::f16), Tensor::ofInts({2}), x({9, 2}, DType::f16), x({9, 2}, DType::f16)})},
    };
}

} // namespace

Q_DECLARE_METATYPE(tunesmith::ContribCase)
Q_DECLARE_METATYPE(tunesmith::OpCase)

class TestContribAttention : public QObject {
    Q_OBJECT
private slots:
    void answers_data() {
        QTest::addColumn<ContribCase>("known");
        for (const auto& cases : {grouped(), dense()})
            for (const auto& [name, known] : cases)
                QTest::newRow(name) << known;
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
        // Where -10000 is added to all scores of a row, float32 has three digits left behind the point.
        const bool filtered = c.op != "GroupQueryAttention" && c.op != "RotaryEmbedding";
        const double tolerance = c.inputs[0].type() == DType::f16 ? 5e-3 : filtered ? 1e-3 : 1e-4;
        QCOMPARE(compareCompiledForm(c, tolerance), QString());
        c.opset = 12;
        QCOMPARE(compareCompiledForm(c, tolerance), QString());
    }

    // A decoder whose total length is known when it runs has the shapes that it declares, and is written once
    // for all tokens.
    void decoderOfOpenLength() {
        OpCase c = contrib("GroupQueryAttention", {{"num_heads", I{2}}, {"kv_num_heads", I{1}}},
                           {quarters({1, 1, 16}, 7, 11, 5), quarters({1, 1, 8}, 5, 7, 3),
                            quarters({1, 1, 8}, 3, 7, 3), quarters({1, 1, 4, 8}, 5, 11, 5),
                            quarters({1, 1, 4, 8}, 7, 13, 6), numbers({1}, {0}), total(1)},
                           3);
        Graph graph = take(graphOf(c));
        QVERIFY(!graph.value(graph.outputs()[1]).type.isStatic());
        GraphBuilder builder(graph);
        for (const std::size_t output : {1, 2})
            builder.setType(graph.outputs()[output], TensorType(DType::f32, Shape{1, 1, 4, 8}));
        graph = take(inferShapes(take(builder.build())));
        const Graph expanded = take(expandNodes(graph));
        for (std::size_t n = 0; n < expanded.nodeCount(); ++n)
            QVERIFY(checkLowerable(expanded, NodeId(static_cast<std::int64_t>(n))).ok());
        for (std::int32_t token = 0; token < 4; ++token) {
            c.inputs[5] = numbers({1}, {token});
            c.inputs[6] = total(token + 1);
            const auto expected = take(runKernel(c)), actual = take(Interpreter(expanded).run(c.inputs));
            for (std::size_t i = 0; i < expected.size(); ++i)
                QCOMPARE(difference(actual[i], expected[i]), QString());
            c.inputs[3] = expected[1];
            c.inputs[4] = expected[2];
        }
    }

    void refused_data() {
        QTest::addColumn<OpCase>("c");
        QTest::addColumn<QString>("words");
        const auto add = [](const char* name, const OpCase& c, const char* words) {
            QTest::newRow(name) << c << QString(words);
        };
        const Tensor q = counted({1, 2, 4}), w = counted({4, 12}), b = counted({12});
        const Attributes two{{"num_heads", I{2}}};
        add("no heads", contrib("Attention", {}, {q, w, b}), "num_heads");
        add("bias", contrib("Attention", two, {q, w, counted({11})}), "one for each column of the weights");
        add("inner", contrib("Attention", two, {counted({1, 2, 5}), w, b}), "the inner dimensions differ");
        add("sizes", contrib("Attention", {{"num_heads", I{2}}, {"qkv_hidden_sizes", Ints{1, 3}}}, {q, w, b}),
            "needs 3 numbers");
        add("negative size",
            contrib("Attention", {{"num_heads", I{2}}, {"qkv_hidden_sizes", Ints{2, 2, -3}}}, {q, w, b}),
            "cannot be split into 2 heads");
        add("mask", contrib("Attention", two, {q, w, b, numbers({1, 9}, std::vector<std::int32_t>(9))}),
            "does not fit batch x queries x keys of 1 x 2 x 2");
        add("mask type", contrib("Attention", two, {q, w, b, counted({1, 2})}), "must be int32");
        add("rotary", contrib("Attention", {{"num_heads", I{2}}, {"do_rotary", I{1}}}, {q, w, b}),
            "do_rotary is for GPUs");
        add("no value", contrib("MultiHeadAttention", two, {q, q}), "input 2 is missing");
        add("value length", contrib("MultiHeadAttention", two, {q, q, counted({1, 3, 4})}),
            "there must be a value for each key");
        add("key size", contrib("MultiHeadAttention", two, {q, counted({1, 2, 6}), q}),
            "heads of queries and keys must be of one size");
        add("half a cache", contrib("MultiHeadAttention", two, {q, q, q, {}, {}, {}, counted({1, 2, 3, 2})}),
            "must come together");
        add("cache size",
            contrib("MultiHeadAttention", two,
                    {q, q, q, {}, {}, {}, counted({1, 2, 3, 2}), counted({1, 2, 3, 4})}),
            "a cache is [batch, heads, length, size]");
        add("scores", contrib("MultiHeadAttention", two, {q, q, q, {}, {}, counted({1, 4, 2, 2})}),
            "batch or 1, heads or 1");
        const Attributes group{{"num_heads", I{2}}, {"kv_num_heads", I{1}}};
        add("kv heads",
            contrib("GroupQueryAttention", {{"num_heads", I{3}}, {"kv_num_heads", I{2}}},
                    {q, {}, {}, {}, {}, numbers({1}, {1}), total(2)}),
            "must be a multiple");
        add("no angles",
            contrib("GroupQueryAttention", {{"num_heads", I{2}}, {"kv_num_heads", I{1}}, {"do_rotary", I{1}}},
                    {counted({1, 2, 8}), {}, {}, {}, {}, numbers({1}, {1}), total(2)}),
            "do_rotary needs cos_cache and sin_cache");
        add("lengths",
            contrib("GroupQueryAttention", group,
                    {counted({1, 2, 8}), {}, {}, {}, {}, numbers({2}, {1, 1}), total(2)}),
            "one length for each of the batch");
        add("too long",
            contrib("GroupQueryAttention", group,
                    {counted({1, 1, 8}),
                     {},
                     {},
                     counted({1, 1, 2, 2}),
                     counted({1, 1, 2, 2}),
                     numbers({1}, {5}),
                     total(2)}),
            "rows of the cache are filled");
        add("quantised cache",
            contrib(
                "GroupQueryAttention",
                {{"num_heads", I{2}}, {"kv_num_heads", I{1}}, {"k_quant_type", std::string("PER_TENSOR")}},
                {counted({1, 2, 8}), {}, {}, {}, {}, numbers({1}, {1}), total(2)}),
            "caches of quantised numbers");
        add("angles",
            contrib("RotaryEmbedding", {}, {q, Tensor::ofInts({0}), counted({3, 3}), counted({3, 3})}),
            "which does not fit caches of 3 angles");
        add("position",
            contrib("RotaryEmbedding", {}, {q, Tensor::ofInts({2}), counted({3, 2}), counted({3, 2})}),
            "position 3 is none of the 3");
        add("positions",
            contrib("RotaryEmbedding", {}, {q, Tensor::ofInts({0, 1}), counted({3, 2}), counted({3, 2})}),
            "a first position, or one for each");
    }
    void refused() {
        QFETCH(OpCase, c);
        QFETCH(QString, words);
        QCOMPARE(refusalDifference(c, words), QString());
    }
};

QTEST_APPLESS_MAIN(TestContribAttention)
#include "tst_contrib_attention.moc"
