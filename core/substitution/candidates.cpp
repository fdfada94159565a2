// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/candidates.h"

#include <algorithm>
#include <map>
#include <set>

namespace tunesmith::substitution {
namespace {

class CandidateSearch {
public:
    CandidateSearch(const TermEnumeration& all, CandidateCounts& counts, const StopToken& stop) : all_(all), counts_(counts), stop_(stop) {}

    Result<std::vector<Rule>> run() {
        sortByFingerprint();
        for (const auto& [begin, end] : classesOfEqual()) {
            if (stop_.stopRequested())
                break;
            ++counts_.classes;
            for (std::size_t i = begin + 1; i < end; ++i) {
                ++counts_.pairs;
                offer(ruleOf(all_, {order_[begin]}, {order_[i]}));
            }
        }
        pairResults();
        if (stop_.stopRequested())
            return cancelledError();
        std::vector<Rule> rules;
        for (auto& [key, rule] : rules_)
            rules.push_back(std::move(rule));
        return rules;
    }

private:
    std::uint64_t fingerprint(std::size_t place) const { return all_.terms()[order_[place]].fingerprint; }

    void sortByFingerprint() {
        for (TermId id = 0; id < all_.terms().size(); ++id)
            order_.push_back(id);
        std::ranges::sort(order_, {}, [&](TermId id) { return std::pair(all_.terms()[id].fingerprint, id); });
    }

    // Where in the order those are that are more than one; by their first terms, for fingerprints depend on the seed.
    std::vector<std::pair<std::size_t, std::size_t>> classesOfEqual() const {
        std::vector<std::pair<std::size_t, std::size_t>> classes;
        for (std::size_t begin = 0, end = 0; begin < order_.size(); begin = end) {
            while (end < order_.size() && fingerprint(end) == fingerprint(begin))
                ++end;
            if (end - begin > 1)
                classes.emplace_back(begin, end);
        }
        std::ranges::sort(classes, {}, [&](const auto& range) { return order_[range.first]; });
        return classes;
    }

    void offer(const Rule& found) {
        const std::optional<Rule> candidate = candidateOf(found, counts_);
        if (!candidate)
            return;
        const Rule& rule = *candidate;
        const std::string text = toText(rule);
        const int size = rule.operators(rule.left) + rule.operators(rule.right);
        const auto special = -static_cast<int>(rule.variables.size());
        counts_.renamed += !rules_.try_emplace(std::tuple(size, special, text.size(), text), rule).second;
    }

    // Two terms over one operator, each one operator more, or both parts of a split: three operators at most.
    void pairResults() {
        std::map<TermId, std::vector<TermId>> above; // by the operator that they share
        const std::size_t end = all_.firstOfSize(3);
        for (auto id = static_cast<TermId>(all_.firstOfSize(2)); id < end; ++id)
            above[all_.terms()[id].operators[0]].push_back(id);
        for (const auto& [shared, terms] : above)
            for (std::size_t i = 0; i < terms.size() && !stop_.stopRequested(); ++i)
                for (std::size_t j = i + 1; j < terms.size(); ++j)
                    rememberPair(terms[i], terms[j]);
        for (auto id = static_cast<TermId>(all_.firstOfSize(1)); id + 1 < all_.terms().size(); ++id)
            if (const Term &term = all_.terms()[id].term, &next = all_.terms()[id + 1U].term;
                term.op == TermOp::split && term.part == 0 && next.op == TermOp::split && next.inputs == term.inputs && next.axis == term.axis)
                rememberPair(id, id + 1);
        std::vector<std::vector<std::pair<TermId, TermId>>> groups;
        for (auto& [key, pairs] : pairs_) {
            if (pairs[0].second < pairs[0].first)
                for (auto& [first, second] : pairs)
                    std::swap(first, second);
            groups.push_back(std::move(pairs));
        }
        std::ranges::sort(groups);
        for (const auto& pairs : groups)
            if (!stop_.stopRequested())
                offerPairs(pairs);
    }

    void rememberPair(TermId a, TermId b) {
        const std::uint64_t first = all_.terms()[a].fingerprint, second = all_.terms()[b].fingerprint;
        if (first == second)
            return;
        pairs_[std::minmax(first, second)].push_back(first < second ? std::pair(a, b) : std::pair(b, a));
    }

    void offerPairs(const std::vector<std::pair<TermId, TermId>>& pairs) {
        // the smallest terms that are equal to the two, if they are less than three operators together
        const TermId a = smallestEqual(pairs[0].first), b = smallestEqual(pairs[0].second);
        const int apart = all_.terms()[a].size + all_.terms()[b].size;
        const bool isApart = apart > 0 && apart <= 3;
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            const auto against = isApart ? std::pair(a, b) : pairs[0];
            if (pairs[i] == against)
                continue;
            ++counts_.shared;
            offer(ruleOf(all_, {against.first, against.second}, {pairs[i].first, pairs[i].second}));
        }
    }

    TermId smallestEqual(TermId id) const {
        const auto found = std::ranges::lower_bound(order_, std::pair(all_.terms()[id].fingerprint, TermId(0)), {},
                                                    [&](TermId i) { return std::pair(all_.terms()[i].fingerprint, i); });
        return *found;
    }

    const TermEnumeration& all_;
    CandidateCounts& counts_;
    const StopToken& stop_;
    std::vector<TermId> order_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::pair<TermId, TermId>>> pairs_;
    std::map<std::tuple<int, int, std::size_t, std::string>, Rule> rules_; // small and general ones first
};

} // namespace

std::optional<Rule> candidateOf(const Rule& found, CandidateCounts& counts) {
    Rule rule = generalised(found);
    const auto isVariable = [&](TermId id) { return rule.nodes[id].op == TermOp::input; };
    if (rule.left.empty() || (rule.left.size() > 1 && (std::ranges::any_of(rule.left, isVariable) || std::ranges::any_of(rule.right, isVariable)))) {
        ++counts.fromOperands;
        return {};
    }
    if (!holdsForReals(rule, 1) || !holdsForReals(rule, 2)) {
        ++counts.untrue;
        return {};
    }
    if (followsFromOperands(rule)) {
        ++counts.fromOperands;
        return {};
    }
    return rule;
}

Result<std::vector<Rule>> findCandidates(const TermEnumeration& all, CandidateCounts* counts, const StopToken& stop) {
    CandidateCounts own;
    return CandidateSearch(all, counts ? *counts : own, stop).run();
}

} // namespace tunesmith::substitution
