// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/te/ast.h"

namespace tunesmith::te {

// Says of every name what it is (a tensor, a size, an index variable) and fills in what each statement reads, uses and reduces
// over. An error names a place: names that nobody knows, have two meanings or are not used, and reads with too few or too many
// indices.
Status checkNames(Definition& definition);

} // namespace tunesmith::te
