// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QTest>
#include <atomic>
#include <future>
#include <grpcpp/generic/generic_stub.h>
#include <map>
#include <sys/resource.h>
#include <thread>

#include "core/executors/knock.h"
#include "core/executors/wire.h"
#include "fake_server.h"
#include "remote_cluster.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

// A registration with the tracker of a device that somebody else plays.
class Played {
public:
    Played(Cluster& cluster, const std::string& name, const std::string& address) : tracker_(take(TrackerClient::make(cluster.tracker->address(), {}))) {
        DeviceInfo device = testDevice(name);
        device.address = address;
        id_ = take(tracker_->add(device, {}));
        beats_ = std::thread([this] {
            for (; !closing_; std::this_thread::sleep_for(std::chrono::milliseconds(50)))
                static_cast<void>(tracker_->beat(id_, {}).ok());
        });
    }
    void confirm(const std::string& lease) { static_cast<void>(tracker_->confirm(id_, lease).ok()); }
    ~Played() {
        closing_ = true;
        beats_.join();
    }

private:
    std::unique_ptr<TrackerClient> tracker_;
    std::string id_;
    std::atomic<bool> closing_ = false;
    std::thread beats_;
};

// A call with any bytes as its message.
grpc::Status callRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method, const std::string& bytes) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    grpc::CompletionQueue queue;
    const grpc::Slice slice(bytes);
    const auto rpc = stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(&slice, 1), &queue);
    grpc::ByteBuffer reply;
    grpc::Status status;
    rpc->StartCall();
    rpc->Finish(&reply, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return status;
}

grpc::Status callRaw(const std::string& address, const std::string& method, const std::string& bytes) {
    return callRaw(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()), method, bytes);
}

// Whether a connection outlives what is done with it; looks for 3 s.
bool outlives(const std::shared_ptr<grpc::Channel>& channel, const std::function<void()>& use) {
    const auto soon = [] { return std::chrono::system_clock::now() + std::chrono::seconds(3); };
    if (!channel->WaitForConnected(soon()))
        return false;
    auto ended = std::async(std::launch::async, [&] { return channel->WaitForStateChange(GRPC_CHANNEL_READY, soon()); });
    use();
    return !ended.get();
}

// One that is given up before its message comes.
void giveUp(const std::shared_ptr<grpc::Channel>& channel, const std::string& method) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const auto rpc = stub.PrepareCall(&context, method, &queue);
    void* tag = nullptr;
    bool ok = false;
    rpc->StartCall(&tag);
    queue.Next(&tag, &ok);
    context.TryCancel();
    grpc::Status status;
    rpc->Finish(&status, &tag);
    queue.Next(&tag, &ok);
}

} // namespace

// Servers that answer garbage, stall or vanish: each costs its call one retry.
class TestRemoteFaults : public QObject {
    Q_OBJECT

private slots:
    void aBadServerCostsOneRetry_data() {
        QTest::addColumn<int>("mischief");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, Mischief mischief, const char* sentence) { QTest::newRow(name) << static_cast<int>(mischief) << sentence; };
        row("no JSON", Mischief::noJson, "garbage");
        row("an outcome that is none", Mischief::wrongOutcome, "garbage");
        row("no kernel", Mischief::noKernel, "garbage");
        row("a damaged kernel", Mischief::badSamples, "garbage");
        row("keeps nothing", Mischief::keepsNothing, "garbage");
        row("a reply of 300 MB", Mischief::hugeReply, "has sent too much");
        row("a call without an answer", Mischief::silentCall, "knows nothing of a call");
        row("events without end", Mischief::floods, "garbage");
        row("a packed reply", Mischief::packed, "an answer that is none");
        row("a reply of many parts", Mischief::manyParts, "an answer that is none");
        row("a kernel of 64 MB", Mischief::hugeKernel, "garbage");
        row("an error of 1 MB", Mischief::longText, "cannot go on");
        row("silent stream", Mischief::silentStream, "silent");
        row("ends the lease during a call", Mischief::endsLease, "ended the lease");
    }
    void aBadServerCostsOneRetry() {
        QFETCH(int, mischief);
        QFETCH(QString, sentence);
        Cluster cluster;
        FakeServer fake(static_cast<Mischief>(mischief));
        std::unique_ptr<RemoteExecutor> executor;
        Played played(cluster, "fake", fake.address());
        executor = cluster.connect("x");
        QCOMPARE(executor->device().name, std::string("fake"));
        cluster.addMock("a");
        QElapsedTimer clock;
        clock.start();
        const CallReport report = executor->build(mockBuild(), {});
        QVERIFY2(report.replied(), report.error.message.c_str());
        QVERIFY2(clock.elapsed() < 10'000, qPrintable(QString::number(clock.elapsed())));
        QVERIFY(cluster.logged(sentence));
        QVERIFY(cluster.longestLine() < 1000);
        QCOMPARE(fake.calls(), static_cast<Mischief>(mischief) == Mischief::keepsNothing ? 2 : 1);
    }

    void whatIsNoServerIsPassedOver_data() {
        QTest::addColumn<QByteArray>("answer");
        QTest::newRow("closes at once") << QByteArray();
        QTest::newRow("HTTP/1.1") << QByteArray("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
        QTest::newRow("random bytes") << QByteArray(4000, '\x97');
        QTest::newRow("HTTP/2 settings, then garbage") << QByteArray("\0\0\0\4\0\0\0\0\0\xff\xff\xff\x1f\xff\xff\xff\xff\xff", 18);
    }
    void whatIsNoServerIsPassedOver() {
        QFETCH(QByteArray, answer);
        Cluster cluster;
        NoServer nobody(answer.toStdString());
        Played played(cluster, "nobody", nobody.address());
        cluster.addMock("a");
        QElapsedTimer clock;
        clock.start();
        const auto executor = cluster.connect("x");
        QCOMPARE(executor->device().name, std::string("a"));
        QVERIFY(executor->build(mockBuild(), {}).replied());
        QVERIFY(clock.elapsed() < 10'000);
    }

    void aDeafServerLosesItsPlace() {
        LeaseTiming timing = quickTiming();
        timing.knock = std::chrono::milliseconds(200);
        Cluster cluster({}, timing);
        NoServer deaf("", 1), unreached("");
        Played played(cluster, "deaf", deaf.address()), other(cluster, "unreached", unreached.address());
        cluster.addMock("a");
        const auto tracker = take(TrackerClient::make(cluster.tracker->address(), {}));
        const auto deafness = [&] {
            std::map<std::string, bool> all;
            for (const auto& device : take(tracker->list()).devices)
                all[device.info.name] = device.deaf;
            return all;
        };
        QTRY_COMPARE_WITH_TIMEOUT(deafness(), (std::map<std::string, bool>{{"a", false}, {"deaf", true}, {"unreached", false}}), 30'000); // one that is slow comes back
        QVERIFY(cluster.logged(QString::fromStdString("the device at " + deaf.address() + " takes no connections")));
        QTRY_COMPARE_WITH_TIMEOUT(take(tracker->ask({"t", "x", "cpu"})).devices, std::size_t(2), 10'000);
    }

    void aKnockWithoutADescriptorSaysNothing() {
        FakeServer server(Mischief::noJson);
        NoServer nobody("");
        const std::vector<std::string> addresses{server.address(), nobody.address()};
        rlimit before{};
        QCOMPARE(::getrlimit(RLIMIT_NOFILE, &before), 0);
        const rlimit none{3, before.rlim_max};
        QCOMPARE(::setrlimit(RLIMIT_NOFILE, &none), 0);
        const auto without = knock(addresses, false, std::chrono::milliseconds(300), {});
        QCOMPARE(::setrlimit(RLIMIT_NOFILE, &before), 0);
        QVERIFY((without == std::vector{Knock::untold, Knock::untold}));
        QVERIFY((knock(addresses, false, std::chrono::milliseconds(3000), {}) == std::vector{Knock::answered, Knock::unanswered}));
    }

    void twoLossesAreTheCandidatesFault() {
        Cluster cluster;
        FakeServer first(Mischief::noJson), second(Mischief::noJson);
        Played a(cluster, "a", first.address()), bb(cluster, "bb", second.address());
        const auto executor = cluster.connect("x");
        const CallReport report = executor->build(mockBuild(), {});
        QVERIFY(report.outcome == CallOutcome::crashed);
        QCOMPARE(first.calls() + second.calls(), 2);
        QVERIFY(!report.error.message.empty());
    }

    void aServerThatGoesIsReplaced() {
        Cluster cluster;
        cluster.addMock("a", 300);
        const auto executor = cluster.connect("x");
        const Message profile = mockProfile(executor->build(mockBuild(), {}));
        cluster.addMock("bb", 5);
        auto measured = std::async(std::launch::async, [&] { return executor->measure(profile, 5, {}); });
        QTest::qWait(100);
        cluster.servers.erase(cluster.servers.begin());
        QVERIFY(measured.wait_for(std::chrono::seconds(8)) == std::future_status::ready);
        const CallReport report = measured.get();
        QVERIFY2(report.replied(), report.error.message.c_str());
    }

    void aClientThatIsGoneFreesItsDevice() {
        Cluster cluster;
        cluster.addMock("a", 60'000);
        auto executor = cluster.connect("x");
        StopSource stop;
        const Message profile = mockProfile(executor->build(mockBuild(), {}));
        auto measured = std::async(std::launch::async, [&] { return executor->measure(profile, 100, stop.token()); });
        QTest::qWait(100);
        stop.requestStop();
        static_cast<void>(measured.get());
        executor.reset();
        QElapsedTimer clock;
        clock.start();
        QVERIFY(cluster.connect("y")->build(mockBuild(), {}).replied());
        QVERIFY2(clock.elapsed() < 2000, qPrintable(QString::number(clock.elapsed())));
    }

    void messagesThatAreNoneAreRefusedAndLogged_data() {
        QTest::addColumn<QString>("method");
        QTest::addColumn<qint64>("bytes");
        for (const char* method : {"Tracker/Register", "Tracker/Ask", "Executor/Open", "Executor/Exchange"})
            QTest::addRow("garbage for %s", method) << method << qint64(100);
        QTest::newRow("300 MB for Exchange") << "Executor/Exchange" << (qint64(300) << 20);
        QTest::newRow("more than 320 MB for Exchange") << "Executor/Exchange" << (qint64(330) << 20);
        QTest::newRow("1.1 MB for Ask") << "Tracker/Ask" << qint64(1'150'000);
        QTest::newRow("4 MB for Ask") << "Tracker/Ask" << (qint64(4) << 20);
        QTest::newRow("300 MB for Ask") << "Tracker/Ask" << (qint64(300) << 20);
    }
    void messagesThatAreNoneAreRefusedAndLogged() {
        QFETCH(QString, method);
        QFETCH(qint64, bytes);
        Cluster cluster;
        const std::string address = method.startsWith("Tracker") ? cluster.tracker->address() : cluster.addMock("a").address();
        std::string text(static_cast<std::size_t>(bytes), '\xff');
        if (bytes > 1000) { // a message as it should be, of one long text
            remote::Request wire;
            wire.set_body(std::string(text.size(), 'a'));
            text = wire.SerializeAsString();
        }
        const grpc::Status status = callRaw(address, "/tunesmith.remote." + method.toStdString(), text);
        QVERIFY(!status.ok());
        QTRY_VERIFY_WITH_TIMEOUT(cluster.logged("refused ipv4:127.0.0.1"), 2000);
        cluster.addMock("bb");
        QVERIFY(cluster.connect("x")->build(mockBuild(), {}).replied());
    }

    void anExceptionFreesTheDevice() {
        Cluster cluster;
        DeviceServerOptions options = cluster.serverOptions("a");
        options.makeExecutor = [failures = 1, row = options.device.machine](const KernelWorkerOptions& limits) mutable -> Result<std::unique_ptr<KernelExecutor>> {
            if (failures-- > 0)
                throw std::bad_alloc();
            return std::unique_ptr<KernelExecutor>(std::make_unique<MockExecutor>(MockOptions{1, 5, 16 << 10, row}, limits));
        };
        cluster.add(std::move(options));
        QVERIFY(cluster.connect("x")->build(mockBuild(), {}).replied());
    }

    void callsThatAreGivenUpEndNoConnection() {
        Cluster cluster;
        const auto channel = grpc::CreateChannel(cluster.tracker->address(), grpc::InsecureChannelCredentials());
        QVERIFY(outlives(channel, [&] {
            for (int i = 0; i < 60; ++i)
                giveUp(channel, "/tunesmith.remote.Tracker/Ask");
        }));
        QVERIFY(callRaw(channel, "/tunesmith.remote.Tracker/List", "").ok());
    }

    void messagesThatAreNoneEndTheirConnection() {
        Cluster cluster;
        const auto channel = grpc::CreateChannel(cluster.tracker->address(), grpc::InsecureChannelCredentials());
        QVERIFY(!outlives(channel, [&] {
            for (int i = 0; i < 20; ++i)
                QVERIFY(!callRaw(channel, "/tunesmith.remote.Tracker/Ask", "garbage").ok());
        }));
    }

    // gRPC answers them: they are counted neither for nor against who makes them.
    void unknownMethodsEndNoConnection() {
        Cluster cluster;
        const auto channel = grpc::CreateChannel(cluster.tracker->address(), grpc::InsecureChannelCredentials());
        QVERIFY(outlives(channel, [&] {
            for (int i = 0; i < 40; ++i)
                QCOMPARE(callRaw(channel, "/tunesmith.remote.Tracker/Format", "").error_code(), grpc::StatusCode::UNIMPLEMENTED);
        }));
        QVERIFY(callRaw(channel, "/tunesmith.remote.Tracker/List", "").ok());
        QVERIFY(!cluster.logged("Format"));
    }

    // It frees its device each time, and is lent again.
    void aTurnThatIsAlwaysOverIsNotHurried() {
        Cluster cluster;
        FakeServer fake(Mischief::turnOver);
        Played played(cluster, "fake", fake.address());
        fake.opened = [&](const std::string& lease) { played.confirm(lease.substr(0, 32)); };
        StopSource stop;
        auto waiting = std::async(std::launch::async, [&] { return RemoteExecutor::connect(cluster.clientOptions("x"), stop.token()); });
        const bool waits = waiting.wait_for(std::chrono::milliseconds(2500)) == std::future_status::timeout;
        stop.requestStop();
        QVERIFY(waits && waiting.get().error().isCancelled());
        QVERIFY2(fake.opens() >= 1 && fake.opens() <= 3, qPrintable(QString::number(fake.opens())));
        cluster.addMock("a");
        QVERIFY(cluster.connect("y")->build(mockBuild(), {}).replied());
    }

    void namesThatAreNone_data() {
        QTest::addColumn<QByteArray>("name");
        QTest::newRow("a control character") << QByteArray("a\x01""b");
        QTest::newRow("a line") << QByteArray("a\r\nx: y");
        QTest::newRow("no ASCII") << QByteArray("\xc3\xa9");
        QTest::newRow("100 kB") << QByteArray(100'000, 'a');
    }
    void namesThatAreNone() {
        QFETCH(QByteArray, name);
        remote::WishAnswer answer;
        answer.set_device_id("id");
        toWire(testDevice("a"), *answer.mutable_device());
        answer.set_lease(name.toStdString());
        FakeTracker liar(answer);
        answer.set_lease("lease");
        answer.set_device_id(name.toStdString());
        FakeTracker other(answer);
        for (const FakeTracker* tracker : {&liar, &other}) {
            RemoteOptions options;
            options.tracker = tracker->address();
            options.key = "cpu";
            options.client = "x";
            const auto executor = RemoteExecutor::connect(std::move(options), {});
            QVERIFY(!executor.ok());
            const QString message = QString::fromStdString(executor.error().message);
            QVERIFY2(message.contains("the tracker " + QString::fromStdString(tracker->address())) && message.contains("answers garbage") && message.size() < 300, qPrintable(message));
        }
        const auto client = take(TrackerClient::make(liar.address(), {}));
        QVERIFY(!client->add(testDevice("a"), {}).ok());
        QVERIFY(!client->confirm("secret", "lease").ok());
    }

    void leasesThatAreNoneAreRefused() {
        Cluster cluster;
        const std::string address = cluster.addMock("a").address();
        const auto stub = remote::Executor::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
        for (const std::string& lease : {std::string("a b"), std::string(5000, 'a'), std::string()}) {
            grpc::ClientContext context;
            context.AddMetadata("x-tunesmith-lease", lease);
            remote::SessionEvent event;
            const auto stream = stub->Open(&context, {});
            QVERIFY(!stream->Read(&event));
            QCOMPARE(stream->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
        }
        QVERIFY(cluster.connect("x")->build(mockBuild(), {}).replied());
    }

    // A client that is to stop does not wait for a tracker that hangs.
    void aSilentTrackerHoldsNobody() {
        SilentTracker tracker;
        RemoteOptions options;
        options.tracker = tracker.address();
        options.key = "cpu";
        options.client = "x";
        StopSource stop;
        QElapsedTimer clock;
        auto connecting = std::async(std::launch::async, [&] { return RemoteExecutor::connect(options, stop.token()); });
        const bool isAsked = QTest::qWaitFor([&] { return tracker.asked() > 0; }, 10'000);
        stop.requestStop();
        clock.start();
        const auto executor = connecting.get();
        QVERIFY(isAsked && !executor.ok() && executor.error().isCancelled());
        QVERIFY2(clock.elapsed() < 1500, qPrintable(QString::number(clock.elapsed())));
    }
    void aSilentTrackerHoldsNoServer() {
        Cluster cluster;
        SilentTracker tracker;
        DeviceServerOptions options = cluster.serverOptions("a");
        options.tracker = tracker.address();
        auto server = take(DeviceServer::start(std::move(options)));
        QVERIFY(QTest::qWaitFor([&] { return tracker.asked() > 0; }, 10'000));
        QElapsedTimer clock;
        clock.start();
        server.reset();
        QVERIFY2(clock.elapsed() < 1500, qPrintable(QString::number(clock.elapsed())));
        QVERIFY(!cluster.logged("cancelled"));
    }
    void manySilentDevicesHoldNoTracker() {
        StopSource stop;
        stop.requestStop();
        QElapsedTimer clock;
        clock.start();
        const std::vector<Knock> answers = knock(std::vector<std::string>(64, "127.0.0.1:1"), false, std::chrono::seconds(10), stop.token());
        QCOMPARE(answers.size(), std::size_t(64));
        QVERIFY2(clock.elapsed() < 1000, qPrintable(QString::number(clock.elapsed())));
    }

    void noTrackerIsOneSentence() {
        RemoteOptions options;
        options.tracker = "127.0.0.1:1";
        options.key = "cpu";
        options.client = "x";
        QElapsedTimer clock;
        clock.start();
        const auto executor = RemoteExecutor::connect(std::move(options), {});
        QVERIFY(!executor.ok() && executor.error().message.find("127.0.0.1:1") != std::string::npos);
        QVERIFY(clock.elapsed() < 12'000);
    }
};

QTEST_GUILESS_MAIN(TestRemoteFaults)
#include "tst_remote_faults.moc"
