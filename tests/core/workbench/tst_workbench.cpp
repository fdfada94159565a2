// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/graph/graph_builder.h"
#include "core/measure/machine.h"
#include "core/store/sqlite.h"
#include "core/store/store.h"
#include "core/workbench/compile.h"
#include "core/workbench/history.h"
#include "core/workbench/picture.h"
#include "core/workbench/run.h"
#include "core/workbench/tune.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

// Keeps what a run tells, and stops it after so many trials.
class Recorder : public TuneListener {
public:
    explicit Recorder(std::size_t stopAfter = SIZE_MAX) : stopAfter_(stopAfter) {}
    void onLeg(const TuneLeg& leg) override { legs.push_back(leg); }
    void onTasks(const std::vector<TuningTask>& list) override { tasks = list; }
    void onRun(std::int64_t id) override { run = id; }
    void onTrial(const TuneTrial& trial) override {
        trials.push_back(trial);
        if (trials.size() >= stopAfter_)
            source.requestStop();
    }
    void onTaskDone(const std::string& key, const std::string&) override { done.insert(key); }
    void onProgress(const Progress& progress) override {
        fraction = std::max(fraction, progress.fraction);
        if (progress.phase == stopAtPhase)
            source.requestStop();
    }

    StopSource source;
    std::string stopAtPhase = "none";
    std::vector<TuneLeg> legs;
    std::vector<TuningTask> tasks;
    std::vector<TuneTrial> trials;
    std::set<std::string> done;
    std::int64_t run = -1;
    double fraction = -1;

private:
    std::size_t stopAfter_;
};

TuneRequest request(const QTemporaryDir& folder, Recorder& recorder, std::int64_t trialsPerWorkload) {
    TuneRequest out;
    out.store = folder.filePath("trials.db").toStdString();
    out.budget.trialsPerWorkload = trialsPerWorkload;
    out.threads = 1;
    out.measureModel = false;
    out.stop = recorder.source.token();
    out.listener = &recorder;
    return out;
}

// A store as it would be after the run had been measured on a machine with other processors.
void copyToAnotherMachine(const Store& from, RunId run, Store& to) {
    const RunRow row = take(from.run(run));
    MachineRow machine = take(from.machines()).front();
    machine.id = {};
    machine.key += "-elsewhere";
    TargetRow target = take(from.targets()).front();
    target.id = {};
    target.machine = take(to.addMachine(machine));
    std::vector<RunWorkloadRow> plan;
    for (const auto& summary : take(from.runWorkloads(run))) {
        QVERIFY(to.addWorkload(*take(from.workload(summary.plan.workload))).ok());
        plan.push_back(summary.plan);
    }
    RunRow copy;
    copy.target = take(to.addTarget(target));
    copy.strategy = row.strategy;
    copy.options = row.options;
    copy.version = row.version;
    const RunId made = take(to.beginRun(copy, plan));
    TrialFilter filter;
    filter.run = run;
    for (TrialRow trial : take(from.trials(filter))) {
        trial.id = {};
        trial.run = made;
        take(to.addTrial(trial));
    }
    RunEnd end;
    end.state = RunState::completed;
    end.stopReason = "budget_trials";
    QVERIFY(to.endRun(made, end).ok());
}

} // namespace

// The facade as the applications use it.
class TestWorkbench : public QObject {
    Q_OBJECT

private slots:
    void dimensions_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<int>("count"); // -1: refused
        QTest::newRow("none") << "" << 0;
        QTest::newRow("one") << "batch=4" << 1;
        QTest::newRow("two") << "batch=4,height=224" << 2;
        QTest::newRow("dotted") << "p2o.DynamicDimension.0=1" << 1;
        QTest::newRow("name with =") << "a=b=3" << 1;
        QTest::newRow("no value") << "batch=" << -1;
        QTest::newRow("no name") << "=4" << -1;
        QTest::newRow("no number") << "batch=four" << -1;
        QTest::newRow("trailing") << "batch=4x" << -1;
        QTest::newRow("empty") << "past=0" << 1;
        QTest::newRow("comma in the name") << "\"a,b\"=3,c=1" << 2;
        QTest::newRow("quote in the name") << "\"a\\\"b\"=3" << 1;
        QTest::newRow("twice") << "a=1,a=2" << -1;
        QTest::newRow("open quote") << "\"a,b=3" << -1;
        QTest::newRow("negative") << "batch=-4" << -1;
        QTest::newRow("huge") << "batch=99999999999999999999" << -1;
        QTest::newRow("empty part") << "a=1,,b=2" << -1;
    }
    void dimensions() {
        QFETCH(QString, text);
        QFETCH(int, count);
        const auto parsed = parseDimensions(text.toStdString());
        QCOMPARE(parsed.ok() ? static_cast<int>(parsed->size()) : -1, count);
    }

    // A name as `info` shows it is the name again, whatever it holds.
    void shownDimensionsAreRead_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"batch", "a,b", "a=b", "say \"n\"", "back\\slash", "floor((n - 1)/2, 3)", "\"", ","})
            QTest::newRow(name) << name;
    }
    void shownDimensionsAreRead() {
        QFETCH(QString, name);
        const std::string shown = dimensionText(name.toStdString());
        const Dimensions read = take(parseDimensions("first=1," + shown + "=7,last=2"));
        QCOMPARE(read, (Dimensions{{"first", 1}, {name.toStdString(), 7}, {"last", 2}}));
    }

    void unknownDimensionIsRefused() {
        const auto model = openModel("mlp", {{"frobs", 3}});
        QVERIFY(!model.ok());
        QVERIFY(model.error().message.find("frobs") != std::string::npos);
    }

    void pictureColoursEachOperator_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<QString>("domain");
        QTest::addColumn<int>("category");
        using Category = PictureNode::Category;
        const auto row = [](const char* op, const char* domain, Category category) { QTest::addRow("%s.%s", domain, op) << op << domain << static_cast<int>(category); };
        row("ConvTranspose", "", Category::conv);
        row("Transpose", "", Category::shape);
        row("Concat", "", Category::shape);
        row("Relu", "", Category::elementwise);
        row("MaxPool", "", Category::pool);
        row("TopK", "", Category::other);
        row("FusedConv", "com.microsoft", Category::conv);
        row("MatMulNBits", "com.microsoft", Category::dense);
        row("SkipLayerNormalization", "com.microsoft", Category::norm);
        row("QLinearGlobalAveragePool", "com.microsoft", Category::pool);
        row("Conv", "org.example", Category::other); // it may be anything
    }
    void pictureColoursEachOperator() {
        QFETCH(QString, op);
        QFETCH(QString, domain);
        GraphBuilder builder;
        Node node;
        node.op = op.toStdString();
        node.domain = domain.toStdString();
        node.inputs = {builder.addInput("x", {DType::f32, Shape{1}})};
        node.outputs = {builder.addValue("y")};
        const NodeId id = builder.addNode(std::move(node));
        builder.setOutputs({builder.node(id).outputs.front()});
        const auto graph = builder.build();
        QVERIFY(graph.ok());
        const PictureNode drawn = drawNode(*graph, id, [](ValueId) { return false; });
        QTEST(static_cast<int>(drawn.category), "category");
        QCOMPARE(drawn.title, op.toStdString());
        QCOMPARE(drawn.domain, domain.toStdString());
    }

    // The rule refuses this form before it looks at the axes, and the model declares what the rule does not say.
    void pictureLowersNothingThatIsRefused() {
        GraphBuilder builder;
        builder.setOpset("", 8);
        const TensorType type(DType::f32, Shape{2, 3});
        const std::map<std::string, Attribute> form{{"normalize_variance", std::int64_t{0}}, {"axes", std::vector<std::int64_t>{1'000'000'000}}};
        const ValueId y = builder.add("MeanVarianceNormalization", {builder.addInput("x", type)}, form, 1, "norm");
        builder.setType(y, type);
        builder.setOutputs({y});
        QCOMPARE(drawNode(take(builder.build()), NodeId(0), [](ValueId) { return false; }).flops, std::int64_t(0));
    }

    void pictureHoldsEveryNodeOnce() {
        for (const SampleInfo& sample : sampleList()) {
            const auto model = openModel(sample.name);
            QVERIFY(model.ok());
            const ModelPicture picture = drawModel(*model);
            const ModelInfo& info = model->info();
            QCOMPARE(picture.nodes.size(),
                     info.inputs.size() + static_cast<std::size_t>(info.nodes) + info.outputs.size());
            std::int64_t flops = 0;
            for (const PictureNode& node : picture.nodes) {
                flops += node.flops;
                QVERIFY(!node.title.empty());
            }
            QCOMPARE(flops, info.flops);
            QVERIFY(picture.edges.size() >= picture.nodes.size() - 1); // it hangs together
            for (const PictureEdge& edge : picture.edges)              // in topological order
                QVERIFY(edge.from < edge.to && edge.to < picture.nodes.size());
        }
    }

    void aStoreThatIsNotThereHasNoRuns() {
        const QTemporaryDir folder;
        const std::string store = folder.filePath("none.db").toStdString();
        QVERIFY(tuningRuns(store)->empty());
        QVERIFY(!checkStore(store).ok());
        QVERIFY(!cleanStore(store).ok());
        QVERIFY(!QFile::exists(folder.filePath("none.db")));
    }

    // Each is looked at a few times, not once for each other one.
    void manyRunsAreListedQuickly() {
        const QTemporaryDir folder;
        const std::string store = folder.filePath("many.db").toStdString();
        QVERIFY(Store::open(store).ok());
        const auto raw = sqlite::Connection::open(store, {true, false, false, 1000});
        QVERIFY(raw.ok());
        QVERIFY((*raw)->execute("WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 50000) INSERT INTO run(kind, strategy, seed, options, state, stop_reason, "
                                "started_at, ended_at, version, owner, resume) SELECT 'tune', 'random', 1, '{}', 'COMPLETED', '', 0, 1, '', '', '{}' FROM n")
                    .ok());
        QElapsedTimer clock;
        clock.start();
        QCOMPARE(tuningRuns(store)->size(), std::size_t(50'000));
        QVERIFY2(clock.elapsed() < 5000, QByteArray::number(clock.elapsed()));
    }

    void cancelledWorkLeavesNothing() {
        const QTemporaryDir folder;
        StopSource source;
        source.requestStop();
        const auto model = openModel("mlp");
        CompileRequest compile;
        compile.folder = folder.filePath("module").toStdString();
        compile.store = folder.filePath("none.db").toStdString();
        compile.work.stop = source.token();
        const auto compiled = compileModel(*model, compile);
        QVERIFY(!compiled.ok() && compiled.error().isCancelled());
        QVERIFY(!QFile::exists(folder.filePath("module")));
    }

    void tuningTellsWhatItDoes() {
        const QTemporaryDir folder;
        Recorder recorder;
        const auto model = openModel("mlp");
        const auto report = tuneModel(*model, request(folder, recorder, 3));
        QVERIFY2(report.ok(), report.ok() ? "" : report.error().message.c_str());
        QCOMPARE(recorder.tasks.size(), std::size_t(3));
        QCOMPARE(recorder.run, report->last().run);
        QCOMPARE(recorder.done.size(), std::size_t(3));
        QCOMPARE(static_cast<std::int64_t>(recorder.trials.size()), report->trials());
        QVERIFY(recorder.fraction > 0 && recorder.fraction <= 1);
        std::map<std::string, std::int64_t> next;
        for (const TuneTrial& trial : recorder.trials)
            QCOMPARE(trial.index, next[trial.workload]++);
        const auto runs = tuningRuns(request(folder, recorder, 3).store, model->hash());
        QCOMPARE(runs->size(), std::size_t(1));
        QCOMPARE(runs->front().state, std::string("COMPLETED"));
        const auto curves = runCurves(request(folder, recorder, 3).store, report->last().run);
        QCOMPARE(curves->size(), std::size_t(3));
        for (const RunCurve& curve : *curves)
            QCOMPARE(static_cast<std::int64_t>(curve.points.size()), curve.trials);
    }

    void recordsOfAnotherMachineAreMarked() {
        const QTemporaryDir folder;
        Recorder recorder;
        const auto model = openModel("mlp");
        const auto report = take(tuneModel(*model, request(folder, recorder, 2)));
        CompileRequest compile;
        compile.store = request(folder, recorder, 2).store;
        compile.threads = 1;
        compile.folder = folder.filePath("own").toStdString();
        const CompileResult own = take(compileModel(*model, compile));
        QVERIFY(own.tuned > 0);
        QCOMPARE(own.foreign, std::size_t(0));
        const std::string elsewhere = folder.filePath("elsewhere.db").toStdString();
        copyToAnotherMachine(*take(Store::open(compile.store)), RunId(report.last().run), *take(Store::open(elsewhere)));
        compile.store = elsewhere;
        compile.folder = folder.filePath("foreign").toStdString();
        const CompileResult foreign = take(compileModel(*model, compile));
        QCOMPARE(foreign.tuned, own.tuned);
        QCOMPARE(foreign.foreign, report.last().tasks.size());
        QFile description(folder.filePath("foreign/module.json"));
        QVERIFY(description.open(QIODevice::ReadOnly));
        QVERIFY(description.readAll().contains("\"remeasure\": true"));
        TuneRequest again = request(folder, recorder, 2); // tuning starts from them, and what it measures is of here
        again.store = elsewhere;
        take(tuneModel(*model, again));
        compile.folder = folder.filePath("again").toStdString();
        QCOMPARE(take(compileModel(*model, compile)).foreign, std::size_t(0));
    }

    void aStoppedRunIsResumed() {
        const QTemporaryDir folder;
        const auto model = openModel("mlp");
        Recorder first(2);
        const auto stopped = tuneModel(*model, request(folder, first, 8));
        QVERIFY(stopped.ok());
        QVERIFY(stopped->unfinished);
        QCOMPARE(stopped->last().stopReason, std::string("cancelled"));
        const auto runs = tuningRuns(request(folder, first, 8).store);
        QVERIFY(runs.ok() && runs->size() == 1 && runs->front().resumable);
        Recorder second;
        TuneRequest again = request(folder, second, 8);
        again.resume = stopped->last().run;
        const auto resumed = tuneModel(*model, again);
        QVERIFY2(resumed.ok(), resumed.ok() ? "" : resumed.error().message.c_str());
        QVERIFY(!resumed->unfinished);
        QCOMPARE(resumed->last().run, stopped->last().run);
        QVERIFY(resumed->trials() > stopped->trials());
        QVERIFY(!tuningRuns(again.store)->front().resumable);
    }

    void oneThreadAndThenAllCores() {
        if (coreCount() < 2)
            QSKIP("this machine has one core");
        const QTemporaryDir folder;
        Recorder recorder;
        const auto model = openModel("mlp");
        TuneRequest both = request(folder, recorder, 3);
        both.threads = 0;
        both.budget = {};
        both.budget.trials = 13;
        const auto report = tuneModel(*model, both);
        QVERIFY2(report.ok(), report.ok() ? "" : report.error().message.c_str());
        QCOMPARE(report->runs.size(), std::size_t(2));
        QCOMPARE(recorder.legs.size(), std::size_t(2));
        QCOMPARE(report->runs[0].threads, 1);
        QCOMPARE(report->runs[1].threads, coreCount());
        QVERIFY(report->runs[0].run != report->runs[1].run);
        QVERIFY(report->runs[0].trials >= 6 && report->runs[1].trials >= 7); // a leader may be measured again
        const auto runs = tuningRuns(both.store, model->hash());
        QVERIFY(runs.ok() && runs->size() == 2);
        QVERIFY(runs->front().target != runs->back().target);
        for (const RunSummary& run : *runs)
            QCOMPARE(run.state, std::string("COMPLETED"));
    }

    void storedThreadCountsHaveBounds_data() {
        QTest::addColumn<QString>("options");
        std::string many = "[2";
        for (int i = 0; i < 60'000; ++i)
            many += ",2";
        const auto row = [](const char* name, const std::string& options) { QTest::newRow(name) << QString::fromStdString(options); };
        row("many legs", R"({"followed_by":)" + many + "]}");
        row("too many threads after it", R"({"followed_by":[100000]})");
        row("no threads after it", R"({"followed_by":[0]})");
        row("too many threads", R"({"threads":100000})");
        row("no threads", R"({"threads":0})");
    }
    void storedThreadCountsHaveBounds() {
        QFETCH(QString, options);
        const QTemporaryDir folder;
        const auto model = openModel("mlp");
        Recorder recorder(2);
        TuneRequest tuning = request(folder, recorder, 2);
        QVERIFY(tuneModel(*model, tuning).ok());
        tuning.resume = [&] {
            const auto store = Store::open(tuning.store).value();
            const auto first = store->runs()->front();
            RunRow row = *store->run(first.id);
            auto json = nlohmann::json::parse(row.options);
            json.update(nlohmann::json::parse(options.toStdString()));
            row.options = json.dump();
            const auto workloads = store->runWorkloads(first.id).value();
            std::vector<RunWorkloadRow> plan;
            for (const auto& summary : workloads)
                plan.push_back(summary.plan);
            return store->beginRun(row, plan)->value();
        }();
        Recorder again;
        tuning.listener = &again;
        const auto resumed = tuneModel(*model, tuning);
        QVERIFY(!resumed.ok());
        const std::string& said = resumed.error().message;
        QVERIFY2(said.find("run " + std::to_string(*tuning.resume)) != std::string::npos && said.find("start a new run") != std::string::npos, said.c_str());
        QVERIFY(again.legs.empty());
    }
    void resumingGoesOnWithTheOtherThreadCounts() {
        if (coreCount() < 2)
            QSKIP("this machine has one core");
        const QTemporaryDir folder;
        const auto model = openModel("mlp");
        Recorder first(2);
        TuneRequest both = request(folder, first, 5);
        both.threads = 0;
        const auto stopped = tuneModel(*model, both);
        QVERIFY(stopped.ok() && stopped->unfinished);
        QCOMPARE(stopped->runs.size(), std::size_t(1));
        Recorder second;
        TuneRequest again = request(folder, second, 1); // the budget is the run's own
        again.resume = stopped->last().run;
        const auto resumed = tuneModel(*model, again);
        QVERIFY2(resumed.ok(), resumed.ok() ? "" : resumed.error().message.c_str());
        QCOMPARE(resumed->runs.size(), std::size_t(2));
        QCOMPARE(resumed->runs[0].run, stopped->last().run);
        QCOMPARE(resumed->runs[1].threads, coreCount());
        for (const TunedRun& run : resumed->runs)
            QVERIFY(run.trials >= 14); // three workloads, one with a space of 4; a leader may be measured again
        QVERIFY(!resumed->unfinished);
    }

    // Stopped in the second leg, the first run's number still names the whole tuning.
    void theFirstRunIsTheHandle() {
        if (coreCount() < 2)
            QSKIP("this machine has one core");
        const QTemporaryDir folder;
        const auto model = openModel("mlp");
        Recorder first(18); // three workloads of five or six trials are the first leg
        TuneRequest both = request(folder, first, 5);
        both.threads = 0;
        const auto stopped = tuneModel(*model, both);
        QVERIFY(stopped.ok() && stopped->unfinished);
        QCOMPARE(stopped->runs.size(), std::size_t(2));
        Recorder second;
        TuneRequest again = request(folder, second, 1);
        again.resume = stopped->handle();
        const auto resumed = tuneModel(*model, again);
        QVERIFY(resumed.ok() && !resumed->unfinished);
        QCOMPARE(resumed->runs.size(), std::size_t(2));
        QCOMPARE(resumed->runs[1].run, stopped->runs[1].run);
        QVERIFY(resumed->runs[1].trials >= stopped->runs[1].trials);
        QCOMPARE(tuningRuns(both.store)->size(), std::size_t(2));
    }

    // All trials of the first leg are there, the second has no run yet: the first is completed and yet to be resumed.
    void stoppedBetweenTheLegs() {
        if (coreCount() < 2)
            QSKIP("this machine has one core");
        const QTemporaryDir folder;
        const auto model = openModel("mlp");
        Recorder first;
        first.stopAtPhase = "measuring the whole model";
        TuneRequest both = request(folder, first, 2);
        both.threads = 0;
        both.measureModel = true;
        const auto stopped = tuneModel(*model, both);
        QVERIFY(stopped.ok() && stopped->unfinished);
        QCOMPARE(stopped->runs.size(), std::size_t(1));
        auto runs = tuningRuns(both.store);
        QVERIFY(runs.ok() && runs->size() == 1);
        QCOMPARE(runs->front().state, std::string("COMPLETED"));
        QCOMPARE(runs->front().threads, 1);
        QVERIFY(runs->front().resumable);
        Recorder second;
        TuneRequest again = request(folder, second, 2);
        again.resume = runs->front().id;
        const auto resumed = tuneModel(*model, again);
        QVERIFY2(resumed.ok(), resumed.ok() ? "" : resumed.error().message.c_str());
        QCOMPARE(resumed->runs.size(), std::size_t(2));
        QCOMPARE(resumed->runs[0].trials, stopped->runs[0].trials);
        runs = tuningRuns(both.store);
        QVERIFY(runs.ok() && runs->size() == 2);
        QCOMPARE(runs->front().threads, coreCount());
        for (const RunSummary& run : *runs)
            QVERIFY(!run.resumable);
    }
};

QTEST_GUILESS_MAIN(TestWorkbench)
#include "tst_workbench.moc"
