// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/tune_board.h"
#include <QTest>
#include <cmath>

using namespace tunesmith;

namespace {

TuningTask task(const std::string& key, std::size_t count = 1) {
    TuningTask made;
    made.key = key;
    made.name = "conv2d " + key;
    made.op = "Conv";
    made.nodes = {key + ".node"};
    made.count = count;
    made.space = 100;
    made.flops = 2'000'000;
    return made;
}

TuneTrial trial(const std::string& key, int index, std::optional<double> ms, int budget = 0) {
    TuneTrial made;
    made.workload = key;
    made.index = index;
    made.budget = budget;
    made.ms = ms;
    made.status = ms ? "ok" : "build_error";
    return made;
}

} // namespace

class TstTuneBoard : public QObject {
    Q_OBJECT
private slots:
    void bestSoFarNeverRises() {
        TuneBoard board;
        board.setTasks({task("a", 3), task("b")});
        for (const auto& ms :
             {std::optional(4.0), std::optional<double>(), std::optional(2.0), std::optional(3.0)})
            board.add(trial("a", board.trials(), ms, 4));
        const WorkloadEntry& row = board.rows().front();
        QCOMPARE(row.name, QStringLiteral("a.node (3×)"));
        QCOMPARE(row.bestSoFar, (QVector<double>{4, 4, 2, 2}));
        QCOMPARE(row.firstMs, 4.0);
        QCOMPARE(row.bestMs, 2.0);
        QCOMPARE(row.gflops, 1.0);                 // 2 MFLOP in 2 ms
        QVERIFY(row.state == WorkloadState::done); // its budget is spent
        QVERIFY(board.rows().back().state == WorkloadState::waiting);
        QCOMPARE(board.trials(), 4);
        QCOMPARE(board.failed(), 1);
        QCOMPARE(board.points(QStringLiteral("a")).size(), 4);
    }

    void onlyFailuresHaveNoBest() {
        TuneBoard board;
        board.add(trial("x", 0, {}));
        QVERIFY(std::isnan(board.rows().front().bestMs));
        board.finish(WorkloadState::paused);
        QVERIFY(board.rows().front().state == WorkloadState::paused);
    }

    void untunedScheduleIsTheFirst() {
        TuneBoard board;
        TuneTrial made = trial("x", 0, 2.0);
        made.firstMs = 8.0;
        board.add(made);
        QCOMPARE(board.rows().front().speedup(), 4.0);
    }

    void storedCurvesEqualLiveOnes() {
        RunCurve curve;
        curve.workload = "a";
        curve.flops = 2'000'000;
        curve.points = {{0, "ok", 4.0, 4.0, {}}, {1, "build_error", {}, 4.0, {}}, {2, "ok", 2.0, 2.0, 0.7}};
        TuneBoard live, stored;
        live.setTasks({task("a")});
        stored.setTasks({task("a")});
        live.add(trial("a", 0, 4.0));
        live.add(trial("a", 1, {}));
        live.add(trial("a", 2, 2.0));
        stored.setStored(storedCurves({curve}));
        QCOMPARE(stored.rows().front().bestSoFar, live.rows().front().bestSoFar);
        QCOMPARE(stored.rows().front().name, live.rows().front().name);
        QCOMPARE(stored.rows().front().gflops, live.rows().front().gflops);
        QCOMPARE(stored.trials(), live.trials());
        QCOMPARE(stored.failed(), live.failed());
        QCOMPARE(stored.points(QStringLiteral("a")).last().predicted, 0.7);
        stored.add(trial("a", 3, 1.0)); // a resumed run goes on where it was
        QCOMPARE(stored.rows().front().done, 4);
        QCOMPARE(stored.rows().front().bestMs, 1.0);
    }

    // What a final timed in turns counts, not the luckiest trial.
    void finalsOverruleTrials() {
        RunCurve curve;
        curve.workload = "a";
        curve.flops = 6'000'000;
        curve.points = {{0, "ok", 4.0, 4.0, {}}, {1, "ok", 2.0, 2.0, {}}, {2, "ok", 3.0, 3.0, {}}};
        curve.bestMs = 3.0;
        curve.firstMs = 6.0;
        TuneBoard stored, live;
        stored.setStored(storedCurves({curve}));
        QCOMPARE(stored.rows().front().bestMs, 3.0);
        QCOMPARE(stored.rows().front().speedup(), 2.0);
        QCOMPARE(stored.rows().front().gflops, 2.0);
        live.setTasks({task("a")});
        live.add(trial("a", 0, 2.0));
        TuneTrial final = trial("a", 1, 3.0);
        final.bestMs = 3.0;
        final.firstMs = 6.0;
        live.add(final);
        QCOMPARE(live.rows().front().bestMs, 3.0);
        QCOMPARE(live.rows().front().speedup(), 2.0);
    }

    void theRooflineKnowsWhatTasksSay() {
        TuneBoard board;
        TuningTask conv = task("a", 2);
        conv.flops = 4'000'000;
        conv.bytes = 1'000'000;
        board.setTasks({conv});
        board.add(trial("a", 0, 2.0));
        board.add(trial("foreign", 0, 1.0)); // of a stored run, perhaps; nothing is known of its size
        QCOMPARE(board.kernels().size(), 1);
        QCOMPARE(board.kernels().front().gflops(), 2.0);
        QCOMPARE(board.kernels().front().intensity(), 4.0);
        QCOMPARE(board.kernels().front().count, 2);
    }

    void restartForgetsWhatWasMeasured() {
        TuneBoard board;
        board.setTasks({task("a", 2), task("b")});
        board.add(trial("a", 0, 4.0, 8));
        board.add(trial("b", 0, {}, 8));
        board.restart();
        QCOMPARE(board.rows().size(), 2);
        TuneBoard fresh;
        fresh.setTasks({task("a", 2), task("b")});
        QVERIFY(board.rows() == fresh.rows());
        QCOMPARE(board.trials() + board.failed(), 0);
        QVERIFY(board.points(QStringLiteral("a")).isEmpty());
    }

    void rowsThatAreNotTunedGo() {
        TuneBoard board;
        board.setTasks({task("a"), task("b"), task("c")});
        board.add(trial("b", 0, 3.0, 1));
        board.setTasks({task("c"), task("d")});
        QStringList keys;
        for (const WorkloadEntry& row : board.rows())
            keys << row.key;
        QCOMPARE(keys, (QStringList{"b", "c", "d"})); // b was measured
        QVERIFY(board.rows().front().state == WorkloadState::done);
        board.add(trial("d", 0, 1.0));
        QCOMPARE(board.rows().last().bestMs, 1.0);
        QVERIFY(std::isnan(board.rows()[1].bestMs));
    }

    void longCurvesAreThinned() {
        TuneBoard board;
        for (int i = 0; i < 5000; ++i)
            board.add(trial("a", i, 5000.0 - i));
        const auto& curve = board.rows().front().bestSoFar;
        QVERIFY(curve.size() <= 400);
        QCOMPARE(curve.last(), 1.0);
        QVERIFY(std::is_sorted(curve.rbegin(), curve.rend()));
        QCOMPARE(board.rows().front().done, 5000);
    }
};

QTEST_GUILESS_MAIN(TstTuneBoard)
#include "tst_tune_board.moc"
