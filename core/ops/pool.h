// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/lowering.h"
#include "core/ops/window.h"

namespace tunesmith::ops {

// What pools of real and of quantised numbers share: x [N, C, spatial...], windows as attributes say.

Result<WindowGeometry> poolGeometry(const Node& node, const Shape& x);
Result<Dims> pooledDims(const OpInputs& in, const Dims& x); // the shape rule

// How many taps an average divides by. Padding that only ceil_mode adds behind padEnd is never counted.
std::int64_t tapsCounted(const WindowGeometry& g, const Shape& position, bool includePad);
loops::Expr tapsCounted(const WindowGeometry& g, const loops::Indices& positions,
                        bool includePad); // a constant where no window overhangs

// A reduction over windows of what `term` gives at an index [n, c, spatial...] of x.
loops::Stage poolStage(const WindowGeometry& g, const std::string& name, DType type,
                       loops::Reduction reduction, std::int64_t batch, std::int64_t channels,
                       const std::function<loops::Expr(const loops::Indices&)>& term);

} // namespace tunesmith::ops
