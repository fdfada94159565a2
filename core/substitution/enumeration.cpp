// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/enumeration.h"

#include <algorithm>
#include <unordered_map>

#include "core/substitution/parallel.h"
#include "core/substitution/term_extension.h"

namespace tunesmith::substitution {
namespace {

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

    // Threads share out some stretches of the larger operands; what they found is put together in that order.
    bool addSize(int size) {
        isLast_ = size == options_.operators;
        const bool someNames = isLast_ && !options_.renamed;
        const TermExtension extension(all_, redundant_, someNames ? TermExtension::Names::firstOfEachKind : TermExtension::Names::all);
        constexpr TermId kStretch = 64, kStretches = 64;
        for (TermId begin = extension.begin(); begin < extension.end(); begin += kStretch * kStretches) {
            std::vector<std::vector<Made>> found(kStretches);
            const Status made = inParallel(kStretches, options_.threads, stop_, [&](std::size_t s) {
                const TermId first = begin + static_cast<TermId>(s) * kStretch;
                for (TermId u = first; u < std::min(extension.end(), first + kStretch); ++u)
                    extension.extend(u, [&](const TermRecord& record) { found[s].push_back(computed(record)); });
                return Status();
            });
            if (!made.ok())
                return false;
            for (auto& stretch : found)
                for (Made& term : stretch)
                    append(std::move(term));
        }
        if (size == 1)
            extension.addConstants([&](const TermRecord& record) { append(computed(record)); });
        all_.firstOfSize_.push_back(all_.terms_.size());
        if (!isLast_)
            rememberSmallest(size);
        return true;
    }

private:
    struct Made {
        TermRecord record;
        PrimeValue value;
    };

    Made computed(const TermRecord& record) const {
        Made made{record, all_.evaluate(record)};
        made.record.fingerprint = fingerprintOf(record.shape, made.value);
        if (isLast_)
            made.value = PrimeValue(); // nothing is built on it
        return made;
    }

    void append(Made made) {
        const auto id = static_cast<TermId>(all_.terms_.size());
        TermRecord& record = made.record;
        const bool second = record.term.op == TermOp::split && record.term.part == 1; // follows the first part
        record.operators[record.size - 1U] = second ? id - 1 : id;
        all_.terms_.push_back(record);
        if (!isLast_)
            all_.values_.push_back(std::move(made.value));
    }

    void rememberSmallest(int size) {
        for (std::size_t id = all_.firstOfSize(size); id < all_.terms_.size(); ++id) {
            const TermRecord& record = all_.terms_[id];
            const auto [known, isNew] = smallest_.try_emplace(record.fingerprint, static_cast<TermId>(id));
            const TermRecord& least = all_.terms_[known->second];
            redundant_.push_back(!isNew && least.size < size && least.shape == record.shape);
        }
    }

    TermEnumeration& all_;
    const EnumerationOptions& options_;
    const StopToken& stop_;
    bool isLast_ = false;
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

PrimeOperand TermEnumeration::operand(TermId id, PrimeValue& scratch) const {
    if (id == kNoTerm)
        return {};
    if (id < values_.size())
        return {terms_[id].shape, values_[id]};
    scratch = evaluate(terms_[id]);
    return {terms_[id].shape, scratch};
}

PrimeValue TermEnumeration::evaluate(const TermRecord& record) const {
    PrimeValue value, a, b;
    evaluateTerm(record.term, record.shape, operand(record.term.inputs[0], a), operand(record.term.inputs[1], b), value);
    return value;
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
