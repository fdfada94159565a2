// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/rewrite/sample_choices.h"

namespace tunesmith::rewrite {

// A small random model that computes the pattern's results: legal shapes, batch dimensions, broadcasting, strides, pads, dilations, groups,
// kernels and concats of unequal parts as chance and the reading have it. Nothing where the choices did not fit together; try again.
std::optional<Draft> samplePattern(const Pattern& pattern, Reading reading, const std::shared_ptr<OperatorTable>& table, Rng& rng);

} // namespace tunesmith::rewrite
