// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/stats/thinned.h"

namespace tunesmith {

void ThinnedSamples::add(double value) {
    const bool kept = count_++ % every_ == 0;
    if (!kept)
        return;
    if (values_.size() == kMost) { // an even number: the next one to keep stays one that is kept
        for (std::size_t i = 0; i < kMost / 2; ++i)
            values_[i] = values_[2 * i];
        values_.resize(kMost / 2);
        every_ *= 2;
    }
    values_.push_back(value);
}

} // namespace tunesmith
