// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/ops/coverage.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "core/ops/lower_node.h"
#include "core/te/definition.h"
#include "core/te/graph.h"
#include "tests/core/ops/op_case.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

Graph graphOf(const std::string& text) { return take(te::makeGraph(take(te::readDefinition(text, "f.te")))); }

Graph nodeGraph(const std::string& op, std::map<std::string, Attribute> attributes, std::size_t inputs = 1) {
    GraphBuilder builder("g");
    builder.setOpset("", 17);
    builder.setOpset(te::kDomain, 1);
    Node node;
    node.op = op;
    node.domain = te::kDomain;
    node.attributes = std::move(attributes);
    for (std::size_t i = 0; i < inputs; ++i)
        node.inputs.push_back(builder.addInput("x" + std::to_string(i), TensorType(DType::f32, Shape{3, 4})));
    node.outputs = {builder.addValue("y")};
    const ValueId output = node.outputs[0];
    builder.addNode(std::move(node));
    builder.setOutputs({output});
    return take(builder.build());
}

} // namespace

// Statements of our own domain as operators.
class TestTensorExpression : public QObject {
    Q_OBJECT
    const std::string scores_ = "def scores(float32[M=5, K=3] Q, float32[N=4, K] T) -> (S, m) {"
                                " P[i, j] +=! Q[i, k] * T[j, k]  S[i, j] = exp(P[i, j] / K)  m[i] max=! S[i, j] }";

private slots:
    void typesFollowTheDimensions() {
        const Graph graph = graphOf(scores_);
        const auto names = bindableDims(graph);
        QCOMPARE(names, (std::vector<std::string>{"M", "K", "N"}));
        const Graph open = take(inferShapes(graph));
        QCOMPARE(open.value(open.findValue("S")).type.text(), std::string("float32[M,N]"));
        const Graph bound = take(inferShapes(graph, {{"M", 7}, {"K", 2}, {"N", 9}}));
        QCOMPARE(bound.value(bound.findValue("S")).type.text(), std::string("float32[7,9]"));
        QCOMPARE(bound.value(bound.findValue("m")).type.text(), std::string("float32[7]"));
        const Coverage found = coverage(bound);
        QVERIFY(found.notComputed.empty() && found.notCompiled.empty());
        QCOMPARE(found.flops, std::int64_t(7 * 9 * (2 * 2) + 7 * 9 * 2 + 7 * 9));
    }

    void kernelsAndLoweringsAgreeWithTheText() {
        const te::Definition definition = take(te::readDefinition(scores_, "f.te"));
        Rng rng(3);
        const std::vector<Tensor> inputs{randomTensor(rng, DType::f32, {5, 3}), randomTensor(rng, DType::f32, {4, 3})};
        const auto expected = take(loops::evaluate(take(te::lowerDefinition(definition, te::defaultSizes(definition))), inputs));
        const Graph graph = take(inferShapes(take(te::makeGraph(definition)), te::defaultSizes(definition)));
        const auto found = take(Interpreter(graph).run(inputs));
        for (std::size_t i = 0; i < expected.size(); ++i)
            for (std::int64_t at = 0; at < expected[i].count(); ++at)
                QCOMPARE(found[i].asDouble(at), expected[i].asDouble(at));
        const loops::Program program = take(lowerNode(graph, graph.findNode("P")));
        QCOMPARE(program.stages.size(), std::size_t(1));
        QCOMPARE(program.stages[0].reduceAxes[0].var->name, std::string("k"));
    }

    void halfFloatsStayHalf() {
        const Graph graph = take(inferShapes(graphOf("def f(float16[N=4] X) -> Y { Y[i] = float16(X[i] + 1) }"), {{"N", 4}}));
        const auto found = take(Interpreter(graph).run({Tensor::of<float>({4}, std::vector<float>{0, 1, 2, 3}).cast(DType::f16)}));
        QCOMPARE(found[0].type(), DType::f16);
        QCOMPARE(found[0].asDouble(3), 4.0);
    }

    void readsAreProvenForEveryDimension() {
        const Graph graph = graphOf("def f(float32[N] X, float32[K] W) -> Y { Y[i] +=! X[i + k] * W[k] }");
        QVERIFY(inferShapes(graph).ok());
        QVERIFY(inferShapes(graph, {{"N", 5}, {"K", 3}}).ok());
        const auto narrow = inferShapes(graph, {{"N", 2}, {"K", 3}});
        QVERIFY(!narrow.ok());
        QVERIFY2(narrow.error().message.find("no 'i' keeps A0[i + k] within dimension 0, which has 2 elements") != std::string::npos, narrow.error().message.c_str());
    }

    void badNodes_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<QString>("text");
        QTest::addColumn<int>("inputs");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* name, const char* op, const char* text, int inputs, const char* expected) { QTest::newRow(name) << op << text << inputs << expected; };
        row("no text", "Comprehension", "", 1, "it has no attribute 'definition'");
        row("no definition", "Comprehension", "Y[i] = X[i]", 1, "a file begins with a definition");
        row("two statements", "Comprehension", "def f(float32[N, M] X) -> Y { Z[i] = X[i, 0]; Y[i] = Z[i] }", 1, "it holds 2 statements and not one");
        row("too few inputs", "Comprehension", "def f(float32[N, M] X, float32[N] Z) -> Y { Y[i] = X[i, 0] + Z[i] }", 1, "its text has 2 inputs, and input 1 is missing");
        row("too many inputs", "Comprehension", "def f(float32[N, M] X) -> Y { Y[i] = X[i, 0] }", 2, "its text has 1 inputs, and input 1 is too many");
        row("another type", "Comprehension", "def f(float64[N, M] X) -> Y { Y[i] = X[i, 0] }", 1, "and its text wants float64");
        row("another rank", "Comprehension", "def f(float32[N] X) -> Y { Y[i] = X[i] }", 1, "and its text wants 1 dimensions");
        row("another extent", "Comprehension", "def f(float32[N, N] X) -> Y { Y[i] = X[i, i] }", 1, "is 4 and should be 3");
        row("not elementwise", "Elementwise", "def f(float32[N, M] X) -> Y { Y[i] = X[i, 0] }", 1, "its text is not elementwise");
        row("reads outside", "Comprehension", "def f(float32[N, M] X) -> Y { Y[i] = X[i, 4] }", 1, "the index 4 of 'X' reaches 4");
    }
    void badNodes() {
        QFETCH(QString, op);
        QFETCH(QString, text);
        QFETCH(int, inputs);
        QFETCH(QString, expected);
        std::map<std::string, Attribute> attributes;
        if (!text.isEmpty())
            attributes[te::kTextAttribute] = text.toStdString();
        const Graph graph = nodeGraph(op.toStdString(), attributes, static_cast<std::size_t>(inputs));
        const Status status = checkComputable(graph, NodeId(0));
        QVERIFY(!status.ok());
        QVERIFY2(QString::fromStdString(status.error().message).contains(expected), status.error().message.c_str());
    }
};

QTEST_APPLESS_MAIN(TestTensorExpression)
#include "tst_tensor_expression.moc"
