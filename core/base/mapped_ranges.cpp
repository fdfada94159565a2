// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/mapped_ranges.h"

#include <cstdint>
#include <map>
#include <mutex>

#include <sys/mman.h>

namespace tunesmith {
namespace {

constexpr std::size_t kFew = std::size_t{256} << 10;
constexpr std::uintptr_t kPage = 4096;

struct Ranges {
    std::mutex mutex;
    std::map<std::uintptr_t, std::uintptr_t> ends; // by begin
};

Ranges& ranges() {
    static Ranges* const all = new Ranges; // tensors may outlive whatever is static
    return *all;
}

std::uintptr_t beginOf(std::span<const std::byte> bytes) { return reinterpret_cast<std::uintptr_t>(bytes.data()); }

} // namespace

void addMappedRange(std::span<const std::byte> bytes) {
    const std::lock_guard lock(ranges().mutex);
    ranges().ends[beginOf(bytes)] = beginOf(bytes) + bytes.size();
}

void removeMappedRange(std::span<const std::byte> bytes) {
    const std::lock_guard lock(ranges().mutex);
    ranges().ends.erase(beginOf(bytes));
}

void dropMappedPages(std::span<const std::byte> bytes) {
    if (bytes.size() < kFew)
        return;
    const std::uintptr_t begin = beginOf(bytes), end = begin + bytes.size();
    const std::lock_guard lock(ranges().mutex); // held, so that nobody maps other things there meanwhile
    const auto after = ranges().ends.upper_bound(begin);
    if (after == ranges().ends.begin() || std::prev(after)->second < end)
        return;
    const std::uintptr_t first = (begin + kPage - 1) / kPage * kPage, last = end / kPage * kPage;
    ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

} // namespace tunesmith
