// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <span>
#include <vector>

#include "core/rewrite/substitution.h"

namespace tunesmith::rewrite {

// Operators that read the same tensor as one, and what lets the split after it sink out of the way.
void addConvolutionMerging(std::vector<SubstitutionPtr>& all);
void addProductMerging(std::vector<SubstitutionPtr>& all);
void addSplitMotion(std::vector<SubstitutionPtr>& all);  // operators on all parts of a split
void addSplitConcat(std::vector<SubstitutionPtr>& all);  // splits and concats that undo each other
void addHeadMotion(std::vector<SubstitutionPtr>& all);   // heads of attention out of a split

// The values in turn by parts of a split, the first of which is given. Empty, or why not.
std::string_view replaceAll(Draft& draft, std::span<const ValueNo> values, ValueNo firstPart);

// The split, of static shapes, whose parts these are, all of them and in order; kNone otherwise.
NodeNo splitOf(const Draft& draft, std::span<const ValueNo> parts);
// The axis of a Split or Concat, from the front.
std::size_t axisOf(const Draft& draft, NodeNo node);
// The extents of a split's parts.
std::vector<std::int64_t> extentsOf(const Draft& draft, NodeNo split);
// The only reader of a value that is no output; kNone where there are others.
NodeNo onlyReader(const Draft& draft, ValueNo value);

ValueNo randomWeight(Draft& draft, const Shape& shape, Rng& rng); // small whole numbers, for samples

} // namespace tunesmith::rewrite
