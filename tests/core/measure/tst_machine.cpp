// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFloat16> // comparing JSON with QCOMPARE wants it whole
#include <QTest>

#include <nlohmann/json.hpp>

#include "core/measure/machine.h"

using namespace tunesmith;

class TestMachine : public QObject {
    Q_OBJECT

private slots:
    void identityIsStable() {
        const auto first = thisMachine(), second = thisMachine();
        QVERIFY(first.ok() && second.ok());
        QCOMPARE(first->key, second->key);
        QCOMPARE(first->key.size(), std::size_t(16));
        QVERIFY(first->cores >= 1 && !first->cpu.empty() && !first->isa.empty());
    }

    void ceilingsArePlausible() {
        const auto one = measureThreads(1);
        QVERIFY(one.ok());
        // Any processor with AVX2, and none that exists.
        QVERIFY2(one->fmaGflops > 5 && one->fmaGflops < 1000, qPrintable(QString::number(one->fmaGflops)));
        QVERIFY2(one->memoryGbs > 0.5 && one->memoryGbs < 500, qPrintable(QString::number(one->memoryGbs)));
        qInfo() << "1 thread:" << one->fmaGflops << "GFLOP/s," << one->memoryGbs << "GB/s";
    }

    void verbRefusesMoreThreadsThanCores() {
        const auto reply = measureMachineVerb({{{"threads", coreCount() + 1}}, {}});
        QVERIFY(!reply.ok() && reply.error().kind == ErrorKind::input);
        QVERIFY(!measureMachineVerb({{{"threads", 0}}, {}}).ok());
    }

    void jsonRoundTrip() {
        const MachineCeilings ceilings{"a cpu", "avx2", {{1, 80, 10}, {4, 300, 25.5}}};
        const auto back = MachineCeilings::fromJson(ceilings.toJson());
        QVERIFY(back.ok());
        QCOMPARE(back->toJson(), ceilings.toJson());
        QCOMPARE(back->of(4)->memoryGbs, 25.5);
        QCOMPARE(back->of(2)->threads, 1); // the nearest
        QCOMPARE(back->of(64)->threads, 4);
        QVERIFY(!MachineCeilings{}.of(1));
        QVERIFY(!MachineCeilings::fromJson(nlohmann::json{{"cpu", 3}}).ok());
    }
};

QTEST_GUILESS_MAIN(TestMachine)
#include "tst_machine.moc"
