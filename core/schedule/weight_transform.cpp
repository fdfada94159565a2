// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/weight_transform.h"

#include "core/schedule/winograd.h"

namespace tunesmith {

Tensor packConstant(const Tensor& constant, WeightTransform transform, const loops::Layout& layout) {
    switch (transform) {
    case WeightTransform::winograd2: return loops::pack(winogradFilters(constant, 2), layout);
    case WeightTransform::winograd4: return loops::pack(winogradFilters(constant, 4), layout);
    case WeightTransform::none: break;
    }
    return loops::pack(constant, layout);
}

} // namespace tunesmith
