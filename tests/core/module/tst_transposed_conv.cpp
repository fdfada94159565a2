// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>

#include "core/base/rng.h"
#include "core/check/equivalence.h"
#include "core/check/random_inputs.h"
#include "core/graph/graph_builder.h"
#include "core/module/transposed_conv.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

using Ints = std::vector<std::int64_t>;
using Attributes = std::map<std::string, Attribute>;

Tensor randomTensor(const Shape& shape) {
    Tensor tensor = Tensor::zeros(DType::f32, shape);
    Rng rng(5);
    for (float& value : tensor.mutableData<float>())
        value = rng.uniform(-1.0f, 1.0f);
    return tensor;
}

struct Case {
    const char* name;
    Shape x, w;
    Attributes attributes;
    bool rewritten = true;
    bool bias = true;
    bool constantWeights = true;
};

const std::vector<Case>& cases() {
    static const std::vector<Case> table{
        {"2x2 stride 2", {1, 3, 4, 5}, {3, 4, 2, 2}, {{"strides", Ints{2, 2}}}},
        {"2x2 stride 2, two images, no bias", {2, 3, 4, 5}, {3, 4, 2, 2}, {{"strides", Ints{2, 2}}}, true, false},
        {"4x4 stride 2, pads cut off", {1, 2, 5, 3}, {2, 3, 4, 4}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
        {"4x4 stride 2, pads within the convolution", {1, 2, 5, 4}, {2, 3, 4, 4}, {{"strides", Ints{2, 2}}, {"pads", Ints{2, 2, 2, 2}}}},
        {"4x2 stride 2, uneven pads", {1, 2, 5, 4}, {2, 3, 4, 2}, {{"strides", Ints{2, 2}}, {"pads", Ints{0, 1, 3, 0}}}},
        {"6x3 stride 3", {1, 2, 3, 4}, {2, 2, 6, 3}, {{"strides", Ints{3, 3}}}},
        {"3x3 stride 1", {1, 4, 6, 5}, {4, 2, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
        {"3x3 stride 1, wide pads", {1, 4, 9, 9}, {4, 2, 3, 3}, {{"pads", Ints{3, 3, 3, 3}}}},
        {"two groups", {1, 4, 3, 3}, {4, 3, 2, 2}, {{"strides", Ints{2, 2}}, {"group", std::int64_t{2}}}},
        {"output padding", {1, 2, 3, 3}, {2, 2, 4, 4}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"output_padding", Ints{1, 1}}}},
        {"output padding that no input reaches", {1, 2, 3, 3}, {2, 2, 2, 2}, {{"strides", Ints{2, 2}}, {"output_padding", Ints{1, 1}}}, false},
        {"3x3 stride 2", {1, 2, 3, 3}, {2, 2, 3, 3}, {{"strides", Ints{2, 2}}}, false},
        {"dilated", {1, 2, 3, 3}, {2, 2, 2, 2}, {{"dilations", Ints{2, 2}}}, false},
        {"uneven strides", {1, 2, 3, 3}, {2, 2, 2, 4}, {{"strides", Ints{1, 2}}}, false},
        {"automatic pads", {1, 2, 3, 3}, {2, 2, 2, 2}, {{"auto_pad", std::string("SAME_UPPER")}}, false},
        {"wanted shape", {1, 2, 3, 3}, {2, 2, 2, 2}, {{"output_shape", Ints{4, 4}}}, false},
        {"one dimension", {1, 2, 5}, {2, 2, 2}, {{"strides", Ints{2}}}, false},
        {"weights from outside", {1, 2, 3, 3}, {2, 2, 2, 2}, {{"strides", Ints{2, 2}}}, false, false, false},
    };
    return table;
}

Graph graphOf(const Case& kase) {
    GraphBuilder builder("case");
    builder.setOpset("", 17);
    std::vector<ValueId> inputs{builder.addInput("x", TensorType(DType::f32, kase.x))};
    inputs.push_back(kase.constantWeights ? builder.addConstant("w", randomTensor(kase.w)) : builder.addInput("w", TensorType(DType::f32, kase.w)));
    const std::int64_t group = kase.attributes.contains("group") ? 2 : 1;
    if (kase.bias)
        inputs.push_back(builder.addConstant("b", randomTensor({kase.w[1] * group})));
    builder.setOutputs({builder.add("ConvTranspose", inputs, kase.attributes, 1, "up")});
    return take(inferShapes(take(builder.build())));
}

bool has(const Graph& graph, const std::string& op) {
    for (std::size_t i = 0; i < graph.nodeCount(); ++i)
        if (graph.node(NodeId(static_cast<std::int64_t>(i))).op == op)
            return true;
    return false;
}

} // namespace

class TestTransposedConv : public QObject {
    Q_OBJECT

private slots:
    void convolutionsComputeTheSame_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < cases().size(); ++i)
            QTest::newRow(cases()[i].name) << static_cast<int>(i);
    }
    void convolutionsComputeTheSame() {
        QFETCH(int, index);
        const Case& kase = cases()[static_cast<std::size_t>(index)];
        const Graph before = graphOf(kase), after = take(inferShapes(take(transposedConvsAsConvs(before))));
        QCOMPARE(has(after, "ConvTranspose"), !kase.rewritten);
        QCOMPARE(has(after, "Conv"), kase.rewritten);
        QCOMPARE(after.value(after.outputs()[0]).name, before.value(before.outputs()[0]).name);
        QCOMPARE(after.value(after.outputs()[0]).type.shape(), before.value(before.outputs()[0]).type.shape());
        const std::vector<Tensor> inputs = take(randomInputs(before, 3));
        const Difference difference = compareTensors(take(Interpreter(before).run(inputs))[0], take(Interpreter(after).run(inputs))[0]);
        QVERIFY2(difference.equal, difference.text.c_str());
    }
};

QTEST_GUILESS_MAIN(TestTransposedConv)
#include "tst_transposed_conv.moc"
