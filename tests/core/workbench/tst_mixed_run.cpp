// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QTemporaryDir>
#include <QTest>

#include "core/check/equivalence.h"
#include "core/graph/graph_builder.h"
#include "core/onnx/export.h"
#include "core/ops/interpreter.h"
#include "core/process/worker_client.h"
#include "core/workbench/compile.h"
#include "core/workbench/mixed_run.h"
#include "core/workbench/module_run.h"
#include "core/workbench/session.h"

using namespace tunesmith;

namespace {

using Strings = std::vector<std::string>;

TensorType floats(Dims dims) { return {DType::f32, std::move(dims)}; }

Tensor ramp(const Shape& shape) {
    Tensor tensor = Tensor::zeros(DType::f32, shape);
    float value = -3;
    for (float& element : tensor.mutableData<float>())
        element = value += 0.75f;
    return tensor;
}

} // namespace

// The compiled engine on models that are not kernels all through.
class TestMixedRun : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    std::unique_ptr<WorkerClient> worker_;

    // Both engines on the same inputs; the operators that were not compiled.
    void compare(GraphBuilder& builder, const std::vector<Tensor>& inputs, const Strings& byReference) {
        builder.setOpset("", 13);
        const auto graph = builder.build();
        QVERIFY2(graph.ok(), graph.ok() ? "" : graph.error().message.c_str());
        const std::string file = folder_.filePath("model.onnx").toStdString();
        const Status written = exportOnnx(*graph, file);
        QVERIFY2(written.ok(), written.ok() ? "" : written.error().message.c_str());
        const auto model = openModel(file);
        QVERIFY2(model.ok(), model.ok() ? "" : model.error().message.c_str());
        const auto expected = Interpreter(model->graph()).run(inputs);
        QVERIFY2(expected.ok(), expected.ok() ? "" : expected.error().message.c_str());
        const auto run = runMixed(*model, inputs, {"", 1, 1, true, {}}, *worker_);
        QVERIFY2(run.ok(), run.ok() ? "" : run.error().message.c_str());
        const Status same = requireEquivalent(*expected, run->outputs);
        QVERIFY2(same.ok(), same.ok() ? "" : same.error().message.c_str());
        const auto module = runAsModule(*model, inputs, {"", 1, 1, true, {}}, *worker_);
        QVERIFY2(module.ok(), module.ok() ? "" : module.error().message.c_str());
        const Status alike = requireEquivalent(*expected, module->outputs);
        QVERIFY2(alike.ok(), alike.ok() ? "" : alike.error().message.c_str());
        Strings ops;
        for (const NodeProblem& node : run->byReference) {
            ops.push_back(node.op);
            QVERIFY(!node.reason.empty());
        }
        QCOMPARE(ops, byReference);
    }

private slots:
    void initTestCase() {
        auto worker = startWorker();
        QVERIFY2(worker.ok(), worker.ok() ? "" : worker.error().message.c_str());
        worker_ = std::move(worker).value();
    }

    void whyAModelIsNoModule() {
        GraphBuilder builder;
        builder.setOpset("", 13);
        builder.setOpset("com.example", 1);
        const ValueId x = builder.addInput("x", floats({2}));
        const ValueId words = builder.addValue("words", TensorType(DType::string, Shape{2})), strange = builder.addValue("strange", floats({2}));
        builder.addNode({"cast", "Cast", "", {x}, {words}, {{"to", std::int64_t(8)}}});
        builder.addNode({"unheard", "Unheard", "com.example", {x}, {strange}, {}});
        builder.setOutputs({words, strange});
        const auto graph = builder.build();
        QVERIFY2(graph.ok(), graph.ok() ? "" : graph.error().message.c_str());
        const std::string file = folder_.filePath("no_module.onnx").toStdString();
        QVERIFY(exportOnnx(*graph, file).ok());
        const auto model = openModel(file);
        QVERIFY2(model.ok(), model.ok() ? "" : model.error().message.c_str());
        const std::vector<NodeProblem> problems = whyNotExported(*model);
        QCOMPARE(problems.size(), std::size_t(2));
        QCOMPARE(problems[0].node, std::string("unheard"));
        QCOMPARE(problems[1].node, std::string("words"));
        QCOMPARE(problems[1].op, std::string("output"));
        CompileRequest request;
        request.folder = folder_.filePath("module").toStdString();
        const auto compiled = compileModel(*model, request);
        QVERIFY(!compiled.ok());
        for (const NodeProblem& problem : problems) // all of it at once
            QVERIFY2(compiled.error().message.find(problem.reason) != std::string::npos, compiled.error().message.c_str());
    }

    // Nodes that are never kernels run in one part: a part for each would look at the rest of the model as often. 4,200 of them took 68 s.
    void longSequences() {
        constexpr int kMore = 4200; // than are written out
        GraphBuilder b;
        b.setOpset("", 17);
        const ValueId x = b.addInput("x", floats({2}));
        ValueId sequence = b.add("SequenceConstruct", {x});
        for (int i = 0; i < kMore; ++i)
            sequence = b.add("SequenceInsert", {sequence, x});
        b.setOutputs({b.add("SequenceLength", {sequence})});
        const std::string file = folder_.filePath("sequence.onnx").toStdString();
        QVERIFY(exportOnnx(*b.build(), file).ok());
        const auto model = openModel(file);
        QVERIFY2(model.ok(), model.ok() ? "" : model.error().message.c_str());
        const auto run = runMixed(*model, {ramp({2})}, {"", 1, 1, true, {}}, *worker_);
        QVERIFY2(run.ok(), run.ok() ? "" : run.error().message.c_str());
        QCOMPARE(run->outputs.at(0).asInt(0), std::int64_t(kMore + 1));
    }

    void kernelsOnly() {
        GraphBuilder b;
        const ValueId x = b.addInput("x", floats({2, 3}));
        b.setOutputs({b.add("Relu", {b.add("Add", {x, x})})});
        compare(b, {ramp({2, 3})}, {});
    }

    void openDimensionsAreThoseOfTheInputs() {
        GraphBuilder b;
        const ValueId x = b.addInput("x", floats({Dim::named("batch"), 3}));
        b.setOutputs({b.add("Softmax", {x})});
        compare(b, {ramp({5, 3})}, {});
    }

    // Kernels before and after a node whose result has as many elements as the data say.
    void shapesThatDependOnData() {
        GraphBuilder b;
        const ValueId x = b.addInput("x", floats({2, 4}));
        const ValueId positive = b.add("Relu", {x});
        const ValueId found = b.add("NonZero", {positive});
        b.setOutputs({b.add("Mul", {found, found}), b.add("Neg", {positive})});
        compare(b, {ramp({2, 4})}, {"NonZero"});
    }

    void operandsThatAreInputsAreBurntIn() {
        GraphBuilder b;
        const ValueId x = b.addInput("x", floats({2, 4}));
        const ValueId shape = b.addInput("shape", TensorType(DType::i64, Dims{Dim()}));
        b.setOutputs({b.add("Exp", {b.add("Reshape", {x, shape})})});
        compare(b, {ramp({2, 4}), Tensor::ofInts({4, 2})}, {});
    }

    // The number of repeats is computed by kernels, from data.
    void operandsThatAreComputedAreBurntInOnceTheyAreKnown() {
        GraphBuilder b;
        const ValueId x = b.addInput("x", floats({1, 4}));
        const ValueId n = b.addInput("n", TensorType(DType::i64, Shape{2}));
        const ValueId twice = b.add("Add", {n, n});
        b.setOutputs({b.add("Neg", {b.add("Tile", {x, twice})})});
        compare(b, {ramp({1, 4}), Tensor::ofInts({1, 2})}, {});
    }

    void branches() {
        const auto branch = [](const char* op) {
            GraphBuilder body(op);
            body.setOpset("", 13);
            body.setOutputs({body.add(op, {body.addCapture("inner", floats({4}))})});
            return std::make_shared<const Graph>(*body.build());
        };
        for (const bool taken : {true, false}) {
            GraphBuilder b;
            const ValueId x = b.addInput("x", floats({4}));
            const ValueId c = b.addInput("c", TensorType(DType::boolean, Shape{}));
            Node neg;
            neg.op = "Neg";
            neg.inputs = {x};
            neg.outputs = {b.addValue("inner", floats({4}))};
            b.addNode(neg);
            const ValueId chosen =
                b.add("If", {c}, {{"then_branch", branch("Exp")}, {"else_branch", branch("Relu")}});
            b.setOutputs({b.add("Sqrt", {b.add("Abs", {chosen})})});
            compare(b, {ramp({4}), Tensor::scalar(taken)}, {});
        }
    }

    void inputThatIsAnOutput() {
        GraphBuilder b;
        const ValueId x = b.addInput("x", floats({4}));
        b.setOutputs({x, b.add("Relu", {x})});
        compare(b, {ramp({4})}, {});
    }

    void nothingToCompute() {
        GraphBuilder b;
        b.addInput("x", floats({4}));
        b.setOutputs({b.addConstant("k", ramp({2}))});
        compare(b, {ramp({4})}, {});
    }

    void aStopEndsIt() {
        GraphBuilder b;
        b.setOpset("", 13);
        const ValueId x = b.addInput("x", floats({4}));
        b.setOutputs({b.add("Relu", {x})});
        const std::string file = folder_.filePath("stop.onnx").toStdString();
        QVERIFY(exportOnnx(*b.build(), file).ok());
        StopSource source;
        source.requestStop();
        const auto run = runMixed(*openModel(file), {ramp({4})}, {"", 1, 1, true, {source.token(), {}}}, *worker_);
        QVERIFY(!run.ok() && run.error().isCancelled());
    }

    void nodesThatNobodyKnowsAreNamed() {
        GraphBuilder b;
        b.setOpset("", 13);
        const ValueId x = b.addInput("x", floats({4}));
        b.setOutputs({b.add("Frobnicate", {x}, {}, 1, "odd")});
        const std::string file = folder_.filePath("odd.onnx").toStdString();
        QVERIFY(exportOnnx(*b.build(), file).ok());
        const auto run = runMixed(*openModel(file), {ramp({4})}, {"", 1, 1, true, {}}, *worker_);
        QVERIFY(!run.ok());
        QVERIFY(run.error().message.find("Frobnicate") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestMixedRun)
#include "tst_mixed_run.moc"
