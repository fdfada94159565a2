// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/rewrite/draft.h"

namespace tunesmith::rewrite {

// Nodes whose form depends on the opset. Each gives kNone where the operands do not fit.
ValueNo addSplit(Draft& draft, ValueNo value, std::int64_t axis, const std::vector<std::int64_t>& extents); // the first part; the others follow
ValueNo addConcat(Draft& draft, const std::vector<ValueNo>& values, std::int64_t axis);                      // the value itself if it is one
ValueNo addReshape(Draft& draft, ValueNo value, const Shape& shape);
ValueNo addTranspose(Draft& draft, ValueNo value, const std::vector<std::int64_t>& perm);
ValueNo addZeros(Draft& draft, ValueNo value, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& end); // around it
ValueNo scalar(Draft& draft, DType type, double number);
ValueNo addRelu(Draft& draft, ValueNo value);

} // namespace tunesmith::rewrite
