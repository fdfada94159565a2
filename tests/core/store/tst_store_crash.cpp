// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include "tests/core/store/store_samples.h"

using namespace tunesmith;

#define REQUIRE_OK(result) QVERIFY2((result).ok(), (result).ok() ? "" : (result).error().message.c_str())

namespace {

void startChild(QProcess& child, const QString& verb, const QString& path) {
    child.start(QCoreApplication::applicationDirPath() + "/store_child", {verb, path});
    child.waitForStarted();
}

// Complete lines only: the last one may be cut by the kill.
QList<QByteArray> linesOf(QProcess& child) {
    const QByteArray text = child.readAllStandardOutput();
    return text.left(text.lastIndexOf('\n') + 1).split('\n');
}

void killChild(QProcess& child) {
    child.kill(); // SIGKILL
    child.waitForFinished();
}

} // namespace

// kill -9 at any moment loses nothing that was reported, and damages nothing.
class TestStoreCrash : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

private slots:
    void reportedTrialsSurvive();
    void creationSurvives();
    void killedRunIsSeenAndResumed();
};

void TestStoreCrash::reportedTrialsSurvive() {
    const QString path = folder_.filePath("kill.db");
    Rng rng(20);
    int reported = 0;
    std::int64_t lastTrials = 0;
    for (int round = 0; round < 20; ++round) {
        QProcess child;
        startChild(child, "trials", path);
        QVERIFY2(child.waitForReadyRead(), child.readAllStandardError().constData());
        QTest::qSleep(static_cast<int>(+rng.below(150)));
        QVERIFY2(child.state() == QProcess::Running, child.readAllStandardError().constData());
        killChild(child);
        const auto store =
            Store::open(path.toStdString(), round % 2 ? StoreMode::readWrite : StoreMode::readOnly);
        REQUIRE_OK(store);
        for (const auto& line : linesOf(child)) {
            if (line.isEmpty())
                continue;
            const auto fields = line.split(' ');
            const auto trial = store.value()->trial(TrialId(fields.at(3).toLongLong()));
            REQUIRE_OK(trial);
            QCOMPARE(trial.value().run.value(), fields[0].toLongLong());
            QCOMPARE(trial.value().workload, samples::key(fields[1].toInt()));
            QCOMPARE(trial.value().index, fields[2].toLongLong());
            ++reported;
        }
        const auto check = store.value()->check();
        REQUIRE_OK(check);
        QVERIFY2(check.value().ok, check.value().problems.empty() ? "" : check.value().problems[0].c_str());
        QVERIFY(check.value().trials >= lastTrials);
        lastTrials = check.value().trials;
    }
    QVERIFY2(reported > 200, qPrintable(QString("only %1 trials were reported").arg(reported)));
    QVERIFY(lastTrials >= reported &&
            lastTrials <= reported + 20); // at most one per round was not told any more
    qInfo("%d reported trials survived 20 kills, %d stored", reported, int(lastTrials));
}

void TestStoreCrash::creationSurvives() {
    Rng rng(7);
    for (int round = 0; round < 20; ++round) {
        const QString path = folder_.filePath(QString("new%1.db").arg(round));
        QProcess child;
        startChild(child, "trials", path);
        while (!QFile::exists(path) && child.state() == QProcess::Running)
            QTest::qSleep(0);
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(rng.below(6000));
        while (std::chrono::steady_clock::now() < until) {
        }
        killChild(child);
        const auto store = Store::open(path.toStdString());
        REQUIRE_OK(store);
        QVERIFY(store.value()->check().value().ok);
        REQUIRE_OK(samples::beginRun(*store.value()));
    }
}

void TestStoreCrash::killedRunIsSeenAndResumed() {
    const QString path = folder_.filePath("resume.db");
    QProcess child;
    startChild(child, "sleep", path);
    QVERIFY(child.waitForReadyRead());
    const RunId run(linesOf(child).at(0).toLongLong());
    const auto store = Store::open(path.toStdString());
    REQUIRE_OK(store);
    QVERIFY(!store.value()->run(run).value().interrupted);
    const auto early = store.value()->resumeRun(run);
    QVERIFY(!early.ok() && early.error().message.find("another process") != std::string::npos);
    QVERIFY(!store.value()->addTrial(samples::trial(run, 0, 0)).ok());
    QVERIFY(!store.value()->removeRun(run).ok());
    killChild(child);
    QVERIFY(store.value()->run(run).value().interrupted);
    QVERIFY(store.value()->check().value().ok);
    REQUIRE_OK(store.value()->resumeRun(run));
    QVERIFY(!store.value()->run(run).value().interrupted);
    REQUIRE_OK(store.value()->addTrial(samples::trial(run, 0, 0)));
}

QTEST_GUILESS_MAIN(TestStoreCrash)
#include "tst_store_crash.moc"
