// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/verification.h"

#include <algorithm>
#include <functional>

#include "core/rewrite/evaluate.h"

namespace tunesmith::rewrite {
namespace {

constexpr std::int64_t kAttemptsPerTrial = 40;
constexpr int kSamplesPerTable = 256; // a table remembers all shapes that it has seen

// What one attempt came to.
struct Attempt {
    enum : std::uint8_t { unfit, refused, equal, different } outcome = unfit;
    std::string text;
};

std::string attributeTexts(const Node& node) {
    std::string text;
    for (const auto& [key, attribute] : node.attributes)
        text += (text.empty() ? "" : ", ") + key + " " + attributeText(attribute);
    return text.empty() ? text : " (" + text + ")";
}

// The model of a counter-example in words: "Conv(2x4x5x5, 4x2x3x3) (group 2, ...)".
std::string describe(const Draft& draft) {
    std::string text;
    for (const NodeNo node : draft.order()) {
        text += (text.empty() ? "" : ", ") + draft.op(node).op + "(";
        for (std::size_t i = 0; i < draft.operands(node).size(); ++i)
            text += (i ? ", " : "") + (draft.operand(node, i) == kNone ? std::string("-") : shapeText(draft.shape(draft.operand(node, i))));
        text += ")" + attributeTexts(draft.op(node));
    }
    return text;
}

// Samples models and applies the substitution wherever it is found.
class Trials {
public:
    Trials(const Substitution& substitution, std::uint64_t seed) : substitution_(substitution), rng_(seed) {}

    // `seen` is told of each comparison.
    using Seen = std::function<void(const Draft&, const Match&, const Attempt&)>;
    std::vector<Attempt> next(const Seen& seen = {}) {
        if (!table_ || ++used_ % kSamplesPerTable == 0)
            table_ = std::make_shared<OperatorTable>();
        const std::optional<Draft> draft = substitution_.sample(table_, rng_);
        if (!draft)
            return {{Attempt::unfit, {}}};
        std::vector<Match> matches;
        for (const NodeNo node : draft->order())
            substitution_.find(*draft, node, matches);
        if (matches.empty())
            return {{Attempt::unfit, {}}};
        if (matches.size() > 4)
            matches.resize(4);
        std::vector<Attempt> attempts;
        for (const Match& match : matches) {
            attempts.push_back(attempt(*draft, match));
            if (seen && (attempts.back().outcome == Attempt::equal || attempts.back().outcome == Attempt::different))
                seen(*draft, match, attempts.back());
        }
        return attempts;
    }

private:
    Attempt attempt(const Draft& draft, const Match& match) {
        const Applied made = applied(draft, substitution_, match);
        if (!made.draft)
            return {Attempt::refused, std::string(made.refusal)};
        const auto before = evaluate(draft, smallInputs(draft, rng_));
        if (!before.ok())
            return {Attempt::unfit, before.error().message};
        const auto after = evaluateRewritten(*made.draft, *before);
        if (!after.ok())
            return {Attempt::different, describe(draft) + ": " + after.error().message};
        const auto difference = differenceOf(draft, *before, *made.draft, *after);
        return difference ? Attempt{Attempt::different, describe(draft) + ": " + *difference} : Attempt{Attempt::equal, {}};
    }

    const Substitution& substitution_;
    Rng rng_;
    std::shared_ptr<OperatorTable> table_;
    int used_ = 0;
};

void count(TrialCounts& counts, const Attempt& attempt) {
    switch (attempt.outcome) {
    case Attempt::unfit: ++counts.unfit; break;
    case Attempt::refused: ++counts.refused; break;
    default: ++counts.compared;
    }
}

// A case of the rule without conditions: which of them hold, and whether it was true.
struct Case {
    std::vector<bool> holds;
    bool equal;
};

// The conditions, few at a time, that hold in no false case and in as many true ones as can be; none if all true cases would go, too.
std::optional<std::vector<std::size_t>> tellingConditions(const std::vector<Case>& cases, std::size_t conditions) {
    std::vector<std::size_t> best, chosen;
    std::int64_t bestKept = 0;
    const std::function<void(std::size_t, std::size_t)> choose = [&](std::size_t from, std::size_t left) {
        std::int64_t kept = 0;
        bool lets = false; // a false case through
        for (const Case& each : cases)
            if (std::ranges::all_of(chosen, [&](std::size_t c) { return each.holds[c]; })) {
                kept += each.equal ? 1 : 0;
                lets = lets || !each.equal;
            }
        if (!lets && kept > bestKept) {
            best = chosen;
            bestKept = kept;
        }
        if (!lets || left == 0 || kept <= bestKept)
            return;
        for (std::size_t c = from; c < conditions; ++c) {
            chosen.push_back(c);
            choose(c + 1, left - 1);
            chosen.pop_back();
        }
    };
    for (std::size_t most = 0; most <= 3 && bestKept == 0; ++most)
        choose(0, most);
    return bestKept > 0 ? std::optional(best) : std::nullopt;
}

} // namespace

Verdict verify(const Substitution& substitution, std::int64_t trials, std::uint64_t seed, const StopToken& stop) {
    Verdict verdict;
    Trials source(substitution, seed);
    for (std::int64_t i = 0; i < trials * kAttemptsPerTrial && verdict.counts.compared < trials && verdict.holds() && !stop.stopRequested(); ++i)
        for (const Attempt& attempt : source.next()) {
            count(verdict.counts, attempt);
            if (attempt.outcome == Attempt::different && verdict.holds())
                verdict.counterExample = attempt.text;
        }
    return verdict;
}

NarrowedRule narrow(const Rule& rule, bool fromRight, std::int64_t trials, std::uint64_t seed, const StopToken& stop) {
    const PatternSubstitution bare("", rule, fromRight);
    const std::vector<Condition> all = conditionsOf(bare.pattern());
    NarrowedRule narrowed;
    std::vector<Case> cases;
    Trials source(bare, seed);
    const auto look = [&](const Draft& draft, const Match& match, const Attempt& attempt) {
        const auto binding = bindingOf(bare.pattern(), draft, match.values);
        Case made{{}, attempt.outcome == Attempt::equal};
        for (const Condition& condition : all)
            made.holds.push_back(binding && holds(condition, bare.pattern(), draft, *binding));
        cases.push_back(std::move(made));
        if (attempt.outcome == Attempt::different && narrowed.counterExample.empty())
            narrowed.counterExample = attempt.text;
    };
    for (std::int64_t i = 0; i < trials * kAttemptsPerTrial && static_cast<std::int64_t>(cases.size()) < trials && !stop.stopRequested(); ++i)
        source.next(look);
    // Further cases may need further conditions.
    for (std::uint64_t round = 1; round <= 8; ++round) {
        const auto telling = tellingConditions(cases, all.size());
        narrowed.conditions.clear();
        if (!telling) {
            narrowed.verdict = {{}, narrowed.counterExample};
            return narrowed;
        }
        for (const std::size_t c : *telling)
            narrowed.conditions.push_back(all[c]);
        const PatternSubstitution guarded("", rule, fromRight, narrowed.conditions);
        narrowed.verdict = verify(guarded, trials, seed + 0x9e3779b9ull * round, stop);
        if (narrowed.verdict.holds())
            return narrowed;
        Trials again(guarded, seed + 0x9e3779b9ull * round);
        for (std::int64_t i = 0, before = static_cast<std::int64_t>(cases.size()); i < trials * kAttemptsPerTrial && static_cast<std::int64_t>(cases.size()) < before + trials; ++i)
            again.next(look);
    }
    return narrowed;
}

} // namespace tunesmith::rewrite
