// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <atomic>
#include <map>
#include <new>
#include <thread>

#include "core/executors/mock_executor.h"
#include "core/schedule/tuner.h"
#include "tests/core/schedule/schedule_testing.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

// A device with made-up times that counts what it measures.
class Device : public KernelExecutor {
public:
    explicit Device(double profileMs = 1, int most = 1'000'000) : mock_({0, profileMs, 64, machineRow()}, limits()), left_(most) {}

    static MachineRow machineRow() { return {{}, "mock", "mock", "avx2", 4, "{}"}; }
    static KernelWorkerOptions limits() {
        KernelWorkerOptions options;
        options.builders = 2;
        return options;
    }
    const KernelWorkerOptions& options() const override { return mock_.options(); }
    Result<MachineRow> machine() const override { return mock_.machine(); }
    CallReport build(const Message& request, const StopToken& stop) override { return mock_.build(request, stop); }
    CallReport measure(Message request, double seconds, const StopToken& stop) override {
        if (throws)
            throw std::bad_alloc();
        if (--left_ < 0)
            return {};
        const std::lock_guard lock(mutex_);
        ++measured[request.body.at("workload").get<std::string>()];
        return mock_.measure(std::move(request), seconds, stop);
    }
    Status await(const StopToken& stop) override {
        while (away && !stop.stopRequested())
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return stop.stopRequested() ? cancelledError() : Status();
    }
    void rest() override { ++rests; }

    std::atomic<bool> away = false, throws = false;
    std::atomic<int> rests = 0;
    std::map<std::string, int> measured; // by workload; for the time after a run

private:
    MockExecutor mock_;
    std::atomic<int> left_; // then there is none any more
    std::mutex mutex_;
};

struct Bench {
    QTemporaryDir folder;
    std::shared_ptr<Store> store = take(Store::open(folder.filePath("t.db").toStdString()));
    Target target{Isa::avx2, "znver4", 1};
    std::vector<TuneTask> tasks;
    Bench() {
        for (const std::int64_t size : {7, 10, 14, 20})
            tasks.push_back({convWorkload(target, 16, size), 1});
    }
};

TuneOptions optionsOf(const std::vector<std::shared_ptr<Device>>& devices) {
    TuneOptions tuning;
    tuning.trialsPerWorkload = 12;
    tuning.batch = 4;
    tuning.seed = 5;
    tuning.transfer = false;
    tuning.workers = Device::limits();
    tuning.executor = devices.at(0);
    tuning.moreExecutors.assign(devices.begin() + 1, devices.end());
    return tuning;
}

std::vector<std::shared_ptr<Device>> devicesOf(int count, double profileMs = 1) {
    std::vector<std::shared_ptr<Device>> devices;
    for (int i = 0; i < count; ++i)
        devices.push_back(std::make_shared<Device>(profileMs));
    return devices;
}

QStringList trail(const Store& store, RunId run) {
    TrialFilter filter;
    filter.run = run;
    filter.limit = 1000;
    QStringList out;
    for (const TrialRow& row : take(store.trials(filter)))
        out << QString("%1 %2 %3 %4 %5").arg(QString::fromStdString(row.workload)).arg(row.index, 4).arg(row.batch).arg(QString::fromStdString(row.config)).arg(row.p5Ms.value_or(0), 0, 'g', 9);
    out.sort();
    return out;
}

TuneResult stoppedAfter(int trials, Bench& bench, const TuneOptions& tuning) {
    StopSource stop;
    int seen = 0;
    Tuner tuner(*bench.store, [&](const TuneEvent& event) {
        if (event.kind == TuneEvent::Kind::measured && ++seen == trials)
            stop.requestStop();
    });
    return take(tuner.run(bench.tasks, bench.target, tuning, stop.token()));
}

} // namespace

// One run on several devices.
class TestTunerLanes : public QObject {
    Q_OBJECT

private slots:
    // The others do not go on to their natural end first.
    void aLaneThrows_data() {
        QTest::addColumn<int>("which");
        QTest::newRow("the first") << 0;
        QTest::newRow("another") << 1;
    }
    void aLaneThrows() {
        QFETCH(const int, which);
        Bench bench;
        const auto devices = devicesOf(2);
        devices.at(which)->throws = true;
        TuneOptions tuning = optionsOf(devices);
        tuning.trialsPerWorkload = 400;
        tuning.strategy = "random";
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(Tuner(*bench.store).run(bench.tasks, bench.target, tuning).ok()), std::bad_alloc);
        int measured = 0;
        for (const auto& [workload, calls] : devices.at(1 - which)->measured)
            measured += calls;
        QVERIFY2(measured < 200, qPrintable(QString::number(measured)));
    }

    void theSameTrailOnAnyNumberOfDevices_data() {
        QTest::addColumn<QString>("strategy");
        for (const char* strategy : {"random", "genetic", "model-guided"})
            QTest::newRow(strategy) << strategy;
    }
    void theSameTrailOnAnyNumberOfDevices() {
        QFETCH(QString, strategy);
        Bench bench;
        QStringList alone;
        for (const int count : {1, 2, 6}) {
            const auto devices = devicesOf(count);
            TuneOptions tuning = optionsOf(devices);
            tuning.strategy = strategy.toStdString();
            const TuneResult result = take(Tuner(*bench.store).run(bench.tasks, bench.target, tuning));
            QVERIFY(result.reason == StopReason::budgetTrials && result.failed == 0 && result.afterMs);
            const QStringList made = trail(*bench.store, result.run);
            QCOMPARE(static_cast<std::size_t>(made.size()), result.trials);
            if (count == 1)
                alone = made;
            QCOMPARE(made, alone);
            std::map<std::string, int> homes; // of workloads
            for (const auto& device : devices)
                for (const auto& [workload, calls] : device->measured)
                    ++homes[workload];
            for (const auto& [workload, lanes] : homes)
                QCOMPARE(lanes, 1);
            const auto used = std::ranges::count_if(devices, [](const auto& device) { return !device->measured.empty(); });
            QVERIFY2(used >= std::min(count, 2), qPrintable(QString::number(used))); // of six any may come first
            QCOMPARE(devices[0]->rests.load(), count > 1 ? 1 : 0);
        }
        QVERIFY(take(bench.store->check()).ok);
    }

    void aSharedBudgetIsSpentOnce() {
        Bench bench;
        TuneOptions tuning = optionsOf(devicesOf(3));
        tuning.trialsPerWorkload.reset();
        for (const std::size_t budget : {3u, 30u, 61u}) {
            tuning.totalTrials = budget;
            const TuneResult result = take(Tuner(*bench.store).run(bench.tasks, bench.target, tuning));
            QCOMPARE(result.reason, StopReason::budgetTrials);
            const auto finals = std::ranges::count_if(result.workloads, [](const TunedWorkload& workload) { return workload.trials > 0; });
            QCOMPARE(result.trials, budget + static_cast<std::size_t>(finals));
        }
        tuning.totalTrials.reset();
        tuning.seconds = 0.5;
        const TuneResult timed = take(Tuner(*bench.store).run(bench.tasks, bench.target, tuning));
        QVERIFY(timed.seconds >= 0.5 && timed.seconds < 2);
        for (const TunedWorkload& workload : timed.workloads)
            QVERIFY(workload.trials > 1 && workload.bestMs);
    }

    // Stopped with some devices, gone on with by others.
    void resumesAsItWould_data() {
        QTest::addColumn<int>("after");
        QTest::addColumn<int>("before");
        QTest::addColumn<int>("then");
        QTest::newRow("two, then one") << 20 << 2 << 1;
        QTest::newRow("one, then three") << 9 << 1 << 3;
        QTest::newRow("in the finals") << 47 << 3 << 2;
    }
    void resumesAsItWould() {
        QFETCH(int, after);
        QFETCH(int, before);
        QFETCH(int, then);
        Bench bench;
        const TuneResult whole = take(Tuner(*bench.store).run(bench.tasks, bench.target, optionsOf(devicesOf(1))));
        const TuneResult part = stoppedAfter(after, bench, optionsOf(devicesOf(before)));
        QCOMPARE(part.reason, StopReason::cancelled);
        const TuneResult rest = take(Tuner(*bench.store).resume(part.run, optionsOf(devicesOf(then))));
        QCOMPARE(rest.reason, StopReason::budgetTrials);
        const auto withoutFinals = [&](RunId run) { // whose numbers depend on when they were held
            QStringList kept = trail(*bench.store, run);
            kept.removeIf([](const QString& row) { return row.section(' ', 1, -1, QString::SectionSkipEmpty).section(' ', 0, 0).toInt() >= 12; });
            return kept;
        };
        QCOMPARE(withoutFinals(part.run), withoutFinals(whole.run));
    }

    void aSharedBudgetIsNotOverspentByAResume() {
        Bench bench;
        TuneOptions tuning = optionsOf(devicesOf(3));
        tuning.trialsPerWorkload.reset();
        tuning.totalTrials = 40;
        for (const int after : {5, 21, 39}) {
            const TuneResult part = stoppedAfter(after, bench, tuning);
            QCOMPARE(part.reason, StopReason::cancelled);
            const TuneResult rest = take(Tuner(*bench.store).resume(part.run, tuning));
            QCOMPARE(rest.reason, StopReason::budgetTrials);
            // What is left of the budget may go to a workload that had its final: then that has another one.
            TrialFilter filter;
            filter.run = part.run;
            filter.limit = 1000;
            const std::vector<TrialRow> rows = take(bench.store->trials(filter));
            const auto finals = std::ranges::count_if(rows, &TrialRow::isFinal);
            QVERIFY2(finals >= 4 && finals <= 7, qPrintable(QString::number(finals)));
            QCOMPARE(static_cast<std::ptrdiff_t>(rows.size()) - finals, std::ptrdiff_t(40));
            QCOMPARE(rest.trials, rows.size());
        }
    }

    // Nobody waits for devices that do not come; those that come late join.
    void devicesMayStayAway() {
        Bench bench;
        auto devices = devicesOf(3);
        devices[1]->away = devices[2]->away = true;
        const TuneResult result = take(Tuner(*bench.store).run(bench.tasks, bench.target, optionsOf(devices)));
        QVERIFY(result.reason == StopReason::budgetTrials && devices[1]->measured.empty() && devices[2]->measured.empty());
        devices[0]->measured.clear();
        Tuner tuner(*bench.store, [&](const TuneEvent& event) {
            if (event.kind == TuneEvent::Kind::measured)
                devices[2]->away = false;
        });
        QCOMPARE(take(tuner.run(bench.tasks, bench.target, optionsOf(devices))).reason, StopReason::budgetTrials);
        QVERIFY(devices[1]->measured.empty() && !devices[2]->measured.empty());
    }

    // When nothing can be measured any more on one of them, for good, the run has failed, and at once.
    void aLaneThatBreaksEndsTheRun() {
        Bench bench;
        auto devices = devicesOf(2, 20);
        devices[1] = std::make_shared<Device>(1, 3);
        TuneOptions tuning = optionsOf(devices);
        tuning.trialsPerWorkload = 10'000;
        QVERIFY(!Tuner(*bench.store).run(bench.tasks, bench.target, tuning).ok());
        QCOMPARE(take(bench.store->runs()).front().state, RunState::failed);
    }

    void stopsAtOnce() {
        Bench bench;
        StopSource stop;
        std::chrono::steady_clock::time_point asked;
        std::jthread button([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            asked = std::chrono::steady_clock::now();
            stop.requestStop();
        });
        auto devices = devicesOf(3, 5'000);
        devices[2]->away = true;
        const TuneResult result = take(Tuner(*bench.store).run(bench.tasks, bench.target, optionsOf(devices), stop.token()));
        QCOMPARE(result.reason, StopReason::cancelled);
        QVERIFY(std::chrono::steady_clock::now() - asked < std::chrono::milliseconds(100));
    }
};

QTEST_GUILESS_MAIN(TestTunerLanes)
#include "tst_tuner_lanes.moc"
