// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>

#include "core/graph/tensor.h"

namespace tunesmith {

// A few long strings become many where a model repeats them, so that results that hold copies are counted before they are made: a
// claim that does not fit throws OutOfValueMemory (base/memory_budget.h).
Tensor copyStrings(Shape shape, const std::function<const std::string&(std::int64_t)>& textAt);

// byteCount(), and of strings what they hold.
std::int64_t heldBytes(const Tensor& tensor);

} // namespace tunesmith
