// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <memory>

namespace tunesmith {

constexpr std::size_t kCacheLine = 64;

// Memory as a module's arena has it: aligned to cache lines, from 2 MiB on in huge pages where the system grants them. With small
// pages, what streams through memory waits for address translation as well.
struct FreeLargeMemory {
    std::size_t alignment = kCacheLine;
    void operator()(std::byte* memory) const;
};
using LargeMemory = std::unique_ptr<std::byte, FreeLargeMemory>;
LargeMemory largeMemory(std::size_t bytes); // not initialised

} // namespace tunesmith
