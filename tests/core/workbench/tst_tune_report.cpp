// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/workbench/tune.h"

using namespace tunesmith;

class TuneReports : public QObject {
    Q_OBJECT

private slots:
    // A tuning that came to nothing is a failure, which the command's status and the job's state say.
    void failures_data() {
        QTest::addColumn<QString>("reason");
        QTest::addColumn<int>("trials");
        QTest::addColumn<int>("failed");
        QTest::addColumn<QString>("says");
        QTest::newRow("some") << "budget_trials" << 10 << 9 << "";
        QTest::newRow("none") << "budget_trials" << 10 << 0 << "";
        QTest::newRow("nothing was tried") << "target_reached" << 0 << 0 << "";
        QTest::newRow("all") << "budget_trials" << 10 << 10 << "all 20 trials failed";
        QTest::newRow("broke") << "failed" << 10 << 2 << "the compiler is gone";
    }
    void failures() {
        QFETCH(const QString, reason);
        QFETCH(const int, trials);
        QFETCH(const int, failed);
        QFETCH(const QString, says);
        TunedRun run;
        run.stopReason = reason.toStdString();
        run.message = says.startsWith("all") ? "" : says.toStdString();
        run.trials = trials;
        run.failed = failed;
        TuneReport report;
        report.runs = {run, run};
        const QString failure = QString::fromStdString(report.failure());
        QVERIFY2(says.isEmpty() ? failure.isEmpty() : failure.startsWith(says), qPrintable(failure));
    }

    void oneLegThatWorkedIsEnough() {
        TunedRun bad, good;
        bad.trials = bad.failed = good.trials = 4;
        TuneReport report;
        report.runs = {bad, good};
        QCOMPARE(report.failure(), std::string());
    }
};

QTEST_GUILESS_MAIN(TuneReports)
#include "tst_tune_report.moc"
