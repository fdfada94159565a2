// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/derivation.h"

#include <algorithm>

#include "core/substitution/parallel.h"

namespace tunesmith::substitution {
namespace {

// Rules that are kept so far. Threads judge a batch by what is known before it; what they keep is judged again in order, by the batch as well.
class Pruning {
public:
    static constexpr std::size_t kBatch = 64;

    Pruning(const std::vector<Rule>& rules, int threads, const StopToken& stop)
        : rules_(rules), threads_(threads), stop_(stop), rewrites_(rules.size()), isKept_(rules.size()) {
        for (std::size_t i = 0; i < rules.size(); ++i)
            rewrites_[i] = rewritesOf(rules[i]);
    }

    void addBatch(std::size_t begin) {
        const std::size_t count = std::min(kBatch, rules_.size() - begin);
        const std::vector<Rewrite> before = known();
        std::vector<char> derived(count);
        (void)inParallel(count, threads_, stop_, [&](std::size_t i) { return derived[i] = isSaidBy(before, begin + i), Status(); });
        std::vector<Rewrite> now = before;
        for (std::size_t i = 0; i < count; ++i)
            if (!derived[i] && (now.size() == before.size() || !isSaidBy(now, begin + i))) {
                isKept_[begin + i] = 1;
                now.insert(now.end(), rewrites_[begin + i].begin(), rewrites_[begin + i].end());
            }
    }

    // What was kept as special may follow from something general that came after it.
    void dropWhatLaterOnesSay() {
        std::vector<std::size_t> kept;
        for (std::size_t i = 0; i < rules_.size(); ++i)
            if (isKept_[i])
                kept.push_back(i);
        std::vector<char> derived(kept.size());
        (void)inParallel(kept.size(), threads_, stop_, [&](std::size_t i) { return derived[i] = isSaidBy(known(kept[i]), kept[i]), Status(); });
        for (std::size_t i = 0; i < kept.size(); ++i)
            if (derived[i] && isSaidBy(known(kept[i]), kept[i]))
                isKept_[kept[i]] = 0;
    }

    std::size_t kept() const { return static_cast<std::size_t>(std::ranges::count(isKept_, 1)); }

    std::vector<Rule> result() const {
        std::vector<Rule> result;
        for (std::size_t i = 0; i < rules_.size(); ++i)
            if (isKept_[i])
                result.push_back(rules_[i]);
        return result;
    }

private:
    bool isSaidBy(std::span<const Rewrite> known, std::size_t rule) const { return stop_.stopRequested() || isDerived(rules_[rule], known); }

    std::vector<Rewrite> known(std::optional<std::size_t> without = {}) const {
        std::vector<Rewrite> rewrites;
        for (std::size_t i = 0; i < rules_.size(); ++i)
            if (isKept_[i] && i != without)
                rewrites.insert(rewrites.end(), rewrites_[i].begin(), rewrites_[i].end());
        return rewrites;
    }

    const std::vector<Rule>& rules_;
    const int threads_;
    const StopToken& stop_;
    std::vector<std::vector<Rewrite>> rewrites_; // of each rule
    std::vector<char> isKept_;
};

} // namespace

bool leadsTo(const Rewrite& rewrite, std::span<const Rewrite> known, const DerivationLimits& limits) {
    const Rule& rule = *rewrite.rule;
    TermGraph graph(rule.variables, limits.nodes);
    std::vector<TermGraph::ClassId> from;
    for (const TermId id : *rewrite.from)
        from.push_back(*graph.add(rule, id));
    const auto isThere = [&] {
        for (std::size_t i = 0; i < from.size(); ++i)
            if (const auto found = graph.find(rule, (*rewrite.to)[i]); !found || !graph.equal(*found, from[i]))
                return false;
        return true;
    };
    for (int round = 0; round < limits.rounds && !isThere(); ++round)
        if (!graph.apply(known))
            break;
    return isThere();
}

bool isDerived(const Rule& rule, std::span<const Rewrite> known, const DerivationLimits& limits) {
    const auto isLedTo = [&](const Rule& special) {
        return std::ranges::all_of(rewritesOf(special), [&](const Rewrite& rewrite) { return leadsTo(rewrite, known, limits); });
    };
    if (!isLedTo(rule))
        return false;
    const auto grouped = depthwise(rule);
    return !grouped || isLedTo(*grouped);
}

bool isImplied(const Rule& rule, std::span<const Rewrite> known, const DerivationLimits& limits) {
    TermGraph graph(rule.variables, limits.nodes);
    std::vector<std::pair<TermGraph::ClassId, TermGraph::ClassId>> sides;
    for (std::size_t i = 0; i < rule.left.size(); ++i) {
        const auto left = graph.add(rule, rule.left[i]), right = graph.add(rule, rule.right[i]);
        if (!left || !right)
            return false;
        sides.emplace_back(*left, *right);
    }
    const auto areEqual = [&] { return std::ranges::all_of(sides, [&](const auto& side) { return graph.equal(side.first, side.second); }); };
    for (int round = 0; round < limits.rounds && !areEqual(); ++round)
        if (!graph.apply(known))
            break;
    return areEqual();
}

std::optional<std::vector<Rule>> withoutDerived(const std::vector<Rule>& rules, int threads, const StopToken& stop, const PruneObserver& observer) {
    Pruning pruning(rules, threads, stop);
    for (std::size_t begin = 0; begin < rules.size() && !stop.stopRequested(); begin += Pruning::kBatch) {
        pruning.addBatch(begin);
        if (observer)
            observer(std::min(rules.size(), begin + Pruning::kBatch), pruning.kept());
    }
    pruning.dropWhatLaterOnesSay();
    if (observer)
        observer(rules.size(), pruning.kept());
    return stop.stopRequested() ? std::nullopt : std::optional(pruning.result());
}

} // namespace tunesmith::substitution
