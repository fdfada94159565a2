// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/contrib/contrib.h"

// Operators that ONNX Runtime had before ONNX did, and that mean the same.
namespace tunesmith::ops {

void registerContribCopies(OperatorList& list) {
    addCopy(list, "GatherND", Fusion::injective, "GatherND", 13);
    addCopy(list, "GridSample", Fusion::opaque, "GridSample", 16);
    addCopy(list, "Pad", Fusion::injective, "Pad", 13);
    addCopy(list, "Trilu", Fusion::injective, "Trilu", 14);
    addCopy(list, "QuantizeLinear", Fusion::elementwise, "QuantizeLinear", 21);
    addCopy(list, "DequantizeLinear", Fusion::elementwise, "DequantizeLinear", 21);
}

} // namespace tunesmith::ops
