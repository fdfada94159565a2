// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/ops/infer_shapes.h"
#include "core/schedule/autotvm_template.h"
#include "package_of.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

using Ints = std::vector<std::int64_t>;
constexpr std::uint64_t kSeed = 20260801;

// A model whose last kernel is the one that is scheduled.
struct Case {
    GraphBuilder builder{"case"};

    ValueId input(const Shape& shape) { return builder.addInput("", TensorType(DType::f32, shape)); }
    ValueId weights(const Shape& shape) {
        Tensor tensor = Tensor::zeros(DType::f32, shape);
        Rng rng(kSeed);
        for (float& value : tensor.mutableData<float>())
            value = rng.uniform(-1.0f, 1.0f);
        return builder.addConstant("", tensor);
    }
    ValueId conv(ValueId from, const Shape& shape, const Ints& pads = {0, 0, 0, 0}, const Ints& strides = {1, 1}, std::int64_t group = 1,
                 const Ints& dilations = {1, 1}) {
        return builder.add("Conv", {from, weights(shape), weights({shape[0]})},
                           {{"pads", pads}, {"strides", strides}, {"group", group}, {"dilations", dilations}});
    }
    ValueId blocked(const Shape& shape) { return conv(input({shape[0], 3, shape[2], shape[3]}), {shape[1], 3, 1, 1}); }
    ValueId relu(ValueId x) { return builder.add("Relu", {x}); }
    ValueId add(ValueId x, ValueId y) { return builder.add("Add", {x, y}); }
    ValueId swish(ValueId x) { return builder.add("Mul", {x, builder.add("Sigmoid", {x})}); }
    ValueId matmul(ValueId x, ValueId y) { return builder.add("MatMul", {x, y}); }
    ValueId gemm(ValueId x, ValueId y, std::int64_t transB) {
        return builder.add("Gemm", {x, y, weights({builder.value(y).type.shape()[transB ? 0 : 1]})}, {{"transB", transB}});
    }
};

struct Row {
    const char* name;
    const char* space; // empty: no template of AutoTVM
    std::function<ValueId(Case&)> recipe;
};

const char* const kConv = "conv2d_NCHWc.x86";
const char* const kDepthwise = "depthwise_conv2d_NCHWc.x86";
const char* const kDense = "dense_pack.x86|dense_nopack.x86";
const char* const kBatch = "batch_matmul.x86";

const std::vector<Row>& rows() {
    static const std::vector<Row> table{
        {"conv 3x3 padded", kConv, [](Case& c) { return c.relu(c.conv(c.input({1, 16, 9, 11}), {32, 16, 3, 3}, {1, 1, 1, 1})); }},
        {"conv 3x3 of blocks, residual and relu", kConv,
         [](Case& c) { return c.relu(c.add(c.conv(c.blocked({1, 32, 14, 14}), {48, 32, 3, 3}, {1, 1, 1, 1}), c.input({1, 48, 14, 14}))); }},
        {"conv 3x3 without padding, batch 2, tails", kConv, [](Case& c) { return c.conv(c.blocked({2, 24, 9, 13}), {40, 24, 3, 3}); }},
        {"conv stem 7x7 stride 2", kConv, [](Case& c) { return c.relu(c.conv(c.input({1, 3, 29, 29}), {32, 3, 7, 7}, {3, 3, 3, 3}, {2, 2})); }},
        {"conv asymmetric pads and strides", kConv, [](Case& c) { return c.conv(c.blocked({2, 16, 8, 10}), {16, 16, 3, 5}, {0, 2, 1, 0}, {2, 1}); }},
        {"conv dilated", kConv, [](Case& c) { return c.conv(c.blocked({1, 8, 12, 12}), {8, 8, 3, 3}, {2, 2, 2, 2}, {1, 1}, 1, {2, 2}); }},
        {"conv of channels that no block divides", kConv,
         [](Case& c) { return c.relu(c.conv(c.blocked({1, 29, 7, 9}), {58, 29, 3, 3}, {1, 1, 1, 1})); }},
        {"conv and swish", kConv, [](Case& c) { return c.swish(c.conv(c.blocked({1, 16, 9, 11}), {32, 16, 5, 5}, {2, 2, 2, 2})); }},
        {"conv to three channels", kConv, [](Case& c) { return c.conv(c.blocked({1, 12, 8, 8}), {3, 12, 3, 3}, {1, 1, 1, 1}); }},
        {"conv 1x1", kConv, [](Case& c) { return c.relu(c.conv(c.blocked({1, 32, 14, 14}), {64, 32, 1, 1})); }},
        {"conv 1x1 of odd rows, residual", kConv,
         [](Case& c) { return c.relu(c.add(c.conv(c.blocked({2, 24, 7, 7}), {72, 24, 1, 1}), c.input({2, 72, 7, 7}))); }},
        {"conv 1x1 stride 2", kConv, [](Case& c) { return c.conv(c.blocked({1, 16, 11, 11}), {24, 16, 1, 1}, {0, 0, 0, 0}, {2, 2}); }},
        {"conv 1x1 of one row", kConv, [](Case& c) { return c.conv(c.blocked({1, 20, 1, 12}), {16, 20, 1, 1}); }},
        {"depthwise 3x3", kDepthwise, [](Case& c) { return c.relu(c.conv(c.blocked({1, 32, 14, 14}), {32, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, 32)); }},
        {"depthwise 5x5 stride 2, batch 2", kDepthwise,
         [](Case& c) { return c.relu(c.conv(c.blocked({2, 24, 11, 11}), {24, 1, 5, 5}, {2, 2, 2, 2}, {2, 2}, 24)); }},
        {"depthwise without padding", kDepthwise, [](Case& c) { return c.conv(c.blocked({1, 58, 9, 9}), {58, 1, 3, 3}, {0, 0, 0, 0}, {1, 1}, 58); }},
        {"depthwise of rows, two maps for each channel", kDepthwise,
         [](Case& c) { return c.conv(c.input({1, 12, 8, 8}), {24, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, 12); }},
        {"dense", kDense, [](Case& c) { return c.relu(c.gemm(c.input({24, 40}), c.weights({48, 40}), 1)); }},
        {"dense of one row", kDense, [](Case& c) { return c.gemm(c.input({1, 96}), c.weights({96, 100}), 0); }},
        {"dense of prime sizes", kDense, [](Case& c) { return c.gemm(c.input({23, 31}), c.weights({31, 53}), 0); }},
        {"dense whose weights are no constant", kDense, [](Case& c) { return c.gemm(c.input({12, 40}), c.input({36, 40}), 1); }},
        {"dense whose weights are no constant, in columns", kDense, [](Case& c) { return c.matmul(c.input({12, 40}), c.input({40, 36})); }},
        {"dense behind a dimension of one", kDense,
         [](Case& c) { return c.relu(c.add(c.matmul(c.input({1, 30, 24}), c.weights({24, 40})), c.weights({40}))); }},
        {"dense of a transposed left side", kDense,
         [](Case& c) { return c.builder.add("Gemm", {c.input({40, 12}), c.weights({40, 24})}, {{"transA", std::int64_t{1}}}); }},
        {"dense with a residual", kDense, [](Case& c) { return c.add(c.matmul(c.input({32, 64}), c.weights({64, 96})), c.input({32, 96})); }},
        {"batch_matmul", kBatch, [](Case& c) { return c.matmul(c.input({3, 12, 20}), c.input({3, 20, 32})); }},
        {"batch_matmul of two batch dimensions, scaled", kBatch,
         [](Case& c) {
             const ValueId product = c.matmul(c.input({2, 3, 18, 24}), c.input({2, 3, 24, 30}));
             return c.builder.add("Mul", {product, c.builder.addConstant("", Tensor::scalar(0.125F))});
         }},
        {"batch_matmul by constants", kBatch, [](Case& c) { return c.matmul(c.input({4, 6, 16}), c.weights({4, 16, 10})); }},
        {"batch_matmul with one left side", kBatch, [](Case& c) { return c.matmul(c.input({6, 16}), c.input({4, 16, 10})); }},
        {"conv of groups", "", [](Case& c) { return c.conv(c.input({1, 32, 6, 6}), {32, 16, 3, 3}, {1, 1, 1, 1}, {1, 1}, 2); }},
        {"conv whose filters are no constant", "", [](Case& c) { return c.builder.add("Conv", {c.input({1, 8, 6, 6}), c.input({16, 8, 3, 3})}); }},
        {"rows along two dimensions", "", [](Case& c) { return c.matmul(c.input({2, 6, 8}), c.weights({8, 16})); }},
        {"softmax", "", [](Case& c) { return c.builder.add("Softmax", {c.input({3, 37})}, {{"axis", std::int64_t{-1}}}); }},
        {"max pool", "", [](Case& c) { return c.builder.add("MaxPool", {c.blocked({1, 16, 8, 8})}, {{"kernel_shape", Ints{2, 2}}}); }},
    };
    return table;
}

Workload workloadOf(const std::function<ValueId(Case&)>& recipe, const Target& target) {
    Case c;
    c.builder.setOpset("", 17);
    c.builder.setOutputs({recipe(c)});
    const Graph graph = take(inferShapes(take(c.builder.build())));
    const auto groups = groupNodes(graph);
    return take(extractWorkload(graph, groups.back(), chooseLayouts(graph, groups, target))).workload;
}

std::vector<const KnobSpace*> partsOf(const ScheduleSpace& space) {
    const auto* several = dynamic_cast<const UnionSpace*>(&space.space());
    if (!several)
        return {dynamic_cast<const KnobSpace*>(&space.space())};
    std::vector<const KnobSpace*> parts;
    for (std::size_t part = 0; part < several->partCount(); ++part)
        parts.push_back(&several->part(part));
    return parts;
}

Config ofPart(const ScheduleSpace& space, std::size_t part, Config config) {
    const auto* several = dynamic_cast<const UnionSpace*>(&space.space());
    return several ? several->widened(part, config) : config;
}

// What is guessed, the first and the last config and some drawn ones, of each part.
std::vector<Config> someConfigs(const ScheduleSpace& space, int drawn) {
    std::vector<Config> configs = space.guesses();
    Rng rng(kSeed);
    const auto parts = partsOf(space);
    for (std::size_t part = 0; part < parts.size(); ++part) {
        for (const std::uint64_t index : {std::uint64_t(0), parts[part]->indexCount() - 1})
            configs.push_back(ofPart(space, part, *parts[part]->at(index)));
        for (int i = 0; i < drawn; ++i)
            configs.push_back(ofPart(space, part, parts[part]->sample(rng)));
    }
    return configs;
}

} // namespace

// Of real models, whose largest tiles hold thousands of vectors; sizes of their spaces as AutoTVM counts them.
struct LargeRow : Row {
    std::vector<double> configs; // of each part
};
const std::vector<LargeRow>& largeRows() {
    static const std::vector<LargeRow> table{
        {{"C1", kConv, [](Case& c) { return c.conv(c.input({1, 3, 224, 224}), {64, 3, 7, 7}, {3, 3, 3, 3}, {2, 2}); }}, {308}},
        {{"C2", kConv, [](Case& c) { return c.relu(c.conv(c.blocked({1, 64, 56, 56}), {64, 64, 3, 3}, {1, 1, 1, 1})); }}, {980}},
        {{"C12", kConv, [](Case& c) { return c.relu(c.conv(c.blocked({1, 512, 7, 7}), {512, 512, 3, 3}, {1, 1, 1, 1})); }}, {800}},
        {{"C3", kConv, [](Case& c) { return c.relu(c.conv(c.blocked({1, 64, 56, 56}), {64, 64, 1, 1})); }}, {980}},
        {{"1x1 to 2048", kConv, [](Case& c) { return c.relu(c.conv(c.blocked({1, 512, 7, 7}), {2048, 512, 1, 1})); }}, {960}},
        {{"D9", kDepthwise, [](Case& c) { return c.relu(c.conv(c.blocked({1, 1024, 7, 7}), {1024, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, 1024)); }}, {484}},
        {{"D1", kDepthwise, [](Case& c) { return c.relu(c.conv(c.blocked({1, 32, 112, 112}), {32, 1, 3, 3}, {1, 1, 1, 1}, {1, 1}, 32)); }}, {648}},
        {{"dense 128x3072x768", kDense, [](Case& c) { return c.gemm(c.input({128, 768}), c.weights({3072, 768}), 1); }}, {641520, 3168}},
        {{"dense 1024x1024x1024", kDense, [](Case& c) { return c.matmul(c.input({1024, 1024}), c.weights({1024, 1024})); }}, {239580, 1331}},
        {{"dense 1x1000x512", kDense, [](Case& c) { return c.gemm(c.input({1, 512}), c.weights({1000, 512}), 1); }}, {1000, 160}},
        {{"batch_matmul 12x128x128x64", kBatch, [](Case& c) { return c.matmul(c.input({12, 128, 64}), c.input({12, 64, 128})); }}, {448}},
    };
    return table;
}

class TestAutotvmKernels : public QObject {
    Q_OBJECT

private slots:
    void everyConfigComputesTheWorkload_data() {
        QTest::addColumn<int>("row");
        for (std::size_t i = 0; i < rows().size(); ++i)
            QTest::newRow(rows()[i].name) << static_cast<int>(i);
    }
    void everyConfigComputesTheWorkload() {
        QFETCH(int, row);
        const Row& kase = rows()[static_cast<std::size_t>(row)];
        for (const Isa isa : {Isa::avx2, Isa::avx512}) {
            if (!hostSupports(isa))
                continue;
            Target target;
            target.isa = isa;
            const Workload own = workloadOf(kase.recipe, target), workload = inSpace(own, SpaceKind::autotvm);
            if (*kase.space == '\0') {
                QCOMPARE(workload.key, own.key); // our own templates keep it
                QVERIFY(workload.space == SpaceKind::tunesmith);
                continue;
            }
            QVERIFY(workload.key != own.key);
            const auto space = take(ScheduleSpace::make(workload, target));
            QCOMPARE(QString::fromStdString(space.space().name()), QString(kase.space));
            const auto reference = take(KernelCase::make(workload, kSeed));
            const auto one = take(PhaseRunner::make(1)), two = take(PhaseRunner::make(2));
            for (const Config& config : someConfigs(space, 6)) {
                const auto kernel = take(BenchKernel::load(reference, packageOf(take(space.schedule(config)), target)));
                const std::string wrong = kernel->check(*one) + kernel->check(*two);
                QVERIFY2(wrong.empty(), (std::string(isaName(isa)) + ", " + space.space().describe(config) + ": " + wrong).c_str());
            }
        }
    }

    void spacesAreThoseOfAutotvm_data() { addLargeRows(); }
    void spacesAreThoseOfAutotvm() {
        QFETCH(int, row);
        const LargeRow& kase = largeRows()[static_cast<std::size_t>(row)];
        Target target;
        const Workload workload = inSpace(workloadOf(kase.recipe, target), SpaceKind::autotvm);
        const auto space = take(ScheduleSpace::make(workload, target));
        QCOMPARE(QString::fromStdString(space.space().name()), QString(kase.space));
        const auto parts = partsOf(space);
        const auto tasks = autotvmTasks(workload);
        QCOMPARE(parts.size(), kase.configs.size());
        QCOMPARE(tasks.size(), parts.size());
        for (std::size_t i = 0; i < parts.size(); ++i) {
            QCOMPARE(parts[i]->size(), kase.configs[i]);
            const auto theirs = take(autotvm::spaceOf(tasks[i]));
            for (std::uint64_t index = 0; index < parts[i]->indexCount(); index += 97) { // the same numbers for the same knobs
                const Config ours = *parts[i]->at(index);
                QCOMPARE(parts[i]->describe(ours), theirs.knobs.describe(*theirs.knobs.at(index)));
            }
        }
    }

    void tasksAreNamedAsInRecords() {
        const Target target;
        const auto textOf = [&](std::size_t row) {
            const auto task = autotvmTasks(workloadOf(largeRows()[row].recipe, target)).front();
            return QString::fromStdString(task.name + task.args + task.keywords);
        };
        QCOMPARE(textOf(0), QString(R"(conv2d_NCHWc.x86[["TENSOR",[1,3,224,224],"float32"],["TENSOR",[64,3,7,7],"float32"],)"
                                    R"([2,2],[3,3,3,3],[1,1],"NCHW","NCHW","float32"]{})"));
        QCOMPARE(textOf(5), QString(R"(depthwise_conv2d_NCHWc.x86[["TENSOR",[1,1024,7,7],"float32"],["TENSOR",[1024,1,3,3],"float32"],)"
                                    R"([1,1],[1,1,1,1],[1,1],"NCHW","NCHW","float32"]{})"));
        QCOMPARE(textOf(7), QString(R"(dense_pack.x86[["TENSOR",[128,768],"float32"],["TENSOR",[3072,768],"float32"],null,"float32"]{})"));
        QCOMPARE(textOf(10), QString(R"(batch_matmul.x86[["TENSOR",[12,128,64],"float32"],["TENSOR",[12,128,64],"float32"],[12,128,128]]{})"));
    }

    void theDefaultIsAutotvmsFallback() {
        Target target;
        target.isa = Isa::avx512;
        const auto textOf = [&](std::size_t row) {
            const auto space = take(ScheduleSpace::make(inSpace(workloadOf(largeRows()[row].recipe, target), SpaceKind::autotvm), target));
            return QString::fromStdString(space.space().describe(space.defaultConfig()));
        };
        QCOMPARE(textOf(1), QString("tile_ic [-1,16], tile_oc [-1,16], tile_ow [-1,28], unroll_kw false"));
        QCOMPARE(textOf(7), QString("dense_pack.x86: tile_y [-1,4,8], tile_x [-1,32,32], tile_k [-1,1], tile_inner [-1,8]"));
        QCOMPARE(textOf(9), QString("dense_nopack.x86: tile_y [-1,1], tile_x [-1,1], tile_k [-1,32]"));
    }

    void everyConfigIsBuiltInTime_data() { addLargeRows(); }
    void everyConfigIsBuiltInTime() {
        QFETCH(int, row);
        const LargeRow& kase = largeRows()[static_cast<std::size_t>(row)];
        constexpr std::size_t kMostBytes = 512 << 10;
        for (const Isa isa : {Isa::avx2, Isa::avx512}) {
            Target target;
            target.isa = isa;
            const auto space = take(ScheduleSpace::make(inSpace(workloadOf(kase.recipe, target), SpaceKind::autotvm), target));
            for (const Config& config : someConfigs(space, 5)) {
                QElapsedTimer timer;
                timer.start();
                const KernelPackage package = packageOf(take(space.schedule(config)), target);
                const std::string what = std::string(isaName(isa)) + ", " + space.space().describe(config);
                QVERIFY2(timer.elapsed() < 20'000, what.c_str()); // what a tuning allows
                QVERIFY2(package.kernel.object.size() < kMostBytes, what.c_str());
            }
        }
    }

    void aConfigMeansSomethingInItsOwnSpaceOnly() {
        const Target target;
        const Workload own = workloadOf(largeRows()[1].recipe, target), theirs = inSpace(own, SpaceKind::autotvm);
        QVERIFY(own.key != theirs.key);
        QCOMPARE(inSpace(theirs, SpaceKind::tunesmith).key, own.key);
        QCOMPARE(inSpace(theirs, SpaceKind::autotvm).key, theirs.key);
        const Workload copy = take(Workload::deserialize(theirs.serialize()));
        QCOMPARE(copy.key, theirs.key);
        QVERIFY(copy.space == SpaceKind::autotvm);
        QCOMPARE(copy.name, own.name);
        std::string altered = theirs.serialize();
        altered.replace(altered.find("autotvm"), 7, "halide!");
        QVERIFY(!Workload::deserialize(altered).ok());
        const auto wrong = take(ScheduleSpace::make(own, target)).schedule(take(ScheduleSpace::make(theirs, target)).defaultConfig());
        QVERIFY(!wrong.ok());
    }

    void spacesHaveNames() {
        QCOMPARE(take(spaceKindFromName("")), SpaceKind::tunesmith);
        for (const SpaceKindEntry& entry : spaceKindTable())
            QCOMPARE(take(spaceKindFromName(entry.name)), entry.kind);
        const auto unknown = spaceKindFromName("halide");
        QVERIFY(!unknown.ok());
        QCOMPARE(QString::fromStdString(unknown.error().message), QString("there is no space of schedules 'halide'; there are tunesmith, autotvm"));
    }

private:
    static void addLargeRows() {
        QTest::addColumn<int>("row");
        for (std::size_t i = 0; i < largeRows().size(); ++i)
            QTest::newRow(largeRows()[i].name) << static_cast<int>(i);
    }
};

QTEST_GUILESS_MAIN(TestAutotvmKernels)
#include "tst_autotvm_kernels.moc"
