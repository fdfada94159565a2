// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/check/equivalence.h"
#include "core/check/random_inputs.h"
#include "core/graph/graph_builder.h"
#include "core/ops/explicit_window.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "core/ops/raise_opset.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

using Ints = std::vector<std::int64_t>;
using Attributes = std::map<std::string, Attribute>;

Graph oneNode(const std::string& op, std::int64_t opset, const Attributes& attributes = {}, const std::vector<Tensor>& others = {}, std::size_t outputs = 1) {
    GraphBuilder builder("one");
    builder.setOpset({}, opset);
    std::vector<ValueId> operands{builder.addInput("x", TensorType(DType::f32, Shape{1, 2, 6, 5}))};
    for (const Tensor& other : others)
        operands.push_back(builder.addConstant({}, other));
    Node node;
    node.op = op;
    node.inputs = operands;
    node.attributes = attributes;
    for (std::size_t i = 0; i < outputs; ++i)
        node.outputs.push_back(builder.addValue("y" + std::to_string(i), {}));
    const std::vector<ValueId> made = node.outputs;
    builder.addNode(std::move(node));
    builder.setOutputs(made);
    return take(inferShapes(take(builder.build())));
}

Tensor floats(const Shape& shape, float value) {
    Tensor tensor = Tensor::zeros(DType::f32, shape);
    std::ranges::fill(tensor.mutableData<float>(), value);
    return tensor;
}

} // namespace

// The same model in another opset, the same window in other words.
class TstRaiseOpset : public QObject {
    Q_OBJECT

private slots:
    void raisesWhereNothingChanges_data() {
        QTest::addColumn<int>("opset");
        QTest::addColumn<int>("raised");
        for (const auto& [opset, raised] : {std::pair(12, 12), {13, 17}, {16, 17}, {17, 17}, {18, 18}})
            QTest::addRow("%d", opset) << opset << raised;
    }
    void raisesWhereNothingChanges() {
        QFETCH(int, opset);
        QFETCH(int, raised);
        QCOMPARE(take(raisedOpset(oneNode("Relu", opset))).opset(), std::int64_t(raised));
    }

    // Since 16 regions begin half a pixel before where they did.
    void regionsStayWhereTheyAre() {
        const std::vector<Tensor> boxes{Tensor::zeros(DType::f32, {1, 4}), Tensor::ofInts({0})};
        for (const std::int64_t opset : {13, 15, 16})
            QCOMPARE(take(raisedOpset(oneNode("RoiAlign", opset, {}, boxes))).opset(), opset);
    }

    void statisticsStayWhatTheyAre() {
        const std::vector<Tensor> parameters(4, floats({2}, 1));
        QCOMPARE(take(raisedOpset(oneNode("BatchNormalization", 13, {}, parameters))).opset(), std::int64_t(17));
        QCOMPARE(take(raisedOpset(oneNode("BatchNormalization", 13, {}, parameters, 5))).opset(), std::int64_t(13));
    }

    void windowsInFull_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<QString>("autoPad");
        for (const char* op : {"Conv", "MaxPool", "AveragePool"})
            for (const char* pad : {"", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"})
                QTest::addRow("%s %s", op, pad) << QString(op) << QString(pad);
    }
    void windowsInFull() {
        QFETCH(QString, op);
        QFETCH(QString, autoPad);
        Attributes attributes{{"strides", Ints{2, 1}}};
        if (!autoPad.isEmpty())
            attributes["auto_pad"] = autoPad.toStdString();
        const bool conv = op == "Conv";
        if (!conv)
            attributes["kernel_shape"] = Ints{3, 2};
        const Graph terse = oneNode(op.toStdString(), 13, attributes, conv ? std::vector{floats({4, 2, 3, 2}, 0.5F)} : std::vector<Tensor>());
        const Node full = withExplicitWindow(terse, terse.node(NodeId(0)), 13);
        QVERIFY(!full.has("auto_pad") && full.intsAttr("pads").size() == 4 && full.intsAttr("strides") == (Ints{2, 1}) && full.intsAttr("kernel_shape") == (Ints{3, 2}));
        QCOMPARE(full.has("dilations"), op != "AveragePool");
        QCOMPARE(full.has("group"), conv);
        GraphBuilder builder(terse);
        builder.replaceNode(NodeId(0), full);
        const Graph wordy = take(inferShapes(take(builder.build())));
        const std::vector<Tensor> inputs = take(randomInputs(terse, 2));
        const Status same = requireEquivalent(take(Interpreter(terse).run(inputs)), take(Interpreter(wordy).run(inputs)), {}, {0, 0});
        QVERIFY2(same.ok(), problemOf(same).c_str());
    }

    void othersComeBackAsTheyAre() {
        const Graph relu = oneNode("Relu", 13);
        QVERIFY(withExplicitWindow(relu, relu.node(NodeId(0)), 13).attributes.empty());
        const Graph old = oneNode("MaxPool", 8, {{"kernel_shape", Ints{2, 2}}});
        QVERIFY(!withExplicitWindow(old, old.node(NodeId(0)), 8).has("dilations")); // which that opset does not know
    }
};

QTEST_GUILESS_MAIN(TstRaiseOpset)
#include "tst_raise_opset.moc"
