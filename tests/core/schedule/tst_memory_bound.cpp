// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/ops/infer_shapes.h"
#include "core/schedule/large_outputs.h"
#include "every_config.h"

using namespace tunesmith;
using namespace tunesmith::testing;
using Ints = std::vector<std::int64_t>;
using Attributes = std::map<std::string, Attribute>;

Q_DECLARE_METATYPE(tunesmith::Shape)
Q_DECLARE_METATYPE(Attributes)

namespace {

Workload workloadOf(const std::string& op, const Shape& shape, const Attributes& attributes, DType type = DType::f32) {
    GraphBuilder builder("case");
    builder.setOpset("", 13);
    builder.setOutputs({builder.add(op, {builder.addInput("x", TensorType(type, shape))}, attributes)});
    const Graph graph = take(inferShapes(take(builder.build())));
    return take(extractWorkload(graph, groupNodes(graph).back(), {})).workload;
}

loops::LoopNest untuned(const Workload& workload) {
    const auto space = take(ScheduleSpace::make(workload, targetOf(Isa::avx2)));
    return take(space.schedule(space.defaultConfig())).nest;
}

bool hasPrefetch(const loops::Stmt& stmt) {
    return stmt && (stmt->kind == loops::StmtKind::prefetch || std::ranges::any_of(stmt->body, hasPrefetch));
}

} // namespace

class MemoryBoundTest : public QObject {
    Q_OBJECT

private slots:
    void columns_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<Shape>("shape");
        QTest::addColumn<Attributes>("attributes");
        const auto along = [](const Ints& axes, std::int64_t keep) { return Attributes{{"axes", axes}, {"keepdims", keep}}; };
        QTest::newRow("mean of columns") << "ReduceMean" << Shape{37, 48} << along({0}, 1);
        QTest::newRow("last columns are fewer than a vector") << "ReduceMean" << Shape{19, 83} << along({0}, 0);
        QTest::newRow("of each image") << "ReduceMean" << Shape{3, 21, 40} << along({1}, 0);
        QTest::newRow("two dimensions") << "ReduceMax" << Shape{2, 5, 6, 33} << along({1, 2}, 1);
        QTest::newRow("first and third dimension") << "ReduceMin" << Shape{3, 4, 5, 32} << along({0, 2}, 0);
        QTest::newRow("one row") << "ReduceMax" << Shape{1, 64} << along({0}, 0);
        QTest::newRow("what follows the sum") << "ReduceL2" << Shape{23, 70} << along({0}, 1);
        QTest::newRow("more than one block of columns") << "ReduceMean" << Shape{5, 2, 2100} << along({0}, 0);
    }
    void columns() {
        QFETCH(QString, op);
        QFETCH(Shape, shape);
        QFETCH(Attributes, attributes);
        const std::string wrong = wrongUnderAnyConfig(workloadOf(op.toStdString(), shape, attributes), "columns");
        QVERIFY2(wrong.empty(), wrong.c_str());
    }

    void columnsOfOtherTypes() {
        for (const DType type : {DType::f64, DType::f16, DType::i32, DType::i64}) {
            const std::string wrong = wrongUnderAnyConfig(workloadOf("ReduceMax", {9, 40}, {{"axes", Ints{0}}}, type), "columns");
            QVERIFY2(wrong.empty(), (std::string(dtypeName(type)) + ": " + wrong).c_str());
        }
    }

    void rows_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<Shape>("shape");
        QTest::addColumn<Attributes>("attributes");
        QTest::newRow("softmax") << "Softmax" << Shape{12, 64} << Attributes{{"axis", Ints::value_type(-1)}};
        QTest::newRow("softmax, tails, a number of rows that two divides") << "Softmax" << Shape{3, 6, 37} << Attributes{{"axis", Ints::value_type(-1)}};
        QTest::newRow("softmax of an odd number of rows") << "Softmax" << Shape{2, 5, 3, 48} << Attributes{{"axis", Ints::value_type(-1)}};
        QTest::newRow("softmax of rows shorter than a vector") << "Softmax" << Shape{8, 3} << Attributes{{"axis", Ints::value_type(-1)}};
        QTest::newRow("log of softmax") << "LogSoftmax" << Shape{4, 70} << Attributes{{"axis", Ints::value_type(-1)}};
        QTest::newRow("means") << "ReduceMean" << Shape{4, 8, 100} << Attributes{{"axes", Ints{-1}}};
        QTest::newRow("maps whose rows are no vectors") << "GlobalAveragePool" << Shape{2, 12, 7, 9} << Attributes{};
        QTest::newRow("volumes") << "GlobalAveragePool" << Shape{1, 4, 3, 5, 7} << Attributes{};
        QTest::newRow("largest of a map") << "GlobalMaxPool" << Shape{1, 6, 11, 13} << Attributes{};
    }
    void rows() {
        QFETCH(QString, op);
        QFETCH(Shape, shape);
        QFETCH(Attributes, attributes);
        const std::string wrong = wrongUnderAnyConfig(workloadOf(op.toStdString(), shape, attributes), "rows");
        QVERIFY2(wrong.empty(), wrong.c_str());
    }

    // Two dimensions that are reduced are one loop where they lie together, so that no vector ends at an image's row.
    void mapsAreReadAsOneRow() {
        const auto text = QString::fromStdString(loops::toText(untuned(workloadOf("GlobalAveragePool", {1, 64, 56, 56}, {}))));
        QVERIFY2(!text.contains("in [0, 56)") && text.contains("in [0, 392)"), qPrintable(text));
    }

    // Outputs that caches would not keep are written past them; those of other kernels, which the next kernel reads, are not.
    void onlyLargeOutputsAreStreamed() {
        const Shape large{4096, 1200}, small{64, 1200};
        for (const char* op : {"Relu", "Softmax", "Transpose"}) {
            QCOMPARE(untuned(workloadOf(op, large, {})).streamed.size(), std::size_t(1));
            QVERIFY(untuned(workloadOf(op, small, {})).streamed.empty());
        }
        QVERIFY(!hasPrefetch(untuned(workloadOf("Softmax", small, {})).phases[0].body));
        QVERIFY(hasPrefetch(untuned(workloadOf("Softmax", large, {})).phases[0].body));
        QVERIFY(hasPrefetch(untuned(workloadOf("Transpose", large, {})).phases[0].body));
    }

    void largeOutputsAreRight_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<Shape>("shape");
        QTest::newRow("elementwise") << "Relu" << Shape{4300001};
        QTest::newRow("rows") << "Softmax" << Shape{4200, 1024};
        QTest::newRow("rows that are no vectors") << "Softmax" << Shape{4300, 1001};
        QTest::newRow("squares") << "Transpose" << Shape{2064, 2080};
        QTest::newRow("squares with tails") << "Transpose" << Shape{2051, 2101};
    }
    void largeOutputsAreRight() {
        QFETCH(QString, op);
        QFETCH(Shape, shape);
        const Workload workload = workloadOf(op.toStdString(), shape, {});
        const auto target = take(hostTarget(1));
        const auto space = take(ScheduleSpace::make(workload, target));
        QVERIFY(outgrowsCaches(space.lowered()));
        const auto kernel = take(BenchKernel::load(take(KernelCase::make(workload, 1)), packageOf(take(space.schedule(space.defaultConfig())), target)));
        const std::string wrong = kernel->check(*take(PhaseRunner::make(1))) + kernel->check(*take(PhaseRunner::make(2)));
        QVERIFY2(wrong.empty(), wrong.c_str());
    }
};

QTEST_GUILESS_MAIN(MemoryBoundTest)
#include "tst_memory_bound.moc"
