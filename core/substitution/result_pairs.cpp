// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/result_pairs.h"

#include <algorithm>

namespace tunesmith::substitution {
namespace {

constexpr std::size_t kWastefulPerPart = 256, kWholesPerPart = 16384;

std::size_t partsOf(std::size_t count, std::size_t perPart) { return (count + perPart - 1) / perPart; }

} // namespace

ResultPairs::ResultPairs(const TermEnumeration& all, const SmallestTerms& smallest)
    : all_(all), smallest_(smallest), size_(static_cast<std::size_t>(all.terms().back().size) + 1) {
    for (auto id = static_cast<TermId>(all.firstOfSize(1)); id < all.terms().size(); ++id) {
        if (smallest.readsTooMuch(at(id)))
            wasteful_.push_back(id);
        for (std::size_t i = 0; i < at(id).size; ++i)
            byOperator_.emplace_back(at(id).operators[i], id);
    }
    std::ranges::sort(byOperator_);
}

std::size_t ResultPairs::parts() const { return partsOf(wasteful_.size(), kWastefulPerPart) + partsOf(all_.terms().size(), kWholesPerPart); }

void ResultPairs::find(std::size_t part, const Sink& found) const {
    const std::size_t ofWasteful = partsOf(wasteful_.size(), kWastefulPerPart);
    if (part < ofWasteful) {
        for (std::size_t i = part * kWastefulPerPart; i < std::min(wasteful_.size(), (part + 1) * kWastefulPerPart); ++i)
            pairWithSharing(wasteful_[i], found);
        return;
    }
    part -= ofWasteful;
    for (std::size_t id = part * kWholesPerPart; id < std::min(all_.terms().size(), (part + 1) * kWholesPerPart); ++id)
        pairParts(static_cast<TermId>(id), found);
}

// With every other term over one of its operators.
void ResultPairs::pairWithSharing(TermId id, const Sink& found) const {
    std::vector<TermId> others;
    std::array<TermId, 8> both{};
    for (std::size_t i = 0; i < at(id).size; ++i) {
        const TermId shared = at(id).operators[i];
        for (auto next = std::ranges::lower_bound(byOperator_, std::pair(shared, TermId(0))); next != byOperator_.end() && next->first == shared; ++next)
            if (at(id).size + at(next->second).size > static_cast<int>(size_) && uniteOperators(at(id), at(next->second), both) == size_)
                others.push_back(next->second);
    }
    std::ranges::sort(others);
    others.erase(std::unique(others.begin(), others.end()), others.end());
    for (const TermId other : others)
        if (other > id || !smallest_.readsTooMuch(at(other))) // else it is paired with this one
            offer({at(id), at(other)}, found);
}

// Both parts of the term, where it was put together of some.
void ResultPairs::pairParts(TermId id, const Sink& found) const {
    if (at(id).size + 1U != size_ || smallest_.isRedundant(id))
        return;
    for (std::uint8_t axis = 0; axis < 2; ++axis) {
        Pair pair;
        for (std::uint8_t part = 0; part < 2; ++part) {
            pair[part].term = {TermOp::split, axis, part, {id, kNoTerm}};
            pair[part].shape = shapeOf(pair[part].term, at(id).shape, {});
            pair[part].variables = at(id).variables;
        }
        if (pair[0].shape.rank == 0 || !readsFirstOfEachKind(all_.inputs(), at(id).variables))
            continue;
        for (TermRecord& record : pair)
            record.fingerprint = fingerprintOf(record.shape, all_.evaluate(record));
        offer(pair, found);
    }
}

void ResultPairs::offer(const Pair& pair, const Sink& found) const {
    const std::uint32_t read = pair[0].variables | pair[1].variables;
    const TermId first = smallest_.of(pair[0].fingerprint), second = smallest_.of(pair[1].fingerprint);
    if (first == second || first == kNoTerm || second == kNoTerm || !readsFirstOfEachKind(all_.inputs(), read))
        return;
    const bool readsTooMuch = smallest_.readsTooMuch(pair[0]) || smallest_.readsTooMuch(pair[1]);
    std::array<TermId, 8> both{};
    if (!readsTooMuch || uniteOperators(at(first), at(second), both) > size_ || (read & ~(at(first).variables | at(second).variables)) != 0)
        return;
    const std::array more{pair[0].term, pair[1].term};
    const auto listed = static_cast<TermId>(all_.terms().size());
    found(ruleOf(all_, {first, second}, {listed, listed + 1}, more));
}

} // namespace tunesmith::substitution
