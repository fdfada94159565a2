// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <atomic>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <sys/resource.h>
#include <thread>

#include "cli_process.h"
#include "raw_http2.h"
#include "remote_services.h"

using namespace tunesmith::testing;
using tunesmith::Descriptor;

namespace {

constexpr const char* kAsk = "Tracker/Ask";

// The most memory that a program has had, in MiB.
int peakOf(qint64 pid) {
    QFile status("/proc/" + QString::number(pid) + "/status");
    if (!status.open(QIODevice::ReadOnly))
        return -1;
    const QByteArray text = status.readAll();
    return text.mid(text.indexOf("VmHWM:") + 6).trimmed().split(' ').first().toInt() / 1024;
}

// A call of one message, packed or not. Whether it was refused.
bool isRefused(const QString& address, const QByteArray& method, const std::string& message, bool packed) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    grpc::GenericStub stub(grpc::CreateCustomChannel(address.toStdString(), grpc::InsecureChannelCredentials(), arguments));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    if (packed)
        context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    grpc::CompletionQueue queue;
    const grpc::Slice slice(message.data(), message.size(), grpc::Slice::STATIC_SLICE);
    const auto rpc = stub.PrepareUnaryCall(&context, "/tunesmith.remote." + method.toStdString(), grpc::ByteBuffer(&slice, 1), &queue);
    grpc::ByteBuffer reply;
    grpc::Status status;
    rpc->StartCall();
    rpc->Finish(&reply, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return !status.ok();
}

// Connections from another address of this machine, one after the other, until it goes.
class Flood {
public:
    Flood(const QString& address, int kept) : thread_([this, port = htons(address.section(':', 1).toUShort()), kept](const std::stop_token& stop) {
        std::vector<Descriptor> connections(static_cast<std::size_t>(kept));
        for (std::size_t i = 0; !stop.stop_requested(); ++i)
            connections[i % connections.size()] = connect(port);
    }) {}
    int count() const { return count_; }

private:
    Descriptor connect(in_port_t port) {
        Descriptor own(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        sockaddr_in from{AF_INET, 0, {htonl(INADDR_LOOPBACK + 1)}, {}}, to{AF_INET, port, {htonl(INADDR_LOOPBACK)}, {}};
        const linger gone{1, 0}; // at once
        ::setsockopt(own.get(), SOL_SOCKET, SO_LINGER, &gone, sizeof gone);
        if (::bind(own.get(), reinterpret_cast<sockaddr*>(&from), sizeof from) == 0 && (::connect(own.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 || errno == EINPROGRESS))
            ++count_;
        ::send(own.get(), kPreface.data(), static_cast<std::size_t>(kPreface.size()), MSG_NOSIGNAL);
        return own;
    }
    std::atomic<int> count_ = 0;
    std::jthread thread_;
};

std::string longMessage(std::size_t bytes) { return "\x1a" + std::string("\xff\xff\xff\x7f", 4) + std::string(bytes, '\0'); }

} // namespace

// An attacker without a token costs a tracker and a server little, and keeps nobody out.
class TestCliAttacks : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    QStringList token_;
    std::unique_ptr<Service> tracker_;
    int before_ = 0; // MiB

    // Everybody else is served, within 15 s where an attack goes on.
    void servesOthers() {
        QElapsedTimer clock;
        clock.start();
        CliResult list;
        do
            list = runCli(QStringList{"devices", "--tracker", tracker_->address(), "--json"} + token_);
        while (list.status != 0 && clock.elapsed() < 15'000);
        QVERIFY2(list.status == 0, list.errors);
    }
    void grewLittle(int mostMb) { QVERIFY2(peakOf(tracker_->pid()) - before_ < mostMb, qPrintable(QString("%1 MiB more").arg(peakOf(tracker_->pid()) - before_))); }

private slots:
    void initTestCase() { token_ = {"--token-file", writeFile(folder_, "token", kToken)}; }
    void init() {
        tracker_ = startTracker(token_);
        before_ = peakOf(tracker_->pid());
        QVERIFY(before_ > 0);
    }

    void messagesOfStrangers_data() {
        QTest::addColumn<QByteArray>("method");
        QTest::addColumn<bool>("packed");
        QTest::newRow("packed") << QByteArray(kAsk) << true;
        QTest::newRow("large") << QByteArray(kAsk) << false;
        QTest::newRow("packed, to a server") << QByteArray("Executor/Exchange") << true;
        QTest::newRow("large, to a server") << QByteArray("Executor/Exchange") << false;
    }
    void messagesOfStrangers() {
        QFETCH(QByteArray, method);
        QFETCH(bool, packed);
        std::unique_ptr<Service> server;
        if (method.startsWith("Executor"))
            server = startMock(tracker_->address(), "cpu", token_);
        Service& attacked = server ? *server : *tracker_;
        const int before = peakOf(attacked.pid());
        QVERIFY(isRefused(attacked.address(), method, longMessage(std::size_t(200) << 20), packed));
        QTRY_VERIFY2_WITH_TIMEOUT(attacked.errors().contains("refused ipv4:127.0.0.1"), attacked.errors(), 15'000);
        QVERIFY2(peakOf(attacked.pid()) - before < 40, qPrintable(QString("%1 MiB more").arg(peakOf(attacked.pid()) - before)));
        servesOthers();
    }

    // It was accepted from who has the token, too.
    void packedMessagesAreNone() {
        const auto open = startTracker(); // wants no token
        QVERIFY(!isRefused(open->address(), "Tracker/List", std::string(100, '\0').replace(0, 2, "\x0a\x62"), false));
        QVERIFY(isRefused(open->address(), "Tracker/List", std::string(100, '\0').replace(0, 2, "\x0a\x62"), true));
    }

    void partsWithoutEnd() {
        const auto open = startTracker();
        const int before = peakOf(open->pid());
        std::string parts;
        for (int i = 0; i < 500'000; ++i)
            parts += std::string("\x3a\x00", 2); // a device to avoid
        QVERIFY(isRefused(open->address(), kAsk, parts, false));
        QVERIFY2(peakOf(open->pid()) - before < 12, qPrintable(QString("%1 MiB more").arg(peakOf(open->pid()) - before)));
    }

    void silentConnectionsLeaveRoom_data() {
        QTest::addColumn<QByteArray>("greeting");
        QTest::newRow("silent") << QByteArray();
        QTest::newRow("half a greeting") << kPreface.left(10);
        QTest::newRow("a greeting") << kPreface + frame(kSettings, 0, 0);
    }
    void silentConnectionsLeaveRoom() {
        QFETCH(QByteArray, greeting);
        const rlimit few{128, 128}; // as if other things had taken the descriptors: less than the tracker has counted on
        QCOMPARE(::prlimit(static_cast<pid_t>(tracker_->pid()), RLIMIT_NOFILE, &few, nullptr), 0);
        {
            std::vector<std::unique_ptr<RawConnection>> silent;
            for (int i = 0; i < 200; ++i)
                silent.emplace_back(std::make_unique<RawConnection>(tracker_->address()))->send(greeting);
            servesOthers();
            QVERIFY2(tracker_->errors().contains("open files"), tracker_->errors());
        }
        servesOthers();
    }

    void tooFewDescriptorsAreSaid() {
        QProcess tracker;
        tracker.start("sh", {"-c", "ulimit -n 32; exec \"$0\" tracker --listen 127.0.0.1:0", TEST_CLI});
        QVERIFY(tracker.waitForFinished(10'000));
        QCOMPARE(tracker.exitCode(), 1);
        const QByteArray said = tracker.readAllStandardError();
        QVERIFY2(said.contains("32") && said.contains("ulimit -n") && said.count('\n') == 1, said);
    }

    // As fast as one address can, each ended at once or kept for a while, while another one is served.
    void floodOfConnections_data() {
        QTest::addColumn<int>("kept");
        QTest::newRow("ended at once") << 1;
        QTest::newRow("kept") << 400;
    }
    void floodOfConnections() {
        QFETCH(int, kept);
        Flood flood(tracker_->address(), kept);
        QTRY_VERIFY_WITH_TIMEOUT(flood.count() > 4000, 20'000);
        QElapsedTimer clock;
        clock.start();
        for (int i = 0; i < 5; ++i) {
            const CliResult list = runCli(QStringList{"devices", "--tracker", tracker_->address(), "--json"} + token_);
            QVERIFY2(list.status == 0, list.errors);
        }
        QVERIFY2(clock.elapsed() < 15'000, qPrintable(QString("%1 ms").arg(clock.elapsed())));
    }

    // Also where it is stopped meanwhile.
    void stopsUnderAFlood() {
        for (int i = 0; i < 5; ++i) {
            const auto server = startMock(tracker_->address(), "cpu", token_);
            Flood first(server->address(), 100), second(server->address(), 1), third(server->address(), 300);
            QTRY_VERIFY_WITH_TIMEOUT(first.count() > 1000, 20'000);
            QCOMPARE(server->terminate(), 0);
        }
    }

    void greetingsAreTimed() {
        RawConnection silent(tracker_->address()), greeted(tracker_->address());
        QVERIFY(greeted.greet());
        QVERIFY(greeted.ends(20'000));
        QVERIFY(silent.ends(20'000));
    }

    void headersWithoutEnd() {
        RawConnection stranger(tracker_->address());
        QVERIFY(stranger.greet() && stranger.send(frame(kHeaders, 0, 1, headersOf(kAsk))));
        const QByteArray more = frame(kContinuation, 0, 1, header("x-a", QByteArray(16'000, 'b')));
        QVERIFY(stranger.endsFlood([&] { return more; }));
        grewLittle(60);
        servesOthers();
    }

    // By who has the token: gRPC keeps them all, although there are more than it lets a call have.
    void headersOfWhoWasLetIn() {
        tracker_ = startTracker();
        token_.swap(none_);
        before_ = peakOf(tracker_->pid());
        RawConnection caller(tracker_->address());
        QVERIFY(caller.greet() && caller.send(frame(kHeaders, kEndHeaders, 1, headersOf(kAsk)) + frame(kData, 1, 1, QByteArray("\0\0\0\0\0", 5))));
        QVERIFY(caller.send(frame(kHeaders, 0, 3, headersOf(kAsk))));
        const QByteArray more = frame(kContinuation, 0, 3, header("x-a", QByteArray(16'000, 'b')));
        QVERIFY(caller.endsFlood([&] { return more; }));
        grewLittle(300);
        servesOthers();
        token_.swap(none_);
    }

    void callsThatAreResetAtOnce() {
        RawConnection stranger(tracker_->address());
        QVERIFY(stranger.greet());
        const QByteArray headers = headersOf(kAsk);
        quint32 stream = 1;
        QVERIFY(stranger.endsFlood([&] {
            const quint32 own = std::exchange(stream, stream + 2);
            return frame(kHeaders, kEndHeaders, own, headers) + frame(kReset, 0, own, QByteArray("\0\0\0\x08", 4));
        }));
        grewLittle(100);
        servesOthers();
    }

    void settingsWithoutEnd() {
        RawConnection stranger(tracker_->address());
        const QByteArray many = frame(kSettings, 0, 0).repeated(1000);
        QVERIFY(stranger.greet());
        QVERIFY(stranger.endsFlood([&] { return many; }));
        servesOthers();
    }

    // gRPC reads in the thread that brings it a connection as long as the caller sends; nobody ends who was let in.
    void floodOfWhoWasLetIn() {
        tracker_ = startTracker();
        token_.swap(none_);
        RawConnection caller(tracker_->address());
        const QByteArray many = frame(kUnknown, 0, 0, QByteArray(16'000, 'a')); // is skipped
        QVERIFY(caller.greet() && caller.send(frame(kHeaders, kEndHeaders, 1, headersOf(kAsk))));
        std::jthread flood([&](const std::stop_token& stop) {
            while (!stop.stop_requested() && caller.send(many)) {
            }
        });
        servesOthers();
        token_.swap(none_);
    }

    // Where there is no token, as on one machine.
    void messagesThatTrickle() {
        tracker_ = startTracker();
        token_.swap(none_);
        std::vector<std::unique_ptr<RawConnection>> slow;
        for (int i = 0; i < 4; ++i) {
            RawConnection& one = *slow.emplace_back(std::make_unique<RawConnection>(tracker_->address()));
            one.greet();
            for (quint32 stream = 1; stream < 200; stream += 2)
                one.send(frame(kHeaders, kEndHeaders, stream, headersOf(kAsk)) + frame(kData, 0, stream, QByteArray("\0\0\0\1\0a", 6)));
        }
        servesOthers();
        token_.swap(none_);
    }

    // A call whose caller leaves no room for its answer (SETTINGS: a window of 0 bytes).
    void answersThatAreNotRead() {
        tracker_ = startTracker();
        token_.swap(none_);
        std::vector<std::unique_ptr<RawConnection>> full;
        std::vector<std::jthread> alive;
        for (int i = 0; i < 3; ++i) {
            RawConnection& one = *full.emplace_back(std::make_unique<RawConnection>(tracker_->address()));
            one.send(kPreface + frame(kSettings, 0, 0, QByteArray("\0\4\0\0\0\0", 6)));
            for (quint32 stream = 1; stream < 200; stream += 2)
                one.send(frame(kHeaders, kEndHeaders, stream, headersOf("Tracker/List")) + frame(kData, 1, stream, QByteArray("\0\0\0\0\0", 5)));
            alive.emplace_back([&one](const std::stop_token& stop) { one.answerPings(stop); });
        }
        servesOthers();
        QTRY_VERIFY2_WITH_TIMEOUT(tracker_->errors().contains("does not take its answer"), tracker_->errors(), 15'000);
        token_.swap(none_);
    }

private:
    QStringList none_;
};

QTEST_GUILESS_MAIN(TestCliAttacks)
#include "tst_cli_attacks.moc"
