// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/history.h"
#include "tests/app/gui/tuning_fixture.h"
#include "tests/widgets/quiet_test.h"
#include "widgets/tune/workload_table.h"
#include <QComboBox>
#include <QLabel>
#include <QSignalSpy>
#include <QThread>

using namespace tunesmith;

namespace {

// What the page shows whenever a leg has begun, and what was measured in it.
struct Legs {
    struct Seen {
        TuneLeg leg;
        int dots = 0, done = 0; // when it began
        QString headline;
        int trials = 0, failed = 0; // until it ended
    };
    explicit Legs(TunePage* page) {
        QObject::connect(&page->runner(), &TuneRunner::legStarted, page, [this, page](const TuneLeg& leg) {
            seen.push_back({leg, dots(page), trialsInTable(page), headline(page)});
        });
        QObject::connect(&page->runner(), &TuneRunner::trialsMeasured, page,
                         [this](const QVector<TuneTrial>& trials) {
                             for (const TuneTrial& trial : trials) {
                                 ++seen.back().trials;
                                 seen.back().failed += !trial.ms;
                             }
                         });
    }
    static QString headline(const TunePage* page) {
        return page->findChild<QLabel*>(QStringLiteral("headline"))->text();
    }
    static int trialsInTable(const TunePage* page) {
        const auto* model = page->findChild<WorkloadTable*>()->model();
        int trials = 0;
        for (int row = 0; row < model->rowCount(); ++row)
            trials += model->index(row, WorkloadModel::trials)
                          .data()
                          .toString()
                          .section(QLatin1Char(' '), 0, 0)
                          .toInt();
        return trials;
    }

    QVector<Seen> seen;
};

QComboBox* runBox(const TunePage* page) {
    return page->findChild<QComboBox*>(QStringLiteral("runs"));
}

std::vector<RunSummary> storedRuns(const WindowFixture& fixture) {
    return tuningRuns(fixture.store().toStdString()).valueOr({});
}

// Nothing runs, and the page shows what the store says.
bool settled(TunePage* page) {
    return !page->running() && !page->historyJob().running();
}

} // namespace

// Without a choice of threads a tuning is two runs: for one thread, then for all cores.
class TstTuningLegs : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        if (QThread::idealThreadCount() < 2)
            QSKIP("this machine has one core");
    }
    void init() { QuietTest::start(); }
    void cleanup() { QuietTest::finish(); }

    void eachLegHasItsOwnCurvesAndRun() {
        WindowFixture fixture;
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 3, {});
        QVERIFY(page);
        QCOMPARE(page->threads(), 0);
        Legs legs(page);
        const int workloads = page->findChild<WorkloadTable*>()->model()->rowCount();
        QSignalSpy tuned(page, &TunePage::tuned);
        page->start();
        QCOMPARE(Legs::headline(page), QStringLiteral("Preparing to tune mlp"));
        QTRY_VERIFY_WITH_TIMEOUT(settled(page), kPatience);
        QCOMPARE(tuned.count(), 1);

        QCOMPARE(legs.seen.size(), 2);
        const int cores = legs.seen[1].leg.threads;
        QVERIFY(legs.seen[0].leg.threads == 1 && cores > 1);
        for (const Legs::Seen& leg : legs.seen) {
            QCOMPARE(leg.dots, 0);
            QCOMPARE(leg.done, 0);
            QVERIFY(leg.trials >= 3 * workloads);
        }
        QCOMPARE(legs.seen[0].headline, QStringLiteral("Tuning mlp for one thread (part 1 of 2)"));
        QCOMPARE(legs.seen[1].headline, QStringLiteral("Tuning mlp for %1 threads (part 2 of 2)").arg(cores));
        QCOMPARE(dots(page), legs.seen[1].trials - legs.seen[1].failed);
        QCOMPARE(Legs::trialsInTable(page), legs.seen[1].trials);
        const QString both = tuned.first().first().toString();
        QVERIFY2(both.contains(QStringLiteral("on one thread")), qPrintable(both));
        QVERIFY2(both.contains(QStringLiteral("on %1 threads").arg(cores)), qPrintable(both));
        QVERIFY2(both.endsWith(Legs::headline(page)), qPrintable(both));

        QCOMPARE(runBox(page)->count(), 2); // the newest first, and shown
        QCOMPARE(runBox(page)->currentIndex(), 0);
        runBox(page)->setCurrentIndex(1);
        emit runBox(page)->activated(1);
        QTRY_VERIFY_WITH_TIMEOUT(settled(page), kPatience);
        QCOMPARE(dots(page), legs.seen[0].trials - legs.seen[0].failed);
        QVERIFY2(Legs::headline(page).contains(QStringLiteral("on one thread")),
                 qPrintable(Legs::headline(page)));
    }

    void aChosenThreadCountIsOneLeg() {
        WindowFixture fixture;
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 1, 2);
        QVERIFY(page);
        Legs legs(page);
        QSignalSpy tuned(page, &TunePage::tuned);
        page->start();
        QTRY_VERIFY_WITH_TIMEOUT(tuned.count() > 0, kPatience);
        QCOMPARE(legs.seen.size(), 1);
        QCOMPARE(legs.seen[0].headline, QStringLiteral("Tuning mlp for 2 threads"));
    }

    void pausedInTheFirstLegItGoesOnToTheSecond() {
        WindowFixture fixture;
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 6, {});
        QVERIFY(page);
        page->start();
        QTRY_VERIFY_WITH_TIMEOUT(dots(page) > 0, kPatience);
        page->pause();
        QTRY_VERIFY_WITH_TIMEOUT(settled(page), kPatience);
        QCOMPARE(runBox(page)->count(), 1);
        QVERIFY2(Legs::headline(page).startsWith(QStringLiteral("Paused")), qPrintable(Legs::headline(page)));
        const int before = dots(page);

        Legs legs(page);
        QSignalSpy tuned(page, &TunePage::tuned);
        page->resume();
        QTRY_VERIFY_WITH_TIMEOUT(settled(page), kPatience);
        QCOMPARE(tuned.count(), 1);
        QCOMPARE(legs.seen.size(), 2);
        QCOMPARE(legs.seen[0].dots, before); // its curves go on
        QVERIFY(legs.seen[0].trials > 0);
        QCOMPARE(legs.seen[1].dots, 0);
        const auto runs = storedRuns(fixture);
        QCOMPARE(runs.size(), std::size_t(2));
        for (const RunSummary& run : runs)
            QVERIFY(!run.resumable && run.state == "COMPLETED");
        QCOMPARE(runBox(page)->count(), 2);
        QVERIFY(!Legs::headline(page).startsWith(QStringLiteral("Paused")));
    }

    void pausedInTheSecondLegOnlyThatGoesOn() {
        WindowFixture fixture;
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 6, {});
        QVERIFY(page);
        Legs legs(page);
        page->start();
        QTRY_VERIFY_WITH_TIMEOUT(legs.seen.size() == 2 && legs.seen[1].trials > 0, kPatience);
        page->pause();
        QTRY_VERIFY_WITH_TIMEOUT(settled(page), kPatience);
        QCOMPARE(storedRuns(fixture).size(), std::size_t(2));
        const int before = dots(page);
        QVERIFY(before > 0);
        page->resume();
        QTRY_VERIFY_WITH_TIMEOUT(settled(page), kPatience);
        QCOMPARE(legs.seen.size(), 3);
        QCOMPARE(legs.seen[2].leg.threads, legs.seen[1].leg.threads);
        QCOMPARE(legs.seen[2].dots, before);
        QCOMPARE(legs.seen[2].headline,
                 QStringLiteral("Tuning mlp for %1 threads").arg(legs.seen[1].leg.threads));
        QCOMPARE(storedRuns(fixture).size(), std::size_t(2));
    }

    // While the whole model is measured, the first run has all its trials and the second does not exist yet.
    void pausedBetweenTheLegsTheSecondFollows() {
        WindowFixture fixture;
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 2, {});
        QVERIFY(page);
        QSignalSpy progressed(&page->runner().job(), &Job::progressed);
        const auto measuring = [&progressed] {
            return !progressed.isEmpty() &&
                   progressed.last().first().toString() == QStringLiteral("measuring the whole model");
        };
        page->start();
        QTRY_VERIFY_WITH_TIMEOUT(measuring(), kPatience);
        page->pause();
        QTRY_VERIFY_WITH_TIMEOUT(settled(page), kPatience);
        QCOMPARE(storedRuns(fixture).size(), std::size_t(1));
        QVERIFY(page->commands()[2]->isEnabled()); // resume
        Legs legs(page);
        page->resume();
        QTRY_VERIFY_WITH_TIMEOUT(legs.seen.size() == 2, kPatience);
        page->stop();
        QTRY_VERIFY_WITH_TIMEOUT(!page->running(), kPatience);
    }
};

int main(int argc, char** argv) {
    return windowTestMain<TstTuningLegs>("tst_tuning_legs", argc, argv);
}
#include "tst_tuning_legs.moc"
