// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>

#include "core/measure/machine.h"
#include "core/schedule/stored_rows.h"
#include "core/workbench/kernel_times.h"
#include "tests/core/schedule/one_kernel.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

void addRecord(Store& store, const Workload& workload, const Target& target, const MachineRow& machine, double ms) {
    take(store.addWorkload(rowOf(workload, workload.serialize())));
    RunRow run;
    run.target = take(storedTarget(store, target, machine));
    TrialRow trial;
    trial.run = take(store.beginRun(run, {{workload.key, 1, "generic", 1, 1}}));
    trial.workload = workload.key;
    trial.config = "0,0";
    trial.objectives = {{"time", ms, "ms"}};
    trial.p5Ms = ms;
    trial.samples = {static_cast<float>(ms)};
    take(store.addTrial(trial));
}

} // namespace

// What kernels take here, as far as the store says it.
class TstKernelTimes : public QObject {
    Q_OBJECT

private slots:
    void timesOfOtherMachinesSayNothing() {
        const QTemporaryDir folder;
        const std::string path = folder.filePath("t.db").toStdString();
        const auto store = take(Store::open(path));
        const Target target = take(hostTarget(1));
        const Workload workload = testing::workloadOf([](testing::Case& c) { return c.builder.add("Relu", {c.input({14, 16})}); }, target);
        StopSource stopped; // so nothing is measured
        stopped.requestStop();
        StageTurns turns{nullptr, stopped.token()};
        const auto times = take(KernelTimes::open({path, target, {}, 0, turns, {stopped.token(), {}}}));
        const MachineRow here = take(thisMachine());
        MachineRow device = here;
        device.key += "@remote";
        addRecord(*store, workload, target, device, 1e-3);
        QVERIFY(!times->ms(workload) && times->fromStore() == 0);
        addRecord(*store, workload, target, here, 2e-3);
        QCOMPARE(times->ms(workload).value_or(0), 2e-3);
        QCOMPARE(times->fromStore(), std::size_t(1));
    }
};

QTEST_APPLESS_MAIN(TstKernelTimes)
#include "tst_kernel_times.moc"
