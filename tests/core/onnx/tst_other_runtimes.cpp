// SPDX-License-Identifier: GPL-3.0-or-later
// What we write, loaded and computed by ONNX Runtime: every operator that has a body, with what its body may do. Needs node and
// TUNESMITH_BENCH_NODE_MODULES, a folder with onnxruntime-node.
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include "core/check/equivalence.h"
#include "core/graph/graph_builder.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "core/ops/settle_choices.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

using Body = std::shared_ptr<const Graph>;
using Attributes = std::map<std::string, Attribute>;

const TensorType kPair(DType::f32, Shape{2}), kTruth(DType::boolean, Shape{}), kCount(DType::i64, Shape{});

struct Case {
    Graph graph;
    std::vector<Tensor> inputs;
};

Body bodyOf(GraphBuilder& builder, std::vector<ValueId> outputs) {
    builder.setOpset("", 16);
    builder.setOutputs(std::move(outputs));
    return std::make_shared<const Graph>(take(builder.build()));
}

void addNode(GraphBuilder& builder, const char* op, std::vector<ValueId> inputs, int outputs, Attributes attributes) {
    Node node;
    node.op = op;
    node.name = op;
    node.inputs = std::move(inputs);
    for (int i = 0; i < outputs; ++i)
        node.outputs.push_back(builder.addValue("out" + std::to_string(i)));
    node.attributes = std::move(attributes);
    const std::vector<ValueId> results = node.outputs;
    builder.addNode(std::move(node));
    builder.setOutputs(results);
}

Case finished(GraphBuilder& builder, std::vector<Tensor> inputs) {
    builder.setOpset("", 16);
    return {take(builder.build()), std::move(inputs)};
}

Tensor pair(float a, float b) { return Tensor::of<float>({2}, std::vector<float>{a, b}); }

// A branch that reads x and one weight of its own.
Body branch(const char* op) {
    GraphBuilder body(op);
    const ValueId x = body.addCapture("x", {});
    return bodyOf(body, {body.add("Add", {body.add(op, {x}), body.addConstant("own", pair(1, 2))})});
}

Body choosing(const Body& then, const Body& otherwise) {
    GraphBuilder body("choosing");
    const ValueId second = body.addCapture("second", {});
    return bodyOf(body, {body.add("If", {second}, {{"then_branch", then}, {"else_branch", otherwise}})});
}

Case choice(bool taken, bool nested) {
    GraphBuilder builder;
    builder.addInput("x", kPair);
    const ValueId condition = builder.addInput("condition", kTruth);
    builder.addInput("second", kTruth);
    const Body then = nested ? choosing(branch("Exp"), branch("Abs")) : branch("Exp");
    addNode(builder, "If", {condition}, 1, {{"then_branch", then}, {"else_branch", branch("Neg")}});
    return finished(builder, {pair(-1, 2), Tensor::scalar(taken), Tensor::scalar(!taken)});
}

// What a body does with its state: nothing of its inputs is typed, as some exporters write it.
using Step = ValueId (*)(GraphBuilder& body, ValueId state, ValueId turn);

ValueId adds(GraphBuilder& body, ValueId state, ValueId) { return body.add("Add", {state, body.addCapture("x", {})}); }
ValueId grows(GraphBuilder& body, ValueId state, ValueId) { return body.add("Concat", {state, state}, {{"axis", std::int64_t(0)}}); }
ValueId deepens(GraphBuilder& body, ValueId state, ValueId) {
    return body.add("Unsqueeze", {state, body.addConstant("", Tensor::ofInts({0}))});
}
ValueId chooses(GraphBuilder& body, ValueId, ValueId turn) {
    const ValueId first = body.add("Less", {turn, body.addConstant("", Tensor::scalar(std::int64_t(1)))});
    return body.add("If", {first}, {{"then_branch", branch("Exp")}, {"else_branch", branch("Neg")}});
}
ValueId turns(GraphBuilder& body, ValueId state, ValueId) {
    GraphBuilder inner("inner");
    inner.addInput("turn2", {});
    const ValueId on = inner.addInput("on2", {}), carried = inner.addInput("carried", {});
    const Body within = bodyOf(inner, {inner.add("Identity", {on}), adds(inner, carried, on)});
    body.addCapture("x", {});
    return body.add("Loop", {body.addConstant("", Tensor::scalar(std::int64_t(2))), ValueId(), state}, {{"body", within}});
}
ValueId keepsASequence(GraphBuilder& body, ValueId state, ValueId turn) {
    const ValueId sequence = body.add("SequenceConstruct", {state, body.addCapture("x", {})});
    return body.add("SequenceAt", {sequence, body.add("Mod", {turn, body.addConstant("", Tensor::scalar(std::int64_t(2)))})});
}

Case loop(Step step, bool gathers, std::int64_t count, bool constantCount) {
    GraphBuilder body("body");
    const ValueId turn = body.addInput("turn", {}), on = body.addInput("on", {}), state = body.addInput("state", {});
    const ValueId next = step(body, state, turn);
    std::vector<ValueId> results{body.add("Identity", {on}), next};
    if (gathers)
        results.push_back(body.add("Mul", {next, body.add("Cast", {turn}, {{"to", std::int64_t(1)}})}));
    GraphBuilder builder;
    const ValueId x = builder.addInput("x", kPair), start = builder.addInput("start", kPair);
    const ValueId trips = constantCount ? builder.addConstant("trips", Tensor::scalar(count)) : builder.addInput("trips", kCount);
    static_cast<void>(x);
    addNode(builder, "Loop", {trips, ValueId(), start}, gathers ? 2 : 1, {{"body", bodyOf(body, results)}});
    std::vector<Tensor> inputs{pair(1, -2), pair(0.5F, 3)};
    if (!constantCount)
        inputs.push_back(Tensor::scalar(count));
    return finished(builder, std::move(inputs));
}

Case scan(std::int64_t axis, std::int64_t backwards, bool chosen) {
    GraphBuilder body("body");
    const ValueId sum = body.addInput("sum", {}), slice = body.addInput("slice", {});
    ValueId next = body.add("Add", {sum, slice});
    if (chosen) {
        const ValueId positive = body.add("Less", {body.addConstant("", Tensor::scalar(0.0F)), body.add("ReduceMax", {next}, {{"keepdims", std::int64_t(0)}})});
        next = body.add("If", {positive}, {{"then_branch", branch("Neg")}, {"else_branch", branch("Abs")}});
        body.addCapture("x", {});
    }
    GraphBuilder builder;
    builder.addInput("x", kPair);
    const ValueId start = builder.addInput("start", kPair);
    const ValueId rows = builder.addInput("rows", TensorType(DType::f32, axis == 0 ? Shape{3, 2} : Shape{2, 3}));
    addNode(builder, "Scan", {start, rows}, 2,
            {{"body", bodyOf(body, {next, body.add("Identity", {next})})},
             {"num_scan_inputs", std::int64_t(1)},
             {"scan_input_axes", std::vector<std::int64_t>{axis}},
             {"scan_input_directions", std::vector<std::int64_t>{backwards}},
             {"scan_output_axes", std::vector<std::int64_t>{axis}}});
    return finished(builder, {pair(1, 2), pair(0, 1), Tensor::of<float>(axis == 0 ? Shape{3, 2} : Shape{2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6})});
}

// Branches of which only one can work with the shapes that are there.
Case impossible(bool known) {
    const auto product = [](std::int64_t columns) {
        GraphBuilder body("product");
        const ValueId x = body.addCapture("x", {});
        return bodyOf(body, {body.add("MatMul", {x, body.addConstant("w", Tensor::of<float>({columns, 1}, std::vector<float>(static_cast<std::size_t>(columns), 2)))})});
    };
    GraphBuilder builder;
    builder.addInput("x", kPair);
    const ValueId condition = known ? builder.addConstant("condition", Tensor::scalar(false)) : builder.addInput("condition", kTruth);
    addNode(builder, "If", {condition}, 1, {{"then_branch", product(5)}, {"else_branch", product(2)}});
    return finished(builder, known ? std::vector<Tensor>{pair(3, 4)} : std::vector<Tensor>{pair(3, 4), Tensor::scalar(false)});
}

const std::vector<std::pair<QString, Case>>& cases() {
    static const std::vector<std::pair<QString, Case>> all = [] {
        std::vector<std::pair<QString, Case>> list;
        for (const bool taken : {true, false})
            for (const bool nested : {true, false})
                list.emplace_back(QString("If, %1%2").arg(taken ? "taken" : "not taken", nested ? ", in a branch" : ""), choice(taken, nested));
        constexpr std::tuple<const char*, Step, bool> kSteps[] = {{"adds", adds, true},     {"grows", grows, false},   {"deepens", deepens, false},
                                                                  {"chooses", chooses, true}, {"turns", turns, true}, {"sequence", keepsASequence, true}};
        for (const auto& [name, step, gathers] : kSteps)
            for (const std::int64_t count : {0, 3})
                for (const bool constantCount : {true, false})
                    list.emplace_back(QString("Loop, %1, %2 turns, %3").arg(name).arg(count).arg(constantCount ? "constant" : "given"),
                                      loop(step, gathers, count, constantCount));
        for (const std::int64_t axis : {0, 1})
            for (const std::int64_t backwards : {0, 1})
                for (const bool chosen : {false, true})
                    list.emplace_back(QString("Scan, axis %1%2%3").arg(axis).arg(backwards ? ", backwards" : "", chosen ? ", chooses" : ""), scan(axis, backwards, chosen));
        for (const bool known : {true, false})
            list.emplace_back(QString("If, one branch cannot work, %1").arg(known ? "known" : "open"), impossible(known));
        return list;
    }();
    return all;
}

QJsonObject feed(const std::string& name, const Tensor& tensor) {
    QJsonArray dims, data;
    for (const std::int64_t extent : tensor.shape())
        dims.append(static_cast<qint64>(extent));
    for (std::int64_t i = 0; i < tensor.count(); ++i)
        data.append(tensor.asDouble(i));
    return {{"name", QString::fromStdString(name)}, {"type", QString::fromUtf8(std::string(dtypeName(tensor.type())).c_str())}, {"dims", dims}, {"data", data}};
}

} // namespace

class TestOtherRuntimes : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::vector<QJsonDocument> answers_;
    std::vector<std::vector<Tensor>> expected_;

    // As `export --onnx` makes it of a file: the types that bodies leave out are inferred.
    QJsonObject written(const Case& each, const QString& file) {
        const auto bytes = take(exportOnnxBytes(each.graph));
        const Graph settled = take(settleChoices(take(inferShapes(take(importOnnxBytes(bytes))))));
        const auto checked = exportCheckedOnnx(settled, file.toStdString());
        if (!checked.ok())
            qWarning("%s", checked.error().message.c_str());
        QJsonArray feeds;
        for (std::size_t i = 0; i < each.inputs.size(); ++i)
            feeds.append(feed(each.graph.value(each.graph.inputs()[i]).name, each.inputs[i]));
        return {{"model", file}, {"feeds", feeds}};
    }

private slots:
    void everything() {
        if (QStandardPaths::findExecutable("node").isEmpty() || qEnvironmentVariable("TUNESMITH_BENCH_NODE_MODULES").isEmpty())
            QSKIP("needs node, and TUNESMITH_BENCH_NODE_MODULES with onnxruntime-node");
        QJsonArray list;
        for (std::size_t i = 0; i < cases().size(); ++i) {
            list.append(written(cases()[i].second, folder_.filePath(QString("%1.onnx").arg(i))));
            expected_.push_back(take(Interpreter(take(inferShapes(cases()[i].second.graph))).run(cases()[i].second.inputs)));
        }
        QFile file(folder_.filePath("cases.json"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QJsonDocument(list).toJson());
        file.close();
        QProcess node;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert("NODE_PATH", qEnvironmentVariable("TUNESMITH_BENCH_NODE_MODULES"));
        node.setProcessEnvironment(environment);
        node.setProcessChannelMode(QProcess::ForwardedErrorChannel);
        node.start("node", {QFINDTESTDATA("run_models.js"), file.fileName()});
        QVERIFY(node.waitForFinished(100000));
        for (const QByteArray& line : node.readAllStandardOutput().split('\n'))
            if (!line.isEmpty())
                answers_.push_back(QJsonDocument::fromJson(line));
        QCOMPARE(answers_.size(), cases().size());
        QStringList failures;
        for (std::size_t i = 0; i < answers_.size(); ++i)
            if (const QString why = compared(i); !why.isEmpty())
                failures << cases()[i].first + ": " + why;
        QVERIFY2(failures.isEmpty(), qPrintable(failures.join('\n')));
    }

private:
    QString compared(std::size_t i) const {
        if (answers_[i].isObject())
            return answers_[i]["error"].toString();
        const QJsonArray outputs = answers_[i].array();
        if (static_cast<std::size_t>(outputs.size()) != expected_[i].size())
            return "another number of outputs";
        for (std::size_t o = 0; o < expected_[i].size(); ++o) {
            Shape shape;
            std::vector<float> data;
            for (const QJsonValue& extent : outputs[static_cast<qsizetype>(o)]["dims"].toArray())
                shape.push_back(extent.toInt());
            for (const QJsonValue& value : outputs[static_cast<qsizetype>(o)]["data"].toArray())
                data.push_back(static_cast<float>(value.toDouble()));
            const Difference difference = compareTensors(expected_[i][o], Tensor::of<float>(shape, data));
            if (!difference.equal)
                return QString::fromStdString(difference.text);
        }
        return {};
    }
};

QTEST_GUILESS_MAIN(TestOtherRuntimes)
#include "tst_other_runtimes.moc"
