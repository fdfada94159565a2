// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QProcess>
#include <QProcessEnvironment>
#include <QTemporaryDir>
#include <QTest>
#include <unistd.h>

#include "tests/child_process.h"

using tunesmith::testing::ChildProcess;

// Limits of the shell (ulimit): one sentence and exit status 1, no signal, nothing half-written.
class TestCliLimits : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    struct Outcome {
        int status = -1; // -1: a signal
        QByteArray errors;
    };

    // As a user whom limits are for: root's processes are not counted.
    Outcome runLimited(const QStringList& limits, const QStringList& arguments) const {
        QStringList command = limits;
        if (::getuid() == 0)
            command = QStringList{"setpriv", "--reuid=65534", "--clear-groups"} + command;
        QProcess process;
        auto environment = QProcessEnvironment::systemEnvironment();
        environment.insert("XDG_DATA_HOME", folder_.path());
        environment.insert("XDG_RUNTIME_DIR", folder_.path());
        process.setProcessEnvironment(environment);
        process.start(command.takeFirst(), command + QStringList{TEST_CLI} + arguments);
        Outcome outcome;
        if (process.waitForFinished(60'000) && process.exitStatus() == QProcess::NormalExit)
            outcome.status = process.exitCode();
        outcome.errors = process.readAllStandardError();
        return outcome;
    }

private slots:
    void initTestCase() {
        QVERIFY(QFile::setPermissions(folder_.path(), QFile::Permissions(0x7777)));
        if (runLimited({"prlimit", "--core=0"}, {"--version"}).status != 0)
            QSKIP("this test needs prlimit and setpriv of util-linux, and a program that nobody can read");
    }

    void aFileOverTheLimitIsAnError() {
        const QString file = folder_.filePath("model.onnx");
        const Outcome outcome = runLimited({"prlimit", "--fsize=4096"}, {"models", "mlp", "-o", file});
        QVERIFY2(outcome.status == 1, outcome.errors);
        QVERIFY2(outcome.errors.contains("File too large"), outcome.errors);
        QVERIFY(!QFile::exists(file));
    }

    void whereThereAreNoThreads_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::newRow("info") << QStringList{"info", "mlp"};
        QTest::newRow("tune") << QStringList{"tune", "mlp", "--trials-per-workload", "2"};
        QTest::newRow("compile") << QStringList{"compile", "mlp", "-o", "@/module"};
        QTest::newRow("run") << QStringList{"run", "mlp"};
        QTest::newRow("bench") << QStringList{"bench", "mlp", "--seconds", "0.1"};
        QTest::newRow("optimize") << QStringList{"optimize", "mlp", "-o", "@/rewritten.onnx"};
        QTest::newRow("rules") << QStringList{"rules", "generate", "--operators", "2", "-o", "@/rules.txt"};
        QTest::newRow("verify") << QStringList{"rules", "verify", "--total", "10"};
        QTest::newRow("jobs") << QStringList{"jobs", "list"};
        QTest::newRow("tracker") << QStringList{"devices", "--tracker", "127.0.0.1:1"};
    }
    void whereThereAreNoThreads() {
        QFETCH(QStringList, arguments);
        for (QString& argument : arguments)
            argument.replace("@", folder_.path());
        for (const char* count : {"1", "3"}) {
            const Outcome outcome = runLimited({"prlimit", QString("--nproc=%1:%1").arg(count)}, arguments);
            QVERIFY2(outcome.status == 0 || outcome.status == 1, outcome.errors);
            QVERIFY2(!outcome.errors.contains("terminate called") && !outcome.errors.contains("internal error"), outcome.errors);
            QVERIFY2(outcome.status == 0 || outcome.errors.contains("tunesmith-cli: "), outcome.errors);
        }
    }

    // Some parents do not want to hear of their children, and theirs inherit that.
    void childrenThatNobodyWaitsFor() {
        for (const QStringList& arguments : {QStringList{"run", "mlp"}, QStringList{"compile", "mlp", "--untuned", "-o", folder_.filePath("waited")}}) {
            const Outcome outcome = runLimited({"env", "--ignore-signal=CHLD"}, arguments);
            QVERIFY2(outcome.status == 0, outcome.errors);
        }
    }

    // What is opened next would get their numbers, and what is printed.
    void startedWithoutStreams() {
        ChildProcess process("sh", {"-c", "echo $$; exec \"$0\" tracker --listen 127.0.0.1:0 <&- 2>&-", TEST_CLI});
        QByteArray told;
        while (told.count('\n') < 2 && process.waitForOutput())
            told += process.takeOutput();
        for (const QByteArray stream : {"0", "2"})
            QCOMPARE(QFile::symLinkTarget("/proc/" + told.split('\n')[0] + "/fd/" + stream), QString("/dev/null"));
        process.interrupt();
        QCOMPARE(process.wait(), 0);
    }
};

QTEST_GUILESS_MAIN(TestCliLimits)
#include "tst_cli_limits.moc"
