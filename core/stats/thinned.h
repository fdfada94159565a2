// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <vector>

namespace tunesmith {

// A long series in bounded memory: of everything that was added at most kMost values are kept, every one,
// every second, every fourth ... of them, so that those kept lie evenly over the whole series, slow episodes
// included. A module of a few nodes runs in 100 ns and makes millions of samples within a second.
class ThinnedSamples {
public:
    static constexpr std::size_t kMost = 1 << 16;

    void add(double value);
    const std::vector<double>& values() const { return values_; } // in the order of adding
    std::size_t count() const { return count_; }                  // of all that was added

private:
    std::vector<double> values_;
    std::size_t count_ = 0, every_ = 1;
};

} // namespace tunesmith
