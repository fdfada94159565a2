// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include "core/base/rng.h"
#include "core/rewrite/draft.h"

namespace tunesmith::rewrite {

// Small whole numbers for every input of a draft whose inputs are floats: sums and products of them are exact.
std::vector<Tensor> smallInputs(const Draft& draft, Rng& rng);

// The values of a small draft's living nodes by the reference kernels, by value number.
Result<std::vector<Tensor>> evaluate(const Draft& draft, const std::vector<Tensor>& inputs);

// The values of a rewritten draft: what it has in common with the one before is not computed again.
Result<std::vector<Tensor>> evaluateRewritten(const Draft& draft, std::vector<Tensor> known);

// A weight: a value that depends on constants only.
Result<Tensor> evaluateWeight(const Draft& draft, ValueNo weight);

// Nothing if the outputs of both, and what nodes that both have read of each, are equal but for rounding, else what differs: "result 0 is 3 at
// element 5, not 7". The tolerance is of each tensor's largest element, or of 1.
std::optional<std::string> differenceOf(const Draft& before, const std::vector<Tensor>& valuesBefore, const Draft& after, const std::vector<Tensor>& valuesAfter,
                                        double tolerance = 1e-4);

} // namespace tunesmith::rewrite
