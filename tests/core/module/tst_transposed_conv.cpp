// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>
#include <limits>

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
        {"output padding that no input reaches", {1, 2, 3, 3}, {2, 2, 2, 2}, {{"strides", Ints{2, 2}}, {"output_padding", Ints{1, 1}}}},
        {"3x3 stride 2", {1, 2, 3, 4}, {2, 2, 3, 3}, {{"strides", Ints{2, 2}}}},
        {"3x3 stride 2, pads and output padding", {1, 2, 3, 4}, {2, 3, 3, 3}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"output_padding", Ints{1, 1}}}},
        {"3x3 stride 2, wide pads, two groups", {2, 4, 5, 6}, {4, 3, 3, 3}, {{"strides", Ints{2, 2}}, {"pads", Ints{2, 2, 2, 2}}, {"group", std::int64_t{2}}}},
        {"5x4 stride 3", {1, 2, 3, 4}, {2, 2, 5, 4}, {{"strides", Ints{3, 3}}, {"pads", Ints{1, 0, 2, 1}}}},
        {"dilated", {1, 2, 3, 3}, {2, 2, 2, 3}, {{"dilations", Ints{2, 3}}, {"pads", Ints{1, 2, 0, 1}}}},
        {"dilated, stride 2", {1, 2, 3, 3}, {2, 2, 2, 2}, {{"strides", Ints{2, 2}}, {"dilations", Ints{2, 2}}}, false},
        {"uneven strides", {1, 2, 3, 3}, {2, 2, 2, 4}, {{"strides", Ints{1, 2}}}},
        {"uneven strides that divide nothing", {2, 2, 3, 4}, {2, 3, 3, 5}, {{"strides", Ints{2, 3}}}},
        {"kernel shorter than the stride", {1, 2, 3, 3}, {2, 2, 2, 2}, {{"strides", Ints{3, 3}}}, false},
        {"more phases than convolutions are worth", {1, 2, 3, 3}, {2, 2, 6, 6}, {{"strides", Ints{5, 5}}}, false},
        {"automatic pads", {1, 2, 3, 3}, {2, 2, 3, 3}, {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}}},
        {"automatic pads before", {1, 2, 3, 3}, {2, 2, 2, 2}, {{"auto_pad", std::string("SAME_LOWER")}}},
        {"wanted shape", {1, 2, 3, 3}, {2, 2, 2, 2}, {{"output_shape", Ints{7, 6}}, {"strides", Ints{2, 2}}}},
        {"one dimension", {1, 2, 5}, {2, 2, 2}, {{"strides", Ints{2}}}},
        {"one dimension, stride 4", {2, 3, 5}, {3, 2, 8}, {{"strides", Ints{4}}, {"pads", Ints{2, 2}}}},
        {"one dimension, kernel of another length", {1, 2, 5}, {2, 3, 7}, {{"strides", Ints{3}}, {"pads", Ints{2, 1}}}},
        {"three dimensions", {1, 2, 2, 3, 2}, {2, 2, 2, 3, 2}, {{"strides", Ints{2, 2, 1}}}},
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

    // All small kernels, strides and pads.
    void everyWindowComputesTheSame() {
        Rng rng(11);
        for (std::int64_t kernel = 1; kernel <= 5; ++kernel)
            for (std::int64_t stride = 1; stride <= 4; ++stride)
                for (std::int64_t pad = 0; pad <= 2; ++pad)
                    for (std::int64_t extra = 0; extra < stride; ++extra) {
                        const auto input = static_cast<std::int64_t>(1 + rng.below(4));
                        if (stride * (input - 1) + kernel + extra <= 2 * pad)
                            continue;
                        const Case kase{"", {1, 2, input}, {2, 3, kernel}, {{"strides", Ints{stride}}, {"pads", Ints{pad, pad}}, {"output_padding", Ints{extra}}}};
                        const Graph before = graphOf(kase), after = take(inferShapes(take(transposedConvsAsConvs(before))));
                        const std::vector<Tensor> inputs = take(randomInputs(before, 3));
                        const Difference difference = compareTensors(take(Interpreter(before).run(inputs))[0], take(Interpreter(after).run(inputs))[0]);
                        QVERIFY2(difference.equal, qPrintable(QString("kernel %1, stride %2, pad %3, output padding %4: ").arg(kernel).arg(stride).arg(pad).arg(extra) +
                                                              difference.text.c_str()));
                    }
    }

    // What no input reaches stays finite beside an infinity.
    void infinitiesStayWhereTheyAre() {
        for (const std::int64_t kernel : {3, 4}) {
            const Case kase{"", {1, 2, 4, 4}, {2, 2, kernel, kernel}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}};
            const Graph before = graphOf(kase), after = take(inferShapes(take(transposedConvsAsConvs(before))));
            std::vector<Tensor> inputs = take(randomInputs(before, 3));
            inputs[0].mutableData<float>()[5] = std::numeric_limits<float>::infinity();
            const Difference difference = compareTensors(take(Interpreter(before).run(inputs))[0], take(Interpreter(after).run(inputs))[0]);
            QVERIFY2(difference.equal, difference.text.c_str());
        }
    }
};

QTEST_GUILESS_MAIN(TestTransposedConv)
#include "tst_transposed_conv.moc"
