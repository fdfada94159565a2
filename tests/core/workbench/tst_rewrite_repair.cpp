// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/check/sensitivity.h"
#include "core/graph/graph_builder.h"
#include "core/optimize/draft_cost.h"
#include "core/rewrite/model_draft.h"
#include "core/workbench/graph_check.h"
#include "core/workbench/rewrite_repair.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::rewrite;

namespace {

// An operator becomes another one: right or wrong, as the test wants it.
class Exchange : public Substitution {
public:
    Exchange(const std::string& name, std::string from, std::string to, bool simplifies)
        : Substitution({name, from + " = " + to, {}, simplifies}), from_(std::move(from)), to_(std::move(to)) {}
    void find(const Draft& draft, NodeNo anchor, std::vector<Match>& found) const override {
        if (draft.is(anchor, from_))
            found.push_back({anchor, {draft.output(anchor)}});
    }
    std::string_view apply(Draft& draft, const Match& match) const override {
        const ValueNo operand = draft.operand(match.anchor, 0);
        draft.replace(match.values[0], to_.empty() ? operand : draft.add(to_, {operand}));
        return {};
    }
    std::optional<Draft> sample(const std::shared_ptr<OperatorTable>&, Rng&) const override { return std::nullopt; }

private:
    std::string from_, to_;
};

// Fused chains are one kernel: here each node counts.
class NodeCount : public optimize::DraftCost {
public:
    double of(const Draft& draft) override { return static_cast<double>(draft.order().size()); }
    std::string unit() const override { return "nodes"; }

protected:
    double ofKernel(const Draft&, std::span<const NodeNo> kernel) override { return static_cast<double>(kernel.size()); }
};

SubstitutionPtr exchange(const std::string& from, const std::string& to, bool simplifies = false) {
    return std::make_shared<Exchange>(from + "-" + to, from, to, simplifies);
}

// Of numbers that are not negative, so that Identity, Relu and Abs change nothing.
Graph chain() {
    GraphBuilder builder("chain");
    builder.setOpset("", 17);
    ValueId value = builder.addInput("x", TensorType(DType::f32, Shape{4, 5}));
    for (const char* op : {"Exp", "Identity", "Relu", "Abs", "Neg", "Sigmoid", "Tanh"})
        value = builder.add(op, {value});
    builder.setOutputs({value});
    return take(builder.build());
}

} // namespace

class TestRewriteRepair : public QObject {
    Q_OBJECT

private slots:
    void leavesOutWhoIsToBlame_data() {
        QTest::addColumn<QStringList>("rules"); // of what becomes what; "!": wherever it is found
        QTest::addColumn<QStringList>("leftOut");
        QTest::addColumn<int>("nodes"); // that are left
        QTest::newRow("a move") << QStringList{"Identity-", "Abs-", "Tanh-"} << QStringList{"Tanh-"} << 5;
        QTest::newRow("the first of two") << QStringList{"Neg-", "Identity-", "Relu-"} << QStringList{"Neg-"} << 5;
        QTest::newRow("two moves") << QStringList{"Neg-", "Tanh-", "Abs-"} << QStringList{"Neg-", "Tanh-"} << 6;
        QTest::newRow("what simplifies") << QStringList{"!Identity-", "!Sigmoid-", "Abs-"} << QStringList{"Sigmoid-"} << 5;
        QTest::newRow("two that simplify") << QStringList{"!Neg-", "!Sigmoid-", "Relu-"} << QStringList{"Neg-", "Sigmoid-"} << 6;
    }
    void leavesOutWhoIsToBlame() {
        QFETCH(QStringList, rules);
        QFETCH(QStringList, leftOut);
        QFETCH(int, nodes);
        std::vector<SubstitutionPtr> substitutions;
        for (const QString& rule : rules) {
            const bool simplifies = rule.startsWith('!');
            const QStringList ends = rule.mid(simplifies).split('-');
            substitutions.push_back(exchange(ends[0].toStdString(), ends[1].toStdString(), simplifies));
        }
        const ModelDraft model = take(draftOf(chain()));
        NodeCount cost;
        const optimize::GraphSearchResult found = take(optimize::searchGraph(model.draft, optimize::RuleSet(substitutions), cost, {}));
        int asked = 0;
        const DraftAgrees agrees = [&](const Draft& draft) -> Result<bool> {
            ++asked;
            TS_ASSIGN(const Graph graph, graphOf(model, draft));
            TS_ASSIGN(const GraphCheck check, compareGraphs(model.source, graph, {}, {}));
            return check.same;
        };
        QVERIFY(!take(agrees(found.best->draft)));
        const RepairedSearch repaired = take(repairSearch(model.draft, substitutions, cost, found, agrees, {}));
        QVERIFY(take(agrees(repaired.found.best->draft)));
        QStringList names;
        for (const std::string& name : repaired.leftOut)
            names << QString::fromStdString(name);
        QCOMPARE(names, leftOut);
        QCOMPARE(static_cast<int>(repaired.found.best->draft.order().size()), nodes);
        QVERIFY(asked < 30);
    }

    void graphsThatDifferAreToldApart() {
        const Graph graph = chain();
        GraphBuilder builder("chain");
        builder.setOpset("", 17);
        ValueId value = builder.addInput("x", TensorType(DType::f32, Shape{4, 5}));
        for (const char* op : {"Relu", "Neg", "Sigmoid"})
            value = builder.add(op, {value});
        builder.setOutputs({value});
        const GraphCheck same = take(compareGraphs(graph, graph, {}, {}));
        QVERIFY(same.same && same.difference == 0 && same.text.starts_with("outputs agree with the original's"));
        const GraphCheck other = take(compareGraphs(graph, take(builder.build()), {}, {}));
        QVERIFY(!other.same && other.difference > 0.01);
        QVERIFY2(QString::fromStdString(other.text).contains("more than rounding explains"), other.text.c_str());
    }

    // What is nothing between 0 and 1 is seen all the same, also where a model takes no negative number.
    void signsAreToldApart_data() {
        QTest::addColumn<QStringList>("before");
        QTest::addColumn<QStringList>("after");
        QTest::addColumn<bool>("same");
        QTest::newRow("relu of an input") << QStringList{"Relu"} << QStringList{"Identity"} << false;
        QTest::newRow("absolute input") << QStringList{"Abs"} << QStringList{"Identity"} << false;
        QTest::newRow("relu before a root") << QStringList{"Relu", "Sqrt"} << QStringList{"Sqrt"} << false;
        QTest::newRow("roots") << QStringList{"Sqrt"} << QStringList{"Sqrt"} << true;
        QTest::newRow("roots and a step more") << QStringList{"Sqrt"} << QStringList{"Sqrt", "Sqrt"} << false;
    }
    void signsAreToldApart() {
        QFETCH(QStringList, before);
        QFETCH(QStringList, after);
        QFETCH(bool, same);
        const auto graphOfOps = [](const QStringList& ops) {
            GraphBuilder builder("signs");
            builder.setOpset("", 17);
            ValueId value = builder.addInput("x", TensorType(DType::f32, Shape{4, 5}));
            for (const QString& op : ops)
                value = builder.add(op.toStdString(), {value});
            builder.setOutputs({value});
            return take(builder.build());
        };
        QCOMPARE(take(compareGraphs(graphOfOps(before), graphOfOps(after), {}, {})).same, same);
    }
};

QTEST_APPLESS_MAIN(TestRewriteRepair)
#include "tst_rewrite_repair.moc"
