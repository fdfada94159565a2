// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/job.h"
#include <QSignalSpy>
#include <QTest>
#include <atomic>
#include <stdexcept>
#include <thread>

using namespace tunesmith;

namespace {

// Works until it is asked to stop; says so.
int untilStopped(const Work& work) {
    while (!work.stop.stopRequested())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return -1;
}

} // namespace

class TstJob : public QObject {
    Q_OBJECT
private slots:
    void deliversHere() {
        Job job;
        QSignalSpy finished(&job, &Job::finished);
        std::thread::id worker;
        int result = 0;
        std::thread::id receiver;
        job.start(
            "six by seven",
            [&](const Work&) {
                worker = std::this_thread::get_id();
                return 42;
            },
            [&](int value) {
                result = value;
                receiver = std::this_thread::get_id();
            });
        QVERIFY(job.running());
        QVERIFY(finished.wait());
        QCOMPARE(result, 42);
        QVERIFY(!job.running());
        QVERIFY(receiver == std::this_thread::get_id());
        QVERIFY(worker != receiver);
    }

    void newestWins() {
        Job job;
        QSignalSpy finished(&job, &Job::finished);
        QVector<int> results;
        const auto keep = [&](int value) { results.push_back(value); };
        job.start("old", untilStopped, keep);
        job.start(
            "new", [](const Work&) { return 2; }, keep);
        QVERIFY(finished.wait());
        QTest::qWait(50); // the old one has ended by now
        QCOMPARE(results, QVector<int>{2});
        QCOMPARE(finished.count(), 1);
    }

    void stopIsAWish() {
        Job job;
        QSignalSpy finished(&job, &Job::finished);
        int result = 0;
        job.start("endless", untilStopped, [&](int value) { result = value; });
        job.stop();
        QVERIFY(finished.wait());
        QCOMPARE(result, -1);
    }

    void progressIsThrottled() {
        Job job;
        QSignalSpy finished(&job, &Job::finished), progressed(&job, &Job::progressed);
        job.start(
            "busy",
            [](const Work& work) {
                for (int i = 0; i <= 100000; ++i)
                    work.report("counting", i / 100000.0);
                return 0;
            },
            [](int) {});
        QVERIFY(finished.wait());
        QVERIFY2(progressed.count() < 100, qPrintable(QString::number(progressed.count())));
        QCOMPARE(progressed.last().at(0).toString(), QStringLiteral("counting"));
        QCOMPARE(progressed.last().at(1).toDouble(), 1.0); // the last one is never lost
    }

    void exceptionsAreSaid() {
        Job job;
        QSignalSpy failed(&job, &Job::failed), finished(&job, &Job::finished);
        job.start(
            "bad", [](const Work&) -> int { throw std::runtime_error("no memory"); },
            [](int) { QFAIL("there is no result"); });
        QVERIFY(finished.wait());
        QCOMPARE(failed.count(), 1);
        QCOMPARE(failed.first().first().toString(), QStringLiteral("no memory"));
    }

    void destructionStopsAndWaits() {
        std::atomic<bool> ended = false;
        {
            Job job;
            job.start(
                "endless",
                [&](const Work& work) {
                    untilStopped(work);
                    ended = true;
                    return 0;
                },
                [](int) { QFAIL("nobody is left to receive this"); });
        }
        QVERIFY(ended);
    }
};

QTEST_GUILESS_MAIN(TstJob)
#include "tst_job.moc"
