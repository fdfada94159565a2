// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/ops/infer_shapes.h"
#include "core/schedule/group.h"
#include "core/schedule/view.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

using Ints = std::vector<std::int64_t>;

// One node that moves rows of what a kernel computed.
struct Net {
    GraphBuilder builder{"net"};
    ValueId rows;

    explicit Net(DType type = DType::f32, std::int64_t opset = 21) {
        builder.setOpset("", opset);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{5, 16}));
        const ValueId zero = type == DType::f32 ? ValueId() : builder.addConstant("", Tensor::zeros(type, {}));
        rows = zero.valid() ? builder.add("QuantizeLinear", {x, builder.addConstant("", Tensor::scalar(8.0F)), zero}) : builder.add("Relu", {x});
    }
    ValueId ints(const Ints& values) { return builder.addConstant("", Tensor::ofInts(values)); }
    ValueId index(std::int64_t value) { return builder.addConstant("", Tensor::scalar(value)); }

    struct Last {
        std::optional<std::int64_t> offset;
        KernelGroup::Kind kind;
    };
    Last last(ValueId output) {
        builder.setOutputs({output});
        const Graph graph = take(inferShapes(take(builder.build())));
        return {viewOffset(graph, graph.value(graph.outputs()[0]).producer), groupNodes(graph).back().kind};
    }
};

} // namespace

// Which nodes are views of what they read.
class TestView : public QObject {
    Q_OBJECT

private slots:
    void rowsAreViews() {
        Net first, fromTheEnd, slice;
        QCOMPARE(first.last(first.builder.add("Gather", {first.rows, first.index(2)})).offset, std::optional<std::int64_t>(128));
        QCOMPARE(fromTheEnd.last(fromTheEnd.builder.add("Gather", {fromTheEnd.rows, fromTheEnd.index(-1)})).offset, std::optional<std::int64_t>(256));
        QCOMPARE(slice.last(slice.builder.add("Slice", {slice.rows, slice.ints({1}), slice.ints({3}), slice.ints({0})})).offset, std::optional<std::int64_t>(64));
    }

    // The shape rule reads steps in any opset, for passes write them into old graphs.
    void stepsAreNoViewInAnyOpset_data() {
        QTest::addColumn<int>("opset");
        for (const int opset : {7, 9, 10, 21})
            QTest::addRow("%d", opset) << opset;
    }
    void stepsAreNoViewInAnyOpset() {
        QFETCH(int, opset);
        Net net(DType::f32, opset);
        const auto last = net.last(net.builder.add("Slice", {net.rows, net.ints({0}), net.ints({5}), net.ints({0}), net.ints({2})}));
        QVERIFY(!last.offset);
        QVERIFY(last.kind != KernelGroup::Kind::alias);
    }

    // Such elements have no address of their own.
    void packedNumbersAreNoViews_data() {
        QTest::addColumn<int>("type");
        for (const DType type : {DType::i4, DType::u4, DType::i2, DType::u2, DType::f4e2m1})
            QTest::newRow(dtypeName(type).data()) << static_cast<int>(type);
    }
    void packedNumbersAreNoViews() {
        QFETCH(int, type);
        Net gather(static_cast<DType>(type), 25), slice(static_cast<DType>(type), 25);
        for (const auto& last : {gather.last(gather.builder.add("Gather", {gather.rows, gather.index(2)})),
                                 slice.last(slice.builder.add("Slice", {slice.rows, slice.ints({2}), slice.ints({4}), slice.ints({0})}))}) {
            QVERIFY(!last.offset);
            QVERIFY(last.kind == KernelGroup::Kind::reference);
        }
    }

    void rowsOutOfRangeAreNoViews() {
        for (const std::int64_t index : {5, 7, -6, -7}) {
            Net net;
            QVERIFY(!net.last(net.builder.add("Gather", {net.rows, net.index(index)})).offset);
        }
    }
};

QTEST_APPLESS_MAIN(TestView)
#include "tst_view.moc"
