// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/weight_transform.h"

#include <malloc.h>

#include "core/base/mapped_ranges.h"
#include "core/schedule/byte_words.h"
#include "core/schedule/winograd.h"

namespace tunesmith {

namespace {

Tensor transformed(const Tensor& constant, WeightTransform transform) {
    switch (transform) {
    case WeightTransform::winograd2: return winogradFilters(constant, 2);
    case WeightTransform::winograd4: return winogradFilters(constant, 4);
    case WeightTransform::rowWords: return signedWords(constant, 0);
    case WeightTransform::channelWords: return signedWords(constant, 1);
    case WeightTransform::tapWords: return signedWords(constant, 2);
    case WeightTransform::plainWords: return plainWords(constant);
    case WeightTransform::none: break;
    }
    return constant;
}

} // namespace

Tensor packConstant(const Tensor& constant, WeightTransform transform, const loops::Layout& layout) {
    Tensor packed = loops::pack(transformed(constant, transform), layout);
    const bool sameBytes = packed.bytes().data() == constant.bytes().data();
    if (!dropMappedPages(constant.bytes()) || sameBytes)
        return packed;
    const auto moved = movedToFile(packed.bytes());
    if (!moved)
        return packed;
    packed = Tensor::wrap(packed.type(), packed.shape(), moved.get(), moved);
    ::malloc_trim(0); // or the heap keeps what it held
    return packed;
}

} // namespace tunesmith
