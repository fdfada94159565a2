// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/large_terms.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace tunesmith::substitution {

static_assert(std::has_unique_object_representations_v<LargeTerm>, "it is written as it is");

LargeTerms::LargeTerms(const TermEnumeration& all, const SmallestTerms& smallest, PartFolder& folder, TermId operandsPerPart)
    : all_(all), folder_(folder), operandsPerPart_(operandsPerPart), redundant_(smallest.redundant()),
      extension_(all, redundant_, TermExtension::Names::firstOfEachKind) {}

std::size_t LargeTerms::parts() const { return (extension_.end() - extension_.begin() + operandsPerPart_ - 1) / operandsPerPart_; }

std::string LargeTerms::nameOf(std::size_t part) const { return "terms-" + std::to_string(part); }

Status LargeTerms::make(std::size_t part) {
    if (folder_.has(nameOf(part)))
        return {};
    std::vector<LargeTerm> found;
    const auto add = [&](const TermRecord& record) {
        const Term& term = record.term;
        found.push_back({fingerprintOf(record.shape, all_.evaluate(record)), term.inputs, term.op, term.axis, term.part, {}});
    };
    const TermId begin = extension_.begin() + static_cast<TermId>(part) * operandsPerPart_;
    for (TermId u = begin; u < std::min(extension_.end(), begin + operandsPerPart_); ++u)
        extension_.extend(u, add);
    std::ranges::sort(found);
    return folder_.write(nameOf(part), std::as_bytes(std::span(found)));
}

std::size_t LargeTerms::count() const {
    std::size_t bytes = 0;
    for (std::size_t part = 0; part < parts(); ++part)
        bytes += folder_.size(nameOf(part));
    return bytes / sizeof(LargeTerm);
}

int LargeTerms::bitsFor(std::size_t bytes) const {
    constexpr std::size_t kMost = std::size_t(2) << 20; // some seconds of work
    const std::size_t all = count() * sizeof(LargeTerm);
    int bits = 2;
    while (bits < 12 && all >> bits > std::min(bytes, kMost))
        ++bits;
    return bits;
}

Status LargeTerms::index(int bits) {
    begins_.assign(parts(), {});
    for (std::size_t part = 0; part < parts(); ++part) {
        TS_ASSIGN(const std::vector<LargeTerm> terms, read(part, 0, folder_.size(nameOf(part)) / sizeof(LargeTerm)));
        for (std::size_t bucket = 0; bucket < std::size_t(1) << bits; ++bucket) {
            const auto begin = std::ranges::lower_bound(terms, std::uint64_t(bucket) << (64 - bits), {}, &LargeTerm::fingerprint);
            begins_[part].push_back(static_cast<std::uint32_t>(begin - terms.begin()));
        }
        begins_[part].push_back(static_cast<std::uint32_t>(terms.size()));
    }
    return {};
}

Result<std::vector<LargeTerm>> LargeTerms::bucket(std::size_t number) const {
    std::vector<LargeTerm> terms;
    for (std::size_t part = 0; part < parts(); ++part) {
        const std::size_t begin = begins_[part][number], count = begins_[part][number + 1] - begin;
        if (count == 0)
            continue;
        TS_ASSIGN(const std::vector<LargeTerm> some, read(part, begin, count));
        terms.insert(terms.end(), some.begin(), some.end());
    }
    std::ranges::sort(terms);
    return terms;
}

Result<std::vector<LargeTerm>> LargeTerms::read(std::size_t part, std::size_t begin, std::size_t count) const {
    TS_ASSIGN(const Bytes bytes, folder_.read(nameOf(part), begin * sizeof(LargeTerm), count * sizeof(LargeTerm)));
    std::vector<LargeTerm> terms(count);
    if (count > 0)
        std::memcpy(terms.data(), bytes.data(), bytes.size());
    return terms;
}

} // namespace tunesmith::substitution
