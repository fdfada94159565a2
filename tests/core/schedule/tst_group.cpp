// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/ops/infer_shapes.h"
#include "core/schedule/group.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

struct Net {
    GraphBuilder builder{"net"};
    ValueId x, conv;

    Net() {
        builder.setOpset("", 17);
        x = builder.addInput("", TensorType(DType::f32, Shape{1, 8, 6, 6}));
        conv = builder.add("Conv", {x, builder.addConstant("", Tensor::zeros(DType::f32, {8, 8, 1, 1}))});
    }
    ValueId number(float value) { return builder.addConstant("", Tensor::scalar(value)); }
    ValueId add(const char* op, const std::vector<ValueId>& inputs) { return builder.add(op, inputs); }

    // The operators of each kernel, as in "Conv Relu | Softmax".
    std::string groups(const std::vector<ValueId>& outputs) {
        builder.setOutputs(outputs);
        const Graph graph = take(inferShapes(take(builder.build())));
        std::string text;
        for (const KernelGroup& group : groupNodes(graph)) {
            text += text.empty() ? "" : " |";
            for (const NodeId id : group.nodes)
                text += (text.empty() ? "" : " ") + graph.node(id).op;
        }
        return text;
    }
};

} // namespace

// Which operators share a kernel.
class GroupTest : public QObject {
    Q_OBJECT

private slots:
    void chainsJoin() {
        Net net;
        const ValueId sum = net.add("Add", {net.conv, net.x});
        QCOMPARE(net.groups({net.add("Relu", {sum})}), std::string("Conv Add Relu"));
    }

    void whatComesTogetherAgainJoins() {
        Net swish;
        QCOMPARE(swish.groups({swish.add("Mul", {swish.conv, swish.add("Sigmoid", {swish.conv})})}), std::string("Conv Sigmoid Mul"));
        Net hard;
        const ValueId clipped = hard.add("Clip", {hard.add("Add", {hard.conv, hard.number(3)}), hard.number(0), hard.number(6)});
        const ValueId product = hard.add("Mul", {hard.conv, clipped});
        QCOMPARE(hard.groups({hard.add("Div", {product, hard.number(6)})}), std::string("Conv Add Clip Mul Div"));
        Net gelu;
        const ValueId curve = gelu.add("Add", {gelu.add("Erf", {gelu.add("Div", {gelu.conv, gelu.number(1.4142F)})}), gelu.number(1)});
        QCOMPARE(gelu.groups({gelu.add("Mul", {gelu.add("Mul", {gelu.conv, curve}), gelu.number(0.5F)})}),
                 std::string("Conv Div Erf Add Mul Mul"));
    }

    void aSquareJoins() {
        Net net;
        QCOMPARE(net.groups({net.add("Mul", {net.conv, net.conv})}), std::string("Conv Mul"));
    }

    void twoBranchesOfUnequalLengthJoin() {
        Net net;
        const ValueId left = net.add("Neg", {net.add("Exp", {net.conv})}), right = net.add("Abs", {net.conv});
        QCOMPARE(net.groups({net.add("Relu", {net.add("Add", {left, right})})}), std::string("Conv Exp Neg Abs Add Relu"));
    }

    void whatIsReadElsewhereStaysOut() {
        Net pooled;
        const ValueId gate = pooled.add("Sigmoid", {pooled.add("GlobalAveragePool", {pooled.conv})});
        QCOMPARE(pooled.groups({pooled.add("Mul", {pooled.conv, gate})}), std::string("Conv | GlobalAveragePool Sigmoid | Mul"));
        Net half;
        const ValueId sigmoid = half.add("Sigmoid", {half.conv});
        QCOMPARE(half.groups({half.add("Mul", {half.conv, sigmoid}), half.add("Softmax", {sigmoid})}),
                 std::string("Conv | Sigmoid | Mul | Softmax"));
    }

    void outputsOfTheModelStayWhole() {
        Net whole;
        QCOMPARE(whole.groups({whole.add("Mul", {whole.conv, whole.add("Sigmoid", {whole.conv})}), whole.conv}), std::string("Conv | Sigmoid Mul"));
        Net inner;
        const ValueId sigmoid = inner.add("Sigmoid", {inner.conv});
        QCOMPARE(inner.groups({inner.add("Mul", {inner.conv, sigmoid}), sigmoid}), std::string("Conv | Sigmoid | Mul"));
    }

    void anotherShapeDoesNotJoin() {
        Net net;
        const ValueId larger = net.builder.addInput("", TensorType(DType::f32, Shape{4, 8, 6, 6}));
        QCOMPARE(net.groups({net.add("Add", {net.add("Mul", {net.conv, net.add("Sigmoid", {net.conv})}), larger})}),
                 std::string("Conv Sigmoid Mul | Add"));
    }

    // Each fork writes its expression out twice: without a limit, twenty of them would be a million.
    void forksAreFew() {
        Net net;
        ValueId value = net.conv;
        for (int i = 0; i < 20; ++i)
            value = net.add("Mul", {value, value});
        std::string text = net.groups({value});
        QVERIFY2(text.starts_with("Conv Mul Mul Mul Mul |"), text.c_str());
    }
};

QTEST_APPLESS_MAIN(GroupTest)
#include "tst_group.moc"
