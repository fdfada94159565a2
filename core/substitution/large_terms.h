// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/substitution/part_folder.h"
#include "core/substitution/smallest_terms.h"
#include "core/substitution/term_extension.h"

namespace tunesmith::substitution {

// A term over listed ones, without its value.
struct LargeTerm {
    std::uint64_t fingerprint = 0;
    std::array<TermId, 2> inputs{kNoTerm, kNoTerm};
    TermOp op = TermOp::input;
    std::uint8_t axis = 0, part = 0;
    std::array<std::uint8_t, 5> unused{};

    Term term() const { return {op, axis, part, inputs}; }
    auto operator<=>(const LargeTerm&) const = default; // by fingerprint first
};

// The terms of one operator more than those of a list, on disk: each part has those of some larger operands, by fingerprint. They are read
// again by bucket, which is a range of fingerprints. Only names that come first of their kind are read. For several threads at once.
class LargeTerms {
public:
    LargeTerms(const TermEnumeration& all, const SmallestTerms& smallest, PartFolder& folder, TermId operandsPerPart);

    std::size_t parts() const;
    Status make(std::size_t part); // unless it is there
    std::size_t count() const;     // terms in the parts that are there

    // The power of two of buckets of which one has about so many bytes or less.
    int bitsFor(std::size_t bytes) const;
    Status index(int bits); // before bucket(): reads where in each part they begin
    Result<std::vector<LargeTerm>> bucket(std::size_t number) const; // in order

private:
    std::string nameOf(std::size_t part) const;
    Result<std::vector<LargeTerm>> read(std::size_t part, std::size_t begin, std::size_t count) const;

    const TermEnumeration& all_;
    PartFolder& folder_;
    TermId operandsPerPart_;
    std::vector<char> redundant_;
    TermExtension extension_;
    std::vector<std::vector<std::uint32_t>> begins_; // of each bucket in each part, and the end
};

} // namespace tunesmith::substitution
