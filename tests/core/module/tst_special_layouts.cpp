// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/check/equivalence.h"
#include "core/module/build.h"
#include "core/ops/interpreter.h"
#include "plan_testing.h"
#include "special_values.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

using Recipe = std::function<ValueId(Net&, ValueId)>;
using Attributes = std::map<std::string, Attribute>;

Recipe plain(const char* op, const Attributes& attributes = {}) {
    return [=](Net& net, ValueId x) { return net.builder.add(op, {x}, attributes); };
}

ValueId number(Net& net, float value) { return net.builder.addConstant("", Tensor::scalar(value)); }

std::int64_t channelsOf(const Net& net, ValueId x) { return (*net.builder.value(x).type.dims)[1].extent; }

const Attributes kWindow{{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}};

const std::vector<std::pair<const char*, Recipe>>& recipes() {
    static const std::vector<std::pair<const char*, Recipe>> all{
        {"relu", plain("Relu")}, {"leaky relu", plain("LeakyRelu")}, {"elu", plain("Elu")}, {"sigmoid", plain("Sigmoid")}, {"hard sigmoid", plain("HardSigmoid")},
        {"clip", [](Net& n, ValueId x) { return n.builder.add("Clip", {x, number(n, -1), number(n, 1.5F)}); }},
        {"swish", [](Net& n, ValueId x) { return n.builder.add("Mul", {x, n.builder.add("Sigmoid", {x})}); }},
        {"maximum with itself pooled", [](Net& n, ValueId x) { return n.builder.add("Max", {x, n.builder.add("GlobalMaxPool", {x})}); }},
        {"minimum with a number", [](Net& n, ValueId x) { return n.builder.add("Min", {number(n, 0.5F), x}); }},
        {"max pool", plain("MaxPool", kWindow)}, {"average pool", plain("AveragePool", kWindow)},
        {"global max pool", plain("GlobalMaxPool")}, {"global average pool", plain("GlobalAveragePool")},
        {"softmax over channels", plain("Softmax", {{"axis", std::int64_t{1}}})}, {"softmax over columns", plain("Softmax", {{"axis", std::int64_t{3}}})},
        {"largest channel", plain("ArgMax", {{"axis", std::int64_t{1}}})},
        {"maximum of maps", [](Net& n, ValueId x) { return n.builder.add("ReduceMax", {x, n.builder.addConstant("", Tensor::ofInts({2, 3}))}); }},
        {"minimum of channels", [](Net& n, ValueId x) { return n.builder.add("ReduceMin", {x, n.builder.addConstant("", Tensor::ofInts({1}))}); }},
        {"transposed", plain("Transpose", {{"perm", Ints{0, 2, 3, 1}}})},
        {"concat with itself", [](Net& n, ValueId x) { return n.builder.add("Concat", {x, n.builder.add("Relu", {x})}, {{"axis", std::int64_t{1}}}); }},
        {"instance normalization", [](Net& n, ValueId x) { return n.builder.add("InstanceNormalization", {x, n.constant({channelsOf(n, x)}), n.constant({channelsOf(n, x)})}); }},
        {"normalised channels", plain("LpNormalization", {{"axis", std::int64_t{1}}})},
        {"depthwise", [](Net& n, ValueId x) {
             const std::int64_t channels = channelsOf(n, x);
             return n.builder.add("Conv", {x, n.constant({channels, 1, 3, 3})}, {{"group", channels}, {"pads", Ints{1, 1, 1, 1}}});
         }},
        {"convolved by single pixels", [](Net& n, ValueId x) { return n.builder.add("Conv", {x, n.constant({20, channelsOf(n, x), 1, 1})}); }},
        {"convolved by 5x5", [](Net& n, ValueId x) { return n.builder.add("Conv", {x, n.constant({12, channelsOf(n, x), 5, 5})}, {{"pads", Ints{2, 2, 2, 2}}}); }},
    };
    return all;
}

} // namespace

// What a convolution makes lies in blocks of channels. Special values that join it there go through what follows as in the reference engine; blocks are not
// always full.
class SpecialLayoutsTest : public QObject {
    Q_OBJECT
private slots:
    void blocksAsReference_data() {
        QTest::addColumn<int>("recipe");
        QTest::addColumn<int>("channels");
        for (std::size_t i = 0; i < recipes().size(); ++i)
            for (const int channels : {16, 24, 42})
                QTest::addRow("%s of %d channels", recipes()[i].first, channels) << static_cast<int>(i) << channels;
    }

    void blocksAsReference() {
        QFETCH(int, recipe);
        QFETCH(int, channels);
        const Shape shape{2, channels, 7, 9};
        Net net;
        const ValueId image = net.builder.addInput("image", TensorType(DType::f32, Shape{2, 3, 7, 9}));
        const ValueId odd = net.builder.addInput("odd", TensorType(DType::f32, shape));
        const ValueId joined = net.builder.add("Add", {net.conv(image, 3, channels), odd});
        net.builder.setType(joined, TensorType(DType::f32, shape));
        net.builder.setOutputs({recipes()[static_cast<std::size_t>(recipe)].second(net, joined)});
        const Graph graph = take(prepareGraph(take(net.builder.build())));
        const std::vector<Tensor> inputs{randomTensor({2, 3, 7, 9}, 5), rowsWithSpecials(DType::f32, shape, true)};
        const std::vector<Tensor> expected = take(Interpreter(graph).run(inputs));
        for (const Isa isa : {Isa::avx2, Isa::avx512}) {
            if (!hostSupports(isa))
                continue;
            BuildOptions options;
            options.target.isa = isa;
            const Status same = requireEquivalent(expected, runPlan(take(buildModule(graph, options)), inputs), {}, {1e-4, 1e-5});
            QVERIFY2(same.ok(), same.ok() ? "" : (std::string(isaName(isa)) + ": " + same.error().message).c_str());
        }
    }
};

QTEST_APPLESS_MAIN(SpecialLayoutsTest)
#include "tst_special_layouts.moc"
