// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/weight_transform.h"

#include "core/schedule/byte_words.h"
#include "core/schedule/winograd.h"

namespace tunesmith {

Tensor packConstant(const Tensor& constant, WeightTransform transform, const loops::Layout& layout) {
    switch (transform) {
    case WeightTransform::winograd2: return loops::pack(winogradFilters(constant, 2), layout);
    case WeightTransform::winograd4: return loops::pack(winogradFilters(constant, 4), layout);
    case WeightTransform::rowWords: return loops::pack(signedWords(constant, 0), layout);
    case WeightTransform::channelWords: return loops::pack(signedWords(constant, 1), layout);
    case WeightTransform::tapWords: return loops::pack(signedWords(constant, 2), layout);
    case WeightTransform::plainWords: return loops::pack(plainWords(constant), layout);
    case WeightTransform::none: break;
    }
    return loops::pack(constant, layout);
}

} // namespace tunesmith
