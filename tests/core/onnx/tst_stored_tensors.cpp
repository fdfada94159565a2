// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/graph/stored_types.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "model_bytes.h"

using namespace tunesmith;

// Tensors of types that only store, as raw data and as numbers of a field.
namespace {

constexpr DType kAll[] = {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::f4e2m1,
                          DType::f8e8m0,   DType::u4,         DType::i4,     DType::u2,         DType::i2};

// y = Cast(w) to float32, with w as `fill` makes it.
template <class Fill> Result<Graph> modelWith(DType type, std::int64_t count, const Fill& fill) {
    onnx::ModelProto model;
    model.set_ir_version(13);
    model.add_opset_import()->set_version(25);
    auto& graph = *model.mutable_graph();
    graph.set_name("stored");
    testing::tensorType(*graph.add_output(), "y", {count});
    auto& tensor = *graph.add_initializer();
    tensor.set_name("w");
    tensor.set_data_type(static_cast<int>(type));
    tensor.add_dims(count);
    fill(tensor);
    auto& node = testing::addNode(graph, "Cast", {"w"}, {"y"}, "cast");
    testing::addAttribute(node, "to", onnx::AttributeProto::INT).set_i(1);
    return importOnnxBytes(testing::asBytes(model.SerializeAsString()));
}

Tensor weightOf(const Graph& graph) { return graph.value(graph.findValue("w")).constant; }

std::string codes(std::size_t count) {
    std::string text(count, '\0');
    for (std::size_t i = 0; i < count; ++i)
        text[i] = static_cast<char>(0x1b * (i + 3));
    return text;
}

} // namespace

class TestStoredTensors : public QObject {
    Q_OBJECT
private slots:
    void comeBack_data() {
        QTest::addColumn<int>("code");
        QTest::addColumn<int>("count");
        for (const DType type : kAll)
            for (const int count : {0, 1, 4, 7, 20001}) // the last is wrapped, not copied
                QTest::addRow("%s, %d", dtypeName(type).data(), count) << static_cast<int>(type) << count;
    }
    void comeBack() {
        QFETCH(const int, code);
        QFETCH(const int, count);
        const auto type = static_cast<DType>(code);
        const std::string raw = codes(storedBytes(type, count));
        const auto graph = modelWith(type, count, [&](auto& tensor) { tensor.set_raw_data(raw); });
        QVERIFY2(graph.ok(), graph.ok() ? "" : graph.error().message.c_str());
        const Tensor weight = weightOf(*graph);
        QCOMPARE(weight.type(), type);
        QCOMPARE(weight.byteCount(), raw.size());
        QVERIFY(raw.size() < 2 || std::equal(raw.begin(), raw.end() - 1, reinterpret_cast<const char*>(weight.bytes().data())));
        const auto field = modelWith(type, count, [&](auto& tensor) {
            for (const char byte : raw)
                tensor.add_int32_data(static_cast<unsigned char>(byte));
        });
        QVERIFY2(field.ok(), field.ok() ? "" : field.error().message.c_str());
        QCOMPARE(weightOf(*field).hash(), weight.hash());
        // What the file held behind the last element is gone.
        QCOMPARE(packCodes(type, unpackCodes(weight)).hash(), weight.hash());
        const auto bytes = exportOnnxBytes(*graph);
        QVERIFY(bytes.ok());
        const auto again = importOnnxBytes(*bytes);
        QVERIFY(again.ok());
        QCOMPARE(again->hash(), graph->hash());
    }

    void liesAreRefused_data() {
        QTest::addColumn<int>("bytes");
        QTest::newRow("unpacked") << 7;
        QTest::newRow("one too few") << 3;
        QTest::newRow("nothing") << 0;
    }
    void liesAreRefused() {
        QFETCH(const int, bytes);
        const auto graph = modelWith(DType::i4, 7, [&](auto& tensor) { tensor.set_raw_data(std::string(static_cast<std::size_t>(bytes), 'x')); });
        QVERIFY(!graph.ok());
        QVERIFY2(graph.error().message.find("'w'") != std::string::npos && graph.error().message.find("needs 4") != std::string::npos, graph.error().message.c_str());
    }

    void tooManyToCount() {
        const auto graph = modelWith(DType::i2, std::int64_t(1) << 60, [](auto& tensor) { tensor.set_raw_data("x"); });
        QVERIFY(!graph.ok());
    }
};

QTEST_GUILESS_MAIN(TestStoredTensors)
#include "tst_stored_tensors.moc"
