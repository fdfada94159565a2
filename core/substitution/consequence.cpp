// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/consequence.h"

#include <algorithm>
#include <set>

namespace tunesmith::substitution {
namespace {

void collect(const Rule& rule, TermId id, std::set<TermId>& found) {
    if (!found.insert(id).second || rule.nodes[id].op == TermOp::input)
        return;
    for (const TermId input : rule.nodes[id].inputs)
        if (input != kNoTerm)
            collect(rule, input, found);
}

// How many splits there are of which one part is used nowhere.
std::ptrdiff_t wasteOf(const Rule& rule, const std::vector<TermId>& results) {
    std::set<TermId> used;
    for (const TermId result : results)
        collect(rule, result, used);
    return std::ranges::count_if(used, [&](TermId id) {
        Term other = rule.nodes[id];
        other.part = static_cast<std::uint8_t>(1 - other.part);
        return other.op == TermOp::split && std::ranges::none_of(used, [&](TermId i) { return rule.nodes[i] == other; });
    });
}

bool followsForTheseShapes(const Rule& rule, const KnownRewrites& known, const DerivationLimits& limits) {
    if (isImplied(rule, known.reversible, limits))
        return true;
    return std::ranges::all_of(rewritesOf(rule), [&](const Rewrite& rewrite) {
        return wasteOf(rule, *rewrite.to) > wasteOf(rule, *rewrite.from) || leadsTo(rewrite, known.all, limits);
    });
}

} // namespace

void KnownRewrites::add(const Rule& rule) {
    const std::vector<Rewrite> rewrites = rewritesOf(rule);
    all.insert(all.end(), rewrites.begin(), rewrites.end());
    if (rewrites.size() == 2)
        reversible.insert(reversible.end(), rewrites.begin(), rewrites.end());
}

KnownRewrites KnownRewrites::without(const Rule& rule) const {
    KnownRewrites others = *this;
    for (std::vector<Rewrite>* rewrites : {&others.all, &others.reversible})
        std::erase_if(*rewrites, [&](const Rewrite& rewrite) { return rewrite.rule == &rule; });
    return others;
}

bool isConsequence(const Rule& rule, const KnownRewrites& known, const DerivationLimits& limits) {
    if (!followsForTheseShapes(rule, known, limits))
        return false;
    const auto grouped = depthwise(rule);
    return !grouped || followsForTheseShapes(*grouped, known, limits);
}

} // namespace tunesmith::substitution
