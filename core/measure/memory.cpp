// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>

namespace tunesmith {
namespace {

std::string contentOf(const char* file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::optional<std::int64_t> numberAt(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && number > 0 ? std::optional(number) : std::nullopt;
}

} // namespace

std::optional<std::int64_t> totalMemoryMb(const std::string& meminfo) {
    constexpr std::string_view kKey = "MemTotal:";
    const std::size_t at = meminfo.find(kKey);
    const auto kib = at == std::string::npos ? std::nullopt : numberAt(std::string_view(meminfo).substr(at + kKey.size()));
    return kib ? std::optional(*kib / 1024) : std::nullopt;
}

std::optional<std::int64_t> memoryLimitMb(const std::string& limit) {
    const auto bytes = numberAt(limit);
    return bytes ? std::optional(*bytes >> 20) : std::nullopt;
}

int usableMemoryMb() {
    constexpr std::int64_t kUnknown = 4096;
    std::int64_t memory = totalMemoryMb(contentOf("/proc/meminfo")).value_or(kUnknown);
    for (const char* const limit : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
        memory = std::min(memory, memoryLimitMb(contentOf(limit)).value_or(memory));
    return static_cast<int>(std::clamp<std::int64_t>(memory * 3 / 4, 1, std::numeric_limits<int>::max()));
}

} // namespace tunesmith
