// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/check/equivalence.h"
#include "core/graph/graph.h"

namespace tunesmith {

// Some models amplify rounding: normalisations over almost constant features, integers made of floats, long chains of them.
// Two correct programs then differ by more than the usual tolerance. How much is asked of the model itself: what its outputs
// do when its inputs and weights move by about the rounding errors of one layer, of which there are many.

inline constexpr double kNudge = 1e-6; // relative; of the shorter types half of what separates neighbours

// The same tensors, each float moved by up to `relative`, or what its type rounds by; others stay. The seed decides which way.
std::vector<Tensor> nudgedInputs(std::span<const Tensor> inputs, std::uint64_t seed, double relative = kNudge);
// Likewise the constants of a model, but for exponents.
Result<Graph> nudgedWeights(const Graph& graph, std::uint64_t seed, double relative = kNudge);

// How far one tensor is from another.
struct Deviation {
    double distance = 0; // of floats, the largest over the finite pairs, in units of the reference's scale
    double share = 0;    // of the elements that differ and have no distance: integers, truths, texts, a NaN against a number
    double outside = 0;  // share of the elements that are beyond the usual tolerance

    double largest() const { return distance > share ? distance : share; }
};
Deviation deviationOf(const Tensor& reference, const Tensor& other); // infinite where types or shapes differ

// Whether two programs for one computation agree, judged on several draws of its inputs: either all results are within the usual
// tolerance, or what is outside is explained by what nudges do to the reference. A nudge's small effect may be ten times as
// large, for there are many layers. Beyond a hundredth of the scale (a choice that falls otherwise, an integer that turns) it
// may be twice as large, and be seen in ten times as many elements.
class Agreement {
public:
    void addDraw(std::span<const Tensor> reference, std::span<const Tensor> other);
    void addNudge(std::span<const Tensor> reference, std::span<const Tensor> nudged);

    bool plain() const { return text_.empty(); } // within the usual tolerance
    bool holds() const;
    double difference() const; // the largest of all draws and outputs, to their scale
    double nudged() const;     // the same of the nudges
    int draws() const { return draws_; }
    const std::string& text() const { return text_; } // what is outside of the tolerance, in the draw where it was first seen; empty: nothing

private:
    std::vector<Deviation> found_, outside_, nudged_; // by output; outside_: of draws beyond the tolerance alone
    std::string text_;
    int draws_ = 0;
};

} // namespace tunesmith
