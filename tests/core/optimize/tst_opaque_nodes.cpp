// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/optimize/graph_search.h"
#include "core/optimize/planned_cost.h"
#include "core/rewrite/stored_substitution.h"
#include "tests/core/rewrite/tried_rule.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::optimize;
using rewrite::Ints;
using rewrite::Model;

namespace {

using Results = std::vector<ValueId>;

ValueId other(ValueId first) { return ValueId(static_cast<std::int64_t>(first.index()) + 1); }

// Of a shape that nobody knows.
ValueId mystery(Model& m, ValueId x, TensorType type = {}) {
    Node node;
    node.op = "Mystery";
    node.domain = "elsewhere";
    node.inputs = {x};
    node.outputs = {m.graph.addValue("mystery" + std::to_string(x.index()), std::move(type))};
    m.graph.addNode(node);
    return node.outputs[0];
}

struct OpenModel {
    const char* name;
    std::function<Results(Model&)> results;
};

void addSplits(std::vector<OpenModel>& all) {
    all.push_back({"split of positions", [](Model& m) {
                       const ValueId a = m.add("Split", {m.add("NonZero", {m.input({3, 4})}), m.ints({1, 1})}, {{"axis", std::int64_t(0)}}, 2);
                       return Results{m.add("Relu", {m.add("Cast", {a}, {{"to", std::int64_t(1)}})}), other(a)};
                   }});
    all.push_back({"split of the unknown, from the back", [](Model& m) {
                       const ValueId a = m.add("Split", {mystery(m, m.input({2, 8})), m.ints({4, 4})}, {{"axis", std::int64_t(-1)}}, 2);
                       const auto head = [&](ValueId part) { return m.add("Transpose", {m.add("Reshape", {part, m.ints({2, 2, 2})})}, {{"perm", Ints{1, 0, 2}}}); };
                       return Results{head(a), head(other(a))};
                   }});
    all.push_back({"split of a concat of the unknown", [](Model& m) {
                       const ValueId x = m.input({2, 4}), whole = m.graph.addValue("whole", TensorType(DType::f32, Shape{2, 8}));
                       Node concat;
                       concat.op = "Concat";
                       concat.inputs = {mystery(m, x), mystery(m, m.add("Relu", {x}))};
                       concat.outputs = {whole};
                       concat.attributes = {{"axis", std::int64_t(1)}};
                       m.graph.addNode(concat);
                       const ValueId a = m.add("Split", {whole, m.ints({4, 4})}, {{"axis", std::int64_t(1)}}, 2);
                       return Results{m.add("Relu", {a}), m.add("Relu", {other(a)})};
                   }});
    all.push_back({"concat of parts of the unknown", [](Model& m) {
                       const ValueId a = m.add("Split", {mystery(m, m.input({2, 8})), m.ints({4, 4})}, {{"axis", std::int64_t(1)}}, 2);
                       return Results{m.add("Concat", {a, other(a)}, {{"axis", std::int64_t(1)}})};
                   }});
}

void addProducts(std::vector<OpenModel>& all) {
    all.push_back({"products of the unknown", [](Model& m) {
                       const ValueId x = mystery(m, m.input({4, 8}));
                       return Results{m.add("Relu", {m.add("MatMul", {x, m.weight({8, 4})})}), m.add("MatMul", {x, m.weight({8, 4})}), m.add("MatMul", {m.weight({4, 8}), x})};
                   }});
    all.push_back({"gemms of the unknown", [](Model& m) {
                       const ValueId x = mystery(m, m.input({4, 8}));
                       const std::map<std::string, Attribute> turned{{"transA", std::int64_t(1)}};
                       return Results{m.add("Gemm", {x, m.weight({8, 4}), m.weight({4})}), m.add("Gemm", {x, m.weight({4, 8})}, turned)};
                   }});
    all.push_back({"convolutions of the unknown", [](Model& m) {
                       const ValueId x = mystery(m, m.input({1, 4, 6, 6})), w = mystery(m, m.input({4, 4, 3, 3}));
                       const ValueId a = m.add("Conv", {x, m.weight({4, 4, 3, 3})}, {{"kernel_shape", Ints{3, 3}}}), b = m.add("Conv", {x, m.weight({4, 4, 3, 3})});
                       const ValueId norm = m.add("BatchNormalization", {a, m.weight({4}), m.weight({4}), m.weight({4}), m.weight({4}, 1, 2)});
                       return Results{m.add("Relu", {norm}), m.add("Mul", {b, m.number(2)}), m.add("Conv", {m.input({1, 4, 6, 6}), w})};
                   }});
}

void addMovements(std::vector<OpenModel>& all) {
    all.push_back({"movements of the unknown", [](Model& m) {
                       const ValueId x = mystery(m, m.input({4, 8})), y = m.add("Relu", {m.add("Relu", {x})});
                       const ValueId slice = m.add("Slice", {y, m.ints({0}), m.ints({1}), m.ints({0})}), row = m.add("Gather", {y, m.ints({0})});
                       const ValueId moved = m.add("Transpose", {m.add("Transpose", {x})}), flat = m.add("Flatten", {m.add("Identity", {x})});
                       return Results{slice, row, moved, flat, m.add("Softmax", {x}), m.add("ReduceMean", {x}, {{"axes", Ints{-1}}}), m.add("Add", {x, y})};
                   }});
    all.push_back({"shapes that inputs decide", [](Model& m) {
                       const ValueId x = m.input({4, 8}), shape = m.graph.addInput("shape", TensorType(DType::i64, Shape{2}));
                       const ValueId y = m.add("Reshape", {m.add("Relu", {x}), shape});
                       return Results{m.add("Relu", {m.add("Reshape", {y, m.ints({-1})})}), m.add("MatMul", {y, m.weight({8, 2})}), m.add("Expand", {x, shape})};
                   }});
    all.push_back({"a first result that is left out", [](Model& m) {
                       const ValueId x = m.input({3, 1, 4});
                       Node lstm;
                       lstm.op = "LSTM";
                       lstm.inputs = {x, m.weight({1, 8, 4}), m.weight({1, 8, 2})};
                       lstm.outputs = {ValueId(), m.graph.addValue("state")};
                       lstm.attributes = {{"hidden_size", std::int64_t(2)}};
                       m.graph.addNode(lstm);
                       return Results{m.add("Relu", {m.add("Relu", {lstm.outputs[1]})}), m.add("MatMul", {x, m.weight({4, 4})})};
                   }});
}

const std::vector<OpenModel>& openModels() {
    static const std::vector<OpenModel> all = [] {
        std::vector<OpenModel> made;
        addSplits(made);
        addProducts(made);
        addMovements(made);
        return made;
    }();
    return all;
}

Graph graphOfModel(const OpenModel& open) {
    Model model;
    model.graph.setOpset("elsewhere", 1);
    return model.build(open.results(model));
}

std::vector<SubstitutionPtr> allRules() {
    std::vector<SubstitutionPtr> rules = rewrite::writtenSubstitutions();
    for (const char* text : {"matmul(v1, v2); matmul(v1, v3) = split1a(matmul(v1, concat1(v2, v3))); split1b(matmul(v1, concat1(v2, v3))) where v1: 2x4, v2: 4x4, v3: 4x4",
                             "concat1(relu(v1), relu(v2)) = relu(concat1(v1, v2)) where v1: 2x4x5x5, v2: 2x4x5x5"})
        rules.push_back(rewrite::storedSubstitution(rewrite::verifiedRule(text, 100)));
    return rules;
}

std::map<std::string, int> operatorsOf(const Graph& graph) {
    std::map<std::string, int> counts;
    for (const auto& node : graph.nodes())
        ++counts[node->op];
    return counts;
}

} // namespace

// What nothing is known of stays as it is, and what is around it is searched all the same.
class TestOpaqueNodes : public QObject {
    Q_OBJECT

    static void addRows() {
        QTest::addColumn<int>("row");
        for (std::size_t i = 0; i < openModels().size(); ++i)
            QTest::newRow(openModels()[i].name) << static_cast<int>(i);
    }

private slots:
    void rulesLeaveOpenShapesAlone_data() { addRows(); }
    void rulesLeaveOpenShapesAlone() {
        QFETCH(int, row);
        const rewrite::ModelDraft model = take(rewrite::draftOf(graphOfModel(openModels()[static_cast<std::size_t>(row)])));
        for (const SubstitutionPtr& rule : allRules())
            for (const Match& match : rewrite::matchesOf(model.draft, *rule))
                rewrite::applied(model.draft, *rule, match);
        QVERIFY(std::ranges::any_of(model.draft.order(), [&](NodeNo node) { return rewrite::isOpaque(model.draft, node); }));
    }

    void costsAreThoseOfPlainKernels_data() { addRows(); }
    void costsAreThoseOfPlainKernels() {
        QFETCH(int, row);
        const rewrite::ModelDraft model = take(rewrite::draftOf(graphOfModel(openModels()[static_cast<std::size_t>(row)])));
        const auto unknown = [](const Workload&) { return std::optional<double>(); };
        LaunchCost launches;
        RooflineCost roofline;
        MeasuredCost measured(Target(), {}, unknown);
        PlannedCost planned(Target(), {}, unknown);
        for (DraftCost* const cost : std::initializer_list<DraftCost*>{&launches, &roofline, &measured, &planned}) {
            QVERIFY(cost->of(model.draft) > 0);
            for (const NodeNo node : model.draft.order())
                QVERIFY(cost->ofNode(model.draft, node) >= 0);
        }
        KernelFinder finder;
        KernelFinder::Kernels kernels;
        finder.find(model.draft, kernels);
        for (const NodeNo node : model.draft.order())
            QVERIFY(!rewrite::isOpaque(model.draft, node) || std::ranges::find(kernels.nodes, node) != kernels.nodes.end());
    }

    // A row of no rows has no place in memory.
    void rowsOfNothingAreNoViews() {
        Model m;
        const ValueId row = m.add("Gather", {m.add("Relu", {m.input({0, 4})}), m.ints({0})});
        const rewrite::ModelDraft model = take(rewrite::draftOf(m.build({m.add("Relu", {row})})));
        KernelFinder finder;
        KernelFinder::Kernels kernels;
        finder.find(model.draft, kernels);
        QVERIFY(kernels.size() > 0);
    }

    void searchesLeaveThemAsTheyAre_data() { addRows(); }
    void searchesLeaveThemAsTheyAre() {
        QFETCH(int, row);
        const Graph graph = graphOfModel(openModels()[static_cast<std::size_t>(row)]);
        const rewrite::ModelDraft model = take(rewrite::draftOf(graph));
        const RuleSet rules(allRules());
        LaunchCost launches;
        RooflineCost roofline;
        for (const GraphStrategyInfo& info : graphStrategies())
            for (DraftCost* const cost : std::initializer_list<DraftCost*>{&launches, &roofline}) {
                GraphSearchOptions options;
                options.strategy = info.name;
                options.budget = 20;
                const GraphSearchResult found = take(searchGraph(model.draft, rules, *cost, options));
                const Graph after = take(rewrite::graphOf(model, found.best->draft));
                QCOMPARE(operatorsOf(after)["Mystery"], operatorsOf(graph)["Mystery"]);
                QCOMPARE(after.outputs().size(), graph.outputs().size());
                for (std::size_t i = 0; i < graph.outputs().size(); ++i)
                    QCOMPARE(after.value(after.outputs()[i]).name, graph.value(graph.outputs()[i]).name);
            }
    }

    // An attribute that only an opaque convolution still has.
    void opaqueConvolutionsKeepTheirKernel() {
        Model model;
        model.graph.setOpset("elsewhere", 1);
        const ValueId w = mystery(model, model.input({4, 4, 3, 3}));
        const Graph graph = model.build({model.add("Conv", {model.input({1, 4, 6, 6}), w}, {{"kernel_shape", Ints{3, 3}}})});
        const rewrite::ModelDraft draft = take(rewrite::draftOf(graph));
        const Graph after = take(rewrite::graphOf(draft, draft.draft));
        const auto conv = std::ranges::find_if(after.nodes(), [](const auto& node) { return node->op == "Conv"; });
        QCOMPARE((*conv)->intsAttr("kernel_shape"), (Ints{3, 3}));
    }

    // What is known beside them is searched.
    void theRestIsSearched() {
        Model model;
        model.graph.setOpset("elsewhere", 1);
        const ValueId x = model.input({1, 8});
        const ValueId a = model.add("MatMul", {x, model.weight({8, 16})}), b = model.add("MatMul", {x, model.weight({8, 16})});
        const Graph graph = model.build({model.add("Relu", {mystery(model, a)}), model.add("Tanh", {mystery(model, b)})});
        const rewrite::ModelDraft draft = take(rewrite::draftOf(graph));
        LaunchCost cost;
        const GraphSearchResult found = take(searchGraph(draft.draft, RuleSet(rewrite::writtenSubstitutions()), cost, {}));
        QCOMPARE(operatorsOf(take(rewrite::graphOf(draft, found.best->draft)))["MatMul"], 1);
        QVERIFY(found.best->cost < found.start->cost);
    }
};

QTEST_APPLESS_MAIN(TestOpaqueNodes)
#include "tst_opaque_nodes.moc"
