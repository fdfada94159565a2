// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>
#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "core/measure/machine.h"
#include "core/schedule/tuner.h"
#include "remote_cluster.h"
#include "tests/core/schedule/schedule_testing.h"

using namespace tunesmith;
using namespace tunesmith::testing;

// A tracker, servers and clients that talk over loopback, all in this process.
class TestRemoteDevices : public QObject {
    Q_OBJECT

    // A server whose workers build and measure in earnest.
    static void addReal(Cluster& cluster, const std::map<std::string, std::string>& environment = {}) {
        DeviceServerOptions options = cluster.serverOptions("real");
        const Target target = take(hostTarget(2));
        options.device.isa = isaName(target.isa);
        options.device.tuneCpu = target.tuneCpu;
        options.worker = testWorkers(environment).worker;
        options.worker.memoryLimit = std::uint64_t(4) << 30;
        options.worker.confinement = Confinement{};
        cluster.add(std::move(options));
    }

    static Access withToken(const std::string& token) {
        Access access;
        access.token = token;
        return access;
    }

private slots:
    void realKernels() {
        Cluster cluster;
        addReal(cluster);
        RemoteOptions options = cluster.clientOptions("x");
        options.limits.measureMs = 5;
        options.limits.seed = 3;
        const auto remote = take(RemoteExecutor::connect(std::move(options), {}));
        const Target target = take(remote->device().target(1));
        const auto local = take(KernelWorkers::start(testWorkers()));
        const Workload workload = convWorkload(target);
        const auto there = take(ScheduleProblem::make(workload, target, *remote));
        const auto here = take(ScheduleProblem::make(workload, target, *local));
        Rng rng(1);
        for (int i = 0; i < 4; ++i) {
            const Config config = i == 0 ? there->schedules().defaultConfig() : there->space().sample(rng);
            const auto built = there->tryBuild(config, {});
            QVERIFY2(built.built.has_value(), built.message.c_str());
            QCOMPARE(built.built->artifact.hash, here->tryBuild(config, {}).built->artifact.hash);
            const Trial trial = there->profile(built.built->artifact, {});
            QVERIFY2(trial.ok(), trial.message.c_str());
            QVERIFY(trial.samples.size() >= 5 && trial.objectives.at(0).value > 0);
        }
        QVERIFY(remote->isElsewhere() && remote->networkMbit() > 0 && !local->isElsewhere() && local->networkMbit() == 0);
        std::vector<Artifact> artifacts;
        for (int i = 0; i < 2; ++i)
            artifacts.push_back(take(there->build(there->space().sample(rng), {})).artifact);
        QCOMPARE(take(there->compare(artifacts, 10, {})).size(), std::size_t(2));
    }

    void faultsOfKernels_data() {
        QTest::addColumn<QString>("fault");
        QTest::addColumn<QString>("status");
        QTest::newRow("crash") << "crash" << "crash";
        QTest::newRow("hang") << "hang" << "run_timeout";
        QTest::newRow("iteration left out") << "short" << "wrong_answer";
        QTest::newRow("build crashes") << "build-crash" << "crash";
        QTest::newRow("build refuses") << "build-error" << "build_error";
    }
    void faultsOfKernels() {
        QFETCH(QString, fault);
        QFETCH(QString, status);
        const Target target = take(hostTarget(1));
        const Workload workload = convWorkload(target);
        const std::string bad = take(ScheduleSpace::make(workload, target)).defaultConfig().text();
        Cluster cluster;
        addReal(cluster, {{"TEST_INJECT", nlohmann::json{{fault.toStdString(), bad}}.dump()}});
        const auto remote = cluster.connect("x");
        const auto problem = take(ScheduleProblem::make(workload, target, *remote));
        ProfileLimits limits;
        limits.deadlineSeconds = fault == "hang" ? 1 : 10;
        const Config config = problem->schedules().defaultConfig();
        const auto built = problem->tryBuild(config, {});
        const Trial trial = built.built ? problem->profile(built.built->artifact, limits) : Trial::failure(config, built.status, built.message);
        QCOMPARE(QString::fromUtf8(trialStatusName(trial.status).data()), status);
        Rng rng(3);
        Config other = config;
        while (other == config)
            other = problem->space().sample(rng);
        QVERIFY(tryConfig(*problem, other, {}).ok()); // on the same device
        QCOMPARE(take(TrackerClient::make(cluster.tracker->address(), {}))->list().value().devices.at(0).client, std::string("x"));
    }

    void spreadsOverDevices() {
        Cluster cluster;
        cluster.addMock("a"), cluster.addMock("bb");
        cluster.addMock("ccc", 5, "gpu");
        const auto one = cluster.connect("one"), two = cluster.connect("two");
        QVERIFY(one->device().name != two->device().name);
        QVERIFY(one->device().name != "ccc" && two->device().name != "ccc");
        StopSource stop;
        auto third = std::async(std::launch::async, [&] { return RemoteExecutor::connect(cluster.clientOptions("three"), stop.token()); });
        QVERIFY(third.wait_for(std::chrono::milliseconds(200)) == std::future_status::timeout);
        stop.requestStop();
        QElapsedTimer clock;
        clock.start();
        QVERIFY(third.get().error().isCancelled());
        QVERIFY(clock.elapsed() < 1000);
    }

    void buildsGoOnBesideEachOther() {
        Cluster cluster;
        cluster.addMock("a", 5);
        const auto executor = cluster.connect("x");
        std::vector<std::thread> threads;
        std::atomic<int> good = 0;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&, t] {
                for (int i = 0; i < 20; ++i)
                    good += executor->build(mockBuild(100 * t + i), {}).replied() ? 1 : 0;
            });
        for (int i = 0; i < 10; ++i)
            QVERIFY(executor->measure(mockProfile(executor->build(mockBuild(i), {})), 1, {}).replied());
        for (std::thread& thread : threads)
            thread.join();
        QCOMPARE(good.load(), 80);
    }

    void turnsGoRound() {
        Cluster cluster;
        cluster.addMock("a", 5);
        std::atomic<int> trials[3] = {0, 0, 0};
        std::atomic<bool> wrong = false;
        StopSource stop;
        std::vector<std::thread> clients;
        for (int c = 0; c < 3; ++c)
            clients.emplace_back([&, c] {
                const auto executor = RemoteExecutor::connect(cluster.clientOptions("client" + std::to_string(c)), stop.token());
                for (int i = 0; executor.ok() && !stop.stopRequested(); ++i) {
                    const CallReport built = (*executor)->build(mockBuild(i), stop.token());
                    if (built.replied() && (*executor)->measure(mockProfile(built), 1, stop.token()).replied())
                        ++trials[c];
                    else
                        wrong = wrong || !stop.stopRequested();
                }
            });
        QTest::qWait(4000);
        stop.requestStop();
        for (std::thread& client : clients)
            client.join();
        QVERIFY(!wrong);
        for (const auto& count : trials)
            QVERIFY2(count > 10, qPrintable(QString("%1 %2 %3").arg(trials[0]).arg(trials[1]).arg(trials[2])));
    }

    // Whoever has nothing to do does not keep a device from others, and gets one again when it needs it.
    void whatIsIdleGoesBack() {
        Cluster cluster;
        cluster.addMock("a", 5);
        std::atomic<int> priority = 0;
        RemoteOptions options = cluster.clientOptions("idle");
        options.priority = [&] { return priority.load(); };
        const auto idle = take(RemoteExecutor::connect(std::move(options), {}));
        QVERIFY(idle->build(mockBuild(), {}).replied());
        const auto other = cluster.connect("other"); // after a turn
        QVERIFY(other->build(mockBuild(), {}).replied());
        priority = 5; // counts from the next lease on
        QElapsedTimer clock;
        clock.start();
        QVERIFY(idle->await({}).ok());
        QVERIFY2(clock.elapsed() < 290, qPrintable(QString::number(clock.elapsed()))); // less than a turn among equals
        QCOMPARE(take(take(TrackerClient::make(cluster.tracker->address(), {}))->list()).devices.at(0).priority, 5);
    }

    void aRunHasSeveralDevices() {
        Cluster cluster;
        cluster.addMock("a", 5), cluster.addMock("bb", 5), cluster.addMock("ccc", 5, "cpu", "another-kind");
        const auto first = cluster.connect("x");
        const auto second = first->another(), third = first->another();
        QVERIFY(second->await({}).ok());
        StopSource stop;
        auto waiting = std::async(std::launch::async, [&] { return third->await(stop.token()); });
        QVERIFY(waiting.wait_for(std::chrono::milliseconds(700)) == std::future_status::timeout); // it takes none of its own run's, nor another kind
        QVERIFY(first->build(mockBuild(), {}).replied() && second->build(mockBuild(1), {}).replied());
        second->rest();
        QVERIFY(waiting.get().ok());
        auto again = std::async(std::launch::async, [&] { return second->await(stop.token()); });
        QVERIFY(again.wait_for(std::chrono::milliseconds(200)) == std::future_status::timeout);
        stop.requestStop();
        QVERIFY(again.get().error().isCancelled());
    }

    void higherPrioritiesGoFirst() {
        Cluster cluster;
        cluster.addMock("a", 5);
        StopSource stop;
        auto low = cluster.connect("low", 0);
        std::atomic<int> trials = 0;
        std::thread busy([&] {
            for (int i = 0; !stop.stopRequested(); ++i)
                trials += low->build(mockBuild(i), stop.token()).replied() ? 1 : 0;
        });
        QElapsedTimer clock;
        clock.start();
        auto high = cluster.connect("high", 5);
        QVERIFY2(clock.elapsed() < 2000, qPrintable(QString::number(clock.elapsed())));
        QTest::qWait(100);
        const int before = trials;
        QTest::qWait(1000); // longer than a turn among equals
        QCOMPARE(trials.load(), before);
        QVERIFY(high->build(mockBuild(), {}).replied());
        high.reset();
        QTRY_VERIFY_WITH_TIMEOUT(trials > before, 3000);
        stop.requestStop();
        busy.join();
    }

    void devicesOfOneRunAreOfOneKind() {
        Cluster cluster;
        DeviceServer& first = cluster.addMock("a", 5, "cpu", "one-kind");
        const auto executor = cluster.connect("x");
        cluster.addMock("bb", 5, "cpu", "another-kind");
        QVERIFY(executor->build(mockBuild(), {}).replied());
        Q_UNUSED(first);
        cluster.servers.erase(cluster.servers.begin());
        StopSource stop;
        auto waiting = std::async(std::launch::async, [&] { return executor->build(mockBuild(1), stop.token()); });
        QVERIFY(waiting.wait_for(std::chrono::milliseconds(1500)) == std::future_status::timeout);
        cluster.addMock("ccc", 5, "cpu", "one-kind");
        QVERIFY(waiting.wait_for(std::chrono::seconds(5)) == std::future_status::ready);
        QVERIFY(waiting.get().replied());
    }

    // A device may say that it is this machine, or any other one; nothing that it says is taken for what that one measured.
    void itsMachineIsItsOwnWord() {
        Cluster cluster;
        const MachineRow own = take(thisMachine());
        DeviceServerOptions options = cluster.serverOptions("a", "cpu", own.key);
        options.device.machine.ceilings = R"({"cpu":"x","isa":"avx2","threads":[{"threads":1,"fma_gflops":1e9,"memory_gbs":1e9}]})";
        options.makeExecutor = [row = options.device.machine](const KernelWorkerOptions& limits) -> Result<std::unique_ptr<KernelExecutor>> {
            return std::unique_ptr<KernelExecutor>(std::make_unique<MockExecutor>(MockOptions{0, 0, 64, row}, limits));
        };
        cluster.add(std::move(options));
        const QTemporaryDir folder;
        const auto store = take(Store::open(folder.filePath("t.db").toStdString()));
        TuneOptions tuning;
        tuning.trialsPerWorkload = 2;
        tuning.executor = cluster.connect("x");
        const Target target{Isa::avx2, "znver4", 1};
        const Workload workload = reluWorkload(target, 14);
        QVERIFY(take(Tuner(*store).run({{workload, 1}}, target, tuning)).afterMs);
        QVERIFY(take(store->bestRecord(workload.key, target.key())));
        QVERIFY(!take(store->bestRecord(workload.key, target.key(), own.key)));
        QVERIFY(std::ranges::none_of(take(store->machines()), [&](const MachineRow& row) { return row.key == own.key; }));
    }

    void aNewTrackerLearnsWhatGoesOn() {
        Cluster cluster;
        cluster.addMock("a");
        const auto executor = cluster.connect("x");
        const std::string address = cluster.tracker->address();
        cluster.tracker.reset();
        QVERIFY(executor->build(mockBuild(), {}).replied());
        cluster.tracker = take(Tracker::start({address, {}, quickTiming()}));
        const auto client = take(TrackerClient::make(address, {}));
        QTRY_VERIFY_WITH_TIMEOUT(client->list().value().devices.size() == 1, 5000);
        QCOMPARE(client->list().value().devices.at(0).client, std::string("x"));
        QVERIFY(executor->build(mockBuild(1), {}).replied());
        QTest::qWait(300);
        QCOMPARE(client->list().value().devices.at(0).client, std::string("x"));
    }

    void wrongTokens() {
        Cluster cluster(withToken("the right token!"));
        cluster.addMock("a");
        QVERIFY(cluster.connect("x")->build(mockBuild(), {}).replied());
        for (const std::string& token : {std::string("the wrong token!"), std::string()}) {
            RemoteOptions options = cluster.clientOptions("y");
            options.access.token = token;
            const auto refused = RemoteExecutor::connect(std::move(options), {});
            QVERIFY(!refused.ok() && refused.error().message.find("--token-file") != std::string::npos);
            QVERIFY(cluster.logged(token.empty() ? "no token" : "a wrong token"));
        }
        DeviceServerOptions server = cluster.serverOptions("bb");
        server.access.token = "the wrong token!";
        QVERIFY(!DeviceServer::start(std::move(server)).ok());
        QVERIFY(!cluster.logged("the right token!") && !cluster.logged("the wrong token!"));
    }

    void leasesCannotBeMadeUp() {
        Cluster cluster;
        cluster.addMock("a");
        const auto tracker = take(TrackerClient::make(cluster.tracker->address(), {}));
        LeaseBook::Answer grant = take(tracker->ask({"ticket", "x", "cpu"}));
        const std::string right = grant.lease->id;
        grant.lease->id = "00112233445566778899aabbccddeeff";
        QVERIFY(!RemoteSession::open({grant, {}, {}, newSecret(), quickTiming()}, {}).ok());
        QVERIFY(cluster.logged("a lease that the tracker has not given"));
        grant.lease->id = right;
        const auto session = take(RemoteSession::open({grant, {}, {}, newSecret(), quickTiming()}, {}));
        QVERIFY(take(session->exchange(mockBuild(), 1, std::chrono::seconds(5), {}, {})).replied());
        QVERIFY(!RemoteSession::open({grant, {}, {}, newSecret(), quickTiming()}, {}).ok()); // used up
    }

    // What a client is told of its device is nothing to speak for the device with.
    void onlyAServerSpeaksForItsDevice() {
        Cluster cluster;
        cluster.addMock("a");
        const auto tracker = take(TrackerClient::make(cluster.tracker->address(), {}));
        const LeaseBook::Answer grant = take(tracker->ask({"ticket", "x", "cpu"}));
        QVERIFY(!take(tracker->confirm(grant.device, grant.lease->id)));
        const auto session = take(RemoteSession::open({grant, {}, {}, newSecret(), quickTiming()}, {}));
        for (const std::string& lease : {std::string(), std::string("another"), grant.lease->id})
            QVERIFY(!take(tracker->beat(grant.device, lease)).known);
        QVERIFY(tracker->leave(grant.device).ok()); // of nobody
        QTest::qWait(300);
        const auto devices = take(tracker->list()).devices;
        QVERIFY(devices.size() == 1 && devices[0].client == "x");
        QVERIFY(take(session->exchange(mockBuild(), 1, std::chrono::seconds(5), {}, {})).replied());
        QVERIFY(!take(tracker->ask({"other", "y", "cpu"})).lease);
    }

    void whoDoesNotGoIsSentAway() {
        Cluster cluster;
        cluster.addMock("a", 600);
        const auto tracker = take(TrackerClient::make(cluster.tracker->address(), {}));
        const auto session = take(RemoteSession::open({take(tracker->ask({"ticket", "x", "cpu"})), {}, {}, newSecret(), quickTiming()}, {}));
        QVERIFY(session->enter()); // and never leaves
        const auto call = [&](const Message& request) { return session->exchange(request, 5, std::chrono::seconds(5), {}, {}); };
        const Message profile = mockProfile(take(call(mockBuild())));
        QTest::qWait(1500);
        QVERIFY(take(call(mockBuild())).replied()); // nobody else wants it
        std::atomic<bool> answered = true;
        auto other = std::async(std::launch::async, [&] { return cluster.connect("y"); });
        std::thread busy([&] { // what is under way is not broken off
            while (!cluster.logged("ended the lease of x") && answered)
                if (const auto report = call(profile); !report.ok())
                    answered = false;
        });
        QVERIFY(other.wait_for(std::chrono::seconds(8)) == std::future_status::ready);
        busy.join();
        QVERIFY(cluster.logged("ended the lease of x"));
        QVERIFY(other.get()->build(mockBuild(), {}).replied());
    }

    // Nobody keeps a device by the calls that it has made: those that wait end with the turn, and one that goes on has a while.
    void aQueueEndsWithTheTurn_data() {
        QTest::addColumn<double>("ms");
        QTest::addColumn<bool>("ends");
        QTest::newRow("calls that wait") << 500.0 << true;
        QTest::newRow("a call without end") << 60'000.0 << false;
    }
    void aQueueEndsWithTheTurn() {
        QFETCH(double, ms);
        QFETCH(bool, ends);
        Cluster cluster;
        cluster.addMock("a", ms);
        const auto tracker = take(TrackerClient::make(cluster.tracker->address(), {}));
        RemoteSession::Setup setup{take(tracker->ask({"ticket", "x", "cpu"})), {}, {}, newSecret(), quickTiming()};
        setup.limits.profileSeconds = 600;
        const auto session = take(RemoteSession::open(setup, {}));
        QVERIFY(session->enter()); // and never leaves
        const Message profile = mockProfile(take(session->exchange(mockBuild(), 5, std::chrono::seconds(5), {}, {})));
        std::vector<std::future<Result<CallReport>>> calls;
        StopSource stop;
        for (int i = 0; i < 40; ++i)
            calls.push_back(std::async(std::launch::async, [&] { return session->exchange(profile, 1200, std::chrono::seconds(1200), stop.token(), {}); }));
        auto other = std::async(std::launch::async, [&] { return cluster.connect("y", 5); });
        const bool came = other.wait_for(std::chrono::seconds(8)) == std::future_status::ready;
        stop.requestStop();
        QVERIFY(came);
        QVERIFY(other.get()->build(mockBuild(), {}).replied());
        int replied = 0;
        for (auto& call : calls)
            if (const auto report = call.get(); report.ok() && report->replied())
                ++replied;
        QVERIFY2(ends ? replied > 0 && replied < 20 : replied == 0, qPrintable(QString::number(replied)));
    }

    void longCallsAreWaitedFor() {
        Cluster cluster;
        cluster.addMock("a", 2500); // longer than a server may be silent
        const auto executor = cluster.connect("x");
        QVERIFY(executor->measure(mockProfile(executor->build(mockBuild(), {})), 10, {}).replied());
        QVERIFY(!cluster.logged("knows nothing"));
    }

    void workersShareTheMemory() {
        Cluster cluster;
        std::mutex mutex;
        KernelWorkerOptions given;
        DeviceServerOptions options = cluster.serverOptions("a");
        options.device.machine.cores = 4;
        options.worker.memoryLimit = std::uint64_t(8) << 30;
        options.makeExecutor = [&](const KernelWorkerOptions& limits) -> Result<std::unique_ptr<KernelExecutor>> {
            const std::lock_guard lock(mutex);
            given = limits;
            return std::unique_ptr<KernelExecutor>(std::make_unique<MockExecutor>(MockOptions{}, limits));
        };
        cluster.add(std::move(options));
        RemoteOptions asked = cluster.clientOptions("x");
        asked.limits.builders = 100;
        QVERIFY(take(RemoteExecutor::connect(std::move(asked), {}))->build(mockBuild(), {}).replied());
        const std::lock_guard lock(mutex);
        QCOMPARE(given.builders, 4);
        QCOMPARE(given.worker.memoryLimit, std::uint64_t(4) << 30);
        QCOMPARE(given.builderMemory, std::uint64_t(1) << 30);
    }

    void allAddressesAreNone_data() {
        QTest::addColumn<QString>("listen");
        QTest::addColumn<QString>("advertised");
        QTest::addColumn<bool>("good");
        QTest::newRow("all") << "0.0.0.0:0" << "" << false;
        QTest::newRow("all of IPv6") << "[::]:0" << "" << false;
        QTest::newRow("all are advertised") << "127.0.0.1:0" << "0.0.0.0" << false;
        QTest::newRow("all, with a name") << "0.0.0.0:0" << "localhost" << true;
        QTest::newRow("one") << "127.0.0.1:0" << "" << true;
    }
    void allAddressesAreNone() {
        QFETCH(QString, listen);
        QFETCH(QString, advertised);
        QFETCH(bool, good);
        Cluster cluster;
        DeviceServerOptions options = cluster.serverOptions("a");
        options.listen = listen.toStdString();
        options.advertised = advertised.toStdString();
        options.access.insecure = true;
        options.makeExecutor = [](const KernelWorkerOptions& limits) -> Result<std::unique_ptr<KernelExecutor>> { return std::unique_ptr<KernelExecutor>(std::make_unique<MockExecutor>(MockOptions{}, limits)); };
        const auto server = DeviceServer::start(std::move(options));
        QCOMPARE(server.ok(), good);
        if (!good)
            QVERIFY2(server.error().message.find("--advertise HOST") != std::string::npos, server.error().message.c_str());
        else
            QVERIFY(cluster.connect("x")->build(mockBuild(), {}).replied());
    }

    void refusedRequestsDoNotCostTheDevice() {
        Cluster cluster;
        cluster.addMock("a");
        const auto executor = cluster.connect("x");
        Message request = mockBuild();
        request.body["verb"] = "measure_machine";
        const CallReport refused = executor->build(request, {});
        QVERIFY(refused.outcome == CallOutcome::refused);
        QVERIFY(cluster.logged("not served to others"));
        request = mockBuild();
        request.blobs.assign(1, std::vector<std::byte>(std::size_t(257) << 20));
        QVERIFY(executor->build(request, {}).outcome == CallOutcome::refused);
        QVERIFY(executor->build(mockBuild(), {}).replied());
        QVERIFY(!cluster.logged("lost"));
    }

    void stopsAtOnce() {
        Cluster cluster;
        cluster.addMock("a", 60'000);
        const auto executor = cluster.connect("x");
        const Message profile = mockProfile(executor->build(mockBuild(), {}));
        StopSource stop;
        auto measured = std::async(std::launch::async, [&] { return executor->measure(profile, 10, stop.token()); });
        QTest::qWait(200);
        QElapsedTimer clock;
        clock.start();
        stop.requestStop();
        QVERIFY(measured.get().outcome == CallOutcome::cancelled);
        QVERIFY2(clock.elapsed() < 500, qPrintable(QString::number(clock.elapsed())));
        QVERIFY(executor->build(mockBuild(), {}).replied()); // the device is still ours
    }
};

QTEST_GUILESS_MAIN(TestRemoteDevices)
#include "tst_remote_devices.moc"
