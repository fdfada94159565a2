// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/trials.h"

#include <algorithm>

#include "core/rewrite/evaluate.h"

namespace tunesmith::rewrite {
namespace {

constexpr std::int64_t kAttemptsPerTrial = 40, kHopelessAttempts = 4000;
constexpr int kSamplesPerTable = 256; // a table remembers all shapes that it has seen
constexpr std::size_t kMatchesPerModel = 4;

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

} // namespace

void Trials::run(std::int64_t trials, const StopToken& stop, const Seen& seen) {
    std::int64_t compared = 0;
    for (std::int64_t i = 0; compared < trials && i < std::max(trials * kAttemptsPerTrial, kHopelessAttempts) && !stop.stopRequested(); ++i)
        if ((compared == 0 && i >= kHopelessAttempts) || !next(seen, compared))
            return;
}

bool Trials::next(const Seen& seen, std::int64_t& compared) {
    if (!table_ || ++used_ % kSamplesPerTable == 0)
        table_ = std::make_shared<OperatorTable>();
    const std::optional<Draft> draft = substitution_.sample(table_, rng_);
    std::vector<Match> matches;
    for (std::size_t i = 0; draft && i < draft->order().size(); ++i)
        substitution_.find(*draft, draft->order()[i], matches);
    if (matches.empty())
        return seen(nullptr, {}, {});
    for (std::size_t i = 0; i < std::min(matches.size(), kMatchesPerModel); ++i) {
        const Attempt made = attempt(*draft, matches[i]);
        compared += made.compared() ? 1 : 0;
        if (!seen(&*draft, matches[i], made))
            return false;
    }
    return true;
}

Attempt Trials::attempt(const Draft& draft, const Match& match) {
    const Applied made = appliedOnTrial(draft, substitution_, match);
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

} // namespace tunesmith::rewrite
