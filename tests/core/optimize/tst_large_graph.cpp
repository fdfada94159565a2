// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <chrono>
#include <thread>

#include "core/check/equivalence.h"
#include "core/check/random_inputs.h"
#include "core/ops/fold_constants.h"
#include "core/ops/interpreter.h"
#include "core/optimize/graph_search.h"
#include "core/optimize/partition.h"
#include "core/rewrite/model_draft.h"
#include "core/rewrite/written/written.h"
#include "small_models.h"
#include "tests/take.h"
#include "written_rules.h"

using namespace tunesmith;
using namespace tunesmith::optimize;

class TestLargeGraph : public QObject {
    Q_OBJECT

private slots:
    void isSearched_data() {
        QTest::addColumn<QString>("strategy");
        for (const GraphStrategyInfo& info : graphStrategies())
            QTest::newRow(info.name.c_str()) << QString::fromStdString(info.name);
    }

    void isSearched() {
        QFETCH(QString, strategy);
        const Graph before = recurrentCell(132);
        const rewrite::ModelDraft model = take(rewrite::draftOf(before));
        QCOMPARE_GE(model.draft.order().size(), 5000U);
        LaunchCost cost;
        GraphSearchOptions options;
        options.strategy = strategy.toStdString();
        const GraphSearchResult found = take(searchGraph(model.draft, rules(), cost, options));
        QVERIFY2(found.best->cost < 0.7 * found.start->cost, std::to_string(found.best->cost).c_str());
        double last = found.start->cost;
        for (const StatePtr& state : trailOf(found.best)) {
            QCOMPARE(state->step.costAfter, state->cost);
            QVERIFY(!state->parent || state->step.costBefore == last);
            last = state->cost;
        }
        const Graph after = take(foldConstants(take(rewrite::graphOf(model, found.best->draft)), FoldOptions::weights()));
        const std::vector<Tensor> inputs = take(randomInputs(before, 3));
        const Status same = requireEquivalent(take(Interpreter(before).run(inputs)), take(Interpreter(after).run(inputs)), {}, {0, 1e-4});
        QVERIFY2(same.ok(), problemOf(same).c_str());
    }

    void isLeftAtOnce_data() { isSearched_data(); }
    void isLeftAtOnce() {
        QFETCH(QString, strategy);
        const rewrite::ModelDraft model = take(rewrite::draftOf(recurrentCell(132)));
        std::vector<qint64> elapsed;
        for (const int delay : {1, 20, 50, 80, 110}) // while the whole is simplified and while pieces are searched
            elapsed.push_back(millisecondsToStop(model.draft, strategy.toStdString(), delay));
        std::ranges::sort(elapsed);
        QVERIFY2(elapsed[1] < 100, std::to_string(elapsed[1]).c_str()); // a low one: others of a busy machine are no fault of the search
    }

    // The last piece is cancelled like any other.
    void saysThatItWasCancelled() {
        const rewrite::ModelDraft model = take(rewrite::draftOf(recurrentCell(20)));
        LaunchCost cost;
        GraphSearchOptions options;
        options.budget = 100000;
        const GraphSearchResult whole = take(searchGraph(model.draft, rules(), cost, options));
        QVERIFY(model.draft.order().size() > 400 && whole.expanded > 1);
        QCOMPARE(whole.stopReason, StopReason::exhausted);
        for (const std::int64_t last : {std::int64_t(1), whole.expanded / 2, whole.expanded}) {
            StopSource source;
            const auto cancel = [&](const GraphSearchProgress& progress) {
                if (progress.expanded == last)
                    source.requestStop();
            };
            const GraphSearchResult found = take(searchGraph(model.draft, rules(), cost, options, source.token(), cancel));
            QCOMPARE(found.stopReason, StopReason::cancelled);
            QCOMPARE(found.expanded, last);
        }
    }

    // Before anything was simplified.
    void isCancelledFromTheBeginning() {
        const rewrite::ModelDraft model = take(rewrite::draftOf(recurrentCell(20)));
        LaunchCost cost;
        StopSource source;
        source.requestStop();
        const GraphSearchResult found = take(searchGraph(model.draft, rules(), cost, {}, source.token()));
        QCOMPARE(found.stopReason, StopReason::cancelled);
        QCOMPARE(found.best->draft.hash(), model.draft.hash());
    }

    // More simplifications than there are nodes are no mistake of the rules.
    void manySimplificationsAreNoMistake() {
        GraphBuilder builder("long");
        builder.setOpset({}, 13);
        ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{2}));
        for (int i = 0; i < 10100; ++i)
            x = builder.add("Identity", {x});
        builder.setOutputs({builder.add("Relu", {x})});
        const rewrite::ModelDraft model = take(rewrite::draftOf(take(builder.build())));
        Draft draft = model.draft;
        std::vector<std::uint32_t> applied;
        QVERIFY(removals().simplify(draft, nullptr, applied));
        QCOMPARE(applied.size(), std::size_t(10100));
        QCOMPARE(draft.order().size(), std::size_t(1));
    }

    void piecesPutBackAreTheWhole_data() {
        QTest::addColumn<bool>("opaque");
        QTest::newRow("all is known") << false;
        QTest::newRow("with operators that nobody knows") << true;
    }
    void piecesPutBackAreTheWhole() {
        QFETCH(bool, opaque);
        const rewrite::ModelDraft model = take(rewrite::draftOf(opaque ? withOpaqueNodes() : recurrentCell(20, 8)));
        for (const std::size_t offset : {0, 40}) {
            std::size_t nodes = 0;
            for (const std::vector<NodeNo>& piece : piecesOf(model.draft, 100, offset)) {
                nodes += piece.size();
                const Piece cut = cutOut(model.draft, piece);
                const auto whole = spliced(model.draft, cut, cut.draft);
                QVERIFY(whole.has_value());
                QCOMPARE(whole->hash(), model.draft.hash());
            }
            QCOMPARE(nodes, model.draft.order().size());
        }
    }

    // An opaque node that reads what was simplified goes with the piece, with its attributes and as often as it is there.
    void rewrittenPiecesKeepOpaqueNodes() {
        const Graph before = withOpaqueNodes();
        const rewrite::ModelDraft model = take(rewrite::draftOf(before));
        Draft draft = model.draft;
        for (const std::vector<NodeNo>& nodes : piecesOf(model.draft, 100)) {
            const Piece piece = cutOut(draft, nodes);
            Draft rewritten = piece.draft;
            std::vector<std::uint32_t> applied;
            QVERIFY(rules().simplify(rewritten, nullptr, applied));
            QVERIFY(!applied.empty());
            auto whole = spliced(draft, piece, rewritten);
            QVERIFY(whole.has_value());
            draft = std::move(*whole);
        }
        const Graph after = take(rewrite::graphOf(model, draft));
        const auto count = [](const Graph& graph, const std::string& op) {
            return std::ranges::count_if(graph.nodes(), [&](const auto& node) { return node->op == op && (op != "Mystery" || node->intAttr("secret", 0) == 7); });
        };
        QCOMPARE(count(after, "Mystery"), count(before, "Mystery"));
        QCOMPARE(count(after, "RandomNormalLike"), count(before, "RandomNormalLike"));
        QCOMPARE(count(after, "Identity"), 0);
        LaunchCost cost;
        const GraphSearchResult found = take(searchGraph(model.draft, rules(), cost, {}));
        QVERIFY(found.best->cost < found.start->cost); // none of the pieces is given up
    }

private:
    // Layers of a simplifiable chain, an unknown operator of open shape, two equal random ones, and products to merge.
    static Graph withOpaqueNodes() {
        GraphBuilder builder("opaque");
        builder.setOpset({}, 13);
        builder.setOpset("elsewhere", 1);
        ValueId x = builder.addInput("input", TensorType(DType::f32, Shape{1, 16}));
        for (int i = 0; i < 40; ++i) {
            const auto named = [&](const std::string& name, TensorType type) { return builder.addValue(name + std::to_string(i), std::move(type)); };
            Node unknown;
            unknown.op = "Mystery";
            unknown.domain = "elsewhere";
            unknown.attributes = {{"secret", std::int64_t(7)}};
            unknown.inputs = {builder.add("Identity", {builder.add("Relu", {builder.add("Relu", {x})})})};
            unknown.outputs = {named("open", {}), named("closed", TensorType(DType::f32, Shape{1, 16}))};
            builder.addNode(unknown);
            const auto product = [&](ValueId of) { return builder.add("MatMul", {of, builder.addConstant({}, weightsOf({16, 16}, 0.1F * static_cast<float>(builder.valueCount() % 7 + 1)))}); };
            const ValueId y = unknown.outputs[1], noise = builder.add("RandomNormalLike", {builder.add("Identity", {y})}), more = builder.add("RandomNormalLike", {y});
            const ValueId sum = builder.add("Sum", {noise, more, builder.add("Tanh", {product(y)}), builder.add("Tanh", {product(y)})});
            Node known = unknown;
            known.inputs = {unknown.outputs[0], sum};
            known.outputs = {named("next", TensorType(DType::f32, Shape{1, 16}))};
            builder.addNode(known);
            x = known.outputs[0];
        }
        builder.setOutputs({x});
        return take(builder.build());
    }

    static const RuleSet& removals() {
        static const RuleSet some([] {
            std::vector<SubstitutionPtr> all = rewrite::writtenSubstitutions();
            std::erase_if(all, [](const SubstitutionPtr& rule) { return rule->card().name != "remove-identity"; });
            return all;
        }());
        return some;
    }

    static qint64 millisecondsToStop(const Draft& draft, const std::string& strategy, int delay) {
        LaunchCost cost;
        StopSource source;
        GraphSearchOptions options;
        options.strategy = strategy;
        options.budget = 1 << 30;
        using Clock = std::chrono::steady_clock;
        Clock::time_point asked;
        std::thread stopper([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(delay));
            asked = Clock::now();
            source.requestStop();
        });
        const GraphSearchResult found = take(searchGraph(draft, rules(), cost, options, source.token()));
        const Clock::time_point ended = Clock::now();
        stopper.join();
        return std::max<qint64>(0, std::chrono::duration_cast<std::chrono::milliseconds>(ended - asked).count()); // 0: nothing was left to do
    }
};

QTEST_APPLESS_MAIN(TestLargeGraph)
#include "tst_large_graph.moc"
