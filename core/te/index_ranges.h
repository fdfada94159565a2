// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/te/index_form.h"

namespace tunesmith::te {

// The values of all index variables of a statement. Stated ranges hold; the others follow from the reads, as in Tensor
// Comprehensions (Vasilache et al., 2018): a variable that is the only unknown one in an index takes all values from 0 on for which
// the read stays within its tensor, whatever the known ones are; then the next one, until none is left. Indices of one variable
// alone go first. Where a guard or a
// choice already keeps one side of a read within its tensor, that side says nothing about the range.
//
// Then it is proven that no read leaves its tensor: from the ranges, or from the ranges and one condition around the read. What
// cannot be proven is an error that names the read, the range and the remedy.
Result<Intervals> indexRanges(const std::string& source, const Statement& statement, const Sizes& sizes, const Shapes& shapes);

// The shape of what a statement makes.
Shape shapeOf(const Statement& statement, const Intervals& ranges);

} // namespace tunesmith::te
