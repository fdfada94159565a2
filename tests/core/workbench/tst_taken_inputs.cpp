// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/graph/npy.h"
#include "core/ops/infer_shapes.h"
#include "core/workbench/taken_inputs.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

const TensorType kIds(DType::i64, Shape{4});

Tensor int64s(const std::vector<std::int64_t>& values) { return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values); }

// Rows of a table at `ids` + `offset`: that these are indices no rule of ours sees.
Graph lookup(std::int64_t rows, std::int64_t offset) {
    GraphBuilder builder;
    builder.setOpset("", 17);
    const ValueId ids = builder.addInput("ids", kIds);
    const ValueId table = builder.addConstant("table", Tensor::zeros(DType::f32, {rows, 2}));
    const ValueId places = builder.add("Add", {ids, builder.addConstant("offset", int64s({offset}))});
    builder.setOutputs({builder.add("Gather", {table, places})});
    return take(inferShapes(take(builder.build())));
}

Graph sumAlongGivenAxes() {
    GraphBuilder builder;
    builder.setOpset("", 17);
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{2, 3})), axes = builder.addInput("axes", TensorType(DType::i64, Shape{1}));
    builder.setOutputs({builder.add("ReduceSum", {x, axes})});
    return take(inferShapes(take(builder.build())));
}

} // namespace

class TakenInputsTest : public QObject {
    Q_OBJECT

private slots:
    void smallerIntegersAreDrawnWhereLargeOnesAreRefused() {
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            const TakenInputs some = take(drawTakenInputs(lookup(5, 3), {{}, seed}, {})); // below 2
            QVERIFY(std::ranges::all_of(some.inputs[0].data<std::int64_t>(), [](std::int64_t id) { return id < 2; }));
            QCOMPARE(some.outputs[0].shape(), (Shape{4, 2}));
            const TakenInputs zeros = take(drawTakenInputs(lookup(4, 3), {{}, seed}, {}));
            QVERIFY(std::ranges::all_of(zeros.inputs[0].data<std::int64_t>(), [](std::int64_t id) { return id == 0; }));
            QVERIFY(drawTakenInputs(sumAlongGivenAxes(), {{}, seed}, {}).ok());
        }
    }

    void largeOnesStayWhereTheyAreTaken() {
        const TakenInputs drawn = take(drawTakenInputs(lookup(100, 3), {{}, 1}, {}));
        QVERIFY(std::ranges::any_of(drawn.inputs[0].data<std::int64_t>(), [](std::int64_t id) { return id > 1; }));
    }

    void whatIsRefusedInAnyCaseCanBeGiven() {
        const Graph graph = lookup(4, 100);
        const auto refused = drawTakenInputs(graph, {{}, 1}, {});
        QVERIFY(!refused.ok());
        QVERIFY2(refused.error().message.find("--input") != std::string::npos, refused.error().message.c_str());

        QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath("ids.npy").toStdString();
        QVERIFY(writeNpy(file, int64s({-100, -99, -98, -97})).ok());
        const TakenInputs given = take(drawTakenInputs(graph, {{{"ids", file}}, 1}, {}));
        QCOMPARE(given.inputs[0].data<std::int64_t>()[3], std::int64_t{-97});
    }

    void aCancelledDrawIsNoReasonForAnother() {
        StopSource source;
        source.requestStop();
        const auto cancelled = drawTakenInputs(lookup(100, 3), {{}, 1}, source.token());
        QVERIFY(!cancelled.ok() && cancelled.error().kind == ErrorKind::cancelled);
    }
};

QTEST_APPLESS_MAIN(TakenInputsTest)
#include "tst_taken_inputs.moc"
