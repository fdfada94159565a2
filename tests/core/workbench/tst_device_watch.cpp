// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QTest>
#include <memory>

#include "core/executors/tracker.h"
#include "core/executors/tracker_client.h"
#include "core/jobs/scheduling_policy.h"
#include "core/workbench/device_watch.h"
#include "tests/core/executors/fake_server.h"
#include "tests/core/executors/remote_testing.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

struct Bench {
    StageBoard board{{}, take(makePolicy("fair"))};
    std::vector<std::unique_ptr<SilentTracker>> silent;
    std::unique_ptr<DeviceWatch> watch = std::make_unique<DeviceWatch>(board);

    explicit Bench(int count) {
        for (int i = 0; i < count; ++i)
            silent.push_back(std::make_unique<SilentTracker>());
        for (const auto& tracker : silent)
            add(tracker->address(), "none");
    }
    void add(const std::string& tracker, const std::string& key) {
        DeviceChoice choice;
        choice.tracker = tracker;
        choice.key = key;
        watch->add(choice);
    }
    int amountOf(const std::string& key) const {
        for (const Resource& resource : board.resources())
            if (resource.name == DeviceWatch::resourceOf(key))
                return resource.amount;
        return 0;
    }
    bool allAsked() const {
        return std::ranges::all_of(silent, [](const auto& tracker) { return tracker->asked() > 0; });
    }
};

} // namespace

// Trackers that take calls and say nothing.
class TstDeviceWatch : public QObject {
    Q_OBJECT

private slots:
    void theEndWaitsForNobody() {
        Bench bench(4);
        bench.watch->begin();
        QTRY_VERIFY_WITH_TIMEOUT(bench.silent[0]->asked() > 0, 5000);
        QElapsedTimer timer;
        timer.start();
        bench.watch.reset();
        QVERIFY2(timer.elapsed() < 1500, qPrintable(QString::number(timer.elapsed())));
    }

    void othersAreCountedMeanwhile() {
        Bench bench(4);
        const auto tracker = take(Tracker::start({}));
        const auto server = take(TrackerClient::make(tracker->address(), {}));
        take(server->add(testDevice("a"), {}));
        bench.add(tracker->address(), "cpu");
        bench.watch->begin();
        QTRY_COMPARE_WITH_TIMEOUT(bench.amountOf("cpu"), 1, 2000);
        QTRY_VERIFY_WITH_TIMEOUT(bench.allAsked(), 2000);
        QCOMPARE(bench.amountOf("none"), 0);
        bench.watch->countMissing("cpu", true);
        QCOMPARE(bench.amountOf("cpu"), 2);
    }
};

QTEST_GUILESS_MAIN(TstDeviceWatch)
#include "tst_device_watch.moc"
