// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>
#include <nlohmann/json.hpp>

#include "core/graph/graph_builder.h"
#include "core/measure/machine.h"
#include "core/module/build.h"
#include "core/onnx/export.h"
#include "core/workbench/compile.h"
#include "core/workbench/history.h"
#include "core/workbench/inspect.h"
#include "core/workbench/layout_records.h"
#include "core/workbench/optimize.h"
#include "core/workbench/tune.h"
#include "tests/core/workbench/told_gate.h"
#include "tests/take.h"

using namespace tunesmith;
using loops::Layout;
using testing::ToldGate;

namespace {

Tensor weights(const Shape& shape) {
    Tensor tensor = Tensor::zeros(DType::f32, shape);
    float value = 0;
    for (float& weight : tensor.mutableData<float>())
        weight = (value = value > 1 ? -1 : value + 0.37f) / 8;
    return tensor;
}

// Two convolutions and a pool, with 24 channels between them.
Graph smallNet(std::int64_t channels = 24) {
    GraphBuilder builder("small");
    builder.setOpset("", 17);
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{1, 8, 12, 12}));
    const auto conv = [&](ValueId from, std::int64_t in, std::int64_t out) {
        return builder.add("Conv", {from, builder.addConstant("", weights({out, in, 3, 3}))}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    };
    const ValueId pooled = builder.add("MaxPool", {conv(x, 8, channels)}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}});
    builder.setOutputs({conv(pooled, channels, 16)});
    return take(builder.build());
}

struct Place { // a store and a model in a folder of their own
    QTemporaryDir folder;
    std::string store = folder.filePath("trials.db").toStdString();
    std::string file = folder.filePath("small.onnx").toStdString();
    Place() {
        const Status written = exportOnnx(smallNet(), file);
        if (!written.ok())
            qFatal("%s", written.error().message.c_str());
    }
    Model model() const { return take(openModel(file)); }
};

// Everything that may be in blocks is in blocks of four, and the first convolution reads a copy.
LayoutPlan narrowPlan(const Graph& prepared) {
    LayoutPlan plan;
    for (const KernelGroup& group : groupNodes(prepared))
        if (mayChooseLayout(prepared, group))
            plan.values[group.outputs[0]] = Layout::blocked(4, 1, 4);
    plan.reads[{NodeId(0), prepared.inputs()[0]}] = Layout::blocked(4, 1, 8);
    return plan;
}

RunRow legOf(Store& store, const Target& target) {
    RunRow run;
    const MachineId machine = take(store.addMachine(take(thisMachine())));
    run.target = take(store.addTarget({{}, target.key(), machine}));
    run.model = take(store.addModel({{}, "small", "small.onnx", "0123456789abcdef"}));
    return run;
}

} // namespace

class LayoutStageTest : public QObject {
    Q_OBJECT

private slots:
    void plansAreFoundAgain() {
        const Place place;
        const Target target = take(hostTarget(1));
        const auto store = take(Store::open(place.store));
        const std::string machine = take(thisMachine()).key;
        const Graph prepared = take(prepareGraph(place.model().graph()));
        QVERIFY(!take(storedLayouts(*store, prepared, target, machine)));
        const LayoutPlan plan = narrowPlan(prepared);
        const RunRow leg = legOf(*store, target);
        take(storeLayouts(*store, prepared, leg, machine, {plan, true, 2, 1, 2.1, 1.1}));
        QVERIFY(take(storedLayouts(*store, prepared, target, machine)) == plan);
        QVERIFY(take(store->check()).ok);
        QVERIFY(take(tuningRuns(place.store)).empty()); // it tuned nothing

        QVERIFY(!take(storedLayouts(*store, prepared, take(hostTarget(2)), machine)));
        QVERIFY(!take(storedLayouts(*store, prepared, target, "another machine")));
        const Graph other = take(prepareGraph(smallNet(20)));
        QVERIFY(!take(storedLayouts(*store, other, target, machine)));
        take(storeLayouts(*store, other, leg, machine, {{}, false, 1, 1, {}, {}}));
        QVERIFY(take(storedLayouts(*store, prepared, target, machine)));
        take(storeLayouts(*store, prepared, leg, machine, {{}, false, 1, 1, {}, {}})); // the newest verdict counts
        QVERIFY(!take(storedLayouts(*store, prepared, target, machine)));
    }

    // Whatever stands in the store: it fits or there is no plan.
    void damagedPlansAreNoPlans_data() {
        QTest::addColumn<QString>("layouts");
        QTest::newRow("nothing") << "";
        QTest::newRow("no object") << "7";
        QTest::newRow("unknown value") << R"({"values": {"nobody": 8}, "reads": []})";
        QTest::newRow("of the caller") << R"({"values": {"x": 8}, "reads": []})";
        QTest::newRow("no block") << R"({"values": {}, "reads": [["nobody", "x", 8]]})";
        QTest::newRow("odd block") << R"({"values": {}, "reads": [["", "x", 5]]})";
        QTest::newRow("no number") << R"({"values": {"x": "wide"}, "reads": []})";
        QTest::newRow("short read") << R"({"values": {}, "reads": [["x"]]})";
    }
    void damagedPlansAreNoPlans() {
        QFETCH(QString, layouts);
        const Place place;
        const Target target = take(hostTarget(1));
        const auto store = take(Store::open(place.store));
        const std::string machine = take(thisMachine()).key;
        const Graph prepared = take(prepareGraph(place.model().graph()));
        RunRow row = legOf(*store, target);
        take(storeLayouts(*store, prepared, row, machine, {narrowPlan(prepared), true, 2, 1, 2.1, 1.1}));
        auto options = nlohmann::json::parse(take(store->runs()).front().options);
        options["layouts"] = nlohmann::json::parse(layouts.toStdString(), nullptr, false);
        if (layouts.isEmpty())
            options.erase("layouts");
        row.kind = kLayoutsKind;
        row.options = options.dump();
        const Status ended = store->endRun(take(store->beginRun(row)), {});
        QVERIFY(ended.ok());
        QVERIFY(!take(storedLayouts(*store, prepared, target, machine)));
    }

    // Compiled, checked against the reference, and inspected, with what the store says.
    void compilingTakesThePlan() {
        const Place place;
        const Target target = take(hostTarget(1));
        const Model model = place.model();
        const Graph prepared = take(prepareGraph(model.graph()));
        CompileRequest compile;
        compile.folder = place.folder.filePath("module").toStdString();
        compile.store = place.store;
        compile.threads = 1;
        const std::size_t steps = take(compileModel(model, compile)).steps;
        {
            const auto store = take(Store::open(place.store));
            const LayoutPlan plan = narrowPlan(prepared);
            take(storeLayouts(*store, prepared, legOf(*store, target), take(thisMachine()).key, {plan, true, 2, 1, 2.1, 1.1}));
        }
        const CompileResult planned = take(compileModel(model, compile));
        QVERIFY(planned.check.passed);
        QCOMPARE(planned.layouts, std::size_t(4));
        QCOMPARE(planned.steps, steps + 1); // the copy that is read
        compile.untuned = true;
        QCOMPARE(take(compileModel(model, compile)).layouts, std::size_t(0));
        compile.untuned = false;
        compile.threads = 2;
        QCOMPARE(take(compileModel(model, compile)).layouts, std::size_t(0));
        InspectRequest inspect;
        inspect.workload = "maxpool";
        inspect.store = place.store;
        inspect.threads = 1;
        QCOMPARE(take(inspectKernel(model, inspect)).layouts, std::string("NCHW4c -> NCHW4c"));
        inspect.untuned = true;
        QVERIFY(take(inspectKernel(model, inspect)).layouts != "NCHW4c -> NCHW4c");
    }

    void tuningPlansLayouts() {
        const Place place;
        const Model model = place.model();
        TuneRequest request;
        request.store = place.store;
        request.budget.trialsPerWorkload = 4;
        request.threads = 1;
        request.layouts = true;
        request.measureModel = false;
        const TuneReport report = take(tuneModel(model, request));
        QVERIFY(report.last().layouts.has_value());
        const TunedLayouts& layouts = *report.last().layouts;
        QVERIFY(layouts.trials > 0); // at the least the conversion of the output
        QVERIFY(layouts.greedyPredictedMs > 0 && layouts.plannedPredictedMs <= layouts.greedyPredictedMs);
        QVERIFY(QString::fromStdString(layouts.text).startsWith("layouts: "));
        QCOMPARE(layouts.changed > 0, layouts.greedyMs.has_value());
        QVERIFY(!layouts.kept || layouts.changed > 0);
        const auto store = take(Store::open(place.store, StoreMode::readOnly));
        QVERIFY(take(store->check()).ok);
        QCOMPARE(take(store->run(RunId(layouts.run))).kind, std::string(kLayoutsKind));
        QCOMPARE(take(tuningRuns(place.store)).size(), std::size_t(1));
        CompileRequest compile;
        compile.folder = place.folder.filePath("module").toStdString();
        compile.store = place.store;
        compile.threads = 1;
        QCOMPARE(take(compileModel(model, compile)).layouts, layouts.kept ? layouts.changed : 0);
        request.layouts = false; // tunes what is compiled now
        take(tuneModel(model, request));
    }

    // Graphs and layouts chosen at once: what the race found faster is what compiling the written model gives.
    void optimizingPlansLayouts() {
        const Place place;
        OptimizeRequest request;
        request.store = place.store;
        request.cost = "planned";
        request.threads = 1;
        request.file = place.folder.filePath("rewritten.onnx").toStdString();
        const OptimizedModel made = take(optimizeModel(place.model(), request));
        QCOMPARE(made.unit, std::string("ms"));
        QVERIFY(made.costAfter <= made.costBefore);
        QVERIFY(made.measuredBeforeMs > 0 && made.measuredAfterMs > 0); // kernels do not have the last word
        {
            const auto store = take(Store::open(place.store, StoreMode::readOnly));
            QVERIFY(take(store->check()).ok);
        }
        CompileRequest compile;
        compile.folder = place.folder.filePath("module").toStdString();
        compile.store = place.store;
        compile.threads = 1;
        const CompileResult compiled = take(compileModel(take(openModel(request.file.string())), compile));
        QVERIFY(compiled.check.passed);
        if (made.layouts > 0)
            QCOMPARE(compiled.layouts, made.layouts);
    }

    // Too small a budget for all that the model consists of: no verdict, so that an older one stays.
    void tooLittleMeasured() {
        const Place place;
        TuneRequest request;
        request.store = place.store;
        request.budget.trials = 4;
        request.threads = 1;
        request.layouts = true;
        request.measureModel = false;
        const TunedLayouts layouts = take(tuneModel(place.model(), request)).last().layouts.value();
        QVERIFY(!layouts.kept);
        if (layouts.run == 0)
            QVERIFY(layouts.text.find("not planned") != std::string::npos);
    }

    // As a job that shares the machine.
    void itHasOneTurn() {
        const Place place;
        const auto gate = std::make_shared<ToldGate>();
        TuneRequest request;
        request.store = place.store;
        request.budget.trialsPerWorkload = 2;
        request.threads = 1;
        request.layouts = true;
        request.measureModel = false;
        request.gate = gate;
        QVERIFY(take(tuneModel(place.model(), request)).last().layouts.has_value());
        QCOMPARE(gate->entered.back(), std::string("profile"));
    }

    // Stopped while it measures: what was tuned is reported, and no verdict is stored.
    void stoppedInBetween() {
        struct Stopper : TuneListener {
            StopSource source;
            void onProgress(const Progress& progress) override {
                if (progress.phase == "measuring layouts")
                    source.requestStop();
            }
        } stopper;
        const Place place;
        TuneRequest request;
        request.store = place.store;
        request.budget.trialsPerWorkload = 2;
        request.threads = 1;
        request.layouts = true;
        request.measureModel = false;
        request.listener = &stopper;
        request.stop = stopper.source.token();
        const TuneReport report = take(tuneModel(place.model(), request));
        QVERIFY(!report.last().layouts.has_value());
        const auto runs = take(take(Store::open(place.store, StoreMode::readOnly))->runs());
        QVERIFY(std::ranges::none_of(runs, [](const RunRow& run) { return run.kind == kLayoutsKind; }));
    }
};

QTEST_GUILESS_MAIN(LayoutStageTest)
#include "tst_layout_stage.moc"
