// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>
#include <QTest>
#include <nlohmann/json.hpp>

#include "core/store/store.h"
#include "core/workbench/history.h"
#include "core/workbench/sweep.h"
#include "core/workbench/work_file.h"
#include "tests/app/gui/tiny_onnx.h"
#include "tests/take.h"

using namespace tunesmith;

// Every combination of listed values.
class TstSweep : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

    std::string write(const QByteArray& text) const {
        QFile file(folder_.filePath("sweep.toml"));
        if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
            qFatal("no room for a file");
        return file.fileName().toStdString();
    }
    SweepRequest request(const QByteArray& text, const char* store) const {
        SweepRequest read = take(readSweepFile(write(text)));
        read.store = folder_.filePath(store).toStdString();
        return read;
    }

private slots:
    void combinesInTheOrderOfTheFile() {
        const SweepRequest sweep = take(readSweepFile(write("strategy = ['random', 'genetic']\nmodel = 'mlp'\ndims = [{ batch = 1 }, { batch = 2 }]\ntrials = 4\ntransfer = true\n")));
        QCOMPARE(sweep.name, std::string("sweep"));
        QCOMPARE(sweep.keys, (std::vector<std::string>{"strategy", "dims"}));
        QCOMPARE(sweep.combinations.size(), std::size_t(4));
        const SweepCombination& second = sweep.combinations[1];
        QVERIFY(second.job.tuning.strategy == "random" && second.job.dimensions == (Dimensions{{"batch", 2}}) && second.job.tuning.transfer && second.job.model == "mlp");
        QCOMPARE(second.values[0], std::string("random"));
        QVERIFY2(second.values[1].find("batch = 2") != std::string::npos, second.values[1].c_str());
        QVERIFY(sweep.combinations[2].job.tuning.strategy == "genetic" && sweep.combinations[2].job.tuning.budget.trialsPerWorkload == 4);
        QVERIFY(!take(readSweepFile(write("model = 'mlp'"))).combinations[0].job.tuning.transfer);
    }

    void filesThatSayNothing_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("says");
        QTest::newRow("empty") << QByteArray() << "no model";
        QTest::newRow("no value") << QByteArray("model = []") << "line 1: 'model' lists no value";
        QTest::newRow("a wrong value among others") << QByteArray("model = 'mlp'\ntrials = [4,\n0]") << "line 3: 'trials'";
        QTest::newRow("unknown") << QByteArray("model = 'mlp'\nmodels = 'mlp'") << "line 2: 'models' is no key";
        QTest::newRow("too many") << "model = 'mlp'\nseed = [" + QByteArray("1,").repeated(10001) + "]" << "more than 10000 combinations";
        QTest::newRow("lists of lists") << QByteArray("model = [['mlp']]") << "is to be a text";
        QTest::newRow("token elsewhere") << QByteArray("model = 'mlp'\ntoken_file = '/etc/machine-id'") << "is to lie beside this file";
        QTest::newRow("token above") << QByteArray("model = 'mlp'\ntoken_file = 'a/../../token'") << "is to lie beside this file";
        QTest::newRow("token by a link") << QByteArray("model = 'mlp'\ntoken_file = 'token'") << "is to lie beside this file";
        QTest::newRow("token by a link to what will be there") << QByteArray("model = 'mlp'\ntoken_file = 'later.token'") << "is to lie beside this file";
        QTest::newRow("token below") << QByteArray("model = 'mlp'\ntoken_file = '.cache/huggingface/token'") << "is to lie beside this file";
        QTest::newRow("another secret beside the file") << QByteArray("model = 'mlp'\ntoken_file = 'password.txt'") << "is to be a file called token";
        QTest::newRow("flag") << QByteArray("model = 'mlp'\ntransfer = 1") << "true or false";
    }
    void filesThatSayNothing() {
        QFETCH(QByteArray, text);
        QFETCH(QString, says);
        QFile::link("/etc/machine-id", folder_.filePath("token"));
        QFile::link("/none/of/this", folder_.filePath("later.token"));
        const auto read = readSweepFile(write(text));
        QVERIFY(!read.ok());
        QVERIFY2(QString::fromStdString(read.error().message).contains(says), read.error().message.c_str());
    }

    void aTokenLiesBesideTheFile() {
        const SweepRequest sweep = take(readSweepFile(write("model = 'mlp'\ntoken_file = './own.token'")));
        QCOMPARE(QFileInfo(QString::fromStdString(sweep.combinations[0].job.device.files.token)), QFileInfo(folder_.filePath("own.token")));
    }

    void filesAreTold() {
        QVERIFY(workFileKind(write("model = 'mlp'\ntrials = [1, 2]")) == WorkFile::sweep);
        QVERIFY(workFileKind(write("trials = 3\n[[job]]\nmodel = 'mlp'")) == WorkFile::jobs);
        QVERIFY(workFileKind(write("problem = 'command'\nmodel = 'x'")) == WorkFile::problem);
        for (const char* nothing : {"", "model = ", "name = 'x'"})
            QVERIFY(workFileKind(write(nothing)) == WorkFile::jobs);
        QVERIFY(workFileKind("/no/such/file.toml") == WorkFile::jobs);
    }

    void moreValuesLater() {
        const QByteArray common = "model = 'mlp'\nthreads = 1\ntrials = 3\nseed = 5\n";
        const SweepTable first = take(runSweep(request(common + "strategy = ['random']\n", "more.db")));
        QCOMPARE(first.rows.size(), std::size_t(1));
        QVERIFY(first.rows[0].state == "done" && first.rows[0].trials > 0 && first.rows[0].beforeMs && first.rows[0].threads == 1);
        const SweepRequest more = request(common + "strategy = ['grid', 'random', 'magic']\n", "more.db");
        const SweepTable second = take(runSweep(more));
        QCOMPARE(second.rows.size(), std::size_t(3));
        QCOMPARE(second.rows[1].job, first.rows[0].job);
        QCOMPARE(second.rows[1].trials, first.rows[0].trials);
        QVERIFY(second.rows[0].state == "done" && second.rows[2].state == "failed" && second.rows[2].error.find("magic") != std::string::npos);
        QCOMPARE(take(tuningRuns(more.store)).size(), std::size_t(2));
        const SweepPlan plan = take(planSweep(more)); // queues the one that failed again
        const SweepTable some = take(sweepTable(plan, {second.rows[1].job, second.rows[2].job}));
        QVERIFY(some.rows.size() == 2 && some.rows[0].afterMs == second.rows[1].afterMs && some.rows[1].state == "queued" && plan.run().stored == plan.jobs);
        QVERIFY(sweepAsCsv(second).starts_with("strategy,threads,state,"));
    }

    // A store may come from anybody.
    void aReasonIsOneCell() {
        SweepTable table;
        table.keys = {"strategy"};
        SweepRow row;
        row.values = {"random"};
        row.stopReason = "done\ngrid,1,done";
        table.rows = {row};
        QVERIFY(sweepAsCsv(table).find("\"done\ngrid,1,done\"") != std::string::npos);
    }

    // What was found for a file as it was says nothing of the file as it is.
    void changedModels() {
        const std::string model = folder_.filePath("model.onnx").toStdString();
        QVERIFY(writeSample("mlp", model).ok());
        const SweepRequest sweep = request("model = 'model.onnx'\nstrategy = ['random', 'grid']\nthreads = 1\ntrials = 2\n", "changed.db");
        const std::vector<std::int64_t> first = take(planSweep(sweep)).jobs;
        QCOMPARE(take(planSweep(sweep)).jobs, first);
        QVERIFY(writeSample("encoder", model).ok());
        const std::vector<std::int64_t> changed = take(planSweep(sweep)).jobs;
        QVERIFY(changed[0] > first[1] && changed[1] > first[1]);
        QVERIFY(writeSample("mlp", model).ok()); // and back
        QCOMPARE(take(planSweep(sweep)).jobs, first);
        QVERIFY(QFile::remove(QString::fromStdString(model)));
        QVERIFY(!planSweep(sweep).ok());
    }

    // Of stores from before jobs said what their files were.
    void jobsThatDoNotSay() {
        const SweepRequest sweep = request("model = 'mlp'\nstrategy = ['random']\nthreads = 1\ntrials = 2\n", "silent.db");
        const auto store = take(Store::open(sweep.store));
        JobRow row = take(store->job(StoredJobId(take(planSweep(sweep)).jobs[0])));
        auto what = nlohmann::json::parse(row.what);
        QCOMPARE(what.erase("content"), std::size_t(1));
        QVERIFY(store->removeJob(row.id).ok());
        row.what = what.dump();
        const StoredJobId silent = take(store->addJobs({row})).front();
        QVERIFY(take(planSweep(sweep)).jobs[0] > silent.value());
    }

    void modelsAreOpenedOnce() {
        const SweepRequest sweep = request("model = ['mlp', 'encoder']\nstrategy = ['random', 'grid', 'annealing']\nbatch = [1, 2]\ntrials = 2\n", "once.db");
        int opened = 0;
        const Work work{{}, [&](const Progress& progress) { opened += progress.phase.starts_with("reading ") ? 1 : 0; }};
        QCOMPARE(take(planSweep(sweep, work)).jobs.size(), std::size_t(12));
        QCOMPARE(opened, 2);
        opened = 0;
        QFile open(folder_.filePath("open.onnx"));
        QVERIFY(open.open(QIODevice::WriteOnly));
        open.write(tinyOnnx("Relu", "n"));
        open.close();
        const SweepRequest sizes = request("model = 'open.onnx'\ndims = [{ n = 2 }, { n = 3 }]\nseed = [1, 2, 3]\ntrials = 2\n", "sizes.db");
        QCOMPARE(take(planSweep(sizes, work)).jobs.size(), std::size_t(6));
        QCOMPARE(opened, 2);
    }

    void stoppedSweepsGoOn() {
        SweepRequest sweep = request("model = 'mlp'\nthreads = [1, 2]\nstrategy = ['random', 'genetic']\ntrials = 6\n", "stopped.db");
        sweep.atOnce = 1;
        StopSource source;
        const Work work{source.token(), [&](const Progress& progress) {
                            if (progress.fraction > 0.3)
                                source.requestStop();
                        }};
        const SweepTable stopped = take(runSweep(sweep, work));
        QCOMPARE(stopped.rows.size(), std::size_t(4));
        QVERIFY(stopped.rows[0].state == "done" && stopped.rows[3].state == "queued");
        const SweepTable whole = take(runSweep(sweep));
        for (const SweepRow& row : whole.rows)
            QVERIFY2(row.state == "done", row.state.c_str());
        QVERIFY(whole.rows[0].job == stopped.rows[0].job && whole.rows[0].trials == stopped.rows[0].trials);
        QVERIFY(whole.rows[2].values[0] == "2" && whole.rows[2].threads == 2);
    }
};

QTEST_GUILESS_MAIN(TstSweep)
#include "tst_sweep.moc"
