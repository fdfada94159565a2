// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "contrib_case.h"
#include "core/check/random_inputs.h"

// Attention of com.microsoft in forms that ONNX Runtime computes on GPUs only, held against others that it
// agrees with: packed inputs, caches that are buffers, masks of 4 dimensions. And the scores as an output.
using namespace tunesmith;

namespace {

using I = std::int64_t;
using Attributes = std::map<std::string, Attribute>;

constexpr I kBatch = 2, kHeads = 2, kSize = 4, kHidden = kHeads * kSize;

// A tensor whose element at an index is that of another one at the index that `from` makes of it; zero where
// there is none.
Tensor picked(const Tensor& x, const Shape& shape, const std::function<std::optional<Shape>(Shape)>& from) {
    Tensor y = Tensor::zeros(x.type(), shape);
    const std::size_t width = byteSize(x.type());
    for (I i = 0; i < y.count(); ++i) {
        Shape index;
        for (std::size_t d = 0; d < shape.size(); ++d)
            index.push_back(i / rowMajorStrides(shape)[d] % shape[d]);
        const auto source = from(index);
        if (!source)
            continue;
        I offset = 0;
        for (std::size_t d = 0; d < source->size(); ++d)
            offset += (*source)[d] * rowMajorStrides(x.shape())[d];
        std::copy_n(x.bytes().data() + static_cast<std::size_t>(offset) * width, width,
                    y.mutableBytes().data() + static_cast<std::size_t>(i) * width);
    }
    return y;
}

// [batch, length, heads, several, size] of one as [batch, length, hidden].
Tensor partOf(const Tensor& packed, I part) {
    return picked(packed, {kBatch, packed.shape()[1], kHidden}, [part](const Shape& i) {
        return Shape{i[0], i[1], i[2] / kSize, part, i[2] % kSize};
    });
}
// The first `rows` of a cache, and with zeros up to as many.
Tensor withRows(const Tensor& cache, I rows, I filled) {
    Shape shape = cache.shape();
    const std::size_t axis = shape.size() - 2;
    shape[axis] = rows;
    return picked(cache, shape, [axis, filled](const Shape& i) {
        return i[axis] < filled ? std::optional(i) : std::nullopt;
    });
}

struct Forms {
    OpCase form, known;
    std::function<Tensor(const Tensor&)> caches = [](const Tensor& x) {
        return x;
    }; // the known ones as the form has them
};

Tensor x(Rng& rng, const Shape& shape, DType type = DType::f32) {
    return randomTensor(rng, type, shape);
}
Tensor number(std::int32_t value) {
    return Tensor::of<std::int32_t>({1}, {value});
}
Tensor flags(Rng& rng, const Shape& shape) {
    return randomTensor(rng, DType::i32, shape, 0, 2);
}

std::vector<std::pair<const char*, Forms>> packedForms() {
    Rng rng(5);
    const Attributes heads{{"num_heads", kHeads}};
    const Tensor all = x(rng, {kBatch, 3, kHeads, 3, kSize}), pair = x(rng, {kBatch, 5, kHeads, 2, kSize}),
                 q = x(rng, {kBatch, 3, kHidden});
    const Tensor bias = x(rng, {3 * kHidden}), mask = flags(rng, {kBatch, 5});
    const auto mha = [&](std::vector<Tensor> inputs) {
        return contrib("MultiHeadAttention", heads, std::move(inputs), 4);
    };
    const Tensor half = all.cast(DType::f16);
    return {
        {"queries, keys and values", {mha({all}), mha({partOf(all, 0), partOf(all, 1), partOf(all, 2)})}},
        {"with a bias",
         {mha({all, {}, {}, bias}), mha({partOf(all, 0), partOf(all, 1), partOf(all, 2), bias})}},
        {"half", {mha({half}), mha({partOf(half, 0), partOf(half, 1), partOf(half, 2)})}},
        {"keys and values", {mha({q, pair}), mha({q, partOf(pair, 0), partOf(pair, 1)})}},
        {"keys and values, bias, mask",
         {mha({q, pair, {}, bias, mask}), mha({q, partOf(pair, 0), partOf(pair, 1), bias, mask})}},
    };
}

std::vector<std::pair<const char*, Forms>> buffers() {
    Rng rng(6);
    constexpr I kRows = 7, kPast = 3, kNew = 2, kTotal = kPast + kNew;
    const Tensor q = x(rng, {kBatch, kNew, kHidden}), k = x(rng, {kBatch, kNew, kHidden}),
                 v = x(rng, {kBatch, kNew, kHidden});
    const Tensor keys = x(rng, {kBatch, kHeads, kRows, kSize}),
                 values = x(rng, {kBatch, kHeads, kRows, kSize});
    const auto grown = [&](const Tensor& cache) { return withRows(cache, kPast, kPast); };
    const auto asBuffer = [](const Tensor& cache) { return withRows(cache, kRows, kTotal); };
    const auto mha = [&](const Tensor& mask, const Tensor& bias, I causal) {
        const Attributes attributes{{"num_heads", kHeads}, {"unidirectional", causal}};
        return Forms{contrib("MultiHeadAttention", attributes,
                             {q, k, v, {}, mask, bias, keys, values, number(kPast)}, 3),
                     contrib("MultiHeadAttention", attributes,
                             {q, k, v, {}, mask, bias, grown(keys), grown(values)}, 3),
                     asBuffer};
    };
    const Tensor in = x(rng, {kBatch, kNew, 5}), w = x(rng, {5, 3 * kHidden}), b = x(rng, {3 * kHidden});
    const Tensor past = x(rng, {2, kBatch, kHeads, kRows, kSize}), mask = flags(rng, {kBatch, kTotal});
    const auto packed = [&](I causal) {
        Attributes attributes{{"num_heads", kHeads}, {"unidirectional", causal}}, shared = attributes;
        shared["past_present_share_buffer"] = I{1};
        return Forms{contrib("Attention", shared, {in, w, b, mask, past, {}, number(kPast)}, 2),
                     contrib("Attention", attributes, {in, w, b, mask, grown(past)}, 2), asBuffer};
    };
    const Attributes heads{{"num_heads", kHeads}};
    return {
        {"heads", mha({}, {}, 0)},
        {"heads, causal", mha({}, {}, 1)},
        {"heads, mask and bias", mha(mask, x(rng, {1, kHeads, kNew, kTotal}), 1)},
        {"heads, mask for queries", mha(flags(rng, {kBatch, kNew, kTotal}), {}, 0)},
        {"packed", packed(0)},
        {"packed, causal", packed(1)},
        {"packed, a length that says nothing",
         {contrib("Attention", heads, {in, w, b, {}, past, {}, number(1)}, 2),
          contrib("Attention", heads, {in, w, b, {}, past}, 2)}},
    };
}

std::vector<std::pair<const char*, Forms>> masks() {
    Rng rng(7);
    constexpr I kPast = 3, kNew = 2, kMost = 8;
    const Tensor in = x(rng, {kBatch, kNew, 5}), w = x(rng, {5, 3 * kHidden}), b = x(rng, {3 * kHidden});
    const Tensor past = x(rng, {2, kBatch, kHeads, kPast, kSize}),
                 square = flags(rng, {kBatch, 1, kMost, kMost});
    const auto rows = [&](I before) {
        return picked(square, {kBatch, kNew, before + kNew}, [before](const Shape& i) {
            return Shape{i[0], 0, before + i[1], i[2]};
        });
    };
    const auto attention = [&](const Tensor& mask, const Tensor& cache) {
        return contrib("Attention", {{"num_heads", kHeads}}, {in, w, b, mask, cache}, 2);
    };
    const Tensor q = x(rng, {kBatch, 5, kHidden}), k = x(rng, {kBatch, kNew, kHidden}),
                 cache = x(rng, {kBatch, kHeads, kPast, kSize});
    const auto wide = [&](I before) { // more queries than new keys
        return picked(square, {kBatch, 5, before + kNew}, [before](const Shape& i) {
            return Shape{i[0], 0, before + i[1], i[2]};
        });
    };
    const auto mha = [&](const Tensor& mask, const Tensor& before) {
        return contrib("MultiHeadAttention", {{"num_heads", kHeads}, {"mask_filter_value", -100.0F}},
                       {q, k, k, {}, mask, {}, before, before}, 1);
    };
    return {
        {"a square, more queries than keys", {mha(square, {}), mha(wide(0), {})}},
        {"a square and a cache, more queries than keys", {mha(square, cache), mha(wide(kPast), cache)}},
        {"a square", {attention(square, {}), attention(rows(0), {})}},
        {"a square and a cache", {attention(square, past), attention(rows(kPast), past)}},
        {"one that masks nothing",
         {attention(Tensor::of<std::int32_t>({1, 1}, {0}), past), attention({}, past)}},
    };
}

} // namespace

Q_DECLARE_METATYPE(Forms)
Q_DECLARE_METATYPE(tunesmith::OpCase)
Q_DECLARE_METATYPE(tunesmith::Tensor)

class TestContribAttentionForms : public QObject {
    Q_OBJECT
private slots:
    void formsAgree_data() {
        QTest::addColumn<Forms>("forms");
        for (const auto& cases : {packedForms(), buffers(), masks()})
            for (const auto& [name, forms] : cases)
                QTest::newRow(name) << forms;
    }
    void formsAgree() {
        QFETCH(Forms, forms);
        const auto actual = runKernel(forms.form), expected = runKernel(forms.known);
        QVERIFY2(actual.ok(), actual.ok() ? "" : actual.error().message.c_str());
        QVERIFY2(expected.ok(), expected.ok() ? "" : expected.error().message.c_str());
        for (std::size_t i = 0; i < expected->size(); ++i)
            QCOMPARE(difference((*actual)[i], i == 0 ? (*expected)[i] : forms.caches((*expected)[i]), 1e-6),
                     QString());
        const double tolerance = forms.form.inputs[0].type() == DType::f16
                                     ? 5e-3
                                     : 1e-4; // a row that is masked as a whole has scores near -10000
        QCOMPARE(compareCompiledForm(forms.form, tolerance), QString());
    }

    // Two keys for one query of size 1: scores 2 and 6, of which the second lies ahead.
    void scoresOfHeads() {
        const auto mha = [](Attributes attributes, const Tensor& mask, const Tensor& bias) {
            attributes["num_heads"] = I{1};
            attributes["scale"] = 2.0F;
            return contrib("MultiHeadAttention", attributes,
                           {floats({1, 2, 1}, {1, 1}),
                            floats({1, 2, 1}, {1, 3}),
                            floats({1, 2, 1}, {1, 1}),
                            {},
                            mask,
                            bias},
                           4);
        };
        const auto scores = [&](const OpCase& c, const std::vector<float>& expected) {
            const auto outputs = runKernel(c);
            QVERIFY2(outputs.ok(), outputs.ok() ? "" : outputs.error().message.c_str());
            QCOMPARE(difference((*outputs)[3], floats({1, 1, 2, 2}, expected)), QString());
            QCOMPARE(compareCompiledForm(c), QString());
        };
        constexpr float kLowest = std::numeric_limits<float>::lowest();
        scores(mha({}, {}, {}), {2, 6, 2, 6});
        scores(mha({{"unidirectional", I{1}}}, {}, {}), {2, kLowest, 2, 6});
        scores(mha({{"mask_filter_value", -9.0F}}, Tensor::of<std::int32_t>({1, 2}, {0, 1}),
                   floats({1, 1, 2, 2}, {1, 0, 0, 5})),
               {-6, 6, -7, 11});
    }

    // Of three keys that a cache of two rows and one new key make, and of a prompt.
    void scoresOfGroups() {
        const Attributes group{
            {"num_heads", I{1}}, {"kv_num_heads", I{1}}, {"scale", 2.0F}, {"qk_output", I{1}}};
        const Tensor one = floats({1, 1, 1}, {1}), past = floats({1, 1, 4, 1}, {5, 7, 100, 100});
        const OpCase decode =
            contrib("GroupQueryAttention", group,
                    {one, one, one, past, past, number(2), Tensor::scalar(std::int32_t{3})}, 4, {6});
        const Tensor pair = floats({1, 2, 1}, {1, 3});
        OpCase prompt =
            contrib("GroupQueryAttention", group,
                    {pair, pair, pair, {}, {}, number(1), Tensor::scalar(std::int32_t{2})}, 4, {6});
        const auto check = [](const OpCase& c, const Tensor& expected) {
            const auto outputs = runKernel(c);
            QVERIFY2(outputs.ok(), outputs.ok() ? "" : outputs.error().message.c_str());
            QCOMPARE(difference((*outputs)[3], expected), QString());
            QCOMPARE(compareCompiledForm(c), QString());
        };
        check(decode, floats({1, 1, 1, 3}, {10, 14, 2}));
        check(prompt, floats({1, 1, 2, 2}, {2, 0, 6, 18}));
        prompt.attributes["qk_output"] = I{2};
        const auto small = static_cast<float>(1 / (1 + std::exp(12.0)));
        check(prompt, floats({1, 1, 2, 2}, {1, 0, small, 1 - small}));
    }

    void refused_data() {
        QTest::addColumn<OpCase>("c");
        QTest::addColumn<QString>("words");
        const auto add = [](const char* name, const OpCase& c, const char* words) {
            QTest::newRow(name) << c << QString(words);
        };
        const Attributes two{{"num_heads", I{2}}},
            shared{{"num_heads", I{2}}, {"past_present_share_buffer", I{1}}};
        const Tensor q = counted({1, 2, 4}), cache = counted({1, 2, 3, 2}), w = counted({4, 12}),
                     b = counted({12});
        add("packed heads", contrib("MultiHeadAttention", two, {counted({1, 2, 3, 3, 2})}),
            "batch, length, heads, the packed ones and size");
        add("packed pairs as three", contrib("MultiHeadAttention", two, {counted({1, 2, 2, 2, 2})}),
            "batch, length, heads, the packed ones and size");
        add("no keys", contrib("MultiHeadAttention", two, {q}), "which is not packed");
        add("values without keys", contrib("MultiHeadAttention", two, {q, {}, q}), "values need keys");
        add("a full buffer",
            contrib("MultiHeadAttention", two, {q, q, q, {}, {}, {}, cache, cache, number(2)}),
            "past_sequence_length is 2, but a cache of 3 rows gets 2");
        add("a negative length",
            contrib("MultiHeadAttention", two, {q, q, q, {}, {}, {}, cache, cache, number(-1)}),
            "past_sequence_length is -1");
        add("no length", contrib("Attention", shared, {q, w, b, {}, counted({2, 1, 2, 3, 2})}),
            "input 6 is missing");
        add("a small square",
            contrib("Attention", two, {q, w, b, Tensor::of<std::int32_t>({1, 1, 1, 1}, {1})}),
            "does not fit");
        add("a square, causal",
            contrib("Attention", {{"num_heads", I{2}}, {"unidirectional", I{1}}},
                    {q, w, b, Tensor::of<std::int32_t>({1, 1, 2, 2}, {1, 1, 1, 1})}),
            "mask of 4 dimensions");
        const auto ones = [](const Shape& shape) {
            const auto count = static_cast<std::size_t>(elementCount(shape));
            return Tensor::of<std::int32_t>(shape, std::vector<std::int32_t>(count, 1));
        };
        const Tensor many = counted({1, 5, 4});
        add("a square smaller than the queries",
            contrib("MultiHeadAttention", two, {many, q, q, {}, ones({1, 1, 3, 3})}), "does not fit");
        add("a square smaller than the cache and queries",
            contrib("MultiHeadAttention", two, {many, q, q, {}, ones({1, 1, 7, 7}), {}, cache, cache}),
            "does not fit");
        add("beams", contrib("MultiHeadAttention", two, {q, q, q, {}, {}, {}, {}, {}, {}, number(0)}),
            "cache_indirection");
        add("scores of nothing",
            contrib("GroupQueryAttention", {{"num_heads", I{2}}, {"kv_num_heads", I{1}}},
                    {counted({1, 2, 8}), {}, {}, {}, {}, number(1), Tensor::scalar(std::int32_t{2})}, 4),
            "qk_output is 0");
    }
    void refused() {
        QFETCH(OpCase, c);
        QFETCH(QString, words);
        QCOMPARE(refusalDifference(c, words), QString());
    }

    // Three queries of two heads of size 2 and a cache of one row, which gets four.
    void groupShapes_data() {
        QTest::addColumn<Tensor>("bias");
        QTest::addColumn<Tensor>("cos");
        QTest::addColumn<Tensor>("sin");
        QTest::addColumn<QString>("words");
        const auto row = [](const char* name, const Tensor& bias, const Tensor& cos, const Tensor& sin,
                            const char* words) { QTest::newRow(name) << bias << cos << sin << words; };
        const Tensor angles = counted({4, 1});
        row("good", counted({1, 2, 3, 4}), angles, angles, "");
        row("good for all heads", counted({1, 1, 3, 4}), angles, angles, "");
        row("one row of bias", counted({1, 1, 1, 4}), {}, {}, "input 10");
        row("bias of another batch", counted({2, 1, 3, 4}), {}, {}, "input 10");
        row("bias of other heads", counted({1, 3, 3, 4}), {}, {}, "input 10");
        row("short bias", counted({1, 1, 3, 3}), {}, {}, "for each of 4 keys");
        row("long bias", counted({1, 1, 3, 5}), {}, {}, "input 10");
        row("line of cosines", {}, counted({4}), angles, "input 7");
        row("line of angles", {}, counted({4}), counted({4}), "input 7");
        row("line of sines", {}, angles, counted({4}), "input 8");
        row("many angles", {}, counted({4, 2}), counted({4, 2}), "rotates more than");
    }
    void groupShapes() {
        QFETCH(Tensor, bias);
        QFETCH(Tensor, cos);
        QFETCH(Tensor, sin);
        QFETCH(QString, words);
        const Tensor q = counted({1, 3, 4}), k = counted({1, 3, 2}), past = counted({1, 1, 1, 2});
        const OpCase c = contrib(
            "GroupQueryAttention",
            {{"num_heads", I{2}}, {"kv_num_heads", I{1}}, {"do_rotary", I{cos.absent() ? 0 : 1}}},
            {q, k, k, past, past, number(3), Tensor::scalar(std::int32_t{4}), cos, sin, {}, bias}, 3, {6});
        QCOMPARE(words.isEmpty() ? compareCompiledForm(c) : refusalDifference(c, words), QString());
    }

    // Where the total length is an input the caches that a model declares bound the bias.
    void biasBeyondDeclaredCache() {
        GraphBuilder builder;
        builder.setOpset("", 17);
        builder.setOpset("com.microsoft", 1);
        const auto input = [&](const char* name, DType type, const Shape& shape) {
            return builder.addInput(name, TensorType(type, shape));
        };
        Node node;
        node.op = "GroupQueryAttention";
        node.domain = "com.microsoft";
        node.attributes = {{"num_heads", I{1}}, {"kv_num_heads", I{1}}};
        const ValueId q = input("q", DType::f32, {1, 1, 2}), past = input("past", DType::f32, {1, 1, 4, 2});
        node.inputs = {
            q, q, q, past, past, input("lengths", DType::i32, {1}), input("total", DType::i32, {})};
        node.inputs.resize(11);
        node.inputs[10] = input("bias", DType::f32, {1, 1, 1, 5});
        const TensorType cache(DType::f32, Shape{1, 1, 4, 2});
        node.outputs = {builder.addValue("y"), builder.addValue("k", cache), builder.addValue("v", cache)};
        builder.setOutputs(node.outputs);
        builder.addNode(std::move(node));
        const auto graph = builder.build();
        QVERIFY(graph.ok());
        const auto inferred = inferShapes(*graph);
        QVERIFY(inferred.ok());
        const auto expanded = expandNodes(*inferred);
        QVERIFY(expanded.ok());
        QCOMPARE(expanded->nodeCount(), std::size_t{1});
        QVERIFY(!checkLowerable(*expanded, NodeId(0)).ok());
    }

    // Heads of no size have a result, but no nodes.
    void emptyHeads() {
        const OpCase c = contrib("MultiHeadAttention", {{"num_heads", I{2}}}, {counted({2, 3, 2, 3, 0})});
        QVERIFY(runKernel(c).ok());
        const auto graph = graphOf(c);
        QVERIFY(graph.ok());
        const auto expanded = expandNodes(*graph);
        QVERIFY(expanded.ok());
        QCOMPARE(expanded->nodeCount(), std::size_t{1});
    }

    // Lengths that are drawn leave room in the buffer for what the node writes.
    void drawnLengths_data() {
        QTest::addColumn<OpCase>("c");
        const Attributes two{{"num_heads", I{2}}},
            shared{{"num_heads", I{2}}, {"past_present_share_buffer", I{1}}};
        const Tensor q = counted({1, 3, 4}), cache = counted({1, 2, 5, 2}), heads = counted({1, 2, 3, 2});
        const auto mha = [&](const Tensor& query, const Tensor& key, const Tensor& value) {
            return contrib("MultiHeadAttention", two,
                           {query, key, value, {}, {}, {}, cache, cache, number(0)});
        };
        QTest::newRow("rows") << mha(q, q, q);
        QTest::newRow("heads") << mha(q, heads, heads);
        QTest::newRow("packed pairs") << mha(q, counted({1, 3, 2, 2, 2}), {});
        QTest::newRow("packed") << mha(counted({1, 3, 2, 3, 2}), {}, {});
        QTest::newRow("Attention") << contrib(
            "Attention", shared,
            {q, counted({4, 12}), counted({12}), {}, counted({2, 1, 2, 5, 2}), {}, number(0)});
    }
    void drawnLengths() {
        QFETCH(OpCase, c);
        const auto graph = graphOf(c);
        QVERIFY2(graph.ok(), graph.ok() ? "" : graph.error().message.c_str());
        QCOMPARE(inputBounds(*graph).back(), (IndexRange{0, 5 - 3}));
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
            const auto inputs = randomInputs(*graph, seed);
            QVERIFY(inputs.ok());
            const auto outputs = Interpreter(*graph).run(*inputs);
            QVERIFY2(outputs.ok(), outputs.ok() ? "" : outputs.error().message.c_str());
        }
    }
};

QTEST_APPLESS_MAIN(TestContribAttentionForms)
#include "tst_contrib_attention_forms.moc"
