// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QSet>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>

#include "cli_process.h"
#include "remote_services.h"

using namespace tunesmith::testing;

namespace {

struct Slice {
    QString job, stage, cores, device;
    double begin = 0, end = 0;
};

bool overlap(const Slice& a, const Slice& b) { return a.begin < b.end && b.begin < a.end; }

bool shareCores(const Slice& a, const Slice& b) {
    const QStringList ours = a.cores.split(' ', Qt::SkipEmptyParts);
    return std::ranges::any_of(b.cores.split(' ', Qt::SkipEmptyParts), [&](const QString& core) { return ours.contains(core); });
}

} // namespace

// Jobs on devices of other programs, as programs of their own.
class TestCliRemoteJobs : public QObject {
    Q_OBJECT
    std::unique_ptr<QTemporaryDir> folder_;
    QString store_;

    QString file(const QByteArray& text) const {
        QFile file(folder_->filePath("jobs.toml"));
        if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
            qFatal("no room for a file");
        return file.fileName();
    }
    static QByteArray onDevices(const Service& tracker, int devices, int trials = 16) {
        return "[[job]]\nmodel = 'encoder'\nthreads = 1\ntrials = " + QByteArray::number(trials) + "\ndevice = 'cpu'\ndevices = " + QByteArray::number(devices) + "\ntracker = '" +
               tracker.address().toUtf8() + "'\n";
    }
    CliResult jobs(const QStringList& words) const { return runCli(QStringList{"jobs"} + words + QStringList{"--store", store_, "--json"}); }
    QString table() const { return folder_->filePath("stages.csv"); }
    QList<Slice> slices() const {
        QFile file(table());
        if (!file.open(QIODevice::ReadOnly))
            return {};
        QList<Slice> all;
        for (const QByteArray& line : file.readAll().split('\n').mid(1))
            if (const QList<QByteArray> cells = line.split(','); cells.size() == 8)
                all << Slice{cells[0], cells[1], cells[2], cells[7], cells[4].toDouble(), cells[5].toDouble()};
        return all;
    }
    // Every job is done, and all trials are stored, each once.
    void verifyWhole(const QJsonObject& ran) const {
        int trials = 0;
        for (const QJsonValue& job : ran["jobs"].toArray()) {
            QVERIFY2(job["state"].toString() == "done", qPrintable(job["error"].toString()));
            for (const QJsonValue& run : job["runs"].toArray()) {
                QCOMPARE(run["failed"].toInt(), 0);
                QCOMPARE(run["stop_reason"].toString(), QString("budget_trials"));
                trials += run["trials"].toInt();
            }
        }
        QVERIFY(trials > 0);
        const QJsonObject check = runCli({"store", "check", "--store", store_, "--json"}).json();
        QVERIFY(check["ok"].toBool());
        QCOMPARE(check["trials"].toInt(), trials);
    }

private slots:
    void init() {
        folder_ = std::make_unique<QTemporaryDir>();
        store_ = folder_->filePath("trials.db");
    }

    // On two devices both are at work nearly all the time, and a job of this machine goes on beside them.
    void aJobIsSplit() {
        const auto tracker = startTracker();
        const auto one = startMock(tracker->address(), "cpu"), two = startMock(tracker->address(), "cpu");
        double seconds[2] = {};
        for (const int devices : {1, 2}) {
            store_ = folder_->filePath(QString("trials%1.db").arg(devices));
            const QByteArray local = devices == 2 ? "[[job]]\nname = 'local'\nmodel = 'mlp'\nthreads = 1\ncores = 1\ntrials = 4\n" : "";
            const CliResult ran = jobs({"run", file(onDevices(*tracker, devices) + local), "--trace", table()});
            QVERIFY2(ran.status == 0, ran.errors);
            QVERIFY(ran.json()["utilisation"].toObject()["device cpu"].toDouble() <= 1.0001);
            const double network = ran.json()["utilisation"].toObject()["network"].toDouble();
            QVERIFY(network > 0 && network <= 1.0001);
            QVERIFY(ran.json()["bound_s"].toDouble() <= ran.json()["makespan_s"].toDouble() + 1e-6);
            QSet<QString> used;
            int proposed = 0;
            int both = 0, alone = 0, beside = 0;
            const QList<Slice> all = slices();
            for (const Slice& slice : all) {
                proposed += slice.stage == "propose" ? 1 : 0;
                if (slice.device.isEmpty()) {
                    QVERIFY(!slice.cores.isEmpty());
                    for (const Slice& each : all) // candidates for devices are chosen on cores that nothing is measured on
                        QVERIFY(slice.stage != "propose" || each.stage != "profile" || !overlap(slice, each) || !shareCores(slice, each));
                    continue;
                }
                QVERIFY(slice.cores.isEmpty());
                used << slice.device;
                seconds[devices - 1] = std::max(seconds[devices - 1], slice.end);
                if (slice.stage != "profile")
                    continue;
                const bool other = std::ranges::any_of(all, [&](const Slice& each) { return !each.device.isEmpty() && each.device != slice.device && overlap(slice, each); });
                ++(other ? both : alone);
                beside += std::ranges::any_of(all, [&](const Slice& each) { return each.job == "local" && overlap(slice, each); }) ? 1 : 0;
            }
            QCOMPARE(static_cast<int>(used.size()), devices);
            QVERIFY(used.contains("device cpu 0"));
            QVERIFY2(devices == 1 ? both == 0 : both > 3 * alone, qPrintable(QString("%1 %2").arg(both).arg(alone)));
            QVERIFY(devices == 1 || beside > 0);
            QVERIFY(proposed > 0);
            verifyWhole(ran.json());
        }
        QVERIFY2(seconds[1] < 0.75 * seconds[0], qPrintable(QString("%1 %2").arg(seconds[0]).arg(seconds[1])));
        const CliResult trace = jobs({"trace", "1", "-o", folder_->filePath("trace.json")});
        QVERIFY2(trace.status == 0, trace.errors);
        QFile written(folder_->filePath("trace.json"));
        QVERIFY(written.open(QIODevice::ReadOnly) && written.readAll().contains("device cpu 1"));
    }

    // Its devices may move so little together that one of them at a time does anything.
    void aNarrowNetwork() {
        const auto tracker = startTracker();
        const auto one = startMock(tracker->address(), "cpu"), two = startMock(tracker->address(), "cpu");
        const CliResult ran = jobs({"run", file(onDevices(*tracker, 2, 4) + "network = 1\n"), "--trace", table()});
        QVERIFY2(ran.status == 0, ran.errors);
        QSet<QString> used;
        const QList<Slice> all = slices();
        for (const Slice& slice : all) {
            used << slice.device;
            for (const Slice& each : all)
                QVERIFY(slice.device.isEmpty() || each.device.isEmpty() || each.device == slice.device || !overlap(slice, each));
        }
        QVERIFY(used.contains("device cpu 0"));
        verifyWhole(ran.json());
    }

    // One of two servers is killed, then the program, then the other server for a while: every trial is made, once.
    void goesOnWithWhatIsLeft() {
        const auto tracker = startTracker();
        auto one = startMock(tracker->address(), "cpu"), two = startMock(tracker->address(), "cpu");
        QVERIFY(jobs({"add", file(onDevices(*tracker, 2, 40))}).status == 0);
        QProcess process;
        const auto start = [&] { process.start(TEST_CLI, {"jobs", "run", "--store", store_, "--trace", table(), "--json"}); };
        const auto made = [&] { return runCli({"store", "check", "--store", store_, "--json"}).json()["trials"].toInt(); };
        start();
        QTRY_VERIFY_WITH_TIMEOUT(made() > 20, 20'000);
        process.kill();
        QVERIFY(process.waitForFinished());
        const int before = made();
        start();
        QTRY_VERIFY_WITH_TIMEOUT(made() > before + 10, 20'000);
        one->kill();
        const int then = made();
        QTRY_VERIFY_WITH_TIMEOUT(made() > then + 20, 20'000);
        two->kill();
        two->start();
        QVERIFY(process.waitForFinished(120'000));
        QVERIFY2(process.exitCode() == 0, process.readAllStandardError());
        verifyWhole(QJsonDocument::fromJson(process.readAllStandardOutput()).object());
    }

    void waitsForAKeyThatNobodyHas() {
        const auto tracker = startTracker();
        const auto other = startMock(tracker->address(), "gpu");
        const QString list = file("tracker = '" + tracker->address().toUtf8() + "'\nthreads = 1\ntrials = 2\n[[job]]\nmodel = 'mlp'\ndevice = 'nosuch'\npriority = 3\n[[job]]\nname = 'local'\nmodel = 'mlp'\n");
        QProcess process;
        process.start(TEST_CLI, {"jobs", "run", list, "--store", store_, "--json"});
        QByteArray said;
        const auto hear = [&] { return (said += process.readAllStandardError()).contains("waiting for a device of the key nosuch"); };
        QTRY_VERIFY2_WITH_TIMEOUT(hear(), said, 30'000);
        const auto stateOf = [&](int job) { return jobs({"list"}).json()["jobs"].toArray().at(job)["state"].toString(); };
        QTRY_COMPARE_WITH_TIMEOUT(stateOf(1), QString("done"), 20'000); // nobody waits for it
        QCOMPARE(stateOf(0), QString("running"));
        const QJsonArray waiting = runCli({"devices", "--tracker", tracker->address(), "--json"}).json()["waiting"].toArray();
        QVERIFY(waiting.size() == 1 && waiting[0]["priority"].toInt() == 3);
        QVERIFY(jobs({"priority", "1", "7"}).status == 0);
        QTRY_COMPARE(runCli({"devices", "--tracker", tracker->address(), "--json"}).json()["waiting"].toArray().at(0)["priority"].toInt(), 7);
        QVERIFY(jobs({"cancel", "1"}).status == 0);
        QVERIFY(process.waitForFinished(5'000));
        QCOMPARE(process.exitCode(), 0);
        QCOMPARE(stateOf(0), QString("cancelled"));
        QVERIFY(runCli({"devices", "--tracker", tracker->address(), "--json"}).json()["waiting"].toArray().isEmpty());
    }

    // The store knows where the token is, not what it says; whoever runs the jobs may name another tracker.
    void addedForDevices() {
        const QString token = writeFile(*folder_, "token", kToken);
        const auto tracker = startTracker({"--token-file", token});
        const auto mock = startMock(tracker->address(), "cpu", {"--token-file", token});
        const QString list = file("trials = 2\nthreads = 1\n[[job]]\nmodel = 'mlp'\n[[job]]\nmodel = 'mlp'\n");
        QVERIFY(jobs({"add", list, "--device", "cpu", "--devices", "2", "--tracker", "127.0.0.1:1", "--token-file", token}).status == 0);
        const CliResult ran = jobs({"run", "--tracker", tracker->address(), "--trace", table()});
        QVERIFY2(ran.status == 0, ran.errors);
        for (const Slice& slice : slices())
            QCOMPARE(slice.device.isEmpty(), slice.stage == "prepare" || slice.stage == "propose" || slice.stage == "update");
        for (const QString& name : QDir(folder_->path()).entryList({"trials.db*"})) {
            QFile stored(folder_->filePath(name));
            QVERIFY(stored.open(QIODevice::ReadOnly) && !stored.readAll().contains(QByteArray(kToken).replace(' ', '-')));
        }
    }

    void whatMakesNoSense_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("says");
        const QByteArray job = "[[job]]\nmodel = 'mlp'\ntrials = 2\nthreads = 1\n", device = job + "device = 'cpu'\ntracker = '127.0.0.1:1'\n";
        QTest::newRow("none") << device + "devices = 0" << "line 7: 'devices' is to be a whole number of 1 or more";
        QTest::newRow("negative") << device + "devices = -1" << "'devices'";
        QTest::newRow("very many") << device + "devices = 1000000000" << "of 1 to 64";
        QTest::newRow("half a device") << device + "devices = 1.5" << "'devices'";
        QTest::newRow("no key") << job + "device = ''" << "'device' is to be a text";
        QTest::newRow("a number") << job + "device = 7" << "'device' is to be a text";
        QTest::newRow("no name") << job + "device = 'a b'\ntracker = '127.0.0.1:1'" << "the key of a device";
        QTest::newRow("of no tracker") << job + "device = 'cpu'" << "--tracker";
        QTest::newRow("no address") << job + "device = 'cpu'\ntracker = 'nowhere'" << "nowhere";
        QTest::newRow("no token") << device + "token_file = 'none.token'" << "none.token";
        QTest::newRow("layouts") << device + "layouts = true" << "layouts";
    }
    void whatMakesNoSense() {
        QFETCH(QByteArray, text);
        QFETCH(QString, says);
        const CliResult ran = runCli({"jobs", "run", file(text), "--store", store_});
        QCOMPARE(ran.status, 1);
        QVERIFY2((ran.errors + ran.out).contains(says.toUtf8()), ran.errors + ran.out);
    }

    void wrongUsage() {
        const QString list = file("[[job]]\nmodel = 'mlp'\n");
        QCOMPARE(jobs({"add", list, "--devices", "2"}).status, 2);
        QCOMPARE(jobs({"add", list, "--device", "cpu", "--devices", "0"}).status, 2);
        QCOMPARE(runCli({"tune", "mlp", "--device", "cpu", "--tracker", "127.0.0.1:1", "--devices", "1000000000"}).status, 2);
    }
};

QTEST_GUILESS_MAIN(TestCliRemoteJobs)
#include "tst_cli_remote_jobs.moc"
