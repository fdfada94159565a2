// SPDX-License-Identifier: GPL-3.0-or-later
#include <nlohmann/json.hpp>
#include <thread>

#include "tuner_testing.h"

using namespace tunesmith;
using namespace tunesmith::testing;
using Clock = std::chrono::steady_clock;

// How soon a tuning ends that is told to, or has spent its seconds.
class TestTunerStops : public QObject {
    Q_OBJECT

private slots:
    void stopsAtOnce_data() {
        QTest::addColumn<QString>("fault");
        QTest::newRow("while measuring") << "hang";
        QTest::newRow("while building") << "build-hang";
    }
    void stopsAtOnce() {
        QFETCH(QString, fault);
        Bench bench;
        const Workload workload = convWorkload(bench.target);
        const std::string bad = take(ScheduleSpace::make(workload, bench.target)).defaultConfig().text();
        StopSource stop;
        Clock::time_point asked;
        std::jthread button([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(1500));
            asked = Clock::now();
            stop.requestStop();
        });
        const auto workers = testWorkers({{"TEST_INJECT", nlohmann::json{{fault.toStdString(), bad}}.dump()}});
        const TuneResult result = take(Tuner(*bench.store).run({{workload, 1}}, bench.target, options(12, workers), stop.token()));
        const double late = std::chrono::duration<double>(Clock::now() - asked).count();
        QCOMPARE(result.reason, StopReason::cancelled);
        QVERIFY2(late < 0.2, qPrintable(QString::number(late)));
        QTRY_COMPARE(childCount(), 0);
    }

    void endsWithItsSeconds() {
        Bench bench;
        const std::vector<TuneTask> tasks{{convWorkload(bench.target), 1}, {convWorkload(bench.target, 32, 7), 1}};
        TuneOptions tuning = options(1, fakeWorkers(10));
        tuning.trialsPerWorkload.reset();
        tuning.seconds = 2;
        const TuneResult result = take(Tuner(*bench.store).run(tasks, bench.target, tuning));
        QCOMPARE(result.reason, StopReason::budgetTime);
        QVERIFY2(result.seconds >= 2 && result.seconds < 5, qPrintable(QString::number(result.seconds)));
        QVERIFY(result.workloads[0].trials >= 4 && result.workloads[1].trials >= 4); // each had its turn
        QCOMPARE(take(bench.store->run(result.run)).state, RunState::completed);
    }
};

QTEST_GUILESS_MAIN(TestTunerStops)
#include "tst_tuner_stops.moc"
