// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/graph/body_splicer.h"

using namespace tunesmith;

namespace {

Graph take(Result<Graph> graph) {
    if (!graph.ok())
        qFatal("%s", graph.error().message.c_str());
    return std::move(graph).value();
}

const TensorType kFloats(DType::f32, Shape{2});

// x -> x * weight + outside
Graph scaleBody() {
    GraphBuilder body("body");
    const ValueId x = body.addInput("x", kFloats);
    const ValueId weight = body.addConstant("weight", Tensor::of<float>({2}, {3, 4}));
    const ValueId outside = body.addCapture("outside", kFloats);
    body.setOutputs({body.add("Add", {body.add("Mul", {x, weight}), outside})});
    return take(body.build());
}

} // namespace

class TestBodySplicer : public QObject {
    Q_OBJECT

private slots:
    void copiesShareConstantsAndReadWhatIsAround() {
        GraphBuilder builder;
        const ValueId x = builder.addInput("x", kFloats), y = builder.addInput("outside", kFloats);
        const Graph body = scaleBody();
        BodySplicer splicer(builder, body, "loop/", [&](const std::string& name) { return name == "outside" ? y : ValueId(); });
        const auto first = splicer.splice({x});
        QVERIFY(first.ok());
        const auto second = splicer.splice(*first);
        QVERIFY(second.ok());
        builder.setOutputs(*second);
        const Graph graph = take(builder.build());
        QCOMPARE(graph.nodeCount(), std::size_t(4));
        int constants = 0;
        for (const auto& value : graph.values())
            constants += value->isConstant();
        QCOMPARE(constants, 1);
        QCOMPARE(graph.consumers(graph.findValue("outside")).size(), std::size_t(2));
        QCOMPARE(graph.nodes()[0]->name.rfind("loop/", 0), std::size_t(0));
    }

    void bodiesWithinBodiesReadTheCopies() {
        GraphBuilder inner("inner");
        const ValueId captured = inner.addCapture("doubled", kFloats), far = inner.addCapture("outside", kFloats);
        inner.setOutputs({inner.add("Add", {captured, far})});
        GraphBuilder outer("outer");
        const ValueId x = outer.addInput("x", kFloats), condition = outer.addInput("condition", TensorType(DType::boolean, Shape{}));
        const ValueId doubled = outer.addValue("doubled");
        Node twice;
        twice.op = "Add";
        twice.inputs = {x, x};
        twice.outputs = {doubled};
        outer.addNode(twice);
        const auto branch = std::make_shared<const Graph>(take(inner.build()));
        outer.setOutputs({outer.add("If", {condition}, {{"then_branch", branch}, {"else_branch", branch}})});
        const Graph body = take(outer.build());

        GraphBuilder builder;
        builder.addValue("doubled"); // the name is taken
        const ValueId in = builder.addInput("in", kFloats), c = builder.addInput("c", TensorType(DType::boolean, Shape{}));
        const ValueId there = builder.addInput("there", kFloats);
        BodySplicer splicer(builder, body, "", [&](const std::string& name) { return name == "outside" ? there : ValueId(); });
        const auto outputs = splicer.splice({in, c});
        QVERIFY2(outputs.ok(), outputs.ok() ? "" : outputs.error().message.c_str());
        builder.setOutputs(*outputs);
        const Graph graph = take(builder.build());
        const auto found = std::ranges::find_if(graph.nodes(), [](const auto& node) { return node->op == "If"; });
        const auto then = std::get<std::shared_ptr<const Graph>>((*found)->attributes.at("then_branch"));
        std::vector<std::string> names;
        for (const ValueId id : then->captures())
            names.push_back(then->value(id).name);
        const auto add = std::ranges::find_if(graph.nodes(), [](const auto& node) { return node->op == "Add"; });
        QCOMPARE(names, (std::vector<std::string>{graph.value((*add)->outputs[0]).name, "there"}));
        QVERIFY(names[0] != "doubled");
    }

    void refusesWhatDoesNotFit() {
        GraphBuilder builder;
        const ValueId x = builder.addInput("x", kFloats);
        const Graph body = scaleBody();
        BodySplicer splicer(builder, body, "", [](const std::string&) { return ValueId(); });
        const auto unknown = splicer.splice({x});
        QVERIFY(!unknown.ok() && unknown.error().message.find("'outside'") != std::string::npos);
        const auto few = splicer.splice({});
        QVERIFY(!few.ok() && few.error().message.find("1 inputs and is given 0") != std::string::npos);
    }
};

QTEST_APPLESS_MAIN(TestBodySplicer)
#include "tst_body_splicer.moc"
