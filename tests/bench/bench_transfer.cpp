// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>
#include <chrono>

#include "tests/core/executors/remote_cluster.h"

using namespace tunesmith;
using namespace tunesmith::testing;

// What a kernel of 100 kB and its result take on their way to a server on this machine and back, beside the work itself.
class BenchTransfer : public QObject {
    Q_OBJECT

private slots:
    void kernels_data() {
        QTest::addColumn<bool>("kept");
        QTest::newRow("sent each time") << false;
        QTest::newRow("kept by the server") << true;
    }
    void kernels() {
        QFETCH(bool, kept);
        constexpr int kRounds = 500;
        Cluster cluster;
        DeviceServerOptions options = cluster.serverOptions("a");
        options.makeExecutor = [row = options.device.machine](const KernelWorkerOptions& limits) -> Result<std::unique_ptr<KernelExecutor>> {
            return std::unique_ptr<KernelExecutor>(std::make_unique<MockExecutor>(MockOptions{0, 0, 100'000, row}, limits));
        };
        cluster.add(std::move(options));
        const auto executor = cluster.connect("x");
        Message request = mockProfile(executor->build(mockBuild(), {}));
        QCOMPARE(request.blobs.at(1).size(), std::size_t(100'000));
        std::vector<double> milliseconds;
        for (int i = 0; i < kRounds; ++i) {
            if (!kept)
                request.blobs[1][static_cast<std::size_t>(i)] ^= std::byte{1}; // another kernel
            const auto before = std::chrono::steady_clock::now();
            QVERIFY(executor->measure(request, 1, {}).replied());
            milliseconds.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count());
        }
        std::ranges::sort(milliseconds);
        qInfo("a kernel of 100 kB and its result: %.2f ms, 19 of 20 at most %.2f ms", milliseconds[kRounds / 2], milliseconds[kRounds * 19 / 20]);
        QVERIFY(milliseconds[kRounds / 2] < 5);
    }
};

QTEST_GUILESS_MAIN(BenchTransfer)
#include "bench_transfer.moc"
