// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/check/equivalence.h"
#include "core/check/random_inputs.h"
#include "core/module/build.h"
#include "core/onnx/samples.h"
#include "core/ops/fold_constants.h"
#include "core/ops/interpreter.h"
#include "core/optimize/graph_search.h"
#include "core/optimize/measured_cost.h"
#include "core/rewrite/model_draft.h"
#include "small_models.h"
#include "tests/take.h"
#include "written_rules.h"

using namespace tunesmith;
using namespace tunesmith::optimize;

namespace {

// A detector's head: one convolution's weights at every level, a normalization for each.
Graph sharedHead(int levels, std::int64_t channels, bool same = false) {
    GraphBuilder builder("head");
    builder.setOpset({}, 13);
    const ValueId w = builder.addConstant("w", weightsOf({channels, channels, 3, 3}, 0.1F));
    std::vector<ValueId> outputs;
    for (int level = 0; level < levels; ++level) {
        const std::int64_t extent = same ? 3 : level + 2;
        const ValueId x = builder.addInput("x" + std::to_string(level), TensorType(DType::f32, Shape{1, channels, extent, extent}));
        const ValueId y = builder.add("Conv", {x, w}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
        const auto statistic = [&](float seed) { return builder.addConstant({}, weightsOf({channels}, seed * static_cast<float>(level + 1))); };
        Tensor variance = Tensor::zeros(DType::f32, {channels});
        std::ranges::fill(variance.mutableData<float>(), 0.5F + 0.1F * static_cast<float>(level));
        const ValueId norm = builder.add("BatchNormalization", {y, statistic(0.1F), statistic(0.2F), statistic(0.3F), builder.addConstant({}, variance)});
        outputs.push_back(builder.add("Relu", {norm}));
    }
    builder.setOutputs(outputs);
    return take(builder.build());
}

// Linear layers that share transposed weights, and one that reads them as they are.
Graph sharedLinear(std::int64_t width, bool alsoAsTheyAre) {
    GraphBuilder builder("linear");
    builder.setOpset({}, 13);
    const ValueId w = builder.addConstant("w", weightsOf({width, width}, 0.1F));
    std::vector<ValueId> outputs;
    for (const char* name : {"a", "b", "c"}) {
        const ValueId x = builder.addInput(name, TensorType(DType::f32, Shape{2, width})), bias = builder.addConstant({}, weightsOf({width}, 0.3F));
        outputs.push_back(builder.add("Relu", {builder.add("Gemm", {x, w, bias}, {{"transB", std::int64_t(1)}})}));
    }
    if (alsoAsTheyAre)
        outputs.push_back(builder.add("Gather", {w, builder.addInput("token", TensorType(DType::i64, Shape{1}))}));
    builder.setOutputs(outputs);
    return take(builder.build());
}

Draft draftOf(const Graph& graph) { return take(rewrite::draftOf(graph)).draft; }

Draft simplified(Draft draft) {
    std::vector<std::uint32_t> applied;
    if (!rules().simplify(draft, nullptr, applied))
        qFatal("the simplifying rules undo each other");
    return draft;
}

std::int64_t countIn(const Draft& draft, const std::string& op) {
    return std::ranges::count_if(draft.order(), [&](NodeNo node) { return draft.op(node).op == op && !draft.isWeight(draft.output(node)); });
}

GraphSearchResult searched(const Draft& draft, DraftCost& cost, std::int64_t budget = 30) {
    GraphSearchOptions options;
    options.budget = budget;
    return take(searchGraph(draft, rules(), cost, options));
}

constexpr double kMiB = 1 << 20;

} // namespace

// Simplifications never make a model dearer, weights included.
class TestSharedWeights : public QObject {
    Q_OBJECT

private slots:
    void largeHeadsAreNotCopied() {
        const Draft before = draftOf(sharedHead(5, 256)), after = simplified(before); // 2.25 MiB
        QCOMPARE(countIn(after, "BatchNormalization"), 5);
        QCOMPARE(addedWeightBytes(after), 0.0);
        LaunchCost launches;
        RooflineCost roofline;
        MeasuredCost measured(Target(), {}, [](const Workload&) { return std::optional(1.0); });
        for (DraftCost* const cost : std::initializer_list<DraftCost*>{&launches, &roofline, &measured})
            QVERIFY(searched(before, *cost, 5).best->cost <= cost->of(before));
    }

    void smallHeadsAreFolded() {
        const Draft after = simplified(draftOf(sharedHead(5, 8)));
        QCOMPARE(countIn(after, "BatchNormalization"), 0);
        QVERIFY(addedWeightBytes(after) > 0 && addedWeightBytes(after) < kMiB);
    }

    void headsOfOneLevelAreFolded() {
        const Draft after = simplified(draftOf(sharedHead(1, 256)));
        QCOMPARE(countIn(after, "BatchNormalization"), 0);
        QCOMPARE(addedWeightBytes(after), 0.0);
    }

    // A search may choose to; what it makes of all but one is then made of the last, whose weights nobody else reads any more.
    void copiesAreMoves() {
        const Draft start = simplified(draftOf(sharedHead(2, 192))); // 1.27 MiB
        QCOMPARE(countIn(start, "BatchNormalization"), 2);
        std::vector<Move> moves = rules().moves(start);
        std::erase_if(moves, [](const Move& move) { return rules()[move.rule].card().name != "fold-batch-norm-of-shared"; });
        QCOMPARE(moves.size(), std::size_t(2));
        auto made = rewrite::applied(start, rules()[moves[0].rule], moves[0].match);
        QVERIFY2(made.draft.has_value(), std::string(made.refusal).c_str());
        QCOMPARE(countIn(*made.draft, "BatchNormalization"), 1);
        std::vector<std::uint32_t> applied;
        QVERIFY(rules().simplify(*made.draft, &start, applied)); // looks near what changed only
        QCOMPARE(countIn(*made.draft, "BatchNormalization"), 0);
        QCOMPARE(rules().moves(*made.draft).size(), rules().moves(*made.draft, start, rules().moves(start)).size());
        QVERIFY(addedWeightBytes(*made.draft) > kMiB);
    }

    void addedWeightsTakeTime() {
        const Draft start = simplified(draftOf(sharedHead(2, 256)));
        for (const Move& move : rules().moves(start)) {
            auto made = rewrite::applied(start, rules()[move.rule], move.match);
            std::vector<std::uint32_t> applied;
            if (rules()[move.rule].card().name != "fold-batch-norm-of-shared" || !made.draft || !rules().simplify(*made.draft, &start, applied))
                continue;
            const double added = addedWeightBytes(*made.draft);
            QVERIFY(added > 2 * kMiB && added < 2.5 * kMiB);
            QCOMPARE(addedWeightMs(*made.draft, 10), (added - kMiB) / 1e7);
            RooflineCost roofline;
            MeasuredCost measured(Target(), {}, [](const Workload&) { return std::optional(1.0); });
            QVERIFY(roofline.of(*made.draft) > roofline.of(start));
            QVERIFY(measured.of(*made.draft) > measured.of(start));
            return;
        }
        QFAIL("nothing was folded");
    }

    // All of them read the same transposed weights, so nothing is there twice; a Gather wants the weights as they are.
    void linearLayersShareTransposedWeights() {
        const Draft together = simplified(draftOf(sharedLinear(640, false)));
        QCOMPARE(countIn(together, "Gemm"), 0);
        QCOMPARE(addedWeightBytes(together), 0.0);
        const Draft beside = simplified(draftOf(sharedLinear(640, true)));
        QCOMPARE(countIn(beside, "Gemm"), 3);
        QCOMPARE(addedWeightBytes(beside), 0.0);
        QCOMPARE(countIn(simplified(draftOf(sharedLinear(64, true))), "Gemm"), 0); // small
    }

    void neverMakesAModelDearer_data() {
        QTest::addColumn<Graph>("graph");
        QTest::newRow("heads") << sharedHead(3, 256);
        QTest::newRow("heads of one size") << sharedHead(3, 256, true);
        QTest::newRow("linear layers") << sharedLinear(640, true);
        QTest::newRow("fire modules") << fireModules(3);
        QTest::newRow("a cell") << recurrentCell(2, 256);
        QTest::newRow("attention") << attention(2);
        for (const char* sample : {"resnet18", "mobilenet_v2", "encoder", "mlp"})
            QTest::newRow(sample) << take(buildSample(sample));
    }
    void neverMakesAModelDearer() {
        QFETCH(Graph, graph);
        const Draft before = draftOf(graph), after = simplified(before);
        LaunchCost launches;
        RooflineCost roofline;
        QVERIFY(launches.of(after) <= launches.of(before));
        QVERIFY(roofline.of(after) <= roofline.of(before) * (1 + 1e-12));
        QVERIFY(addedWeightBytes(after) <= kMiB);
    }

    void normalizationsOfSamplesAreFolded_data() {
        QTest::addColumn<QString>("sample");
        for (const char* sample : {"resnet18", "mobilenet_v2"})
            QTest::newRow(sample) << QString(sample);
    }
    void normalizationsOfSamplesAreFolded() {
        QFETCH(QString, sample);
        const Draft before = draftOf(take(buildSample(sample.toStdString())));
        QVERIFY(countIn(before, "BatchNormalization") > 10);
        QCOMPARE(countIn(simplified(before), "BatchNormalization"), 0);
    }

    void headsComputeTheSame_data() {
        QTest::addColumn<int>("channels");
        QTest::newRow("small") << 8;
        QTest::newRow("large") << 192;
    }
    void headsComputeTheSame() {
        QFETCH(int, channels);
        const Graph before = sharedHead(2, channels);
        const rewrite::ModelDraft model = take(rewrite::draftOf(before));
        LaunchCost cost;
        const Graph after = take(foldConstants(take(rewrite::graphOf(model, searched(model.draft, cost).best->draft)), FoldOptions::weights()));
        const std::vector<Tensor> inputs = take(randomInputs(before, 3));
        const Status same = requireEquivalent(take(Interpreter(before).run(inputs)), take(Interpreter(after).run(inputs)), {}, {0, 1e-4});
        QVERIFY2(same.ok(), problemOf(same).c_str());
    }
};

QTEST_APPLESS_MAIN(TestSharedWeights)
#include "tst_shared_weights.moc"
