// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/rng.h"
#include "core/rewrite/draft.h"

namespace tunesmith::rewrite {

// Where a substitution could be applied: what it found, in an order of its own. Good for the draft it was found in and for later ones in
// which all these values are made by the same nodes.
struct Match {
    NodeNo anchor = kNone;
    std::vector<ValueNo> values;
    std::uint32_t way = 0; // of a substitution that has several: a number of its own
    bool operator==(const Match&) const = default;
};

// What people see of a substitution.
struct SubstitutionCard {
    std::string name;                    // "merge-convolutions", "generated/17 left to right"
    std::string equation;                // what equals what
    std::vector<std::string> conditions; // under which it holds
    bool simplifies = false;             // never makes a model dearer, weights included: applied wherever it is found, searches do not choose
    std::string evidence = "written by hand; the program's tests try it on random models"; // why it is believed
    bool savesWork = false;              // operators compute less, and may no longer be mergeable: for costs that count work
};

// A way to replace some nodes of a draft by others that compute the same. Immutable; what it needs to know of a model is in the draft.
class Substitution {
public:
    // How many edges away from the anchor find() may look, in either direction. Searches look again only so close to what changed.
    static constexpr int kReach = 4;

    virtual ~Substitution() = default;

    const SubstitutionCard& card() const { return card_; }

    // All places whose anchor is this living node.
    virtual void find(const Draft& draft, NodeNo anchor, std::vector<Match>& found) const = 0;

    // Rewrites the draft, which the caller settles. Empty, or why it may not be done here ("the convolution has groups"); the draft is good
    // for nothing then.
    virtual std::string_view apply(Draft& draft, const Match& match) const = 0;

    // A small random model in which it can be found, at random legal shapes and attributes; for verification. Sometimes there is none.
    virtual std::optional<Draft> sample(const std::shared_ptr<OperatorTable>& table, Rng& rng) const = 0;

protected:
    explicit Substitution(SubstitutionCard card) : card_(std::move(card)) {}
    SubstitutionCard card_;
};

using SubstitutionPtr = std::shared_ptr<const Substitution>;

// A copy of the draft with the match applied and settled, or why there is none.
struct Applied {
    std::optional<Draft> draft;
    std::string_view refusal;
};
Applied applied(const Draft& draft, const Substitution& substitution, const Match& match);
// The same of a rule that may be wrong: builds with assertions do not check it (application_check.h).
Applied appliedOnTrial(const Draft& draft, const Substitution& substitution, const Match& match);

} // namespace tunesmith::rewrite
