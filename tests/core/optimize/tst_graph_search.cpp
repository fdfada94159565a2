// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <cmath>
#include <malloc.h>

#include "core/check/equivalence.h"
#include "core/check/random_inputs.h"
#include "core/onnx/samples.h"
#include "core/ops/fold_constants.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "core/ops/raise_opset.h"
#include "core/optimize/graph_search.h"
#include "core/optimize/measured_cost.h"
#include "core/rewrite/model_draft.h"
#include "core/module/build.h"
#include "small_models.h"
#include "tests/take.h"
#include "written_rules.h"

using namespace tunesmith;
using namespace tunesmith::optimize;

namespace {

GraphSearchResult searched(const rewrite::ModelDraft& model, const GraphSearchOptions& options) {
    LaunchCost cost;
    return take(searchGraph(model.draft, rules(), cost, options));
}

std::int64_t countOf(const Graph& graph, const std::string& op) {
    return std::ranges::count_if(graph.nodes(), [&](const auto& node) { return node->op == op; });
}

Graph optimized(const Graph& graph, const GraphSearchOptions& options = {}) {
    const rewrite::ModelDraft model = take(rewrite::draftOf(graph));
    const GraphSearchResult found = searched(model, options);
    return take(foldConstants(take(rewrite::graphOf(model, found.best->draft)), FoldOptions::weights()));
}

void requireSame(const Graph& before, const Graph& after) {
    const std::vector<Tensor> inputs = take(randomInputs(before, 3));
    const Status same = requireEquivalent(take(Interpreter(before).run(inputs)), take(Interpreter(after).run(inputs)), {}, {0, 1e-5});
    QVERIFY2(same.ok(), problemOf(same).c_str());
}

// Which rules were applied and what the drafts cost, step by step.
std::vector<std::pair<std::uint32_t, double>> trail(const GraphSearchResult& result) {
    std::vector<std::pair<std::uint32_t, double>> steps;
    for (const StatePtr& state : trailOf(result.best))
        steps.emplace_back(state->step.rule, state->cost);
    return steps;
}

// Kernels and a few more by chance: ways up and down everywhere, and many drafts that cost the same.
class ChanceCost : public LaunchCost {
public:
    explicit ChanceCost(std::uint64_t seed) : seed_(seed) {}
    double of(const Draft& draft) override { return std::floor(LaunchCost::of(draft)) + static_cast<double>(Rng(draft.hash() ^ seed_).below(4)); }

private:
    std::uint64_t seed_;
};

// What is best after each of so many expansions.
std::vector<double> bestByBudget(const Draft& draft, DraftCost& cost, double alpha, std::size_t budget) {
    GraphSearchOptions options;
    options.alpha = alpha;
    options.budget = static_cast<std::int64_t>(budget);
    std::vector<double> best;
    const GraphSearchResult found = take(searchGraph(draft, rules(), cost, options, {}, [&](const GraphSearchProgress& progress) { best.push_back(progress.best); }));
    best.resize(budget, found.best->cost);
    return best;
}

void requireMoreOfLargerAlphas(const Draft& draft, DraftCost& cost) {
    constexpr std::size_t kBudget = 60;
    std::vector<double> last(kBudget, std::numeric_limits<double>::infinity());
    for (const double alpha : {1.0, 1.02, 1.05, 1.1, 1.3}) {
        const std::vector<double> best = bestByBudget(draft, cost, alpha, kBudget);
        for (std::size_t i = 0; i < kBudget; ++i)
            QVERIFY2(best[i] <= last[i], qPrintable(QString("%1 after %2 expansions with %3").arg(best[i]).arg(i + 1).arg(alpha)));
        last = best;
    }
}

} // namespace

class TestGraphSearch : public QObject {
    Q_OBJECT

private slots:
    void fireModulesBecomeOneConvolutionEach() {
        const Graph before = fireModules(3), after = optimized(before);
        QCOMPARE(countOf(before, "Conv"), 9);
        QCOMPARE(countOf(after, "Conv"), 6);
        QCOMPARE(countOf(after, "Concat"), 0);
        QCOMPARE(countOf(after, "Relu"), 6);
        requireSame(before, after);
    }

    void gatesBecomeOneProductEachStep() {
        const Graph before = recurrentCell(3), after = optimized(before);
        QCOMPARE(countOf(after, "MatMul"), 3); // the input's and the first state's are one
        requireSame(before, after);
    }

    void largeWeightsAreNotKeptTwice() {
        const Graph before = recurrentCell(3, 256), after = optimized(before);
        QCOMPARE(countOf(after, "MatMul"), 4); // the first state's weights are those of the others, and not beside the input's
        const rewrite::ModelDraft small = take(rewrite::draftOf(after));
        QCOMPARE(addedWeightBytes(small.draft), 0.0);
        std::int64_t bytes = 0;
        for (const auto& value : after.values())
            bytes += value->isConstant() ? static_cast<std::int64_t>(value->constant.byteCount()) : 0;
        QVERIFY(bytes - 16 * 256 * 256 * 4 < 100); // and where to split
        requireSame(before, after);
    }

    void addedWeightsAreCounted() {
        GraphBuilder builder("twice");
        builder.setOpset({}, 13);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{4, 8}));
        const ValueId a = builder.addConstant("a", Tensor::zeros(DType::f32, {8, 2})), b = builder.addConstant("b", Tensor::zeros(DType::f32, {8, 6}));
        const ValueId both = builder.add("Concat", {a, b}, {{"axis", Attribute(std::int64_t(1))}});
        builder.setOutputs({builder.add("MatMul", {x, both}), builder.add("MatMul", {builder.add("Relu", {x}), b})});
        const rewrite::ModelDraft model = take(rewrite::draftOf(take(builder.build())));
        QCOMPARE(addedWeightBytes(model.draft), 8.0 * 6 * 4); // b, beside the whole
    }

    void queriesKeysAndValuesBecomeOneProduct() {
        const Graph before = attention(2), after = optimized(before);
        QCOMPARE(countOf(before, "MatMul"), 12);
        QCOMPARE(countOf(after, "MatMul"), 8);
        QCOMPARE(countOf(after, "Transpose"), 6); // of all heads, of the keys once more, and back
        requireSame(before, after);
    }

    void everyStrategyFindsIt_data() {
        QTest::addColumn<QString>("strategy");
        for (const GraphStrategyInfo& info : graphStrategies())
            QTest::newRow(info.name.c_str()) << QString::fromStdString(info.name);
    }

    void everyStrategyFindsIt() {
        QFETCH(QString, strategy);
        const rewrite::ModelDraft model = take(rewrite::draftOf(fireModules(4)));
        GraphSearchOptions options;
        options.strategy = strategy.toStdString();
        options.budget = 300;
        const GraphSearchResult found = searched(model, options), again = searched(model, options);
        QCOMPARE(static_cast<int>(found.start->cost), 16);
        QCOMPARE(static_cast<int>(found.best->cost), 8);
        QCOMPARE(trail(found), trail(again));
        QCOMPARE(found.expanded, again.expanded);
        QVERIFY(found.stopReason == StopReason::exhausted || found.stopReason == StopReason::budgetTrials);
        for (std::size_t i = 1; i < found.curve.size(); ++i)
            QVERIFY(found.curve[i].best <= found.curve[i - 1].best);
    }

    void aLargerAlphaNeverFindsLess_data() {
        QTest::addColumn<int>("model");
        for (int model = 0; model < 4; ++model)
            QTest::addRow("%s", std::array{"two steps of a cell", "three steps of a cell", "attention", "fire modules"}[static_cast<std::size_t>(model)]) << model;
    }
    void aLargerAlphaNeverFindsLess() {
        QFETCH(int, model);
        const Graph graph = model < 2 ? recurrentCell(2 + model) : model == 2 ? attention(2) : fireModules(5);
        const Draft draft = take(rewrite::draftOf(graph)).draft;
        LaunchCost launches;
        RooflineCost roofline({1, 1, 0.0001}); // many different costs
        requireMoreOfLargerAlphas(draft, launches);
        requireMoreOfLargerAlphas(draft, roofline);
        for (std::uint64_t seed = 0; seed < 40; ++seed) {
            ChanceCost chance(seed);
            requireMoreOfLargerAlphas(draft, chance);
        }
    }

    // What is dropped is made again, so the way is the same.
    void littleMemoryFindsTheSame() {
        const rewrite::ModelDraft model = take(rewrite::draftOf(fireModules(6)));
        GraphSearchOptions plenty;
        plenty.strategy = "mcts";
        plenty.budget = 300;
        plenty.leaders = 4;
        GraphSearchOptions little = plenty;
        little.memory = 16 * model.draft.bytes();
        const GraphSearchResult found = searched(model, plenty), again = searched(model, little);
        QCOMPARE(trail(again), trail(found));
        QCOMPARE(again.expanded, found.expanded);
        QVERIFY(again.generated > found.generated);
        QCOMPARE(again.leaders.size(), found.leaders.size());
        std::set<std::uint64_t> hashes;
        for (const StatePtr& leader : again.leaders)
            hashes.insert(leader->draft.hash());
        QCOMPARE(hashes.size(), again.leaders.size()); // none is there twice
    }

    void memoryIsBounded_data() {
        QTest::addColumn<QString>("strategy");
        for (const char* strategy : {"mcts", "egraph", "backtracking", "beam"})
            QTest::newRow(strategy) << QString(strategy);
    }
    void memoryIsBounded() {
        QFETCH(QString, strategy);
        const rewrite::ModelDraft model = take(rewrite::draftOf(fireModules(12)));
        GraphSearchOptions options;
        options.strategy = strategy.toStdString();
        options.budget = 400;
        options.alpha = 1.3;
        options.memory = std::size_t(4) << 20;
        LaunchCost cost;
        const std::size_t before = mallinfo2().uordblks;
        std::size_t most = 0;
        const auto look = [&](const GraphSearchProgress&) { most = std::max(most, std::size_t(mallinfo2().uordblks) - before); };
        const GraphSearchResult found = take(searchGraph(model.draft, rules(), cost, options, {}, look));
        const GraphSearchResult again = searched(model, options);
        QCOMPARE(trail(again), trail(found));
        QVERIFY(found.best->cost < 0.7 * found.start->cost);
        qInfo("%lld drafts of %zu bytes, at most %zu bytes", static_cast<long long>(found.generated), model.draft.bytes(), most);
        if (strategy == "mcts" || strategy == "egraph")
            QVERIFY2(most < std::size_t(8) << 20, std::to_string(most).c_str());
    }

    void stopsWhenAskedTo() {
        const rewrite::ModelDraft model = take(rewrite::draftOf(fireModules(6)));
        LaunchCost cost;
        StopSource source;
        const auto stopAfterTwo = [&](const GraphSearchProgress& progress) {
            if (progress.expanded == 2)
                source.requestStop();
        };
        const GraphSearchResult found = take(searchGraph(model.draft, rules(), cost, {}, source.token(), stopAfterTwo));
        QCOMPARE(found.stopReason, StopReason::cancelled);
        QCOMPARE(found.expanded, 2);
        QVERIFY(found.best->cost < found.start->cost); // what was found until then stays
        GraphSearchOptions none;
        none.budget = 0;
        QCOMPARE(searched(model, none).stopReason, StopReason::budgetTrials);
        none.strategy = "luck";
        QVERIFY(searchGraph(model.draft, rules(), cost, none).error().message.find("luck") != std::string::npos);
    }

    // Moves that are found near what changed are all that there are.
    void movesOfARewrittenDraftAreAllFound() {
        for (const Graph& graph : {fireModules(3), recurrentCell(2), attention(2)}) {
            Draft draft = take(rewrite::draftOf(graph)).draft;
            std::vector<Move> moves = rules().moves(draft);
            Rng rng(5);
            for (int step = 0; step < 12 && !moves.empty(); ++step) {
                const Move move = moves[rng.below(moves.size())];
                auto made = rewrite::applied(draft, rules()[move.rule], move.match);
                if (!made.draft)
                    continue;
                std::vector<std::uint32_t> simplifications;
                QVERIFY(rules().simplify(*made.draft, &draft, simplifications));
                moves = rules().moves(*made.draft, draft, moves);
                QVERIFY(moves == rules().moves(*made.draft));
                draft = std::move(*made.draft);
            }
        }
    }

    void kernelsAreThoseOfTheCompiler_data() {
        QTest::addColumn<QString>("sample");
        for (const char* sample : {"resnet18", "mobilenet_v2", "encoder", "mlp"})
            QTest::newRow(sample) << sample;
    }

    void kernelsAreThoseOfTheCompiler() {
        QFETCH(QString, sample);
        const auto built = buildSample(sample.toStdString());
        if (!built.ok())
            QSKIP("there is no such sample");
        const rewrite::ModelDraft model = take(rewrite::draftOf(take(prepareGraph(*built))));
        const Graph same = take(inferShapes(take(rewrite::graphOf(model, model.draft)))); // what is computed twice is one node there, too
        std::size_t kernels = 0;
        for (const KernelGroup& group : groupNodes(same))
            kernels += group.kind == KernelGroup::Kind::kernel ? 1 : 0;
        LaunchCost cost;
        QCOMPARE(static_cast<std::size_t>(cost.of(model.draft)), kernels);
    }

    void nothingIsFree() {
        const rewrite::ModelDraft model = take(rewrite::draftOf(attention(1)));
        KernelFinder finder;
        KernelFinder::Kernels kernels;
        finder.find(model.draft, kernels);
        for (std::size_t i = 0; i < kernels.size(); ++i)
            QVERIFY(workOf(model.draft, kernels[i]).bytes > 0);
        RooflineCost roofline({100, 20, 0.001});
        QVERIFY(roofline.of(model.draft) >= 0.001 * static_cast<double>(kernels.size()));
    }

    // What was tuned of a model is what its draft is judged by, as long as nothing in it is there twice.
    void measuredCostAsksForWhatIsCompiled_data() {
        QTest::addColumn<int>("model");
        QTest::newRow("convolutions") << 0;
        QTest::newRow("attention") << 1;
    }
    void measuredCostAsksForWhatIsCompiled() {
        QFETCH(int, model);
        const Graph graph = model == 0 ? fireModules(2) : attention(1);
        std::set<std::string> compiled, asked;
        for (const ModelWorkload& each : take(modelWorkloads(take(prepareGraph(graph)), Target())))
            compiled.insert(each.workload.key);
        MeasuredCost cost(Target(), {}, [&](const Workload& workload) { return asked.insert(workload.key), std::optional(1.0); });
        cost.of(take(rewrite::draftOf(take(raisedOpset(graph)))).draft);
        QCOMPARE(asked, compiled);
    }

    // Time in which nothing is done, as its clock tells, is not spent.
    void secondsAreThoseOfTheClock() {
        const rewrite::ModelDraft model = take(rewrite::draftOf(fireModules(2)));
        GraphSearchOptions options;
        options.seconds = 1e-6;
        options.clock = [] { return 5.0; };
        const GraphSearchResult whole = searched(model, options);
        QVERIFY(whole.stopReason != StopReason::budgetTime && whole.seconds == 0 && whole.expanded > 0);
        double now = 0;
        options.seconds = 10;
        options.clock = [&now] { return now += 4; };
        QVERIFY(searched(model, options).stopReason == StopReason::budgetTime);
    }

    void measuredCostAsksForEachWorkloadOnce() {
        const rewrite::ModelDraft model = take(rewrite::draftOf(fireModules(2)));
        std::map<std::string, int> asked;
        MeasuredCost cost(take(hostTarget(1)), {}, [&](const Workload& workload) { return ++asked[workload.key], std::optional(1.0); });
        const double before = cost.of(model.draft);
        QVERIFY(before >= 8);
        GraphSearchOptions options;
        const GraphSearchResult found = take(searchGraph(model.draft, rules(), cost, options));
        QVERIFY(found.best->cost <= before - 4);
        for (const auto& [key, count] : asked)
            QCOMPARE(count, 1);
    }
};

QTEST_APPLESS_MAIN(TestGraphSearch)
#include "tst_graph_search.moc"
