// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/sample_choices.h"

#include <numeric>

namespace tunesmith::rewrite {
namespace {

constexpr std::array<std::array<std::int64_t, 2>, 6> kPalettes{{{2, 2}, {2, 4}, {4, 4}, {1, 3}, {3, 6}, {2, 3}}};

std::size_t largestRank(const Pattern& pattern) {
    std::size_t largest = 2;
    for (const std::uint8_t rank : pattern.rank)
        largest = std::max<std::size_t>(largest, rank);
    return largest;
}

} // namespace

SampleChoices::SampleChoices(const Pattern& pattern, Reading reading, OperatorTable& table, Rng& rng) {
    const auto& chosen = kPalettes[rng.below(kPalettes.size())];
    palette.assign(chosen.begin(), chosen.end());
    const bool plain = rng.chance(0.4) || reading == Reading::taso;
    for (std::size_t d = 0; d < 2; ++d) {
        small[d] = rng.chance(0.75) ? 1 : 3;
        large[d] = rng.chance(0.6) ? 3 : reading == Reading::taso ? 2 * between(rng, 0, 2) + 1 : between(rng, 1, 4);
    }
    depthwise = rng.chance(0.25);
    drawWindow(rng, plain);
    drawPools(rng, plain, reading == Reading::taso || rng.chance(0.6), table);
    const bool isFree = pattern.kind == Pattern::Kind::free;
    rank = static_cast<std::size_t>(between(rng, isFree ? 1 : 2, pattern.kind == Pattern::Kind::matrix ? 3 : 4));
    if (reading == Reading::taso)
        rank = largestRank(pattern);
    if (isFree && reading == Reading::taso)
        axes.axes = {-static_cast<int>(rank), 1 - static_cast<int>(rank)};
    else if (isFree)
        drawAxes(rng);
}

void SampleChoices::drawWindow(Rng& rng, bool plain) {
    for (std::size_t d = 0; d < 2 && !plain; ++d) {
        window.strides[d] = between(rng, 1, 2);
        window.dilations[d] = rng.chance(0.8) ? 1 : 2;
        window.begin[d] = rng.chance(0.4) ? 0 : between(rng, -1, 1);
        const std::int64_t shifted = -window.begin[d]; // the size stays
        window.end[d] = rng.chance(0.4) ? window.begin[d] : rng.chance(0.4) ? shifted : between(rng, -1, 1);
    }
}

void SampleChoices::drawPools(Rng& rng, bool plain, bool counts, OperatorTable& table) {
    std::vector<std::int64_t> kernel, strides, pads(4);
    for (std::size_t d = 0; d < 2; ++d) {
        kernel.push_back(plain ? 3 : between(rng, 1, 3));
        strides.push_back(plain ? 1 : between(rng, 1, 2));
        pads[d] = plain ? 1 : between(rng, 0, kernel[d] - 1);
        pads[d + 2] = plain || rng.chance(0.5) ? pads[d] : between(rng, 0, kernel[d] - 1);
    }
    std::map<std::string, Attribute> attributes{{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}};
    maxPool = table.add("MaxPool", attributes);
    attributes["count_include_pad"] = std::int64_t(counts);
    averagePool = table.add("AveragePool", attributes);
}

void SampleChoices::drawAxes(Rng& rng) {
    std::vector<int> left(rank);
    std::iota(left.begin(), left.end(), -static_cast<int>(rank));
    for (auto& axis : axes.axes) {
        if (left.empty())
            return;
        const auto chosen = static_cast<std::ptrdiff_t>(rng.below(left.size()));
        axis = left[static_cast<std::size_t>(chosen)];
        left.erase(left.begin() + chosen);
    }
}

} // namespace tunesmith::rewrite
