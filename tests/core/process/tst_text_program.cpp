// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <csignal>
#include <thread>

#include "core/process/text_program.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace std::chrono_literals;

namespace {

std::unique_ptr<TextProgram> shell(const std::string& script, std::uint64_t memory = 0) {
    return take(TextProgram::start({"/bin/sh", {"-c", script}, memory}));
}

bool isAlive(pid_t pid) { return ::kill(pid, 0) == 0; }

} // namespace

// Programs that read text and answer in lines, well-behaved and not.
class TextProgramTest : public QObject {
    Q_OBJECT

private slots:
    void answersLineByLine() {
        const auto program = take(TextProgram::start({findProgram("cat").value(), {}, 0}));
        QCOMPARE(take(program->ask("one\ntwo\n", 5s)), std::string("one"));
        QCOMPARE(take(program->ask("", 5s)), std::string("two"));
        QCOMPARE(take(program->ask("three\n", 5s)), std::string("three"));
    }

    // More than any buffer between the two holds, while the program answers all the time.
    void longTextsGoBothWays() {
        const auto program = shell("cat");
        const std::string line(1000, 'x');
        std::string text;
        for (int i = 0; i < 4000; ++i)
            text += line + "\n";
        QCOMPARE(take(program->ask(text, 20s)), line);
    }

    void silenceEndsInTime() {
        const auto program = shell("sleep 100");
        const auto begun = std::chrono::steady_clock::now();
        const auto answer = program->ask("", 100ms);
        QVERIFY(!answer.ok() && answer.error().kind == ErrorKind::timeout);
        QVERIFY(std::chrono::steady_clock::now() - begun < 3s);
    }

    void cancelled() {
        const auto program = shell("sleep 100");
        StopSource source;
        std::jthread other([&] { std::this_thread::sleep_for(100ms), source.requestStop(); });
        const auto answer = program->ask("", 50s, source.token());
        QVERIFY(!answer.ok() && answer.error().kind == ErrorKind::cancelled);
    }

    void whatEndsIsSaidToBeGone_data() {
        QTest::addColumn<QString>("script");
        QTest::newRow("at once") << "true";
        QTest::newRow("without the end of a line") << "printf half";
        QTest::newRow("by a signal") << "kill -9 $$";
    }
    void whatEndsIsSaidToBeGone() {
        QFETCH(QString, script);
        const auto answer = shell(script.toStdString())->ask(std::string(1'000'000, 'x'), 20s);
        QVERIFY(!answer.ok());
        QCOMPARE(answer.error().kind, ErrorKind::io);
        QCOMPARE(answer.error().message, std::string("sh ended before it had answered"));
    }

    void nothingIsLeftOfIt() {
        auto program = shell("sleep 1000 & echo $!; wait");
        const pid_t child = static_cast<pid_t>(std::stol(take(program->ask("", 5s))));
        const pid_t pid = program->pid();
        QVERIFY(isAlive(pid) && isAlive(child));
        program.reset();
        QVERIFY(!isAlive(pid));
        QTRY_VERIFY(!isAlive(child));
    }

    void memoryIsLimited() {
        const auto answer = shell("read x; ulimit -d", std::uint64_t(64) << 20)->ask("\n", 5s);
        QCOMPARE(take(answer), std::string("65536"));
    }

    void whatIsNoProgram() {
        QVERIFY(!findProgram("no-program-is-called-so"));
        QVERIFY(!findProgram("usr")); // a folder
        const auto missing = TextProgram::start({"/nowhere/z3", {}, 0});
        QVERIFY(!missing.ok());
        QVERIFY(missing.error().message.starts_with("cannot start /nowhere/z3: "));
    }
};

QTEST_GUILESS_MAIN(TextProgramTest)
#include "tst_text_program.moc"
