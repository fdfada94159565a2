// SPDX-License-Identifier: GPL-3.0-or-later
// What we write, read by somebody else before it takes its place.
#include <QTemporaryDir>
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/onnx/export.h"
#include "core/ops/infer_shapes.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

Graph oneNode(const char* op, std::int64_t opset, std::map<std::string, Attribute> attributes = {}) {
    GraphBuilder builder;
    builder.setOpset("", opset);
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{1, 2, 4, 4}));
    builder.setOutputs({builder.add(op, {x}, std::move(attributes))});
    return take(inferShapes(take(builder.build())));
}

// A product whose sides do not fit, and a declared result that hides it from who only reads declarations.
Graph contradictory() {
    GraphBuilder builder;
    builder.setOpset("", 17);
    const ValueId a = builder.addInput("a", TensorType(DType::f32, Shape{2, 3})), b = builder.addInput("b", TensorType(DType::f32, Shape{4, 5}));
    const ValueId c = builder.add("MatMul", {a, b});
    builder.setType(c, TensorType(DType::f32, Shape{2, 5}));
    builder.setOutputs({c});
    return take(builder.build());
}

} // namespace

class TestSecondReader : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::filesystem::path file(const char* name) const { return std::filesystem::path(folder_.path().toStdString()) / name; }

private slots:
    void whatIsRightIsWritten_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<int>("opset");
        QTest::addColumn<QString>("unchecked"); // the operator that the library does not know
        QTest::newRow("known") << "Relu" << 17 << "";
        QTest::newRow("later opset, same operator") << "Relu" << 21 << "";
        QTest::newRow("later operator") << "Gelu" << 20 << "Gelu";
        QTest::newRow("earlier opset than its operator") << "Mish" << 18 << "Mish";
    }
    void whatIsRightIsWritten() {
        QFETCH(QString, op);
        QFETCH(int, opset);
        QFETCH(QString, unchecked);
        const std::string said = take(exportCheckedOnnx(oneNode(op.toStdString().c_str(), opset), file("good.onnx")));
        QVERIFY(said.find("shape inference") != std::string::npos);
        QCOMPARE(said.find(unchecked.toStdString()) != std::string::npos, true);
        QCOMPARE(said.find("newer") != std::string::npos, !unchecked.isEmpty());
        QVERIFY(std::filesystem::exists(file("good.onnx")));
    }

    // Of ONNX's domain, and of ONNX Runtime alone.
    void whatOnlyOnnxRuntimeKnowsIsPassedOver() {
        GraphBuilder builder;
        builder.setOpset("", 17);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{2, 3}));
        const ValueId gain = builder.addConstant("gain", Tensor::of<float>({3}, {1, 2, 3}));
        builder.setOutputs({builder.add("SimplifiedLayerNormalization", {x, gain})});
        const std::string said = take(exportCheckedOnnx(take(inferShapes(take(builder.build()))), file("norm.onnx")));
        QVERIFY2(said.find("SimplifiedLayerNormalization") != std::string::npos, said.c_str());
    }

    void whatIsWrongIsNotLeftBehind() {
        const auto refused = exportCheckedOnnx(contradictory(), file("bad.onnx"));
        QVERIFY(!refused.ok());
        QVERIFY2(refused.error().message.find("bad.onnx") != std::string::npos, refused.error().message.c_str());
        QVERIFY2(refused.error().message.find("Incompatible dimensions") != std::string::npos, refused.error().message.c_str());
        QVERIFY(!std::filesystem::exists(file("bad.onnx")));
    }

    void anOlderFileStays() {
        take(exportCheckedOnnx(oneNode("Relu", 17), file("old.onnx")));
        const auto size = std::filesystem::file_size(file("old.onnx"));
        QVERIFY(!exportCheckedOnnx(contradictory(), file("old.onnx")).ok());
        QCOMPARE(std::filesystem::file_size(file("old.onnx")), size);
    }

    void laterTypesAreWritten_data() {
        QTest::addColumn<int>("type");
        for (const DType type : {DType::f8e4m3fn, DType::f8e5m2fnuz, DType::u4, DType::i4, DType::u2, DType::f4e2m1})
            QTest::newRow(std::string(dtypeName(type)).c_str()) << static_cast<int>(type);
    }
    void laterTypesAreWritten() {
        QFETCH(int, type);
        const std::string said = take(exportCheckedOnnx(oneNode("Cast", 25, {{"to", std::int64_t{type}}}), file("types.onnx")));
        QVERIFY2(said.find("newer than these: Cast") != std::string::npos, said.c_str());
    }

    // The library knows some versions of some other domains.
    void nodesOfOtherDomainsAreKept() {
        GraphBuilder builder;
        builder.setOpset("", 21);
        builder.setOpset("ai.onnx.ml", 5);
        Node node;
        node.op = "TreeEnsemble";
        node.domain = "ai.onnx.ml";
        node.inputs = {builder.addInput("x", TensorType(DType::f32, Shape{2, 3}))};
        node.outputs = {builder.addValue("y", TensorType(DType::f32, Shape{2, 1}))};
        const ValueId y = builder.node(builder.addNode(std::move(node))).outputs.front();
        builder.setOutputs({y});
        take(exportCheckedOnnx(take(builder.build()), file("trees.onnx")));
    }

    void whatNoOpsetKnowsIsRefused() { QVERIFY(!exportCheckedOnnx(oneNode("Reluu", 17), file("unknown.onnx")).ok()); }

    void weightsInOtherFilesAreCheckedByTheirShape() {
        GraphBuilder builder;
        builder.setOpset("", 17);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{2, 600}));
        const ValueId w = builder.addConstant("w", Tensor::zeros(DType::f32, {600, 5}));
        builder.setOutputs({builder.add("MatMul", {x, w})});
        take(exportCheckedOnnx(take(inferShapes(take(builder.build()))), file("outside.onnx"), {.inlineLimit = 1000}));
        QVERIFY(std::filesystem::exists(file("outside.onnx.data")));
    }
};

QTEST_APPLESS_MAIN(TestSecondReader)
#include "tst_second_reader.moc"
