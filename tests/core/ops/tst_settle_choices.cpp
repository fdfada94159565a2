// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/check/equivalence.h"
#include "core/check/random_inputs.h"
#include "core/graph/graph_builder.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "core/ops/settle_choices.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

using Body = std::shared_ptr<const Graph>;

const TensorType kTruth(DType::boolean, Shape{}), kRows(DType::f32, Shape{3, 2});

// How many nodes of an operator there are, in bodies too.
int countOf(const Graph& graph, const std::string& op) {
    int count = 0;
    for (const auto& node : graph.nodes()) {
        count += node->op == op;
        for (const auto& [key, attribute] : node->attributes)
            if (const auto* body = std::get_if<Body>(&attribute))
                count += countOf(**body, op);
    }
    return count;
}

Body finished(GraphBuilder& builder, ValueId output) {
    builder.setOutputs({output});
    return std::make_shared<const Graph>(take(builder.build()));
}

// A body that only reads x.
Body reading(const char* op) {
    GraphBuilder body(op);
    return finished(body, body.add(op, {body.addCapture("x", kRows)}));
}

Body squeezing() {
    GraphBuilder body("squeezing");
    const ValueId axes = body.addConstant("", Tensor::ofInts({0}));
    return finished(body, body.add("Squeeze", {body.addCapture("x", kRows), axes}));
}

ValueId addChoice(GraphBuilder& builder, ValueId condition, const Body& then, const Body& otherwise,
                  const char* name = "choice") {
    return builder.add("If", {condition}, {{"then_branch", then}, {"else_branch", otherwise}}, 1, name);
}

ValueId addFirstExtentIs(GraphBuilder& builder, ValueId x, std::int64_t extent) {
    const ValueId first = builder.add(
        "Gather", {builder.add("Shape", {x}), builder.addConstant("", Tensor::scalar(std::int64_t{0}))});
    return builder.add("Equal", {first, builder.addConstant("", Tensor::scalar(extent))});
}

Graph modelOf(GraphBuilder& builder, ValueId output) {
    builder.setOpset("", 17);
    builder.setOutputs({output});
    return take(inferShapes(take(builder.build())));
}

// The settled graph, which gives the same numbers.
Graph settled(const Graph& model) {
    const Graph graph = take(settleChoices(model));
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
        const auto inputs = take(randomInputs(model, seed));
        const Status same =
            requireEquivalent(take(Interpreter(model).run(inputs)), take(Interpreter(graph).run(inputs)));
        if (!same.ok())
            qFatal("%s", same.error().message.c_str());
    }
    return graph;
}

} // namespace

class TestSettleChoices : public QObject {
    Q_OBJECT

private slots:
    void aKnownChoiceBecomesItsBranch() {
        for (const bool taken : {true, false}) {
            GraphBuilder builder;
            builder.addInput("x", kRows);
            const ValueId condition = builder.addConstant("", Tensor::scalar(taken));
            const Graph graph =
                settled(modelOf(builder, addChoice(builder, condition, reading("Exp"), reading("Neg"))));
            QCOMPARE(countOf(graph, "If"), 0);
            QCOMPARE(countOf(graph, "Exp"), int(taken));
            QCOMPARE(countOf(graph, "Neg"), int(!taken));
        }
    }

    void anOpenChoiceStays() {
        GraphBuilder builder;
        builder.addInput("x", kRows);
        const ValueId condition = builder.addInput("condition", kTruth);
        const Graph graph =
            settled(modelOf(builder, addChoice(builder, condition, reading("Exp"), reading("Neg"))));
        QCOMPARE(countOf(graph, "If"), 1);
        QCOMPARE(countOf(graph, "Exp") + countOf(graph, "Neg"), 2);
    }

    // The branch that is not taken squeezes an axis of 3, as exporters write it for batches of one; only the
    // innermost bodies read x.
    void choicesWithinBodiesFollowTheShapes() {
        GraphBuilder inner("inner");
        const ValueId x = inner.addCapture("x", kRows);
        const ValueId one = addFirstExtentIs(inner, x, 1);
        const Body choosing =
            finished(inner, addChoice(inner, one, squeezing(), reading("Relu"), "by shape"));
        GraphBuilder between("between");
        const Body passing = finished(between, addChoice(between, between.addCapture("flag", kTruth),
                                                         choosing, reading("Neg"), "second"));
        GraphBuilder builder;
        builder.addInput("x", kRows);
        const ValueId flag = builder.addInput("flag", kTruth);
        const Graph graph = settled(modelOf(builder, addChoice(builder, flag, passing, reading("Exp"))));
        QCOMPARE(countOf(graph, "If"), 2);
        QCOMPARE(countOf(graph, "Shape") + countOf(graph, "Squeeze"), 0);
        QCOMPARE(countOf(graph, "Relu"), 1);
    }

    // Only one branch can work with these shapes, and whether it is meant is not known: it is what is computed, and
    // its result counts only where it is meant.
    void aBranchThatCannotWorkIsLeftOut() {
        for (const bool first : {true, false}) {
            GraphBuilder builder;
            const ValueId x = builder.addInput("x", kRows);
            const ValueId meant = builder.addInput("meant", kTruth);
            const Graph model = modelOf(builder, addChoice(builder, meant, first ? reading("Neg") : squeezing(),
                                                           first ? squeezing() : reading("Neg")));
            const auto told = impossibleBranches(model);
            QCOMPARE(told.size(), std::size_t(1));
            QVERIFY(told[0].find(first ? "else_branch" : "then_branch") != std::string::npos);
            const Graph graph = take(settleChoices(model));
            QCOMPARE(countOf(graph, "If") + countOf(graph, "Squeeze"), 0);
            QVERIFY(graph.value(graph.outputs()[0]).type == kRows);
            const Tensor rows = take(randomInputs(graph, 1))[0];
            const auto outputOf = [&](bool condition) {
                return take(Interpreter(graph).run(std::vector<Tensor>{rows, Tensor::scalar(condition)}))[0];
            };
            QCOMPARE(outputOf(first).asDouble(0), -rows.asDouble(0));
            QVERIFY(std::isnan(outputOf(!first).asDouble(0)));
            static_cast<void>(x);
        }
    }

    void whereBothBranchesWorkNothingIsTold() {
        GraphBuilder builder;
        builder.addInput("x", kRows);
        const ValueId condition = builder.addInput("condition", kTruth);
        QVERIFY(impossibleBranches(modelOf(builder, addChoice(builder, condition, reading("Exp"), reading("Neg")))).empty());
    }

    void constantsAroundABodySettleIt() {
        GraphBuilder body("body");
        const ValueId known = body.addCapture("known", kTruth);
        const Body choosing =
            finished(body, addChoice(body, known, reading("Exp"), reading("Relu"), "inner choice"));
        GraphBuilder builder;
        builder.addInput("x", kRows);
        builder.addConstant("known", Tensor::scalar(false));
        const ValueId flag = builder.addInput("flag", kTruth);
        const Graph graph = settled(modelOf(builder, addChoice(builder, flag, choosing, reading("Neg"))));
        QCOMPARE(countOf(graph, "If"), 1);
        QCOMPARE(countOf(graph, "Exp"), 0);
    }

    void theTurnsOfALoopKeepTheirChoice() {
        GraphBuilder body("body");
        const ValueId turn = body.addInput("turn", TensorType(DType::i64, Shape{}));
        const ValueId on = body.addInput("on", kTruth);
        body.addInput("x", kRows);
        const ValueId first =
            body.add("Equal", {turn, body.addConstant("", Tensor::scalar(std::int64_t{0}))});
        const ValueId next = addChoice(body, first, reading("Relu"), reading("Neg"), "by turn");
        body.setOutputs({body.add("Identity", {on}), next});
        GraphBuilder builder;
        const ValueId turns = builder.addConstant("", Tensor::scalar(std::int64_t{3}));
        const Body turned = std::make_shared<const Graph>(take(body.build()));
        const ValueId last =
            builder.add("Loop", {turns, ValueId(), builder.addInput("start", kRows)}, {{"body", turned}});
        const Graph graph = settled(modelOf(builder, last));
        QCOMPARE(countOf(graph, "If"), 1);
        QCOMPARE(countOf(graph, "Loop"), 1);
    }

    void stops() {
        GraphBuilder builder;
        builder.addInput("x", kRows);
        const ValueId condition = builder.addInput("condition", kTruth);
        const Graph model = modelOf(builder, addChoice(builder, condition, reading("Exp"), reading("Neg")));
        StopSource source;
        source.requestStop();
        FoldOptions options;
        options.stop = source.token();
        const auto stopped = settleChoices(model, options);
        QVERIFY(!stopped.ok() && stopped.error().isCancelled());
    }
};

QTEST_APPLESS_MAIN(TestSettleChoices)
#include "tst_settle_choices.moc"
