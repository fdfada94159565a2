// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>
#include <fstream>
#include <set>

#include "core/workbench/compile.h"
#include "core/workbench/history.h"
#include "core/workbench/picture.h"
#include "core/workbench/run.h"
#include "core/workbench/tune.h"

using namespace tunesmith;

namespace {

// Keeps what a run tells, and stops it after so many trials.
class Recorder : public TuneListener {
public:
    explicit Recorder(std::size_t stopAfter = SIZE_MAX) : stopAfter_(stopAfter) {}
    void onTasks(const std::vector<TuningTask>& list) override { tasks = list; }
    void onRun(std::int64_t id) override { run = id; }
    void onTrial(const TuneTrial& trial) override {
        trials.push_back(trial);
        if (trials.size() >= stopAfter_)
            source.requestStop();
    }
    void onTaskDone(const std::string& key, const std::string&) override { done.insert(key); }
    void onProgress(const Progress& progress) override { fraction = std::max(fraction, progress.fraction); }

    StopSource source;
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
    out.measureModel = false;
    out.stop = recorder.source.token();
    out.listener = &recorder;
    return out;
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
        QTest::newRow("zero") << "batch=0" << -1;
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

    void unknownDimensionIsRefused() {
        const auto model = openModel("mlp", {{"frobs", 3}});
        QVERIFY(!model.ok());
        QVERIFY(model.error().message.find("frobs") != std::string::npos);
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
        QCOMPARE(recorder.run, report->run);
        QCOMPARE(recorder.done.size(), std::size_t(3));
        QCOMPARE(static_cast<std::int64_t>(recorder.trials.size()), report->trials);
        QVERIFY(recorder.fraction > 0 && recorder.fraction <= 1);
        std::map<std::string, std::int64_t> next;
        for (const TuneTrial& trial : recorder.trials)
            QCOMPARE(trial.index, next[trial.workload]++);
        const auto runs = tuningRuns(request(folder, recorder, 3).store, model->hash());
        QCOMPARE(runs->size(), std::size_t(1));
        QCOMPARE(runs->front().state, std::string("COMPLETED"));
        const auto curves = runCurves(request(folder, recorder, 3).store, report->run);
        QCOMPARE(curves->size(), std::size_t(3));
        for (const RunCurve& curve : *curves)
            QCOMPARE(static_cast<std::int64_t>(curve.points.size()), curve.trials);
    }

    void aStoppedRunIsResumed() {
        const QTemporaryDir folder;
        const auto model = openModel("mlp");
        Recorder first(2);
        const auto stopped = tuneModel(*model, request(folder, first, 8));
        QVERIFY(stopped.ok());
        QCOMPARE(stopped->stopReason, std::string("cancelled"));
        const auto runs = tuningRuns(request(folder, first, 8).store);
        QVERIFY(runs.ok() && runs->size() == 1 && runs->front().resumable);
        Recorder second;
        TuneRequest again = request(folder, second, 8);
        again.resume = stopped->run;
        const auto resumed = tuneModel(*model, again);
        QVERIFY2(resumed.ok(), resumed.ok() ? "" : resumed.error().message.c_str());
        QCOMPARE(resumed->run, stopped->run);
        QVERIFY(resumed->trials > stopped->trials);
        QVERIFY(!tuningRuns(again.store)->front().resumable);
    }
};

QTEST_GUILESS_MAIN(TestWorkbench)
#include "tst_workbench.moc"
