// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/program_run.h"
#include "process_testing.h"
#include "tests/child_process.h"
#include "tests/take.h"
#include <QTemporaryDir>
#include <csignal>
#include <thread>

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

ProgramOptions shell(const std::string& script, double seconds = 20) {
    ProgramOptions options;
    options.command = {"sh", "-c", script};
    options.seconds = seconds;
    return options;
}

pid_t pidIn(const QString& file) {
    pid_t pid = -1;
    std::ifstream(file.toStdString()) >> pid;
    return pid;
}

// What leaves its group and its session, as a daemon does, and tells its id.
std::string daemonScript(const QString& file) {
    return "setsid sh -c 'echo $$ > " + file.toStdString() + ".new; mv " + file.toStdString() + ".new " + file.toStdString() +
           "; exec sleep 1000' > /dev/null 2>&1 & while [ ! -e " + file.toStdString() + " ]; do sleep 0.01; done; ";
}

} // namespace

// Commands of a user's file, well-behaved and not.
class ProgramRunTest : public QObject {
    Q_OBJECT

private slots:
    // The other program of orphansDieWithTheirMaster().
    void initTestCase() {
        if (const QByteArray script = qgetenv("TEST_KEPT_SCRIPT"); !script.isEmpty()) {
            (void)runProgram(shell(script.toStdString(), 1000));
            ::_exit(0);
        }
    }

    void tellsHowItEnded() {
        const ProgramRun run = take(runProgram(shell("echo out; echo err >&2; sleep 0.05; exit 3")));
        QCOMPARE(run.output, std::string("out\n"));
        QCOMPARE(run.errors, std::string("err\n"));
        QCOMPARE(run.end.exitStatus, std::optional(3));
        QVERIFY(!run.succeeded());
        QCOMPARE(run.failure(shell("")), std::string("exited with status 3: err"));
        QVERIFY2(run.seconds >= 0.05 && run.seconds < 5, qPrintable(QString::number(run.seconds)));
    }

    void signalsAreTold() {
        const ProgramRun run = take(runProgram(shell("kill -SEGV $$")));
        QCOMPARE(run.end.signal, SIGSEGV);
        QVERIFY(QString::fromStdString(run.failure({})).contains("SIGSEGV"));
    }

    void processorTimeIsCounted() {
        const ProgramRun run = take(runProgram(shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")));
        QVERIFY(run.cpuSeconds > 0 && run.cpuSeconds <= run.seconds + 0.1);
    }

    void folderAndEnvironment() {
        QTemporaryDir folder;
        ProgramOptions options = shell("pwd; echo $TEST_WORD; cat");
        options.folder = folder.path().toStdString();
        options.environment["TEST_WORD"] = "word";
        QCOMPARE(take(runProgram(options)).output, folder.path().toStdString() + "\nword\n");
    }

    void whatCannotBeStarted_data() {
        QTest::addColumn<QString>("program");
        QTest::addColumn<QString>("says");
        QTest::newRow("missing") << "no-program-is-called-so" << "cannot start no-program-is-called-so: No such file";
        QTest::newRow("a folder") << "/usr" << "cannot start /usr: Permission denied";
        QTest::newRow("a text") << "/etc/passwd" << "Permission denied";
        QTest::newRow("nothing") << "" << "no command";
        QTest::newRow("zero byte") << QString("a%1b").arg(QChar(0)) << "zero byte";
    }
    void whatCannotBeStarted() {
        QFETCH(QString, program);
        QFETCH(QString, says);
        ProgramOptions options;
        options.command = {program.toStdString()};
        const auto run = runProgram(options);
        QVERIFY(!run.ok());
        QVERIFY2(QString::fromStdString(run.error().message).contains(says), run.error().message.c_str());
    }

    void folderThatIsNotThere() {
        ProgramOptions options = shell("true");
        options.folder = "/nowhere";
        QVERIFY(!runProgram(options).ok());
    }

    void timeIsLimited() {
        const Stopwatch watch;
        const ProgramOptions options = shell("sleep 1000", 0.1);
        const ProgramRun run = take(runProgram(options));
        QVERIFY(run.timedOut && !run.succeeded());
        QCOMPARE(run.failure(options), std::string("did not end within 0.1 s"));
        QVERIFY(watch.milliseconds() < 3000);
    }

    void outputIsLimited() {
        const Stopwatch watch;
        const ProgramOptions options = shell("head -c 1000000000 /dev/zero");
        const ProgramRun run = take(runProgram(options));
        QVERIFY(run.tooMuchOutput && run.output.size() < (2u << 20));
        QCOMPARE(run.failure(options), std::string("printed more than 1024 KiB"));
        QVERIFY(watch.milliseconds() < 3000);
    }

    void errorsKeepTheirTail() {
        const ProgramRun run = take(runProgram(shell("head -c 30000000 /dev/zero >&2; echo last >&2")));
        QVERIFY(run.succeeded());
        QVERIFY(run.errors.size() <= 8192 && run.errors.ends_with("last\n"));
    }

    void memoryIsLimited() {
        ProgramOptions options = shell("ulimit -d");
        options.memoryLimit = std::uint64_t(64) << 20;
        QCOMPARE(take(runProgram(options)).output, std::string("65536\n"));
    }

    void cancelled() {
        StopSource source;
        std::jthread other([&] { std::this_thread::sleep_for(50ms), source.requestStop(); });
        const auto run = runProgram(shell("sleep 1000", 1000), source.token());
        QVERIFY(!run.ok() && run.error().isCancelled());
    }

    void nothingIsLeft_data() {
        QTest::addColumn<QString>("then");
        QTest::newRow("after its end") << "exit 0";
        QTest::newRow("after a crash") << "kill -9 $$";
        QTest::newRow("after its time") << "sleep 1000";
        QTest::newRow("after too much output") << "yes";
    }
    void nothingIsLeft() {
        QFETCH(QString, then);
        QTemporaryDir folder;
        const QString file = folder.filePath("pid");
        (void)runProgram(shell(daemonScript(file) + "sleep 1000 & " + then.toStdString(), 0.4));
        const pid_t pid = pidIn(file);
        QVERIFY(pid > 0);
        QVERIFY(processGone(pid)); // when runProgram returns, not some time later
    }

    // kill -9 of who asked for it.
    void orphansDieWithTheirMaster() {
        QTemporaryDir folder;
        const QString file = folder.filePath("pid");
        qputenv("TEST_KEPT_SCRIPT", QByteArray::fromStdString(daemonScript(file) + "sleep 1000"));
        ChildProcess master(QCoreApplication::applicationFilePath(), {});
        qunsetenv("TEST_KEPT_SCRIPT");
        QVERIFY(QTest::qWaitFor([&] { return QFile::exists(file); }, 20000));
        const pid_t pid = pidIn(file);
        QVERIFY(pid > 0 && !processGone(pid));
        master.kill();
        QVERIFY(waitGone(pid, 10000));
    }

    // However busy the machine is, no program seems faster than it can be.
    void manyAtATime() {
        std::atomic<int> right = 0;
        {
            std::vector<std::jthread> threads;
            for (int i = 0; i < 8; ++i)
                threads.emplace_back([&right, i] {
                    for (int round = 0; round < 5; ++round) {
                        const auto run = runProgram(shell("sleep 0.01; echo " + std::to_string(i)));
                        right += run.ok() && run->output == std::to_string(i) + "\n" && run->seconds >= 0.01;
                    }
                });
        }
        QCOMPARE(right.load(), 40);
    }
};

QTEST_GUILESS_MAIN(ProgramRunTest)
#include "tst_program_run.moc"
