// SPDX-License-Identifier: GPL-3.0-or-later
#include "process_testing.h"
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

// An answer as a worker sends it, of ASCII bytes, so that it travels as text.
std::string framed(std::string text) {
    text.resize(0x017f7f, ' ');
    std::string frame(16, '\0');
    const std::uint32_t words[4] = {0x474d5354, 1, static_cast<std::uint32_t>(text.size()), 0};
    std::memcpy(frame.data(), words, sizeof words);
    return frame + text;
}

} // namespace

class TestWorkerClient : public QObject {
    Q_OBJECT

    std::unique_ptr<WorkerClient> client_;

    void verifyUsable() {
        const auto reply = client_->call(request("echo", {{"n", 1}}), 20s);
        QVERIFY2(reply.ok(), reply.ok() ? "" : reply.error().message.c_str());
        QCOMPARE(reply->body["n"].get<int>(), 1);
    }

private slots:
    void init() {
        auto client = WorkerClient::start(testWorker());
        QVERIFY2(client.ok(), client.ok() ? "" : client.error().message.c_str());
        client_ = std::move(client).value();
    }
    void cleanup() {
        const pid_t pid = client_->pid();
        client_.reset();
        QVERIFY(pid < 0 || processGone(pid));
    }

    void echo() {
        Message sent = request("echo", {{"text", "ü"}, {"list", {1, 2, 3}}});
        sent.blobs = {std::vector<std::byte>(1000, std::byte{5}), {}};
        const auto reply = client_->call(sent, 20s);
        QVERIFY(reply.ok());
        QVERIFY(reply->body == sent.body);
        QVERIFY(reply->blobs == sent.blobs);
    }

    void manyCallsOneProcess() {
        const pid_t pid = client_->pid();
        for (int i = 0; i < 200; ++i)
            verifyUsable();
        QCOMPARE(client_->pid(), pid);
        QCOMPARE(client_->restarts(), 0);
    }

    void surroundings() {
        WorkerOptions options = testWorker();
        options.niceness = 5;
        options.environment["TEST_EXTRA"] = "extra";
        const int stray = ::open("/dev/null", O_RDONLY); // deliberately inheritable
        auto client = WorkerClient::start(options);
        ::close(stray);
        QVERIFY(client.ok());
        const auto reply = (*client)->call(request("about"), 20s);
        QVERIFY(reply.ok());
        const auto& body = reply->body;
        QCOMPARE(body["pid"].get<pid_t>(), (*client)->pid());
        QCOMPARE(body["group"].get<pid_t>(), (*client)->pid());
        QVERIFY(body["descriptors"] == nlohmann::json({0, 1, 2, 3}));
        QCOMPARE(body["core"].get<int>(), 1);
        QCOMPARE(body["nice"].get<int>(), 5);
        QCOMPARE(body["omp"].get<std::string>(), std::string("passive"));
        QCOMPARE(body["extra"].get<std::string>(), std::string("extra"));
        QCOMPARE(body["stdin"].get<int>(), 0);
    }

    void refusals_data() {
        QTest::addColumn<QString>("verb");
        QTest::addColumn<int>("kind");
        QTest::addColumn<QString>("part");
        QTest::newRow("handler error") << "refuse" << int(ErrorKind::unsupported) << "not with me";
        QTest::newRow("unknown verb") << "fly" << int(ErrorKind::unsupported) << "\"fly\"";
        QTest::newRow("exception") << "throw" << int(ErrorKind::internal) << "thrown";
        QTest::newRow("odd exception") << "throw-int" << int(ErrorKind::internal) << "unknown type";
        QTest::newRow("out of memory") << "throw-bad-alloc" << int(ErrorKind::internal) << "out of memory";
    }
    void refusals() {
        QFETCH(QString, verb);
        QFETCH(int, kind);
        QFETCH(QString, part);
        const pid_t pid = client_->pid();
        const CallReport report = client_->exchange(request(verb.toStdString()), 20s);
        QCOMPARE(int(report.outcome), int(CallOutcome::refused));
        QCOMPARE(int(report.error.kind), kind);
        QVERIFY2(report.error.message.find(part.toStdString()) != std::string::npos,
                 report.error.message.c_str());
        verifyUsable();
        QCOMPARE(client_->pid(), pid);
    }

    void noVerb() {
        const CallReport report = client_->exchange({nlohmann::json::array(), {}}, 20s);
        QCOMPARE(int(report.outcome), int(CallOutcome::refused));
        verifyUsable();
    }

    void crashes_data() {
        QTest::addColumn<QString>("verb");
        QTest::addColumn<QString>("json");
        QTest::addColumn<int>("signal");
        QTest::addColumn<int>("status");
        QTest::addColumn<QString>("part");
        QTest::newRow("segv") << "crash"
                              << "{}" << SIGSEGV << -1 << "SIGSEGV";
        QTest::newRow("ill") << "crash" << QString(R"({"signal":%1})").arg(SIGILL) << SIGILL << -1
                             << "SIGILL";
        QTest::newRow("fpe") << "crash" << QString(R"({"signal":%1})").arg(SIGFPE) << SIGFPE << -1
                             << "about to crash";
        QTest::newRow("kill") << "crash" << QString(R"({"signal":%1})").arg(SIGTERM) << SIGTERM << -1
                              << "SIGTERM";
        QTest::newRow("exit 3") << "exit"
                                << "{}" << 0 << 3 << "exited with status 3";
        QTest::newRow("exit 0") << "exit"
                                << R"({"status":0})" << 0 << 0 << "exited with status 0";
        QTest::newRow("garbage") << "garbage"
                                 << "{}" << SIGKILL << -1 << "garbage";
        QTest::newRow("garbage, then exit") << "garbage"
                                            << R"({"text":"abc","exit":true})" << 0 << 0 << "exited";
        QTest::newRow("closed socket") << "close-socket"
                                       << "{}" << SIGKILL << -1 << "SIGKILL";
    }
    void crashes() {
        QFETCH(QString, verb);
        QFETCH(QString, json);
        QFETCH(int, signal);
        QFETCH(int, status);
        QFETCH(QString, part);
        const pid_t pid = client_->pid();
        const Stopwatch watch;
        const CallReport report =
            client_->exchange(request(verb.toStdString(), nlohmann::json::parse(json.toStdString())), 20s);
        QVERIFY2(watch.milliseconds() < 5000, "waited for the timeout although the worker was dead");
        QCOMPARE(int(report.outcome), int(CallOutcome::crashed));
        QCOMPARE(report.end.signal, signal);
        QCOMPARE(report.end.exitStatus.value_or(-1), status);
        QVERIFY2(report.error.message.find(part.toStdString()) != std::string::npos,
                 report.error.message.c_str());
        QVERIFY(processGone(pid));
        QVERIFY(!client_->alive());
        verifyUsable(); // starts a new one
        QCOMPARE(client_->restarts(), 1);
    }

    void deathBetweenCallsIsNoFailure() {
        ::kill(client_->pid(), SIGKILL);
        QTRY_VERIFY(!client_->alive());
        verifyUsable();
        QCOMPARE(client_->restarts(), 1);
    }

    void timeout_data() {
        QTest::addColumn<QString>("verb");
        QTest::newRow("spinning") << "hang";
        QTest::newRow("stopped") << "stop-self";
    }
    void timeout() {
        QFETCH(QString, verb);
        verifyUsable();
        const pid_t pid = client_->pid();
        const Stopwatch watch;
        const CallReport report = client_->exchange(request(verb.toStdString()), 300ms);
        const double took = watch.milliseconds();
        QCOMPARE(int(report.outcome), int(CallOutcome::timedOut));
        QCOMPARE(int(report.error.kind), int(ErrorKind::timeout));
        QVERIFY2(took >= 299 && took < 1300, qPrintable(QString::number(took)));
        QVERIFY(processGone(pid));
        verifyUsable();
    }

    void cancellation() {
        verifyUsable();
        const pid_t pid = client_->pid();
        StopSource source;
        std::chrono::steady_clock::time_point asked;
        std::thread stopper([&] {
            std::this_thread::sleep_for(200ms);
            asked = std::chrono::steady_clock::now();
            source.requestStop();
        });
        const CallReport report = client_->exchange(request("hang"), 20s, source.token());
        const auto returned = std::chrono::steady_clock::now();
        stopper.join();
        QCOMPARE(int(report.outcome), int(CallOutcome::cancelled));
        const double took = std::chrono::duration<double, std::milli>(returned - asked).count();
        QVERIFY2(took < 100, qPrintable(QString::number(took)));
        QVERIFY(processGone(pid));
        QCOMPARE(int(client_->exchange(request("echo"), 20s, source.token()).outcome),
                 int(CallOutcome::cancelled));
        verifyUsable();
    }

    // The exit status of the program follows the kind of an error, and terminals show its message.
    void aWorkersErrorIsNeitherOursNorLong_data() {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<int>("becomes");
        QTest::newRow("cancelled") << "cancelled" << int(ErrorKind::internal);
        QTest::newRow("timeout") << "timeout" << int(ErrorKind::internal);
        QTest::newRow("input") << "input" << int(ErrorKind::input);
    }
    void aWorkersErrorIsNeitherOursNorLong() {
        QFETCH(const QString, kind);
        QFETCH(const int, becomes);
        const nlohmann::json answer{{"ok", false}, {"error", {{"kind", kind.toStdString()}, {"message", std::string(90000, 'x')}}}};
        const CallReport report = client_->exchange(request("garbage", {{"text", framed(answer.dump())}}), 20s);
        QCOMPARE(int(report.outcome), int(CallOutcome::refused));
        QCOMPARE(int(report.error.kind), becomes);
        QVERIFY(report.error.message.size() < 600 && report.error.message.starts_with("xxx"));
        QVERIFY(client_->restart().ok());
    }

    // Who takes an answer looks into its body.
    void anAnswerHasABody_data() {
        QTest::addColumn<QByteArray>("answer");
        QTest::newRow("none") << QByteArray(R"({"ok": true})");
        QTest::newRow("null") << QByteArray(R"({"ok": true, "body": null})");
        QTest::newRow("a list") << QByteArray(R"({"ok": true, "body": [1]})");
        QTest::newRow("a text") << QByteArray(R"({"ok": true, "body": "x"})");
    }
    void anAnswerHasABody() {
        QFETCH(const QByteArray, answer);
        const CallReport report = client_->exchange(request("garbage", {{"text", framed(answer.toStdString())}}), 20s);
        QCOMPARE(int(report.outcome), int(CallOutcome::crashed));
        QVERIFY2(report.error.message.find("an answer that is none") != std::string::npos, report.error.message.c_str());
        verifyUsable();
    }

    void talkativeWorker() {
        // far more than a pipe holds: the worker must not block on it, and the parent must not keep it all
        const auto reply = client_->call(request("print", {{"lines", 40000}}), 20s);
        QVERIFY2(reply.ok(), reply.ok() ? "" : reply.error().message.c_str());
        const CallReport report = client_->exchange(request("crash"), 20s);
        QVERIFY(report.errorTail.find("line 39999") != std::string::npos);
        QVERIFY(report.errorTail.size() <= 8192);
    }

    // Else one that prints faster than it is read keeps its reader from looking at time and stop.
    void oneLookTakesNoMoreThanAPipeHolds() {
        const auto worker = WorkerProcess::spawn(testWorker());
        QVERIFY(worker.ok());
        WorkerProcess& process = **worker;
        Wait wait{std::chrono::steady_clock::now() + 20s};
        QVERIFY(writeMessage(process.socket(), request("fill-pipe"), wait).ok());
        const auto reply = readMessage(process.socket(), wait);
        QVERIFY(reply.ok() && reply->has_value() && (*reply)->body["body"]["all"] == true);
        const auto printed = [&process] {
            int bytes = 0;
            return ::ioctl(process.errorPipe(), FIONREAD, &bytes) == 0 ? bytes : -1;
        };
        QCOMPARE(printed(), 1 << 19);
        process.drainErrors();
        QCOMPARE(printed(), (1 << 19) - (1 << 16));
        QCOMPARE(process.errorTail().size(), std::size_t(8192));
        const CallReport report = client_->exchange(request("fill-pipe", {{"without end", true}}), 300ms);
        QCOMPARE(int(report.outcome), int(CallOutcome::timedOut));
        verifyUsable();
    }

    void hugeReplies() {
        const CallReport unasked = client_->exchange(request("huge", {{"bytes", 100000000}}), 60s);
        QCOMPARE(int(unasked.outcome), int(CallOutcome::crashed));
        QVERIFY2(unasked.error.message.find("more than the 64 MiB") != std::string::npos, unasked.error.message.c_str());
        const int restarts = client_->restarts() + 1;
        const auto big = client_->call(request("huge", {{"bytes", 100000000}}), 60s, {}, 100001000);
        QVERIFY(big.ok());
        QCOMPARE(big->blobs.at(0).size(), std::size_t(100000000));
        QVERIFY(big->blobs[0].back() == std::byte{7});
        const CallReport tooBig =
            client_->exchange(request("huge-body", {{"bytes", MessageLimits::body}}), 60s);
        QCOMPARE(int(tooBig.outcome), int(CallOutcome::refused));
        verifyUsable();
        QCOMPARE(client_->restarts(), restarts);
    }

    void hugeRequestIsRefusedBeforeItIsSent() {
        const CallReport report = client_->exchange({std::string(MessageLimits::body, 'x'), {}}, 20s);
        QCOMPARE(int(report.outcome), int(CallOutcome::refused));
        verifyUsable();
        QCOMPARE(client_->restarts(), 0);
    }

    void memoryLimit() {
        if (kSanitized)
            QSKIP("sanitizers need more private data than any limit");
        WorkerOptions options = testWorker();
        options.memoryLimit = std::uint64_t(256) << 20;
        auto client = WorkerClient::start(options);
        QVERIFY(client.ok());
        QVERIFY((*client)->call(request("allocate", {{"bytes", 64 << 20}}), 20s).ok());
        const CallReport report = (*client)->exchange(request("allocate", {{"bytes", 1 << 30}}), 20s);
        QCOMPARE(int(report.outcome), int(CallOutcome::refused));
        QVERIFY(report.error.message.find("out of memory") != std::string::npos);
        const CallReport reply = (*client)->exchange(request("huge", {{"bytes", 400 << 20}}), 20s);
        QCOMPARE(int(reply.outcome), int(CallOutcome::refused));
        QVERIFY((*client)->call(request("echo"), 20s).ok());
        QCOMPARE((*client)->restarts(), 0);
    }

    void cannotStart_data() {
        QTest::addColumn<QString>("path");
        QTest::newRow("missing") << "/nowhere/worker";
        QTest::newRow("not executable") << "/etc/passwd";
        QTest::newRow("a folder") << "/tmp";
    }
    void cannotStart() {
        QFETCH(QString, path);
        WorkerOptions options;
        options.executable = path.toStdString();
        const auto client = WorkerClient::start(options);
        QVERIFY(!client.ok());
        QVERIFY(client.error().message.find(path.toStdString()) != std::string::npos);
    }

    void notAWorker() {
        WorkerOptions options;
        options.executable = "/bin/true";
        auto client = WorkerClient::start(options);
        QVERIFY(client.ok());
        const CallReport report = (*client)->exchange(request("echo"), 20s);
        QVERIFY(report.outcome == CallOutcome::crashed);
        QCOMPARE(report.end.exitStatus.value_or(-1), 0);
    }

    void explicitRestart() {
        const pid_t pid = client_->pid();
        QVERIFY(client_->restart().ok());
        QVERIFY(processGone(pid));
        QVERIFY(client_->alive());
        QCOMPARE(client_->restarts(), 1);
    }

    void doesNotLeakDescriptors() {
        const auto count = [] {
            int open = 0;
            for (int fd = 0; fd < 1024; ++fd)
                open += ::fcntl(fd, F_GETFD) >= 0;
            return open;
        };
        const int before = count();
        for (int i = 0; i < 20; ++i)
            QVERIFY(client_->restart().ok());
        QCOMPARE(count(), before);
    }
};

QTEST_GUILESS_MAIN(TestWorkerClient)
#include "tst_worker_client.moc"
