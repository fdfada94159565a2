// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include "core/onnx/samples.h"
#include "core/rewrite/evaluate.h"
#include "rewritten_model.h"

using namespace tunesmith;
using namespace tunesmith::rewrite;

namespace {

using Ints = std::vector<std::int64_t>;

// A step of a random walk: any rule that can be applied, or nothing.
std::optional<Draft> anyStep(const Draft& draft, const std::vector<SubstitutionPtr>& rules, Rng& rng) {
    for (int attempt = 0; attempt < 40; ++attempt) {
        const SubstitutionPtr& rule = rules[rng.below(rules.size())];
        const std::vector<Match> matches = matchesOf(draft, *rule);
        if (matches.empty())
            continue;
        if (Applied made = applied(draft, *rule, matches[rng.below(matches.size())]); made.draft)
            return std::move(made.draft);
    }
    return std::nullopt;
}

std::string differenceOfDrafts(const Draft& before, const Draft& after, Rng& rng) {
    const auto a = evaluate(before, smallInputs(before, rng));
    if (!a.ok())
        return {};
    const auto b = evaluateRewritten(after, *a);
    return b.ok() ? differenceOf(before, *a, after, *b).value_or("") : b.error().message;
}

} // namespace

class WrittenCleaning : public QObject {
    Q_OBJECT

private slots:
    void chainsBecomeOneReshape() {
        Model model;
        const ValueId x = model.input({2, 3, 1, 4});
        const ValueId squeezed = model.add("Squeeze", {x, model.ints({2})});
        const ValueId flat = model.add("Flatten", {squeezed}, {{"axis", std::int64_t(2)}});
        const Rewritten result = rewritten(model.build({model.add("Unsqueeze", {flat, model.ints({0})}), squeezed}), "one-reshape");
        QCOMPARE(result.found, std::size_t(2));
        QCOMPARE(result.problem, std::string());
    }

    void transposesThatUndoEachOtherVanish() {
        Model model;
        const ValueId once = model.add("Transpose", {model.input({2, 3, 4})}, {{"perm", Ints{1, 2, 0}}});
        const Rewritten result = rewritten(model.build({model.add("Relu", {model.add("Transpose", {once}, {{"perm", Ints{2, 0, 1}}})})}), "one-transpose");
        QCOMPARE(result.problem, std::string());
        QCOMPARE(result.graph->nodeCount(), std::size_t(1));
    }

    void transposesOfOnesAreReshapes_data() {
        QTest::addColumn<QList<int>>("shape");
        QTest::addColumn<QList<int>>("perm");
        QTest::addColumn<int>("found");
        QTest::newRow("1 moves") << QList<int>{1, 3, 1, 4} << QList<int>{1, 0, 3, 2} << 1;
        QTest::newRow("3 and 4 change places") << QList<int>{1, 3, 1, 4} << QList<int>{0, 3, 2, 1} << 0;
        QTest::newRow("nothing moves") << QList<int>{1, 3, 1, 4} << QList<int>{0, 1, 2, 3} << 0;
    }
    void transposesOfOnesAreReshapes() {
        QFETCH(QList<int>, shape);
        QFETCH(QList<int>, perm);
        QFETCH(int, found);
        Model model;
        const ValueId x = model.add("Transpose", {model.input(Shape(shape.begin(), shape.end()))}, {{"perm", Ints(perm.begin(), perm.end())}});
        const Rewritten result = rewritten(model.build({x}), "transpose-as-reshape");
        QCOMPARE(result.found, std::size_t(found));
        QCOMPARE(result.problem, std::string());
    }

    void whatChangesTheShapeIsNotNeutral() {
        for (const auto& [shape, found] : {std::pair(Shape{1}, 1), std::pair(Shape{4, 3}, 1), std::pair(Shape{2, 4, 3}, 0)}) {
            Model model;
            const ValueId zeros = model.graph.addConstant("", Tensor::zeros(DType::f32, shape));
            const Rewritten result = rewritten(model.build({model.add("Add", {zeros, model.input({4, 3})})}), "remove-neutral-constant");
            QCOMPARE(result.found, std::size_t(found));
            QCOMPARE(result.problem, std::string());
        }
    }

    void differencesFromZeroAndQuotientsOfOneStay() {
        for (const auto& [op, number] : {std::pair("Sub", 0.0F), std::pair("Div", 1.0F), std::pair("Pow", 1.0F)}) {
            Model model;
            const ValueId x = model.input({3});
            QCOMPARE(rewritten(model.build({model.add(op, {model.number(number), x})}), "remove-neutral-constant").found, std::size_t(0));
        }
    }

    void slicesThatTurnRoundStay() {
        Model model;
        const ValueId x = model.add("Slice", {model.input({4, 3}), model.ints({3}), model.ints({-5}), model.ints({0}), model.ints({-1})});
        QCOMPARE(rewritten(model.build({x}), "remove-movement").found, std::size_t(0));
    }

    void dropoutThatTrainsStays_data() {
        QTest::addColumn<bool>("trains");
        QTest::addColumn<bool>("mask");
        QTest::addColumn<int>("found");
        QTest::newRow("inference") << false << false << 1;
        QTest::newRow("training") << true << false << 0;
        QTest::newRow("mask") << false << true << 0;
    }
    void dropoutThatTrainsStays() {
        QFETCH(bool, trains);
        QFETCH(bool, mask);
        QFETCH(int, found);
        Model model;
        const ValueId x = model.add("Relu", {model.input({4, 3})});
        const ValueId y = model.add("Dropout", {x, model.number(0.5F), model.graph.addConstant("", Tensor::scalar(trains))}, {}, 2);
        std::vector<ValueId> outputs{model.add("Neg", {y})};
        if (mask)
            outputs.push_back(ValueId(static_cast<std::int64_t>(y.index()) + 1));
        const Rewritten result = rewritten(model.build(outputs), "remove-dropout");
        QCOMPARE(result.found, std::size_t(found));
        QCOMPARE(result.problem, std::string());
    }

    void resultsOfTheModelKeepTheirNames() {
        Model model;
        const ValueId x = model.input({2, 3});
        const ValueId y = model.add("Identity", {x}), z = model.add("Identity", {model.add("Relu", {x})});
        const Graph graph = model.build({y, z});
        const Rewritten result = rewritten(graph, "remove-identity");
        QCOMPARE(result.found, std::size_t(2));
        QCOMPARE(result.problem, std::string());
        for (std::size_t i = 0; i < 2; ++i)
            QCOMPARE(result.graph->value(result.graph->outputs()[i]).name, graph.value(graph.outputs()[i]).name);
    }

    // What a rule adds has names of its own, although it comes before what has names already.
    void nodesThatStayKeepTheirNames() {
        Model model;
        const ValueId x = model.add("MatMul", {model.add("Relu", {model.input({2, 3})}), model.weight({3, 4})});
        const ValueId y = model.add("Mul", {x, model.number(2)});
        const Graph graph = model.build({model.add("Tanh", {y})});
        const ModelDraft made = draftOf(graph).value();
        const SubstitutionPtr rule = ruleNamed("scale-matmul-weights");
        const Applied after = applied(made.draft, *rule, matchesOf(made.draft, *rule).at(0));
        const Graph written = graphOf(made, *after.draft).value();
        QCOMPARE(written.nodeCount(), std::size_t(5));
        for (const char* op : {"Relu", "Tanh"})
            for (const auto& node : graph.nodes())
                if (node->op == op) {
                    const NodeId kept = written.findNode(node->name);
                    QVERIFY(kept.valid());
                    QCOMPARE(written.value(written.node(kept).outputs[0]).name, graph.value(node->outputs[0]).name);
                }
    }

    void whatHasNoStaticTypesIsLeftAlone() {
        GraphBuilder builder;
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Dims{Dim::named("batch"), 3, 4}));
        const ValueId y = builder.add("Transpose", {builder.add("Transpose", {builder.add("Identity", {x})}, {{"perm", Ints{0, 2, 1}}})}, {{"perm", Ints{0, 2, 1}}});
        const ValueId shape = builder.addConstant("", Tensor::ofInts({-1, 12}));
        builder.setOutputs({builder.add("Relu", {builder.add("Reshape", {builder.add("Reshape", {y, shape}), shape})})});
        const ModelDraft model = draftOf(builder.build().value()).value();
        for (const SubstitutionPtr& rule : writtenSubstitutions())
            QVERIFY2(matchesOf(model.draft, *rule).empty(), rule->card().name.c_str());
    }

    void aMatchThatIsGoneIsRefused() {
        Model model;
        const ValueId x = model.add("Relu", {model.add("Relu", {model.input({3})})});
        const ModelDraft made = draftOf(model.build({model.add("Relu", {x})})).value();
        const SubstitutionPtr rule = ruleNamed("remove-repeated");
        const std::vector<Match> matches = matchesOf(made.draft, *rule);
        QCOMPARE(matches.size(), std::size_t(2));
        const Applied first = applied(made.draft, *rule, matches[0]);
        QVERIFY(first.draft.has_value());
        QVERIFY(!applied(*first.draft, *rule, matches[0]).draft);
        QVERIFY(!applied(*first.draft, *rule, matches[1]).draft);
        QCOMPARE(matchesOf(*first.draft, *rule).size(), std::size_t(1));
    }

    void wholeModelsAreSimplified_data() {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<int>("nodes"); // that are left when weights are computed
        QTest::newRow("mlp") << "mlp" << 8;
        QTest::newRow("mobilenet_v2") << "mobilenet_v2" << 101; // 52 normalizations less, and one Gemm is two nodes
    }
    void wholeModelsAreSimplified() {
        QFETCH(QString, sample);
        QFETCH(int, nodes);
        const Graph graph = foldConstants(buildSample(sample.toStdString()).value()).value();
        const ModelDraft model = draftOf(graph).value();
        Draft draft = model.draft;
        QVERIFY(simplify(draft, writtenSubstitutions(), 100) < 100);
        const auto isLeft = [&](NodeNo node) { return !draft.isWeight(draft.output(node)); };
        QCOMPARE(static_cast<int>(std::ranges::count_if(draft.order(), isLeft)), nodes);
        QVERIFY(std::ranges::none_of(draft.order(), [&](NodeNo node) { return draft.is(node, "BatchNormalization") || draft.is(node, "Gemm"); }));
        if (sample == "mlp")
            QCOMPARE(differenceBetween(graph, graphOf(model, draft).value()), std::string());
    }

    // Nodes of equal operators and types have other shapes where constants say so.
    void constantsDecideShapes() {
        Draft draft(std::make_shared<OperatorTable>());
        const ValueNo x = draft.addInput(draft.table().add(TensorType(DType::f32, Shape{1, 2, 3, 4})), 1);
        const auto resized = [&](float height, float width) {
            return draft.shape(draft.add("Resize", {x, Draft::kLeftOut, draft.constant(Tensor::of<float>({4}, std::vector<float>{1, 1, height, width}))}));
        };
        QCOMPARE(resized(1, 2), (Shape{1, 2, 3, 8}));
        QCOMPARE(resized(2, 1), (Shape{1, 2, 6, 4}));
    }

    void simplifyingComesToAnEnd() {
        const std::vector<SubstitutionPtr> rules = writtenSubstitutions();
        const auto table = std::make_shared<OperatorTable>();
        Rng rng(5);
        int longest = 0, walked = 0;
        for (int round = 0; round < 30; ++round)
            for (const SubstitutionPtr& rule : rules) {
                const std::optional<Draft> before = rule->sample(table, rng);
                if (!before)
                    continue;
                Draft draft = *before;
                for (int step = 0; step < 4; ++step)
                    if (std::optional<Draft> next = anyStep(draft, rules, rng)) {
                        draft = std::move(*next);
                        ++walked;
                    }
                const int steps = simplify(draft, rules, 50);
                longest = std::max(longest, steps);
                QVERIFY2(steps < 50, rule->card().name.c_str());
                const std::string difference = differenceOfDrafts(*before, draft, rng);
                QVERIFY2(difference.empty(), (rule->card().name + ": " + difference).c_str());
            }
        qInfo("%d steps of walks, at most %d to simplify", walked, longest);
        QVERIFY(walked > 1000);
    }
};

QTEST_APPLESS_MAIN(WrittenCleaning)
#include "tst_written_cleaning.moc"
