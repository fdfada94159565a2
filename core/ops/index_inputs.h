// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <limits>
#include <vector>

#include "core/graph/graph.h"

namespace tunesmith {

// Operators take numbers of an input as places in another one: rows of a table, classes, positions of angles, rows of a cache that are filled.
// Compiled loops do not look at them one by one. This one list says which numbers are legal, to those who look at inputs before anything runs
// (module/index_limits.h) and to those who draw inputs (check/random_inputs.h).

struct IndexRange { // both ends are legal
    std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
    bool operator==(const IndexRange&) const = default;
    bool isOpen() const { return *this == IndexRange(); }
};

struct IndexInput {
    std::size_t input;
    // The reference kernel refuses what lies outside. Where the right range depends on values, or differs from element to element, this is the
    // widest one; where extents are not known it is open. The kernel of GroupQueryAttention does not ask how many rows
    // are filled where a prompt begins; where the total length is an input, numbers that no later word has are refused all the same.
    IndexRange range;
    IndexRange drawn = {0, 0}; // numbers that fit whatever is not known, none of them negative
};

// Of the inputs that the node has.
std::vector<IndexInput> indexInputs(const Graph& graph, const Node& node);

} // namespace tunesmith
