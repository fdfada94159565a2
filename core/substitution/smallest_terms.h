// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/substitution/enumeration.h"

namespace tunesmith::substitution {

// The first of all listed terms that have a value: smaller terms are listed first.
class SmallestTerms {
public:
    explicit SmallestTerms(const TermEnumeration& all);

    TermId of(std::uint64_t fingerprint) const; // kNoTerm: no term is worth that
    TermId of(TermId id) const { return of(all_.terms()[id].fingerprint); }

    // Whether the term is equal to one of fewer operators that was put together of parts in the same places.
    bool isRedundant(TermId id) const;
    std::vector<char> redundant() const; // for each term

    // Whether the term reads an input on which its value does not depend.
    bool readsTooMuch(const TermRecord& term) const;

    std::size_t bytes() const { return byFingerprint_.capacity() * sizeof(byFingerprint_[0]); }

private:
    const TermEnumeration& all_;
    std::vector<std::pair<std::uint64_t, TermId>> byFingerprint_;
};

} // namespace tunesmith::substitution
