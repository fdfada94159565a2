// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/optimize/rule_set.h"

#include <algorithm>

#include "core/rewrite/written/inspect.h"

namespace tunesmith::optimize {
namespace {

// More can only be rules that undo each other.
std::size_t mostSimplifications(const Draft& draft) { return 1000 + 25 * draft.order().size(); }

// Small constants are shared by what has nothing to do with each other; large ones may not be there twice, so rules look who reads them.
bool connects(const Draft& draft, ValueNo value) {
    return value != rewrite::kNone && (draft.value(value).constant == rewrite::kNone || rewrite::bytesOf(draft, value) > rewrite::kMayBeTwice);
}

// Spreads over nodes that share a value.
class Ball {
public:
    explicit Ball(const Draft& draft) : draft_(draft), seenNodes_(draft.nodes()), seenValues_(draft.values()) {}

    void seedNode(NodeNo node) {
        if (node == rewrite::kNone || !draft_.isAlive(node) || seenNodes_[node])
            return;
        seenNodes_[node] = true;
        nodes_.push_back(node);
    }

    // Whoever makes or reads the value.
    void seedValue(ValueNo value) {
        if (value == rewrite::kNone || seenValues_[value])
            return;
        seenValues_[value] = true;
        seedNode(draft_.value(value).maker);
        for (const NodeNo reader : draft_.consumers(value))
            seedNode(reader);
    }

    std::vector<NodeNo> grown(int reach) {
        std::size_t first = 0;
        for (int step = 0; step < reach; ++step) {
            const std::size_t end = nodes_.size();
            for (; first < end; ++first) {
                const NodeNo node = nodes_[first];
                for (const ValueNo operand : draft_.operands(node))
                    if (connects(draft_, operand))
                        seedValue(operand);
                for (std::size_t i = 0; i < draft_.node(node).outputs; ++i)
                    seedValue(draft_.output(node, i));
            }
        }
        std::ranges::sort(nodes_);
        return std::move(nodes_);
    }

private:
    const Draft& draft_;
    std::vector<bool> seenNodes_, seenValues_;
    std::vector<NodeNo> nodes_;
};

} // namespace

std::vector<NodeNo> nearChanges(const Draft& draft, const Draft& before, int reach) {
    Ball ball(draft);
    for (NodeNo node = 0; node < draft.nodes(); ++node) {
        const bool known = node < before.nodes();
        if (known && draft.isAlive(node) == before.isAlive(node) && (!draft.isAlive(node) || std::ranges::equal(draft.operands(node), before.operands(node))))
            continue;
        ball.seedNode(node);
        for (const ValueNo operand : draft.operands(node))
            if (connects(draft, operand))
                ball.seedValue(operand);
        if (known)
            for (const ValueNo operand : before.operands(node))
                if (connects(draft, operand))
                    ball.seedValue(operand);
    }
    for (std::size_t i = 0; i < draft.outputs().size(); ++i)
        if (draft.outputs()[i] != before.outputs()[i])
            ball.seedValue(draft.outputs()[i]);
    return ball.grown(reach);
}

RuleSet::RuleSet(std::vector<SubstitutionPtr> rules) : rules_(std::move(rules)) {
    for (std::uint32_t rule = 0; rule < rules_.size(); ++rule)
        (rules_[rule]->card().simplifies ? simplifying_ : chosen_).push_back(rule);
}

void RuleSet::findAt(const Draft& draft, NodeNo anchor, std::span<const std::uint32_t> rules, std::vector<Move>& found) const {
    std::vector<Match> matches;
    if (draft.isWeight(draft.output(anchor)) || !rewrite::isPlain(draft, anchor))
        return; // computed once: nothing to gain; or opaque
    for (const std::uint32_t rule : rules) {
        rules_[rule]->find(draft, anchor, matches);
        for (Match& match : matches)
            found.push_back({rule, std::move(match)});
        matches.clear();
    }
}

std::vector<Move> RuleSet::moves(const Draft& draft) const {
    std::vector<Move> found;
    for (NodeNo node = 0; node < draft.nodes(); ++node)
        if (draft.isAlive(node))
            findAt(draft, node, chosen_, found);
    return found;
}

std::vector<Move> RuleSet::moves(const Draft& draft, const Draft& before, const std::vector<Move>& movesBefore) const {
    const std::vector<NodeNo> near = nearChanges(draft, before);
    std::vector<Move> found;
    auto next = movesBefore.begin();
    const auto keepUntil = [&](NodeNo anchor) {
        for (; next != movesBefore.end() && next->match.anchor < anchor; ++next)
            if (draft.isAlive(next->match.anchor))
                found.push_back(*next);
    };
    for (const NodeNo node : near) {
        keepUntil(node);
        while (next != movesBefore.end() && next->match.anchor == node)
            ++next;
        findAt(draft, node, chosen_, found);
    }
    keepUntil(rewrite::kNone);
    return found;
}

bool RuleSet::simplify(Draft& draft, const Draft* before, std::vector<std::uint32_t>& applied, const StopToken& stop) const {
    if (simplifying_.empty())
        return true;
    std::vector<NodeNo> places = before ? nearChanges(draft, *before) : draft.order();
    const std::size_t most = mostSimplifications(draft);
    for (std::size_t count = 0; !places.empty() && !stop.stopRequested();) {
        const NodeNo node = places.back();
        places.pop_back();
        if (!draft.isAlive(node))
            continue;
        std::vector<Move> found;
        findAt(draft, node, simplifying_, found);
        for (const Move& move : found) {
            auto [made, refusal] = rewrite::applied(draft, *rules_[move.rule], move.match);
            if (!made)
                continue;
            if (++count > most)
                return false;
            const std::vector<NodeNo> near = nearChanges(*made, draft);
            draft = std::move(*made);
            applied.push_back(move.rule);
            std::ranges::copy_if(near, std::back_inserter(places), [&](NodeNo each) { return std::ranges::find(places, each) == places.end(); });
            break;
        }
    }
    return true;
}

} // namespace tunesmith::optimize
