// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/base/rng.h"
#include "core/schedule/final.h"

using namespace tunesmith;

namespace {

// Times of one candidate around `ms`, with a tail upwards as measured ones have; `episode` makes the middle third slow.
std::vector<float> times(double ms, std::uint64_t seed, double spread = 0.01, double episode = 1) {
    Rng rng(seed);
    std::vector<float> made;
    for (int i = 0; i < 90; ++i) {
        const double slow = i >= 30 && i < 60 ? episode : 1;
        made.push_back(static_cast<float>(ms * slow * (1 + spread * rng.uniform() * rng.uniform())));
    }
    return made;
}

} // namespace

// Who wins once the fastest few and the default were timed in turns.
class TestFinal : public QObject {
    Q_OBJECT

private slots:
    void theDefaultGoesForWhatIsClearlyFaster() {
        const std::vector<std::vector<float>> samples{times(1.0, 1), times(0.9, 2), times(0.95, 3)};
        const FinalDecision decision = decideFinal(samples, 0);
        QVERIFY(decision.winner == 1 && decision.certain);
    }

    void theDefaultStaysWhereNoiseDecides() {
        const std::vector<std::vector<float>> samples{times(0.999, 1, 0.2), times(1.0, 2, 0.2)};
        QCOMPARE(decideFinal(samples, 1).winner, std::size_t(1));
    }

    void theSameTimeIsNoGain() {
        const std::vector<std::vector<float>> samples{times(0.998, 1, 0.001), times(1.0, 2, 0.001)};
        const FinalDecision decision = decideFinal(samples, 1);
        QVERIFY(decision.winner == 1 && decision.certain);
    }

    void anEpisodeThatAllLivedThroughChangesNothing() {
        const std::vector<std::vector<float>> samples{times(1.0, 1, 0.01, 1.75), times(0.9, 2, 0.01, 1.75)};
        QCOMPARE(decideFinal(samples, 0).winner, std::size_t(1));
    }

    void withoutADefaultTheFastestWins() {
        const std::vector<std::vector<float>> samples{times(1.0, 1), times(0.999, 2)};
        const FinalDecision decision = decideFinal(samples, {});
        QVERIFY(decision.winner == 1 && decision.certain);
    }

    void oneFinalistWins() {
        const std::vector<std::vector<float>> samples{times(1.0, 1)};
        QVERIFY(decideFinal(samples, 0).winner == 0 && decideFinal(samples, 0).certain);
    }

    void fewSamplesDecideNothing() {
        const std::vector<std::vector<float>> samples{{1.0f, 1.0f, 1.0f}, {0.5f, 0.5f, 0.5f}};
        const FinalDecision decision = decideFinal(samples, 0);
        QVERIFY(decision.winner == 0 && !decision.certain);
    }
};

QTEST_GUILESS_MAIN(TestFinal)
#include "tst_final.moc"
