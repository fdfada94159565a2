// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace tunesmith::ops {

// A number within limits. Unlike std::fmin and std::fmax it keeps what is no number.
inline double clamped(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

} // namespace tunesmith::ops
