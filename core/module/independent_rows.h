// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/ops/infer_shapes.h"

namespace tunesmith {

// Where a tensor has the rows of a dimension: `block` consecutive indices of `axis` belong to one row (a
// batch of sequences that was reshaped to N*T tokens has blocks of T). No axis: the tensor is the same for
// every extent.
struct RowAxis {
    int axis = -1;
    std::int64_t block = 1;

    bool carried() const { return axis >= 0; }
};

struct RowAxes {
    std::vector<RowAxis> inputs, outputs; // of the graph
};

// Whether each row of the open dimension `name` is computed from the same row of the inputs and from nothing
// that depends on how many rows there are: then a module for more rows serves fewer, padded. Proven on the
// tensor expressions of all nodes, lowered for two extents: every load of a tensor with rows must be in the
// row of the element that is computed, and the expressions must not differ otherwise. The Error names the
// node that mixes rows; of what the proof does not understand it says the same. `others` binds the other open
// dimensions.
Result<RowAxes> independentRows(const Graph& model, const std::string& name, const DimBindings& others);

} // namespace tunesmith
