// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/tensor.h"
#include "core/module/independent_rows.h"

namespace tunesmith {

// The tensor with `rows` rows along its axis: the first ones where it has more, the last one repeated where
// it has fewer (any value would do, one that occurs anyway cannot divide by zero). A tensor without rows
// comes back as it is; none where the tensor cannot have rows there.
std::optional<Tensor> withRows(const Tensor& tensor, const RowAxis& axis, std::int64_t rows);

} // namespace tunesmith
