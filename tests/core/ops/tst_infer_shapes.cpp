// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/base/log.h"
#include "core/graph/graph_builder.h"
#include "core/ops/coverage.h"
#include "core/ops/fold_constants.h"
#include "core/ops/infer_shapes.h"

using namespace tunesmith;

class InferShapesTest : public QObject {
    Q_OBJECT
private slots:
    void bindsNames();
    void bindsManyNames();
    void bindsPositions();
    void unknownNameListsTheModels();
    void contradictionsAreErrors();
    void staleShapesAreToldAndGivenUp_data();
    void staleShapesAreToldAndGivenUp();
    void whatSharesItsBytesKeepsItsElements_data();
    void whatSharesItsBytesKeepsItsElements();
    void shapesOfTooManyNumbersAreRefused_data();
    void shapesOfTooManyNumbersAreRefused();
    void whatALoopCarriesHasTheTypeOfEveryTurn_data();
    void whatALoopCarriesHasTheTypeOfEveryTurn();
    void slicesOfAScanHaveTheirType();
    void followsShapeComputations();
    void forgetsStaleTypesOnlyWithBindings();
    void unknownOperatorsStayOpaque();
    void unsupportedUseIsReportedNotRefused();
    void bodiesSeeTypesAround();
    void branchesThatCannotWorkAreNotTaken();
    void foldsWhatIsConstant();
    void keepsWhatWouldGrow();
    void keepsWhatTogetherWouldGrow();
    void countsOperatorsAndFlops();
};

namespace {

using Ints = std::vector<std::int64_t>;

// x[batch, 4, ?] -> Relu -> y
GraphBuilder reluModel() {
    GraphBuilder builder("m");
    builder.setOpset("", 13);
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Dims{Dim::named("batch"), 4, Dim()}));
    builder.setOutputs({builder.add("Relu", {x}, {}, 1, "y")});
    return builder;
}

std::string outputText(const Graph& graph, std::size_t i = 0) { return graph.value(graph.outputs()[i]).type.text(); }

// x -> Shape -> Gather(0) -> Unsqueeze -> Concat with -1 -> Reshape
GraphBuilder flattenByShape() {
    GraphBuilder builder("m");
    builder.setOpset("", 11);
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Dims{Dim::named("batch"), 4, 5}));
    const ValueId shape = builder.add("Shape", {x});
    const ValueId first = builder.add("Gather", {shape, builder.addConstant("", Tensor::scalar(std::int64_t(0)))});
    const ValueId list = builder.add("Unsqueeze", {first}, {{"axes", Ints{0}}});
    const ValueId rest = builder.addConstant("", Tensor::ofInts({-1}));
    const ValueId wanted = builder.add("Concat", {list, rest}, {{"axis", std::int64_t(0)}});
    builder.setOutputs({builder.add("Reshape", {x, wanted}, {}, 1, "y")});
    return builder;
}

} // namespace

void InferShapesTest::bindsNames() {
    const Graph graph = *reluModel().build();
    QCOMPARE(bindableDims(graph), (std::vector<std::string>{"batch", "x.2"}));
    QCOMPARE(outputText(*inferShapes(graph)), std::string("float32[batch,4,x.2]"));
    QCOMPARE(outputText(*inferShapes(graph, {{"batch", 2}})), std::string("float32[2,4,x.2]"));
    QCOMPARE(outputText(*inferShapes(graph, {{"batch", 2}, {"x.2", 0}})), std::string("float32[2,4,0]"));
}

void InferShapesTest::bindsManyNames() {
    constexpr int kInputs = 50'000;
    GraphBuilder builder;
    std::vector<ValueId> inputs;
    for (int i = 0; i < kInputs; ++i)
        inputs.push_back(builder.addInput("i" + std::to_string(i), TensorType(DType::f32, std::vector<Dim>{Dim::named("d" + std::to_string(i)), Dim::named("d0")})));
    builder.setOpset("", 17);
    builder.setOutputs({builder.add("Identity", {inputs.front()})});
    const Graph graph = *builder.build();
    QElapsedTimer clock;
    clock.start();
    QCOMPARE(bindableDims(graph).size(), std::size_t(kInputs));
    QVERIFY2(clock.elapsed() < 1000, qPrintable(QString::number(clock.elapsed())));
}

void InferShapesTest::bindsPositions() {
    const Graph graph = *reluModel().build();
    QCOMPARE(outputText(*inferShapes(graph, {{"x.0", 3}, {"x.1", 4}})), std::string("float32[3,4,x.2]"));
    QVERIFY(!inferShapes(graph, {{"x.1", 5}}).ok());
    QVERIFY(!inferShapes(graph, {{"x.0", 3}, {"batch", 4}}).ok());
}

void InferShapesTest::unknownNameListsTheModels() {
    const auto result = inferShapes(*reluModel().build(), {{"height", 3}});
    QVERIFY(!result.ok());
    QCOMPARE(result.error().message, std::string("the model has no symbolic dimension 'height'; it has batch, x.2"));
    QVERIFY(!inferShapes(*reluModel().build(), {{"batch", -3}}).ok());
}

void InferShapesTest::contradictionsAreErrors() {
    GraphBuilder builder("m");
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{2, 3}));
    const ValueId y = builder.add("Transpose", {x}, {}, 1, "turn");
    builder.setType(y, TensorType(DType::f32, Shape{2, 3}));
    builder.setOutputs({y});
    const auto result = inferShapes(*builder.build());
    QVERIFY(!result.ok());
    const QString message = QString::fromStdString(result.error().message);
    QVERIFY2(message.contains("'turn'") && message.contains("float32[3,2]") && message.contains("float32[2,3]"), qPrintable(message));
}

void InferShapesTest::staleShapesAreToldAndGivenUp_data() {
    QTest::addColumn<std::string>("declared");
    QTest::addColumn<bool>("told");
    QTest::newRow("extent") << std::string("4,9") << true;
    QTest::newRow("rank") << std::string("3") << true;
    QTest::newRow("fits") << std::string("3,2") << false;
}

// As other runtimes do it: what follows from the inputs holds.
void InferShapesTest::staleShapesAreToldAndGivenUp() {
    QFETCH(std::string, declared);
    QFETCH(bool, told);
    Shape shape;
    for (const QString& extent : QString::fromStdString(declared).split(','))
        shape.push_back(extent.toInt());
    GraphBuilder builder("m");
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{2, 3}));
    const ValueId turned = builder.add("Transpose", {x}, {}, 1, "turn");
    builder.setType(turned, TensorType(DType::f32, shape));
    builder.setOutputs({builder.add("Neg", {turned})});
    StaleShapes stale;
    const auto graph = inferShapes(*builder.build(), {}, &stale);
    QVERIFY2(graph.ok(), graph.ok() ? "" : graph.error().message.c_str());
    QCOMPARE(outputText(*graph), std::string("float32[3,2]"));
    QCOMPARE(stale.size(), std::size_t(told));
    QVERIFY(!told || stale[0].find("'turn'") != std::string::npos);
    QVERIFY(inferShapes(*graph).ok()); // nothing is stale any more
    builder.setType(turned, TensorType(DType::i32, Shape{3, 2}));
    QVERIFY(!inferShapes(*builder.build(), {}, &stale).ok()); // element types are never given up
}

void InferShapesTest::whatSharesItsBytesKeepsItsElements_data() {
    QTest::addColumn<std::string>("op");
    for (const char* op : {"Reshape", "Squeeze", "Unsqueeze"})
        QTest::newRow(op) << std::string(op);
}

// Where the shape is known only when the model runs, a declaration is all there is: it must fit the elements.
void InferShapesTest::whatSharesItsBytesKeepsItsElements() {
    QFETCH(std::string, op);
    GraphBuilder builder("m");
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{2, 1, 3}));
    const ValueId list = builder.addInput("list", TensorType(DType::i64, op == "Reshape" ? Shape{4} : Shape{1}));
    const ValueId y = builder.add(op, {x, list}, {}, 1, "same");
    builder.setOutputs({builder.add("Neg", {y})});
    builder.setType(y, TensorType(DType::f32, Shape{1, 2, 1, 3}));
    StaleShapes stale;
    QVERIFY(op == "Squeeze" || inferShapes(*builder.build(), {}, &stale).ok());
    QVERIFY(stale.empty());
    builder.setType(y, TensorType(DType::f32, Shape{1, 2, 1, 4}));
    QVERIFY(!inferShapes(*builder.build()).ok());
    const auto given = inferShapes(*builder.build(), {}, &stale);
    QVERIFY2(given.ok(), given.ok() ? "" : given.error().message.c_str());
    QCOMPARE(stale.size(), std::size_t{1});
    QVERIFY(!given->value(given->outputs()[0]).type.isStatic());
}

void InferShapesTest::shapesOfTooManyNumbersAreRefused_data() {
    QTest::addColumn<std::string>("op");
    for (const char* op : {"Reshape", "Expand", "ConstantOfShape"})
        QTest::newRow(op) << std::string(op);
}

void InferShapesTest::shapesOfTooManyNumbersAreRefused() {
    QFETCH(std::string, op);
    GraphBuilder builder("m");
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{2}));
    const ValueId list = builder.addInput("list", TensorType(DType::i64, Shape{std::int64_t{1} << 34}));
    builder.setOutputs({builder.add(op, op == "ConstantOfShape" ? std::vector<ValueId>{list} : std::vector<ValueId>{x, list}, {}, 1, "many")});
    const auto refused = inferShapes(*builder.build());
    QVERIFY(!refused.ok());
    QVERIFY2(refused.error().message.find("'many'") != std::string::npos && refused.error().message.find("dimensions") != std::string::npos,
             refused.error().message.c_str());
}

namespace {

using Body = std::shared_ptr<const Graph>;

// A loop whose body makes of its state what `op` makes of it; the body states no types, as some exporters write it.
GraphBuilder loopOver(const char* op, const std::vector<std::int64_t>& constantOperand) {
    GraphBuilder body("body");
    body.addInput("turn", {});
    const ValueId on = body.addInput("on", {}), state = body.addInput("state", {});
    std::vector<ValueId> operands{state};
    if (std::string(op) == "Concat")
        operands.push_back(state);
    else if (!constantOperand.empty())
        operands.push_back(body.addConstant("", Tensor::ofInts(constantOperand)));
    const ValueId next = std::string(op) == "Concat" ? body.add(op, operands, {{"axis", std::int64_t(0)}}) : body.add(op, operands);
    body.setOutputs({body.add("Identity", {on}), next, body.add("Identity", {next})});
    GraphBuilder builder("m");
    builder.setOpset("", 13);
    const ValueId turns = builder.addInput("turns", TensorType(DType::i64, Shape{})), x = builder.addInput("x", TensorType(DType::f32, Shape{2, 3}));
    Node loop;
    loop.op = "Loop";
    loop.name = "loop";
    loop.inputs = {turns, ValueId(), x};
    loop.outputs = {builder.addValue("last"), builder.addValue("all")};
    loop.attributes["body"] = std::make_shared<const Graph>(*body.build());
    const std::vector<ValueId> outputs = loop.outputs;
    builder.addNode(std::move(loop));
    builder.setOutputs(outputs);
    return builder;
}

} // namespace

void InferShapesTest::whatALoopCarriesHasTheTypeOfEveryTurn_data() {
    QTest::addColumn<std::string>("op");
    QTest::addColumn<std::vector<std::int64_t>>("operand");
    QTest::addColumn<std::string>("state");
    QTest::addColumn<std::string>("gathered");
    QTest::newRow("the same on every turn") << std::string("Relu") << Ints{} << std::string("float32[2,3]") << std::string("float32[?,2,3]");
    QTest::newRow("grows") << std::string("Concat") << Ints{} << std::string("float32[?,3]") << std::string("float32[?,?,3]");
    QTest::newRow("turns round") << std::string("Transpose") << Ints{} << std::string("float32[?,?]") << std::string("float32[?,?,?]");
    QTest::newRow("another rank") << std::string("Unsqueeze") << Ints{0} << std::string("float32[...]") << std::string("float32[...]");
}

void InferShapesTest::whatALoopCarriesHasTheTypeOfEveryTurn() {
    QFETCH(std::string, op);
    QFETCH(std::vector<std::int64_t>, operand);
    QFETCH(std::string, state);
    QFETCH(std::string, gathered);
    const auto graph = inferShapes(*loopOver(op.c_str(), operand).build());
    QVERIFY2(graph.ok(), graph.ok() ? "" : graph.error().message.c_str());
    const Graph& body = *std::get<Body>(graph->nodes()[0]->attributes.at("body"));
    const auto typeOf = [&](std::size_t i) { return body.value(body.inputs()[i]).type.text(); };
    QCOMPARE(typeOf(0), std::string("int64[]"));
    QCOMPARE(typeOf(1), std::string("bool[]"));
    QCOMPARE(typeOf(2), state);
    QCOMPARE(outputText(*graph), state);
    QCOMPARE(outputText(*graph, 1), gathered);
}

void InferShapesTest::slicesOfAScanHaveTheirType() {
    GraphBuilder body("body");
    const ValueId sum = body.addInput("sum", {}), slice = body.addInput("slice", {});
    const ValueId next = body.add("Add", {sum, slice});
    body.setOutputs({next, body.add("Identity", {next})});
    GraphBuilder builder("m");
    builder.setOpset("", 13);
    const ValueId start = builder.addInput("start", TensorType(DType::f32, Shape{4})), x = builder.addInput("x", TensorType(DType::f32, Shape{4, 7}));
    Node scan;
    scan.op = "Scan";
    scan.inputs = {start, x};
    scan.outputs = {builder.addValue("last"), builder.addValue("all")};
    scan.attributes = {{"body", std::make_shared<const Graph>(*body.build())},
                       {"num_scan_inputs", std::int64_t(1)},
                       {"scan_input_axes", Ints{-1}},
                       {"scan_output_axes", Ints{1}}};
    const std::vector<ValueId> outputs = scan.outputs;
    builder.addNode(std::move(scan));
    builder.setOutputs(outputs);
    const auto graph = inferShapes(*builder.build());
    QVERIFY2(graph.ok(), graph.ok() ? "" : graph.error().message.c_str());
    const Graph& typed = *std::get<Body>(graph->nodes()[0]->attributes.at("body"));
    QCOMPARE(typed.value(typed.inputs()[1]).type.text(), std::string("float32[4]"));
    QCOMPARE(outputText(*graph), std::string("float32[4]"));
    QCOMPARE(outputText(*graph, 1), std::string("float32[4,7]"));
}

void InferShapesTest::followsShapeComputations() {
    const Graph graph = *flattenByShape().build();
    QCOMPARE(outputText(*inferShapes(graph, {{"batch", 7}})), std::string("float32[7,20]"));
    QCOMPARE(outputText(*inferShapes(graph)), std::string("float32[?,?]"));
}

void InferShapesTest::forgetsStaleTypesOnlyWithBindings() {
    GraphBuilder builder = reluModel();
    builder.setType(builder.outputs()[0], TensorType(DType::f32, Shape{1, 4, 9}));
    const Graph graph = *builder.build();
    QCOMPARE(outputText(*inferShapes(graph)), std::string("float32[1,4,9]"));
    QCOMPARE(outputText(*inferShapes(graph, {{"batch", 2}, {"x.2", 6}})), std::string("float32[2,4,6]"));
}

void InferShapesTest::unknownOperatorsStayOpaque() {
    GraphBuilder builder("m");
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{2}));
    const ValueId strange = builder.add("Frobnicate", {x}, {}, 1, "strange");
    builder.setOutputs({builder.add("Relu", {strange})});
    const auto graph = inferShapes(*builder.build());
    QVERIFY(graph.ok());
    QVERIFY(!graph->value(graph->outputs()[0]).type.dims);
    const Coverage found = coverage(*graph);
    QCOMPARE(found.notComputed.size(), std::size_t(1));
    QCOMPARE(found.notComputed[0].node, std::string("strange"));
    QCOMPARE(found.notCompiled.size(), std::size_t(1));
    QCOMPARE(foldConstants(*graph)->nodeCount(), std::size_t(2));
}

void InferShapesTest::unsupportedUseIsReportedNotRefused() {
    GraphBuilder builder("m");
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{2}));
    builder.setOutputs({builder.add("Pad", {x, builder.addConstant("", Tensor::ofInts({1, 1}))}, {{"mode", std::string("spiral")}}, 1, "odd")});
    const auto graph = inferShapes(*builder.build());
    QVERIFY(graph.ok());
    const Coverage found = coverage(*graph);
    QCOMPARE(found.notComputed.size(), std::size_t(1));
    QVERIFY(QString::fromStdString(found.notComputed[0].reason).contains("spiral"));
}

void InferShapesTest::bodiesSeeTypesAround() {
    const auto branch = [](const char* op) {
        GraphBuilder body(op);
        const ValueId captured = body.addCapture("x", {});
        body.setOutputs({body.add(op, {captured})});
        return std::make_shared<const Graph>(*body.build());
    };
    GraphBuilder builder("m");
    builder.addInput("x", TensorType(DType::f32, Shape{2, 3}));
    const ValueId condition = builder.addInput("c", TensorType(DType::boolean, Shape{}));
    builder.setOutputs({builder.add("If", {condition}, {{"then_branch", branch("Relu")}, {"else_branch", branch("Neg")}})});
    QCOMPARE(outputText(*inferShapes(*builder.build())), std::string("float32[2,3]"));
}

// x[batch, 4] -> If(c): drop the first dimension, or leave x as it is.
void InferShapesTest::branchesThatCannotWorkAreNotTaken() {
    const auto branch = [](const char* op, const std::map<std::string, Attribute>& attributes) {
        GraphBuilder body(op);
        const ValueId captured = body.addCapture("x", {});
        body.setOutputs({body.add(op, {captured}, attributes)});
        return std::make_shared<const Graph>(*body.build());
    };
    const auto squeeze = branch("Squeeze", {{"axes", Ints{0}}}), identity = branch("Identity", {});
    const auto model = [](const auto& then, const auto& otherwise, const Tensor& condition) {
        GraphBuilder builder("m");
        builder.setOpset("", 11);
        builder.addInput("x", TensorType(DType::f32, Dims{Dim::named("batch"), 4}));
        const ValueId c = condition.absent() ? builder.addInput("c", TensorType(DType::boolean, Shape{}))
                                             : builder.addConstant("c", condition);
        builder.setOutputs({builder.add("If", {c}, {{"then_branch", then}, {"else_branch", otherwise}})});
        return *builder.build();
    };
    const auto inferred = inferShapes(model(squeeze, identity, {}), {{"batch", 3}});
    QVERIFY2(inferred.ok(), inferred.ok() ? "" : inferred.error().message.c_str());
    QCOMPARE(outputText(*inferred), std::string("float32[3,4]"));
    QCOMPARE(outputText(*inferShapes(model(identity, squeeze, {}), {{"batch", 3}})), std::string("float32[3,4]"));
    QCOMPARE(outputText(*inferShapes(model(squeeze, identity, {}), {{"batch", 1}})), std::string("float32[...]"));
    QVERIFY(!inferShapes(model(squeeze, squeeze, {}), {{"batch", 3}}).ok());
    QVERIFY(!inferShapes(model(squeeze, identity, Tensor::scalar(true)), {{"batch", 3}}).ok());
    QVERIFY(inferShapes(model(squeeze, identity, Tensor::scalar(false)), {{"batch", 3}}).ok());
}

void InferShapesTest::foldsWhatIsConstant() {
    GraphBuilder builder = flattenByShape();
    builder.setType(ValueId(0), TensorType(DType::f32, Shape{7, 4, 5}));
    const auto folded = foldConstants(*builder.build());
    QVERIFY(folded.ok());
    QCOMPARE(folded->nodeCount(), std::size_t(1));
    QCOMPARE(folded->node(NodeId(0)).op, std::string("Reshape"));
    QCOMPARE(folded->value(folded->node(NodeId(0)).inputs[1]).constant.asInts(), (Ints{7, -1}));
    QCOMPARE(folded->inputs().size(), std::size_t(1));
}

void InferShapesTest::keepsWhatWouldGrow() {
    GraphBuilder builder("m");
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{1}));
    const ValueId weight = builder.add("ConstantOfShape", {builder.addConstant("", Tensor::ofInts({1 << 20}))});
    builder.setOutputs({builder.add("Mul", {x, weight})});
    const Graph graph = *builder.build();
    QCOMPARE(foldConstants(graph)->nodeCount(), std::size_t(2));
    QCOMPARE(foldConstants(graph, FoldOptions::weights())->nodeCount(), std::size_t(1));
    FoldOptions tight = FoldOptions::weights();
    tight.maxResultBytes = 1 << 10;
    QCOMPARE(foldConstants(graph, tight)->nodeCount(), std::size_t(2));
}

void InferShapesTest::keepsWhatTogetherWouldGrow() {
    GraphBuilder builder("m");
    ValueId sum = builder.addInput("x", TensorType(DType::f32, Shape{1}));
    for (int i = 0; i < 4; ++i)
        sum = builder.add("Mul", {sum, builder.add("ConstantOfShape", {builder.addConstant("", Tensor::ofInts({1 << 20}))}, {}, 1, "c" + std::to_string(i))});
    builder.setOutputs({sum});
    const Graph graph = *builder.build();
    FoldOptions options = FoldOptions::weights();
    QCOMPARE(foldConstants(graph, options)->nodeCount(), std::size_t(4));
    options.sumBytes = 9 << 20;
    std::vector<std::string> told;
    setLogSink([&](LogLevel, const std::string& message) { told.push_back(message); });
    const Graph folded = *foldConstants(graph, options);
    setLogSink({});
    QCOMPARE(folded.nodeCount(), std::size_t(6));
    QVERIFY(folded.findNode("c2").valid() && !folded.findNode("c1").valid());
    QCOMPARE(told.size(), std::size_t(1));
    QVERIFY2(told[0].find("'c2' (ConstantOfShape) is not folded") != std::string::npos, told[0].c_str());
}

void InferShapesTest::countsOperatorsAndFlops() {
    GraphBuilder builder("m");
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{2, 8}));
    const ValueId w = builder.addConstant("w", Tensor::zeros(DType::f32, {8, 4}));
    builder.setOutputs({builder.add("Relu", {builder.add("MatMul", {x, w})})});
    const Coverage found = coverage(*inferShapes(*builder.build()));
    QCOMPARE(found.parameters, std::int64_t(32));
    QCOMPARE(found.operators.at("MatMul"), std::int64_t(1));
    QVERIFY(found.flopsComplete && found.notCompiled.empty() && found.notComputed.empty());
    QVERIFY(found.flops >= 2 * 2 * 8 * 4 && found.flops <= 2 * 2 * 8 * 4 + 2 * 8);
}

QTEST_APPLESS_MAIN(InferShapesTest)
#include "tst_infer_shapes.moc"
