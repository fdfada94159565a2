// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/smallest_terms.h"

#include <algorithm>

namespace tunesmith::substitution {

SmallestTerms::SmallestTerms(const TermEnumeration& all) : all_(all) {
    byFingerprint_.reserve(all.terms().size());
    for (TermId id = 0; id < all.terms().size(); ++id)
        byFingerprint_.emplace_back(all.terms()[id].fingerprint, id);
    std::ranges::sort(byFingerprint_);
}

TermId SmallestTerms::of(std::uint64_t fingerprint) const {
    const auto found = std::ranges::lower_bound(byFingerprint_, std::pair(fingerprint, TermId(0)));
    return found != byFingerprint_.end() && found->first == fingerprint ? found->second : kNoTerm;
}

bool SmallestTerms::isRedundant(TermId id) const {
    const TermRecord &term = all_.terms()[id], &least = all_.terms()[of(id)];
    return least.size < term.size && least.shape == term.shape;
}

std::vector<char> SmallestTerms::redundant() const {
    std::vector<char> redundant(all_.terms().size());
    for (TermId id = 0; id < redundant.size(); ++id)
        redundant[id] = isRedundant(id);
    return redundant;
}

bool SmallestTerms::readsTooMuch(const TermRecord& term) const {
    const TermId least = of(term.fingerprint);
    return least != kNoTerm && (term.variables & ~all_.terms()[least].variables) != 0;
}

} // namespace tunesmith::substitution
