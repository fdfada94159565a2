// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/verification.h"

#include "core/rewrite/telling_conditions.h"
#include "core/rewrite/trials.h"

namespace tunesmith::rewrite {
namespace {

constexpr std::uint64_t kMostRounds = 12;    // of conditions that turn out to be too few
constexpr std::int64_t kTrialsOfAGuess = 4; // times as many for conditions, which are one

std::uint64_t seedOfRound(std::uint64_t seed, std::uint64_t round) { return seed + 0x9e3779b97f4a7c15ull * round; }

void count(Verdict& verdict, const Attempt& attempt) {
    switch (attempt.outcome) {
    case Attempt::unfit: ++verdict.counts.unfit; break;
    case Attempt::refused: ++verdict.counts.refused; break;
    default: ++verdict.counts.compared;
    }
    if (attempt.outcome == Attempt::different && verdict.holds())
        verdict.counterExample = attempt.text;
}

// One direction of a rule while its conditions are looked for.
class Narrowing {
public:
    Narrowing(const Rule& rule, bool fromRight, std::int64_t trials, std::uint64_t seed, const StopToken& stop)
        : fromRight_(fromRight), bare_("", rule, fromRight), all_(conditionsOf(bare_.pattern())), trials_(trials), seed_(seed), stop_(stop) {}

    NarrowedRule run() {
        const Verdict bare = look(bare_, trials_, seed_);
        narrowed_.counterExample = bare.counterExample;
        narrowed_.verdict = bare;
        for (std::uint64_t round = 1; round <= kMostRounds && !narrowed_.verdict.holds() && !stop_.stopRequested(); ++round)
            if (!chooseConditions())
                break;
            else
                narrowed_.verdict = look(PatternSubstitution("", bare_.pattern().rule, fromRight_, narrowed_.conditions), kTrialsOfAGuess * trials_, seedOfRound(seed_, round));
        return narrowed_;
    }

private:
    // Cases are learned from up to the end even when one is false.
    Verdict look(const PatternSubstitution& substitution, std::int64_t trials, std::uint64_t seed) {
        Verdict verdict;
        Trials(substitution, seed).run(trials, stop_, [&](const Draft* draft, const Match& match, const Attempt& attempt) {
            count(verdict, attempt);
            if (attempt.compared())
                learn(*draft, match, attempt.outcome == Attempt::equal);
            return true;
        });
        return verdict;
    }

    void learn(const Draft& draft, const Match& match, bool isTrue) {
        const auto binding = bindingOf(bare_.pattern(), draft, match.values);
        std::vector<bool> made;
        for (const Condition& condition : all_)
            made.push_back(binding && holds(condition, bare_.pattern(), draft, *binding));
        cases_.add(made, isTrue);
    }

    bool chooseConditions() {
        const auto telling = cases_.tellingConditions(all_.size());
        narrowed_.conditions.clear();
        for (const std::size_t c : telling.value_or(std::vector<std::size_t>()))
            narrowed_.conditions.push_back(all_[c]);
        return telling.has_value();
    }

    const bool fromRight_;
    const PatternSubstitution bare_;
    const std::vector<Condition> all_;
    const std::int64_t trials_;
    const std::uint64_t seed_;
    const StopToken& stop_;
    RuleCases cases_;
    NarrowedRule narrowed_;
};

} // namespace

Verdict verify(const Substitution& substitution, std::int64_t trials, std::uint64_t seed, const StopToken& stop) {
    Verdict verdict;
    Trials(substitution, seed).run(trials, stop, [&](const Draft*, const Match&, const Attempt& attempt) {
        count(verdict, attempt);
        return verdict.holds();
    });
    return verdict;
}

NarrowedRule narrow(const Rule& rule, bool fromRight, std::int64_t trials, std::uint64_t seed, const StopToken& stop) {
    return Narrowing(rule, fromRight, trials, seed, stop).run();
}

} // namespace tunesmith::rewrite
