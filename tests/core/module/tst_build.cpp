// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/check/equivalence.h"
#include "core/check/random_inputs.h"
#include "core/module/build.h"
#include "core/module/fold_batch_norm.h"
#include "core/module/memory_plan.h"
#include "core/onnx/samples.h"
#include "core/ops/interpreter.h"
#include "plan_testing.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

using Recipe = std::function<std::vector<ValueId>(Net&)>;

const std::vector<std::pair<const char*, Recipe>>& nets() {
    static const std::vector<std::pair<const char*, Recipe>> table{
        {"concat of concats", [](Net& n) {
             const ValueId a = n.conv(n.image(3), 3, 16), b = n.conv(a, 16, 16), ab = n.concat({a, b}), c = n.conv(ab, 32, 16);
             const ValueId all = n.concat({ab, c});
             return std::vector<ValueId>{n.conv(all, 48, 8)};
         }},
        {"concat as output, one piece twice", [](Net& n) {
             const ValueId a = n.conv(n.image(3), 3, 16);
             return std::vector<ValueId>{n.concat({a, a})};
         }},
        {"concat of vectors that end anywhere", [](Net& n) {
             const ValueId x = n.builder.addInput("x", TensorType(DType::f32, Shape{3}));
             const ValueId y = n.builder.add("Relu", {x});
             return std::vector<ValueId>{n.builder.add("Concat", {y, x, y}, {{"axis", std::int64_t{0}}})};
         }},
        {"concat of uneven channels", [](Net& n) {
             const ValueId x = n.image(3);
             return std::vector<ValueId>{n.conv(n.concat({n.conv(x, 3, 5), x}), 8, 16)};
         }},
        {"concat of pieces in other blocks, shuffled", [](Net& n) {
             const ValueId a = n.conv(n.image(3), 3, 16);
             const ValueId joined = n.concat({n.conv(a, 16, 22), n.conv(a, 16, 22)});
             const auto shaped = [&](ValueId x, std::vector<std::int64_t> dims) { return n.builder.add("Reshape", {x, n.builder.addConstant("", Tensor::ofInts(dims))}); };
             const ValueId shuffled = n.builder.add("Transpose", {shaped(joined, {1, 2, 22, 6, 6})}, {{"perm", Ints{0, 2, 1, 3, 4}}});
             return std::vector<ValueId>{n.conv(shaped(shuffled, {1, 44, 6, 6}), 44, 8)};
         }},
        {"concat of pieces in other blocks, convolved", [](Net& n) {
             const ValueId a = n.conv(n.image(3), 3, 16);
             return std::vector<ValueId>{n.conv(n.concat({n.conv(a, 16, 22), a, n.conv(a, 16, 4)}), 42, 8)};
         }},
        {"groups of uneven channels, shuffled", [](Net& n) {
             const ValueId x = n.builder.addInput("x", TensorType(DType::f32, Shape{2, 12, 5, 7}));
             const auto single = [&](ValueId in, std::int64_t to) { return n.builder.add("Conv", {in, n.constant({to, 6, 1, 1}), n.constant({to})}, {{"group", std::int64_t{2}}}); };
             const auto shaped = [&](ValueId in, std::vector<std::int64_t> dims) { return n.builder.add("Reshape", {in, n.builder.addConstant("", Tensor::ofInts(dims))}); };
             const ValueId halves = shaped(n.builder.add("Relu", {single(x, 12)}), {2, 2, 6, 5, 7});
             const ValueId shuffled = shaped(n.builder.add("Transpose", {halves}, {{"perm", Ints{0, 2, 1, 3, 4}}}), {2, 12, 5, 7});
             const ValueId window = n.builder.add("Conv", {shuffled, n.constant({12, 1, 3, 3})}, {{"group", std::int64_t{12}}, {"pads", Ints{1, 1, 1, 1}}});
             return std::vector<ValueId>{n.builder.add("Relu", {n.builder.add("Sum", {single(window, 12), x})}), single(x, 10)};
         }},
        {"windows of channels that lie apart", [](Net& n) {
             const ValueId x = n.builder.addInput("x", TensorType(DType::f32, Shape{1, 24, 6, 6})), y = n.builder.addInput("y", TensorType(DType::f32, Shape{1, 12, 6, 6}));
             const auto window = [&](ValueId in, std::int64_t channels) { return n.builder.add("Conv", {in, n.constant({channels, 1, 3, 3})}, {{"group", channels}, {"pads", Ints{1, 1, 1, 1}}}); };
             return std::vector<ValueId>{window(x, 24), window(y, 12)};
         }},
        {"residual block", [](Net& n) {
             const ValueId a = n.builder.add("Relu", {n.conv(n.image(3), 3, 16)});
             return std::vector<ValueId>{n.builder.add("Relu", {n.builder.add("Add", {n.conv(a, 16, 16), a})})};
         }},
        {"reshape between blocked and rows", [](Net& n) {
             const ValueId a = n.conv(n.image(3), 3, 16);
             const ValueId flat = n.builder.add("Reshape", {a, n.builder.addConstant("", Tensor::ofInts({2, 288}))});
             const ValueId back = n.builder.add("Reshape", {flat, n.builder.addConstant("", Tensor::ofInts({1, 16, 6, 6}))});
             return std::vector<ValueId>{n.conv(back, 16, 8), flat};
         }},
        {"pool, flatten, dense, softmax", [](Net& n) {
             const ValueId pooled = n.builder.add("GlobalAveragePool", {n.conv(n.image(3), 3, 32)});
             const ValueId dense = n.builder.add("Gemm", {n.builder.add("Flatten", {pooled}), n.constant({32, 16}), n.constant({16})});
             return std::vector<ValueId>{n.builder.add("Softmax", {dense})};
         }},
        {"split with several readers", [](Net& n) {
             const ValueId x = n.image(6);
             Node node;
             node.op = "Split";
             node.inputs = {x};
             node.attributes = {{"axis", std::int64_t{1}}};
             node.outputs = {n.builder.addValue(""), n.builder.addValue("")};
             n.builder.addNode(node);
             return std::vector<ValueId>{n.builder.add("Mul", {node.outputs[0], node.outputs[1]}), node.outputs[1]};
         }},
        {"output that is also an intermediate value", [](Net& n) {
             const ValueId a = n.builder.add("Relu", {n.conv(n.image(3), 3, 8)});
             return std::vector<ValueId>{a, n.conv(a, 8, 8)};
         }},
        {"input handed through", [](Net& n) {
             const ValueId x = n.image(3);
             return std::vector<ValueId>{n.builder.add("Identity", {x}), n.builder.add("Relu", {x})};
         }},
        {"zero-sized output", [](Net& n) {
             return std::vector<ValueId>{n.builder.add("Slice", {n.image(3), n.builder.addConstant("", Tensor::ofInts({2})), n.builder.addConstant("", Tensor::ofInts({1}))})};
         }},
        {"sums of very many terms", [](Net& n) {
             const ValueId x = n.builder.addInput("x", TensorType(DType::f32, Shape{1, 1, 700, 700}));
             const ValueId norm = n.builder.add("InstanceNormalization", {x, n.constant({1}), n.constant({1})});
             const ValueId mean = n.builder.add("ReduceMean", {x}, {{"axes", Ints{2, 3}}}), square = n.builder.add("ReduceSumSquare", {x}, {{"keepdims", std::int64_t{0}}});
             return std::vector<ValueId>{norm, mean, square, n.builder.add("GlobalAveragePool", {x})};
         }},
        {"pieces of a product", [](Net& n) {
             const ValueId x = n.builder.addInput("x", TensorType(DType::f32, Shape{6, 16}));
             const ValueId all = n.builder.add("Reshape", {n.builder.add("MatMul", {x, n.constant({16, 16})}), n.builder.addConstant("", Tensor::ofInts({3, 2, 16}))});
             const auto piece = [&](std::int64_t i) { return n.builder.add("Gather", {all, n.builder.addConstant("", Tensor::scalar(i))}); };
             const ValueId rest = n.builder.add("Slice", {all, n.builder.addConstant("", Tensor::ofInts({1})), n.builder.addConstant("", Tensor::ofInts({9}))});
             const ValueId sum = n.builder.add("Add", {n.builder.add("Mul", {piece(0), piece(2)}), piece(-2)});
             return std::vector<ValueId>{sum, n.builder.add("Relu", {rest}), piece(1)};
         }},
        {"pieces of the input and of pieces", [](Net& n) {
             const ValueId x = n.builder.addInput("x", TensorType(DType::f32, Shape{4, 2, 16}));
             const auto piece = [&](ValueId of, std::int64_t i) { return n.builder.add("Gather", {of, n.builder.addConstant("", Tensor::scalar(i))}); };
             const ValueId y = n.builder.add("Exp", {x});
             return std::vector<ValueId>{n.builder.add("Sub", {piece(piece(y, 3), 1), piece(piece(x, 1), 0)})};
         }},
        {"recurrent layers", [](Net& n) {
             const ValueId x = n.builder.addInput("x", TensorType(DType::f32, Shape{5, 2, 16}));
             const auto layer = [&](const char* op, ValueId in, std::int64_t gates, std::int64_t directions) {
                 std::map<std::string, Attribute> attributes{{"hidden_size", std::int64_t{16}}};
                 if (directions == 2)
                     attributes["direction"] = std::string("bidirectional");
                 return n.builder.add(op, {in, n.constant({directions, gates * 16, 16}), n.constant({directions, gates * 16, 16}), n.constant({directions, gates * 32})}, attributes);
             };
             const ValueId first = n.builder.add("ReduceMean", {layer("LSTM", x, 4, 2)}, {{"axes", Ints{1}}, {"keepdims", std::int64_t{0}}});
             return std::vector<ValueId>{layer("GRU", first, 3, 1), layer("RNN", first, 1, 1)};
         }},
        {"scalar", [](Net& n) { return std::vector<ValueId>{n.builder.add("ReduceSum", {n.image(3)}, {{"keepdims", std::int64_t{0}}})}; }},
    };
    return table;
}

} // namespace

namespace {

// Operators of the steps that are no kernels.
std::vector<std::string> nodesOf(const ModulePlan& plan) {
    std::vector<std::string> found;
    for (const PlanStep& step : plan.steps)
        if (step.node)
            found.push_back(step.node->op);
    return found;
}

} // namespace

class TestBuild : public QObject {
    Q_OBJECT

private slots:
    // A model may name the same bytes of a data file many times.
    void sharedBytesArePlannedOnce() {
        Net n;
        const Tensor weight = Tensor::zeros(DType::f32, {64, 64});
        ValueId x = n.builder.addInput("x", TensorType(DType::f32, Shape{64, 64}));
        for (int i = 0; i < 4; ++i)
            x = n.builder.add("Relu", {n.builder.add("Add", {x, n.builder.addConstant("w" + std::to_string(i), weight)})});
        n.builder.setOutputs({x});
        BuildOptions options;
        options.target = take(hostTarget(1));
        const ModulePlan plan = take(buildModule(take(prepareGraph(take(n.builder.build()))), options));
        QCOMPARE(plan.constants.size(), std::size_t(1));
        QCOMPARE(plan.weightBytes, std::int64_t(64 * 64 * 4));
    }
    void plansComputeTheModel_data() {
        QTest::addColumn<int>("net");
        for (std::size_t i = 0; i < nets().size(); ++i)
            QTest::newRow(nets()[i].first) << static_cast<int>(i);
    }
    void plansComputeTheModel() {
        QFETCH(int, net);
        for (const Isa isa : {Isa::avx2, Isa::avx512}) {
            if (!hostSupports(isa))
                continue;
            Net n;
            n.builder.setOutputs(nets()[static_cast<std::size_t>(net)].second(n));
            Target target;
            target.isa = isa;
            compareWithReference(take(inferShapes(take(n.builder.build()))), target);
        }
    }

    void piecesNeedNoKernel() {
        Net n;
        const ValueId x = n.builder.addInput("x", TensorType(DType::f32, Shape{4, 16}));
        const ValueId y = n.builder.add("MatMul", {x, n.constant({16, 16})});
        const auto piece = [&](std::int64_t i) { return n.builder.add("Gather", {y, n.builder.addConstant("", Tensor::scalar(i))}); };
        n.builder.setOutputs({n.builder.add("Add", {piece(1), piece(3)})});
        BuildOptions options;
        options.target = take(hostTarget(1));
        const ModulePlan plan = take(buildModule(take(prepareGraph(take(n.builder.build()))), options));
        QCOMPARE(plan.steps.size(), std::size_t{2}); // the product and the sum
    }

    void samplesComputeTheModel() {
        for (const char* name : {"mlp", "encoder"})
            compareWithReference(take(inferShapes(take(buildSample(name)))), take(hostTarget(1)));
    }

    void batchNormsVanishIntoConvolutions() {
        Net n;
        const ValueId conv = n.conv(n.image(3), 3, 8);
        const ValueId variance = n.builder.addConstant("", randomTensor({8}, 9, 0.1f));
        const ValueId norm = n.builder.add("BatchNormalization", {conv, n.constant({8}), n.constant({8}), n.constant({8}), variance}, {{"epsilon", 0.3f}});
        n.builder.setOutputs({norm});
        const Graph model = take(inferShapes(take(n.builder.build())));
        const Graph folded = take(foldBatchNorms(model));
        QCOMPARE(folded.nodeCount(), std::size_t{1});
        const auto inputs = take(randomInputs(model, 3));
        const Status same = requireEquivalent(take(Interpreter(model).run(inputs)), take(Interpreter(folded).run(inputs)));
        QVERIFY2(same.ok(), same.ok() ? "" : same.error().message.c_str());
    }

    void aBatchNormBesideAnotherReaderStays() {
        Net n;
        const ValueId conv = n.conv(n.image(3), 3, 8);
        const ValueId norm = n.builder.add("BatchNormalization", {conv, n.constant({8}), n.constant({8}), n.constant({8}), n.builder.addConstant("", randomTensor({8}, 9, 0.1f))});
        n.builder.setOutputs({norm, conv});
        QCOMPARE(take(foldBatchNorms(take(inferShapes(take(n.builder.build()))))).nodeCount(), std::size_t{2});
    }

    // Before opset 14, who reads the statistics asks for training.
    void aBatchNormThatTrainsStays() {
        Net n;
        n.builder.setOpset({}, 9);
        const ValueId conv = n.conv(n.image(3), 3, 8);
        const ValueId norm = n.builder.add("BatchNormalization", {conv, n.constant({8}), n.constant({8}), n.constant({8}), n.builder.addConstant("", randomTensor({8}, 9, 0.1f))}, {}, 5);
        n.builder.setOutputs({norm});
        const Graph folded = take(foldBatchNorms(take(inferShapes(take(n.builder.build())))));
        QCOMPARE(folded.nodeCount(), std::size_t{2});
        QCOMPARE(nodesOf(take(buildModule(folded, {}))), (std::vector<std::string>{"BatchNormalization"}));
    }

    // A Dropout shares the bytes of its input in inference only.
    void aDropoutThatTrainsIsNoAlias() {
        for (const bool trains : {false, true}) {
            Net n;
            n.builder.setOpset({}, 13);
            const ValueId x = n.builder.add("Relu", {n.image(3)});
            const ValueId mode = n.builder.addConstant("", Tensor::scalar(trains));
            n.builder.setOutputs({n.builder.add("Dropout", {x, n.builder.addConstant("", Tensor::scalar(0.5f)), mode})});
            const Graph model = take(inferShapes(take(n.builder.build())));
            const ModulePlan module = take(buildModule(take(prepareGraph(model)), {}));
            QCOMPARE(nodesOf(module), trains ? std::vector<std::string>{"Dropout"} : std::vector<std::string>{});
        }
    }

    // Records serve a kernel however its model was written.
    void keysDoNotDependOnTheWriting() {
        using Attributes = std::map<std::string, Attribute>;
        const auto keysOf = [](std::int64_t opset, const Attributes& conv, const Attributes& pool) {
            Net n;
            n.builder.setOpset({}, opset);
            const ValueId made = n.builder.add("Conv", {n.image(3), n.builder.addConstant("", randomTensor({8, 3, 3, 3}, 1))}, conv);
            n.builder.setOutputs({n.builder.add("MaxPool", {n.builder.add("Relu", {made})}, pool)});
            std::vector<std::string> keys;
            for (const ModelWorkload& each : take(modelWorkloads(take(prepareGraph(take(inferShapes(take(n.builder.build()))))), Target())))
                keys.push_back(each.workload.key);
            return keys;
        };
        const Attributes terse{{"auto_pad", std::string("SAME_UPPER")}}, window{{"kernel_shape", Ints{2, 2}}};
        const Attributes wordy{{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{1, 1}}, {"dilations", Ints{1, 1}}, {"group", std::int64_t(1)}, {"kernel_shape", Ints{3, 3}}};
        const Attributes wordyWindow{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{1, 1}}, {"pads", Ints{0, 0, 0, 0}}, {"dilations", Ints{1, 1}}};
        const auto keys = keysOf(13, terse, window);
        QCOMPARE(keys.size(), std::size_t(2));
        QCOMPARE(keysOf(17, wordy, wordyWindow), keys);
        QCOMPARE(keysOf(16, terse, wordyWindow), keys);
        Attributes strided = wordy;
        strided["strides"] = Ints{2, 2};
        QVERIFY(keysOf(17, strided, wordyWindow) != keys);
        QVERIFY(keysOf(17, terse, {{"kernel_shape", Ints{3, 3}}})[1] != keys[1]);
    }

    // x -> Exp -> NonZero, whose shape nobody knows, and what reads that; x -> Sin and Neg beside it are one kernel.
    void whatIsNoKernelIsAStepOfItsOwn() {
        Net n;
        const ValueId x = n.image(3);
        const ValueId places = n.builder.add("NonZero", {n.builder.add("Exp", {x})});
        n.builder.setOutputs({n.builder.add("Transpose", {places}), n.builder.add("Neg", {n.builder.add("Sin", {x})})});
        const Graph prepared = take(prepareGraph(take(n.builder.build())));
        const ModulePlan plan = take(buildModule(prepared, {}));
        QCOMPARE(nodesOf(plan), (std::vector<std::string>{"NonZero", "Transpose"}));
        QCOMPARE(plan.steps.size(), std::size_t(4));
        QCOMPARE(plan.outputs[0].shape, (Shape{kOpenExtent, 4}));
        QVERIFY(plan.buffers[plan.outputs[0].buffer].place == PlanBuffer::Place::dynamic);
        QCOMPARE(take(modelWorkloads(prepared, Target())).size(), std::size_t(2));
    }

    void openInputsAreNamed() {
        Net n;
        n.builder.setOutputs({n.builder.add("Exp", {n.builder.addInput("open", TensorType(DType::f32, Dims{Dim::named("batch")}))})});
        const auto plan = buildModule(take(prepareGraph(take(n.builder.build()))), {});
        QVERIFY(!plan.ok());
        QVERIFY2(plan.error().message.find("input 'open' is float32[batch]") != std::string::npos, plan.error().message.c_str());
    }

    void withoutKernelsThereIsNothingToTune() {
        Net n;
        n.builder.setOutputs({n.builder.add("NonZero", {n.image(3)})});
        const auto workloads = modelWorkloads(take(prepareGraph(take(n.builder.build()))), Target());
        QVERIFY(!workloads.ok());
        QVERIFY2(workloads.error().message.find("NonZero") != std::string::npos, workloads.error().message.c_str());
    }

    void cancelledBuildsSaySo() {
        Net n;
        n.builder.setOutputs({n.conv(n.image(3), 3, 8)});
        StopSource source;
        source.requestStop();
        BuildOptions options;
        options.stop = source.token();
        const auto plan = buildModule(take(prepareGraph(take(n.builder.build()))), options);
        QVERIFY(!plan.ok() && plan.error().isCancelled());
    }

    void buffersThatLiveTogetherDoNotOverlap() {
        Rng rng(5);
        for (int round = 0; round < 200; ++round) {
            std::vector<LiveBuffer> buffers;
            std::int64_t total = 0;
            for (std::size_t i = 0; i < 30; ++i) {
                const std::size_t first = rng.below(20);
                buffers.push_back({static_cast<std::int64_t>(rng.below(5000)), first, first + rng.below(6)});
                total += buffers.back().bytes + 64;
            }
            const MemoryPlan plan = planMemory(buffers);
            QVERIFY(plan.bytes <= total);
            for (std::size_t a = 0; a < buffers.size(); ++a) {
                QCOMPARE(plan.offsets[a] % 64, std::int64_t{0});
                QVERIFY(plan.offsets[a] + buffers[a].bytes <= plan.bytes);
                for (std::size_t b = 0; b < a; ++b) {
                    const bool together = buffers[a].firstStep <= buffers[b].lastStep && buffers[b].firstStep <= buffers[a].lastStep;
                    const bool apart = plan.offsets[a] + buffers[a].bytes <= plan.offsets[b] || plan.offsets[b] + buffers[b].bytes <= plan.offsets[a];
                    QVERIFY(!together || apart);
                }
            }
        }
        QCOMPARE(planMemory({}).bytes, std::int64_t{0});
        QCOMPARE(planMemory({{100, 0, 1}, {100, 2, 3}}).bytes, std::int64_t{128}); // shared
    }
};

QTEST_GUILESS_MAIN(TestBuild)
#include "tst_build.moc"
