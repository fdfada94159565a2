// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <limits>

#include "contrib_case.h"

Q_DECLARE_METATYPE(tunesmith::OpCase)
Q_DECLARE_METATYPE(tunesmith::Tensor)

using namespace tunesmith;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Sizes {
    std::int64_t batch = 2, heads = 4, kvHeads = 4, queries = 3, keys = 5, size = 8, valueSize = 8, past = 0;
    bool packed = false;
    DType type = DType::f32;
};

// Query, key, value and, where there is a past, caches. Shapes and types as the sizes say.
OpCase attention(const Sizes& s, std::map<std::string, Attribute> attributes = {}, std::int64_t opset = 24) {
    Rng rng(11);
    const auto tensor = [&](std::int64_t heads, std::int64_t length, std::int64_t size) {
        return randomTensor(rng, s.type, s.packed ? Shape{s.batch, length, heads * size} : Shape{s.batch, heads, length, size});
    };
    OpCase c{"Attention", opset, std::move(attributes)};
    c.inputs = {tensor(s.heads, s.queries, s.size), tensor(s.kvHeads, s.keys, s.size), tensor(s.kvHeads, s.keys, s.valueSize)};
    c.inputs.resize(7);
    if (s.packed) {
        c.attributes["q_num_heads"] = s.heads;
        c.attributes["kv_num_heads"] = s.kvHeads;
    }
    if (s.past > 0) {
        c.inputs[4] = randomTensor(rng, s.type, {s.batch, s.kvHeads, s.past, s.size});
        c.inputs[5] = randomTensor(rng, s.type, {s.batch, s.kvHeads, s.past, s.valueSize});
    }
    c.outputs = 4;
    return c;
}

Tensor truths(const Shape& shape, const std::vector<int>& values) {
    Tensor tensor = Tensor::zeros(DType::boolean, shape);
    std::transform(values.begin(), values.end(), tensor.mutableData<bool>().begin(), [](int value) { return value != 0; });
    return tensor;
}

OpCase given(OpCase c, std::size_t input, Tensor tensor) {
    c.inputs[input] = std::move(tensor);
    return c;
}

Tensor half(const Shape& shape) {
    Rng rng(5);
    return randomTensor(rng, DType::f32, shape);
}

// Two queries and keys of one number each: scores are q * k, and values tell which keys were seen.
OpCase tiny(std::map<std::string, Attribute> attributes, std::int64_t keys = 2) {
    attributes["scale"] = 1.0F;
    OpCase c{"Attention", 25, std::move(attributes)};
    std::vector<float> values;
    for (std::int64_t i = 0; i < keys; ++i)
        values.push_back(static_cast<float>(1 << i));
    const auto n = static_cast<std::size_t>(keys);
    c.inputs = {floats({1, 1, 2, 1}, {0, 0}), floats({1, 1, keys, 1}, std::vector<float>(n, 1.0F)), floats({1, 1, keys, 1}, values)};
    c.inputs.resize(7);
    return c;
}

} // namespace

class TestAttention : public QObject {
    Q_OBJECT
private slots:
    void expansionAgreesWithKernel_data() {
        QTest::addColumn<OpCase>("c");
        const Sizes plain, grouped{.heads = 6, .kvHeads = 2}, wide{.keys = 7, .valueSize = 5}, packed{.heads = 6, .kvHeads = 3, .valueSize = 4, .packed = true};
        const Sizes past{.kvHeads = 2, .past = 4}, halves{.type = DType::f16}, brains{.type = DType::bf16};
        const auto causal = std::map<std::string, Attribute>{{"is_causal", std::int64_t{1}}};
        QTest::newRow("plain") << attention(plain);
        QTest::newRow("shared heads") << attention(grouped);
        QTest::newRow("packed") << attention(packed, causal);
        QTest::newRow("values of another size") << attention(wide, {{"scale", 0.3F}});
        QTest::newRow("softcap") << attention(plain, {{"softcap", 1.5F}});
        QTest::newRow("float16") << attention(halves);
        QTest::newRow("bfloat16") << attention(brains);
        QTest::newRow("causal with a past") << attention(past, causal);
        OpCase empty = attention({.kvHeads = 2}, causal);
        empty.inputs[4] = empty.inputs[5] = Tensor::zeros(DType::f32, {2, 2, 0, 8});
        QTest::newRow("causal with an empty cache") << empty;
        QTest::newRow("more queries than keys, causal") << attention({.queries = 6, .keys = 2}, causal);
        QTest::newRow("window of a past") << attention(past, {{"left_window_size", std::int64_t{2}}, {"right_window_size", std::int64_t{1}}}, 25);
        QTest::newRow("window that leaves rows empty") << attention({.queries = 6, .keys = 2}, {{"left_window_size", std::int64_t{1}}}, 25);
        for (std::int64_t mode = 0; mode < 4; ++mode)
            QTest::addRow("scores of mode %d", static_cast<int>(mode))
                << given(attention(grouped, {{"softcap", 2.0F}, {"qk_matmul_output_mode", mode}}), 3, half({3, 5}));
        QTest::newRow("mask of a batch") << given(attention(plain), 3, half({2, 1, 3, 5}));
        QTest::newRow("mask of heads") << given(attention(plain), 3, half({4, 3, 5}));
        QTest::newRow("short mask") << given(attention(plain), 3, half({3, 4}));
        QTest::newRow("truth mask, a row hidden") << given(attention(plain, causal), 3, truths({3, 5}, {1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 1}));
        QTest::newRow("short truth mask") << given(attention(plain), 3, truths({3, 2}, {1, 0, 0, 0, 1, 1}));
        QTest::newRow("mask with -inf rows") << given(attention({.batch = 1, .heads = 1, .kvHeads = 1, .queries = 2, .keys = 2}), 3, floats({2, 2}, {-kInf, -kInf, 0, -kInf}));
        QTest::newRow("filled keys") << given(attention(plain), 6, Tensor::ofInts({3, 0}));
        QTest::newRow("filled keys, causal") << given(attention(plain, causal), 6, Tensor::ofInts({2, 5}));
        QTest::newRow("filled keys, window and mask")
            << given(given(attention(plain, {{"left_window_size", std::int64_t{1}}, {"is_causal", std::int64_t{1}}}, 25), 6, Tensor::ofInts({4, 1})), 3, half({1, 5}));
    }
    void expansionAgreesWithKernel() {
        QFETCH(const OpCase, c);
        const bool small = c.inputs[0].type() == DType::f16 || c.inputs[0].type() == DType::bf16;
        const QString text = compareCompiledForm(c, small ? 1e-6 : 1e-5);
        QVERIFY2(text.isEmpty(), qPrintable(text));
    }

    void knownAnswers_data() {
        QTest::addColumn<OpCase>("c");
        QTest::addColumn<Tensor>("expected");
        const auto attribute = [](const char* name, std::int64_t value) { return std::map<std::string, Attribute>{{name, value}}; };
        QTest::newRow("all keys") << tiny({}) << floats({1, 1, 2, 1}, {1.5F, 1.5F});
        QTest::newRow("causal begins at the upper left") << tiny(attribute("is_causal", 1), 4) << floats({1, 1, 2, 1}, {1, 1.5F});
        QTest::newRow("a window looks back only so far") << tiny(attribute("left_window_size", 0), 2) << floats({1, 1, 2, 1}, {1.5F, 2});
        QTest::newRow("hidden rows are zero") << given(tiny({}), 3, truths({2, 2}, {0, 0, 0, 1})) << floats({1, 1, 2, 1}, {0, 2});
        QTest::newRow("causal ends at the filled keys") << given(tiny(attribute("is_causal", 1), 4), 6, Tensor::ofInts({3})) << floats({1, 1, 2, 1}, {1.5F, 7.0F / 3});
        QTest::newRow("too few filled keys hide the first query") << given(tiny(attribute("is_causal", 1), 4), 6, Tensor::ofInts({1})) << floats({1, 1, 2, 1}, {0, 1});
    }
    void knownAnswers() {
        QFETCH(const OpCase, c);
        QFETCH(const Tensor, expected);
        const QString text = answerDifference(c, expected);
        QVERIFY2(text.isEmpty(), qPrintable(text));
        const QString other = compareCompiledForm(c);
        QVERIFY2(other.isEmpty(), qPrintable(other));
    }

    void softcapComesBeforeTheMask() {
        OpCase c{"Attention", 23, {{"scale", 1.0F}, {"softcap", 1.0F}, {"qk_matmul_output_mode", std::int64_t{2}}}};
        c.inputs = {floats({1, 1, 1, 1}, {2}), floats({1, 1, 1, 1}, {1}), floats({1, 1, 1, 1}, {1}), floats({1, 1}, {-1})};
        c.outputs = 4;
        const auto result = runKernel(c);
        QVERIFY(result.ok());
        QVERIFY(std::fabs(result->at(3).asDouble(0) - (std::tanh(2.0) - 1)) < 1e-6);
    }

    void refusals_data() {
        QTest::addColumn<OpCase>("c");
        QTest::addColumn<QString>("words");
        const Sizes plain, packed{.packed = true};
        OpCase headless = attention(packed);
        headless.attributes.erase("q_num_heads");
        QTest::newRow("packed without heads") << headless << "q_num_heads";
        OpCase lonely = attention({.past = 2});
        lonely.inputs[5] = Tensor();
        QTest::newRow("half a cache") << lonely << "together";
        QTest::newRow("cache and filled keys") << given(attention({.past = 2}), 6, Tensor::ofInts({1, 1})) << "exclude";
        QTest::newRow("heads that cannot share") << attention({.heads = 4, .kvHeads = 3}) << "share";
        QTest::newRow("mask too wide") << given(attention(plain), 3, half({3, 6})) << "does not fit";
        QTest::newRow("mode") << attention(plain, {{"qk_matmul_output_mode", std::int64_t{4}}}) << "0 to 3";
        QTest::newRow("window") << attention(plain, {{"left_window_size", std::int64_t{-2}}}, 25) << "window";
        QTest::newRow("heads in four dimensions") << attention(plain, {{"q_num_heads", std::int64_t{4}}}, 25) << "3 dimensions";
    }
    void refusals() {
        QFETCH(const OpCase, c);
        QFETCH(const QString, words);
        const QString text = refusalDifference(c, words);
        QVERIFY2(text.isEmpty(), qPrintable(text));
    }
};

QTEST_GUILESS_MAIN(TestAttention)
#include "tst_attention.moc"
