// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/graph.h"

namespace tunesmith::bench {

// A transformer encoder of the BERT kind whose products with weights were quantised dynamically.
struct Int8Encoder {
    std::int64_t layers = 4, width = 256, heads = 4, tokens = 128;
    bool fused = false; // as ONNX Runtime saves what its quantiser wrote: DynamicQuantizeMatMul, MatMulIntegerToFloat and fused norms

    Graph make() const;
};

} // namespace tunesmith::bench
