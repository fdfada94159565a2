// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/process/text_program.h"
#include "core/search/strategy_table.h"
#include "core/workbench/tune_problem.h"
#include "problem_files.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::testing;

// The flags of a small C program, tuned for real: by random search and the first strategy, by all of them where TUNESMITH_ALL_STRATEGIES is set.
class ProgramExampleTest : public QObject {
    Q_OBJECT

private slots:
    void beatsTheDefault_data() {
        QTest::addColumn<QString>("strategy");
        const bool all = qEnvironmentVariableIsSet("TUNESMITH_ALL_STRATEGIES");
        for (const StrategyEntry& entry : strategyTable())
            if (all || entry.name == "random" || entry.name == strategyTable().front().name)
                QTest::newRow(std::string(entry.name).c_str()) << QString::fromStdString(std::string(entry.name));
    }
    void beatsTheDefault() {
        QFETCH(QString, strategy);
        if (!findProgram("gcc"))
            QSKIP("there is no gcc");
        const ProblemFolder folder;
        TuneProblemRequest request;
        request.file = TUNESMITH_SOURCE_DIR "/plugins/hello/examples/blur.toml";
        request.store = folder.path("store.db").toStdString();
        request.strategy = strategy.toStdString();
        request.trials = 16;
        const TunedProblem tuned = take(tuneProblem(request));
        qInfo("%s: %.2f instead of %.2f ms, %s (%s)", request.strategy.c_str(), *tuned.bestValue, *tuned.defaultValue, tuned.verdict.c_str(), tuned.bestConfig.c_str());
        QCOMPARE(tuned.stopReason, std::string("budget_trials"));
        QCOMPARE(tuned.trials, std::int64_t(17)); // with the final
        QCOMPARE(tuned.failed, std::int64_t(0));
        QVERIFY(tuned.defaultConfig.starts_with("level -O2, "));
        QVERIFY(*tuned.bestValue < 0.8 * *tuned.defaultValue);
        QVERIFY2(QString::fromStdString(tuned.verdict).contains("times as fast") || tuned.verdict.ends_with(" % faster"), tuned.verdict.c_str());
    }
};

QTEST_GUILESS_MAIN(ProgramExampleTest)
#include "tst_program_example.moc"
