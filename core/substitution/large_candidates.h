// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/stop_token.h"
#include "core/substitution/candidates.h"
#include "core/substitution/large_terms.h"
#include "core/substitution/ranked_rule.h"
#include "core/substitution/result_pairs.h"

namespace tunesmith::substitution {

// The rules that terms in memory say, pruned; kept in the folder.
struct BaseRules {
    std::vector<Rule> rules;
    CandidateCounts counts;
    std::size_t candidates = 0;
};
Result<BaseRules> baseRules(const EnumerationOptions& options, PartFolder& folder, const StopToken& stop);

// Candidates that are in the folder, in order and each once, in parts that are named "candidates-0" and so on.
struct CandidateList {
    std::size_t rules = 0;
    CandidateCounts counts;
    std::size_t terms = 0, termBytes = 0; // that were compared, in memory and on disk; what those in memory took
};
Result<std::optional<CandidateList>> finishedCandidates(const PartFolder& folder, std::size_t rulesPerPart); // none before all parts are there

// The rules that equal fingerprints of terms on disk suggest: each bucket of terms is a part of the work, and so are some pairs of results.
class LargeCandidates {
public:
    LargeCandidates(const TermEnumeration& all, const SmallestTerms& smallest, LargeTerms& terms, const ResultPairs& pairs, PartFolder& folder)
        : all_(all), smallest_(smallest), terms_(terms), pairs_(pairs), folder_(folder) {}

    Status prepare(std::size_t bucketBytes);
    std::size_t parts() const;
    Status make(std::size_t part, const StopToken& stop); // unless it is there; for several threads at once
    Result<CandidateList> merge(std::size_t rulesPerPart, std::size_t bytes, const StopToken& stop);
    std::size_t termBytes() const { return all_.bytes() + smallest_.bytes() + pairs_.bytes(); }

private:
    std::size_t buckets() const { return std::size_t(1) << bits_; }
    std::string nameOf(std::size_t part) const;

    const TermEnumeration& all_;
    const SmallestTerms& smallest_;
    LargeTerms& terms_;
    const ResultPairs& pairs_;
    PartFolder& folder_;
    int bits_ = 0;
};

} // namespace tunesmith::substitution
