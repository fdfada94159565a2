// SPDX-License-Identifier: GPL-3.0-or-later
// Functions that models bring along, written out on import.
#include <QTest>

#include "core/onnx/import.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "model_bytes.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

// y = f(x) with x float[2]; the domain of functions is "own".
onnx::ModelProto callingModel(const char* function = "f") {
    auto model = smallModel();
    auto& graph = *model.mutable_graph();
    graph.clear_node();
    graph.clear_initializer();
    auto& call = addNode(graph, function, {"x"}, {"y"}, "call");
    call.set_domain("own");
    auto& own = *model.add_opset_import();
    own.set_domain("own");
    own.set_version(1);
    return model;
}

onnx::FunctionProto& addFunction(onnx::ModelProto& model, const char* name, const std::vector<const char*>& inputs, const std::vector<const char*>& outputs) {
    auto& function = *model.add_functions();
    function.set_name(name);
    function.set_domain("own");
    for (const char* input : inputs)
        function.add_input(input);
    for (const char* output : outputs)
        function.add_output(output);
    auto& import = *function.add_opset_import();
    import.set_version(model.opset_import(0).version());
    return function;
}

onnx::NodeProto& addTo(onnx::FunctionProto& function, const char* op, const std::vector<const char*>& inputs, const char* output) {
    auto& node = *function.add_node();
    node.set_op_type(op);
    for (const char* input : inputs)
        node.add_input(input);
    node.add_output(output);
    return node;
}

Result<std::vector<float>> run(const onnx::ModelProto& model, std::vector<float> x) {
    TS_ASSIGN(const Graph graph, importOnnxBytes(asBytes(model.SerializeAsString())));
    TS_ASSIGN(const Graph typed, inferShapes(graph));
    const Shape shape = typed.value(typed.inputs()[0]).type.shape();
    x.resize(static_cast<std::size_t>(elementCount(shape)), 0.0F);
    TS_ASSIGN(const std::vector<Tensor> outputs, Interpreter(typed).run({Tensor::of<float>(shape, x)}));
    const auto data = outputs[0].data<float>();
    return std::vector<float>(data.begin(), data.begin() + 2);
}

void yields(const onnx::ModelProto& model, const std::vector<float>& expected) {
    const auto actual = run(model, {1, -2});
    QVERIFY2(actual.ok(), actual.ok() ? "" : actual.error().message.c_str());
    QCOMPARE(*actual, expected);
}

void fails(const onnx::ModelProto& model, const char* why) {
    const auto actual = run(model, {1, -2});
    QVERIFY2(!actual.ok() && actual.error().message.find(why) != std::string::npos, actual.ok() ? "imported" : actual.error().message.c_str());
}

void addReference(onnx::NodeProto& node, const char* name, const char* of) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_ref_attr_name(of);
    attribute.set_type(onnx::AttributeProto::FLOAT);
}

} // namespace

class TestFunctions : public QObject {
    Q_OBJECT

private slots:
    void aCallBecomesItsNodes() {
        auto model = callingModel();
        auto& f = addFunction(model, "f", {"a"}, {"b"});
        addTo(f, "Add", {"a", "a"}, "y"); // a name that the model has, too
        addTo(f, "Neg", {"y"}, "b");
        yields(model, {-2, 4});
    }

    void functionsCallFunctions() {
        auto model = callingModel();
        auto& f = addFunction(model, "f", {"a"}, {"b"});
        addTo(f, "g", {"a"}, "t").set_domain("own");
        addTo(f, "g", {"t"}, "b").set_domain("own");
        auto& g = addFunction(model, "g", {"x"}, {"y"});
        addTo(g, "Add", {"x", "x"}, "y");
        yields(model, {4, -8});
    }

    void attributesComeFromTheCallOrAreLeftOut() {
        for (const bool given : {true, false}) {
            auto model = callingModel();
            auto& f = addFunction(model, "f", {"a"}, {"b"});
            f.add_attribute("slope");
            addReference(addTo(f, "LeakyRelu", {"a"}, "b"), "alpha", "slope");
            if (given) {
                auto& slope = addAttribute(*model.mutable_graph()->mutable_node(0), "slope", onnx::AttributeProto::FLOAT);
                slope.set_f(0.5F);
            }
            yields(model, {1, given ? -1.0F : -0.02F});
        }
    }

    void attributesMayHaveDefaults() {
        auto model = callingModel();
        auto& f = addFunction(model, "f", {"a"}, {"b"});
        addReference(addTo(f, "LeakyRelu", {"a"}, "b"), "alpha", "slope");
        onnx::AttributeProto slope;
        slope.set_name("slope");
        slope.set_type(onnx::AttributeProto::FLOAT);
        slope.set_f(0.25F);
        f.GetReflection()->MutableUnknownFields(&f)->AddLengthDelimited(11, slope.SerializeAsString());
        yields(model, {1, -0.5F});
    }

    void anOutputMayBeAnInput() {
        auto model = callingModel();
        addFunction(model, "f", {"a"}, {"a"});
        yields(model, {1, -2});
    }

    void bodiesInFunctionsReadWhatIsAround() {
        auto model = callingModel();
        auto& f = addFunction(model, "f", {"a"}, {"b"});
        addTo(f, "Neg", {"a"}, "n");
        addTo(f, "ReduceSum", {"a"}, "s").add_attribute()->set_name("keepdims");
        f.mutable_node(1)->mutable_attribute(0)->set_type(onnx::AttributeProto::INT);
        addTo(f, "Less", {"s", "s"}, "never");
        auto& choice = addTo(f, "If", {"never"}, "b");
        for (const char* branch : {"then_branch", "else_branch"}) {
            auto& body = *addAttribute(choice, branch, onnx::AttributeProto::GRAPH).mutable_g();
            addNode(body, std::string(branch) == "then_branch" ? "Exp" : "Abs", {"n"}, {"r"});
            body.add_output()->set_name("r");
        }
        yields(model, {1, 2});
    }

    // The caller's value is called x as well.
    void initializersOfBodiesHideNothingOfTheCaller() {
        auto model = callingModel();
        auto& f = addFunction(model, "f", {"a"}, {"b"});
        addTo(f, "ReduceSum", {"a"}, "s").add_attribute()->set_name("keepdims");
        f.mutable_node(0)->mutable_attribute(0)->set_type(onnx::AttributeProto::INT);
        addTo(f, "Less", {"s", "s"}, "never");
        auto& choice = addTo(f, "If", {"never"}, "b");
        for (const char* branch : {"then_branch", "else_branch"}) {
            auto& body = *addAttribute(choice, branch, onnx::AttributeProto::GRAPH).mutable_g();
            auto& ten = *body.add_initializer();
            ten.set_name("x");
            ten.set_data_type(onnx::TensorProto::FLOAT);
            ten.add_float_data(10);
            addNode(body, "Add", {"a", "x"}, {"r"});
            body.add_output()->set_name("r");
        }
        yields(model, {11, 8});
    }

    void inputsOfBodiesHideNothingOfTheCaller() {
        auto model = callingModel();
        auto& f = addFunction(model, "f", {"a"}, {"b"});
        auto& turns = addAttribute(addTo(f, "Constant", {}, "turns"), "value_int", onnx::AttributeProto::INT);
        turns.set_i(3);
        auto& body = *addAttribute(addTo(f, "Loop", {"turns", "", "a"}, "b"), "body", onnx::AttributeProto::GRAPH).mutable_g();
        tensorType(*body.add_input(), "turn", {}, 7);
        tensorType(*body.add_input(), "on", {}, 9);
        tensorType(*body.add_input(), "x", {2}, 1);
        addNode(body, "Identity", {"on"}, {"go_on"});
        addNode(body, "Add", {"x", "a"}, {"sum"});
        for (const char* output : {"go_on", "sum"})
            body.add_output()->set_name(output);
        yields(model, {4, -8});
    }

    void callsInBodiesAreWrittenOut() {
        auto model = callingModel();
        auto& graph = *model.mutable_graph();
        graph.clear_node();
        tensorType(*graph.add_input(), "flag", {}, 9);
        auto& choice = addNode(graph, "If", {"flag"}, {"y"});
        for (const char* branch : {"then_branch", "else_branch"}) {
            auto& body = *addAttribute(choice, branch, onnx::AttributeProto::GRAPH).mutable_g();
            addNode(body, "f", {"x"}, {"r"}).set_domain("own");
            body.add_output()->set_name("r");
        }
        addTo(addFunction(model, "f", {"a"}, {"b"}), "Neg", {"a"}, "b");
        const auto imported = importOnnxBytes(asBytes(model.SerializeAsString()));
        QVERIFY2(imported.ok(), imported.ok() ? "" : imported.error().message.c_str());
        const auto body = std::get<std::shared_ptr<const Graph>>(imported->nodes()[0]->attributes.at("else_branch"));
        QCOMPARE(body->nodes()[0]->op, std::string("Neg"));
    }

    void whatCannotBeWrittenOutIsNamed() {
        auto circle = callingModel();
        addTo(addFunction(circle, "f", {"a"}, {"b"}), "f", {"a"}, "b").set_domain("own");
        fails(circle, "'f' calls itself");
        auto other = callingModel();
        addTo(addFunction(other, "f", {"a"}, {"b"}), "Neg", {"a"}, "b");
        other.mutable_functions(0)->mutable_opset_import(0)->set_version(9);
        fails(other, "uses version 9");
        auto many = callingModel();
        many.mutable_graph()->mutable_node(0)->add_input("x");
        addTo(addFunction(many, "f", {"a"}, {"b"}), "Neg", {"a"}, "b");
        fails(many, "more values than its function");
        auto empty = callingModel();
        addFunction(empty, "f", {"a"}, {"b"});
        fails(empty, "is produced by no node");
    }

    // Since IR version 10 functions of one name are told apart by their overload, a field that older classes do not have.
    void overloadsAreToldApart() {
        constexpr int kNodeField = 8, kFunctionField = 13;
        const auto overloaded = [](auto& message, int field, const char* overload) {
            message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(field, overload);
        };
        for (const bool first : {true, false}) {
            auto model = callingModel();
            overloaded(*model.mutable_graph()->mutable_node(0), kNodeField, first ? "one" : "two");
            auto& one = addFunction(model, "f", {"a"}, {"b"});
            addTo(one, "Neg", {"a"}, "b");
            overloaded(one, kFunctionField, "one");
            auto& two = addFunction(model, "f", {"a"}, {"b"});
            addTo(two, "Relu", {"a"}, "b");
            overloaded(two, kFunctionField, "two");
            yields(model, first ? std::vector<float>{-1, 2} : std::vector<float>{1, 0});
        }
    }

    // One overload may call another of its name: that is no circle.
    void overloadsMayCallEachOther() {
        auto model = callingModel();
        auto& outer = addFunction(model, "f", {"a"}, {"b"});
        auto& call = addTo(outer, "f", {"a"}, "b");
        call.set_domain("own");
        call.GetReflection()->MutableUnknownFields(&call)->AddLengthDelimited(8, "inner");
        auto& inner = addFunction(model, "f", {"a"}, {"b"});
        addTo(inner, "Neg", {"a"}, "b");
        inner.GetReflection()->MutableUnknownFields(&inner)->AddLengthDelimited(13, "inner");
        yields(model, {-1, 2});
    }

    void functionsThatNothingTellsApartAreRefused() {
        auto model = callingModel();
        addTo(addFunction(model, "f", {"a"}, {"b"}), "Neg", {"a"}, "b");
        addTo(addFunction(model, "f", {"a"}, {"b"}), "Relu", {"a"}, "b");
        fails(model, "two functions 'f'");
    }

    void depthHasABound() {
        auto model = callingModel("f0");
        for (int i = 0; i < 2000; ++i) {
            const std::string name = "f" + std::to_string(i), next = "f" + std::to_string(i + 1);
            addTo(addFunction(model, name.c_str(), {"a"}, {"b"}), next.c_str(), {"a"}, "b").set_domain("own");
        }
        fails(model, "call each other more than 256 deep");
    }

    // Twenty functions of which each calls the next one twice.
    void growthHasABound() {
        auto model = callingModel("f0");
        for (int i = 0; i < 25; ++i) {
            const std::string name = "f" + std::to_string(i), next = "f" + std::to_string(i + 1);
            auto& f = addFunction(model, name.c_str(), {"a"}, {"b"});
            addTo(f, next.c_str(), {"a"}, "t").set_domain("own");
            addTo(f, next.c_str(), {"t"}, "b").set_domain("own");
        }
        fails(model, "more than 200000 nodes");
    }
};

QTEST_APPLESS_MAIN(TestFunctions)
#include "tst_functions.moc"
