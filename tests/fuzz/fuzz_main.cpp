// SPDX-License-Identifier: GPL-3.0-or-later
// One program for each target: FUZZ_TARGET is its function.
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    tunesmith::fuzz::FUZZ_TARGET(std::as_bytes(std::span(data, size)));
    return 0;
}
