// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>
#include <fstream>

#include "core/graph/graph_builder.h"
#include "core/workbench/conformance_data.h"

using namespace tunesmith;

// What the conformance runner makes of stored data, and which outputs it cannot compare by their numbers.
class ConformanceDataTest : public QObject {
    Q_OBJECT
private slots:
    void bitsOfBfloat16();
    void filesAreNumbered();
    void containersAreNamed_data();
    void containersAreNamed();
    void damagedTensorsStayDamaged();
    void drawnOutputsAreFollowed();
    void drawnInABody();

private:
    void write(const char* name, const std::string& bytes) {
        std::ofstream(folder_.filePath(name).toStdString(), std::ios::binary) << bytes;
    }
    Result<std::vector<Tensor>> read(const char* stem, DType declared) {
        GraphBuilder builder;
        const ValueId x = builder.addInput("x", TensorType(declared));
        builder.setOutputs({x});
        const Graph graph = *builder.build();
        return readCaseData(folder_.path().toStdString(), stem, graph, graph.inputs());
    }
    QTemporaryDir folder_;
};

namespace {

using namespace std::string_literals;

// TensorProto: two elements of uint16 (data type 4) whose bits are 1 and -2 in bfloat16.
const std::string kTwoNumbers = "\x08\x02\x10\x04\x4a\x04\x80\x3f\x00\xc0"s;

} // namespace

void ConformanceDataTest::bitsOfBfloat16() {
    write("bits_0.pb", kTwoNumbers);
    const auto taken = read("bits", DType::bf16);
    QVERIFY2(taken.ok(), taken.ok() ? "" : taken.error().message.c_str());
    QCOMPARE((*taken)[0].type(), DType::bf16);
    QCOMPARE((*taken)[0].asDouble(0), 1.0);
    QCOMPARE((*taken)[0].asDouble(1), -2.0);
    const auto plain = read("bits", DType::u16); // what is declared as uint16 stays so
    QCOMPARE((*plain)[0].type(), DType::u16);
    QCOMPARE((*plain)[0].asInt(0), std::int64_t{0x3f80});
    QCOMPARE((*read("bits", DType::f16))[0].type(), DType::u16); // only ONNX's habit for bfloat16 is known
}

void ConformanceDataTest::filesAreNumbered() {
    for (const char* name : {"many_0.pb", "many_1.pb", "many_3.pb"})
        write(name, kTwoNumbers);
    const auto tensors = read("many", DType::bf16);
    QCOMPARE(tensors->size(), std::size_t{2}); // the row ends where a number is missing
    QCOMPARE((*tensors)[1].type(), DType::u16); // nothing is declared for it
    QCOMPARE(read("none", DType::f32)->size(), std::size_t{0});
}

void ConformanceDataTest::containersAreNamed_data() {
    QTest::addColumn<QByteArray>("bytes");
    const auto row = [](const char* name, const std::string& bytes) { QTest::newRow(name) << QByteArray::fromStdString(bytes); };
    row("sequence of a tensor", "\x0a\x03seq\x10\x01\x1a\x0a"s + kTwoNumbers);
    row("empty sequence", "\x0a\x03seq\x10\x01"s);
    row("optional tensor", "\x0a\x03opt\x10\x01\x1a\x0a"s + kTwoNumbers);
    row("empty optional", "\x0a\x03opt\x10\x00"s);
    row("optional sequence", "\x0a\x03opt\x10\x03\x2a\x07\x0a\x03seq\x10\x01"s);
}

void ConformanceDataTest::containersAreNamed() {
    QFETCH(QByteArray, bytes);
    write("container_0.pb", bytes.toStdString());
    const auto tensors = read("container", DType::f32);
    QVERIFY(!tensors.ok());
    QCOMPARE(tensors.error().kind, ErrorKind::unsupported);
    QVERIFY2(tensors.error().message.find("a sequence or an optional") != std::string::npos, tensors.error().message.c_str());
}

void ConformanceDataTest::damagedTensorsStayDamaged() {
    for (const std::string& bytes : {kTwoNumbers.substr(0, 8), "\x08\x03"s + kTwoNumbers.substr(2), "\x10\x01"s, "\xff\xff"s}) {
        write("damaged_0.pb", bytes);
        const auto tensors = read("damaged", DType::f32);
        QVERIFY(!tensors.ok());
        QCOMPARE(tensors.error().kind, ErrorKind::input);
    }
}

void ConformanceDataTest::drawnOutputsAreFollowed() {
    GraphBuilder builder;
    builder.setOpset({}, 17);
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Dims{2}));
    const ValueId drawn = builder.add("RandomUniformLike", {x});
    const ValueId after = builder.add("Relu", {builder.add("Add", {x, drawn})}), beside = builder.add("Relu", {x});
    builder.setOutputs({after, beside, x});
    QCOMPARE(drawnOutputs(*builder.build()), (std::vector<bool>{true, false, false}));
}

void ConformanceDataTest::drawnInABody() {
    const auto branch = [](bool draws) {
        GraphBuilder body("branch");
        const ValueId x = body.addCapture("x", TensorType(DType::f32, Dims{2}));
        body.setOutputs({body.add(draws ? "RandomNormalLike" : "Relu", {x})});
        return Attribute(std::make_shared<const Graph>(*body.build()));
    };
    for (const bool draws : {false, true})
        for (const bool captured : {false, true}) {
            GraphBuilder builder;
            builder.setOpset({}, 17);
            const ValueId flag = builder.addInput("flag", TensorType(DType::boolean, Dims{}));
            const ValueId source = builder.addInput(captured ? "source" : "x", TensorType(DType::f32, Dims{2}));
            if (captured) {
                Node node;
                node.op = "RandomUniformLike";
                node.inputs = {source};
                node.outputs = {builder.addValue("x")};
                builder.addNode(std::move(node));
            }
            builder.setOutputs({builder.add("If", {flag}, {{"then_branch", branch(draws)}, {"else_branch", branch(false)}})});
            QCOMPARE(drawnOutputs(*builder.build()), (std::vector<bool>{draws || captured}));
        }
}

QTEST_GUILESS_MAIN(ConformanceDataTest)
#include "tst_conformance_data.moc"
