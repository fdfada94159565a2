// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "tests/child_process.h"
#include "tests/core/store/store_samples.h"
#include "tests/require.h"

using namespace tunesmith;
using tunesmith::testing::ChildProcess;

namespace {

ChildProcess startChild(const QString& verb, const QString& path) {
    return ChildProcess(QCoreApplication::applicationDirPath() + "/store_child", {verb, path});
}

// Complete lines only: the last one may be cut by the kill.
QList<QByteArray> linesOf(ChildProcess& child) {
    const QByteArray text = child.takeOutput();
    return text.left(text.lastIndexOf('\n') + 1).split('\n');
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
        ChildProcess child = startChild("trials", path);
        QVERIFY2(child.waitForOutput(), child.takeErrors().constData());
        QTest::qSleep(static_cast<int>(+rng.below(150)));
        QVERIFY2(child.running(), child.takeErrors().constData());
        child.kill();
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
        ChildProcess child = startChild("trials", path);
        while (!QFile::exists(path) && child.running())
            QTest::qSleep(0);
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(rng.below(6000));
        while (std::chrono::steady_clock::now() < until) {
        }
        child.kill();
        const auto store = Store::open(path.toStdString());
        REQUIRE_OK(store);
        QVERIFY(store.value()->check().value().ok);
        REQUIRE_OK(samples::beginRun(*store.value()));
    }
}

void TestStoreCrash::killedRunIsSeenAndResumed() {
    const QString path = folder_.filePath("resume.db");
    ChildProcess child = startChild("sleep", path);
    QVERIFY(child.waitForOutput());
    const RunId run(linesOf(child).at(0).toLongLong());
    const auto store = Store::open(path.toStdString());
    REQUIRE_OK(store);
    QVERIFY(!store.value()->run(run).value().interrupted);
    const auto early = store.value()->resumeRun(run);
    QVERIFY(!early.ok() && early.error().message.find("another process") != std::string::npos);
    QVERIFY(!store.value()->addTrial(samples::trial(run, 0, 0)).ok());
    QVERIFY(!store.value()->removeRun(run).ok());
    child.kill();
    QVERIFY(store.value()->run(run).value().interrupted);
    QVERIFY(store.value()->check().value().ok);
    REQUIRE_OK(store.value()->resumeRun(run));
    QVERIFY(!store.value()->run(run).value().interrupted);
    REQUIRE_OK(store.value()->addTrial(samples::trial(run, 0, 0)));
}

QTEST_GUILESS_MAIN(TestStoreCrash)
#include "tst_store_crash.moc"
