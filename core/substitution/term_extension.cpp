// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/term_extension.h"

#include <algorithm>

namespace tunesmith::substitution {
namespace {

struct Shaped {
    TermOp op;
    std::uint8_t axis = 0, part = 0;
};

// The operators of one operand and of two, with their attributes.
constexpr std::array kUnary{
    Shaped{TermOp::averagePool}, Shaped{TermOp::maxPool}, Shaped{TermOp::enlarge}, Shaped{TermOp::relu}, Shaped{TermOp::transpose},
    Shaped{TermOp::split, 0, 0}, Shaped{TermOp::split, 0, 1}, Shaped{TermOp::split, 1, 0}, Shaped{TermOp::split, 1, 1},
};
constexpr std::array kBinary{
    Shaped{TermOp::matmul}, Shaped{TermOp::add}, Shaped{TermOp::mul}, Shaped{TermOp::conv}, Shaped{TermOp::convRelu}, Shaped{TermOp::scale},
    Shaped{TermOp::concat, 0}, Shaped{TermOp::concat, 1},
};
// axis and part of a convolution's identity are the extents of its kernel
constexpr std::array kConstants{
    Shaped{TermOp::poolWeights}, Shaped{TermOp::convIdentity, 3, 3}, Shaped{TermOp::convIdentity, 1, 3}, Shaped{TermOp::convIdentity, 3, 1},
    Shaped{TermOp::convIdentity, 1, 1}, Shaped{TermOp::productIdentity}, Shaped{TermOp::ones},
};

} // namespace

bool readsFirstOfEachKind(const std::vector<TermInput>& inputs, std::uint32_t variables) {
    for (std::size_t i = 0; i + 1 < inputs.size(); ++i) {
        const bool sameKind = inputs[i].shape == inputs[i + 1].shape;
        if (sameKind && (variables >> i & 1U) == 0 && (variables >> (i + 1) & 1U) != 0)
            return false;
    }
    return true;
}

std::size_t uniteOperators(const TermRecord& a, const TermRecord& b, std::array<TermId, 8>& both) {
    const auto end = std::set_union(a.operators.begin(), a.operators.begin() + a.size, b.operators.begin(), b.operators.begin() + b.size, both.begin());
    return static_cast<std::size_t>(end - both.begin());
}

TermExtension::TermExtension(const TermEnumeration& all, std::span<const char> redundant, Names names)
    : all_(all), redundant_(redundant), names_(names), size_(at(static_cast<TermId>(all.terms().size() - 1)).size + 1),
      begin_(size_ > 1 ? static_cast<TermId>(all.firstOfSize(1)) : 0), end_(static_cast<TermId>(all.terms().size())) {}

void TermExtension::addConstants(const Sink& found) const {
    for (const Shaped& constant : kConstants)
        consider({constant.op, constant.axis, constant.part, {kNoTerm, kNoTerm}}, found);
}

void TermExtension::extend(TermId u, const Sink& found) const {
    if (redundant_[u])
        return;
    if (at(u).size < size_ - 1)
        return extendByOthers(u, found);
    for (const Shaped& unary : kUnary)
        consider({unary.op, unary.axis, unary.part, {u, kNoTerm}}, found);
    for (TermId v = 0; v < all_.firstOfSize(1); ++v)
        if (at(u).size > 0 || v <= u)
            considerPair(u, v, found);
    for (const TermId v : partsOf(u))
        if (v <= u)
            considerPair(u, v, found);
}

// With earlier terms that bring as many operators of their own as are missing.
void TermExtension::extendByOthers(TermId u, const Sink& found) const {
    std::array<TermId, 8> both{};
    for (int other = size_ - 1 - at(u).size; other <= at(u).size; ++other)
        for (auto v = static_cast<TermId>(all_.firstOfSize(other)); v < all_.firstOfSize(other + 1) && v < u; ++v)
            if (!redundant_[v] && static_cast<int>(uniteOperators(at(u), at(v), both)) == size_ - 1)
                considerPair(u, v, found);
}

// Terms made of operators of u only, itself included.
std::vector<TermId> TermExtension::partsOf(TermId u) const {
    std::vector<TermId> parts;
    const TermRecord& record = at(u);
    for (std::size_t i = 0; i < record.size; ++i) {
        const TermId part = record.operators[i];
        parts.push_back(part);
        const Term& term = at(part).term;
        if (term.op == TermOp::split && part + 1 < end_ && at(part + 1).term.op == TermOp::split && at(part + 1).term.inputs == term.inputs &&
            at(part + 1).term.axis == term.axis)
            parts.push_back(part + 1);
    }
    return parts;
}

void TermExtension::considerPair(TermId u, TermId v, const Sink& found) const {
    for (const Shaped& binary : kBinary) {
        consider({binary.op, binary.axis, 0, {v, u}}, found);
        if (!traits(binary.op).commutes && u != v)
            consider({binary.op, binary.axis, 0, {u, v}}, found);
    }
}

void TermExtension::consider(const Term& term, const Sink& found) const {
    static const TermRecord none{};
    const TermRecord &a = term.inputs[0] == kNoTerm ? none : at(term.inputs[0]), &b = term.inputs[1] == kNoTerm ? none : at(term.inputs[1]);
    TermRecord record;
    record.shape = shapeOf(term, a.shape, b.shape);
    if (record.shape.rank == 0 || !rolesFit(term.op, a, b))
        return;
    record.term = term;
    record.variables = a.variables | b.variables;
    if (names_ == Names::firstOfEachKind && !readsFirstOfEachKind(all_.inputs(), record.variables))
        return;
    std::array<TermId, 8> both{};
    record.size = static_cast<std::uint8_t>(uniteOperators(a, b, both) + 1);
    std::copy_n(both.begin(), record.size - 1, record.operators.begin());
    found(record);
}

bool TermExtension::rolesFit(TermOp op, const TermRecord& a, const TermRecord& b) const {
    if (op == TermOp::averagePool || op == TermOp::maxPool)
        return !isWeights(a);
    return (op != TermOp::conv && op != TermOp::convRelu) || (!isWeights(a) && !reads(b, TensorRole::data));
}

bool TermExtension::isWeights(const TermRecord& record) const { return reads(record, TensorRole::weights) && !reads(record, TensorRole::data); }

bool TermExtension::reads(const TermRecord& record, TensorRole role) const {
    for (std::size_t i = 0; i < all_.inputs().size(); ++i)
        if ((record.variables >> i & 1U) != 0 && all_.inputs()[i].role == role)
            return true;
    return false;
}

} // namespace tunesmith::substitution
