// SPDX-License-Identifier: GPL-3.0-or-later
// Sequences, optional values and maps: carried from import to export as they are, named where they would be
// computed on.
#include <QTest>

#include "core/check/random_inputs.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/ops/coverage.h"
#include "core/ops/fold_constants.h"
#include "core/ops/infer_shapes.h"
#include "model_bytes.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

void setTensor(onnx::TypeProto& type, const char* batch) {
    type.mutable_tensor_type()->set_elem_type(1);
    type.mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param(batch);
}

// y = SequenceAt(Identity(x), 0) + w, where x is a sequence of tensors or an optional one.
onnx::ModelProto sequenceModel(bool optional) {
    auto model = smallModel();
    auto& graph = *model.mutable_graph();
    auto& type = *graph.mutable_input(0)->mutable_type();
    type.Clear();
    auto& sequence = optional ? *type.mutable_optional_type()->mutable_elem_type() : type;
    setTensor(*sequence.mutable_sequence_type()->mutable_elem_type(), "batch");
    graph.clear_node();
    addNode(graph, "Identity", {"x"}, {"same"}, "same");
    addNode(graph, "SequenceAt", {"same", "zero"}, {"first"}, "at");
    addNode(graph, "Add", {"first", "w"}, {"y"}, "sum");
    auto& zero = *graph.add_initializer();
    zero.set_name("zero");
    zero.set_data_type(7);
    zero.add_int64_data(0);
    return model;
}

Graph import(const onnx::ModelProto& model) {
    return take(importOnnxBytes(asBytes(model.SerializeAsString())));
}

} // namespace

class TestOpaqueValues : public QObject {
    Q_OBJECT

private slots:
    void comeBackFromTheirExport() {
        for (const bool optional : {false, true}) {
            const auto model = sequenceModel(optional);
            const Graph graph = import(model);
            const auto bytes = take(exportOnnxBytes(graph));
            QCOMPARE(take(importOnnxBytes(bytes)).hash(), graph.hash());
            onnx::ModelProto written;
            QVERIFY(written.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
            QCOMPARE(written.graph().input(0).SerializeAsString(),
                     model.graph().input(0).SerializeAsString());
            QCOMPARE(written.graph().node_size(), 3);
        }
    }

    // Each level is read once: twice for each would be 2^40 times.
    void deepTypesAreReadAtOnce() {
        auto model = sequenceModel(false);
        auto& info = *model.mutable_graph()->add_value_info();
        info.set_name("same");
        onnx::TypeProto* type = info.mutable_type();
        for (int i = 0; i < 40; ++i)
            type = type->mutable_sequence_type()->mutable_elem_type();
        setTensor(*type, "batch");
        const Graph graph = import(model);
        QVERIFY(graph.value(graph.findValue("same")).type.nestsTooDeep());
        const auto inferred = inferShapes(graph);
        QVERIFY(!inferred.ok() && inferred.error().message.find("nests too many containers") != std::string::npos);
    }

    void otherTypesAreOtherGraphs() {
        QVERIFY(import(sequenceModel(true)).hash() != import(sequenceModel(false)).hash());
    }

    void areNamed() {
        const auto typeOf = [](const onnx::ModelProto& model) {
            const Graph graph = import(model);
            return QString::fromStdString(graph.value(graph.inputs()[0]).type.text());
        };
        QCOMPARE(typeOf(sequenceModel(false)), QStringLiteral("a sequence of float32[batch]"));
        QCOMPARE(typeOf(sequenceModel(true)),
                 QStringLiteral("an optional value: a sequence of float32[batch]"));
        auto model = sequenceModel(false);
        auto& type = *model.mutable_graph()->mutable_input(0)->mutable_type();
        type.Clear();
        type.mutable_map_type()->set_key_type(7);
        setTensor(*type.mutable_map_type()->mutable_value_type(), "n");
        QCOMPARE(typeOf(model), QStringLiteral("a map to float32[n]"));
        type.mutable_sequence_type();
        QCOMPARE(typeOf(model), QStringLiteral("a sequence of something unknown"));
    }

    // Their types go through inference and folding; the reference engine alone computes with them.
    void areNotCompiled() {
        const Graph graph = take(foldConstants(take(inferShapes(import(sequenceModel(false))))));
        QVERIFY(graph.value(graph.findValue("same")).type.opaque);
        const Coverage found = coverage(graph);
        QCOMPARE(found.notComputed.size(), std::size_t(0));
        QVERIFY(found.notCompiled.size() >= 2);
        QVERIFY(found.notCompiled[0].reason.find("'same' (Identity)") != std::string::npos);
        const auto inputs = randomInputs(graph, 1);
        QVERIFY(!inputs.ok() && inputs.error().kind == ErrorKind::unsupported);
        QVERIFY2(inputs.error().message.find("input 'x' is a sequence") != std::string::npos,
                 inputs.error().message.c_str());
    }

    void contradictTensors() {
        auto model = sequenceModel(false);
        tensorType(*model.mutable_graph()->add_value_info(), "same", {2, 2});
        const auto typed = inferShapes(import(model));
        QVERIFY(!typed.ok());
        QVERIFY2(typed.error().message.find("'same' is a sequence") != std::string::npos,
                 typed.error().message.c_str());
    }
};

QTEST_APPLESS_MAIN(TestOpaqueValues)
#include "tst_opaque_values.moc"
