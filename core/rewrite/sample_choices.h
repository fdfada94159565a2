// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/rng.h"
#include "core/rewrite/pattern.h"

namespace tunesmith::rewrite {

// How much a rule is taken to say when models are drawn for it.
enum class Reading : std::uint8_t {
    wide, // whatever the pattern is found in
    taso, // what TASO's rules can say: operands of equal shapes, no batch dimensions, odd kernels, stride 1, pads that keep the size and
          // count as zeros; any extents and groups
};

// What a random model has in common for all of its operators: a few extents, so that those that must agree often do, kernels, windows, ranks, axes.
struct SampleChoices {
    SampleChoices(const Pattern& pattern, Reading reading, OperatorTable& table, Rng& rng);

    std::vector<std::int64_t> palette;               // extents
    std::array<std::int64_t, 2> small{}, large{};    // kernels for those of 1 and of 3 that a rule was found with
    std::size_t rank = 2;                            // of tensors that are no images
    ConvWindow window;
    bool depthwise = false;                          // as many groups as there are channels, where that can be
    OperatorNo averagePool = kNone, maxPool = kNone;
    Binding axes;                                    // of a free pattern

private:
    void drawWindow(Rng& rng, bool plain);
    void drawPools(Rng& rng, bool plain, bool counts, OperatorTable& table);
    void drawAxes(Rng& rng);
};

inline std::int64_t between(Rng& rng, std::int64_t low, std::int64_t high) { return low + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(high - low + 1))); }

} // namespace tunesmith::rewrite
