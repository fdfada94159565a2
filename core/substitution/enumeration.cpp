// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/enumeration.h"

#include <algorithm>
#include <thread>
#include <unordered_map>

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

TermShape shape(std::initializer_list<std::uint16_t> extents) {
    TermShape made;
    made.rank = static_cast<std::uint8_t>(extents.size());
    std::ranges::copy(extents, made.extents.begin());
    return made;
}

} // namespace

std::vector<TermInput> defaultInputs() {
    std::vector<TermInput> inputs;
    const auto add = [&](int count, const std::string& kind, const TermShape& of, TensorRole role) {
        for (int number = 1; number <= count; ++number)
            inputs.push_back({kind + std::to_string(number), of, role});
    };
    add(4, "x", shape({2, 4}), TensorRole::data);
    add(4, "w", shape({4, 4}), TensorRole::data);
    add(4, "i", shape({2, 4, 5, 5}), TensorRole::data);
    add(4, "k33_", shape({4, 4, 3, 3}), TensorRole::weights);
    add(3, "k13_", shape({4, 4, 1, 3}), TensorRole::weights);
    add(3, "k31_", shape({4, 4, 3, 1}), TensorRole::weights);
    add(3, "k11_", shape({4, 4, 1, 1}), TensorRole::weights);
    add(1, "d33_", shape({4, 1, 3, 3}), TensorRole::weights);
    add(2, "s", shape({1}), TensorRole::number);
    return inputs;
}

// Makes the terms of one more operator from those that there are.
class TermBuilder {
public:
    TermBuilder(TermEnumeration& all, const EnumerationOptions& options, const StopToken& stop) : all_(all), options_(options), stop_(stop) {}

    void addInputs() {
        Rng rng(options_.seed);
        all_.firstOfSize_ = {0};
        for (std::size_t i = 0; i < all_.inputs_.size(); ++i) {
            TermRecord record;
            record.shape = all_.inputs_[i].shape;
            record.variables = 1U << i;
            all_.values_.push_back(randomValue(record.shape, rng));
            record.fingerprint = fingerprintOf(record.shape, all_.values_.back());
            all_.terms_.push_back(record);
        }
        all_.firstOfSize_.push_back(all_.terms_.size());
        rememberSmallest(0);
    }

    // Threads take turns in stretches of the first operands; what they found is put together in that order.
    bool addSize(int size) {
        size_ = size;
        const std::size_t begin = size > 1 ? all_.firstOfSize(1) : 0, end = all_.terms_.size();
        const auto threads = static_cast<std::size_t>(std::max(1, options_.threads));
        constexpr std::size_t kStretch = 64;
        const std::size_t stretches = (end - begin + kStretch - 1) / kStretch;
        std::vector<std::vector<Made>> found(stretches + 1);
        if (size == 1)
            for (const Shaped& constant : kConstants)
                consider({constant.op, constant.axis, constant.part, {kNoTerm, kNoTerm}}, found[stretches]);
        std::vector<std::jthread> workers;
        for (std::size_t t = 0; t < threads; ++t)
            workers.emplace_back([&, t] {
                for (std::size_t s = t; s < stretches && !stop_.stopRequested(); s += threads)
                    for (std::size_t u = begin + s * kStretch; u < std::min(end, begin + (s + 1) * kStretch); ++u)
                        extend(static_cast<TermId>(u), found[s]);
            });
        workers.clear();
        if (stop_.stopRequested())
            return false;
        for (auto& stretch : found)
            for (Made& made : stretch)
                append(std::move(made));
        all_.firstOfSize_.push_back(all_.terms_.size());
        rememberSmallest(size);
        return true;
    }

private:
    struct Made {
        TermRecord record;
        PrimeValue value;
    };

    const TermRecord& at(TermId id) const { return all_.terms_[id]; }

    // Everything whose larger operand (or equally large, later one) is u.
    void extend(TermId u, std::vector<Made>& found) const {
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
    void extendByOthers(TermId u, std::vector<Made>& found) const {
        for (int other = size_ - 1 - at(u).size; other <= at(u).size; ++other)
            for (auto v = static_cast<TermId>(all_.firstOfSize(other)); v < all_.firstOfSize(other + 1) && v < u; ++v)
                if (!redundant_[v] && unionSize(u, v) == size_ - 1)
                    considerPair(u, v, found);
    }

    // Terms made of operators of u only, itself included.
    std::vector<TermId> partsOf(TermId u) const {
        std::vector<TermId> parts;
        const TermRecord& record = at(u);
        for (std::size_t i = 0; i < record.size; ++i) {
            const TermId part = record.operators[i];
            parts.push_back(part);
            const Term& term = at(part).term;
            if (term.op == TermOp::split && part + 1 < all_.terms_.size() && at(part + 1).term.op == TermOp::split && at(part + 1).term.inputs == term.inputs &&
                at(part + 1).term.axis == term.axis)
                parts.push_back(part + 1);
        }
        return parts;
    }

    int unionSize(TermId u, TermId v) const {
        std::array<TermId, 8> both{};
        return static_cast<int>(unite(at(u), at(v), both));
    }

    static std::size_t unite(const TermRecord& a, const TermRecord& b, std::array<TermId, 8>& both) {
        const auto end = std::set_union(a.operators.begin(), a.operators.begin() + a.size, b.operators.begin(), b.operators.begin() + b.size, both.begin());
        return static_cast<std::size_t>(end - both.begin());
    }

    void considerPair(TermId u, TermId v, std::vector<Made>& found) const {
        for (const Shaped& binary : kBinary) {
            consider({binary.op, binary.axis, 0, {v, u}}, found);
            if (!traits(binary.op).commutes && u != v)
                consider({binary.op, binary.axis, 0, {u, v}}, found);
        }
    }

    void consider(const Term& term, std::vector<Made>& found) const {
        static const TermRecord none{};
        const TermRecord &a = term.inputs[0] == kNoTerm ? none : at(term.inputs[0]), &b = term.inputs[1] == kNoTerm ? none : at(term.inputs[1]);
        Made made;
        TermRecord& record = made.record;
        record.shape = shapeOf(term, a.shape, b.shape);
        if (record.shape.rank == 0 || !rolesFit(term.op, a, b))
            return;
        record.term = term;
        record.variables = a.variables | b.variables;
        if (size_ == options_.operators && !readsFirstOfEachKind(record.variables))
            return;
        std::array<TermId, 8> both{};
        record.size = static_cast<std::uint8_t>(unite(a, b, both) + 1);
        std::copy_n(both.begin(), record.size - 1, record.operators.begin()); // its own is known when it has a number
        const auto operandOf = [&](std::size_t i, const TermRecord& operand) {
            return term.inputs[i] == kNoTerm ? PrimeOperand{} : PrimeOperand{operand.shape, all_.values_[term.inputs[i]]};
        };
        evaluateTerm(term, record.shape, operandOf(0, a), operandOf(1, b), made.value);
        record.fingerprint = fingerprintOf(record.shape, made.value);
        if (size_ == options_.operators)
            made.value = {}; // nothing is built on it
        found.push_back(std::move(made));
    }

    bool rolesFit(TermOp op, const TermRecord& a, const TermRecord& b) const {
        if (op == TermOp::averagePool || op == TermOp::maxPool)
            return !isWeights(a);
        return (op != TermOp::conv && op != TermOp::convRelu) || (!isWeights(a) && !reads(b, TensorRole::data));
    }

    bool isWeights(const TermRecord& record) const { return reads(record, TensorRole::weights) && !reads(record, TensorRole::data); }

    bool reads(const TermRecord& record, TensorRole role) const {
        for (std::size_t i = 0; i < all_.inputs_.size(); ++i)
            if ((record.variables >> i & 1U) != 0 && all_.inputs_[i].role == role)
                return true;
        return false;
    }

    // The largest terms are only compared: x2 alone says nothing that x1 does not.
    bool readsFirstOfEachKind(std::uint32_t variables) const {
        for (std::size_t i = 0; i + 1 < all_.inputs_.size(); ++i) {
            const bool sameKind = all_.inputs_[i].shape == all_.inputs_[i + 1].shape;
            if (sameKind && (variables >> i & 1U) == 0 && (variables >> (i + 1) & 1U) != 0)
                return false;
        }
        return true;
    }

    void append(Made made) {
        const auto id = static_cast<TermId>(all_.terms_.size());
        TermRecord& record = made.record;
        const bool second = record.term.op == TermOp::split && record.term.part == 1; // follows the first part
        record.operators[record.size - 1U] = second ? id - 1 : id;
        all_.terms_.push_back(record);
        if (size_ < options_.operators)
            all_.values_.push_back(std::move(made.value));
    }

    void rememberSmallest(int size) {
        for (std::size_t id = all_.firstOfSize(size); id < all_.terms_.size(); ++id) {
            const auto [known, isNew] = smallest_.try_emplace(at(static_cast<TermId>(id)).fingerprint, static_cast<TermId>(id));
            const TermRecord& least = at(known->second);
            redundant_.push_back(!isNew && least.size < size && least.shape == at(static_cast<TermId>(id)).shape);
        }
    }

    TermEnumeration& all_;
    const EnumerationOptions& options_;
    const StopToken& stop_;
    int size_ = 0;
    std::unordered_map<std::uint64_t, TermId> smallest_; // by fingerprint
    std::vector<char> redundant_;                        // equal to a smaller one
};

Result<TermEnumeration> TermEnumeration::run(const EnumerationOptions& options, const StopToken& stop, const Observer& observer) {
    TermEnumeration all;
    all.inputs_ = options.inputs;
    TermBuilder builder(all, options, stop);
    builder.addInputs();
    for (int size = 1; size <= options.operators; ++size) {
        if (!builder.addSize(size))
            return cancelledError();
        if (observer)
            observer({size, all.terms_.size(), all.bytes()});
    }
    return all;
}

std::size_t TermEnumeration::bytes() const {
    std::size_t bytes = terms_.capacity() * sizeof(TermRecord);
    for (const PrimeValue& value : values_)
        bytes += sizeof(PrimeValue) + value.capacity() * sizeof(std::uint32_t);
    return bytes;
}

std::string TermEnumeration::text(TermId id) const {
    const Term& term = terms_[id].term;
    if (term.op == TermOp::input)
        return inputs_[id].name;
    std::string name(traits(term.op).name);
    if (term.op == TermOp::concat || term.op == TermOp::split)
        name += std::to_string(term.axis);
    if (term.op == TermOp::split)
        name += term.part == 0 ? "a" : "b";
    if (term.op == TermOp::convIdentity)
        name += std::to_string(term.axis) + std::to_string(term.part);
    if (traits(term.op).inputs == 0)
        return name;
    name += "(" + text(term.inputs[0]);
    return name + (traits(term.op).inputs == 2 ? ", " + text(term.inputs[1]) : "") + ")";
}

} // namespace tunesmith::substitution
