// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/graph/graph_codec.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

// Constants by number, as the weights of a module are.
struct Constants {
    std::vector<Tensor> kept;
    PlaceConstant place = [this](const Tensor& tensor) {
        kept.push_back(tensor);
        return static_cast<std::int64_t>(kept.size()) - 1;
    };
    FindConstant find = [this](std::int64_t number) { return kept.at(static_cast<std::size_t>(number)).bytes().data(); };
};

std::shared_ptr<const Graph> body() {
    GraphBuilder builder("body");
    builder.setOpset("", 17);
    const ValueId turn = builder.addInput("turn", TensorType(DType::i64, Shape{}));
    const ValueId outer = builder.addCapture("x", TensorType(DType::f32, Dims{Dim(), Dim::named("n")}));
    const ValueId weight = builder.addConstant("w", Tensor::of<float>({2}, std::vector<float>{1.5F, -0.0F}));
    builder.setOutputs({builder.add("Add", {outer, weight}), turn});
    return std::make_shared<const Graph>(take(builder.build()));
}

// Every kind of attribute, value and type.
Graph everything() {
    GraphBuilder builder("all");
    builder.setOpset("", 17);
    builder.setOpset("com.example", 3);
    const ValueId late = builder.addInput("late", TensorType(DType::boolean));
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Dims{Dim(3), Dim::named("n")}));
    const ValueId words = builder.addConstant("words", Tensor::ofStrings({2}, {"a b", ""}));
    Node node;
    node.name = "everything";
    node.op = "Strange";
    node.domain = "com.example";
    node.inputs = {x, ValueId(), words, late};
    const ValueId y = builder.addValue("y", TensorType(DType::i8, Shape{4, 0}));
    node.outputs = {y, ValueId(), builder.addValue("z")};
    node.attributes = {{"int", std::int64_t(-7)},
                       {"most", std::numeric_limits<std::int64_t>::min()},
                       {"float", -1.25F},
                       {"string", std::string("k\0s", 3)},
                       {"tensor", Tensor::of<double>({}, std::vector<double>{1e300})},
                       {"ints", std::vector<std::int64_t>{1, -1, 1LL << 62}},
                       {"floats", std::vector<float>{0.5F}},
                       {"strings", std::vector<std::string>{"", "x"}},
                       {"body", body()}};
    builder.addNode(std::move(node));
    builder.setOutputs({y});
    return take(builder.build());
}

} // namespace

// A graph is the same after it was packed and unpacked; damaged bytes give an error and nothing else.
class TestGraphCodec : public QObject {
    Q_OBJECT

private slots:
    void everythingComesBack() {
        Constants constants;
        const Graph graph = everything();
        const Graph again = take(unpackGraph(packGraph(graph, constants.place), constants.find));
        QCOMPARE(again.hash(), graph.hash());
        QCOMPARE(again.opsets(), graph.opsets());
        QCOMPARE(again.inputs().size(), std::size_t(2));
        QCOMPARE(again.value(again.inputs()[0]).name, std::string("late"));
        QVERIFY(again.value(again.inputs()[1]).type == graph.value(graph.inputs()[1]).type);
        const Node &before = *graph.nodes()[0], &after = *again.nodes()[0];
        QCOMPARE(after.name, before.name);
        QVERIFY(!after.hasInput(1));
        QVERIFY(!after.outputs[1].valid());
        QCOMPARE(after.stringAttr("string").size(), std::size_t(3));
        const auto inner = std::get<std::shared_ptr<const Graph>>(after.attributes.at("body"));
        QCOMPARE(inner->hash(), body()->hash());
        QCOMPARE(inner->value(inner->captures().at(0)).name, std::string("x"));
    }

    void damageIsAnError() {
        Constants constants;
        const std::vector<std::byte> bytes = packGraph(everything(), constants.place);
        for (std::size_t size = 0; size < bytes.size(); ++size)
            QVERIFY(!unpackGraph(std::span(bytes).first(size), constants.find).ok());
        std::vector<std::byte> other = bytes;
        other[0] ^= std::byte(1); // of another version
        QVERIFY(!unpackGraph(other, constants.find).ok());
    }
};

QTEST_APPLESS_MAIN(TestGraphCodec)
#include "tst_graph_codec.moc"
