// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>
#include <functional>

#include "core/module/line_conv.h"
#include "plan_testing.h"
#include "reshaping.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

struct Case {
    const char* name;
    std::function<Graph(ConvGraph&)> make;
    int maps, reshapes; // convolutions of maps, and reshapes into and out of maps
};

const std::vector<Case>& cases() {
    static const std::vector<Case> table{
        {"plain", [](ConvGraph& l) { return l.graph({l.conv(l.input({1, 3, 11}), {4, 3, 5})}); }, 1, 2},
        {"strides, pads and dilations", [](ConvGraph& l) { return l.graph({l.conv(l.input({2, 3, 17}), {4, 3, 3}, {{"strides", Ints{2}}, {"pads", Ints{2, 1}}, {"dilations", Ints{3}}, {"kernel_shape", Ints{3}}})}); }, 1, 2},
        {"automatic pads", [](ConvGraph& l) { return l.graph({l.conv(l.input({1, 2, 10}), {2, 2, 3}, {{"strides", Ints{2}}, {"auto_pad", std::string("SAME_UPPER")}})}); }, 1, 2},
        {"groups", [](ConvGraph& l) { return l.graph({l.conv(l.input({1, 4, 9}), {6, 2, 3}, {{"group", std::int64_t{2}}})}); }, 1, 2},
        {"a spectrum: one channel, long windows", [](ConvGraph& l) { return l.graph({l.conv(l.input({1, 1, 400}), {9, 1, 64}, {{"strides", Ints{32}}})}); }, 1, 2},
        {"a chain stays on maps", [](ConvGraph& l) {
             const ValueId first = l.op("Relu", {l.conv(l.input({1, 3, 12}), {4, 3, 3})});
             const ValueId pooled = l.op("MaxPool", {first}, {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}, {"pads", Ints{1, 0}}});
             const ValueId mean = l.op("AveragePool", {pooled}, {{"kernel_shape", Ints{3}}, {"pads", Ints{1, 1}}, {"count_include_pad", std::int64_t{1}}});
             return l.graph({l.op("Sigmoid", {l.conv(mean, {2, 4, 1})})});
         }, 2, 2},
        {"arithmetic with what is repeated", [](ConvGraph& l) {
             ValueId y = l.conv(l.input({2, 3, 8}), {4, 3, 1});
             for (const Shape& shape : {Shape{}, Shape{8}, Shape{4, 1}, Shape{1, 8}, Shape{1, 4, 1}, Shape{2, 1, 8}})
                 y = l.op("Add", {y, l.constant(shape)});
             return l.graph({l.op("PRelu", {y, l.constant({4, 1})})});
         }, 1, 2},
        {"a normalization behind it", [](ConvGraph& l) {
             const ValueId y = l.op("Relu", {l.conv(l.input({1, 3, 8}), {4, 3, 1})});
             return l.graph({l.op("BatchNormalization", {y, l.constant({4}), l.constant({4}), l.constant({4}), l.builder().addConstant("", Tensor::of<float>({4}, std::vector<float>(4, 2.0F)))})});
         }, 1, 2},
        {"around a shortcut", [](ConvGraph& l) {
             const ValueId x = l.input({1, 4, 8});
             return l.graph({l.op("Relu", {l.op("Add", {x, l.conv(x, {4, 4, 3}, {{"pads", Ints{1, 1}}})})})});
         }, 1, 2},
        {"read as lines as well", [](ConvGraph& l) {
             const ValueId y = l.conv(l.input({1, 3, 8}), {4, 3, 1});
             return l.graph({l.op("Softmax", {y}, {{"axis", std::int64_t{1}}}), l.conv(y, {2, 4, 1}), y});
         }, 2, 3},
        {"columns", [](ConvGraph& l) { return l.graph({l.op("Relu", {l.conv(l.input({2, 3, 17, 1}), {4, 3, 3, 1}, {{"strides", Ints{2, 1}}, {"pads", Ints{2, 0, 1, 0}}, {"dilations", Ints{3, 1}}, {"kernel_shape", Ints{3, 1}}})})}); }, 1, 2},
        {"columns with pads beside them", [](ConvGraph& l) { return l.graph({l.conv(l.input({1, 3, 9, 1}), {4, 3, 3, 3}, {{"pads", Ints{1, 1, 0, 1}}})}); }, 1, 0}, // weights lie in another order
        {"a chain of columns", [](ConvGraph& l) {
             ValueId y = l.conv(l.input({2, 3, 16, 1}), {4, 3, 3, 1}, {{"auto_pad", std::string("SAME_LOWER")}, {"strides", Ints{2, 1}}});
             for (const Shape& shape : {Shape{}, Shape{1}, Shape{8, 1}, Shape{4, 1, 1}, Shape{2, 1, 8, 1}})
                 y = l.op("Mul", {y, l.constant(shape)});
             y = l.op("MaxPool", {y}, {{"kernel_shape", Ints{2, 1}}, {"strides", Ints{2, 1}}});
             return l.graph({l.conv(y, {2, 4, 2, 1})});
         }, 2, 2},
        {"columns that become maps", [](ConvGraph& l) { return l.graph({l.op("Add", {l.conv(l.input({1, 3, 9, 1}), {4, 3, 3, 1}), l.constant({1, 5})})}); }, 1, 2},
        {"a line that is repeated to columns", [](ConvGraph& l) {
             const ValueId line = l.conv(l.input({4, 3, 9}), {7, 3, 9});
             return l.graph({l.op("Add", {l.conv(l.builder().addInput("z", TensorType(DType::f32, Shape{2, 3, 9, 1})), {4, 3, 3, 1}), line})});
         }, 2, 4},
        {"weights from outside", [](ConvGraph& l) {
             const ValueId w = l.builder().addInput("w", TensorType(DType::f32, Shape{4, 3, 5}));
             return l.graph({l.op("Conv", {l.input({1, 3, 11}), w})});
         }, 0, 0},
        {"maps already", [](ConvGraph& l) { return l.graph({l.conv(l.input({1, 3, 5, 5}), {4, 3, 3, 3})}); }, 1, 0},
        {"without elements", [](ConvGraph& l) { return l.graph({l.conv(l.input({0, 3, 11}), {4, 3, 5})}); }, 0, 0},
        {"nothing but pads", [](ConvGraph& l) { return l.graph({l.conv(l.input({1, 3, 0}), {4, 3, 3}, {{"pads", Ints{2, 2}}})}); }, 0, 0},
        {"elementwise operators of lines alone", [](ConvGraph& l) { return l.graph({l.op("Relu", {l.input({1, 3, 11})})}); }, 0, 0},
    };
    return table;
}

std::ptrdiff_t count(const Graph& graph, const std::string& op, std::size_t rank) {
    return std::ranges::count_if(graph.nodes(), [&](const auto& node) { return node->op == op && graph.value(node->inputs[0]).type.shape().size() == rank; });
}

} // namespace

class TestLineConv : public QObject {
    Q_OBJECT

private slots:
    void mapsComputeTheSame_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < cases().size(); ++i)
            QTest::newRow(cases()[i].name) << static_cast<int>(i);
    }
    void mapsComputeTheSame() {
        QFETCH(int, index);
        const Case& kase = cases()[static_cast<std::size_t>(index)];
        ConvGraph lines;
        const Graph before = kase.make(lines), after = take(lineConvsAsMapConvs(before));
        QCOMPARE(count(after, "Conv", 4), std::ptrdiff_t(kase.maps));
        QCOMPARE(count(after, "Reshape", 3) + count(after, "Reshape", 4), std::ptrdiff_t(kase.reshapes));
        compareReshaped(before, after);
    }

    // A pass writes today's operators into graphs of any opset, and kernels read them so.
    void kernelsOfOldOpsetsComputeTheSame_data() { mapsComputeTheSame_data(); }
    void kernelsOfOldOpsetsComputeTheSame() {
        QFETCH(int, index);
        ConvGraph made(8);
        compareWithReference(cases()[static_cast<std::size_t>(index)].make(made), take(hostTarget(1)));
    }

    // Nothing is known of how long such lines are.
    void openShapesStay() {
        GraphBuilder builder("open");
        builder.setOpset("", 17);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Dims{1, 3, Dim::named("n")}));
        builder.setOutputs({builder.add("Conv", {x, builder.addConstant("w", Tensor::zeros(DType::f32, {4, 3, 5}))})});
        const Graph before = take(inferShapes(take(builder.build())));
        QCOMPARE(count(take(lineConvsAsMapConvs(before)), "Reshape", 3), 0);
    }
};

QTEST_GUILESS_MAIN(TestLineConv)
#include "tst_line_conv.moc"
