// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>

#include "tests/bench/bench_kernel.h"

namespace tunesmith {

// The same work by other libraries, on one thread, ready to be called: memory in the formats that they like best, reorders
// done before. Empty where the library was not there when this was built.
std::function<void()> oneDnnConvolution(const ConvShape& shape);
std::function<void()> oneDnnProduct(const ProductShape& shape);
std::function<void()> openBlasProduct(const ProductShape& shape);

} // namespace tunesmith
