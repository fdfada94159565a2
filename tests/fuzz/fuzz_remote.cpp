// SPDX-License-Identifier: GPL-3.0-or-later
#include <cstdint>

#include "tests/fuzz/remote_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    tunesmith::fuzz::remoteMessages(std::as_bytes(std::span(data, size)));
    return 0;
}
