// SPDX-License-Identifier: GPL-3.0-or-later
// One Ctrl-C ends every step within a second, whatever it is: steps that are asked to stop and steps that cannot be asked.
#include <QDir>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QRegularExpression>
#include <QScopeGuard>
#include <QTemporaryDir>
#include <QTest>

#include "tests/app/cli/attack_models.h"
#include "tests/app/cli/cli_process.h"
#include "tests/child_process.h"

using namespace tunesmith::testing;

class TestCliInterrupt : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    // Products of large matrices: of inputs, or of constants, which are folded.
    static std::string product(std::int64_t size, bool constant) {
        AttackModel made;
        if (constant)
            made.input("x", {1}).ints("s", {size, size}).node("ConstantOfShape", {"s"}, {"a"}).node("Exp", {"a"}, {"b"}).node("MatMul", {"a", "b"}, {"p"}).node("Add", {"x", "p"}, {"y"});
        else
            made.input("a", {size, size}).input("b", {size, size}).node("MatMul", {"a", "b"}, {"y"});
        return made.output("y", {size, size}).bytes();
    }
    static std::string convolution() {
        return AttackModel().input("x", {1, 256, 256, 256}).input("w", {256, 256, 3, 3}).node("Conv", {"x", "w"}, {"y"}).output("y", {1, 256, 254, 254}).bytes();
    }
    static std::string fourier() { // of a prime
        return AttackModel().input("x", {1, 1'000'003, 1}).node("DFT", {"x"}, {"y"}).attribute("axis", 1).output("y", {1, 1'000'003, 2}).bytes();
    }

private slots:
    void endsAtOnce_data() {
        QTest::addColumn<QByteArray>("model");
        QTest::addColumn<QStringList>("arguments"); // MODEL stands for the file
        const auto add = [](const char* name, const std::string& model, const QStringList& arguments) { QTest::newRow(name) << QByteArray::fromStdString(model) << arguments; };
        const QStringList reference{"run", "MODEL", "--engine", "reference"}, compile{"compile", "MODEL", "--untuned", "-o", "module"};
        add("reference product", product(4096, false), reference);
        add("reference convolution", convolution(), reference);
        add("reference Fourier transform", fourier(), reference);
        add("reference check of a compilation", product(3000, false), compile);
        add("folding", product(4096, true), compile);
        const std::string many = chain("Add", 300'000, {"x"}).output("y", {4}).bytes();
        add("reading many nodes", many, {"info", "MODEL"});
        add("compiling many nodes", many, compile);
        add("exporting many nodes", many, {"export", "MODEL", "--onnx", "out.onnx"});
        add("a search over many nodes", many, {"optimize", "MODEL", "--cost", "kernels"});
        add("generating rules", {}, {"rules", "generate", "--operators", "3"});
    }
    void endsAtOnce() {
        QFETCH(const QByteArray, model);
        QFETCH(QStringList, arguments);
        const QString file = folder_.filePath("model.onnx");
        writeFile(file.toStdString(), model.toStdString());
        arguments.replaceInStrings(QRegularExpression("^MODEL$"), file);
        for (QString& argument : arguments)
            if (argument == "module" || argument == "out.onnx")
                argument = folder_.filePath(argument);
        ChildProcess process(TEST_CLI, arguments);
        QVERIFY(process.started());
        QTRY_VERIFY_WITH_TIMEOUT(process.secondsSoFar() > 0.4 || !process.running(), 60'000);
        QVERIFY2(process.running(), "it was done before anybody could stop it");
        QElapsedTimer clock;
        clock.start();
        const double before = process.secondsSoFar();
        process.interrupt();
        const int status = process.wait();
        const auto milliseconds = clock.elapsed();
        const QByteArray told = process.takeErrors() + QByteArray::number(milliseconds) + " ms";
        QVERIFY2(status == 130, told + ", status " + QByteArray::number(status));
        QCOMPARE(told.count("tunesmith-cli: cancelled\n"), 1);
        QVERIFY2(milliseconds < 1000 || (milliseconds < 15'000 && process.processorSeconds() - before < 2.5), told); // a loaded machine takes longer
        QVERIFY(!QFileInfo::exists(folder_.filePath("module")) && !QFileInfo::exists(folder_.filePath("out.onnx")));
        const QStringList left = QDir(folder_.path()).entryList(QDir::Files | QDir::Dirs | QDir::NoDotAndDotDot | QDir::Hidden);
        QVERIFY2(left == QStringList{"model.onnx"}, left.join(' ').toLocal8Bit());
    }

    // Another program cuts the weights off while they are read.
    void dataThatIsCutOff() {
        constexpr std::int64_t kSize = 4096;
        AttackModel made;
        made.input("a", {64, kSize}).node("MatMul", {"a", "w"}, {"p"});
        for (int i = 0; i < 200; ++i)
            made.node("MatMul", {i == 0 ? "p" : "p" + std::to_string(i), "w"}, {"p" + std::to_string(i + 1)});
        made.output("p200", {64, kSize});
        auto& weights = *made.graph().add_initializer();
        weights.set_name("w"), weights.set_data_type(1), weights.add_dims(kSize), weights.add_dims(kSize);
        weights.set_data_location(onnx::TensorProto::EXTERNAL);
        auto& place = *weights.add_external_data();
        place.set_key("location"), place.set_value("w.bin");
        const QTemporaryDir folder;
        const QString file = folder.filePath("model.onnx"), data = folder.filePath("w.bin");
        writeFile(file.toStdString(), made.bytes());
        writeFile(data.toStdString(), "");
        QVERIFY(QFile::resize(data, kSize * kSize * 4));
        ChildProcess process(TEST_CLI, {"run", file, "--engine", "reference"});
        QTRY_VERIFY_WITH_TIMEOUT(process.secondsSoFar() > 0.4 || !process.running(), 60'000);
        QVERIFY2(process.running(), "it was done before anybody could cut it off");
        QVERIFY(QFile::resize(data, 4096));
        const int status = process.wait();
        const QByteArray told = process.takeErrors();
        QVERIFY2(status == 1 && told.count("tunesmith-cli: ") == 1 && told.contains("cut off the file " + data.toUtf8()), told + QByteArray::number(status));
    }

    // Nobody reads what it would say, as after Ctrl-S.
    void endsWhereItCannotSayIt() {
        const std::string file = folder_.filePath("model.onnx").toStdString();
        writeFile(file, product(4096, false));
        int ends[2];
        QVERIFY(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
        const auto closed = qScopeGuard([&ends] { ::close(ends[0]), ::close(ends[1]); });
        const std::string block(4096, 'x');
        while (::write(ends[1], block.data(), block.size()) > 0) {
        }
        QVERIFY(::fcntl(ends[1], F_SETFL, 0) == 0);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
        std::string words[] = {TEST_CLI, "run", file, "--engine", "reference"};
        char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), words[4].data(), nullptr};
        pid_t child = -1;
        QVERIFY(::posix_spawn(&child, arguments[0], &actions, nullptr, arguments, environ) == 0);
        posix_spawn_file_actions_destroy(&actions);
        clockid_t clock{};
        timespec time{};
        QVERIFY(::clock_getcpuclockid(child, &clock) == 0);
        QTRY_VERIFY_WITH_TIMEOUT(::clock_gettime(clock, &time) == 0 && (time.tv_sec > 0 || time.tv_nsec > 400'000'000), 60'000);
        ::kill(child, SIGINT);
        int status = -1;
        const bool ended = QTest::qWaitFor([&] { return ::waitpid(child, &status, WNOHANG) == child; }, 10'000);
        if (!ended) {
            ::kill(child, SIGKILL);
            ::waitpid(child, nullptr, 0);
        }
        QVERIFY(ended);
        QVERIFY(WIFEXITED(status) && WEXITSTATUS(status) == 130);
    }

    // The file is there, under its temporary name, while a second reader looks at the model.
    void leavesNoUnfinishedFile_data() {
        QTest::addColumn<QList<int>>("signalsSent");
        QTest::addColumn<bool>("ignored"); // as by nohup
        QTest::newRow("a second Ctrl-C") << QList<int>{SIGINT, SIGINT} << false;
        QTest::newRow("SIGTERM twice") << QList<int>{SIGTERM, SIGTERM} << false;
        QTest::newRow("end of the terminal") << QList<int>{SIGHUP} << false;
        QTest::newRow("end of the terminal, ignored") << QList<int>{SIGHUP} << true;
    }
    void leavesNoUnfinishedFile() {
        QFETCH(const QList<int>, signalsSent);
        QFETCH(const bool, ignored);
        const QTemporaryDir folder;
        const QString file = folder.filePath("model.onnx"), made = folder.filePath("out.onnx");
        writeFile(file.toStdString(), chain("Add", ignored ? 100'000 : 300'000, {"x"}).output("y", {4}).bytes());
        const QString command = QString("%1 exec %2 export %3 --onnx %4").arg(ignored ? "trap '' HUP;" : "", TEST_CLI, file, made);
        const auto entries = [&] { return QDir(folder.path()).entryList(QDir::Files | QDir::Hidden); };
        ChildProcess process("sh", {"-c", command});
        QTRY_VERIFY_WITH_TIMEOUT(entries().size() > 1 || !process.running(), 60'000);
        QVERIFY2(process.running(), "it was done before anybody could stop it");
        for (const int signal : signalsSent) {
            process.interrupt(signal);
            QTest::qWait(50); // two at once may count as one
        }
        const int status = process.wait();
        QVERIFY2(status == (ignored ? 0 : 130), process.takeErrors() + ", status " + QByteArray::number(status));
        QStringList left = entries(); // the signal may come when the file has its name already: then it is whole
        if (ignored || left.contains("out.onnx")) {
            QVERIFY(left.removeOne("out.onnx"));
            QCOMPARE(runCli({"info", made}).status, 0);
        }
        QCOMPARE(left, QStringList{"model.onnx"});
    }
};

QTEST_GUILESS_MAIN(TestCliInterrupt)
#include "tst_cli_interrupt.moc"
