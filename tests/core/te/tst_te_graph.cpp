// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "core/te/comprehension.h"
#include "core/te/graph.h"
#include "core/te/limits.h"
#include "tests/core/te/te_case.h"

using namespace tunesmith;

namespace {

Graph graphOf(const std::string& text) { return take(te::makeGraph(take(te::readDefinition(text, "f.te")))); }

QString textOf(const Graph& graph, const char* node) {
    return QString::fromStdString(graph.node(graph.findNode(node)).stringAttr(te::kTextAttribute));
}

} // namespace

// Statements as nodes.
class TestTeGraph : public QObject {
    Q_OBJECT
private slots:
    void nodesAndNames() {
        const Graph graph = graphOf("def attention(float32[M=128, K=64] Q, float32[N, K] T) -> (S, m) {"
                                    " P[i, j] +=! Q[i, k] * T[j, k]  S[i, j] = exp(P[i, j] * 0.125)  m[i] max=! S[i, j] }");
        QCOMPARE(graph.name(), std::string("attention"));
        QCOMPARE(graph.nodeCount(), std::size_t(3));
        QCOMPARE(graph.value(graph.inputs()[0]).type.text(), std::string("float32[M,K]"));
        QCOMPARE(graph.value(graph.outputs()[1]).name, std::string("m"));
        QCOMPARE(graph.opset(te::kDomain), 1);
        QCOMPARE(graph.node(graph.findNode("P")).op, std::string("Comprehension"));
        QCOMPARE(graph.node(graph.findNode("S")).op, std::string("Elementwise"));
        QCOMPARE(graph.node(graph.findNode("S")).domain, std::string("tunesmith"));
        QCOMPARE(textOf(graph, "P"), QString("def f(float32[N0, N1] A0, float32[N2, N3] A1) -> Y { Y[i, j] +=! A0[i, k] * A1[j, k]; }"));
        QCOMPARE(textOf(graph, "S"), QString("def f(float32[N0, N1] A0) -> Y { Y[i, j] = exp(A0[i, j] * 0.125); }"));
    }

    void equalStatementsHaveEqualTexts() {
        const Graph graph = graphOf("def f(float32[M=4, K=5] X, float32[K, N=6] W, float32[N, O=7] V) -> C {"
                                    " A[i, j] +=! X[i, k] * W[k, j]  C[i, j] +=! A[i, k] * V[k, j] }");
        QCOMPARE(textOf(graph, "A"), textOf(graph, "C"));
    }

    // A size that no tensor has that is read comes with one that has it.
    void sizesTravelWithTensors() {
        const Graph graph = graphOf("def f(float32[M=4, N=6] X, float32[L=3] Z) -> Y { s[i] +=! X[i, j]  Y[i] = s[i] / N * L }");
        QCOMPARE(textOf(graph, "Y"), QString("def f(float32[N0] A0, float32[N1, N2] A1, float32[N3] A2) -> Y { Y[i] = A0[i] / N2 * N3; }"));
        const Node& node = graph.node(graph.findNode("Y"));
        QCOMPARE(node.inputs.size(), std::size_t(3));
        QCOMPARE(graph.value(node.inputs[1]).name, std::string("X"));
        QCOMPARE(graph.value(node.inputs[2]).name, std::string("Z"));
    }

    void namesThatAreTaken() {
        const Graph graph = graphOf("def f(float32[M=4] Z) -> Y { Y[A0, N0, Y_] = Z[A0] + Z[N0] + Z[Y_] }");
        QCOMPARE(textOf(graph, "Y"), QString("def f(float32[N0_] A0_) -> Y { Y[A0, N0, Y_] = A0_[A0] + A0_[N0] + A0_[Y_]; }"));
        QVERIFY(te::Comprehension::fromText(textOf(graph, "Y").toStdString()).ok());
    }

    void elementwise_data() {
        QTest::addColumn<QString>("statement");
        QTest::addColumn<bool>("expected");
        const auto row = [](const char* statement, bool expected) { QTest::newRow(statement) << statement << expected; };
        row("Y[i, j] = X[i, j]", true);
        row("Y[i, j] = X[i, j] + B[j]", true);
        row("Y[i, j] = X[i, j] + B[i]", true);
        row("Y[i, j] = X[i, j] + a", true);
        row("Y[i, j] = X[i, j] * float32(i)", true);
        row("Y[i, j] = i < 2 ? X[i, j] : 0", true);
        row("Y[i, j] = X[j, i]", false);
        row("Y[i, j] = X[i, 0] where j in 0:2", false);
        row("Y[i, j] = X[i, j + 1]", false);
        row("Y[i] = X[i, i]", false);
        row("Y[i] +=! X[i, j]", false);
        row("Y[i, j] = X[i,j]+X[i,j]+X[i,j]+X[i,j]+X[i,j]+X[i,j]+X[i,j]+X[i,j]+X[i,j]", false); // too often to repeat what it joins
    }
    void elementwise() {
        QFETCH(QString, statement);
        QFETCH(bool, expected);
        const Graph graph = graphOf(("def f(float32[M=4, M] X, float32[M] B, float32 a) -> Y { " + statement + " }").toStdString());
        QCOMPARE(graph.nodes()[0]->op == te::kElementwise, expected);
    }

    void types_data() {
        QTest::addColumn<QString>("statement");
        QTest::addColumn<QString>("expected"); // for float32[batch, 6] and float32[?]
        const auto row = [](const char* statement, const char* expected) { QTest::newRow(statement) << statement << expected; };
        row("Y[i, j] = X[i, j]", "float32[batch,6]");
        row("Y[i] +=! X[i, j]", "float32[batch]");
        row("Y[i] = Z[i]", "float32[?]");
        row("Y[i, j] = X[i + 1, j]", "float32[?,6]");
        row("Y[i, j] = X[i, j] + X[i + 1, j]", "float32[?,6]");
        row("Y[i] = X[i, 0] + Z[i]", "float32[?]");
        row("Y[i] = X[0, 0] where i in 0:M", "float32[batch]");
        row("Y[i] = X[0, 0] where i in 0:3", "float32[3]");
        row("Y[i] = X[0, 0] where i in 0:M - 1", "float32[?]");
        row("Y = X[0, 0] > 1", "bool[]");
    }
    void types() {
        QFETCH(QString, statement);
        QFETCH(QString, expected);
        const auto comprehension = take(te::Comprehension::fromText(("def f(float32[M, N] X, float32[L] Z) -> Y { " + statement + " }").toStdString()));
        const auto type = comprehension.outputType({TensorType(DType::f32, Dims{Dim::named("batch"), Dim(6)}), TensorType(DType::f32, Dims{Dim()})});
        QVERIFY2(type.ok(), type.ok() ? "" : type.error().message.c_str());
        QCOMPARE(QString::fromStdString(type->text()), expected);
    }

    void inputsThatDoNotFit_data() {
        QTest::addColumn<int>("which");
        QTest::addColumn<QString>("expected");
        QTest::newRow("type") << 0 << "input 1 is float64[5], and its text wants float32";
        QTest::newRow("rank") << 1 << "input 1 is float32[5,5], and its text wants 1 dimensions";
        QTest::newRow("count") << 2 << "it has 1 inputs, and its text speaks of 2";
        QTest::newRow("sizes") << 3 << "dimension 0 of input 1 is 6 and should be 5";
        QTest::newRow("number") << 4 << "dimension 1 of input 0 is 4 and should be 3";
        QTest::newRow("nothing") << 5 << "dimension 0 of input 1 is 0; a size lies between 1 and";
    }
    void inputsThatDoNotFit() {
        QFETCH(int, which);
        QFETCH(QString, expected);
        const TensorType x(DType::f32, Shape{5, 3});
        const std::vector<std::vector<TensorType>> inputs{{x, TensorType(DType::f64, Shape{5})}, {x, TensorType(DType::f32, Shape{5, 5})}, {x},
                                                          {x, TensorType(DType::f32, Shape{6})}, {TensorType(DType::f32, Shape{5, 4}), TensorType(DType::f32, Shape{5})},
                                                          {TensorType(DType::f32, Dims{Dim(), Dim(3)}), TensorType(DType::f32, Shape{0})}};
        const auto comprehension = take(te::Comprehension::fromText("def f(float32[M, 3] X, float32[M] Z) -> Y { Y[i] +=! X[i, j] * Z[i] }"));
        const auto type = comprehension.outputType(inputs[static_cast<std::size_t>(which)]);
        QVERIFY(!type.ok());
        QVERIFY2(QString::fromStdString(type.error().message).contains(expected), type.error().message.c_str());
    }

    void notOneStatement() {
        QVERIFY(!te::Comprehension::fromText("def f(float32[N] X) -> Y { Z[i] = X[i]; Y[i] = Z[i] }").ok());
        QVERIFY(!te::Comprehension::fromText("def f(float32[N] X) -> Y { }").ok());
        QVERIFY(!te::Comprehension::fromText("").ok());
    }

    void files() {
        QTemporaryDir folder;
        const auto path = folder.path().toStdString();
        const auto write = [&](const char* name, const QByteArray& bytes) {
            QFile file(folder.filePath(name));
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(bytes);
        };
        write("good.te", "def f(float32[N=4] X) -> Y { Y[i] = X[i] }\n");
        write("large.te", QByteArray(static_cast<qsizetype>(te::kLargestFile) + 1, '('));
        write("empty.te", {});
        QVERIFY(te::readDefinitionFile(path + "/good.te").ok());
        QVERIFY(QString::fromStdString(te::readDefinitionFile(path + "/large.te").error().message).contains("a definition has at most"));
        QVERIFY(QString::fromStdString(te::readDefinitionFile(path + "/empty.te").error().message).endsWith("empty.te:1:1: a file begins with a definition, as in def name(float32[N] X) -> Y { Y[i] = exp(X[i]) }"));
        QVERIFY(!te::readDefinitionFile(path + "/none.te").ok());
        QVERIFY(!te::readDefinitionFile(path).ok());
        QVERIFY(!te::readDefinitionFile("/dev/zero").ok());
    }
};

QTEST_APPLESS_MAIN(TestTeGraph)
#include "tst_te_graph.moc"
