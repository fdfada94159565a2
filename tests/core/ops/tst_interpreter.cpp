// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/base/memory_budget.h"
#include "core/graph/graph_builder.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"

using namespace tunesmith;

class InterpreterTest : public QObject {
    Q_OBJECT
private slots:
    void runsAndObserves();
    void checksInputs_data();
    void checksInputs();
    void unknownOperatorIsNamed();
    void stops();
    void memoryLimit();
    void sharedBytesNeedNoMemory();
    void nanPassesThrough();
    void emptyTensors();
    void branches();
    void loopsUntilTheConditionFails();
    void scansBackwards();
    void scansBatchesInOpset8();
};

namespace {

using Ints = std::vector<std::int64_t>;

Tensor floats(const Shape& shape, const std::vector<float>& values) { return Tensor::of<float>(shape, values); }
std::vector<float> valuesOf(const Tensor& tensor) { return {tensor.data<float>().begin(), tensor.data<float>().end()}; }

Graph addModel() { // y = relu(a + b), a and b of the same named length
    GraphBuilder builder("m");
    const ValueId a = builder.addInput("a", TensorType(DType::f32, Dims{Dim::named("n"), 2}));
    const ValueId b = builder.addInput("b", TensorType(DType::f32, Dims{Dim::named("n"), 2}));
    builder.setOutputs({builder.add("Relu", {builder.add("Add", {a, b}, {}, 1, "sum")}, {}, 1, "y")});
    return *builder.build();
}

std::shared_ptr<const Graph> shared(GraphBuilder& builder) { return std::make_shared<const Graph>(*builder.build()); }

} // namespace

void InterpreterTest::runsAndObserves() {
    RunOptions options;
    std::vector<std::string> seen;
    options.observer = [&](const Node& node, const std::vector<Tensor>& outputs, double seconds) {
        seen.push_back(node.op + " " + shapeText(outputs.at(0).shape()) + (seconds >= 0 ? "" : " negative"));
    };
    const std::map<std::string, Tensor> inputs{{"b", floats({1, 2}, {1, 2})}, {"a", floats({1, 2}, {-5, 5})}};
    const auto result = Interpreter(addModel()).run(inputs, options);
    QVERIFY(result.ok());
    QCOMPARE(valuesOf(result->front()), (std::vector<float>{0, 7}));
    QCOMPARE(seen, (std::vector<std::string>{"Add 1x2", "Relu 1x2"}));
}

void InterpreterTest::checksInputs_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<int>("rows");
    QTest::addColumn<int>("columns");
    QTest::addColumn<QString>("says");
    QTest::newRow("other extent") << "b" << 1 << 3 << "input 'b': expected float32[n,2] with n=1, got float32[1,3]";
    QTest::newRow("other value of a name") << "b" << 4 << 2 << "input 'b': expected float32[n,2] with n=1, got float32[4,2]";
    QTest::newRow("no such input") << "c" << 1 << 2 << "input 'b' (float32[n,2]) is not given";
}

void InterpreterTest::checksInputs() {
    QFETCH(QString, name);
    QFETCH(int, rows);
    QFETCH(int, columns);
    QFETCH(QString, says);
    const std::map<std::string, Tensor> inputs{{"a", floats({1, 2}, {1, 2})},
                                               {name.toStdString(), Tensor::zeros(DType::f32, {rows, columns})}};
    const auto result = Interpreter(addModel()).run(inputs);
    QVERIFY(!result.ok());
    QCOMPARE(QString::fromStdString(result.error().message), says);
}

void InterpreterTest::unknownOperatorIsNamed() {
    GraphBuilder builder("m");
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{1}));
    builder.setOutputs({builder.add("Frobnicate", {x}, {}, 1, "strange")});
    const auto result = Interpreter(*builder.build()).run(std::vector<Tensor>{floats({1}, {1})});
    QVERIFY(!result.ok());
    QVERIFY(result.error().kind == ErrorKind::unsupported);
    QCOMPARE(result.error().message, std::string("node 'strange': the operator Frobnicate is not supported"));
}

void InterpreterTest::stops() {
    StopSource source;
    source.requestStop();
    RunOptions options;
    options.stop = source.token();
    const auto result = Interpreter(addModel()).run(std::vector<Tensor>{floats({1, 2}, {1, 2}), floats({1, 2}, {1, 2})}, options);
    QVERIFY(!result.ok() && result.error().isCancelled());
}

void InterpreterTest::memoryLimit() {
    RunOptions options;
    options.memoryLimit = 7;
    const auto result = Interpreter(addModel()).run(std::vector<Tensor>{floats({1, 2}, {1, 2}), floats({1, 2}, {1, 2})}, options);
    QVERIFY(!result.ok());
    QVERIFY(QString::fromStdString(result.error().message).contains("'sum'"));
}

void InterpreterTest::sharedBytesNeedNoMemory() {
    GraphBuilder builder("flat");
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{1024, 1024}));
    builder.setOutputs({builder.add("Flatten", {builder.add("Identity", {x})})});
    const Graph flat = *inferShapes(*builder.build());
    const std::vector<Tensor> inputs{Tensor::zeros(DType::f32, {1024, 1024})};
    limitValueMemory(usedValueMemory() + (1 << 20)); // a quarter of x
    const auto result = Interpreter(flat).run(inputs);
    limitValueMemory(std::int64_t(1) << 40);
    QVERIFY2(result.ok(), result.ok() ? "" : result.error().message.c_str());
}

void InterpreterTest::nanPassesThrough() {
    const auto result = Interpreter(addModel()).run(std::vector<Tensor>{floats({1, 2}, {NAN, 1}), floats({1, 2}, {1, INFINITY})});
    QVERIFY(result.ok());
    QVERIFY(std::isnan(valuesOf(result->front())[0]) && std::isinf(valuesOf(result->front())[1]));
}

void InterpreterTest::emptyTensors() {
    const auto result = Interpreter(addModel()).run(std::vector<Tensor>{floats({0, 2}, {}), floats({0, 2}, {})});
    QVERIFY(result.ok());
    QCOMPARE(result->front().shape(), (Shape{0, 2}));
}

void InterpreterTest::branches() {
    const auto branch = [](const char* op) {
        GraphBuilder body(op);
        const ValueId captured = body.addCapture("x", TensorType(DType::f32, Shape{1}));
        body.setOutputs({body.add(op, {captured})});
        return shared(body);
    };
    GraphBuilder builder("m");
    builder.addInput("x", TensorType(DType::f32, Shape{1}));
    const ValueId c = builder.addInput("c", TensorType(DType::boolean, Shape{}));
    builder.setOutputs({builder.add("If", {c}, {{"then_branch", branch("Neg")}, {"else_branch", branch("Identity")}})});
    const Interpreter interpreter(*builder.build());
    for (const bool taken : {true, false}) {
        const auto result = interpreter.run(std::vector<Tensor>{floats({1}, {3}), Tensor::scalar(taken)});
        QVERIFY(result.ok());
        QCOMPARE(valuesOf(result->front()), (std::vector<float>{taken ? -3.0f : 3.0f}));
    }
}

// Doubles a number until it exceeds a captured limit, and lists the numbers on the way.
void InterpreterTest::loopsUntilTheConditionFails() {
    GraphBuilder body("body");
    body.addInput("i", TensorType(DType::i64, Shape{}));
    body.addInput("cond", TensorType(DType::boolean, Shape{}));
    const ValueId state = body.addInput("state", TensorType(DType::f32, Shape{}));
    const ValueId limit = body.addCapture("limit", TensorType(DType::f32, Shape{}));
    const ValueId twice = body.add("Add", {state, state});
    body.setOutputs({body.add("Less", {twice, limit}), twice, twice});
    GraphBuilder builder("m");
    builder.addInput("limit", TensorType(DType::f32, Shape{}));
    const ValueId start = builder.addConstant("start", Tensor::scalar(1.0f));
    const ValueId last = builder.add("Loop", {ValueId(), ValueId(), start}, {{"body", shared(body)}}, 2);
    builder.setOutputs({last, builder.node(NodeId(0)).outputs[1]});
    const Interpreter interpreter(*builder.build());
    const auto result = interpreter.run(std::vector<Tensor>{Tensor::scalar(10.0f)});
    QVERIFY2(result.ok(), result.ok() ? "" : result.error().message.c_str());
    QCOMPARE(valuesOf((*result)[0]), (std::vector<float>{16}));
    QCOMPARE(valuesOf((*result)[1]), (std::vector<float>{2, 4, 8, 16}));
    // Four turns end it; three are not enough.
    RunOptions options;
    options.mostBodyRuns = 4;
    QVERIFY(interpreter.run(std::vector<Tensor>{Tensor::scalar(10.0f)}, options).ok());
    options.mostBodyRuns = 3;
    const auto refused = interpreter.run(std::vector<Tensor>{Tensor::scalar(10.0f)}, options);
    QVERIFY(!refused.ok());
    QVERIFY2(refused.error().message.find("(Loop) does not end") != std::string::npos, refused.error().message.c_str());
}

void InterpreterTest::scansBackwards() { // running sums from the end
    GraphBuilder body("body");
    const ValueId sum = body.addInput("sum", TensorType(DType::f32, Shape{}));
    const ValueId next = body.addInput("next", TensorType(DType::f32, Shape{}));
    const ValueId total = body.add("Add", {sum, next});
    body.setOutputs({total, body.add("Identity", {total})});
    GraphBuilder builder("m");
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Dims{Dim::named("n")}));
    const ValueId zero = builder.addConstant("zero", Tensor::scalar(0.0f));
    const ValueId last = builder.add("Scan", {zero, x},
                                     {{"body", shared(body)}, {"num_scan_inputs", std::int64_t(1)}, {"scan_input_directions", Ints{1}}}, 2);
    builder.setOutputs({last, builder.node(NodeId(0)).outputs[1]});
    const auto result = Interpreter(*builder.build()).run(std::vector<Tensor>{floats({3}, {1, 2, 3})});
    QVERIFY2(result.ok(), result.ok() ? "" : result.error().message.c_str());
    QCOMPARE(valuesOf((*result)[0]), (std::vector<float>{6}));
    QCOMPARE(valuesOf((*result)[1]), (std::vector<float>{3, 5, 6}));
}

// In opset 8 everything has a batch axis, and sequences have their own lengths; what lies behind the end is zero.
void InterpreterTest::scansBatchesInOpset8() {
    GraphBuilder body("body");
    const ValueId sum = body.addInput("sum", TensorType(DType::f32, Shape{}));
    const ValueId next = body.addInput("next", TensorType(DType::f32, Shape{}));
    const ValueId total = body.add("Add", {sum, next});
    body.setOutputs({total, body.add("Identity", {total})});
    GraphBuilder builder("m");
    builder.setOpset({}, 8);
    const ValueId lengths = builder.addInput("lengths", TensorType(DType::i64, Dims{2}));
    const ValueId start = builder.addInput("start", TensorType(DType::f32, Dims{2}));
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Dims{2, Dim::named("n")}));
    std::map<std::string, Attribute> attributes{{"body", shared(body)}, {"num_scan_inputs", std::int64_t(1)}};
    const ValueId last = builder.add("Scan", {lengths, start, x}, attributes, 2);
    builder.setOutputs({last, builder.node(NodeId(0)).outputs[1]});
    const Graph graph = *builder.build();
    const Tensor starts = floats({2}, {10, 20}), sequences = floats({2, 3}, {1, 2, 3, 4, 5, 6});
    const auto result = Interpreter(graph).run(std::vector<Tensor>{Tensor::ofInts({3, 1}), starts, sequences});
    QVERIFY2(result.ok(), result.ok() ? "" : result.error().message.c_str());
    QCOMPARE(valuesOf((*result)[0]), (std::vector<float>{16, 24}));
    QCOMPARE((*result)[1].shape(), (Shape{2, 3}));
    QCOMPARE(valuesOf((*result)[1]), (std::vector<float>{11, 13, 16, 24, 0, 0}));
    const auto none = Interpreter(graph).run(std::vector<Tensor>{Tensor::ofInts({0, 0}), starts, sequences});
    QVERIFY2(none.ok(), none.ok() ? "" : none.error().message.c_str());
    QCOMPARE(valuesOf((*none)[0]), (std::vector<float>{10, 20}));
    QCOMPARE(valuesOf((*none)[1]), (std::vector<float>(6, 0)));
    QVERIFY(!Interpreter(graph).run(std::vector<Tensor>{Tensor::ofInts({4, 1}), starts, sequences}).ok());
}

QTEST_APPLESS_MAIN(InterpreterTest)
#include "tst_interpreter.moc"
