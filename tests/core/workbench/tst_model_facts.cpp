// SPDX-License-Identifier: GPL-3.0-or-later
// What is said of a model that was opened, and inputs with default values in a run.
#include <QTemporaryDir>
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/graph/npy.h"
#include "core/onnx/export.h"
#include "core/workbench/run.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

const TensorType kRow(DType::f32, Shape{1, 4});

template <class T> Tensor filled(const Shape& shape, T value) {
    return Tensor::of<T>(shape, std::vector<T>(static_cast<std::size_t>(elementCount(shape)), value));
}

} // namespace

class TestModelFacts : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

    std::string path(const char* name) const { return folder_.filePath(name).toStdString(); }

    std::string file(GraphBuilder& builder, const char* name = "model.onnx") {
        builder.setOpset("", 17);
        take(exportOnnx(take(builder.build()), path(name)));
        return path(name);
    }

    std::string array(const char* name, const Tensor& tensor) {
        take(writeNpy(path(name), tensor));
        return path(name);
    }

    // x times gain plus w, where gain has a default value.
    std::string withDefault() {
        GraphBuilder b;
        const ValueId x = b.addInput("x", kRow), gain = b.addInput("gain", kRow);
        b.setDefault(gain, filled<float>({1, 4}, 3));
        b.setOutputs({b.add("Add", {b.add("Mul", {x, gain}), b.addConstant("w", filled<float>({1, 4}, 1))}, {}, 1, "y")});
        return file(b, "default.onnx");
    }

    float firstOf(const Model& model, InputChoice choice) {
        RunRequest request;
        request.inputs = std::move(choice);
        request.engine = Engine::reference;
        return take(runModel(model, request)).outputs[0].tensor.data<float>()[0];
    }

private slots:
    // Integers, bodies and attributes of nodes hold weights, too; shapes and axes are none.
    void parametersCountWhateverHoldsThem() {
        GraphBuilder branch("branch");
        branch.setOpset("", 17);
        branch.setOutputs({branch.add("Add", {branch.addCapture("x", kRow), branch.addConstant("inner", filled<float>({1, 4}, 1))})});
        const auto body = std::make_shared<const Graph>(take(branch.build()));
        GraphBuilder b;
        const ValueId x = b.addInput("x", kRow), c = b.addInput("c", TensorType(DType::boolean, Shape{}));
        const ValueId product = b.add("MatMulInteger", {b.add("Cast", {x}, {{"to", std::int64_t(3)}}), b.addConstant("w8", filled<std::int8_t>({4, 10}, 1))});
        const ValueId shaped = b.add("Reshape", {product, b.addConstant("shape", Tensor::ofInts({10}))});
        b.setOutputs({b.add("If", {c}, {{"then_branch", body}, {"else_branch", body}}), shaped});
        const Model model = take(openModel(file(b)));
        QCOMPARE(model.info().parameters, std::int64_t(40 + 2 * 4));
        QCOMPARE(model.info().parameterBytes, std::int64_t(40 + 2 * 16));
    }

    void staleShapesAreWarnedOf() {
        GraphBuilder b;
        const ValueId x = b.addInput("x", kRow);
        const ValueId y = b.add("Relu", {x}, {}, 1, "middle");
        b.setType(y, TensorType(DType::f32, Shape{7, 4}));
        const ValueId z = b.add("Transpose", {y}, {}, 1, "z");
        b.setType(z, TensorType(DType::f32, Shape{1, 1, 1}));
        b.setOutputs({z});
        const Model model = take(openModel(file(b)));
        QCOMPARE(model.info().warnings.size(), std::size_t(2));
        QVERIFY(model.info().warnings[0].find("'middle'") != std::string::npos);
        QCOMPARE(model.info().outputs[0].shapeText(), std::string("4x1"));
    }

    void allMissingOperatorsAreNamedAtOnce() {
        GraphBuilder b;
        const ValueId x = b.addInput("x", kRow);
        b.setOutputs({b.add("Frob", {b.add("Crunch", {b.add("Frob", {x})})})});
        const Model model = take(openModel(file(b)));
        const std::string text = missingText(model.info().unsupported);
        QVERIFY2(text.find("Crunch, Frob (2 times)") != std::string::npos, text.c_str());
        RunRequest request;
        request.engine = Engine::reference;
        const auto run = runModel(model, request);
        QVERIFY(!run.ok());
        QVERIFY2(run.error().message.find("Crunch, Frob (2 times)") != std::string::npos, run.error().message.c_str());
    }

    void errorsOfShapesHintToOpenSizes() {
        GraphBuilder b;
        const ValueId x = b.addInput("x", TensorType(DType::f32, Dims{Dim::named("a,b"), 4}));
        b.setOutputs({b.add("MatMul", {x, b.addConstant("w", filled<float>({5, 2}, 1))})});
        const auto refused = openModel(file(b));
        QVERIFY(!refused.ok());
        QVERIFY2(refused.error().message.find("--dims \"a,b\"=N") != std::string::npos, refused.error().message.c_str());
    }

    void anEmptyCacheIsASize() {
        GraphBuilder b;
        const ValueId past = b.addInput("past", TensorType(DType::f32, Dims{1, Dim::named("past")})), x = b.addInput("x", kRow);
        b.setOutputs({b.add("Concat", {past, x}, {{"axis", std::int64_t(1)}})});
        const Model model = take(openModel(file(b), take(parseDimensions("past=0"))));
        QCOMPARE(model.info().outputs[0].shapeText(), std::string("1x4"));
        QVERIFY(!parseDimensionRanges("past=0..4").ok());
    }

    void aDefaultHoldsUnlessAnotherValueIsGiven() {
        const Model model = take(openModel(withDefault()));
        QVERIFY(model.info().inputs[1].optional && !model.info().inputs[0].optional);
        const std::string x = array("x.npy", filled<float>({1, 4}, 2)), gain = array("gain.npy", filled<float>({1, 4}, 10));
        QCOMPARE(firstOf(model, {{{"x", x}}}), 7.0F);
        QCOMPARE(firstOf(model, {{{"x", x}, {"gain", gain}}}), 21.0F);
        QCOMPARE(firstOf(model, {{{"x", x}}}), 7.0F);
    }

    void anExportKeepsTheDefault() {
        const Model model = take(openModel(withDefault()));
        QVERIFY(take(exportModel(model, path("again.onnx"))).find("checked") != std::string::npos);
        const Model again = take(openModel(path("again.onnx")));
        QVERIFY(again.info().inputs[1].optional);
        QCOMPARE(firstOf(again, {{{"x", array("x.npy", filled<float>({1, 4}, 2))}}}), 7.0F);
    }
};

QTEST_GUILESS_MAIN(TestModelFacts)
#include "tst_model_facts.moc"
