// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <span>

#include "core/base/stop_token.h"
#include "core/rewrite/substitution.h"

namespace tunesmith::optimize {

using rewrite::Draft;
using rewrite::Match;
using rewrite::NodeNo;
using rewrite::SubstitutionPtr;
using rewrite::ValueNo;

// A place where a rule of a set could be applied.
struct Move {
    std::uint32_t rule = 0;
    Match match;
    bool operator==(const Move&) const = default;
};

// The rules that a search works with: those it chooses from, and those that are applied wherever they are found. Safe to share between
// threads.
class RuleSet {
public:
    explicit RuleSet(std::vector<SubstitutionPtr> rules);

    const rewrite::Substitution& operator[](std::uint32_t rule) const { return *rules_[rule]; }
    std::size_t size() const { return rules_.size(); }

    // All moves of a draft, by anchor.
    std::vector<Move> moves(const Draft& draft) const;
    // The same where the moves of the draft before one rewrite are known: looks again only near what changed.
    std::vector<Move> moves(const Draft& draft, const Draft& before, const std::vector<Move>& movesBefore) const;

    // Applies what simplifies until nothing does, looking near what changed since `before`, or everywhere. False where the draft cannot be
    // settled any more, which would be a rule's mistake. `applied` gets the rules, in order. When asked to stop, what is done by then stays.
    bool simplify(Draft& draft, const Draft* before, std::vector<std::uint32_t>& applied, const StopToken& stop = {}) const;

private:
    void findAt(const Draft& draft, NodeNo anchor, std::span<const std::uint32_t> rules, std::vector<Move>& found) const;

    std::vector<SubstitutionPtr> rules_;
    std::vector<std::uint32_t> chosen_, simplifying_;
};

// Living nodes so close to what differs between two drafts, of which the later came from the earlier by rewriting, that a rule may see it.
std::vector<NodeNo> nearChanges(const Draft& draft, const Draft& before, int reach = rewrite::Substitution::kReach);

} // namespace tunesmith::optimize
