// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/ops/infer_shapes.h"
#include "every_config.h"

using namespace tunesmith;
using loops::Layout;
using Ints = std::vector<std::int64_t>;

namespace {

Workload transposition(DType type, const Shape& shape, const Ints& order, const LayoutPlan& layouts = {}) {
    GraphBuilder builder("case");
    builder.setOpset("", 17);
    builder.setOutputs({builder.add("Transpose", {builder.addInput("x", TensorType(type, shape))}, {{"perm", order}})});
    const Graph graph = take(inferShapes(take(builder.build())));
    return take(extractWorkload(graph, groupNodes(graph).back(), layouts)).workload;
}

bool hasSquares(const loops::Stmt& stmt) {
    return stmt && ((stmt->kind == loops::StmtKind::loop && stmt->loopKind == loops::LoopKind::transposed) || std::ranges::any_of(stmt->body, hasSquares));
}

// Every config of the workload's space moves every value to its place.
void checkAll(const Workload& workload, bool expectSquares) {
    const std::string wrong = testing::wrongUnderAnyConfig(workload, "rearrange", [&](const ScheduledKernel& scheduled) {
        return hasSquares(scheduled.nest.phases[0].body) == expectSquares ? "" : expectSquares ? "no squares" : "squares";
    });
    QVERIFY2(wrong.empty(), wrong.c_str());
}

} // namespace

Q_DECLARE_METATYPE(tunesmith::Shape)

class RearrangeTest : public QObject {
    Q_OBJECT

private slots:
    void transpositions_data() {
        QTest::addColumn<Shape>("shape");
        QTest::addColumn<Shape>("order");
        QTest::addColumn<bool>("squares"); // the innermost dimension moves
        QTest::newRow("squares only") << Shape{64, 32} << Shape{1, 0} << true;
        QTest::newRow("tails on both sides") << Shape{37, 51} << Shape{1, 0} << true;
        QTest::newRow("fewer than a vector") << Shape{3, 5} << Shape{1, 0} << true;
        QTest::newRow("one more than vectors") << Shape{17, 33} << Shape{1, 0} << true;
        QTest::newRow("batches") << Shape{5, 19, 20} << Shape{0, 2, 1} << true;
        QTest::newRow("to channels last") << Shape{2, 21, 6, 9} << Shape{0, 2, 3, 1} << true;
        QTest::newRow("to channels first") << Shape{2, 6, 9, 21} << Shape{0, 3, 1, 2} << true;
        QTest::newRow("all turned round") << Shape{4, 3, 18, 7} << Shape{3, 2, 1, 0} << true;
        QTest::newRow("heads") << Shape{2, 11, 4, 24} << Shape{0, 2, 1, 3} << false;
        QTest::newRow("five dimensions") << Shape{2, 3, 4, 5, 17} << Shape{4, 1, 0, 3, 2} << true;
        QTest::newRow("whole images") << Shape{1, 48, 7, 9} << Shape{0, 2, 3, 1} << true; // 63 pixels: no tail at the end of each row
        QTest::newRow("three dimensions stay together") << Shape{3, 5, 7, 20} << Shape{3, 0, 1, 2} << true;
        QTest::newRow("windows") << Shape{1, 2, 7, 2, 7, 24} << Shape{0, 1, 3, 2, 4, 5} << false;
    }
    void transpositions() {
        QFETCH(Shape, shape);
        QFETCH(Shape, order);
        QFETCH(bool, squares);
        checkAll(transposition(DType::f32, shape, order), squares);
    }

    void everyTypeIsMoved_data() {
        QTest::addColumn<int>("type");
        for (const DType type : {DType::f16, DType::bf16, DType::f64, DType::i8, DType::u16, DType::i32, DType::i64, DType::boolean})
            QTest::newRow(std::string(dtypeName(type)).c_str()) << static_cast<int>(type);
    }
    void everyTypeIsMoved() {
        QFETCH(int, type);
        checkAll(transposition(static_cast<DType>(type), {2, 19, 35}, {0, 2, 1}), true);
    }

    void layouts_data() {
        QTest::addColumn<Shape>("shape");
        QTest::addColumn<int>("block");
        for (const int block : {4, 8, 16}) {
            QTest::addRow("blocks of %d", block) << Shape{2, 32, 5, 19} << block;
            QTest::addRow("blocks of %d, the last not full", block) << Shape{2, 21, 6, 16} << block;
            QTest::addRow("blocks of %d, images of a few pixels", block) << Shape{3, 24, 2, 3} << block;
        }
    }
    void layouts() {
        QFETCH(Shape, shape);
        QFETCH(int, block);
        const Layout rows = Layout::rowMajor(4), blocks = Layout::blocked(4, 1, block);
        checkAll(take(conversionWorkload(TensorType(DType::f32, shape), rows, blocks)), true);
        checkAll(take(conversionWorkload(TensorType(DType::f32, shape), blocks, rows)), true);
    }

    // From blocks of channels to channels last nothing jumps: lanes are channels on both sides.
    void blocksAreReadAlongTheirLanes() {
        LayoutPlan plan;
        GraphBuilder builder("case");
        builder.setOpset("", 17);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{2, 32, 5, 6}));
        builder.setOutputs({builder.add("Transpose", {x}, {{"perm", Ints{0, 2, 3, 1}}})});
        const Graph graph = take(inferShapes(take(builder.build())));
        plan.values[graph.inputs()[0]] = Layout::blocked(4, 1, 16);
        checkAll(take(extractWorkload(graph, groupNodes(graph).back(), plan)).workload, false);
    }

    void whatFollowsIsDoneOnTheWay() {
        GraphBuilder builder("case");
        builder.setOpset("", 17);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{19, 40})), y = builder.addInput("y", TensorType(DType::f32, Shape{40, 19}));
        const ValueId turned = builder.add("Transpose", {x}, {{"perm", Ints{1, 0}}});
        builder.setOutputs({builder.add("Relu", {builder.add("Add", {turned, y})})});
        const Graph graph = take(inferShapes(take(builder.build())));
        const auto groups = groupNodes(graph);
        if (groups.size() == 1)
            checkAll(take(extractWorkload(graph, groups[0], {})).workload, true);
        else
            QSKIP("Transpose is a kernel of its own");
    }

    // What lies alike on both sides, is padded, or is chosen by a condition is no case for squares.
    void othersStayGeneric() {
        GraphBuilder builder("case");
        builder.setOpset("", 17);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{19, 40}));
        builder.setOutputs({builder.add("Relu", {x})});
        const Graph graph = take(inferShapes(take(builder.build())));
        const auto workload = take(extractWorkload(graph, groupNodes(graph).back(), {})).workload;
        QCOMPARE(take(ScheduleSpace::make(workload, testing::targetOf(Isa::avx2))).space().name(), std::string("generic"));
    }
};

QTEST_GUILESS_MAIN(RearrangeTest)
#include "tst_rearrange.moc"
