// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>
#include <functional>

#include "core/module/quantised_products.h"
#include "reshaping.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

// Models between bytes: what their values are made of, and the real operators between.
class QuantisedGraph : public ConvGraph {
public:
    ValueId bytes(DType type, const Shape& shape) {
        Tensor tensor = Tensor::zeros(type, shape);
        for (std::byte& byte : tensor.mutableBytes())
            byte = std::byte(static_cast<std::uint8_t>(random_.below(256)));
        return builder().addConstant("", std::move(tensor));
    }
    ValueId scales(std::int64_t count, float first) {
        Tensor tensor = Tensor::zeros(DType::f32, count == 0 ? Shape{} : Shape{count});
        for (std::int64_t i = 0; i < tensor.count(); ++i)
            tensor.mutableData<float>()[static_cast<std::size_t>(i)] = first * (1 + 0.125F * static_cast<float>(i));
        return builder().addConstant("", std::move(tensor));
    }
    ValueId zero(DType type, int value) {
        Tensor tensor = Tensor::zeros(type, {});
        tensor.mutableBytes()[0] = std::byte(static_cast<std::uint8_t>(value));
        return builder().addConstant("", std::move(tensor));
    }
    ValueId real(const Shape& shape) { return op("DequantizeLinear", {input(shape, DType::u8), scales(0, kInput), zero(DType::u8, 117)}); }
    ValueId weights(const Shape& shape, std::int64_t perChannel = 0, std::int64_t axis = 0) {
        return op("DequantizeLinear", perChannel > 0 ? std::vector<ValueId>{bytes(DType::i8, shape), scales(perChannel, kWeights)} : std::vector<ValueId>{bytes(DType::i8, shape), scales(0, kWeights), zero(DType::i8, 3)},
                  {{"axis", axis}});
    }
    ValueId bias(std::int64_t count, float first = kInput * kWeights, bool perChannel = false) {
        Tensor tensor = Tensor::zeros(DType::i32, {count});
        for (std::int32_t& value : tensor.mutableData<std::int32_t>())
            value = static_cast<std::int32_t>(random_.below(40000)) - 20000;
        return op("DequantizeLinear", {builder().addConstant("", std::move(tensor)), scales(perChannel ? count : 0, first)}, {{"axis", std::int64_t{0}}});
    }
    ValueId quantised(ValueId x, int zeroPoint, DType type = DType::u8, float scale = 0.5F) { return op("QuantizeLinear", {x, scales(0, scale), zero(type, zeroPoint)}); }

private:
    static constexpr float kInput = 0.03125F, kWeights = 0.0078125F;
    Rng random_{11};
};

struct Case {
    const char* name;
    std::function<ValueId(QuantisedGraph&)> make;
    const char* op; // which the product becomes; empty: it stays
};

const Attributes kPads{{"pads", Ints{1, 1, 1, 1}}};

const std::vector<Case>& cases() {
    using Q = QuantisedGraph&;
    static const auto clip = [](Q q, ValueId x, float low, float high) { return q.op("Clip", {x, q.builder().addConstant("", Tensor::scalar(low)), q.builder().addConstant("", Tensor::scalar(high))}); };
    static const std::vector<Case> table{
        {"a convolution", [](Q q) { return q.quantised(q.op("Conv", {q.real({1, 4, 9, 9}), q.weights({8, 4, 3, 3}), q.bias(8)}, kPads), 100); }, "QLinearConv"},
        {"scales by channel", [](Q q) { return q.quantised(q.op("Conv", {q.real({1, 4, 9, 9}), q.weights({8, 4, 3, 3}, 8), q.bias(8, 0.03125F * 0.0078125F, true)}, kPads), 100); }, "QLinearConv"},
        {"small weights, which folding could make floats", [](Q q) { return q.quantised(q.op("Conv", {q.real({1, 1, 9, 9}), q.weights({2, 1, 3, 3}), q.bias(2)}), 100, DType::i8); }, "QLinearConv"},
        {"depthwise", [](Q q) { return q.quantised(q.op("Conv", {q.real({1, 6, 9, 9}), q.weights({6, 1, 3, 3})}, {{"group", std::int64_t{6}}}), 100); }, "QLinearConv"},
        {"Relu that saturation does", [](Q q) { return q.quantised(q.op("Relu", {q.op("Conv", {q.real({1, 4, 9, 9}), q.weights({8, 4, 3, 3})})}), 0); }, "QLinearConv"},
        {"Relu that it does not", [](Q q) { return q.quantised(q.op("Relu", {q.op("Conv", {q.real({1, 4, 9, 9}), q.weights({8, 4, 3, 3})})}), 3); }, ""},
        {"Clip that saturation does", [](Q q) { return q.quantised(clip(q, q.op("Conv", {q.real({1, 4, 9, 9}), q.weights({8, 4, 3, 3})}), 0, 6), 0, DType::u8, 6 / 255.0F); }, "QLinearConv"},
        {"Clip at less than a byte holds", [](Q q) { return q.quantised(clip(q, q.op("Conv", {q.real({1, 4, 9, 9}), q.weights({8, 4, 3, 3})}), 0, 6), 0, DType::u8, 0.5F); }, ""},
        {"maxima of windows", [](Q q) {
             const ValueId y = q.op("Relu", {q.op("Conv", {q.real({1, 4, 9, 9}), q.weights({8, 4, 3, 3})}, kPads)});
             return q.quantised(q.op("MaxPool", {y}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}), 0);
         }, "QLinearConv"},
        {"a product of matrices", [](Q q) { return q.quantised(q.op("MatMul", {q.real({2, 5, 16}), q.weights({16, 12}, 12, 1)}), 90); }, "QLinearMatMul"},
        {"a product that stays real", [](Q q) { return q.op("MatMul", {q.real({5, 16}), q.weights({16, 12})}); }, "MatMulIntegerToFloat"},
        {"Gemm", [](Q q) { return q.quantised(q.op("Gemm", {q.real({5, 16}), q.weights({12, 16}), q.bias(12)}, {{"transB", std::int64_t{1}}}), 90); }, "QGemm"},
        {"Gemm that stays real", [](Q q) { return q.op("Gemm", {q.real({5, 16}), q.weights({16, 12}), q.bias(12)}); }, "QGemm"},
        {"Gemm with a factor", [](Q q) { return q.op("Gemm", {q.real({5, 16}), q.weights({16, 12})}, {{"alpha", 0.5F}}); }, ""},
        {"a bias of another scale", [](Q q) { return q.quantised(q.op("Conv", {q.real({1, 4, 9, 9}), q.weights({8, 4, 3, 3}), q.bias(8, 0.0003F)}), 100); }, ""},
        {"a bias of floats", [](Q q) { return q.quantised(q.op("Conv", {q.real({1, 4, 9, 9}), q.weights({8, 4, 3, 3}), q.constant({8})}), 100); }, ""},
        {"weights that are computed", [](Q q) { return q.quantised(q.op("MatMul", {q.real({5, 16}), q.real({16, 12})}), 90, DType::u8, 1.0F); }, ""},
        {"weights by rows", [](Q q) { return q.quantised(q.op("MatMul", {q.real({5, 16}), q.weights({16, 12}, 16, 0)}), 90); }, ""},
        {"sums beyond int32", [](Q q) { return q.quantised(q.op("MatMul", {q.real({1, 40000}), q.weights({40000, 1})}), 90, DType::u8, 100.0F); }, ""},
        {"another reader of the product", [](Q q) {
             const ValueId y = q.op("Conv", {q.real({1, 4, 9, 9}), q.weights({8, 4, 3, 3})});
             return q.op("Add", {q.op("DequantizeLinear", {q.quantised(y, 100), q.scales(0, 0.5F), q.zero(DType::u8, 100)}), y});
         }, ""},
    };
    return table;
}

bool isProduct(const Node& node) { return node.op == "Conv" || node.op == "MatMul" || node.op == "Gemm"; }

} // namespace

class TestQuantisedProducts : public QObject {
    Q_OBJECT

private slots:
    void bytesComputeTheSame_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < cases().size(); ++i)
            QTest::newRow(cases()[i].name) << static_cast<int>(i);
    }
    void bytesComputeTheSame() {
        QFETCH(int, index);
        const Case& kase = cases()[static_cast<std::size_t>(index)];
        QuantisedGraph made;
        const ValueId output = kase.make(made);
        const Graph before = made.graph({output}), after = take(inferShapes(take(quantisedProductsAsIntegerOnes(before))));
        const std::string wanted = kase.op;
        QCOMPARE(std::ranges::any_of(after.nodes(), [](const auto& node) { return isProduct(*node); }), wanted.empty());
        QCOMPARE(std::ranges::count_if(after.nodes(), [&](const auto& node) { return node->op == wanted; }), wanted.empty() ? 0 : 1);
        QCOMPARE(after.value(after.outputs()[0]).name, before.value(before.outputs()[0]).name);
        QVERIFY(after.value(after.outputs()[0]).type == before.value(before.outputs()[0]).type);
        for (std::uint64_t seed = 1; seed <= 4; ++seed)
            compare(before, after, seed);
    }

private:
    // Bytes are equal, as scales are short numbers, in which floats sum exactly; of real numbers only the last bits differ.
    static void compare(const Graph& before, const Graph& after, std::uint64_t seed) {
        std::vector<Tensor> inputs;
        Rng rng(seed);
        for (const ValueId id : before.inputs()) {
            inputs.push_back(Tensor::zeros(DType::u8, before.value(id).type.shape()));
            for (std::byte& byte : inputs.back().mutableBytes())
                byte = std::byte(static_cast<std::uint8_t>(rng.below(256)));
        }
        const Tensor expected = take(Interpreter(before).run(inputs))[0].cast(DType::f32), found = take(Interpreter(after).run(inputs))[0].cast(DType::f32);
        const Difference difference = compareTensors(expected, found, {1e-5, 1e-6});
        QVERIFY2(difference.equal, difference.text.c_str());
        const auto values = expected.data<float>();
        QVERIFY2(values.size() < 2 || std::ranges::min(values) < std::ranges::max(values), "the case says nothing: all results are the same");
    }
};

QTEST_GUILESS_MAIN(TestQuantisedProducts)
#include "tst_quantised_products.moc"
