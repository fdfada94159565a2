// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "contrib_case.h"

Q_DECLARE_METATYPE(tunesmith::OpCase)
Q_DECLARE_METATYPE(tunesmith::Tensor)

using namespace tunesmith;

namespace {

using Attributes = std::map<std::string, Attribute>;

Tensor drawn(const Shape& shape, DType type = DType::f32, double low = -2, double high = 2) {
    static Rng rng(3);
    return randomTensor(rng, type, shape, low, high);
}

OpCase linear(const char* rule, std::int64_t heads, std::int64_t shared, std::int64_t decays, std::int64_t betas, bool past, DType type = DType::f32) {
    constexpr std::int64_t batch = 2, time = 4, key = 3, value = 5;
    OpCase c{"LinearAttention", 27, {{"q_num_heads", heads}, {"kv_num_heads", shared}, {"update_rule", std::string(rule)}}};
    c.inputs = {drawn({batch, time, heads * key}, type), drawn({batch, time, shared * key}, type, -0.5, 0.5), drawn({batch, time, shared * value}, type)};
    c.inputs.resize(6);
    if (past)
        c.inputs[3] = drawn({batch, shared, key, value});
    if (decays > 0)
        c.inputs[4] = drawn({batch, time, shared * decays}, type, -1, 0);
    if (betas > 0)
        c.inputs[5] = drawn({batch, time, betas}, type, 0, 1);
    c.outputs = 2;
    return c;
}

OpCase rotary(const Shape& x, std::int64_t rotated, bool positions, Attributes attributes, DType type = DType::f32) {
    const std::int64_t length = x[x.size() - 2];
    OpCase c{"RotaryEmbedding", 23, std::move(attributes)};
    const Shape cache = positions ? Shape{9, rotated / 2} : Shape{x[0], length, rotated / 2};
    c.inputs = {drawn(x, type), drawn(cache, type), drawn(cache, type)};
    if (positions)
        c.inputs.push_back(drawn({x[0], length}, DType::i64, 0, 9));
    return c;
}

OpCase causal(std::int64_t length, std::int64_t size, bool bias, bool past, Attributes attributes = {}, DType type = DType::f32) {
    OpCase c{"CausalConvWithState", 27, std::move(attributes), {drawn({2, 3, length}, type), drawn({3, 1, size}, type)}};
    c.inputs.resize(4);
    if (bias)
        c.inputs[2] = drawn({3}, type);
    if (past)
        c.inputs[3] = drawn({2, 3, size - 1}, type);
    c.outputs = 2;
    return c;
}

OpCase scatter(const Shape& cache, const Shape& update, const Ints& places, Attributes attributes, DType type = DType::f32) {
    OpCase c{"TensorScatter", 24, std::move(attributes), {drawn(cache, type), drawn(update, type)}};
    if (!places.empty())
        c.inputs.push_back(Tensor::ofInts(places));
    return c;
}

} // namespace

class TestTransformerOperators : public QObject {
    Q_OBJECT
private slots:
    void expansionAgreesWithKernel_data() {
        QTest::addColumn<OpCase>("c");
        QTest::newRow("linear") << linear("linear", 2, 2, 0, 0, false);
        QTest::newRow("gated, shared heads") << linear("gated", 4, 2, 1, 0, true);
        QTest::newRow("gated by key") << linear("gated", 2, 2, 3, 0, false);
        QTest::newRow("delta, one rate") << linear("delta", 4, 2, 0, 1, true);
        QTest::newRow("gated delta") << linear("gated_delta", 6, 3, 3, 3, true);
        QTest::newRow("gated delta, float16") << linear("gated_delta", 2, 1, 1, 1, false, DType::f16);
        QTest::newRow("rotary") << rotary({2, 3, 4, 8}, 8, false, {});
        QTest::newRow("rotary at positions") << rotary({2, 3, 4, 8}, 8, true, {});
        QTest::newRow("rotary in pairs") << rotary({2, 3, 4, 8}, 8, true, {{"interleaved", std::int64_t{1}}});
        QTest::newRow("rotary in part") << rotary({2, 3, 4, 8}, 6, true, {{"rotary_embedding_dim", std::int64_t{6}}});
        QTest::newRow("rotary in pairs in part") << rotary({2, 3, 4, 8}, 4, false, {{"rotary_embedding_dim", std::int64_t{4}}, {"interleaved", std::int64_t{1}}});
        QTest::newRow("rotary of packed heads") << rotary({2, 4, 24}, 8, true, {{"num_heads", std::int64_t{3}}});
        QTest::newRow("rotary in float16") << rotary({1, 2, 3, 4}, 4, true, {}, DType::f16);
        QTest::newRow("causal") << causal(5, 3, false, false);
        QTest::newRow("causal with all") << causal(5, 4, true, true, {{"activation", std::string("silu")}});
        QTest::newRow("causal, one step") << causal(1, 4, true, true, {{"activation", std::string("swish")}});
        QTest::newRow("causal of one weight") << causal(4, 1, true, false);
        QTest::newRow("causal in float16") << causal(5, 3, true, true, {}, DType::f16);
    }
    void expansionAgreesWithKernel() {
        QFETCH(const OpCase, c);
        const QString text = compareCompiledForm(c, c.inputs[0].type() == DType::f16 ? 4e-3 : 1e-5);
        QVERIFY2(text.isEmpty(), qPrintable(text));
    }

    void loweringAgreesWithKernel_data() {
        QTest::addColumn<OpCase>("c");
        for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
            const auto name = [&](const char* what) { return QByteArray(what) + " " + QByteArray(dtypeName(type).data()); };
            QTest::newRow(name("rms")) << OpCase{"RMSNormalization", 23, {}, {drawn({2, 3, 8}, type), drawn({8}, type)}};
            QTest::newRow(name("rms of two axes")) << OpCase{"RMSNormalization", 23, {{"axis", std::int64_t{1}}, {"epsilon", 0.1F}}, {drawn({2, 3, 8}, type), drawn({3, 8}, type)}};
            QTest::newRow(name("swish")) << OpCase{"Swish", 24, {{"alpha", 1.7F}}, {drawn({3, 5}, type)}};
            QTest::newRow(name("swiglu")) << OpCase{"SwiGLU", 28, {{"alpha", 0.6F}}, {drawn({3, 5}, type), drawn({3, 5}, type)}};
        }
        QTest::newRow("rms, scale of another type") << OpCase{"RMSNormalization", 23, {}, {drawn({2, 8}, DType::f16), drawn({8})}};
        QTest::newRow("scatter") << scatter({2, 3, 6, 4}, {2, 3, 2, 4}, {1, 4}, {});
        QTest::newRow("scatter at the start") << scatter({2, 6, 4}, {2, 2, 4}, {}, {}, DType::i8);
        QTest::newRow("scatter around the end") << scatter({2, 3, 6, 4}, {2, 3, 3, 4}, {5, 2}, {{"mode", std::string("circular")}});
        QTest::newRow("scatter along the last axis") << scatter({2, 3, 6}, {2, 3, 2}, {4, 0}, {{"axis", std::int64_t{2}}}, DType::f16);
    }
    void loweringAgreesWithKernel() {
        QFETCH(const OpCase, c);
        const QString text = compareLowering(c, c.inputs[0].type() == DType::bf16 ? 1e-2 : 2e-3);
        QVERIFY2(text.isEmpty(), qPrintable(text));
    }

    void knownAnswers_data() {
        QTest::addColumn<OpCase>("c");
        QTest::addColumn<Tensor>("expected");
        const Tensor axis = Tensor::scalar<std::int64_t>(0);
        const auto flags = [](std::int64_t exclusive, std::int64_t reverse) { return Attributes{{"exclusive", exclusive}, {"reverse", reverse}}; };
        QTest::newRow("product") << OpCase{"CumProd", 26, {}, {floats({4}, {1, 2, 3, 4}), axis}} << floats({4}, {1, 2, 6, 24});
        QTest::newRow("product without itself") << OpCase{"CumProd", 26, flags(1, 0), {floats({4}, {1, 2, 3, 4}), axis}} << floats({4}, {1, 1, 2, 6});
        QTest::newRow("product from behind") << OpCase{"CumProd", 26, flags(0, 1), {floats({4}, {1, 2, 3, 4}), axis}} << floats({4}, {24, 24, 12, 4});
        QTest::newRow("product that wraps") << OpCase{"CumProd", 26, {}, {Tensor::of<std::int32_t>({2}, {65536, 65537}), axis}} << Tensor::of<std::int32_t>({2}, {65536, 65536});
        QTest::newRow("rms") << OpCase{"RMSNormalization", 23, {{"epsilon", 0.0F}}, {floats({1, 2}, {3, 4}), floats({2}, {1, 10})}} << floats({1, 2}, {0.848528137F, 11.3137085F});
        QTest::newRow("swiglu") << OpCase{"SwiGLU", 28, {}, {floats({2}, {0, 1}), floats({2}, {5, 2})}} << floats({2}, {0, 1.46211716F});
        QTest::newRow("scatter around the end")
            << OpCase{"TensorScatter", 24, {{"mode", std::string("circular")}}, {floats({1, 3, 1}, {1, 2, 3}), floats({1, 2, 1}, {8, 9}), Tensor::ofInts({2})}} << floats({1, 3, 1}, {9, 2, 8});
    }
    void knownAnswers() {
        QFETCH(const OpCase, c);
        QFETCH(const Tensor, expected);
        const QString text = answerDifference(c, expected);
        QVERIFY2(text.isEmpty(), qPrintable(text));
    }

    void refusals_data() {
        QTest::addColumn<OpCase>("c");
        QTest::addColumn<QString>("words");
        OpCase position = rotary({1, 1, 2, 4}, 4, true, {});
        position.inputs[3] = Tensor::of<std::int64_t>({1, 2}, {0, 9});
        QTest::newRow("linear, unknown rule") << linear("other", 2, 2, 0, 0, false) << "update_rule";
        QTest::newRow("linear with a decay") << linear("linear", 2, 2, 1, 0, false) << "forbids a decay";
        QTest::newRow("delta without a rate") << linear("delta", 2, 2, 0, 0, false) << "needs a beta";
        QTest::newRow("linear, heads") << linear("linear", 3, 2, 0, 0, false) << "multiple";
        QTest::newRow("rotary, odd part") << rotary({1, 1, 2, 4}, 4, true, {{"rotary_embedding_dim", std::int64_t{3}}}) << "even";
        QTest::newRow("rotary, position unknown") << position << "position 9";
        QTest::newRow("scatter too much") << scatter({1, 3, 1}, {1, 2, 1}, {2}, {}) << "do not fit a cache of 3";
        QTest::newRow("scatter into the batch") << scatter({2, 3}, {1, 3}, {}, {{"axis", std::int64_t{0}}}) << "batch";
        QTest::newRow("causal, activation") << causal(3, 2, false, false, {{"activation", std::string("relu")}}) << "silu";
        QTest::newRow("swiglu, shapes") << OpCase{"SwiGLU", 28, {}, {drawn({2, 3}), drawn({3})}} << "same shape";
    }
    void refusals() {
        QFETCH(const OpCase, c);
        QFETCH(const QString, words);
        const QString text = refusalDifference(c, words);
        QVERIFY2(text.isEmpty(), qPrintable(text));
    }
};

QTEST_GUILESS_MAIN(TestTransformerOperators)
#include "tst_transformer_operators.moc"
