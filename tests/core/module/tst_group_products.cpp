// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>
#include <functional>

#include "core/module/group_products.h"
#include "plan_testing.h"
#include "reshaping.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

struct Case {
    const char* name;
    std::function<Graph(ConvGraph&)> make;
    int products, convolutions, reshapes;
};

Attributes groups(std::int64_t count) { return {{"group", count}}; }

const std::vector<Case>& cases() {
    static const std::vector<Case> table{
        {"plain", [](ConvGraph& g) { return g.graph({g.conv(g.input({1, 6, 4, 5}), {9, 2, 1, 1}, groups(3))}); }, 1, 0, 2},
        {"images", [](ConvGraph& g) { return g.graph({g.conv(g.input({3, 6, 4, 5}), {6, 3, 1, 1}, groups(2))}); }, 1, 0, 2},
        {"without a bias", [](ConvGraph& g) {
             const ValueId x = g.input({2, 6, 4, 5});
             return g.graph({g.op("Conv", {x, g.constant({6, 3, 1, 1})}, {{"group", std::int64_t{2}}, {"strides", Ints{1, 1}}, {"pads", Ints{0, 0, 0, 0}}, {"auto_pad", std::string("NOTSET")}})});
         }, 1, 0, 2},
        {"what follows", [](ConvGraph& g) {
             const ValueId x = g.input({2, 6, 4, 4});
             ValueId y = g.op("Relu", {g.conv(x, {6, 3, 1, 1}, groups(2))});
             for (const Shape& shape : {Shape{}, Shape{1}, Shape{6, 1, 1}, Shape{1, 6, 1, 1}, Shape{4, 4}, Shape{2, 1, 1, 1}, Shape{2, 6, 4, 4}, Shape{2, 1, 4, 4}})
                 y = g.op("Mul", {y, g.constant(shape)});
             return g.graph({g.op("Sum", {g.op("PRelu", {y, g.constant({6, 1, 1})}), x})});
         }, 1, 0, 2},
        {"what cannot follow", [](ConvGraph& g) {
             const ValueId y = g.conv(g.input({1, 6, 4, 4}), {6, 3, 1, 1}, groups(2));
             const ValueId wider = g.builder().addInput("z", TensorType(DType::f32, Shape{1, 6, 4, 4}));
             return g.graph({g.op("Add", {g.op("Add", {y, g.constant({4})}), wider}), g.op("Softmax", {y}, {{"axis", std::int64_t{1}}})});
         }, 1, 0, 2},
        {"a normalization of as many channels as columns", [](ConvGraph& g) {
             const ValueId y = g.op("Relu", {g.conv(g.input({1, 20, 1, 20}), {20, 10, 1, 1}, groups(2))});
             return g.graph({g.op("BatchNormalization", {y, g.constant({20}), g.constant({20}), g.constant({20}), g.builder().addConstant("", Tensor::of<float>({20}, std::vector<float>(20, 2.0F)))})});
         }, 1, 0, 2},
        {"a scaler of images", [](ConvGraph& g) {
             const ValueId y = g.conv(g.input({1, 6, 4, 4}), {6, 3, 1, 1}, groups(2));
             return g.graph({g.op("ImageScaler", {y}, {{"scale", 1.5F}, {"bias", std::vector<float>{1, 2, 3, 4, 5, 6}}})});
         }, 1, 0, 2},
        {"what is repeated to more", [](ConvGraph& g) {
             const ValueId y = g.conv(g.input({1, 6, 1, 16}), {6, 3, 1, 1}, groups(2));
             return g.graph({g.op("Add", {y, g.constant({1, 1, 3, 16})})});
         }, 1, 0, 2},
        {"the same groups again", [](ConvGraph& g) { return g.graph({g.conv(g.conv(g.input({1, 6, 4, 4}), {6, 3, 1, 1}, groups(2)), {4, 3, 1, 1}, groups(2))}); }, 2, 0, 2},
        {"other groups behind", [](ConvGraph& g) { return g.graph({g.conv(g.conv(g.input({1, 6, 4, 4}), {12, 3, 1, 1}, groups(2)), {12, 4, 1, 1}, groups(3))}); }, 2, 0, 4},
        {"other groups beside", [](ConvGraph& g) {
             const ValueId x = g.input({1, 12, 4, 4});
             return g.graph({g.op("Add", {g.conv(x, {12, 6, 1, 1}, groups(2)), g.conv(x, {12, 4, 1, 1}, groups(3))})});
         }, 2, 0, 4},
        {"weights with two readers", [](ConvGraph& g) {
             const ValueId x = g.input({1, 6, 4, 4}), w = g.constant({6, 3, 1, 1});
             return g.graph({g.op("Conv", {x, w}, groups(2)), g.op("Conv", {g.op("Relu", {x}), w}, groups(2))});
         }, 2, 0, 4},
        {"shuffled channels", [](ConvGraph& g) {
             ValueId y = g.conv(g.input({1, 6, 4, 4}), {6, 2, 1, 1}, groups(3));
             y = g.op("Reshape", {y, g.builder().addConstant("", Tensor::ofInts({1, 3, 2, 4, 4}))});
             y = g.op("Transpose", {y}, {{"perm", Ints{0, 2, 1, 3, 4}}});
             y = g.op("Reshape", {y, g.builder().addConstant("", Tensor::ofInts({1, 6, 4, 4}))});
             return g.graph({g.conv(g.conv(y, {6, 1, 3, 3}, {{"group", std::int64_t{6}}, {"pads", Ints{1, 1, 1, 1}}}), {6, 2, 1, 1}, groups(3))});
         }, 2, 1, 6},
        {"channels that blocks divide", [](ConvGraph& g) { return g.graph({g.conv(g.input({1, 32, 4, 4}), {32, 16, 1, 1}, groups(2))}); }, 0, 1, 0},
        {"one group", [](ConvGraph& g) { return g.graph({g.conv(g.input({1, 6, 4, 4}), {9, 6, 1, 1})}); }, 0, 1, 0},
        {"a channel each", [](ConvGraph& g) { return g.graph({g.conv(g.input({1, 6, 4, 4}), {6, 1, 1, 1}, groups(6))}); }, 0, 1, 0},
        {"strides", [](ConvGraph& g) { return g.graph({g.conv(g.input({1, 6, 8, 8}), {6, 3, 1, 1}, {{"group", std::int64_t{2}}, {"strides", Ints{2, 2}}})}); }, 0, 1, 0},
        {"strides that pads make up for", [](ConvGraph& g) {
             return g.graph({g.conv(g.input({1, 6, 5, 5}), {6, 3, 1, 1}, {{"group", std::int64_t{2}}, {"strides", Ints{2, 2}}, {"pads", Ints{2, 2, 2, 2}}})});
         }, 0, 1, 0},
        {"pads", [](ConvGraph& g) { return g.graph({g.conv(g.input({1, 6, 4, 4}), {6, 3, 1, 1}, {{"group", std::int64_t{2}}, {"pads", Ints{1, 0, 0, 0}}})}); }, 0, 1, 0},
        {"a window", [](ConvGraph& g) { return g.graph({g.conv(g.input({1, 6, 4, 4}), {6, 3, 3, 3}, {{"group", std::int64_t{2}}, {"pads", Ints{1, 1, 1, 1}}})}); }, 0, 1, 0},
        {"few pixels", [](ConvGraph& g) { return g.graph({g.conv(g.input({1, 6, 3, 5}), {6, 3, 1, 1}, groups(2))}); }, 0, 1, 0},
        {"no images", [](ConvGraph& g) { return g.graph({g.conv(g.input({0, 6, 4, 4}), {6, 3, 1, 1}, groups(2))}); }, 0, 1, 0},
        {"lines", [](ConvGraph& g) { return g.graph({g.conv(g.input({1, 6, 20}), {6, 3, 1}, groups(2))}); }, 0, 1, 0},
        {"weights from outside", [](ConvGraph& g) {
             const ValueId w = g.builder().addInput("w", TensorType(DType::f32, Shape{6, 3, 1, 1}));
             return g.graph({g.op("Conv", {g.input({1, 6, 4, 4}), w}, groups(2))});
         }, 0, 1, 0},
        {"a bias from outside", [](ConvGraph& g) {
             const ValueId b = g.builder().addInput("b", TensorType(DType::f32, Shape{6}));
             return g.graph({g.op("Conv", {g.input({1, 6, 4, 4}), g.constant({6, 3, 1, 1}), b}, groups(2))});
         }, 0, 1, 0},
    };
    return table;
}

std::ptrdiff_t count(const Graph& graph, const std::string& op) {
    return std::ranges::count_if(graph.nodes(), [&](const auto& node) { return node->op == op; });
}

} // namespace

class TestGroupProducts : public QObject {
    Q_OBJECT

private slots:
    void productsComputeTheSame_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < cases().size(); ++i)
            QTest::newRow(cases()[i].name) << static_cast<int>(i);
    }
    void productsComputeTheSame() {
        QFETCH(int, index);
        const Case& kase = cases()[static_cast<std::size_t>(index)];
        ConvGraph convolutions;
        const Graph before = kase.make(convolutions), after = take(groupedConvsAsProducts(before));
        QCOMPARE(count(after, "MatMul"), std::ptrdiff_t(kase.products));
        QCOMPARE(count(after, "Conv"), std::ptrdiff_t(kase.convolutions));
        QCOMPARE(count(after, "Reshape"), std::ptrdiff_t(kase.reshapes));
        compareReshaped(before, after);
    }

    // A pass writes today's operators into graphs of any opset, and kernels read them so.
    void kernelsOfOldOpsetsComputeTheSame_data() { productsComputeTheSame_data(); }
    void kernelsOfOldOpsetsComputeTheSame() {
        QFETCH(int, index);
        ConvGraph made(8);
        compareWithReference(cases()[static_cast<std::size_t>(index)].make(made), take(hostTarget(1)));
    }

    // Nothing is known of how many pixels there are.
    void openShapesStay() {
        GraphBuilder builder("open");
        builder.setOpset("", 17);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Dims{1, 6, Dim::named("h"), 8}));
        builder.setOutputs({builder.add("Conv", {x, builder.addConstant("w", Tensor::zeros(DType::f32, {6, 3, 1, 1}))}, groups(2))});
        const Graph before = take(inferShapes(take(builder.build())));
        QCOMPARE(count(take(groupedConvsAsProducts(before)), "Conv"), std::ptrdiff_t(1));
    }
};

QTEST_GUILESS_MAIN(TestGroupProducts)
#include "tst_group_products.moc"
