// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/guarded_buffer.h"

#include <algorithm>
#include <cstring>

namespace tunesmith {
namespace {

constexpr std::byte kGuard{0xa5};
constexpr int kPoison = 0xff; // a float or double of such bytes is NaN

bool isGuard(const std::byte* strip, std::size_t size) {
    return std::all_of(strip, strip + size, [](std::byte byte) { return byte == kGuard; });
}

} // namespace

GuardedBuffer::GuardedBuffer(std::size_t size) : memory_(largeMemory(size + 2 * kStrip)), size_(size) {
    std::memset(memory_.get(), static_cast<int>(kGuard), kStrip);
    std::memset(data() + size, static_cast<int>(kGuard), kStrip);
    poison();
}

void GuardedBuffer::poison() { std::memset(data(), kPoison, size_); }

bool GuardedBuffer::intact() const { return isGuard(memory_.get(), kStrip) && isGuard(data() + size_, kStrip); }

} // namespace tunesmith
