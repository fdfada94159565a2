// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>

#include "core/base/rng.h"
#include "core/check/random_inputs.h"
#include "core/graph/graph_builder.h"
#include "core/onnx/export.h"
#include "core/ops/infer_shapes.h"
#include "core/workbench/compile.h"
#include "tests/bench/int8_encoder.h"
#include "tests/bench/model_subjects.h"
#include "tests/take.h"

using namespace tunesmith;
using bench::ModuleSubject, bench::RuntimeSubject;
using Ints = std::vector<std::int64_t>;

namespace {

// Models of one quantised product each.
class Maker {
public:
    Maker() {
        builder_.setOpset("", 17);
        builder_.setOpset("com.microsoft", 1);
    }

    Graph convolution(bool integer, std::int64_t channels, std::int64_t size, std::int64_t outputs, std::int64_t kernel, std::int64_t stride = 1, std::int64_t groups = 1) {
        const std::map<std::string, Attribute> attributes{{"pads", Ints(4, kernel / 2)}, {"strides", Ints(2, stride)}, {"group", groups}};
        const ValueId x = builder_.addInput("x", TensorType(DType::u8, Shape{1, channels, size, size})), zeroX = zero(DType::u8, 117);
        const ValueId w = bytes(DType::i8, {outputs, channels / groups, kernel, kernel});
        if (integer)
            return finish(builder_.add("ConvInteger", {x, w, zeroX, zero(DType::i8, 0)}, attributes));
        const ValueId zeroW = builder_.addConstant("", Tensor::zeros(DType::i8, {outputs})), bias = builder_.addConstant("", Tensor::zeros(DType::i32, {outputs}));
        return finish(builder_.add("QLinearConv", {x, scale({}, 0.02F), zeroX, w, scale({outputs}, 0.004F), zeroW, scale({}, 0.15F), zero(DType::u8, 110), bias}, attributes));
    }

    Graph integerProduct(std::int64_t m, std::int64_t k, std::int64_t n) {
        const ValueId a = builder_.addInput("a", TensorType(DType::u8, Shape{m, k}));
        return finish(builder_.add("MatMulInteger", {a, bytes(DType::i8, {k, n}), zero(DType::u8, 128), zero(DType::i8, 0)}));
    }

    Graph linearProduct(std::int64_t m, std::int64_t k, std::int64_t n) {
        const ValueId a = builder_.addInput("a", TensorType(DType::u8, Shape{m, k}));
        return finish(builder_.add("QLinearMatMul", {a, scale({}, 0.02F), zero(DType::u8, 120), bytes(DType::i8, {k, n}), scale({}, 0.003F), zero(DType::i8, 0), scale({}, 0.1F), zero(DType::u8, 128)}));
    }

    Graph packedProduct(std::int64_t bits, std::int64_t rows, std::int64_t size) {
        constexpr std::int64_t kBlock = 32;
        const ValueId a = builder_.addInput("a", TensorType(DType::f32, Shape{rows, size}));
        const ValueId w = bytes(DType::u8, {size, size / kBlock, kBlock * bits / 8});
        Node node;
        node.op = "MatMulNBits";
        node.domain = "com.microsoft";
        node.attributes = {{"K", size}, {"N", size}, {"bits", bits}, {"block_size", kBlock}};
        node.inputs = {a, w, scale({size * size / kBlock}, 0.004F)};
        node.outputs = {builder_.addValue("y")};
        const ValueId y = node.outputs[0];
        builder_.addNode(std::move(node));
        return finish(y);
    }

private:
    ValueId bytes(DType type, const Shape& shape) {
        Tensor tensor = Tensor::zeros(type, shape);
        for (std::byte& byte : tensor.mutableBytes())
            byte = std::byte(static_cast<std::uint8_t>(rng_.below(256)));
        return builder_.addConstant("", std::move(tensor));
    }
    ValueId zero(DType type, int value) {
        Tensor tensor = Tensor::zeros(type, {});
        tensor.mutableBytes()[0] = std::byte(static_cast<std::uint8_t>(value));
        return builder_.addConstant("", std::move(tensor));
    }
    ValueId scale(const Shape& shape, float value) {
        Tensor tensor = Tensor::zeros(DType::f32, shape);
        std::ranges::fill(tensor.mutableData<float>(), value);
        return builder_.addConstant("", std::move(tensor));
    }
    Graph finish(ValueId output) {
        builder_.setOutputs({output});
        return take(inferShapes(take(builder_.build())));
    }

    GraphBuilder builder_{"bytes"};
    Rng rng_{1};
};

} // namespace

Q_DECLARE_METATYPE(std::function<Graph()>)

// Quantised products, encoders of them, and quantised models of files, with their default schedules on one thread beside ONNX Runtime, p5 of
// alternating blocks: none takes more than 1.5 times as long. TUNESMITH_BENCH_NODE_MODULES is a folder with onnxruntime-node, TUNESMITH_BENCH_MODELS
// lists ONNX files (model_subjects.h).
class BenchBytes : public QObject {
    Q_OBJECT

private slots:
    void products_data() {
        QTest::addColumn<std::function<Graph()>>("make");
        const auto row = [](const char* name, std::function<Graph()> make) { QTest::newRow(name) << std::move(make); };
        row("QLinearConv 3x3 64@56", [] { return Maker().convolution(false, 64, 56, 64, 3); });
        row("QLinearConv 3x3 256@14", [] { return Maker().convolution(false, 256, 14, 256, 3); });
        row("QLinearConv 3x3 512@7", [] { return Maker().convolution(false, 512, 7, 512, 3); });
        row("QLinearConv 1x1 960 to 160@7", [] { return Maker().convolution(false, 960, 7, 160, 1); });
        row("QLinearConv 1x1 256 to 64@56", [] { return Maker().convolution(false, 256, 56, 64, 1); });
        row("QLinearConv depthwise 144@56", [] { return Maker().convolution(false, 144, 56, 144, 3, 1, 144); });
        row("QLinearConv stem", [] { return Maker().convolution(false, 3, 224, 64, 7, 2); });
        row("ConvInteger 3x3 64@56", [] { return Maker().convolution(true, 64, 56, 64, 3); });
        row("MatMulInteger 512^3", [] { return Maker().integerProduct(512, 512, 512); });
        row("MatMulInteger 128x768x3072", [] { return Maker().integerProduct(128, 768, 3072); });
        row("QLinearMatMul 128x768x768", [] { return Maker().linearProduct(128, 768, 768); });
        for (const int bits : {4, 8})
            for (const int rows : {1, 128})
                QTest::addRow("MatMulNBits %d bits, %d rows", bits, rows) << std::function<Graph()>([=] { return Maker().packedProduct(bits, rows, 4096); });
    }
    void products() {
        QFETCH(std::function<Graph()>, make);
        compareGraph(make());
    }

    void encoders_data() {
        QTest::addColumn<std::int64_t>("width");
        QTest::addColumn<bool>("fused");
        for (const int width : {256, 512})
            for (const bool fused : {false, true})
                QTest::addRow("width %d, %s", width, fused ? "fused" : "as it was quantised") << std::int64_t{width} << fused;
    }
    void encoders() {
        QFETCH(std::int64_t, width);
        QFETCH(bool, fused);
        compareGraph(bench::Int8Encoder{4, width, width / 64, 128, fused}.make());
    }

    // Models of files, as tests/release/quantized.py --keep writes them.
    void models_data() { bench::addModelRows(); }
    void models() {
        if (qEnvironmentVariableIsEmpty("TUNESMITH_BENCH_MODELS"))
            QSKIP("needs TUNESMITH_BENCH_MODELS");
        QFETCH(QString, dimensions);
        compare(take(openModel(QTest::currentDataTag(), take(parseDimensions(dimensions.toStdString())))));
    }

private:
    static void compareGraph(const Graph& graph) {
        const QTemporaryDir folder;
        const std::string file = folder.filePath("model.onnx").toStdString();
        QVERIFY(exportOnnx(graph, file).ok());
        compare(take(openModel(file, {})));
    }

    static void compare(const Model& model) {
        if (!RuntimeSubject::isThere())
            QSKIP("needs node and TUNESMITH_BENCH_NODE_MODULES with onnxruntime-node");
        const QTemporaryDir folder;
        const std::vector<Tensor> inputs = take(randomInputs(model.graph(), 1));
        CompileRequest request;
        request.folder = folder.filePath("module").toStdString();
        request.store = folder.filePath("trials.db").toStdString();
        request.threads = 1;
        request.untuned = true;
        ModuleSubject module(take(compileModel(model, request)).folder, 1, inputs);
        RuntimeSubject runtime(QString::fromStdString(model.source()), 1, bench::writeInputs(model, inputs, folder.path()));
        QVERIFY2(runtime.isReady(), "ONNX Runtime does not run this model");
        const std::vector<double> lows = bench::lowTimes({&module, &runtime});
        qInfo("%s: %.3f ms, ONNX Runtime %.3f ms: %.2f times its time", QTest::currentDataTag(), lows[0], lows[1], lows[0] / lows[1]);
        QVERIFY2(lows[0] <= 1.5 * lows[1], "more than 1.5 times ONNX Runtime's time");
    }
};

QTEST_GUILESS_MAIN(BenchBytes)
#include "bench_bytes.moc"
