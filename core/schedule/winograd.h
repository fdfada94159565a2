// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <vector>

#include "core/schedule/workload.h"

namespace tunesmith {

// Winograd's minimal filtering F(m x m, 3 x 3) (Lavin and Gray, CVPR 2016): a tile of m x m outputs from m+2 x m+2 inputs
// with (m+2)^2 multiplications per pair of channels instead of 9 m^2. With d a patch of the input, g a filter:
// Y = At [ (G g Gt) . (Bt d B) ] A, where the product in the middle is summed over channels, one matrix product for each
// of the (m+2)^2 points. m is 2 or 4; rounding errors grow with m (about 4e-6 and 2e-5 of the output's scale at 512
// channels).
struct WinogradMatrices {
    using Groups = std::vector<std::vector<std::size_t>>;
    std::vector<std::vector<double>> bt, g, at; // (m+2) x (m+2), (m+2) x 3, m x (m+2)
    Groups inputGroups, outputGroups;           // columns of bt and of at whose sums several rows share
    static const WinogradMatrices& of(std::int64_t m);
};

// G g Gt of filters O x I x 3 x 3, as (m+2)^2 x O x I; computed in double precision.
Tensor winogradFilters(const Tensor& filters, std::int64_t m);

// A convolution that has this form: 3 x 3, stride and dilation 1, one group.
struct WinogradConv {
    loops::TensorRef x, w;
    std::int64_t padTop = 0, padLeft = 0;
    static std::optional<WinogradConv> of(const loops::Stage& conv);
};

// The same computation in steps. Arguments keep their places; the filters' is winogradFilters().
struct WinogradProgram {
    loops::Program program;
    loops::TensorRef patch;   // n, c, ty, tx, m+2, m+2: inputs of a tile, zero outside the image
    loops::TensorRef rows;    // Bt d
    loops::TensorRef points;  // m+2, m+2, n, ty, tx, c: Bt d B
    loops::TensorRef product; // m+2, m+2, n, ty, tx, o
    loops::TensorRef columns; // n, o, ty, tx, m, m+2: At of it
};
WinogradProgram winogradProgram(const loops::Program& direct, const loops::Stage& conv, const WinogradConv& form, std::int64_t m);

} // namespace tunesmith
