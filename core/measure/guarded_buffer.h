// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>

#include "core/measure/large_memory.h"

namespace tunesmith {

// Memory for a kernel's argument between two strips of a known pattern: a kernel that writes outside its buffer by less
// than a strip is found out instead of damaging something silently.
class GuardedBuffer {
public:
    static constexpr std::size_t kStrip = 1024; // bytes on either side

    explicit GuardedBuffer(std::size_t size); // filled with kPoison

    std::byte* data() { return memory_.get() + kStrip; }
    const std::byte* data() const { return memory_.get() + kStrip; }
    std::size_t size() const { return size_; }
    void poison();       // what was not written afterwards reads as NaN
    bool intact() const; // both strips as they were made

private:
    LargeMemory memory_;
    std::size_t size_;
};

} // namespace tunesmith
