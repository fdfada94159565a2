// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/import.h"

#include <QTest>

#include "core/onnx/export.h"
#include "model_bytes.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

Graph imported(const onnx::ModelProto& model) {
    auto graph = importOnnxBytes(asBytes(model.SerializeAsString()));
    if (!graph.ok())
        qFatal("%s", graph.error().message.c_str());
    return *graph;
}

const Tensor& constantOf(const Graph& graph, const std::string& name) {
    return graph.value(graph.findValue(name)).constant;
}

// Loading what was written gives the same structure; writing it again gives the same bytes.
void verifyRoundTrip(const Graph& graph) {
    const auto bytes = exportOnnxBytes(graph);
    QVERIFY2(bytes.ok(), bytes.ok() ? "" : bytes.error().message.c_str());
    const auto again = importOnnxBytes(*bytes);
    QVERIFY2(again.ok(), again.ok() ? "" : again.error().message.c_str());
    QCOMPARE(again->hash(), graph.hash());
    QVERIFY(*exportOnnxBytes(*again) == *bytes);
}

// y = If(flag) { x + w } else { If(flag) { x } else { x - w } }, the inner one reading through two levels.
onnx::ModelProto modelWithBranches() {
    auto model = smallModel();
    auto& graph = *model.mutable_graph();
    graph.clear_node();
    tensorType(*graph.add_input(), "flag", {}, 9);
    auto& choice = addNode(graph, "If", {"flag"}, {"y"}, "choice");
    auto& first = *addAttribute(choice, "then_branch", onnx::AttributeProto::GRAPH).mutable_g();
    addNode(first, "Add", {"x", "w"}, {"sum"});
    first.add_output()->set_name("sum");
    auto& second = *addAttribute(choice, "else_branch", onnx::AttributeProto::GRAPH).mutable_g();
    auto& inner = addNode(second, "If", {"flag"}, {"result"}, "inner");
    second.add_output()->set_name("result");
    auto& innerFirst = *addAttribute(inner, "then_branch", onnx::AttributeProto::GRAPH).mutable_g();
    innerFirst.add_output()->set_name("x");
    auto& innerSecond = *addAttribute(inner, "else_branch", onnx::AttributeProto::GRAPH).mutable_g();
    addNode(innerSecond, "Sub", {"x", "w"}, {"difference"});
    innerSecond.add_output()->set_name("difference");
    return model;
}

std::vector<std::string> captureNames(const Graph& graph) {
    std::vector<std::string> names;
    for (const ValueId id : graph.captures())
        names.push_back(graph.value(id).name);
    return names;
}

const Graph& body(const Graph& graph, const std::string& node, const std::string& attribute) {
    return *std::get<std::shared_ptr<const Graph>>(graph.node(graph.findNode(node)).attributes.at(attribute));
}

} // namespace

class TestOnnxImport : public QObject {
    Q_OBJECT
private slots:
    void structure() {
        const Graph graph = imported(smallModel());
        QCOMPARE(graph.name(), std::string("small"));
        QCOMPARE(graph.opset(), std::int64_t{13});
        QCOMPARE(graph.inputs().size(), std::size_t{1});
        QCOMPARE(graph.value(graph.inputs()[0]).type.text(), std::string("float32[2,2]"));
        QCOMPARE(graph.value(graph.outputs()[0]).name, std::string("y"));
        QCOMPARE(graph.node(NodeId(0)).name, std::string("sum"));
        QCOMPARE(constantOf(graph, "w").asDouble(3), 4.0);
        verifyRoundTrip(graph);
    }

    void initializersAmongTheInputsAreConstants() {
        auto model = smallModel();
        model.set_ir_version(3);
        tensorType(*model.mutable_graph()->add_input(), "w", {2, 2});
        const Graph graph = imported(model);
        QCOMPARE(graph.inputs().size(), std::size_t{1});
        QVERIFY(graph.value(graph.findValue("w")).isConstant());
    }

    void symbolicDimensionsAndUnknownOnes() {
        auto model = smallModel();
        auto& shape =
            *model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
        shape.mutable_dim(0)->set_dim_param("batch");
        shape.mutable_dim(1)->set_dim_value(-1);
        const Graph graph = imported(model);
        QCOMPARE(graph.value(graph.inputs()[0]).type.text(), std::string("float32[batch,?]"));
        verifyRoundTrip(graph);
    }

    void typedFields_data() {
        QTest::addColumn<int>("element");
        QTest::addColumn<double>("expected");
        QTest::newRow("float32") << 1 << -2.0;
        QTest::newRow("uint8") << 2 << 200.0;
        QTest::newRow("int8") << 3 << -2.0;
        QTest::newRow("uint16") << 4 << 60000.0;
        QTest::newRow("int16") << 5 << -2.0;
        QTest::newRow("int32") << 6 << -2.0;
        QTest::newRow("int64") << 7 << -2.0;
        QTest::newRow("bool") << 9 << 1.0;
        QTest::newRow("float16") << 10 << 1.5;
        QTest::newRow("float64") << 11 << -2.0;
        QTest::newRow("uint32") << 12 << 4e9;
        QTest::newRow("uint64") << 13 << 4e9;
        QTest::newRow("bfloat16") << 16 << 1.5;
    }
    void typedFields() {
        QFETCH(int, element);
        QFETCH(double, expected);
        auto model = smallModel();
        auto& tensor = *model.mutable_graph()->add_initializer();
        tensor.set_name("t");
        tensor.set_data_type(element);
        tensor.add_dims(1);
        switch (element) {
        case 1:
            tensor.add_float_data(static_cast<float>(expected));
            break;
        case 7:
            tensor.add_int64_data(static_cast<std::int64_t>(expected));
            break;
        case 10:
            tensor.add_int32_data(0x3e00);
            break;
        case 11:
            tensor.add_double_data(expected);
            break;
        case 12:
        case 13:
            tensor.add_uint64_data(static_cast<std::uint64_t>(expected));
            break;
        case 16:
            tensor.add_int32_data(0x3fc0);
            break;
        default:
            tensor.add_int32_data(static_cast<int>(expected));
        }
        addNode(*model.mutable_graph(), "Identity", {"t"}, {"used"});
        model.mutable_graph()->add_output()->set_name("used");
        const Graph graph = imported(model);
        QCOMPARE(static_cast<int>(constantOf(graph, "t").type()), element);
        QCOMPARE(constantOf(graph, "t").asDouble(0), expected);
        verifyRoundTrip(graph);
    }

    void stringsScalarsAndEmptyTensors() {
        auto model = smallModel();
        auto& graph = *model.mutable_graph();
        auto& strings = *graph.add_initializer();
        strings.set_name("words"), strings.set_data_type(8), strings.add_dims(2);
        strings.add_string_data("one"), strings.add_string_data("two");
        addFloats(graph, "scalar", {}, {5});
        addFloats(graph, "none", {0, 7}, {});
        addNode(graph, "Odd", {"words", "scalar", "none", ""}, {"odd", "", "more"});
        graph.add_output()->set_name("odd");
        const Graph result = imported(model);
        QCOMPARE(constantOf(result, "words").strings()[1], std::string("two"));
        QCOMPARE(constantOf(result, "scalar").rank(), std::size_t{0});
        QCOMPARE(constantOf(result, "none").shape(), (Shape{0, 7}));
        verifyRoundTrip(result);
    }

    void boolsBecomeZeroOrOne() {
        auto model = smallModel();
        auto& flags = *model.mutable_graph()->add_initializer();
        flags.set_name("flags"), flags.set_data_type(9), flags.add_dims(3);
        flags.set_raw_data(std::string("\x00\x02\xff", 3));
        model.mutable_graph()->add_output()->set_name("flags");
        const Graph graph = imported(model);
        const auto bytes = constantOf(graph, "flags").bytes();
        QCOMPARE(std::vector<std::byte>(bytes.begin(), bytes.end()),
                 (std::vector<std::byte>{std::byte{0}, std::byte{1}, std::byte{1}}));
    }

    void constantNodes() {
        auto model = smallModel();
        auto& graph = *model.mutable_graph();
        using A = onnx::AttributeProto;
        const auto constant = [&](const char* output, const char* key, A::AttributeType type) -> A& {
            graph.add_output()->set_name(output);
            return addAttribute(addNode(graph, "Constant", {}, {output}), key, type);
        };
        constant("f", "value_float", A::FLOAT).set_f(2.5f);
        constant("i", "value_int", A::INT).set_i(-3);
        auto& ints = constant("n", "value_ints", A::INTS);
        ints.add_ints(4), ints.add_ints(5);
        constant("s", "value_string", A::STRING).set_s("text");
        auto& tensor = *constant("t", "value", A::TENSOR).mutable_t();
        tensor.set_data_type(1), tensor.add_dims(1), tensor.add_float_data(7);
        const Graph result = imported(model);
        QCOMPARE(result.nodeCount(), std::size_t{1});
        QCOMPARE(constantOf(result, "f").asDouble(0), 2.5);
        QCOMPARE(constantOf(result, "i").asInt(0), std::int64_t{-3});
        QCOMPARE(constantOf(result, "n").asInts(), (std::vector<std::int64_t>{4, 5}));
        QCOMPARE(constantOf(result, "s").strings()[0], std::string("text"));
        QCOMPARE(constantOf(result, "t").asDouble(0), 7.0);
        verifyRoundTrip(result);
    }

    void sparseInitializersBecomeDense() {
        auto model = smallModel();
        auto& sparse = *model.mutable_graph()->add_sparse_initializer();
        sparse.add_dims(2), sparse.add_dims(3);
        auto& values = *sparse.mutable_values();
        values.set_name("s"), values.set_data_type(1), values.add_dims(2), values.add_float_data(5),
            values.add_float_data(6);
        auto& indices = *sparse.mutable_indices();
        indices.set_data_type(7), indices.add_dims(2), indices.add_dims(2);
        for (const int index : {0, 1, 1, 2})
            indices.add_int64_data(index);
        model.mutable_graph()->add_output()->set_name("s");
        const Graph graph = imported(model);
        const auto data = constantOf(graph, "s").data<float>();
        QCOMPARE(std::vector<float>(data.begin(), data.end()), (std::vector<float>{0, 5, 0, 0, 0, 6}));
    }

    void attributesOfEveryKind() {
        auto model = smallModel();
        using A = onnx::AttributeProto;
        auto& node = *model.mutable_graph()->mutable_node(0);
        node.set_op_type("Mystery");
        node.set_domain("com.example");
        auto* import = model.add_opset_import();
        import->set_domain("com.example"), import->set_version(2);
        addAttribute(node, "f", A::FLOAT).set_f(1.5f);
        addAttribute(node, "s", A::STRING).set_s(std::string("a\0b", 3));
        addAttribute(node, "fs", A::FLOATS).add_floats(2);
        addAttribute(node, "is", A::INTS).add_ints(3);
        addAttribute(node, "ss", A::STRINGS).add_strings("x");
        addAttribute(node, "empty", A::INTS);
        addAttribute(node, "type", A::TYPE_PROTO).mutable_tp()->mutable_tensor_type()->set_elem_type(7);
        addAttribute(node, "untyped", A::UNDEFINED).set_i(4);
        const Graph graph = imported(model);
        const Node& read = graph.node(NodeId(0));
        QCOMPARE(read.domain, std::string("com.example"));
        QCOMPARE(read.stringAttr("s"), std::string("a\0b", 3));
        QCOMPARE(read.intAttr("untyped", 0), std::int64_t{4});
        verifyRoundTrip(graph);
        onnx::ModelProto written;
        const auto bytes = *exportOnnxBytes(graph);
        QVERIFY(written.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
        bool found = false;
        for (const auto& attribute : written.graph().node(0).attribute())
            found |= attribute.name() == "type" && attribute.tp().tensor_type().elem_type() == 7;
        QVERIFY(found);
    }

    void subgraphsCaptureByName() {
        const Graph graph = imported(modelWithBranches());
        QCOMPARE(graph.inputs().size(), std::size_t{2});
        QCOMPARE(captureNames(body(graph, "choice", "then_branch")), (std::vector<std::string>{"w", "x"}));
        const Graph& second = body(graph, "choice", "else_branch");
        QCOMPARE(captureNames(second), (std::vector<std::string>{"flag", "w", "x"}));
        QCOMPARE(captureNames(body(second, "inner", "then_branch")), std::vector<std::string>{"x"});
        QCOMPARE(second.value(second.findValue("x")).type.text(), std::string("float32[2,2]"));
        verifyRoundTrip(graph);
    }

    void unsortedNodes() {
        auto model = smallModel();
        auto& graph = *model.mutable_graph();
        addNode(graph, "Relu", {"late"}, {"z"}, "reader");
        addNode(graph, "Abs", {"y"}, {"late"}, "writer");
        graph.add_output()->set_name("z");
        const Graph result = imported(model);
        QVERIFY(result.findNode("writer") < result.findNode("reader"));
        verifyRoundTrip(result);
    }

    void metadataAndNamesSurvive() {
        auto model = smallModel();
        auto* entry = model.add_metadata_props();
        entry->set_key("author"), entry->set_value("somebody");
        auto& node = *model.mutable_graph()->mutable_node(0);
        node.set_name("");
        node.set_domain("ai.onnx");
        const Graph graph = imported(model);
        const Graph again = *importOnnxBytes(*exportOnnxBytes(graph));
        QCOMPARE(again.metadata().at("author"), std::string("somebody"));
        QCOMPARE(again.node(NodeId(0)).domain, std::string());
        QVERIFY(!again.node(NodeId(0)).name.empty());
    }
};

QTEST_GUILESS_MAIN(TestOnnxImport)
#include "tst_onnx_import.moc"
