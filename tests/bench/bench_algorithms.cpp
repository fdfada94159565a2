// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/measure/timing.h"
#include "core/ops/infer_shapes.h"
#include "core/schedule/kernel_bench.h"
#include "core/schedule/template.h"

using namespace tunesmith;

namespace {

using Ints = std::vector<std::int64_t>;

template <class T> T take(Result<T> result) {
    if (!result.ok())
        qFatal("%s", result.error().message.c_str());
    return std::move(result).value();
}

// A 3x3 convolution with bias and Relu whose input another convolution has left in blocks of channels.
Workload convolution(std::int64_t channels, std::int64_t size, std::int64_t outputs, const Target& target) {
    GraphBuilder builder("conv");
    builder.setOpset("", 17);
    Rng rng(1);
    const auto constant = [&](const Shape& shape) {
        Tensor tensor = Tensor::zeros(DType::f32, shape);
        for (float& value : tensor.mutableData<float>())
            value = rng.uniform(-1.0f, 1.0f);
        return builder.addConstant("", tensor);
    };
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{1, channels, size, size}));
    const ValueId blocks = builder.add("Conv", {x, constant({channels, channels, 1, 1})});
    const ValueId conv = builder.add("Conv", {blocks, constant({outputs, channels, 3, 3}), constant({outputs})}, {{"pads", Ints{1, 1, 1, 1}}});
    builder.setOutputs({builder.add("Relu", {conv})});
    const Graph graph = take(inferShapes(take(builder.build())));
    const auto groups = take(groupNodes(graph));
    return take(extractWorkload(graph, groups.back(), chooseLayouts(graph, groups, target))).workload;
}

std::unique_ptr<BenchKernel> kernelOf(const ScheduleSpace& space, const Config& config, const std::shared_ptr<const KernelCase>& kase, const Target& target) {
    ScheduledKernel scheduled = take(space.schedule(config));
    KernelPackage package;
    package.kernel = take(compileKernel(scheduled.nest, target, {"candidate", false})).kernel;
    package.argumentLayouts = scheduled.lowered.argumentLayouts;
    package.argumentTransforms = scheduled.lowered.argumentTransforms;
    package.outputLayouts = scheduled.lowered.outputLayouts;
    return take(BenchKernel::load(kase, package));
}

} // namespace

// The untuned kernel of every algorithm for the 3x3 convolutions of well-known networks, in turns, p5. GFLOP/s count the
// direct multiplications, so Winograd's may exceed what the machine can do.
class BenchAlgorithms : public QObject {
    Q_OBJECT

private slots:
    void convolutions_data() {
        QTest::addColumn<int>("channels");
        QTest::addColumn<int>("size");
        QTest::addColumn<int>("outputs");
        QTest::newRow("ResNet C2: 64@56") << 64 << 56 << 64;
        QTest::newRow("ResNet C6: 128@28") << 128 << 28 << 128;
        QTest::newRow("ResNet C9: 256@14") << 256 << 14 << 256;
        QTest::newRow("ResNet C12: 512@7") << 512 << 7 << 512;
        QTest::newRow("SqueezeNet: 16@55 to 64") << 16 << 55 << 64;
        QTest::newRow("SqueezeNet: 64@13 to 256") << 64 << 13 << 256;
        QTest::newRow("Inception: 32@147 to 64") << 32 << 147 << 64;
        QTest::newRow("VGG: 64@224") << 64 << 224 << 64;
    }
    void convolutions() {
        QFETCH(int, channels);
        QFETCH(int, size);
        QFETCH(int, outputs);
        const Target target = take(hostTarget(1));
        const Workload workload = convolution(channels, size, outputs, target);
        const ScheduleSpace space = take(ScheduleSpace::make(workload, target));
        const auto kase = take(KernelCase::make(workload, 1));
        const auto runner = take(PhaseRunner::make(1));
        const std::vector<Config> guesses = space.guesses();
        std::vector<std::unique_ptr<BenchKernel>> kernels;
        std::vector<std::function<void()>> calls;
        for (const Config& config : guesses) {
            kernels.push_back(kernelOf(space, config, kase, target));
            const std::string wrong = kernels.back()->check(*runner);
            QVERIFY2(wrong.empty(), wrong.c_str());
            calls.push_back([kernel = kernels.back().get(), &runner] { kernel->run(*runner); });
        }
        const auto samples = timeInterleaved(calls, 500, 40);
        for (std::size_t i = 0; i < guesses.size(); ++i) {
            const double ms = lowQuantile(samples[i]);
            qInfo("%-100s %8.3f ms %7.1f GFLOP/s", space.space().describe(guesses[i]).c_str(), ms, static_cast<double>(workload.flops) / ms / 1e6);
        }
    }
};

QTEST_GUILESS_MAIN(BenchAlgorithms)
#include "bench_algorithms.moc"
