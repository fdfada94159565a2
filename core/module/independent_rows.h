// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/ops/infer_shapes.h"

namespace tunesmith {

// Where a tensor has the rows of a dimension: `block` consecutive indices of `axis` belong to one row (a
// batch of sequences that was reshaped to N*T tokens has blocks of T). No axis: the tensor has no rows.
struct RowAxis {
    int axis = -1;
    std::int64_t block = 1;

    bool carried() const { return axis >= 0; }
};

struct RowAxes {
    std::vector<RowAxis> inputs, outputs; // of the graph
};

// Two extents of the open dimension `name`; `others` binds the other open dimensions.
struct RowQuestion {
    std::string name;
    std::int64_t fewer = 2, more = 3;
    DimBindings others;
};

// Whether a module for `more` rows gives what one for `fewer` rows gives, in its first rows, when its inputs
// begin with the same rows. Proven on the tensor expressions of all nodes, lowered for both extents: every
// load of a tensor with rows is in the row of the element that is computed, and the expressions do not differ
// otherwise. Holds for these two extents and says nothing of others. The Error names the node that mixes
// rows, or what the proof does not understand.
Result<RowAxes> independentRows(const Graph& model, const RowQuestion& question);

} // namespace tunesmith
