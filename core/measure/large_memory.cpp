// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/large_memory.h"

#include <new>
#include <sys/mman.h>

namespace tunesmith {

void FreeLargeMemory::operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t(alignment)); }

LargeMemory largeMemory(std::size_t bytes) {
    constexpr std::size_t kHugePage = std::size_t(2) << 20;
    const std::size_t alignment = bytes >= kHugePage ? kHugePage : kCacheLine;
    auto* memory = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(alignment)));
    if (alignment == kHugePage)
        madvise(memory, bytes, MADV_HUGEPAGE); // a wish
    return LargeMemory(memory, FreeLargeMemory{alignment});
}

} // namespace tunesmith
