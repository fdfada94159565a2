// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>

#include "core/substitution/rule.h"
#include "core/substitution/smallest_terms.h"
#include "core/substitution/term_extension.h"

namespace tunesmith::substitution {

// Two results that share operators, one more than listed terms have in all, and the smallest terms that are equal to them. Two equations of one
// result each would say as much, were it not for inputs that a result reads without need: each alone cannot say where these come from,
// the other can. So one of the results has such inputs, and the smaller terms read them all. For several threads at once.
class ResultPairs {
public:
    ResultPairs(const TermEnumeration& all, const SmallestTerms& smallest);

    std::size_t parts() const;
    using Sink = std::function<void(const Rule&)>;
    void find(std::size_t part, const Sink& found) const;

    std::size_t bytes() const { return byOperator_.capacity() * sizeof(byOperator_[0]) + wasteful_.capacity() * sizeof(TermId); }

private:
    using Pair = std::array<TermRecord, 2>;
    const TermRecord& at(TermId id) const { return all_.terms()[id]; }
    void pairWithSharing(TermId id, const Sink& found) const;
    void pairParts(TermId id, const Sink& found) const;
    void offer(const Pair& pair, const Sink& found) const;

    const TermEnumeration& all_;
    const SmallestTerms& smallest_;
    std::size_t size_;                                   // of the pairs: operators
    std::vector<TermId> wasteful_;                       // terms with inputs that they do not need
    std::vector<std::pair<TermId, TermId>> byOperator_;  // an operator, a term that is made of it
};

} // namespace tunesmith::substitution
