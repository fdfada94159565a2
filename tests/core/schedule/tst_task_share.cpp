// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <cmath>

#include "core/schedule/task_share.h"

using namespace tunesmith;

namespace {

// Workloads whose best time after so many batches is known: what they settle at, and how much more the first batch takes.
struct Curve {
    double floor, excess, decay;
    double ms(std::size_t batches) const { return floor + excess * std::pow(decay, static_cast<double>(batches)); }
};

// How many of `batches` each one gets, told one batch late, as the tuner does.
std::vector<std::size_t> spend(const std::vector<TaskShare::Task>& tasks, const std::vector<Curve>& curves, std::size_t batches) {
    TaskShare share(tasks);
    std::vector<std::size_t> spent(tasks.size(), 0);
    std::optional<std::size_t> underWay;
    for (std::size_t i = 0; i < batches; ++i) {
        const auto task = share.next(std::vector<bool>(tasks.size(), true));
        share.begun(*task);
        if (underWay)
            share.delivered(*underWay, curves[*underWay].ms(spent[*underWay]));
        ++spent[*task];
        underWay = task;
    }
    return spent;
}

} // namespace

class TaskShareTest : public QObject {
    Q_OBJECT

private slots:
    void eachHasItsTurnAndTheLargestComesFirst() {
        TaskShare share({{1, 10, 0}, {1, 500, 0}, {4, 100, 1}, {2, 100, 1}});
        std::vector<std::size_t> order;
        for (int i = 0; i < 4; ++i) {
            order.push_back(*share.next({true, true, true, true}));
            share.begun(order.back());
        }
        QCOMPARE(order, (std::vector<std::size_t>{1, 2, 3, 0}));
    }

    void closedOnesGetNothing() {
        TaskShare share({{1, 10, 0}, {1, 500, 0}});
        QCOMPARE(share.next({true, false}), std::optional<std::size_t>(0));
        QCOMPARE(share.next({false, false}), std::optional<std::size_t>());
        QCOMPARE(TaskShare({}).next({}), std::optional<std::size_t>());
    }

    void whatCostsTheModelMostIsTriedMost() {
        const auto spent = spend({{1, 1e6, 0}, {1, 8e6, 1}, {4, 2e6, 2}}, {{1, 0.2, 0.8}, {8, 1.6, 0.8}, {2, 0.4, 0.8}}, 60);
        QVERIFY(spent[1] > 2 * spent[0] && spent[2] > 2 * spent[0]);
        QVERIFY(std::abs(static_cast<int>(spent[1]) - static_cast<int>(spent[2])) <= 3); // 8 ms once or 2 ms four times
    }

    void whatIsBehindItsKindPromisesMore() {
        TaskShare alike({{1, 4e6, 0}, {1, 4e6, 0}}), apart({{1, 4e6, 0}, {1, 4e6, 1}}); // of another kind it may be as slow as it must
        for (TaskShare* share : {&alike, &apart})
            for (int batch = 0; batch < 4; ++batch)
                for (const std::size_t task : {0u, 1u}) { // the same work, five times the time, and a little better each time
                    share->begun(task);
                    share->delivered(task, task == 0 ? 1.0 : 5.0 * std::pow(0.98, batch));
                }
        QVERIFY2(alike.gain(1) > 1.5 * apart.gain(1), qPrintable(QString("%1 and %2").arg(alike.gain(1)).arg(apart.gain(1))));
        QCOMPARE(alike.gain(0), apart.gain(0));
    }

    void whatStaysBehindItsKindDoesNotTakeItAll() {
        const std::vector<Curve> flat{{1, 0, 1}, {20, 0, 1}, {10, 10, 0.9}};
        const auto spent = spend({{1, 4e7, 0}, {1, 4e7, 0}, {1, 4e7, 1}}, flat, 60);
        QVERIFY2(spent[2] >= 20, qPrintable(QString("%1, %2 and %3").arg(spent[0]).arg(spent[1]).arg(spent[2])));
    }

    void whatImprovesIsTriedMore() {
        const auto spent = spend({{1, 4e6, 0}, {1, 4e6, 1}}, {{2, 0, 1}, {2, 6, 0.9}}, 30);
        QVERIFY2(spent[1] > spent[0], qPrintable(QString("%1 and %2").arg(spent[0]).arg(spent[1])));
    }

    void whatNeverRunsDoesNotTakeItAll() {
        TaskShare share({{1, 1e6, 0}, {1, 1e8, 0}});
        std::size_t failing = 0;
        for (int i = 0; i < 50; ++i) {
            const std::size_t task = *share.next({true, true});
            share.begun(task);
            share.delivered(task, task == 0 ? std::optional(1.0) : std::nullopt);
            failing += task == 1 ? 1 : 0;
        }
        QVERIFY2(failing > 1 && failing < 20, qPrintable(QString::number(failing)));
    }

    void theSameReportsGiveTheSameDecisions() {
        const std::vector<TaskShare::Task> tasks{{3, 2e6, 0}, {1, 8e6, 0}, {2, 1e5, 1}};
        const std::vector<Curve> curves{{1, 1, 0.7}, {3, 5, 0.9}, {0.2, 0.1, 0.5}};
        QCOMPARE(spend(tasks, curves, 50), spend(tasks, curves, 50));
    }
};

QTEST_APPLESS_MAIN(TaskShareTest)
#include "tst_task_share.moc"
