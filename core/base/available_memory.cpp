// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/available_memory.h"

#include <algorithm>
#include <cstdio>
#include <limits>

namespace tunesmith {
namespace {

constexpr std::int64_t kSmall = std::int64_t{64} << 20;
constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max() / 4;

// The number of KiB behind a key of /proc/meminfo; none: -1.
long long kibOf(const char* format) {
    std::FILE* const file = std::fopen("/proc/meminfo", "re");
    if (!file)
        return -1;
    char line[256];
    long long kib = -1;
    while (kib < 0 && std::fgets(line, sizeof line, file))
        if (std::sscanf(line, format, &kib) != 1)
            kib = -1;
    std::fclose(file);
    return kib;
}

// What a control group leaves; kUnknown without one.
std::int64_t leftInGroup() {
    const auto numberIn = [](const char* path) {
        long long number = -1;
        if (std::FILE* const file = std::fopen(path, "re")) {
            if (std::fscanf(file, "%lld", &number) != 1)
                number = -1;
            std::fclose(file);
        }
        return number;
    };
    const long long most = numberIn("/sys/fs/cgroup/memory.max"), used = numberIn("/sys/fs/cgroup/memory.current");
    return most < 0 || used < 0 ? kUnknown : std::max<std::int64_t>(most - used, 0);
}

} // namespace

std::int64_t availableMemory() {
    const long long kib = kibOf("MemAvailable: %lld");
    return std::min(kib < 0 ? kUnknown : static_cast<std::int64_t>(kib) * 1024, leftInGroup());
}

bool fitsInMemory(std::int64_t bytes) { return bytes <= kSmall || bytes <= availableMemory(); }

} // namespace tunesmith
