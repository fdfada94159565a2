// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/worker_path.h"
#include "process_testing.h"
#include <QFileInfo>

using namespace tunesmith;

class TestWorkerPath : public QObject {
    Q_OBJECT
private slots:
    void cleanup() { qunsetenv("TUNESMITH_WORKER"); }

    void environmentWins() {
        qputenv("TUNESMITH_WORKER", TEST_WORKER);
        const auto path = findWorkerExecutable("whatever");
        QVERIFY(path.ok());
        QCOMPARE(path->string(), std::string(TEST_WORKER));
    }
    void wrongEnvironmentIsAnError() {
        qputenv("TUNESMITH_WORKER", "/nowhere/worker");
        const auto path = findWorkerExecutable(QFileInfo(TEST_WORKER).fileName().toStdString());
        QVERIFY(!path.ok());
        QVERIFY(path.error().message.find("/nowhere/worker") != std::string::npos);
        QVERIFY(path.error().message.find("TUNESMITH_WORKER") != std::string::npos);
    }
    void besideThisProgram() {
        qunsetenv("TUNESMITH_WORKER");
        const auto path = findWorkerExecutable(QFileInfo(TEST_WORKER).fileName().toStdString());
        QVERIFY2(path.ok(), path.ok() ? "" : path.error().message.c_str());
        QCOMPARE(QFileInfo(QString::fromStdString(path->string())).canonicalFilePath(),
                 QFileInfo(TEST_WORKER).canonicalFilePath());
    }
    void missingNamesThePlaces() {
        qunsetenv("TUNESMITH_WORKER");
        const auto path = findWorkerExecutable("no-such-worker");
        QVERIFY(!path.ok());
        QVERIFY(path.error().message.find("libexec/tunesmith/no-such-worker") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestWorkerPath)
#include "tst_worker_path.moc"
