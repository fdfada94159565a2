// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <span>

#include "core/substitution/enumeration.h"

namespace tunesmith::substitution {

// The terms that are one operator larger than those of a list: an operator over one term, or over two that have so many operators together.
// Nothing is built on what is redundant. The list may grow while terms are made, but not during a call. For several threads at once.
class TermExtension {
public:
    enum class Names : std::uint8_t {
        all,
        firstOfEachKind, // what reads x2 but not x1 says nothing that x1 does not
    };
    TermExtension(const TermEnumeration& all, std::span<const char> redundant, Names names);

    int size() const { return size_; } // of the terms that are made
    TermId begin() const { return begin_; } // the larger operands: the later of two equally large
    TermId end() const { return end_; }

    // Terms with that larger operand. What is found has no fingerprint yet, and no number among its operators for its own.
    using Sink = std::function<void(const TermRecord&)>;
    void extend(TermId larger, const Sink& found) const;
    void addConstants(const Sink& found) const; // operators of no operands

private:
    const TermRecord& at(TermId id) const { return all_.terms()[id]; }
    void extendByOthers(TermId u, const Sink& found) const;
    std::vector<TermId> partsOf(TermId u) const;
    void considerPair(TermId u, TermId v, const Sink& found) const;
    void consider(const Term& term, const Sink& found) const;
    bool rolesFit(TermOp op, const TermRecord& a, const TermRecord& b) const;
    bool isWeights(const TermRecord& record) const;
    bool reads(const TermRecord& record, TensorRole role) const;

    const TermEnumeration& all_;
    std::span<const char> redundant_;
    Names names_;
    int size_;
    TermId begin_, end_;
};

// Whether no input of a kind is read without the one before it.
bool readsFirstOfEachKind(const std::vector<TermInput>& inputs, std::uint32_t variables);

// The operators of both, ascending; how many those are is returned.
std::size_t uniteOperators(const TermRecord& a, const TermRecord& b, std::array<TermId, 8>& both);

} // namespace tunesmith::substitution
