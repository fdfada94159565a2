// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/module/build.h"
#include "core/module/compiled_parts.h"

using namespace tunesmith;

namespace {

const TensorType kRow(DType::f32, Shape{8});

Graph finished(GraphBuilder& builder, std::vector<ValueId> outputs) {
    builder.setOpset("", 17);
    builder.setOutputs(std::move(outputs));
    const auto built = builder.build();
    const auto prepared = built.ok() ? prepareGraph(*built) : built;
    if (!prepared.ok())
        qFatal("%s", prepared.error().message.c_str());
    return *prepared;
}

// No kernel, yet of known shape.
ValueId addRandom(GraphBuilder& builder, ValueId x) {
    return builder.add("RandomNormalLike", {x});
}

QStringList operators(const Graph& graph) {
    QStringList names;
    for (const auto& node : graph.nodes())
        names << QString::fromStdString(node->op);
    names.sort();
    return names;
}

} // namespace

class TestCompiledParts : public QObject {
    Q_OBJECT

private slots:
    void aGraphOfKernelsIsOnePart() {
        GraphBuilder builder;
        const Graph graph = finished(builder, {builder.add("Exp", {builder.addInput("x", kRow)})});
        const auto parts = compiledParts(graph);
        QVERIFY(parts.ok());
        QCOMPARE(parts->size(), std::size_t(1));
        QCOMPARE(parts->front().hash(), graph.hash());
    }

    // x -> Exp -> random -> Tanh -> random -> Neg, and a Sin beside it that waits for nothing; the last Add
    // waits for both.
    void whatIsNoKernelRunsBetweenParts() {
        GraphBuilder builder;
        const ValueId x = builder.addInput("x", kRow);
        const ValueId first = addRandom(builder, builder.add("Exp", {x}));
        const ValueId second = addRandom(builder, builder.add("Tanh", {first}));
        const ValueId sum = builder.add("Add", {builder.add("Neg", {second}), builder.add("Sin", {x})});
        const Graph graph = finished(builder, {sum});
        const auto parts = compiledParts(graph);
        QVERIFY2(parts.ok(), parts.ok() ? "" : parts.error().message.c_str());
        QCOMPARE(parts->size(), std::size_t(3));
        QCOMPARE(operators((*parts)[0]), (QStringList{"Exp", "Sin"}));
        QCOMPARE(operators((*parts)[1]), (QStringList{"Tanh"}));
        QCOMPARE(operators((*parts)[2]), (QStringList{"Add", "Neg"}));
        const auto target = hostTarget(1);
        QVERIFY(target.ok());
        const auto workloads = modelWorkloads(graph, *target);
        QVERIFY2(workloads.ok(), workloads.ok() ? "" : workloads.error().message.c_str());
        QCOMPARE(workloads->size(), std::size_t(4)); // Neg and Add share a kernel
    }

    void withoutKernelsTheFirstNodeIsNamed() {
        GraphBuilder builder;
        const Graph graph = finished(builder, {addRandom(builder, builder.addInput("x", kRow))});
        const auto parts = compiledParts(graph);
        QVERIFY(!parts.ok());
        QVERIFY2(parts.error().message.find("RandomNormalLike") != std::string::npos,
                 parts.error().message.c_str());
    }
};

QTEST_APPLESS_MAIN(TestCompiledParts)
#include "tst_compiled_parts.moc"
