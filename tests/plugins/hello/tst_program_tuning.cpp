// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <unistd.h>

#include "core/search/strategy_table.h"
#include "core/store/store.h"
#include "core/workbench/tune_problem.h"
#include "problem_files.h"
#include "tests/child_process.h"
#include "tests/core/workbench/told_gate.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

// A number, a flag with a number of its own, and an order: 5 * (1 + 3) * 6 = 120 configs. The best is n 4, extra on, more 2, order c a b, at 1.
constexpr const char* kFile = R"(
[parameters.n]
type = 'int'
low = 1
high = 5

[parameters.extra]
type = 'flag'
on = '1'
off = '0'

[parameters.more]
type = 'int'
low = 1
high = 3
when = 'extra == on'

[parameters.order]
type = 'permutation'
items = ['a', 'b', 'c']

[run]
command = ['sh', '-c', '''
d=$(( $1 > 4 ? $1 - 4 : 4 - $1 )); cost=$(( 1 + 3 * d ))
if [ $2 = 1 ]; then m=$(( $3 > 2 ? $3 - 2 : 2 - $3 )); cost=$(( cost + m )); else cost=$(( cost + 5 )); fi
case $4$5$6 in cab) ;; c*) cost=$(( cost + 1 ));; *) cost=$(( cost + 2 ));; esac
echo $cost''', 'score', '{n}', '{extra}', '0{more}', '{order}']

[score]
from = 'stdout'
unit = 'points'
)";

QByteArray fileText() { return kFile; }

} // namespace

// Problem files through the whole of the workbench: strategies, the store, resume.
class ProgramTuningTest : public QObject {
    Q_OBJECT

    static TuneProblemRequest requestFor(const ProblemFolder& folder, const QByteArray& text, const std::string& strategy, std::int64_t trials) {
        TuneProblemRequest request;
        request.file = folder.problem(text);
        request.store = folder.path("store.db").toStdString();
        request.strategy = strategy;
        request.trials = trials;
        return request;
    }
    static std::vector<TrialRow> rowsOf(const std::string& store, std::int64_t run) {
        TrialFilter filter;
        filter.run = RunId(run);
        auto rows = take(take(Store::open(store, StoreMode::readOnly))->trials(filter));
        std::ranges::sort(rows, {}, &TrialRow::index);
        return rows;
    }
    static std::vector<std::string> trailOf(const std::string& store, std::int64_t run) {
        std::vector<std::string> trail;
        for (const TrialRow& row : rowsOf(store, run))
            trail.push_back(row.config + " " + row.status + " " + std::to_string(row.p5Ms.value_or(-1)));
        return trail;
    }
    static void isSound(const std::string& store) {
        const StoreCheck check = take(take(Store::open(store, StoreMode::readOnly))->check());
        QVERIFY2(check.ok, check.problems.empty() ? "" : check.problems.front().c_str());
    }
    static void strategyRows() {
        QTest::addColumn<QString>("strategy");
        for (const StrategyEntry& entry : strategyTable())
            QTest::newRow(std::string(entry.name).c_str()) << QString::fromStdString(std::string(entry.name));
    }
    static QString messageOf(const Result<TunedProblem>& tuned) { return tuned.ok() ? QString() : QString::fromStdString(tuned.error().message); }

private slots:
    // The program that is killed by killedAndResumed().
    void initTestCase() {
        if (const QByteArray file = qgetenv("TEST_TUNED_FILE"); !file.isEmpty()) {
            TuneProblemRequest request;
            request.file = file.toStdString();
            request.store = qgetenv("TEST_TUNED_STORE").toStdString();
            request.strategy = qgetenv("TEST_TUNED_STRATEGY").toStdString();
            request.trials = 32;
            (void)tuneProblem(request);
            ::_exit(0);
        }
    }

    void everyStrategyFindsTheBest_data() { strategyRows(); }
    void everyStrategyFindsTheBest() {
        QFETCH(QString, strategy);
        const ProblemFolder folder;
        const TuneProblemRequest request = requestFor(folder, fileText(), strategy.toStdString(), 200);
        const TunedProblem tuned = take(tuneProblem(request));
        QCOMPARE(tuned.space, 120.0);
        QCOMPARE(tuned.trials, std::int64_t(120)); // all of them, each once
        QCOMPARE(tuned.failed, std::int64_t(0));
        QCOMPARE(tuned.stopReason, std::string("exhausted"));
        QCOMPARE(*tuned.bestValue, 1.0);
        QCOMPARE(tuned.bestConfig, std::string("n 4, extra on, more 2, order c a b"));
        QCOMPARE(*tuned.defaultValue, 17.0);
        QCOMPARE(tuned.defaultConfig, std::string("n 1, extra off, order a b c"));
        QCOMPARE(rowsOf(request.store, tuned.run).front().config, std::string("0,0,0,0,0")); // the default first
        isSound(request.store);
    }

    void theSameSeedTheSameTrail_data() { strategyRows(); }
    void theSameSeedTheSameTrail() {
        QFETCH(QString, strategy);
        const ProblemFolder folder;
        TuneProblemRequest request = requestFor(folder, fileText(), strategy.toStdString(), 24);
        const auto once = take(tuneProblem(request)), again = take(tuneProblem(request));
        QCOMPARE(once.stopReason, std::string("budget_trials"));
        QCOMPARE(trailOf(request.store, again.run), trailOf(request.store, once.run));
        request.seed = 2;
        if (strategy != "grid")
            QVERIFY(trailOf(request.store, take(tuneProblem(request)).run) != trailOf(request.store, once.run));
    }

    void killedAndResumed_data() { strategyRows(); }
    void killedAndResumed() {
        QFETCH(QString, strategy);
        const ProblemFolder folder;
        TuneProblemRequest request = requestFor(folder, fileText(), strategy.toStdString(), 32);
        const TunedProblem whole = take(tuneProblem(request));
        const std::vector<std::string> trail = trailOf(request.store, whole.run);

        request.store = folder.path("killed.db").toStdString();
        qputenv("TEST_TUNED_FILE", QByteArray::fromStdString(request.file.string()));
        qputenv("TEST_TUNED_STORE", QByteArray::fromStdString(request.store));
        qputenv("TEST_TUNED_STRATEGY", strategy.toUtf8());
        ChildProcess child(QCoreApplication::applicationFilePath(), {});
        qunsetenv("TEST_TUNED_FILE");
        const auto stored = [&]() -> std::size_t {
            const auto store = Store::open(request.store, StoreMode::readOnly);
            TrialFilter filter;
            filter.run = RunId(1);
            const auto rows = store.ok() ? (*store)->trials(filter) : Result<std::vector<TrialRow>>(store.error());
            return rows.ok() ? rows->size() : 0;
        };
        QVERIFY(QTest::qWaitFor([&] { return stored() >= 10; }, 60000));
        child.kill();
        QVERIFY(stored() < 32);

        request.resume = 1;
        const TunedProblem resumed = take(tuneProblem(request));
        QCOMPARE(resumed.trials, std::int64_t(32));
        QCOMPARE(trailOf(request.store, 1), trail);
        QCOMPARE(resumed.bestKey, whole.bestKey);
        isSound(request.store);
    }

    void whatFailsIsKept() {
        const ProblemFolder folder;
        const QByteArray text = "[parameters.n]\ntype = 'int'\nlow = 1\nhigh = 6\n[run]\ncommand = ['sh', '-c', 'case $0 in 2) exit 7;; 3) kill -ABRT $$;; 4) echo nan;; 5) sleep 100;; *) echo $0;; esac', '{n}']\n"
                                "timeout = 0.2\n[score]\nfrom = 'stdout'\nhigher_is_better = true\n";
        const TuneProblemRequest request = requestFor(folder, text, "grid", 10);
        const TunedProblem tuned = take(tuneProblem(request));
        QCOMPARE(tuned.trials, std::int64_t(6));
        QCOMPARE(tuned.failed, std::int64_t(4));
        QCOMPARE(*tuned.bestValue, 6.0);
        QCOMPARE(*tuned.defaultValue, 1.0);
        QVERIFY(QString::fromStdString(tuned.firstFailure).contains("status 7"));
        QStringList statuses;
        for (const TrialRow& row : rowsOf(request.store, tuned.run))
            statuses << QString::fromStdString(row.status);
        QCOMPARE(statuses.join(' '), QString("ok run_error crash run_error run_timeout ok"));
        QCOMPARE(*rowsOf(request.store, tuned.run).back().p5Ms, -6.0); // smaller is better there
        isSound(request.store);
    }

    void aHigherScoreIsLearnedFrom() {
        const ProblemFolder folder;
        const QByteArray text = fileText().replace("echo $cost", "echo $(( 100 - cost ))") + "higher_is_better = true\n";
        for (const char* strategy : {"coordinate", "annealing", "bandit"}) {
            const TunedProblem tuned = take(tuneProblem(requestFor(folder, text, strategy, 80)));
            QVERIFY2(*tuned.bestValue >= 97, strategy);
            QCOMPARE(*tuned.defaultValue, 83.0);
        }
    }

    void timesAreComparedInTurns() {
        const ProblemFolder folder;
        const QByteArray text = "[parameters.s]\ntype = 'enum'\nvalues = ['0.03', '0.02', '0.01']\n[run]\ncommand = ['sleep', '{s}']\nrepeat = 5\n[score]\nfrom = 'time'\n";
        TuneProblemRequest request = requestFor(folder, text, "grid", 10);
        const TunedProblem tuned = take(tuneProblem(request));
        QCOMPARE(tuned.bestConfig, std::string("s 0.01"));
        QVERIFY2(QString::fromStdString(tuned.verdict).contains("times as fast"), tuned.verdict.c_str());
        QVERIFY(rowsOf(request.store, tuned.run).back().isFinal);
        const RunRow row = take(take(Store::open(request.store, StoreMode::readOnly))->run(RunId(tuned.run)));
        QVERIFY(row.kind == "problem" && row.state == RunState::completed && *row.afterMs < *row.beforeMs);
        isSound(request.store);
        request.resume = tuned.run; // what has ended says the same again
        const TunedProblem again = take(tuneProblem(request));
        QCOMPARE(again.verdict, tuned.verdict);
        QCOMPARE(*again.bestValue, *tuned.bestValue);
        QCOMPARE(rowsOf(request.store, tuned.run).size(), std::size_t(4));
    }

    // Others may share the machine: they are told which stages come, as far as trials say it.
    void stagesArePlanned() {
        const ProblemFolder folder;
        TuneProblemRequest request = requestFor(folder, fileText(), "random", 20);
        const auto gate = std::make_shared<ToldGate>();
        request.gate = gate;
        const TunedProblem tuned = take(tuneProblem(request));
        using Texts = std::vector<std::string>;
        using Counts = std::vector<std::int64_t>;
        QCOMPARE(gate->planned, (Texts{"build profile update", "build profile update", "build profile update", "build"}));
        for (const char* kind : {"build", "profile", "update"})
            QCOMPARE(gate->expected[kind], (Counts{3, 2, 1, 0, 0}));
        const auto expectedOf = [&] {
            gate->expected.clear();
            take(tuneProblem(request));
            return gate->expected["profile"];
        };
        request.trials = 400; // of 120 configs
        QCOMPARE(expectedOf().front(), std::int64_t(15));
        request.resume = tuned.run; // its batches are stored, and have their turns again
        QCOMPARE(expectedOf(), (Counts{3, 2, 1, 0, 0}));
        request.resume.reset();
        request.trials.reset();
        request.seconds = 0.2;
        for (const std::int64_t count : expectedOf())
            QCOMPARE(count, std::int64_t(0));
        QCOMPARE(gate->planned.back(), std::string("build profile update"));
    }

    // What the default is compared with in the end is built and measured once more.
    void theFinalIsPlanned() {
        const ProblemFolder folder;
        const QByteArray text = "[parameters.s]\ntype = 'enum'\nvalues = ['0.03', '0.01']\n[run]\ncommand = ['sleep', '{s}']\nrepeat = 5\n[score]\nfrom = 'time'\n";
        TuneProblemRequest request = requestFor(folder, text, "grid", 2);
        const auto gate = std::make_shared<ToldGate>();
        request.gate = gate;
        QVERIFY(!take(tuneProblem(request)).verdict.empty());
        QCOMPARE(gate->planned.back(), std::string("build profile"));
        QCOMPARE(gate->entered.back(), std::string("profile"));
    }

    void aStopLeavesWhatCanBeResumed() {
        const ProblemFolder folder;
        TuneProblemRequest request = requestFor(folder, fileText(), "random", 48);
        StopSource source;
        int reports = 0;
        const TunedProblem stopped = take(tuneProblem(request, {source.token(), [&](const Progress&) {
                                                                    if (++reports == 15)
                                                                        source.requestStop();
                                                                }}));
        QCOMPARE(stopped.stopReason, std::string("cancelled"));
        QVERIFY(stopped.trials > 5 && stopped.trials < 48);
        request.resume = stopped.run;
        QCOMPARE(take(tuneProblem(request)).trials, std::int64_t(48));
        const auto trail = trailOf(request.store, stopped.run);
        request.resume.reset();
        QCOMPARE(trailOf(request.store, take(tuneProblem(request)).run), trail);
    }

    void whatCannotBeTuned() {
        const ProblemFolder folder;
        const auto message = [&](const QByteArray& text, const std::string& strategy = "random") { return messageOf(tuneProblem(requestFor(folder, text, strategy, 4))); };
        const QByteArray level = "[parameters.n]\ntype = 'int'\nlow = 1\nhigh = 6\n", time = "[score]\nfrom = 'time'\n";
        const QString noCompiler = message(level + "[build]\ncommand = ['no-compiler', '{n}', '{output}']\n[run]\ncommand = ['{output}']\n" + time);
        QVERIFY2(noCompiler.contains("nothing can be built: cannot start no-compiler: No such file"), qPrintable(noCompiler));
        const QString nothing = message(level + "[run]\ncommand = ['false', '{n}']\n" + time);
        QVERIFY2(nothing.contains("no config of ") && nothing.contains("exited with status 1"), qPrintable(nothing));
        QVERIFY(message(level + "[run]\ncommand = ['true', '{n}']\n" + time, "magic").contains("no strategy 'magic'"));
        QByteArray flags = "[run]\ncommand = ['true', '{flags}']\n" + time;
        for (int i = 0; i < 70; ++i)
            flags += "[parameters.f" + QByteArray::number(i) + "]\ntype = 'flag'\non = '-f'\n";
        QVERIFY2(message(flags, "grid").contains("has no index: use the strategy random"), qPrintable(message(flags, "grid")));
        QVERIFY(message("what is this").contains("problem.toml, line 2"));
    }

    void whatCannotBeResumed() {
        const ProblemFolder folder;
        TuneProblemRequest request = requestFor(folder, fileText(), "random", 4);
        const TunedProblem tuned = take(tuneProblem(request));
        request.resume = 99;
        QVERIFY(messageOf(tuneProblem(request)).contains("99"));
        request.resume = tuned.run;
        (void)folder.problem(fileText().replace("high = 5", "high = 6"));
        QVERIFY(messageOf(tuneProblem(request)).contains("was about other settings"));
        (void)folder.problem("# a remark changes nothing\n" + fileText());
        QVERIFY(tuneProblem(request).ok());
        RunRow other;
        const auto store = take(Store::open(request.store));
        request.resume = take(store->beginRun(other)).value();
        QVERIFY(messageOf(tuneProblem(request)).contains("tuned no problem file but was of kind 'tune'"));
    }

    // A store may come from anybody.
    void optionsThatCannotBeReadAreRefused_data() {
        QTest::addColumn<QByteArray>("options");
        for (const char* options : {R"({"batch":0,"seconds":1})", R"({"batch":-1,"seconds":1})", R"({"batch":4000000000,"seconds":1})", R"({"batch":3e74,"seconds":1})", R"({"batch":8,"trials":-1})",
                                    R"({"batch":8,"trials":9223372036854775807})", R"({"batch":8,"trials":"8"})", R"({"batch":8,"seconds":"1"})", "[]"})
            QTest::newRow(options) << QByteArray(options);
    }
    void optionsThatCannotBeReadAreRefused() {
        QFETCH(QByteArray, options);
        const ProblemFolder folder;
        TuneProblemRequest request = requestFor(folder, fileText(), "random", 1);
        request.resume = take(tuneProblem(request)).run;
        const auto store = take(Store::open(request.store));
        RunRow row = take(store->run(RunId(*request.resume)));
        row.options = options.toStdString();
        request.resume = take(store->beginRun(row, {take(store->runWorkloads(row.id)).front().plan})).value();
        const QString said = messageOf(tuneProblem(request));
        QVERIFY2(said.contains("has no options that can be read; start a new run"), qPrintable(said));
    }
};

QTEST_GUILESS_MAIN(ProgramTuningTest)
#include "tst_program_tuning.moc"
