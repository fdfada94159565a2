// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include "core/graph/tensor.h"

namespace tunesmith::ops {

// Numbers to their shortest decimal text that reads back as the same number ("0.25", "3.0", "1e+20", "INF", "-INF",
// "NaN"; integers without a point), and text to numbers: decimal or scientific notation and those words in any case.
Tensor numbersToText(const Tensor& numbers);
// An Error quotes the text that is no number of the type.
Result<Tensor> textToNumbers(const Tensor& text, DType type);

} // namespace tunesmith::ops
