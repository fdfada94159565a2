// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/upgrade.h"
#include "core/ops/interpreter.h"
#include "model_bytes.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

using Dims64 = std::vector<std::int64_t>;
using Kind = onnx::AttributeProto;

// One node of an old opset: x and the initializers to y.
struct OldModel {
    onnx::ModelProto model;
    onnx::NodeProto* node;

    OldModel(const std::string& op, std::int64_t opset, const Dims64& x, int element = 1) {
        model.set_ir_version(3);
        model.add_opset_import()->set_version(opset);
        auto& graph = *model.mutable_graph();
        tensorType(*graph.add_input(), "x", x, element);
        graph.add_output()->set_name("y");
        node = &addNode(graph, op, {"x"}, {"y"}, "old");
    }
    OldModel& floats(const std::string& name, const Dims64& dims, const std::vector<float>& values) {
        addFloats(*model.mutable_graph(), name, dims, values);
        node->add_input(name);
        return *this;
    }
    OldModel& input(const std::string& name, const Dims64& dims, int element = 1) {
        tensorType(*model.mutable_graph()->add_input(), name, dims, element);
        node->add_input(name);
        return *this;
    }
    OldModel& set(const std::string& key, int value) {
        addAttribute(*node, key, Kind::INT).set_i(value);
        return *this;
    }
    OldModel& set(const std::string& key, float value) {
        addAttribute(*node, key, Kind::FLOAT).set_f(value);
        return *this;
    }
    OldModel& set(const std::string& key, const char* value) {
        addAttribute(*node, key, Kind::STRING).set_s(value);
        return *this;
    }
    OldModel& set(const std::string& key, const Dims64& values) {
        addAttribute(*node, key, Kind::INTS).mutable_ints()->Add(values.begin(), values.end());
        return *this;
    }
    Result<Graph> imported() const { return importOnnxBytes(asBytes(model.SerializeAsString())); }
};

Tensor ramp(const Shape& shape) {
    Tensor tensor = Tensor::zeros(DType::f32, shape);
    float value = 0;
    for (float& element : tensor.mutableData<float>())
        element = value++;
    return tensor;
}

Tensor floats(const Shape& shape, const std::vector<float>& values) {
    return Tensor::of<float>(shape, values);
}

QString run(const Result<Graph>& graph, const std::vector<Tensor>& inputs, const Tensor& expected) {
    if (!graph.ok())
        return QString::fromStdString(graph.error().message);
    if (graph->opset() != kOldestRules)
        return QStringLiteral("opset %1").arg(graph->opset());
    const auto outputs = Interpreter(*graph).run(inputs);
    if (!outputs.ok())
        return QString::fromStdString(outputs.error().message);
    const Tensor& actual = outputs->front();
    if (actual.type() != expected.type() || actual.shape() != expected.shape())
        return QString::fromStdString(TensorType(actual.type(), actual.shape()).text());
    for (std::int64_t i = 0; i < actual.count(); ++i)
        if (std::fabs(actual.asDouble(i) - expected.asDouble(i)) > 1e-6)
            return QStringLiteral("element %1 is %2").arg(i).arg(actual.asDouble(i));
    return {};
}

} // namespace

class TestOpsetUpgrade : public QObject {
    Q_OBJECT
private slots:
    void operandAtAxisIsAligned() {
        const auto graph = OldModel("Add", 6, {2, 3, 2})
                               .floats("b", {3}, {100, 200, 300})
                               .set("broadcast", 1)
                               .set("axis", 1)
                               .imported();
        QCOMPARE(run(graph, {ramp({2, 3, 2})},
                     floats({2, 3, 2}, {100, 101, 202, 203, 304, 305, 106, 107, 208, 209, 310, 311})),
                 QString());
        QCOMPARE(graph->nodeCount(), std::size_t{1}); // a constant is reshaped on the spot
        QVERIFY(!graph->node(NodeId(0)).has("axis") && !graph->node(NodeId(0)).has("broadcast"));
    }

    void computedOperandAtAxisIsAligned() {
        const auto graph =
            OldModel("Sub", 6, {2, 2}).input("b", {2}).set("broadcast", 1).set("axis", 0).imported();
        QCOMPARE(run(graph, {ramp({2, 2}), floats({2}, {10, 20})}, floats({2, 2}, {-10, -9, -18, -17})),
                 QString());
        QCOMPARE(graph->nodeCount(), std::size_t{2});
    }

    // The rank of the first operand is not declared anywhere: it follows from the nodes before.
    void rankOfComputedValueIsInferred() {
        OldModel old("Add", 6, {4});
        old.floats("b", {2}, {10, 20}).set("broadcast", 1).set("axis", 0);
        auto& graph = *old.model.mutable_graph();
        old.node->set_input(0, "shaped");
        auto& shape = *graph.add_initializer();
        shape.set_name("shape");
        shape.set_data_type(7);
        shape.add_dims(2);
        shape.add_int64_data(2);
        shape.add_int64_data(2);
        addNode(graph, "Reshape", {"x", "shape"}, {"shaped"});
        QCOMPARE(run(old.imported(), {ramp({4})}, floats({2, 2}, {10, 11, 22, 23})), QString());
    }

    void bodiesAreUpgradedToo() {
        OldModel old("If", 6, {2, 2});
        auto& graph = *old.model.mutable_graph();
        old.node->clear_input();
        old.node->add_input("flag");
        tensorType(*graph.add_input(), "flag", {}, 9);
        addFloats(graph, "b", {2}, {10, 20});
        for (const char* branch : {"then_branch", "else_branch"}) {
            auto& body = *addAttribute(*old.node, branch, Kind::GRAPH).mutable_g();
            auto& add = addNode(body, "Add", {"x", "b"}, {std::string(branch) + "_y"});
            addAttribute(add, "broadcast", Kind::INT).set_i(1);
            addAttribute(add, "axis", Kind::INT).set_i(branch[0] == 't' ? 0 : 1);
            body.add_output()->set_name(std::string(branch) + "_y");
        }
        const auto upgraded = old.imported();
        QCOMPARE(run(upgraded, {ramp({2, 2}), Tensor::scalar(true)}, floats({2, 2}, {10, 11, 22, 23})),
                 QString());
        QCOMPARE(run(upgraded, {ramp({2, 2}), Tensor::scalar(false)}, floats({2, 2}, {10, 21, 12, 23})),
                 QString());
    }

    void slopeBelongsToChannels() {
        const auto graph = OldModel("PRelu", 6, {1, 2, 2}).floats("slope", {2}, {10, 100}).imported();
        QCOMPARE(run(graph, {floats({1, 2, 2}, {-1, 1, -1, 1})}, floats({1, 2, 2}, {-10, 1, -100, 1})),
                 QString());
    }

    void attributesBecomeInputs() {
        QCOMPARE(run(OldModel("Reshape", 1, {2, 3}).set("shape", Dims64{3, -1}).imported(), {ramp({2, 3})},
                     ramp({3, 2})),
                 QString());
        const auto tiled =
            OldModel("Tile", 1, {1, 2}).floats("tiles", {1}, {2}).floats("axis", {1}, {1}).imported();
        QCOMPARE(run(tiled, {ramp({1, 2})}, floats({1, 4}, {0, 1, 0, 1})), QString());
    }

    void inputsBecomeAttributes() {
        OldModel old("Split", 1, {3});
        old.floats("lengths", {2}, {1, 2});
        old.node->add_output("rest");
        QCOMPARE(run(old.imported(), {ramp({3})}, floats({1}, {0})), QString());
    }

    void defaultsAreStated() {
        const auto selu = OldModel("Selu", 1, {1}).imported();
        QCOMPARE(run(selu, {floats({1}, {1})}, floats({1}, {1.0507F})), QString());
        const auto stated = OldModel("Selu", 1, {1}).set("gamma", 2.0F).imported();
        QCOMPARE(run(stated, {floats({1}, {1})}, floats({1}, {2})), QString());
        const auto joined = OldModel("Concat", 1, {1, 2}).floats("more", {1, 1}, {7}).imported();
        QCOMPARE(run(joined, {ramp({1, 2})}, floats({1, 3}, {0, 1, 7})), QString());
    }

    void namesAndKindsOfAttributes() {
        QCOMPARE(run(OldModel("Cast", 1, {2}).set("to", "INT64").imported(), {floats({2}, {1.5F, -2})},
                     Tensor::of<std::int64_t>({2}, {1, -2})),
                 QString());
        QCOMPARE(run(OldModel("Pad", 1, {2}).set("paddings", Dims64{1, 0}).set("value", 9.0F).imported(),
                     {ramp({2})}, floats({3}, {9, 0, 1})),
                 QString());
        QCOMPARE(run(OldModel("GlobalLpPool", 1, {1, 1, 2}).set("p", 1.0F).imported(),
                     {floats({1, 1, 2}, {3, -4})}, floats({1, 1, 1}, {7})),
                 QString());
        const auto larger = OldModel("Upsample", 1, {1, 1, 1, 2})
                                .set("height_scale", 2.0F)
                                .set("width_scale", 1.0F)
                                .imported();
        QCOMPARE(run(larger, {ramp({1, 1, 1, 2})}, floats({1, 1, 2, 2}, {0, 1, 0, 1})), QString());
        const auto normal = OldModel("MeanVarianceNormalization", 1, {1, 2, 1, 2}).imported();
        QCOMPARE(run(normal, {floats({1, 2, 1, 2}, {1, 3, 10, 30})}, floats({1, 2, 1, 2}, {-1, 1, -1, 1})),
                 QString());
    }

    void leftoversVanish() {
        const auto graph =
            OldModel("Dropout", 1, {2}).set("is_test", 1).set("consumed_inputs", Dims64{0}).imported();
        QCOMPARE(run(graph, {ramp({2})}, ramp({2})), QString());
        QVERIFY(graph->node(NodeId(0)).attributes.empty());
        const auto gemm = OldModel("Gemm", 6, {1, 2})
                              .floats("b", {2, 1}, {1, 1})
                              .floats("c", {1}, {5})
                              .set("broadcast", 1)
                              .imported();
        QCOMPARE(run(gemm, {floats({1, 2}, {1, 2})}, floats({1, 1}, {8})), QString());
        QVERIFY(!gemm->node(NodeId(0)).has("broadcast"));
    }

    // What was imported is a model of the newer opset, and says so when it is written.
    void writtenAsTheNewerOpset() {
        const auto graph =
            OldModel("Add", 6, {2, 2}).floats("b", {2}, {1, 2}).set("broadcast", 1).set("axis", 0).imported();
        QVERIFY(graph.ok());
        const auto bytes = exportOnnxBytes(*graph);
        QVERIFY(bytes.ok());
        const auto again = importOnnxBytes(*bytes);
        QVERIFY(again.ok());
        QCOMPARE(again->hash(), graph->hash());
        QCOMPARE(again->opset(), kOldestRules);
    }

    void newerOpsetsStayAsTheyAre() {
        const auto graph = importOnnxBytes(asBytes(smallModel().SerializeAsString()));
        QCOMPARE(upgradeOpset(*graph)->hash(), graph->hash());
        QCOMPARE(upgradeOpset(Graph())->nodeCount(), std::size_t{0});
    }

    void whatCannotBeSaid_data() {
        QTest::addColumn<QByteArray>("model");
        QTest::addColumn<QString>("names");
        const auto row = [](const char* name, const OldModel& old, const char* names) {
            QTest::newRow(name) << QByteArray::fromStdString(old.model.SerializeAsString()) << names;
        };
        row("training dropout", OldModel("Dropout", 6, {2}).set("is_test", 0), "is_test");
        row("training normalisation", OldModel("BatchNormalization", 6, {1, 1}).set("is_test", 0), "is_test");
        row("no element type", OldModel("Cast", 5, {2}).set("to", "NUMBER"), "NUMBER");
        row("cast to nothing", OldModel("Cast", 5, {2}), "casts to ''");
        row("computed lengths", OldModel("Split", 1, {2}).input("lengths", {1}), "lengths");
        row("computed tiles", OldModel("Tile", 1, {2}).input("tiles", {1}).input("axis", {1}), "tiles");
        row("tile axis", OldModel("Tile", 1, {2}).floats("tiles", {1}, {2}).floats("axis", {1}, {1}),
            "axis 1");
        row("broken norm", OldModel("LpPool", 1, {1, 1, 2}).set("p", 1.5F), "1.5");
        row("half a normalisation",
            OldModel("MeanVarianceNormalization", 1, {1, 1, 1, 1}).set("normalize_variance", 0), "variance");
        row("axis too far", OldModel("Add", 6, {2, 2}).input("b", {2}).set("broadcast", 1).set("axis", 2),
            "axis 2");
        row("negative axis", OldModel("Add", 6, {2, 2}).input("b", {2}).set("broadcast", 1).set("axis", -2),
            "axis -2");
        OldModel rankless("Add", 6, {2, 2});
        rankless.input("b", {2}).set("broadcast", 1).set("axis", 0);
        rankless.model.mutable_graph()
            ->mutable_input(1)
            ->mutable_type()
            ->mutable_tensor_type()
            ->clear_shape();
        row("no rank", rankless, "ranks are not known");
    }

    void whatCannotBeSaid() {
        QFETCH(QByteArray, model);
        QFETCH(QString, names);
        const auto graph = importOnnxBytes(
            std::as_bytes(std::span(model.constData(), static_cast<std::size_t>(model.size()))));
        QVERIFY(!graph.ok());
        const QString text = QString::fromStdString(graph.error().message);
        QVERIFY2(text.contains(names) && text.contains("node 'old'"), qPrintable(text));
    }
};

QTEST_GUILESS_MAIN(TestOpsetUpgrade)
#include "tst_opset_upgrade.moc"
