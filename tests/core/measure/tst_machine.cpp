// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFloat16> // comparing JSON with QCOMPARE wants it whole
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QScopeGuard>
#include <QTest>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <immintrin.h>
#include <new>
#include <nlohmann/json.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include "core/measure/ceilings.h"
#include "core/measure/machine.h"
#include "core/measure/memory.h"
#include "core/measure/network.h"

using namespace tunesmith;

namespace {

// Eight sums in registers that have names, so that no compiler keeps them in memory.
[[gnu::target("avx2,fma"), gnu::noinline]] float sumsInRegisters(int turns) {
    __m256 a = _mm256_set1_ps(1), b = a, c = a, d = a, e = a, f = a, g = a, h = a;
    const __m256 scale = _mm256_set1_ps(0.999f);
    for (int turn = 0; turn < turns; ++turn) {
        a = _mm256_fmadd_ps(a, scale, scale), b = _mm256_fmadd_ps(b, scale, scale);
        c = _mm256_fmadd_ps(c, scale, scale), d = _mm256_fmadd_ps(d, scale, scale);
        e = _mm256_fmadd_ps(e, scale, scale), f = _mm256_fmadd_ps(f, scale, scale);
        g = _mm256_fmadd_ps(g, scale, scale), h = _mm256_fmadd_ps(h, scale, scale);
    }
    return _mm256_cvtss_f32(a + b + c + d + e + f + g + h);
}

double gflopsInRegisters() {
    using Clock = std::chrono::steady_clock;
    constexpr int kTurns = 20'000, kRounds = 200;
    double best = 1e9;
    [[maybe_unused]] volatile float sink = 0;
    for (int round = 0; round < kRounds; ++round) {
        const auto start = Clock::now();
        sink = sumsInRegisters(kTurns);
        best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    }
    return 2.0 * 8 * 8 * kTurns / best / 1e9;
}

} // namespace

class TestMachine : public QObject {
    Q_OBJECT

private slots:
    // The others would wait for it at the barrier.
    void aThreadHasNoMemory() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        QSKIP("sanitizers need more addresses than any limit");
#endif
        rlimit before{};
        QVERIFY(::getrlimit(RLIMIT_AS, &before) == 0);
        const auto restored = qScopeGuard([&before] { ::setrlimit(RLIMIT_AS, &before); });
        long pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        constexpr rlim_t kOne = 192 << 20, kThreads = 100 << 20; // what one thread fills, stacks and heaps
        const rlimit tight{static_cast<rlim_t>(pages) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + kOne + kThreads, before.rlim_max};
        QVERIFY(::setrlimit(RLIMIT_AS, &tight) == 0);
        QVERIFY_EXCEPTION_THROWN(ceilings::triadGbs(2), std::bad_alloc);
    }

    void identityIsStable() {
        const auto first = thisMachine(), second = thisMachine();
        QVERIFY(first.ok() && second.ok());
        QCOMPARE(first->key, second->key);
        QCOMPARE(first->key.size(), std::size_t(16));
        QVERIFY(first->cores >= 1 && !first->cpu.empty() && !first->isa.empty());
    }

    void memoryIsWhatThereIs() {
        QVERIFY(totalMemoryMb("Hugepagesize: 1 kB\nMemTotal:        2048 kB\nMemFree: 1 kB\n") == 2);
        QVERIFY(!totalMemoryMb("") && !totalMemoryMb("MemTotal: many") && !totalMemoryMb("MemTotal:"));
        QVERIFY(memoryLimitMb("1073741824\n") == 1024);
        QVERIFY(!memoryLimitMb("max\n") && !memoryLimitMb("") && !memoryLimitMb("-1"));
        QVERIFY(usableMemoryMb() >= 1);
    }

    void theFastestLinkThatIsUp() {
        const QTemporaryDir folder;
        const auto link = [&](const QString& name, const QByteArray& state, const QByteArray& speed) {
            QVERIFY(QDir(folder.path()).mkpath(name));
            for (const auto& [file, text] : {std::pair("operstate", state), {"speed", speed}}) {
                QFile written(folder.filePath(name + "/" + file));
                QVERIFY(written.open(QIODevice::WriteOnly) && written.write(text) == text.size());
            }
        };
        const auto fastest = [&] { return linkMbit(folder.path().toStdString()); };
        QCOMPARE(fastest(), 1000); // nobody says
        link("lo", "unknown\n", "100000\n");
        link("eth0", "up\n", "-1\n");
        link("eth1", "down\n", "40000\n");
        QCOMPARE(fastest(), 1000);
        link("wlan0", "up\n", "300\n");
        QCOMPARE(fastest(), 300);
        link("eth2", "up\n", "2500\n");
        link("eth3", "up\n", "many\n");
        QCOMPARE(fastest(), 2500);
        QVERIFY(QDir(folder.path()).mkpath("wlan0/device")); // the others are of containers
        QCOMPARE(fastest(), 300);
        QVERIFY(QDir(folder.path()).mkpath("eth0/device")); // and this does not say
        QCOMPARE(fastest(), 1000);
        QCOMPARE(linkMbit(folder.filePath("none").toStdString()), 1000);
        QVERIFY(linkMbit() > 0);
    }

    void ceilingsArePlausible() {
        const auto one = measureThreads(1);
        QVERIFY(one.ok());
        // Any processor with AVX2, and none that exists.
        QVERIFY2(one->fmaGflops > 5 && one->fmaGflops < 1000, qPrintable(QString::number(one->fmaGflops)));
        QVERIFY2(one->memoryGbs > 0.5 && one->memoryGbs < 500, qPrintable(QString::number(one->memoryGbs)));
        qInfo() << "1 thread:" << one->fmaGflops << "GFLOP/s," << one->memoryGbs << "GB/s";
    }

    // A loop that keeps its sums in memory reaches a third. Vectors of sixteen may be faster than the eight here, never slower.
    void theCeilingIsOneOfRegisters() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
        QSKIP("what is measured is not what is shipped");
#endif
        double ratio = 0;
        for (int attempt = 0; attempt < 3 && ratio < 0.85; ++attempt) { // one of the two may lie in a slow episode
            const auto one = measureThreads(1);
            QVERIFY(one.ok());
            ratio = one->fmaGflops / gflopsInRegisters();
        }
        QVERIFY2(ratio >= 0.85, qPrintable(QString::number(ratio)));
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
        for (const double none : {0.0, -0.0, -1.0, 1e-308, 1e308}) // costs are divided by them
            for (const ThreadCeilings& entry : {ThreadCeilings{1, none, 10}, ThreadCeilings{1, 80, none}})
                QVERIFY(!MachineCeilings::fromJson(MachineCeilings{"a cpu", "avx2", {{1, 80, 10}, entry}}.toJson()).ok());
        QVERIFY(!MachineCeilings::fromJson(MachineCeilings{"a cpu", "avx2", {{0, 80, 10}}}.toJson()).ok());
    }
};

QTEST_GUILESS_MAIN(TestMachine)
#include "tst_machine.moc"
