// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/check/random_inputs.h"

#include <QTest>

#include <algorithm>

#include "core/graph/graph_builder.h"

using namespace tunesmith;

namespace {

Graph identityOf(const TensorType& type) {
    GraphBuilder builder;
    builder.setOutputs({builder.add("Identity", {builder.addInput("x", type)})});
    return *builder.build();
}

std::int64_t largest(const Tensor& tensor) {
    const auto values = tensor.asInts();
    return *std::max_element(values.begin(), values.end());
}

} // namespace

class TestRandomInputs : public QObject {
    Q_OBJECT
private slots:
    void floatsAreUniform() {
        for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
            const Tensor tensor = (*randomInputs(identityOf(TensorType(type, Shape{100, 100})), 1))[0];
            double sum = 0, low = 2, high = -1;
            for (std::int64_t i = 0; i < tensor.count(); ++i) {
                sum += tensor.asDouble(i);
                low = std::min(low, tensor.asDouble(i));
                high = std::max(high, tensor.asDouble(i));
            }
            QVERIFY(low >= 0 && low < 0.01 && high <= 1 && high > 0.99);
            QVERIFY(std::abs(sum / 10000 - 0.5) < 0.02);
        }
    }

    void integersAreSmallAndBoolsBoth() {
        for (const DType type :
             {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32, DType::i64, DType::u64}) {
            const auto values = (*randomInputs(identityOf(TensorType(type, Shape{1000})), 1))[0].asInts();
            QCOMPARE(*std::min_element(values.begin(), values.end()), std::int64_t{0});
            QCOMPARE(*std::max_element(values.begin(), values.end()), std::int64_t{9});
        }
        const auto coins =
            (*randomInputs(identityOf(TensorType(DType::boolean, Shape{1000})), 1))[0].asInts();
        const auto heads = std::count(coins.begin(), coins.end(), 1);
        QVERIFY(heads > 400 && heads < 600);
    }

    void sameSeedSameInputs() {
        const Graph graph = identityOf(TensorType(DType::f32, Shape{10}));
        QCOMPARE((*randomInputs(graph, 4))[0].hash(), (*randomInputs(graph, 4))[0].hash());
        QVERIFY((*randomInputs(graph, 4))[0].hash() != (*randomInputs(graph, 5))[0].hash());
    }

    void twoInputsDiffer() {
        GraphBuilder builder;
        const TensorType type(DType::f32, Shape{10});
        builder.setOutputs({builder.add("Add", {builder.addInput("a", type), builder.addInput("b", type)})});
        const auto inputs = *randomInputs(*builder.build(), 1);
        QCOMPARE(inputs.size(), std::size_t{2});
        QVERIFY(inputs[0].hash() != inputs[1].hash());
    }

    void indicesStayLegal_data() {
        QTest::addColumn<int>("axis");
        QTest::addColumn<bool>("detour");
        QTest::addColumn<int>("bound");
        QTest::newRow("rows") << 0 << false << 500;
        QTest::newRow("columns") << 1 << false << 3;
        QTest::newRow("last axis") << -1 << false << 3;
        QTest::newRow("axis that is not there") << 7 << false << 1;
        QTest::newRow("through Cast and Unsqueeze") << 0 << true << 500;
        QTest::newRow("columns through a detour") << 1 << true << 3;
    }
    void indicesStayLegal() {
        QFETCH(int, axis);
        QFETCH(bool, detour);
        QFETCH(int, bound);
        GraphBuilder builder;
        const ValueId table = builder.addConstant("table", Tensor::zeros(DType::f32, {500, 3}));
        const ValueId ids = builder.addInput("ids", TensorType(DType::i32, Shape{4000}));
        const ValueId used =
            detour ? builder.add("Unsqueeze", {builder.add("Cast", {ids}, {{"to", std::int64_t{7}}})}) : ids;
        builder.setOutputs({builder.add("Gather", {table, used}, {{"axis", std::int64_t{axis}}})});
        const Tensor tensor = (*randomInputs(*builder.build(), 1))[0];
        QVERIFY(largest(tensor) < bound);
        QVERIFY(largest(tensor) > bound * 9 / 10 - 1);
    }

    void theNarrowestOfTwoTablesCounts() {
        GraphBuilder builder;
        const ValueId ids = builder.addInput("ids", TensorType(DType::i64, Shape{1000}));
        const ValueId wide =
            builder.add("Gather", {builder.addConstant("w", Tensor::zeros(DType::f32, {100, 1})), ids});
        const ValueId narrow =
            builder.add("Gather", {builder.addConstant("n", Tensor::zeros(DType::f32, {2, 1})), ids});
        builder.setOutputs({wide, narrow});
        QCOMPARE(largest((*randomInputs(*builder.build(), 1))[0]), std::int64_t{1});
    }

    // Indices of other operators: the input among `op`'s, and where the extent is that it stays below.
    void indicesStayBelowTheirExtent_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<QString>("domain");
        QTest::addColumn<int>("index");
        QTest::addColumn<int>("data");
        QTest::newRow("images of regions") << "RoiAlign"
                                           << "" << 2 << 0;
        QTest::newRow("images of boxes") << "CropAndResize"
                                         << "com.microsoft" << 2 << 0;
        QTest::newRow("words") << "EmbedLayerNormalization"
                               << "com.microsoft" << 0 << 2;
        QTest::newRow("segments") << "EmbedLayerNormalization"
                                  << "com.microsoft" << 1 << 4;
        QTest::newRow("packed rows") << "GatherBlockQuantized"
                                     << "com.microsoft" << 1 << 0;
        QTest::newRow("filled rows") << "GroupQueryAttention"
                                     << "com.microsoft" << 5 << 3;
        QTest::newRow("positions") << "RotaryEmbedding"
                                   << "com.microsoft" << 1 << 2;
    }
    void indicesStayBelowTheirExtent() {
        QFETCH(QString, op);
        QFETCH(QString, domain);
        QFETCH(int, index);
        QFETCH(int, data);
        GraphBuilder builder;
        Node node;
        node.op = op.toStdString();
        node.domain = domain.toStdString();
        node.inputs.resize(6);
        node.inputs[static_cast<std::size_t>(index)] =
            builder.addInput("ids", TensorType(DType::i64, Shape{1000}));
        node.inputs[static_cast<std::size_t>(data)] =
            builder.addConstant("rows", Tensor::zeros(DType::f32, {3, 77, 3, 1}));
        node.outputs = {builder.addValue("y")};
        builder.setOutputs(node.outputs);
        builder.addNode(std::move(node));
        QCOMPARE(largest((*randomInputs(*builder.build(), 1))[0]), std::int64_t{2});
    }

    // Two rows that are written into five begin at the last but one.
    void writtenRowsHaveRoom() {
        GraphBuilder builder;
        const ValueId cache = builder.addConstant("cache", Tensor::zeros(DType::f32, {1000, 5, 1})),
                      rows = builder.addConstant("rows", Tensor::zeros(DType::f32, {1000, 2, 1})),
                      places = builder.addInput("places", TensorType(DType::i64, Shape{1000}));
        builder.setOutputs({builder.add("TensorScatter", {cache, rows, places})});
        QCOMPARE(largest((*randomInputs(*builder.build(), 1))[0]), std::int64_t{3});
    }

    void refused_data() {
        QTest::addColumn<int>("kind");
        QTest::addColumn<QString>("expected");
        QTest::newRow("symbol") << 0 << "'batch'";
        QTest::newRow("unnamed") << 1 << "'x.1'";
        QTest::newRow("no rank") << 2 << "rank";
        QTest::newRow("strings") << 3 << "string";
        QTest::newRow("too large") << 4 << "too large";
    }
    void refused() {
        QFETCH(int, kind);
        QFETCH(QString, expected);
        const std::vector<TensorType> types{
            TensorType(DType::f32, Dims{Dim::named("batch")}), TensorType(DType::f32, Dims{Dim(1), Dim()}),
            TensorType(DType::f32), TensorType(DType::string, Shape{1}),
            TensorType(DType::f32, Shape{std::int64_t{1} << 40, std::int64_t{1} << 40})};
        const auto inputs = randomInputs(identityOf(types[static_cast<std::size_t>(kind)]), 1);
        QVERIFY(!inputs.ok());
        QVERIFY2(inputs.error().message.find(expected.toStdString()) != std::string::npos,
                 inputs.error().message.c_str());
        QVERIFY(inputs.error().message.find("'x'") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestRandomInputs)
#include "tst_random_inputs.moc"
