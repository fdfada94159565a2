// SPDX-License-Identifier: GPL-3.0-or-later
// Initializers that are inputs: values that hold where none is given (since IR version 4).
#include <QTest>

#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "core/ops/settle_choices.h"
#include "model_bytes.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

// y = x + w, where w is listed as an input.
onnx::ModelProto listing(std::int64_t ir = 8) {
    auto model = smallModel();
    model.set_ir_version(ir);
    tensorType(*model.mutable_graph()->add_input(), "w", {2, 2});
    return model;
}

Graph imported(const onnx::ModelProto& model) {
    return take(inferShapes(take(importOnnxBytes(asBytes(model.SerializeAsString())))));
}

std::vector<float> floats(const Tensor& tensor) { return {tensor.data<float>().begin(), tensor.data<float>().end()}; }

const Tensor kOnes = Tensor::of<float>({2, 2}, std::vector<float>{1, 1, 1, 1});

} // namespace

class TestDefaultInputs : public QObject {
    Q_OBJECT

private slots:
    void theGivenValueWinsForOneRun() {
        const Interpreter model(imported(listing()));
        QCOMPARE(model.graph().inputs().size(), std::size_t(2));
        QCOMPARE(floats(take(model.run({{"x", kOnes}, {"w", kOnes}}))[0]), (std::vector<float>{2, 2, 2, 2}));
        QCOMPARE(floats(take(model.run({{"x", kOnes}}))[0]), (std::vector<float>{2, 3, 4, 5}));
        QCOMPARE(floats(take(model.run(std::vector<Tensor>{kOnes, Tensor()}))[0]), (std::vector<float>{2, 3, 4, 5}));
    }

    void whatHasNoDefaultMustBeGiven() {
        const auto missing = Interpreter(imported(listing())).run(std::map<std::string, Tensor>{{"w", kOnes}});
        QVERIFY(!missing.ok() && missing.error().message.find("'x'") != std::string::npos);
    }

    void theOrderIsThatOfTheFile() {
        auto model = listing();
        model.mutable_graph()->mutable_input()->SwapElements(0, 1);
        const Graph graph = imported(model);
        QCOMPARE(graph.value(graph.inputs()[0]).name, std::string("w"));
        QVERIFY(graph.value(graph.inputs()[0]).hasDefault());
        QVERIFY(!graph.value(graph.inputs()[1]).hasDefault());
    }

    // Before IR version 4 every initializer had to be listed.
    void oldFilesHaveNone() {
        const Graph graph = imported(listing(3));
        QCOMPARE(graph.inputs().size(), std::size_t(1));
        QVERIFY(!graph.value(graph.findValue("w")).listed);
    }

    // Exporters that list all weights mean nothing by it: kernels may be made for them, and a run may still replace them.
    void allWeightsOfLayersAreListedByHabit() {
        auto model = listing();
        model.mutable_graph()->mutable_node(0)->set_op_type("MatMul");
        const Graph graph = imported(model);
        QCOMPARE(graph.inputs().size(), std::size_t(1));
        QVERIFY(graph.value(graph.findValue("w")).isConstant());
        QVERIFY(graph.value(graph.findValue("w")).listed);
    }

    void foldingAndExportKeepThem() {
        const Graph settled = take(settleChoices(imported(listing())));
        const auto bytes = take(exportOnnxBytes(settled));
        onnx::ModelProto written;
        QVERIFY(written.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
        QCOMPARE(written.graph().input_size(), 2);
        QCOMPARE(written.graph().initializer_size(), 1);
        const Graph again = take(importOnnxBytes(bytes));
        QCOMPARE(again.hash(), settled.hash());
        QCOMPARE(floats(take(Interpreter(again).run({{"x", kOnes}}))[0]), (std::vector<float>{2, 3, 4, 5}));
    }

    void contradictionsAreRefused() {
        auto model = listing();
        model.mutable_graph()->mutable_input(1)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(3);
        const auto refused = importOnnxBytes(asBytes(model.SerializeAsString()));
        QVERIFY(!refused.ok() && refused.error().message.find("declared as float32[3,2]") != std::string::npos);
        auto twice = listing();
        *twice.mutable_graph()->add_initializer() = twice.graph().initializer(0);
        QVERIFY(!importOnnxBytes(asBytes(twice.SerializeAsString())).ok());
    }
};

QTEST_APPLESS_MAIN(TestDefaultInputs)
#include "tst_default_inputs.moc"
