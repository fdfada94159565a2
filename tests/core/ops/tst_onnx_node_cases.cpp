// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/onnx/import.h"
#include "core/ops/interpreter.h"
#include "core/ops/lower_node.h"
#include "op_case.h"

using namespace tunesmith;

// The single-operator cases that ONNX itself publishes (Debian: libonnx-testdata), through the reference kernels and, where
// the node is a tensor expression, through its lowering.
class OnnxNodeCasesTest : public QObject {
    Q_OBJECT
private slots:
    void everything_data();
    void everything();
    void cleanupTestCase() { qInfo("%d cases computed, %d of them lowered too", computed_, lowered_); }

private:
    int computed_ = 0, lowered_ = 0;
};

namespace {

const char* const kFolder = "/usr/share/libonnx-testdata/data/node";

// Cases whose stored data are at odds with their own models or with later versions of ONNX.
const QHash<QString, QString> kDoubtful{
    {"test_cast_BFLOAT16_to_FLOAT", "bfloat16 is stored as uint16"},
    {"test_cast_FLOAT_to_BFLOAT16", "bfloat16 is stored as uint16"},
    {"test_castlike_BFLOAT16_to_FLOAT", "bfloat16 is stored as uint16"},
    {"test_castlike_BFLOAT16_to_FLOAT_expanded", "bfloat16 is stored as uint16"},
    {"test_castlike_FLOAT_to_BFLOAT16", "bfloat16 is stored as uint16"},
    {"test_castlike_FLOAT_to_BFLOAT16_expanded", "bfloat16 is stored as uint16"},
    {"test_maxunpool_export_with_output_shape", "counts indices in the shape that attributes imply; MaxPool and ONNX Runtime count in the stated one"},
    {"test_resize_downsample_scales_cubic_align_corners", "aligns to a fractional size; ONNX Runtime 1.30 aligns to whole extents, as we do"},
    {"test_resize_downsample_scales_linear_align_corners", "aligns to a fractional size; ONNX Runtime 1.30 aligns to whole extents, as we do"},
    {"test_training_dropout", "which elements are left out is drawn"},
    {"test_training_dropout_default", "which elements are left out is drawn"},
    {"test_training_dropout_default_mask", "which elements are left out is drawn"},
    {"test_training_dropout_mask", "which elements are left out is drawn"},
};

Result<std::vector<Tensor>> readSet(const QString& folder, const QString& stem, const Graph& graph, const std::vector<ValueId>& values) {
    std::vector<Tensor> tensors;
    for (std::size_t i = 0;; ++i) {
        const QString path = QStringLiteral("%1/%2_%3.pb").arg(folder, stem).arg(i);
        if (!QFile::exists(path))
            return tensors;
        TS_ASSIGN(Tensor tensor, readTensorProto(path.toStdString(), i < values.size() ? graph.value(values[i]).type : TensorType()));
        tensors.push_back(std::move(tensor));
    }
}

// Empty when every output is the expected one.
QString mismatch(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (expected[i].type() == DType::string || expected[i].absent())
            continue;
        if (expected[i].isNothing() != actual[i].isNothing() || expected[i].isSequence() != actual[i].isSequence())
            return QStringLiteral("output %1 is of another kind").arg(i);
        if (expected[i].isNothing())
            continue;
        if (expected[i].isSequence()) {
            if (actual[i].elements().size() != expected[i].elements().size())
                return QStringLiteral("output %1 has another length").arg(i);
            if (const QString text = mismatch(actual[i].elements(), expected[i].elements()); !text.isEmpty())
                return text;
            continue;
        }
        const bool half = expected[i].type() == DType::f16;
        if (const QString text = difference(actual[i], expected[i], half ? 2e-3 : 1e-4); !text.isEmpty())
            return QStringLiteral("output %1: %2").arg(i).arg(text);
    }
    return {};
}

QString whyNotComparable(const Graph& graph) {
    for (const auto& node : graph.nodes()) {
        const Operator* op = findOperator(node->op, node->domain);
        if (!op || !op->eval)
            return QStringLiteral("no engine computes %1").arg(QString::fromStdString(node->op));
        if (!op->deterministic && node->op != "Dropout")
            return QStringLiteral("%1 draws its outputs").arg(QString::fromStdString(node->op));
    }
    return {};
}

// Values that a node's lowering wants to know are inputs in these models.
Graph withConstants(const Graph& graph, const std::vector<Tensor>& inputs) {
    GraphBuilder builder(graph);
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i].type() == DType::i64 && inputs[i].rank() <= 1)
            builder.setConstant(graph.inputs()[i], inputs[i]);
    const auto built = builder.build();
    return built.ok() ? *built : graph;
}

} // namespace

void OnnxNodeCasesTest::everything_data() {
    QTest::addColumn<QString>("folder");
    const QDir root(kFolder);
    if (!root.exists())
        QSKIP("libonnx-testdata is not installed");
    for (const QString& name : root.entryList({"test_*"}, QDir::Dirs))
        QTest::newRow(qPrintable(name)) << root.filePath(name);
}

void OnnxNodeCasesTest::everything() {
    QFETCH(QString, folder);
    if (const QString doubt = kDoubtful.value(QFileInfo(folder).fileName()); !doubt.isEmpty())
        QSKIP(qPrintable(doubt));
    const auto graph = importOnnx((folder + "/model.onnx").toStdString());
    if (!graph.ok())
        QSKIP(graph.error().message.c_str());
    if (const QString reason = whyNotComparable(*graph); !reason.isEmpty())
        QSKIP(qPrintable(reason));
    const auto inputs = readSet(folder + "/test_data_set_0", "input", *graph, graph->inputs());
    const auto expected = readSet(folder + "/test_data_set_0", "output", *graph, graph->outputs());
    if (!inputs.ok() || !expected.ok())
        QSKIP("the data are no tensors");
    const auto actual = Interpreter(*graph).run(*inputs);
    if (!actual.ok() && actual.error().kind == ErrorKind::unsupported)
        QSKIP(actual.error().message.c_str());
    QVERIFY2(actual.ok(), actual.ok() ? "" : actual.error().message.c_str());
    const QString wrong = mismatch(*actual, *expected);
    QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    ++computed_;

    const Graph fixed = withConstants(*graph, *inputs);
    if (fixed.nodeCount() != 1 || !checkLowerable(fixed, NodeId(0)).ok())
        return;
    const auto program = lowerNode(fixed, NodeId(0));
    QVERIFY2(program.ok(), program.ok() ? "" : program.error().message.c_str());
    std::vector<Tensor> given;
    for (const ValueId id : fixed.node(NodeId(0)).inputs) {
        if (!id.valid())
            continue;
        const Value& value = fixed.value(id);
        const ValueId original = graph->findValue(value.name);
        for (std::size_t i = 0; i < inputs->size(); ++i)
            if (graph->inputs()[i] == original)
                given.push_back((*inputs)[i]);
    }
    if (given.size() != program->inputs.size())
        return;
    const auto again = loops::evaluate(*program, given);
    QVERIFY2(again.ok(), again.ok() ? "" : again.error().message.c_str());
    const QString differs = mismatch(*again, *expected);
    QVERIFY2(differs.isEmpty(), qPrintable("lowered: " + differs));
    ++lowered_;
}

QTEST_GUILESS_MAIN(OnnxNodeCasesTest)
#include "tst_onnx_node_cases.moc"
