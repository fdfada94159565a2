// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <thread>

#include "core/workbench/job_clock.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

// Turns come at once, or never.
struct PlainGate : StageGate {
    struct PlainTurn : Turn {
        std::vector<int> processors() const override { return {3}; }
    };
    Result<std::unique_ptr<Turn>> enter(const std::string&, const StageNeed&, const StopToken& stop) override {
        for (int i = 0; closed && i < 200; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return stop.stopRequested() ? Result<std::unique_ptr<Turn>>(cancelledError()) : std::unique_ptr<Turn>(std::make_unique<PlainTurn>());
    }
    struct PlainChain : Chain {
        explicit PlainChain(PlainGate& of) : gate(of) {}
        Result<std::unique_ptr<Turn>> enter(const std::string& kind, const StageNeed& need, const StopToken& stop) override { return gate.enter(kind, need, stop); }
        PlainGate& gate;
    };
    std::unique_ptr<Chain> chain(std::vector<Link>, const Chain* before) override {
        last = before;
        return std::make_unique<PlainChain>(*this);
    }
    void expect(const std::string&, std::int64_t stages) override { expected = stages; }

    bool closed = false;
    const Chain* last = nullptr; // that a chain came after
    std::int64_t expected = 0;
};

bool runs(const JobClock& clock) {
    const double before = clock.seconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return clock.seconds() > before;
}

} // namespace

// What counts as a job's work.
class TstJobClock : public QObject {
    Q_OBJECT

private slots:
    void standsWhileAllItDoesIsWait() {
        JobClock clock;
        QVERIFY(runs(clock)); // between stages
        clock.wait(1);
        QVERIFY(!runs(clock));
        clock.stage(JobClock::kHere, 1); // of another thread
        QVERIFY(runs(clock));
        clock.stage(JobClock::kHere, -1);
        QVERIFY(!runs(clock));
        clock.wait(1);
        clock.wait(-1);
        QVERIFY(!runs(clock));
        clock.wait(-1);
        QVERIFY(runs(clock));
        QVERIFY(clock.seconds() < 60);
    }

    // Two stages in one lane stand with their device; another lane works on.
    void lostDevices() {
        JobClock clock;
        clock.stage(0, 1);
        clock.stage(0, 1);
        clock.loseDevice(1);
        QVERIFY(!runs(clock));
        clock.stage(1, 1);
        QVERIFY(runs(clock));
        clock.loseDevice(1);
        QVERIFY(!runs(clock));
        clock.stage(JobClock::kHere, 1);
        QVERIFY(runs(clock));
        clock.stage(JobClock::kHere, -1);
        clock.loseDevice(-1);
        QVERIFY(runs(clock));
        clock.loseDevice(-1);
        clock.stage(1, -1);
        clock.stage(0, -2);
        QVERIFY(runs(clock));
    }

    void gatesTell() {
        const auto plain = std::make_shared<PlainGate>();
        const auto clock = std::make_shared<JobClock>();
        ClockedGate gate(plain, clock, true);
        {
            const auto waiting = gate.awaitDevice();
            QVERIFY(!runs(*clock));
            const auto turn = take(gate.enter("prepare", {}, {}));
            QVERIFY(runs(*clock) && turn->processors() == std::vector<int>{3});
        }
        QVERIFY(runs(*clock));
        plain->closed = true;
        const double before = clock->seconds();
        auto built = take(gate.enter("build", {}, {})); // after 200 ms
        QVERIFY(clock->seconds() - before < 0.1);
        clock->loseDevice(1);
        QVERIFY(!runs(*clock)); // that stage was on the device
        clock->loseDevice(-1);
        built.reset();
        plain->closed = false;
        {
            const auto first = gate.chain({}, nullptr);
            QVERIFY(!plain->last);
            const auto second = gate.chain({}, first.get());
            QVERIFY(dynamic_cast<const PlainGate::PlainChain*>(plain->last)); // its own, not the clock's
            plain->closed = true;
            const double since = clock->seconds();
            built = take(second->enter("build", {}, {}));
            QVERIFY(clock->seconds() - since < 0.1);
            clock->loseDevice(1);
            QVERIFY(!runs(*clock));
            clock->loseDevice(-1);
            built.reset();
        }
        gate.expect("build", 7);
        QCOMPARE(plain->expected, 7);
        StopSource stopped;
        stopped.requestStop();
        QVERIFY(gate.enter("profile", {}, stopped.token()).error().isCancelled());
        QVERIFY(runs(*clock));
        QVERIFY(gate.worked() >= before && !plain->worked() && !plain->awaitDevice());
    }
};

QTEST_GUILESS_MAIN(TstJobClock)
#include "tst_job_clock.moc"
