// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>
#include <set>

#include "core/graph/graph_builder.h"
#include "core/ops/infer_shapes.h"
#include "core/schedule/template.h"
#include "core/store/store.h"
#include "core/workbench/space_coverage.h"
#include "core/workbench/workload_history.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

const Target kTarget{Isa::avx2, "", 1};
constexpr const char* kOptions = R"({"isa":"avx2","cpu":"","threads":1})";

// A 3x3 convolution that reads another one's result: there is a direct way and two of Winograd's.
Workload convolution() {
    GraphBuilder builder("convs");
    builder.setOpset("", 17);
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{1, 3, 28, 28}));
    const ValueId first = builder.add("Conv", {x, builder.addConstant("a", Tensor::zeros(DType::f32, {32, 3, 1, 1}))});
    const ValueId w = builder.addConstant("b", Tensor::zeros(DType::f32, {64, 32, 3, 3}));
    builder.setOutputs({builder.add("Conv", {first, w}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}})});
    const Graph graph = take(inferShapes(take(builder.build())));
    const auto groups = groupNodes(graph);
    return take(extractWorkload(graph, groups.back(), chooseLayouts(graph, groups, kTarget))).workload;
}

struct RunSpec {
    std::string strategy = "random", options = kOptions, kind = "tune", machine = "m1", model = "a";
};

// A store that was filled without measuring anything.
class StoreFixture {
public:
    StoreFixture() : store_(take(Store::open(path()))) {
        const std::string bytes = workload.serialize();
        const Status added = store_->addWorkload({workload.key, workload.name, workload.op, workload.shapeText(),
                                                  {bytes.begin(), bytes.end()}, 1e6});
        if (!added.ok())
            qFatal("%s", added.error().message.c_str());
    }
    std::string path() const { return folder_.filePath(QStringLiteral("trials.db")).toStdString(); }

    RunId run(const RunSpec& spec = {}) {
        const auto machine = take(store_->addMachine({{}, spec.machine, "Some CPU", "avx2", 2, "{}"}));
        RunRow row;
        row.kind = spec.kind;
        row.strategy = spec.strategy;
        row.options = spec.options;
        row.target = take(store_->addTarget({{}, "cpu-avx2-t1", machine}));
        row.model = take(store_->addModel({{}, spec.model, spec.model + ".onnx", "0123456789abcdef"}));
        return take(store_->beginRun(row, {{workload.key, 1, "space", 10, 64}}));
    }

    TrialRow trial(RunId run, std::optional<double> ms, const std::string& config = "0", bool isFinal = false) {
        TrialRow row;
        row.run = run;
        row.workload = workload.key;
        row.index = next_++;
        row.config = config;
        row.status = ms ? kTrialOk : "run_error";
        row.p5Ms = ms;
        row.isFinal = isFinal;
        if (ms)
            row.samples = {static_cast<float>(*ms)};
        return row;
    }
    void add(RunId run, std::optional<double> ms, const std::string& config = "0", bool isFinal = false) {
        take(store_->addTrial(trial(run, ms, config, isFinal)));
    }
    Store& store() { return *store_; }

    const Workload workload = convolution();

private:
    QTemporaryDir folder_;
    std::shared_ptr<Store> store_;
    std::int64_t next_ = 0;
};

std::vector<std::pair<std::int64_t, double>> pairs(const StoredSearch& search) {
    std::vector<std::pair<std::int64_t, double>> out;
    for (const BestSoFar& point : search.best)
        out.push_back({point.trial, point.ms});
    return out;
}

std::int64_t triesOf(const KnobCoverage& knob) {
    std::int64_t sum = 0;
    for (const ValueCoverage& value : knob.values)
        sum += value.tries;
    return sum;
}

} // namespace

// What the store knows about one workload.
class TestWorkloadHistory : public QObject {
    Q_OBJECT
    using Points = std::vector<std::pair<std::int64_t, double>>;

private slots:
    void curvesLeaveFinalsOut() {
        StoreFixture fixture;
        const RunId run = fixture.run();
        for (const std::optional<double> ms : {std::optional(4.0), std::optional<double>(), std::optional(5.0), std::optional(2.0)})
            fixture.add(run, ms);
        fixture.add(run, 1.0, "0", true);
        fixture.add(run, 1.5); // the run was resumed
        const auto searches = take(workloadSearches(fixture.path(), fixture.workload.key, 1));
        QCOMPARE(searches.size(), std::size_t(1));
        QCOMPARE(searches[0].trials, 5);
        QCOMPARE(searches[0].failed, 1);
        QCOMPARE(pairs(searches[0]), (Points{{1, 4}, {4, 2}, {5, 1.5}}));
    }

    void comparesWhatCompares() {
        StoreFixture fixture;
        const RunId first = fixture.run();
        const RunId other = fixture.run({.strategy = "model-guided", .model = "b"});
        const RunId elsewhere = fixture.run({.machine = "m2"});
        const RunId twoThreads = fixture.run({.options = R"({"isa":"avx2","threads":2})"});
        const RunId imported = fixture.run({.kind = "import"});
        fixture.run(); // nothing tried yet
        for (const RunId run : {first, other, elsewhere, twoThreads, imported})
            fixture.add(run, 3);
        const std::string& key = fixture.workload.key;
        const auto searches = take(workloadSearches(fixture.path(), key, 1, first.value()));
        QCOMPARE(searches.size(), std::size_t(2));
        QCOMPARE(searches[0].run, first.value());
        QCOMPARE(searches[1].strategy, std::string("model-guided"));
        const auto newest = take(workloadSearches(fixture.path(), key, 1)); // no run is shown: as the newest
        QCOMPARE(newest.size(), std::size_t(1));
        QCOMPARE(newest[0].run, elsewhere.value());
        QCOMPARE(take(workloadSearches(fixture.path(), key, 2)).size(), std::size_t(1));
        QVERIFY(take(workloadSearches(fixture.path(), key, 3)).empty());
    }

    void nothingIsNoError() {
        StoreFixture fixture;
        QVERIFY(take(workloadSearches(fixture.path(), fixture.workload.key, 1)).empty());
        QVERIFY(take(workloadSearches(fixture.path(), "0000000000000000", 1)).empty());
        QVERIFY(take(workloadSearches(fixture.path() + ".none", fixture.workload.key, 1)).empty());
        const RunId run = fixture.run();
        fixture.add(run, {});
        const auto failed = take(workloadSearches(fixture.path(), fixture.workload.key, 1));
        QVERIFY(failed.size() == 1 && failed[0].best.empty() && failed[0].failed == 1);
    }

    void coverageCountsValuesByPart() {
        StoreFixture fixture;
        const auto schedules = take(ScheduleSpace::make(fixture.workload, kTarget));
        const auto* space = dynamic_cast<const UnionSpace*>(&schedules.space());
        QVERIFY(space && space->partCount() == 3);
        const RunId run = fixture.run();
        Rng rng(3);
        const Config direct = space->widened(0, space->part(0).sample(rng)), winograd = space->widened(2, space->part(2).sample(rng));
        fixture.add(run, 4.0, direct.text());
        fixture.add(run, 3.0, direct.text());
        fixture.add(run, {}, winograd.text());
        fixture.add(run, 1.0, direct.text(), true);
        fixture.add(run, 9.0, "77,1"); // of a space that is no more
        const SpaceCoverage coverage = take(spaceCoverage(fixture.path(), run.value(), fixture.workload.key));
        QCOMPARE(coverage.parts.size(), std::size_t(3));
        QCOMPARE(coverage.configs(), *space->size());
        QCOMPARE(coverage.tried(), 2);
        QVERIFY(coverage.trials == 4 && coverage.failed == 1 && coverage.foreign == 1);
        QCOMPARE(coverage.parts[0].name, space->part(0).name());
        QCOMPARE(coverage.parts[0].bestMs, std::optional(3.0));
        QVERIFY(!coverage.parts[1].bestMs && !coverage.parts[2].bestMs);
        const std::int64_t expected[] = {2, 0, 1};
        for (std::size_t part = 0; part < 3; ++part)
            for (const KnobCoverage& knob : coverage.parts[part].knobs)
                QCOMPARE(triesOf(knob), expected[part]);
        const Knob& knob = space->part(0).knobs()[1];
        QCOMPARE(coverage.parts[0].knobs[1].values.size(), knob.values.size());
        const auto chosen = static_cast<std::size_t>(space->within(direct).choices[1]);
        const ValueCoverage& value = coverage.parts[0].knobs[1].values[chosen];
        QCOMPARE(value.text, knob.values[chosen].text);
        QVERIFY(value.tries == 2 && value.bestMs == 3.0);
    }

    void coverageReadsEveryPage() {
        StoreFixture fixture;
        const auto schedules = take(ScheduleSpace::make(fixture.workload, kTarget));
        const RunId run = fixture.run();
        Rng rng(5);
        std::vector<TrialRow> rows;
        std::set<std::string> different;
        for (int i = 0; i < 2500; ++i) {
            const Config config = schedules.space().sample(rng);
            different.insert(config.text());
            rows.push_back(fixture.trial(run, 1 + rng.uniform(), config.text()));
        }
        QVERIFY(fixture.store().addTrials(rows).ok());
        const SpaceCoverage coverage = take(spaceCoverage(fixture.path(), run.value(), fixture.workload.key));
        QCOMPARE(coverage.trials, 2500);
        QCOMPARE(coverage.tried(), static_cast<std::int64_t>(different.size()));
        QCOMPARE(coverage.foreign, 0);
    }

    void refusals_data() {
        QTest::addColumn<QString>("options");
        QTest::addColumn<QString>("kind");
        QTest::addColumn<bool>("known"); // the workload
        QTest::addColumn<QString>("word");
        QTest::newRow("no such run") << "" << "tune" << true << "no run";
        QTest::newRow("no such workload") << kOptions << "tune" << false << "no workload";
        QTest::newRow("not tuned") << kOptions << "import" << true << "did not search";
        QTest::newRow("no instruction set") << "{}" << "tune" << true << "";
        QTest::newRow("not as expected") << R"({"isa":7})" << "tune" << true << "no options that can be read";
        QTest::newRow("no object") << "[]" << "tune" << true << "did not search";
    }
    void refusals() {
        QFETCH(QString, options);
        QFETCH(QString, kind);
        QFETCH(bool, known);
        QFETCH(QString, word);
        StoreFixture fixture;
        RunId run(99);
        if (!options.isEmpty())
            run = fixture.run({.options = options.toStdString(), .kind = kind.toStdString()});
        const auto coverage = spaceCoverage(fixture.path(), run.value(), known ? fixture.workload.key : "0000000000000000");
        QVERIFY(!coverage.ok());
        const QString message = QString::fromStdString(coverage.error().message);
        QVERIFY2(message.contains(word), qPrintable(message));
    }

    void stopsWhenAsked() {
        StoreFixture fixture;
        const RunId run = fixture.run();
        fixture.add(run, 1);
        StopSource source;
        source.requestStop();
        const auto searches = workloadSearches(fixture.path(), fixture.workload.key, 1, {}, source.token());
        QVERIFY(!searches.ok() && searches.error().isCancelled());
        const auto coverage = spaceCoverage(fixture.path(), run.value(), fixture.workload.key, source.token());
        QVERIFY(!coverage.ok() && coverage.error().isCancelled());
    }
};

QTEST_GUILESS_MAIN(TestWorkloadHistory)
#include "tst_workload_history.moc"
