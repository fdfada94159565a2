// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/optimize/graph_search.h"
#include "core/rewrite/stored_substitution.h"
#include "tests/core/rewrite/tried_rule.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::rewrite;

namespace {

using Results = std::vector<ValueId>;
using Attributes = std::map<std::string, Attribute>;

ValueId second(ValueId first) { return ValueId(static_cast<std::int64_t>(first.index()) + 1); }
Attributes window(const Ints& pads, std::int64_t group = 1, std::int64_t dilation = 1, std::int64_t stride = 1) {
    return {{"pads", pads}, {"group", group}, {"dilations", Ints{dilation, dilation}}, {"strides", Ints{stride, stride}}};
}
Ints around(std::int64_t pad) { return {pad, pad, pad, pad}; }
ValueId conv(Model& m, ValueId x, const Shape& weights, const Attributes& attributes) { return m.add("Conv", {x, m.weight(weights)}, attributes); }
ValueId concat(Model& m, std::int64_t axis, const Results& parts) { return m.add("Concat", parts, {{"axis", axis}}); }

// Rules of terms in which others were caught, as verification leaves them.
const std::map<std::string, SubstitutionPtr>& dangerousRules() {
    static const std::map<std::string, SubstitutionPtr> all = [] {
        const std::string two = " where v1: 2x4x5x5, v2: 4x4x3x3, v3: 4x4x3x3", four = " where v1: 2x4x5x5, v2: 4x4x3x3, v3: 2x4x5x5, v4: 4x4x3x3";
        const std::map<std::string, std::string> texts{
            {"shared input", "conv(v1, v2); conv(v1, v3) = split1a(conv(v1, concat0(v2, v3))); split1b(conv(v1, concat0(v2, v3)))" + two},
            {"shared input, relu",
             "conv_relu(v1, v2); conv_relu(v1, v3) = split1a(conv_relu(v1, concat0(v2, v3))); split1b(conv_relu(v1, concat0(v2, v3)))" + two},
            {"sum", "add(conv(v1, v2), conv(v3, v4)) = conv(concat1(v1, v3), concat1(v2, v4))" + four},
            {"groups", "concat1(conv(v1, v2), conv(v3, v4)) = conv(concat1(v1, v3), concat0(v2, v4))" + four},
            {"parts", "concat1(relu(v1), relu(v2)) = relu(concat1(v1, v2)) where v1: 2x4x5x5, v2: 2x4x5x5"},
            {"products", "matmul(v1, v2); matmul(v1, v3) = split1a(matmul(v1, concat1(v2, v3))); split1b(matmul(v1, concat1(v2, v3)))"
                         " where v1: 2x4, v2: 4x4, v3: 4x4"},
            {"means of parts", "concat1(average_pool(v1), average_pool(v2)) = average_pool(concat1(v1, v2)) where v1: 2x4x5x5, v2: 2x4x5x5"},
        };
        std::map<std::string, SubstitutionPtr> made;
        for (const auto& [name, text] : texts) {
            substitution::StoredRule stored = verifiedRule(text);
            stored.name = name;
            made[name] = storedSubstitution(stored);
        }
        made["mean"] = verifiedDirection("average_pool(v1) = conv(v1, pool_weights) where v1: 2x4x5x5");
        made["enlarge"] = verifiedDirection("conv(v1, v2) = conv(v1, enlarge(v2)) where v1: 2x4x5x5, v2: 4x4x1x3");
        return made;
    }();
    return all;
}

std::vector<SubstitutionPtr> allRules() {
    std::vector<SubstitutionPtr> rules = writtenSubstitutions();
    for (const auto& [name, rule] : dangerousRules())
        rules.push_back(rule);
    return rules;
}

SubstitutionPtr anyRule(const std::string& name) {
    const auto dangerous = dangerousRules().find(name);
    return dangerous == dangerousRules().end() ? ruleNamed(name) : dangerous->second;
}

// A model, the rule that is a trap there, and what it says: empty where it is applied after all, in the right way.
struct Trap {
    const char* name;
    const char* rule;
    std::function<Results(Model&)> model;
    const char* refusal;
};

void addConvolutions(std::vector<Trap>& all) {
    const auto shared = [](std::int64_t group, bool rectified) {
        return [=](Model& m) {
            const ValueId x = m.input({1, 4, 6, 5});
            const ValueId a = conv(m, x, {4, 4 / group, 3, 3}, window(around(1), group));
            const ValueId b = conv(m, x, {8, 4 / group, 3, 3}, window(around(1), group));
            return rectified ? Results{m.add("Relu", {a}), m.add("Relu", {b})} : Results{a, b};
        };
    };
    all.push_back({"depthwise, shared input", "shared input", shared(4, false), "conv(v1, v2) has one group"});
    all.push_back({"depthwise, shared input, relu", "shared input, relu", shared(4, true), "conv_relu(v1, v2) has one group"});
    all.push_back({"depthwise, shared input, by hand", "merge-convolutions", shared(4, false), "not found"});
    all.push_back({"groups, shared input, by hand", "merge-convolutions", shared(2, false), "not found"});
    all.push_back({"shared input without groups", "merge-convolutions", shared(1, false), ""});
    const auto sum = [](std::int64_t group) {
        return [=](Model& m) {
            const auto one = [&] { return conv(m, m.input({1, 4, 6, 5}), {4, 4 / group, 3, 3}, window(around(1), group)); };
            const ValueId first = one();
            return Results{m.add("Add", {first, one()})};
        };
    };
    all.push_back({"sum of depthwise convolutions", "sum", sum(4), "conv(v1, v2) has one group"});
    all.push_back({"sum of convolutions", "sum", sum(1), ""});
    const auto grouped = [](std::int64_t channels, std::int64_t filters, std::int64_t group) {
        return [=](Model& m) {
            const ValueId a = conv(m, m.input({1, 4, 6, 5}), {4, 2, 3, 3}, window(around(1), 2));
            return Results{concat(m, 1, {a, conv(m, m.input({1, channels, 6, 5}), {filters, channels / group, 3, 3}, window(around(1), group))})};
        };
    };
    all.push_back({"concat of unequal groups", "groups", grouped(4, 4, 1), "the shapes do not allow it"});
    all.push_back({"concat of unequal filters", "groups", grouped(4, 8, 2), "v2 and v4 have the same extent along axis 0"});
    all.push_back({"concat of unequal channels", "groups", grouped(8, 4, 2), "v1 and v3 have the same extent along axis 1"});
    all.push_back({"concat of equal groups", "groups", grouped(4, 4, 2), ""});
}

void addConcats(std::vector<Trap>& all) {
    all.push_back({"concat of unequal sizes", "parts",
                   [](Model& m) { return Results{concat(m, 1, {m.add("Relu", {m.input({1, 3, 4, 4})}), m.add("Relu", {m.input({1, 5, 4, 4})})})}; }, ""});
    all.push_back({"split of unequal sizes", "products",
                   [](Model& m) {
                       const ValueId x = m.input({2, 4});
                       return Results{m.add("MatMul", {x, m.weight({4, 3})}), m.add("MatMul", {x, m.weight({4, 7})})};
                   },
                   ""});
    all.push_back({"split of unequal sizes, by hand", "merge-convolutions",
                   [](Model& m) {
                       const ValueId x = m.input({1, 4, 6, 5});
                       return Results{conv(m, x, {3, 4, 1, 1}, window(around(0))), conv(m, x, {7, 4, 3, 3}, window(around(1)))};
                   },
                   ""});
    all.push_back({"a split that cuts elsewhere", "split-of-concat",
                   [](Model& m) {
                       const ValueId x = concat(m, 0, {m.input({2, 4}), m.input({3, 4})}), a = m.add("Split", {x, m.ints({3, 2})}, {}, 2);
                       return Results{m.add("Relu", {a}), m.add("Tanh", {second(a)})};
                   },
                   "not found"});
}

void addWindows(std::vector<Trap>& all) {
    const auto mean = [](std::int64_t counts, const Ints& pads) {
        return [=](Model& m) {
            const Attributes attributes{{"kernel_shape", Ints{3, 3}}, {"pads", pads}, {"count_include_pad", counts}};
            return Results{m.add("AveragePool", {m.input({1, 3, 6, 6})}, attributes)};
        };
    };
    all.push_back({"mean at the border", "mean", mean(0, around(1)), "pools count their pads"});
    all.push_back({"mean at one border", "mean", mean(0, {0, 0, 0, 1}), "pools count their pads"});
    all.push_back({"mean that counts the border", "mean", mean(1, around(1)), ""});
    all.push_back({"mean without a border", "mean", mean(0, around(0)), ""});
    all.push_back({"pad before a mean", "pad-average-pool",
                   [](Model& m) {
                       const ValueId padded = m.add("Pad", {m.input({1, 2, 6, 7}), m.ints({0, 0, 1, 1, 0, 0, 1, 1})});
                       return Results{m.add("AveragePool", {padded}, {{"kernel_shape", Ints{3, 3}}, {"pads", around(1)}})};
                   },
                   "not found"});
    const auto two = [](std::int64_t kernel, const Attributes& a, const Attributes& b) {
        return [=](Model& m) {
            const ValueId x = m.input({1, 2, 9, 8});
            return Results{conv(m, x, {3, 2, 3, 3}, a), conv(m, x, {4, 2, kernel, kernel}, b)};
        };
    };
    const char* const merge = "merge-convolutions";
    all.push_back({"asymmetric pads on other sides", merge, two(3, window({0, 1, 1, 0}), window({1, 0, 0, 1})), "not found"});
    all.push_back({"asymmetric pads of two kernels", merge, two(1, window({0, 0, 2, 2}), window(around(0))), "not found"});
    all.push_back({"asymmetric pads alike", merge, two(1, window({1, 2, 1, 1}), window({0, 1, 0, 0})), ""});
    all.push_back({"asymmetric pads, one rule after another", "shared input", two(3, window({0, 1, 2, 0}), window({0, 1, 2, 0})), ""});
    all.push_back({"unequal dilations", merge, two(3, window(around(2), 1, 2), window(around(1))), "not found"});
    all.push_back({"dilation of a larger kernel", merge, two(1, window(around(2), 1, 2), window(around(0), 1, 2)), ""});
    all.push_back({"dilation, pads of another kernel", merge, two(1, window(around(1), 1, 2), window(around(0), 1, 2)), "not found"});
    all.push_back({"unequal dilations, generated", "shared input", two(3, window(around(2), 1, 2), window(around(1))), "not found"});
    all.push_back({"1x1 with pads", merge, two(1, window(around(1)), window(around(1))), "not found"});
    all.push_back({"1x1 with pads, and as many more", merge, two(1, window(around(2)), window(around(1))), ""});
    all.push_back({"1x1 with pads, enlarged", "enlarge",
                   [](Model& m) { return Results{conv(m, m.input({1, 2, 5, 6}), {3, 2, 1, 1}, window(around(1)))}; }, ""});
    all.push_back({"kernels of even size", "enlarge",
                   [](Model& m) { return Results{conv(m, m.input({1, 2, 5, 6}), {3, 2, 2, 2}, window(around(0)))}; },
                   "the kernel cannot grow by as much on both sides"});
    for (const std::int64_t extent : {6, 7})
        all.push_back({extent == 6 ? "stride 2, even extent" : "stride 2, odd extent", "enlarge",
                       [=](Model& m) { return Results{conv(m, m.input({1, 2, extent, extent}), {3, 2, 1, 1}, window(around(0), 1, 1, 2))}; }, ""});
    all.push_back({"same upper pads at stride 2", "enlarge",
                   [](Model& m) { // the exporter's word for pads: they are written out before
                       const ValueId x = m.input({1, 2, 6, 6});
                       return Results{m.add("Conv", {x, m.weight({3, 2, 1, 1})}, {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}})};
                   },
                   ""});
}

void addConstants(std::vector<Trap>& all) {
    const auto norm = [](float epsilon, bool besides) {
        return [=](Model& m) {
            const ValueId x = conv(m, m.input({2, 4, 5, 6}), {4, 4, 3, 3}, window(around(1)));
            const Results statistics{x, m.weight({4}), m.weight({4}), m.weight({4}), m.weight({4}, 0.0005, 0.002)}; // as small as the epsilon
            const ValueId y = m.add("BatchNormalization", statistics, {{"epsilon", epsilon}});
            return besides ? Results{y, x} : Results{y};
        };
    };
    all.push_back({"batch norm, epsilon 1e-3", "fold-batch-norm", norm(1e-3F, false), ""});
    all.push_back({"batch norm, epsilon 1e-5", "fold-batch-norm", norm(1e-5F, false), ""});
    all.push_back({"batch norm of a result", "fold-batch-norm", norm(1e-3F, true), "not found"});
    const auto gemm = [](float alpha, float beta, bool weights) {
        return [=](Model& m) {
            const ValueId x = m.input({3, 4}), w = weights ? m.weight({4, 5}) : m.input({4, 5});
            return Results{m.add("Gemm", {x, w, m.weight({5})}, {{"alpha", alpha}, {"beta", beta}})};
        };
    };
    all.push_back({"gemm, alpha", "gemm-to-matmul", gemm(0.5F, 1, true), ""});
    all.push_back({"gemm, beta", "gemm-to-matmul", gemm(1, -2, true), ""});
    all.push_back({"gemm, alpha and beta of zero", "gemm-to-matmul", gemm(3, 0, true), ""});
    all.push_back({"gemm of activations, alpha", "gemm-of-activations-to-matmul", gemm(0.5F, 1, false), "not found"});
    const auto scaled = [](const Shape& factor, bool constant) {
        return [=](Model& m) {
            const ValueId x = conv(m, m.input({2, 4, 5, 6}), {4, 4, 3, 3}, window(around(1)));
            return Results{m.add("Mul", {x, constant ? m.weight(factor) : m.input(factor)})};
        };
    };
    all.push_back({"a factor that is computed", "scale-conv-weights", scaled({1, 4, 1, 1}, false), "not found"});
    all.push_back({"a factor for each element", "scale-conv-weights", scaled({2, 4, 5, 6}, true), "not found"});
    all.push_back({"a factor for each channel", "scale-conv-weights", scaled({1, 4, 1, 1}, true), ""});
}

// BatchNormalization counts as elementwise, but in training its elements depend on each other.
void addNormalizations(std::vector<Trap>& all) {
    const auto parts = [](std::int64_t training) {
        return [=](Model& m) {
            const ValueId a = m.add("Split", {m.input({5, 3, 4}), m.ints({2, 3})}, {{"axis", std::int64_t(0)}}, 2);
            const std::vector<ValueId> statistics{m.weight({3}), m.weight({3}), m.weight({3}), m.weight({3}, 1, 2)};
            const auto normalized = [&](ValueId part) {
                std::vector<ValueId> operands{part};
                operands.insert(operands.end(), statistics.begin(), statistics.end());
                return m.add("BatchNormalization", operands, {{"training_mode", training}});
            };
            return Results{m.add("Relu", {normalized(a)}), m.add("Relu", {normalized(second(a))})};
        };
    };
    all.push_back({"normalization of parts in training", "operator-on-parts", parts(1), "not found"});
    all.push_back({"normalization of parts", "operator-on-parts", parts(0), "not found"});
    all.push_back({"normalization of parts in training, as arithmetic", "batch-norm-as-arithmetic", parts(1), "not found"});
    all.push_back({"normalization of parts, as arithmetic", "batch-norm-as-arithmetic", parts(0), ""});
    all.push_back({"dropout of parts in training", "operator-on-parts",
                   [](Model& m) {
                       const ValueId a = m.add("Split", {m.input({4, 3}), m.ints({2, 2})}, {{"axis", std::int64_t(0)}}, 2);
                       const ValueId ratio = m.number(0), trains = m.graph.addConstant("", Tensor::scalar<bool>(true));
                       return Results{m.add("Dropout", {a, ratio, trains}), m.add("Dropout", {second(a), ratio, trains})};
                   },
                   "not found"});
}

void addResults(std::vector<Trap>& all) {
    all.push_back({"several inputs and results", "products",
                   [](Model& m) {
                       const ValueId x = m.input({2, 4}), y = m.input({2, 4}), w = m.weight({4, 3});
                       return Results{m.add("MatMul", {y, w}), m.add("Tanh", {x}), m.add("MatMul", {x, w}), m.add("MatMul", {y, m.weight({4, 3})})};
                   },
                   ""});
    all.push_back({"a result twice", "join-maps",
                   [](Model& m) {
                       const ValueId a = m.add("Relu", {m.input({2, 3})}), b = m.add("Relu", {m.input({4, 3})}), both = concat(m, 0, {a, b});
                       return Results{both, both, a};
                   },
                   "not found"});
    all.push_back({"an input that is a result", "remove-identity",
                   [](Model& m) {
                       const ValueId x = m.input({2, 3});
                       return Results{m.add("Relu", {m.add("Identity", {x})}), x};
                   },
                   ""});
    all.push_back({"a result that is read inside", "shared input, relu",
                   [](Model& m) {
                       const ValueId x = m.input({1, 4, 6, 5}), a = conv(m, x, {4, 4, 3, 3}, window(around(1)));
                       const ValueId b = conv(m, x, {2, 4, 3, 3}, window(around(1)));
                       return Results{a, m.add("Relu", {a}), m.add("Relu", {b})};
                   },
                   ""});
    all.push_back({"a result that is read inside, by hand", "split-before-map",
                   [](Model& m) {
                       const ValueId y = m.add("Relu", {m.input({4, 3})}), a = m.add("Split", {y, m.ints({1, 3})}, {}, 2);
                       return Results{m.add("Tanh", {a}), m.add("Neg", {second(a)}), y};
                   },
                   "not found"});
    all.push_back({"a relu that nobody else reads", "parts", // TASO's issue 74: one was left over
                   [](Model& m) {
                       const ValueId a = m.add("Relu", {m.input({1, 3, 4, 4})}), b = m.add("Relu", {m.input({1, 5, 4, 4})}), both = concat(m, 1, {a, b});
                       return Results{both, m.add("Tanh", {a})};
                   },
                   ""});
}

const std::vector<Trap>& traps() {
    static const std::vector<Trap> all = [] {
        std::vector<Trap> made;
        addConvolutions(made);
        addConcats(made);
        addWindows(made);
        addConstants(made);
        addNormalizations(made);
        addResults(made);
        return made;
    }();
    return all;
}

Graph graphOfTrap(const Trap& trap) {
    Model model;
    return model.build(trap.model(model));
}

Graph searched(const Graph& graph) {
    const ModelDraft model = take(draftOf(graph));
    const optimize::RuleSet rules(allRules());
    optimize::LaunchCost cost;
    optimize::GraphSearchOptions options;
    options.alpha = 2;
    options.budget = 40;
    const optimize::GraphSearchResult found = take(optimize::searchGraph(model.draft, rules, cost, options));
    return take(foldConstants(take(graphOf(model, found.best->draft))));
}

std::vector<std::string> namesOf(const Graph& graph, const std::vector<ValueId>& values) {
    std::vector<std::string> names;
    std::ranges::transform(values, std::back_inserter(names), [&](ValueId id) { return graph.value(id).name; });
    return names;
}

} // namespace

// Models that other systems of graph substitutions made something else of.
class Traps : public QObject {
    Q_OBJECT

    static void addRows() {
        QTest::addColumn<int>("row");
        for (std::size_t i = 0; i < traps().size(); ++i)
            QTest::newRow(traps()[i].name) << static_cast<int>(i);
    }

private slots:
    void theRuleIsRefusedOrRight_data() { addRows(); }
    void theRuleIsRefusedOrRight() {
        QFETCH(int, row);
        const Trap& trap = traps()[static_cast<std::size_t>(row)];
        const Tried result = tried(graphOfTrap(trap), *anyRule(trap.rule));
        QCOMPARE(QString::fromStdString(result.refusal), QString(trap.refusal));
        QCOMPARE(result.applied > 0, std::string_view(trap.refusal).empty());
        QCOMPARE(QString::fromStdString(result.problem), QString());
    }

    // Any rule, wherever it is found.
    void otherRulesAreRightToo_data() { addRows(); }
    void otherRulesAreRightToo() {
        QFETCH(int, row);
        const Graph graph = graphOfTrap(traps()[static_cast<std::size_t>(row)]);
        for (const SubstitutionPtr& rule : allRules()) {
            const Tried result = tried(graph, *rule);
            QVERIFY2(result.problem.empty(), (rule->card().name + ": " + result.problem).c_str());
        }
    }

    void searchesKeepWhatTheModelComputes_data() { addRows(); }
    void searchesKeepWhatTheModelComputes() {
        QFETCH(int, row);
        const Graph graph = graphOfTrap(traps()[static_cast<std::size_t>(row)]), best = searched(graph);
        QCOMPARE(QString::fromStdString(differenceBetween(graph, best, {0, 1e-5})), QString());
        QCOMPARE(namesOf(best, best.inputs()), namesOf(graph, graph.inputs()));
        QCOMPARE(namesOf(best, best.outputs()), namesOf(graph, graph.outputs()));
    }

    // Nothing is known of the operator, so it stays with its attributes, and so do those around it which only it could be in the way of.
    void unknownOperatorsStay_data() {
        QTest::addColumn<QString>("domain");
        QTest::addColumn<QString>("op");
        QTest::newRow("of another domain") << "elsewhere" << "Conv";
        QTest::newRow("of no known name") << "" << "Mystery";
    }
    void unknownOperatorsStay() {
        QFETCH(QString, domain);
        QFETCH(QString, op);
        GraphBuilder builder;
        builder.setOpset("", 17);
        builder.setOpset("elsewhere", 1);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{1, 4, 6, 5}));
        const ValueId w = builder.addConstant("", someNumbers({4, 4, 1, 1}, 1));
        const ValueId known = builder.add("Relu", {builder.add("Conv", {x, w})});
        Node node;
        node.op = op.toStdString();
        node.domain = domain.toStdString();
        node.attributes = {{"secret", std::int64_t(7)}};
        const ValueId unknown = builder.addValue("unknown", TensorType(DType::f32, Shape{1, 4, 6, 5}));
        node.inputs = {known, w};
        node.outputs = {unknown};
        builder.addNode(std::move(node));
        builder.setOutputs({builder.add("Identity", {builder.add("Relu", {builder.add("Relu", {unknown})})}), known});
        const Graph graph = builder.build().value(), best = searched(graph);
        int seen = 0;
        for (const auto& each : best.nodes())
            if (each->op == op.toStdString() && each->domain == domain.toStdString()) {
                ++seen;
                QCOMPARE(each->intAttr("secret", 0), std::int64_t(7));
                QCOMPARE(each->inputs.size(), std::size_t(2));
            }
        QCOMPARE(seen, 1);
        QCOMPARE(namesOf(best, best.outputs()), namesOf(graph, graph.outputs()));
    }
};

QTEST_APPLESS_MAIN(Traps)
#include "tst_traps.moc"
