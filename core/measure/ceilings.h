// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/codegen/target.h"

// The two loops that the ceilings are measured with. Each thread works on its own data; a round is as slow as its slowest
// thread; the fastest of many short rounds counts.
namespace tunesmith::ceilings {

double fmaGflops(Isa isa, int threads); // the host must have the instruction set
double triadGbs(int threads);

} // namespace tunesmith::ceilings
