// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/result.h"
#include "core/base/stop_token.h"
#include "core/substitution/prime_value.h"
#include "core/substitution/term.h"

namespace tunesmith::substitution {

// The generator's inputs: matrices of two shapes, images, weights of each kernel, depthwise weights and a scalar, three of a kind.
std::vector<TermInput> defaultInputs();

struct EnumerationOptions {
    int operators = 3; // of a term at most, shared ones counted once
    int threads = 1;
    std::uint64_t seed = 1; // of the inputs' values
    bool renamed = false;   // whether the largest terms are listed for all names of the inputs; what is built on them needs that
    std::vector<TermInput> inputs = defaultInputs();
};

// A term, with what is known of it. Terms are numbered by size: inputs first, then those of one operator, and so on.
struct TermRecord {
    Term term;
    TermShape shape;
    std::uint64_t fingerprint = 0;
    std::uint32_t variables = 0;              // a bit for each input that it reads
    std::array<TermId, 4> operators{};        // the terms whose operators it is made of, ascending; both parts of a split count as the first
    std::uint8_t size = 0;                    // how many those are
};

// All terms of up to so many operators over the inputs, each once, as directed acyclic graphs with one result. A term that is equal to
// a smaller one is listed, but nothing is built on it: what follows for it follows from the smaller one.
// The same inputs and seed give the same list whatever the number of threads.
class TermEnumeration {
public:
    struct Progress {
        int operators = 0; // of the terms that are being made
        std::size_t terms = 0;
        std::size_t bytes = 0;
    };
    using Observer = std::function<void(const Progress&)>; // from the calling thread
    static Result<TermEnumeration> run(const EnumerationOptions& options, const StopToken& stop = {}, const Observer& observer = {});

    const std::vector<TermInput>& inputs() const { return inputs_; }
    const std::vector<TermRecord>& terms() const { return terms_; }
    std::size_t firstOfSize(int size) const { return firstOfSize_[std::min(static_cast<std::size_t>(size), firstOfSize_.size() - 1)]; } // past the last if there are none
    std::size_t bytes() const;
    PrimeValue evaluate(const TermRecord& record) const; // an operator over listed terms; values of the largest of these are computed again
    std::string text(TermId id) const; // "add(matmul(x1, w1), matmul(x2, w1))"

private:
    friend class TermBuilder;
    PrimeOperand operand(TermId id, PrimeValue& scratch) const;

    std::vector<TermInput> inputs_;
    std::vector<TermRecord> terms_;
    std::vector<std::size_t> firstOfSize_;
    std::vector<PrimeValue> values_; // of all but the largest terms
};

} // namespace tunesmith::substitution
