// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <nlohmann/json.hpp>

#include "core/graph/graph_builder.h"
#include "core/onnx/export.h"
#include "core/schedule/template.h"
#include "tests/take.h"

using namespace tunesmith;
using Json = nlohmann::json;
using Ints = std::vector<std::int64_t>;

namespace {

Json rows(std::size_t rank) {
    Json axes = Json::array();
    for (std::size_t d = 0; d < rank; ++d)
        axes.push_back({d, 1, 0});
    return axes;
}

// A graph that nobody has looked at, as a store may have it; by rows throughout, but for what the patch says.
std::string stored(GraphBuilder& builder, const Json& patch = Json::object()) {
    const Graph graph = take(builder.build());
    Json header{{"version", 1}, {"inputs", Json::array()}, {"outputs", Json::array()}, {"constant", std::vector<bool>(graph.inputs().size(), false)}};
    for (const auto& [key, values] : {std::pair("inputs", &graph.inputs()), {"outputs", &graph.outputs()}})
        for (const ValueId id : *values)
            header[key].push_back(rows(graph.value(id).type.dims ? graph.value(id).type.dims->size() : 0));
    header.update(patch);
    const auto bytes = take(exportOnnxBytes(graph));
    return header.dump() + "\n" + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

GraphBuilder builderOf(std::int64_t opset = 17) {
    GraphBuilder builder("workload");
    builder.setOpset("", opset);
    return builder;
}

// A node of two operands whose result is declared.
std::string node(const std::string& op, const Shape& x, const Shape& w, const std::map<std::string, Attribute>& attributes, const Shape& y) {
    GraphBuilder builder = builderOf();
    std::vector<ValueId> operands{builder.addInput("x", TensorType(DType::f32, x))};
    if (!w.empty())
        operands.push_back(builder.addInput("w", TensorType(DType::f32, w)));
    const ValueId out = builder.add(op, operands, attributes);
    builder.setType(out, TensorType(DType::f32, y));
    builder.setOutputs({out});
    return stored(builder);
}

std::string identity(const char* patch) {
    GraphBuilder builder = builderOf();
    const TensorType type(DType::f32, Shape{4, 4});
    const ValueId y = builder.add("Identity", {builder.addInput("x", type)});
    builder.setType(y, type);
    builder.setOutputs({y});
    return stored(builder, Json::parse(patch));
}

std::string chain(std::size_t nodes) {
    GraphBuilder builder = builderOf();
    const TensorType type(DType::f32, Shape{4, 4});
    ValueId value = builder.addInput("x", type);
    for (std::size_t i = 0; i < nodes; ++i)
        builder.setType(value = builder.add("Relu", {value}), type);
    builder.setOutputs({value});
    return stored(builder);
}

std::string split(std::size_t outputs) {
    GraphBuilder builder = builderOf(13);
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{static_cast<std::int64_t>(3 * outputs), 2}));
    Node parts;
    parts.op = "Split";
    parts.inputs = {x};
    for (std::size_t i = 0; i < outputs; ++i)
        parts.outputs.push_back(builder.addValue("y" + std::to_string(i), TensorType(DType::f32, Shape{3, 2})));
    builder.setOutputs(parts.outputs);
    builder.addNode(std::move(parts));
    return stored(builder);
}

std::string inputAsOutput() {
    GraphBuilder builder = builderOf();
    const TensorType type(DType::f32, Shape{4, 4});
    const ValueId x = builder.addInput("x", type);
    const ValueId y = builder.add("Relu", {x});
    builder.setType(y, type);
    builder.setOutputs({y, x});
    return stored(builder);
}

std::string withoutShape() {
    GraphBuilder builder = builderOf();
    builder.setOutputs({builder.add("Relu", {builder.addInput("x", TensorType(DType::f32))})});
    return stored(builder);
}

} // namespace

// Workloads of stores and messages from elsewhere: each is one that can be scheduled, or a sentence.
class TestDamagedWorkloads : public QObject {
    Q_OBJECT

private slots:
    void areSentences_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("problem"); // empty: it can be scheduled
        const auto add = [](const char* name, const std::string& text, const char* problem) { QTest::newRow(name) << QByteArray::fromStdString(text) << problem; };
        const Shape x{1, 8, 4, 4}, w{8, 8, 1, 1};
        add("a convolution", node("Conv", x, w, {}, x), "");
        add("strides without numbers", node("Conv", x, w, {{"strides", Ints{}}}, x), "strides");
        add("strides that are no numbers", node("Conv", x, w, {{"strides", std::string("2")}}, x), "");
        add("a convolution of one input", node("Conv", x, {}, {}, x), "input");
        add("weights of one dimension", node("Conv", x, {8}, {}, x), "rank");
        add("two strides too many", node("Conv", x, w, {{"strides", Ints{1, 1, 1, 1}}}, x), "do not fit");
        add("another shape than the rule gives", node("Relu", {4, 4}, {}, {}, {4, 5}), "4");
        add("an operator that nobody knows", node("Wish", x, {}, {}, x), "Wish");
        add("too large", node("Relu", {1LL << 31, 1LL << 31}, {}, {}, {1LL << 31, 1LL << 31}), "too large");
        add("larger than memories", node("Relu", {1 << 21, 1 << 21}, {}, {}, {1 << 21, 1 << 21}), "damaged");
        add("an input without a shape", withoutShape(), "damaged");
        add("an output that is an input", inputAsOutput(), "none of its nodes");
        add("a long chain", chain(16), "");
        add("no kernel's chain", chain(1000), "1000 nodes");
        add("many outputs", split(256), "");
        add("too many outputs", split(1000), "1000 outputs");
        add("a copy", identity("{}"), "");
        add("a divisor of 0", identity(R"({"inputs": [[[0, 1, 0], [1, 0, 0]]]})"), "layouts do not fit");
        add("a dimension that is not there", identity(R"({"inputs": [[[0, 1, 0], [7, 1, 0]]]})"), "layouts do not fit");
        add("a negative divisor", identity(R"({"outputs": [[[0, 1, 0], [1, -1, 0]]]})"), "layouts do not fit");
        add("pieces of 2^62", identity(R"({"outputs": [[[0, 1, 4611686018427387904], [1, 1, 4611686018427387904]]]})"), "layouts do not fit");
        add("blocks of what has no channels", identity(R"({"inputs": [[[0, 1, 0], [1, 8, 0], [1, 1, 8]]]})"), "layouts do not fit");
        add("no layouts", identity(R"({"inputs": []})"), "layouts do not fit");
        add("too many constants", identity(R"({"constant": [true, false]})"), "layouts do not fit");
        add("layouts that are none", identity(R"({"inputs": 7})"), "damaged");
        add("AutoTVM's space of a copy", identity(R"({"space": "autotvm"})"), "autotvm");
    }
    void areSentences() {
        QFETCH(QByteArray, text);
        QFETCH(QString, problem);
        const auto workload = Workload::deserialize(text.toStdString());
        std::string said = workload.ok() ? "" : workload.error().message;
        for (const Isa isa : {Isa::avx2, Isa::avx512})
            if (workload.ok())
                if (const auto space = ScheduleSpace::make(*workload, {isa, "", 2}); !space.ok())
                    said = space.error().message;
        QCOMPARE(said.empty(), problem.isEmpty());
        QVERIFY2(said.find(problem.toStdString()) != std::string::npos, said.c_str());
    }
};

QTEST_APPLESS_MAIN(TestDamagedWorkloads)
#include "tst_damaged_workloads.moc"
