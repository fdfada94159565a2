// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <atomic>
#include <thread>

#include "core/rewrite/rule_verdict.h"
#include "core/substitution/candidates.h"
#include "core/substitution/derivation.h"

using namespace tunesmith;
using namespace tunesmith::rewrite;

// All rules of the generator, read as widely as they can be.
class GeneratedRules : public QObject {
    Q_OBJECT

    static constexpr std::int64_t kTrials = 200;

    std::vector<Rule> rules_;
    std::vector<RuleVerdict> verdicts_; // by rule

    template <class F> void forEachRule(const F& f) const {
        std::atomic<std::size_t> next = 0;
        std::vector<std::jthread> threads;
        for (int t = 0; t < 2; ++t)
            threads.emplace_back([&] {
                for (std::size_t i = next++; i < rules_.size(); i = next++)
                    f(i);
            });
    }

    std::size_t count(RuleVerdict::Outcome outcome) const { return static_cast<std::size_t>(std::ranges::count(verdicts_, outcome, &RuleVerdict::outcome)); }

private slots:
    void initTestCase() {
        substitution::EnumerationOptions options;
        options.threads = 2;
        const auto all = substitution::TermEnumeration::run(options);
        QVERIFY(all.ok());
        const auto candidates = substitution::findCandidates(*all);
        QVERIFY(candidates.ok());
        const auto rules = substitution::withoutDerived(*candidates, 2);
        QVERIFY(rules.has_value());
        rules_ = *rules;
        verdicts_.resize(rules_.size());
        forEachRule([&](std::size_t i) { verdicts_[i] = *verifyRule(rules_[i], kTrials, 1); });
    }

    void noneIsWrong() {
        for (std::size_t i = 0; i < rules_.size(); ++i)
            QVERIFY2(verdicts_[i].outcome != RuleVerdict::Outcome::refuted, (toText(rules_[i]) + ": " + verdicts_[i].counterExample).c_str());
    }

    void mostAreForModels() {
        qInfo() << rules_.size() << "rules," << count(RuleVerdict::Outcome::sound) << "sound," << count(RuleVerdict::Outcome::guarded) << "guarded";
        QCOMPARE_GE(count(RuleVerdict::Outcome::sound), rules_.size() / 2);
        QCOMPARE_GE(count(RuleVerdict::Outcome::guarded), 40U);
        QCOMPARE_LE(count(RuleVerdict::Outcome::foundShapesOnly), rules_.size() / 4 + 10);
    }

    // Each direction that can be applied at all was compared as often as was asked for.
    void chanceFindsModelsForAll() {
        for (std::size_t i = 0; i < rules_.size(); ++i)
            for (const DirectionVerdict& direction : verdicts_[i].directions)
                QVERIFY2(!direction.forModels || direction.trials >= kTrials, (toText(rules_[i]) + ": " + std::to_string(direction.trials) + " trials").c_str());
    }

    void otherSeedsFindNoCounterExample() {
        std::vector<std::string> examples(rules_.size());
        std::atomic<std::int64_t> trials = 0;
        forEachRule([&](std::size_t i) {
            for (const DirectionVerdict& direction : verdicts_[i].directions)
                if (direction.forModels) {
                    const PatternSubstitution guarded("", rules_[i], direction.fromRight, direction.conditions);
                    const Verdict verdict = verify(guarded, 2 * kTrials, 77 + i);
                    for (const std::string& condition : guarded.card().conditions)
                        examples[i] += verdict.holds() ? "" : "if " + condition + ", ";
                    examples[i] += verdict.counterExample;
                    trials += verdict.counts.compared;
                }
        });
        for (std::size_t i = 0; i < rules_.size(); ++i)
            QVERIFY2(examples[i].empty(), (toText(rules_[i]) + ": " + examples[i]).c_str());
        QCOMPARE_GE(trials.load(), 500 * 2 * kTrials);
    }
};

QTEST_APPLESS_MAIN(GeneratedRules)
#include "tst_generated_rules.moc"
