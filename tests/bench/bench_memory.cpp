// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/measure/ceilings.h"
#include "core/measure/timing.h"
#include "core/ops/infer_shapes.h"
#include "tests/bench/bench_kernel.h"

using namespace tunesmith;
using Ints = std::vector<std::int64_t>;

namespace {

// One operator on tensors that no cache holds.
struct Streamed {
    const char* op = "";
    std::vector<Shape> inputs;
    std::map<std::string, Attribute> attributes;
    std::vector<Shape> constants;
    bool blocked = false; // feature maps in blocks of channels, as convolutions leave them
};

Workload workloadOf(const Streamed& streamed, const Target& target) {
    GraphBuilder builder("bench");
    builder.setOpset("", 17);
    std::vector<ValueId> operands;
    LayoutPlan layouts;
    for (const Shape& shape : streamed.inputs) {
        operands.push_back(builder.addInput("", TensorType(DType::f32, shape)));
        if (streamed.blocked)
            layouts.values[operands.back()] = loops::Layout::blocked(4, 1, target.floatLanes());
    }
    for (const Shape& shape : streamed.constants)
        operands.push_back(builder.addConstant("", Tensor::of<float>(shape, std::vector<float>(static_cast<std::size_t>(elementCount(shape)), 1.5f))));
    builder.setOutputs({builder.add(streamed.op, operands, streamed.attributes)});
    const Graph graph = take(inferShapes(take(builder.build())));
    if (streamed.blocked && graph.value(graph.outputs()[0]).type.shape()[2] > 1)
        layouts.values[graph.outputs()[0]] = loops::Layout::blocked(4, 1, target.floatLanes());
    return take(extractWorkload(graph, groupNodes(graph).back(), layouts)).workload;
}

} // namespace

Q_DECLARE_METATYPE(Streamed)

// Operators that do little with what they read, on one thread: every byte that they must read or write counted once, over p5 of
// their times, in turns with the STREAM triad on the same core. TUNESMITH_BENCH_TRIALS (16) candidates are tried of each.
class BenchMemoryBound : public QObject {
    Q_OBJECT

    static std::size_t trials() { return static_cast<std::size_t>(std::max(1, qEnvironmentVariable("TUNESMITH_BENCH_TRIALS", "16").toInt())); }

    void compare(const Workload& workload, const Target& target) {
        KernelLab lab(workload, target);
        const Config untuned = lab.space().defaultConfig(), tuned = lab.tuned(trials());
        ceilings::Triad triad;
        const std::vector<std::function<void()>> calls{lab.kernel(untuned, BenchMemory::asInModule), lab.kernel(tuned, BenchMemory::asInModule),
                                                       [&] { triad.run(); }};
        const auto samples = timeInterleaved(calls, 1500, 30);
        const auto bytes = static_cast<double>(workload.bytes());
        const double triadGbs = ceilings::Triad::kBytes / lowQuantile(samples[2]) / 1e6;
        const auto gbs = [&](std::size_t i) { return bytes / lowQuantile(samples[i]) / 1e6; };
        qInfo("%s\n    untuned %5.1f GB/s %3.0f %%, tuned %5.1f GB/s %3.0f %% of the triad's %.1f", lab.space().space().describe(tuned).c_str(), gbs(0),
              100 * gbs(0) / triadGbs, gbs(1), 100 * gbs(1) / triadGbs, triadGbs);
        QVERIFY2(gbs(1) >= 0.85 * triadGbs, "less than 85 % of the measured bandwidth");
    }

private slots:
    void operators_data() {
        QTest::addColumn<Streamed>("streamed");
        const Shape map{1, 64, 400, 500}, rows{12288, 1024}, narrow{98304, 128};
        const auto pool = [](std::int64_t kernel, std::int64_t stride) {
            return std::map<std::string, Attribute>{{"kernel_shape", Ints(2, kernel)}, {"strides", Ints(2, stride)}, {"pads", Ints(4, kernel / 2)}};
        };
        QTest::newRow("Relu") << Streamed{"Relu", {map}, {}, {}};
        QTest::newRow("Relu of blocks") << Streamed{"Relu", {map}, {}, {}, true};
        QTest::newRow("Sigmoid") << Streamed{"Sigmoid", {rows}, {}, {}};
        QTest::newRow("Erf") << Streamed{"Erf", {rows}, {}, {}};
        QTest::newRow("Add of two") << Streamed{"Add", {map, map}, {}, {}};
        QTest::newRow("Add of a row") << Streamed{"Add", {rows}, {}, {{1024}}};
        QTest::newRow("Mul by channel") << Streamed{"Mul", {map}, {}, {{1, 64, 1, 1}}};
        QTest::newRow("Mul by channel, of blocks") << Streamed{"Mul", {map}, {}, {{1, 64, 1, 1}}, true};
        QTest::newRow("Softmax") << Streamed{"Softmax", {rows}, {{"axis", std::int64_t(-1)}}, {}};
        QTest::newRow("Softmax of short rows") << Streamed{"Softmax", {narrow}, {{"axis", std::int64_t(-1)}}, {}};
        QTest::newRow("LayerNormalization") << Streamed{"LayerNormalization", {rows}, {}, {{1024}, {1024}}};
        QTest::newRow("ReduceMean of rows") << Streamed{"ReduceMean", {rows}, {{"axes", Ints{-1}}}, {}};
        QTest::newRow("ReduceMean of columns") << Streamed{"ReduceMean", {rows}, {{"axes", Ints{0}}}, {}};
        QTest::newRow("GlobalAveragePool") << Streamed{"GlobalAveragePool", {{1, 4096, 56, 56}}, {}, {}};
        QTest::newRow("GlobalAveragePool of blocks") << Streamed{"GlobalAveragePool", {map}, {}, {}, true};
        QTest::newRow("MaxPool 2x2") << Streamed{"MaxPool", {map}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}, {}, true};
        QTest::newRow("MaxPool 3x3") << Streamed{"MaxPool", {map}, pool(3, 2), {}, true};
        QTest::newRow("Transpose of a matrix") << Streamed{"Transpose", {{4000, 3000}}, {}, {}};
        QTest::newRow("Transpose of heads") << Streamed{"Transpose", {{1, 12300, 12, 64}}, {{"perm", Ints{0, 2, 1, 3}}}, {}};
        QTest::newRow("Transpose to channels last") << Streamed{"Transpose", {map}, {{"perm", Ints{0, 2, 3, 1}}}, {}};
        QTest::newRow("Transpose to channels first") << Streamed{"Transpose", {{1, 400, 500, 64}}, {{"perm", Ints{0, 3, 1, 2}}}, {}};
    }
    void operators() {
        QFETCH(Streamed, streamed);
        const Target target = take(hostTarget(1));
        compare(workloadOf(streamed, target), target);
    }

    void conversions_data() {
        QTest::addColumn<bool>("intoBlocks");
        QTest::newRow("into blocks of channels") << true;
        QTest::newRow("out of blocks of channels") << false;
    }
    void conversions() {
        QFETCH(bool, intoBlocks);
        const Target target = take(hostTarget(1));
        const loops::Layout rows = loops::Layout::rowMajor(4), blocks = loops::Layout::blocked(4, 1, target.floatLanes());
        const TensorType map(DType::f32, Shape{1, 64, 400, 500});
        compare(take(conversionWorkload(map, intoBlocks ? rows : blocks, intoBlocks ? blocks : rows)), target);
    }
};

QTEST_GUILESS_MAIN(BenchMemoryBound)
#include "bench_memory.moc"
