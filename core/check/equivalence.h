// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/tensor_type.h"

namespace tunesmith {

// The one meaning of "computes the same" that rewrites, schedules, exported modules and peers are held to:
// floating point may be reordered, so each element must be within `relative` of the reference element or
// within `absolute` of the scale of the whole output (the largest finite magnitude in the reference). NaN
// matches NaN, infinities match their own sign; integers, bools and strings match exactly; types and shapes
// must agree.
struct Tolerance {
    double relative = 1e-3;
    double absolute = 1e-4; // in units of the output's scale
};

struct Difference {
    bool equal = true;
    double maxAbs = 0; // largest |other - reference| over the finite pairs
    double maxRel = 0; // largest |other - reference| / |reference| over the finite pairs with reference != 0
    double scale = 0;  // largest finite |reference|
    std::int64_t mismatches = 0; // elements outside the tolerance
    std::int64_t worst = -1;     // index (row major) of the element furthest outside, or nearest to being so
    std::string text;            // why not equal, for people; empty when equal
};

Difference compareTensors(const Tensor& reference, const Tensor& other, const Tolerance& tolerance = {});

// One entry per pair; a list of another length is one difference that says so.
std::vector<Difference> compareTensors(std::span<const Tensor> reference, std::span<const Tensor> other,
                                       const Tolerance& tolerance = {});

// ok, or an error naming the first output that differs. `names` may be shorter than the lists.
Status requireEquivalent(std::span<const Tensor> reference, std::span<const Tensor> other,
                         std::span<const std::string> names = {}, const Tolerance& tolerance = {});

} // namespace tunesmith
