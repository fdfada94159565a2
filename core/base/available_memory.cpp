// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/available_memory.h"

#include <algorithm>
#include <cstdio>
#include <limits>

namespace tunesmith {
namespace {

constexpr std::int64_t kSmall = std::int64_t{64} << 20;
constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max() / 4;

// The number that a line of a file has as `format` says; none: -1.
long long numberIn(const char* path, const char* format) {
    std::FILE* const file = std::fopen(path, "re");
    if (!file)
        return -1;
    char line[256];
    long long number = -1;
    while (number < 0 && std::fgets(line, sizeof line, file))
        if (std::sscanf(line, format, &number) != 1)
            number = -1;
    std::fclose(file);
    return number;
}

// Memory that the control group leaves; kUnknown without one. Its pages of files are counted as used, and given back when they are wanted.
std::int64_t leftInGroup() {
    const long long most = numberIn("/sys/fs/cgroup/memory.max", "%lld"), used = numberIn("/sys/fs/cgroup/memory.current", "%lld");
    if (most < 0 || used < 0)
        return kUnknown;
    std::int64_t left = most - used;
    for (const char* const files : {"inactive_file %lld", "active_file %lld"})
        left += std::max(numberIn("/sys/fs/cgroup/memory.stat", files), 0LL);
    return std::clamp<std::int64_t>(left, 0, most);
}

} // namespace

std::int64_t availableMemory() {
    const long long kib = numberIn("/proc/meminfo", "MemAvailable: %lld");
    return std::min(kib < 0 ? kUnknown : static_cast<std::int64_t>(kib) * 1024, leftInGroup());
}

bool fitsInMemory(std::int64_t bytes) { return bytes <= kSmall || bytes <= availableMemory(); }

} // namespace tunesmith
