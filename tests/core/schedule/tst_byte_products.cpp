// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/base/rng.h"
#include "core/graph/graph_builder.h"
#include "core/ops/infer_shapes.h"
#include "every_config.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

using Ints = std::vector<std::int64_t>;

constexpr Isa kEvery[] = {Isa::avx2, Isa::avx2Vnni, Isa::avx512, Isa::avx512Vnni};

// Operand types and zero points of a product.
struct Bytes {
    DType left = DType::u8, right = DType::i8;
    std::int64_t leftZero = 0, rightZero = 0;
    bool perChannel = false; // zero points of the right side, all different
};

Tensor bytes(DType type, const Shape& shape, std::int64_t value, std::int64_t step = 0) {
    Tensor tensor = Tensor::zeros(type, shape);
    for (std::byte& byte : tensor.mutableBytes()) {
        byte = std::byte(static_cast<std::uint8_t>(value));
        value += step;
    }
    return tensor;
}

Tensor scales(const Shape& shape, double value, double step = 0) {
    Tensor tensor = Tensor::zeros(DType::f32, shape);
    for (float& scale : tensor.mutableData<float>()) {
        scale = static_cast<float>(value);
        value += step;
    }
    return tensor;
}

struct Model {
    GraphBuilder builder{"bytes"};
    Model() { builder.setOpset("", 17); }
    ValueId input(const char* name, DType type, const Shape& shape) { return builder.addInput(name, TensorType(type, shape)); }
    ValueId constant(Tensor tensor) { return builder.addConstant("", std::move(tensor)); }
    ValueId zero(DType type, std::int64_t value) { return constant(bytes(type, {}, value)); }
    ValueId zeros(const Bytes& b, std::int64_t channels) { return b.perChannel ? constant(bytes(b.right, {channels}, b.rightZero, 7)) : zero(b.right, b.rightZero); }
    Workload workload(ValueId output, const Target& target) {
        builder.setOutputs({output});
        const Graph graph = take(inferShapes(take(builder.build())));
        const auto groups = groupNodes(graph);
        return take(extractWorkload(graph, groups.at(0), chooseLayouts(graph, groups, target))).workload;
    }
};

struct Conv {
    std::int64_t channels, height, width, outputs, kernel, stride = 1, pad = 0, groups = 1, dilation = 1;
};

Workload convInteger(const Conv& c, const Bytes& b, const Target& target) {
    Model model;
    const ValueId x = model.input("x", b.left, {2, c.channels, c.height, c.width}), w = model.constant(bytes(b.right, {c.outputs, c.channels / c.groups, c.kernel, c.kernel}, 0));
    return model.workload(model.builder.add("ConvInteger", {x, w, model.zero(b.left, b.leftZero), model.zeros(b, c.outputs)},
                                            {{"pads", Ints(4, c.pad)}, {"strides", Ints(2, c.stride)}, {"group", c.groups}, {"dilations", Ints(2, c.dilation)}}),
                          target);
}

Workload qlinearConv(const Conv& c, const Bytes& b, DType result, const Target& target) {
    Model model;
    const ValueId x = model.input("x", b.left, {1, c.channels, c.height, c.width}), w = model.constant(bytes(b.right, {c.outputs, c.channels / c.groups, c.kernel, c.kernel}, 0));
    const ValueId scale = model.constant(scales({}, 0.02)), scaleW = model.constant(b.perChannel ? scales({c.outputs}, 0.001, 0.0003) : scales({}, 0.004));
    const ValueId bias = model.constant(Tensor::zeros(DType::i32, {c.outputs}));
    return model.workload(model.builder.add("QLinearConv", {x, scale, model.zero(b.left, b.leftZero), w, scaleW, model.zeros(b, c.outputs), model.constant(scales({}, 0.7)), model.zero(result, 3), bias},
                                            {{"pads", Ints(4, c.pad)}, {"strides", Ints(2, c.stride)}, {"group", c.groups}}),
                          target);
}

Workload matMulInteger(const Shape& a, const Shape& w, const Bytes& b, bool constant, const Target& target) {
    Model model;
    const ValueId left = model.input("a", b.left, a), right = constant ? model.constant(bytes(b.right, w, 0)) : model.input("b", b.right, w);
    return model.workload(model.builder.add("MatMulInteger", {left, right, model.zero(b.left, b.leftZero), model.zeros(b, w.back())}), target);
}

Workload qlinearMatMul(const Shape& a, const Shape& w, const Bytes& b, DType result, const Target& target) {
    Model model;
    const ValueId left = model.input("a", b.left, a), right = model.constant(bytes(b.right, w, 0)), scale = model.constant(scales({}, 0.02));
    const ValueId scaleW = model.constant(b.perChannel ? scales({w.back()}, 0.001, 0.0003) : scales({}, 0.004));
    return model.workload(model.builder.add("QLinearMatMul", {left, scale, model.zero(b.left, b.leftZero), right, scaleW, model.zeros(b, w.back()), model.constant(scales({}, 0.9)), model.zero(result, 5)}),
                          target);
}

Workload packedProduct(std::int64_t bits, Shape rows, std::int64_t k, std::int64_t n, int zeros, const Target& target, const Shape& added = {}) {
    constexpr std::int64_t kBlock = 32;
    const std::int64_t blocks = k / kBlock, zeroBytes = (blocks * bits + 7) / 8;
    Model model;
    model.builder.setOpset("com.microsoft", 1);
    Node node;
    node.op = "MatMulNBits";
    node.domain = "com.microsoft";
    node.attributes = {{"K", k}, {"N", n}, {"bits", bits}, {"block_size", kBlock}};
    rows.push_back(k);
    node.inputs = {model.input("a", DType::f32, rows), model.constant(bytes(DType::u8, {n, blocks, kBlock * bits / 8}, 0)), model.constant(scales({n * blocks}, 0.01, 0.001))};
    if (zeros > 0)
        node.inputs.push_back(model.constant(zeros == 1 ? bytes(DType::u8, {n, zeroBytes}, 3, 5) : scales({n * blocks}, 1, 0.25)));
    node.outputs = {model.builder.addValue("y")};
    const ValueId y = node.outputs[0];
    model.builder.addNode(std::move(node));
    return model.workload(added.empty() ? y : model.builder.add("Add", {y, model.constant(scales(added, 0.5, 0.25))}), target);
}

// What is wrong under `count` configs of the space, the default among them, on any instruction set of this machine.
std::string wrongUnderSome(const std::function<Workload(const Target&)>& make, const std::string& expectedTemplate, std::uint64_t count) {
    for (const Isa isa : kEvery) {
        if (!hostSupports(isa))
            continue;
        const Target target = targetOf(isa);
        const Workload workload = make(target);
        if (!survivesItsText(workload))
            return "its text is another workload";
        const auto space = take(ScheduleSpace::make(workload, target));
        if (space.space().name() != expectedTemplate)
            return "the template is " + space.space().name();
        const auto reference = take(KernelCase::make(workload, 1));
        const auto one = take(PhaseRunner::make(1)), two = take(PhaseRunner::make(2));
        const auto& knobs = dynamic_cast<const KnobSpace&>(space.space());
        std::vector<Config> configs{space.defaultConfig()};
        Rng rng(static_cast<std::uint64_t>(isa) + 1);
        while (configs.size() < count)
            if (const auto config = knobs.at(rng.below(knobs.indexCount())))
                configs.push_back(*config);
        for (const Config& config : configs) {
            const auto scheduled = take(space.schedule(config));
            const auto kernel = take(BenchKernel::load(reference, packageOf(scheduled, target)));
            if (const std::string wrong = kernel->check(*one) + kernel->check(*two); !wrong.empty())
                return std::string(isaName(isa)) + ", " + knobs.describe(config) + ": " + wrong;
        }
    }
    return {};
}

constexpr std::uint64_t kConfigs = 4;

void addSigns() {
    QTest::addColumn<int>("left");
    QTest::addColumn<int>("right");
    QTest::addColumn<int>("leftZero");
    QTest::addColumn<int>("rightZero");
    QTest::addColumn<bool>("perChannel");
    const int u = static_cast<int>(DType::u8), i = static_cast<int>(DType::i8);
    QTest::newRow("u8 s8") << u << i << 0 << 0 << false;
    QTest::newRow("u8 s8, zero points") << u << i << 200 << -100 << false;
    QTest::newRow("u8 s8, left zero point") << u << i << 128 << 0 << false;
    QTest::newRow("u8 u8") << u << u << 0 << 0 << false;
    QTest::newRow("u8 u8, middle") << u << u << 128 << 128 << false;
    QTest::newRow("s8 s8") << i << i << 0 << 0 << false;
    QTest::newRow("s8 s8, zero points") << i << i << -128 << 127 << false;
    QTest::newRow("s8 u8") << i << u << 5 << 0 << false;
    QTest::newRow("u8 s8 per channel") << u << i << 3 << -60 << true;
    QTest::newRow("s8 u8 per channel") << i << u << -3 << 250 << true;
}

Bytes fetchedBytes() {
    QFETCH(int, left);
    QFETCH(int, right);
    QFETCH(int, leftZero);
    QFETCH(int, rightZero);
    QFETCH(bool, perChannel);
    return {static_cast<DType>(left), static_cast<DType>(right), leftZero, rightZero, perChannel};
}

} // namespace

// Every kernel has all of its bytes drawn from their whole range (kernel_bench.cpp), and int32 and byte results are compared for
// equality.
class TestByteProducts : public QObject {
    Q_OBJECT

private slots:
    void matricesOfAnySign_data() { addSigns(); }
    void matricesOfAnySign() {
        const Bytes b = fetchedBytes();
        for (const std::int64_t k : {64, 37})
            for (const bool constant : {true, false}) {
                const auto make = [&](const Target& target) { return matMulInteger({7, k}, {k, 37}, b, constant, target); };
                const std::string wrong = wrongUnderSome(make, "matmul_dot4", 2);
                QVERIFY2(wrong.empty(), wrong.c_str());
            }
        const auto make = [&](const Target& target) { return qlinearMatMul({5, 24}, {24, 40}, b, b.left, target); };
        const std::string wrong = wrongUnderSome(make, "matmul_dot4", 2);
        QVERIFY2(wrong.empty(), wrong.c_str());
    }

    void convolutionsOfAnySign_data() { addSigns(); }
    void convolutionsOfAnySign() {
        const Bytes b = fetchedBytes();
        for (const Conv& c : {Conv{6, 7, 9, 8, 3, 1, 1}, Conv{8, 6, 6, 12, 1}, Conv{5, 9, 11, 5, 3, 1, 1, 5}}) {
            const auto integer = [&](const Target& target) { return convInteger(c, b, target); };
            const auto linear = [&](const Target& target) { return qlinearConv(c, b, b.left, target); };
            const std::string wrong = wrongUnderSome(integer, "conv2d_dot4", 2) + wrongUnderSome(linear, "conv2d_dot4", 2);
            QVERIFY2(wrong.empty(), wrong.c_str());
        }
    }

    void convolutionsOfAnyShape_data() {
        QTest::addColumn<QList<int>>("shape");
        QTest::newRow("padded 3x3") << QList<int>{16, 14, 14, 32, 3, 1, 1, 1, 1};
        QTest::newRow("stride 2") << QList<int>{8, 15, 18, 16, 3, 2, 1, 1, 1};
        QTest::newRow("stem") << QList<int>{3, 23, 25, 16, 7, 2, 3, 1, 1};
        QTest::newRow("stride 3, no pad") << QList<int>{4, 17, 40, 4, 2, 3, 0, 1, 1};
        QTest::newRow("dilated") << QList<int>{4, 13, 19, 8, 3, 1, 2, 1, 2};
        QTest::newRow("groups") << QList<int>{12, 9, 17, 18, 3, 1, 1, 2, 1};
        QTest::newRow("groups of uneven channels") << QList<int>{9, 5, 8, 6, 3, 1, 1, 3, 1};
        QTest::newRow("a map of short rows") << QList<int>{32, 7, 7, 24, 3, 1, 1, 1, 1};
        QTest::newRow("short rows by stride 2") << QList<int>{6, 14, 13, 8, 3, 2, 1, 1, 1};
        QTest::newRow("short rows, dilated in groups") << QList<int>{8, 10, 9, 12, 3, 1, 2, 2, 2};
        QTest::newRow("rows of 20") << QList<int>{8, 20, 20, 8, 3, 1, 1, 1, 1};
        QTest::newRow("one column") << QList<int>{8, 20, 1, 8, 3, 1, 1, 1, 1};
        QTest::newRow("pointwise") << QList<int>{20, 7, 9, 24, 1, 1, 0, 1, 1};
        QTest::newRow("pointwise in groups") << QList<int>{12, 6, 5, 8, 1, 1, 0, 2, 1};
        QTest::newRow("pointwise, stride 2") << QList<int>{8, 9, 9, 8, 1, 2, 0, 1, 1};
        QTest::newRow("pointwise, padded") << QList<int>{8, 5, 6, 8, 1, 1, 1, 1, 1};
        QTest::newRow("depthwise") << QList<int>{6, 20, 37, 6, 3, 1, 1, 6, 1};
        QTest::newRow("depthwise 5x5, stride 2") << QList<int>{4, 19, 21, 4, 5, 2, 2, 4, 1};
        QTest::newRow("depthwise, twice the channels") << QList<int>{3, 9, 18, 6, 3, 1, 1, 3, 1};
        QTest::newRow("one channel") << QList<int>{1, 12, 20, 8, 3, 1, 1, 1, 1};
        QTest::newRow("one pixel") << QList<int>{8, 1, 1, 8, 1, 1, 0, 1, 1};
        QTest::newRow("prime channels") << QList<int>{7, 6, 17, 13, 3, 1, 1, 1, 1};
    }
    void convolutionsOfAnyShape() {
        QFETCH(QList<int>, shape);
        const Conv c{shape[0], shape[1], shape[2], shape[3], shape[4], shape[5], shape[6], shape[7], shape[8]};
        const auto make = [&](const Target& target) { return convInteger(c, {DType::u8, DType::i8, 77, 0}, target); };
        const auto asymmetric = [&](const Target& target) { return convInteger(c, {DType::i8, DType::u8, 9, 100}, target); };
        const std::string wrong = wrongUnderSome(make, "conv2d_dot4", kConfigs) + wrongUnderSome(asymmetric, "conv2d_dot4", kConfigs);
        QVERIFY2(wrong.empty(), wrong.c_str());
    }

    void matricesOfAnyShape_data() {
        QTest::addColumn<QList<int>>("a");
        QTest::addColumn<QList<int>>("b");
        QTest::newRow("one row") << QList<int>{1, 64} << QList<int>{64, 48};
        QTest::newRow("tails") << QList<int>{13, 70} << QList<int>{70, 101};
        QTest::newRow("k of 3") << QList<int>{4, 3} << QList<int>{3, 16};
        QTest::newRow("batches, one matrix") << QList<int>{2, 9, 32} << QList<int>{32, 24};
        QTest::newRow("batches of both") << QList<int>{3, 6, 20} << QList<int>{3, 20, 17};
        QTest::newRow("broadcast batches") << QList<int>{2, 1, 5, 8} << QList<int>{3, 8, 12};
    }
    void matricesOfAnyShape() {
        QFETCH(QList<int>, a);
        QFETCH(QList<int>, b);
        for (const bool constant : {true, false}) {
            const auto make = [&](const Target& target) { return matMulInteger({a.begin(), a.end()}, {b.begin(), b.end()}, {DType::i8, DType::i8, 3, -7}, constant, target); };
            const std::string wrong = wrongUnderSome(make, "matmul_dot4", kConfigs);
            QVERIFY2(wrong.empty(), wrong.c_str());
        }
    }

    void packedWeights_data() {
        QTest::addColumn<int>("bits");
        QTest::addColumn<QList<int>>("rows");
        QTest::addColumn<int>("k");
        QTest::addColumn<int>("n");
        QTest::addColumn<int>("zeros"); // 0: none, 1: packed, 2: floats
        QTest::newRow("4 bits, one row") << 4 << QList<int>{1} << 128 << 64 << 0;
        QTest::newRow("4 bits, one row, zero points") << 4 << QList<int>{1} << 96 << 70 << 1;
        QTest::newRow("4 bits, three rows, float zero points") << 4 << QList<int>{3} << 64 << 33 << 2;
        QTest::newRow("4 bits, many rows") << 4 << QList<int>{21} << 320 << 80 << 1;
        QTest::newRow("4 bits, more rows than a block") << 4 << QList<int>{150} << 64 << 40 << 0;
        QTest::newRow("4 bits, rows of two batches") << 4 << QList<int>{2, 19} << 64 << 48 << 0;
        QTest::newRow("4 bits, one batch") << 4 << QList<int>{1, 30} << 544 << 96 << 1;
        QTest::newRow("8 bits, one row") << 8 << QList<int>{1} << 64 << 64 << 0;
        QTest::newRow("8 bits, many rows") << 8 << QList<int>{13} << 288 << 37 << 1;
        QTest::newRow("2 bits, one row") << 2 << QList<int>{1} << 64 << 32 << 1;
        QTest::newRow("2 bits, many rows") << 2 << QList<int>{17} << 96 << 48 << 0;
    }
    void packedWeights() {
        QFETCH(int, bits);
        QFETCH(QList<int>, rows);
        QFETCH(int, k);
        QFETCH(int, n);
        QFETCH(int, zeros);
        const auto make = [&](const Target& target) { return packedProduct(bits, {rows.begin(), rows.end()}, k, n, zeros, target); };
        const std::string wrong = wrongUnderSome(make, "matmul_nbits", kConfigs);
        QVERIFY2(wrong.empty(), wrong.c_str());
    }

    // Constants of the epilogue keep their own order, whatever their shape has in common with the weights.
    void packedWeightsWithAnEpilogue_data() {
        QTest::addColumn<QList<int>>("rows");
        QTest::addColumn<QList<int>>("added");
        QTest::newRow("of each column") << QList<int>{5} << QList<int>{16};
        QTest::newRow("of each number") << QList<int>{16} << QList<int>{16, 16};
        QTest::newRow("as many rows as columns") << QList<int>{32} << QList<int>{32, 16};
        QTest::newRow("as many batches as columns") << QList<int>{16, 2} << QList<int>{16, 2, 16};
        QTest::newRow("twice as many batches") << QList<int>{32, 2} << QList<int>{32, 2, 16};
        QTest::newRow("of each batch") << QList<int>{16, 3} << QList<int>{16, 1, 16};
        QTest::newRow("two kinds of batches") << QList<int>{16, 2, 3} << QList<int>{16, 2, 3, 16};
    }
    void packedWeightsWithAnEpilogue() {
        QFETCH(QList<int>, rows);
        QFETCH(QList<int>, added);
        const auto make = [&](const Target& target) { return packedProduct(4, {rows.begin(), rows.end()}, 64, 16, 2, target, {added.begin(), added.end()}); };
        const std::string wrong = wrongUnderSome(make, "matmul_nbits", 2);
        QVERIFY2(wrong.empty(), wrong.c_str());
    }

    void weightsAreNoPartOfTheWorkload() {
        const Target target = targetOf(Isa::avx2);
        const Workload small = matMulInteger({4, 64}, {64, 64}, {}, true, target);
        QCOMPARE(small.constantInputs, std::vector<bool>({false, true}));
    }
};

QTEST_APPLESS_MAIN(TestByteProducts)
#include "tst_byte_products.moc"
