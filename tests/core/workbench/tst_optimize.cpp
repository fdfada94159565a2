// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <sys/resource.h>

#include "core/base/sanitizers.h"
#include "core/graph/graph_builder.h"
#include "core/onnx/export.h"
#include "core/workbench/optimize.h"
#include "tests/app/gui/tiny_onnx.h"
#include "tests/core/optimize/small_models.h"
#include "tests/core/workbench/told_gate.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

long residentMb() { // at its highest
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

} // namespace

// The facade of substitution search. Searches and rules have tests of their own.
class TstOptimize : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

    // A model of two pools, by way of a file.
    Model poolsOf(std::int64_t opset) const {
        const std::map<std::string, Attribute> window{{"kernel_shape", std::vector<std::int64_t>{2, 2}}};
        GraphBuilder builder("pools");
        builder.setOpset({}, opset);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{1, 2, 6, 6}));
        builder.setOutputs({builder.add("AveragePool", {builder.add("Identity", {builder.add("MaxPool", {x}, window)})}, window)});
        const std::string file = folder_.filePath("pools.onnx").toStdString();
        if (const Status written = exportOnnx(take(builder.build()), file); !written.ok())
            qFatal("%s", written.error().message.c_str());
        return take(openModel(file));
    }

    OptimizeRequest request() const {
        OptimizeRequest asked;
        asked.cost = "kernels";
        asked.store = folder_.filePath("s.db").toStdString();
        return asked;
    }

private slots:
    void writesOnlyWhatTheOpsetKnows_data() {
        QTest::addColumn<int>("opset");
        QTest::addColumn<bool>("dilated");
        QTest::newRow("6") << 6 << false; // upgraded when it is read
        QTest::newRow("8") << 8 << false;
        QTest::newRow("10") << 10 << true;
    }
    void writesOnlyWhatTheOpsetKnows() {
        QFETCH(int, opset);
        QFETCH(bool, dilated);
        const OptimizedModel made = take(optimizeModel(poolsOf(opset), request()));
        QCOMPARE(made.nodesAfter, std::int64_t(2));
        for (const auto& node : made.after.nodes())
            QCOMPARE(node->has("dilations"), dilated && node->op == "MaxPool");
    }

    // Others may share the machine: they are told which stages come.
    void stagesArePlanned() {
        const auto gate = std::make_shared<testing::ToldGate>();
        OptimizeRequest asked = request();
        asked.gate = gate;
        take(optimizeModel(poolsOf(10), asked));
        QCOMPARE(gate->planned, (std::vector<std::string>{"prepare search check"}));
        QCOMPARE(gate->entered, (std::vector<std::string>{"prepare", "search", "check"}));
    }

    // What only saves work is in the way of merging where launches are counted: query, key and value of the last layer, of which one token is asked for.
    void launchesAreCountedWithoutWork() {
        GraphBuilder builder("last");
        builder.setOpset({}, 13);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{6, 4}));
        std::vector<ValueId> made;
        for (int i = 0; i < 3; ++i) {
            Tensor weights = Tensor::zeros(DType::f32, {4, 4});
            std::ranges::fill(weights.mutableData<float>(), 0.5F + static_cast<float>(i));
            made.push_back(builder.add("MatMul", {x, builder.addConstant({}, weights)}));
        }
        const auto ints = [&](std::int64_t value) { return builder.addConstant({}, Tensor::ofInts({value})); };
        const ValueId query = builder.add("Slice", {made[0], ints(0), ints(1), ints(0)});
        builder.setOutputs({builder.add("MatMul", {query, builder.add("Transpose", {made[1]}, {{"perm", std::vector<std::int64_t>{1, 0}}})}), made[2]});
        const std::string file = folder_.filePath("last.onnx").toStdString();
        const Status written = exportOnnx(take(builder.build()), file);
        QVERIFY2(written.ok(), problemOf(written).c_str());
        const OptimizedModel found = take(optimizeModel(take(openModel(file)), request()));
        const auto uses = [&](const std::string& rule) {
            return std::ranges::any_of(found.rules, [&](const RuleUse& use) { return use.rule == rule && use.count > 0; });
        };
        QVERIFY(uses("merge-products") && !uses("slice-up"));
    }

    // With a graph for each step, of nodes that most graphs share no part of.
    void aLargeModelTakesBoundedMemory() {
        const std::string file = folder_.filePath("cell.onnx").toStdString();
        const Status written = exportOnnx(recurrentCell(132), file);
        QVERIFY2(written.ok(), problemOf(written).c_str());
        const Model model = take(openModel(file));
        const long before = residentMb();
        const OptimizedModel found = take(optimizeModel(model, request()));
        const long after = residentMb();
        qInfo("%zu steps, %ld MB more", found.steps.size(), after - before);
        QVERIFY(found.steps.size() > 50);
        QVERIFY2(kSanitized || after - before < 700, std::to_string(after - before).c_str());
    }

    // Whatever was applied can be looked up and done without, and gains add up to what the search gained.
    void rulesTellSimplificationsOfEveryStep() {
        const OptimizedModel found = take(optimizeModel(take(openModel("encoder")), request()));
        double gain = 0;
        std::map<std::string, std::int64_t> counts;
        for (const RuleUse& use : found.rules) {
            gain += use.gain;
            counts[use.rule] = use.count;
        }
        QVERIFY2(std::abs(gain - (found.costBefore - found.costAfter)) < 1e-9, std::to_string(gain).c_str());
        std::map<std::string, std::int64_t> expected;
        for (const GraphStep& step : found.steps) {
            if (step.rule != "simplify")
                ++expected[step.rule];
            for (const std::string& rule : step.simplifications)
                ++expected[rule];
        }
        QCOMPARE(counts, expected);
        for (const char* rule : {"merge-products", "operator-on-parts", "heads-of-parts"})
            QVERIFY2(counts.contains(rule), rule);
        OptimizeRequest without = request();
        without.without = {"operator-on-parts"};
        const OptimizedModel less = take(optimizeModel(take(openModel("encoder")), without));
        QVERIFY(less.costAfter > found.costAfter);
        QVERIFY(std::ranges::find(less.rules, "operator-on-parts", &RuleUse::rule) == less.rules.end());
    }

    // Each rewrite taken back by itself, and then all of them one after the other.
    void rewritesAreTakenBack() {
        const Model model = take(openModel("encoder"));
        const OptimizedModel found = take(optimizeModel(model, request()));
        const auto rewrites = [](const OptimizedModel& made) { return std::ranges::count_if(made.steps, [](const GraphStep& step) { return !step.place.empty(); }); };
        for (std::size_t step = 1; step <= found.steps.size(); ++step) {
            if (found.steps[step - 1].place.empty())
                continue;
            const OptimizedModel less = take(undoRewrite(model, request(), found, step));
            QCOMPARE(less.undone, std::vector{found.steps[step - 1].rule});
            QCOMPARE(rewrites(less) + static_cast<std::ptrdiff_t>(less.lost.size()), rewrites(found) - 1);
            QVERIFY(less.costAfter >= found.costAfter && less.costAfter <= found.costBefore && less.maxRelativeError.value_or(0) < 1e-4);
            QCOMPARE(less.costBefore, found.costBefore);
            QCOMPARE(less.nodesAfter, static_cast<std::int64_t>(less.after.nodeCount()));
            QVERIFY(!less.raced && !less.notRaced.empty());
        }
        OptimizedModel made = found;
        const auto isRewrite = [](const GraphStep& step) { return !step.place.empty(); };
        for (auto step = std::ranges::find_if(made.steps, isRewrite); step != made.steps.end(); step = std::ranges::find_if(made.steps, isRewrite))
            made = take(undoRewrite(model, request(), made, static_cast<std::size_t>(step - made.steps.begin()) + 1));
        QCOMPARE(static_cast<std::ptrdiff_t>(made.undone.size() + made.lost.size()), rewrites(found));
        QVERIFY(made.costAfter > found.costAfter);
    }

    void whatCannotBeTakenBack() {
        const Model model = take(openModel("encoder"));
        OptimizedModel found = take(optimizeModel(model, request()));
        const auto message = [&](std::size_t step) {
            const auto made = undoRewrite(model, request(), found, step);
            return made.ok() ? std::string() : made.error().message;
        };
        QVERIFY(message(0).find("there is no rewrite 0") != std::string::npos);
        QVERIFY(message(found.steps.size() + 1).find("the run has " + std::to_string(found.steps.size())) != std::string::npos);
        found.steps.push_back(found.steps.back());
        found.steps.back().rule = "generated/999999 left to right";
        QVERIFY(message(found.steps.size() - 1).find("is not in the store any more; run the search again") != std::string::npos);
        found.steps.back().place.clear();
        QVERIFY(message(found.steps.size()).find("only simplified") != std::string::npos);
        StopSource stop;
        stop.requestStop();
        const auto cancelled = undoRewrite(model, request(), found, found.steps.size() - 1, {stop.token(), {}});
        QVERIFY(!cancelled.ok() && cancelled.error().isCancelled());
    }

    // Before anything is searched.
    void whatCannotEndWellDoesNotBegin_data() {
        QTest::addColumn<QByteArray>("op");
        QTest::addColumn<QString>("output");
        QTest::addColumn<QString>("says");
        QTest::newRow("an operator that no engine knows") << QByteArray("Magic") << "out.onnx" << "the_node";
        QTest::newRow("no such folder") << QByteArray("Relu") << "none/out.onnx" << "there is no folder";
        QTest::newRow("a folder") << QByteArray("Relu") << "." << "is a folder; name a file";
        QTest::newRow("a letter") << QByteArray("Relu") << "letter.txt" << "name a file that ends in .onnx";
        QTest::newRow("the model itself") << QByteArray("Relu") << "tiny.onnx" << "is the model itself; name another file";
        QTest::newRow("all is well") << QByteArray("Relu") << "out.onnx" << "";
    }
    void whatCannotEndWellDoesNotBegin() {
        QFETCH(QByteArray, op);
        QFETCH(QString, output);
        QFETCH(QString, says);
        QFile file(folder_.filePath("tiny.onnx"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(tinyOnnx(op, "4"));
        file.close();
        QVERIFY(QFile::exists(folder_.filePath("letter.txt")) || QFile::copy(file.fileName(), folder_.filePath("letter.txt")));
        const Model model = take(openModel(file.fileName().toStdString()));
        OptimizeRequest asked = request();
        asked.file = folder_.filePath(output).toStdString();
        bool begun = false;
        const Work work{{}, [&](const Progress& progress) { begun = begun || progress.phase == "folding constants"; }};
        const auto made = optimizeModel(model, asked, work);
        const QString message = made.ok() ? QString() : QString::fromStdString(made.error().message);
        QVERIFY2(message.contains(says) && made.ok() == says.isEmpty(), qPrintable(message));
        QVERIFY(op != "Magic" || message.contains("Magic"));
        QCOMPARE(begun, made.ok());
        QVERIFY(says.isEmpty() || !QFile::exists(folder_.filePath("none")));
    }

    // Conditions of written rules are part of finding them.
    void saysWhatNearlyFits_data() {
        QTest::addColumn<int>("group");
        QTest::addColumn<int>("kernel");
        QTest::addColumn<QString>("reason");
        QTest::addColumn<int>("places");
        QTest::newRow("groups") << 2 << 1 << "the convolution has groups" << 2;
        QTest::newRow("kernels") << 1 << 2 << "of the kernels of the two convolutions one is odd, one even" << 2;
        QTest::newRow("merged") << 1 << 3 << "" << 0;
    }
    void saysWhatNearlyFits() {
        QFETCH(int, group);
        QFETCH(int, kernel);
        QFETCH(QString, reason);
        QFETCH(int, places);
        GraphBuilder builder("pair");
        builder.setOpset({}, 13);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{1, 4, 6, 6}));
        const auto conv = [&](std::int64_t size, float seed) {
            const std::int64_t pad = size / 2;
            return builder.add("Conv", {x, builder.addConstant({}, weightsOf({4, 4 / group, size, size}, seed))},
                               {{"group", std::int64_t(group)}, {"pads", std::vector<std::int64_t>{pad, pad, pad - (size + 1) % 2, pad - (size + 1) % 2}}});
        };
        const ValueId first = conv(1, 0.3F);
        builder.setOutputs({builder.add("Concat", {first, conv(kernel, 0.4F)}, {{"axis", std::int64_t(1)}})});
        const std::string file = folder_.filePath("pair.onnx").toStdString();
        const Status written = exportOnnx(take(builder.build()), file);
        QVERIFY2(written.ok(), problemOf(written).c_str());
        const Model model = take(openModel(file));
        OptimizeRequest asked = request();
        asked.search = "greedy"; // others see that groups can be made one before the merge
        const OptimizedModel found = take(optimizeModel(model, asked));
        const auto refusal = std::ranges::find(found.refusals, "merge-convolutions", &RuleRefusal::rule);
        QCOMPARE(refusal != found.refusals.end(), places > 0);
        if (places > 0) {
            QCOMPARE(QString::fromStdString(refusal->reason), reason);
            QCOMPARE(refusal->count, std::int64_t(places));
        }
        asked.without = {"merge-convolutions"}; // has nothing to say
        for (const RuleRefusal& each : take(optimizeModel(model, asked)).refusals)
            QVERIFY(each.rule != "merge-convolutions");
    }

    void tellsHowGoodPredictionsWere() {
        const Prediction exact = predictionOf({{1, 1}, {2, 2}, {3, 3}}), reversed = predictionOf({{1, 2}, {2, 1}});
        QCOMPARE(exact.error, 0.0);
        QCOMPARE(exact.kendallTau, 1.0);
        QCOMPARE(reversed.error, 0.75);
        QCOMPARE(reversed.kendallTau, -1.0);
    }
};

QTEST_GUILESS_MAIN(TstOptimize)
#include "tst_optimize.moc"
