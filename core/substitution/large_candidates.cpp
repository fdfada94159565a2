// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/large_candidates.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <type_traits>

#include "core/substitution/derivation.h"
#include "core/substitution/rule_merge.h"

namespace tunesmith::substitution {
namespace {

constexpr const char *kBase = "base", *kMerged = "candidates";

// What a part says before its rules.
struct Head {
    CandidateCounts counts;
    std::size_t rules = 0, terms = 0, termBytes = 0;
};
static_assert(std::is_trivially_copyable_v<Head>);

Bytes bytesOf(const Head& head) {
    Bytes bytes(sizeof(Head));
    std::memcpy(bytes.data(), &head, sizeof(Head));
    return bytes;
}

Result<Head> headOf(const PartFolder& folder, const std::string& part) {
    TS_ASSIGN(const Bytes bytes, folder.read(part, 0, sizeof(Head)));
    Head head;
    std::memcpy(&head, bytes.data(), sizeof(Head));
    return head;
}

// The candidates of a part, each once.
class CandidateSet {
public:
    void offer(const Rule& found) {
        std::optional<Rule> candidate = candidateOf(found, counts);
        if (!candidate)
            return;
        RankedRule rule = ranked(std::move(*candidate));
        const auto [same, isNew] = rules_.try_emplace(rule.text, rule);
        if (!isNew && rule < same->second)
            same->second = std::move(rule);
    }

    Bytes bytes() const {
        std::vector<const RankedRule*> order;
        for (const auto& [text, rule] : rules_)
            order.push_back(&rule);
        std::ranges::sort(order, [](const RankedRule* a, const RankedRule* b) { return *a < *b; });
        Bytes bytes = bytesOf({counts, rules_.size(), 0, 0});
        for (const RankedRule* rule : order)
            append(*rule, bytes);
        return bytes;
    }

    CandidateCounts counts;

private:
    std::map<std::string, RankedRule> rules_;
};

// Each term and the smallest that is equal to it.
void offerEqual(const TermEnumeration& all, const SmallestTerms& smallest, const std::vector<LargeTerm>& terms, CandidateSet& candidates,
                const StopToken& stop) {
    const auto listed = static_cast<TermId>(all.terms().size());
    for (std::size_t begin = 0, end = 0; begin < terms.size() && !stop.stopRequested(); begin = end) {
        while (end < terms.size() && terms[end].fingerprint == terms[begin].fingerprint)
            ++end;
        const TermId least = smallest.of(terms[begin].fingerprint);
        const std::size_t first = least == kNoTerm ? begin + 1 : begin;
        candidates.counts.classes += first < end;
        for (std::size_t i = first; i < end; ++i) {
            ++candidates.counts.pairs;
            const std::array more{terms[begin].term(), terms[i].term()};
            candidates.offer(ruleOf(all, {least == kNoTerm ? listed : least}, {listed + 1}, more));
        }
    }
}

} // namespace

Result<BaseRules> baseRules(const EnumerationOptions& options, PartFolder& folder, const StopToken& stop) {
    BaseRules base;
    if (folder.has(kBase)) {
        TS_ASSIGN(const Head head, headOf(folder, kBase));
        base.counts = head.counts;
        base.candidates = head.rules;
        RuleReader reader = readerOf(folder, kBase, sizeof(Head));
        for (;;) {
            TS_ASSIGN(std::optional<RankedRule> rule, reader.next());
            if (!rule)
                return base;
            base.rules.push_back(std::move(rule->rule));
        }
    }
    TS_ASSIGN(const TermEnumeration all, TermEnumeration::run(options, stop));
    TS_ASSIGN(const std::vector<Rule> candidates, findCandidates(all, &base.counts, stop));
    auto kept = withoutDerived(candidates, options.threads, stop);
    if (!kept)
        return cancelledError();
    base.rules = std::move(*kept);
    base.candidates = candidates.size();
    Bytes bytes = bytesOf({base.counts, base.candidates, all.terms().size(), all.bytes()});
    for (const Rule& rule : base.rules)
        append(ranked(rule), bytes);
    TS_TRY(folder.write(kBase, bytes));
    return base;
}

Result<std::optional<CandidateList>> finishedCandidates(const PartFolder& folder, std::size_t rulesPerPart) {
    if (!folder.has(kMerged))
        return std::optional<CandidateList>();
    TS_ASSIGN(const Head head, headOf(folder, kMerged));
    for (std::size_t part = 0; part * rulesPerPart < head.rules; ++part)
        if (!folder.has(kMerged + ("-" + std::to_string(part))))
            return std::optional<CandidateList>();
    return std::optional(CandidateList{head.rules, head.counts, head.terms, head.termBytes});
}

Status LargeCandidates::prepare(std::size_t bucketBytes) {
    bits_ = terms_.bitsFor(bucketBytes);
    return terms_.index(bits_);
}

std::size_t LargeCandidates::parts() const { return buckets() + pairs_.parts(); }

std::string LargeCandidates::nameOf(std::size_t part) const {
    return part < buckets() ? "equal-" + std::to_string(bits_) + "-" + std::to_string(part) : "pairs-" + std::to_string(part - buckets());
}

Status LargeCandidates::make(std::size_t part, const StopToken& stop) {
    if (folder_.has(nameOf(part)))
        return {};
    CandidateSet candidates;
    if (part < buckets()) {
        TS_ASSIGN(const std::vector<LargeTerm> terms, terms_.bucket(part));
        offerEqual(all_, smallest_, terms, candidates, stop);
    } else {
        pairs_.find(part - buckets(), [&](const Rule& found) {
            ++candidates.counts.shared;
            candidates.offer(found);
        });
    }
    if (stop.stopRequested())
        return cancelledError();
    return folder_.write(nameOf(part), candidates.bytes());
}

Result<CandidateList> LargeCandidates::merge(std::size_t rulesPerPart, std::size_t bytes, const StopToken& stop) {
    Head all;
    std::vector<RuleList> lists;
    for (std::size_t part = 0; part < parts(); ++part) {
        TS_ASSIGN(const Head head, headOf(folder_, nameOf(part)));
        for (const auto count : {&CandidateCounts::classes, &CandidateCounts::pairs, &CandidateCounts::shared, &CandidateCounts::fromOperands,
                                 &CandidateCounts::untrue})
            all.counts.*count += head.counts.*count;
        lists.push_back({nameOf(part), sizeof(Head)});
    }
    TS_ASSIGN(all.rules, mergeRules(folder_, lists, kMerged, rulesPerPart, bytes, stop));
    all.counts.renamed = all.counts.pairs + all.counts.shared - all.counts.fromOperands - all.counts.untrue - all.rules;
    all.terms = all_.terms().size() + terms_.count();
    all.termBytes = termBytes();
    TS_TRY(folder_.write(kMerged, bytesOf(all)));
    return CandidateList{all.rules, all.counts, all.terms, all.termBytes};
}

} // namespace tunesmith::substitution
