// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/memory_budget.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <sys/resource.h>

#include "core/base/available_memory.h"
#include "core/base/sanitizers.h"
#include "core/base/scratch.h"

namespace tunesmith {
namespace {

constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
constexpr std::int64_t kMany = std::int64_t{64} << 20; // the machine is asked for what is more

std::atomic<std::int64_t> limit = 0; // 0: not known yet
std::atomic<std::int64_t> used = 0;

bool within(std::int64_t bytes, std::int64_t before) {
    const std::int64_t most = valueMemoryLimit();
    return bytes <= most && before <= most - bytes && (bytes <= kMany || fitsInMemory(bytes));
}

constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
    {"", kGibibyte}, {"GiB", kGibibyte}, {"MiB", kGibibyte >> 10}, {"KiB", kGibibyte >> 20}, {"TiB", kGibibyte << 10},
    {"GB", 1'000'000'000}, {"MB", 1'000'000}, {"TB", 1'000'000'000'000},
};

} // namespace

std::int64_t valueMemoryLimit() {
    if (const std::int64_t known = limit.load(std::memory_order_relaxed); known > 0)
        return known;
    std::int64_t none = 0;
    limit.compare_exchange_strong(none, std::max<std::int64_t>(availableMemory() / 4 * 3, 1));
    return limit.load(std::memory_order_relaxed);
}

void limitValueMemory(std::int64_t bytes) { limit.store(std::max<std::int64_t>(bytes, 1)); }

std::int64_t usedValueMemory() { return used.load(std::memory_order_relaxed); }

bool valuesFit(std::int64_t bytes) { return within(bytes, usedValueMemory()); }

Status checkValueMemory(const std::string& who, std::int64_t bytes) {
    if (valuesFit(bytes))
        return {};
    const std::string taken = memoryText(usedValueMemory()) + " of " + memoryText(valueMemoryLimit()) + " are in use";
    return inputError(who + " does not fit into memory: it needs " + memoryText(bytes) + ", and " + taken + " (--memory sets the limit)");
}

const char* OutOfValueMemory::what() const noexcept {
    return "the values of the model do not fit into the memory that they may take; --memory raises the limit";
}

void claimScratch(std::size_t bytes) {
    const auto more = static_cast<std::int64_t>(bytes);
    const std::int64_t before = used.fetch_add(more, std::memory_order_relaxed);
    if (within(more, before))
        return;
    used.fetch_sub(more, std::memory_order_relaxed);
    throw OutOfValueMemory();
}

void releaseScratch(std::size_t bytes) noexcept { used.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed); }

ValueMemoryClaim::ValueMemoryClaim(std::size_t bytes) : bytes_(static_cast<std::int64_t>(bytes)) { claimScratch(bytes); }

ValueMemoryClaim::~ValueMemoryClaim() { releaseScratch(static_cast<std::size_t>(bytes_)); }

Result<std::int64_t> parseMemory(const std::string& text) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    std::string_view unit(end);
    unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
    const auto* const found = std::ranges::find(kUnits, unit, &std::pair<std::string_view, std::int64_t>::first);
    const double bytes = found == std::end(kUnits) || end == text.c_str() ? 0 : number * static_cast<double>(found->second);
    if (!(bytes >= 1) || bytes > static_cast<double>(std::numeric_limits<std::int64_t>::max() / 4))
        return inputError("'" + text + "' is no amount of memory; write 1GiB or 512MiB (a plain number means GiB)");
    return static_cast<std::int64_t>(bytes);
}

std::string memoryText(std::int64_t bytes) {
    char text[32];
    const auto number = static_cast<double>(bytes);
    if (bytes < kGibibyte)
        std::snprintf(text, sizeof text, "%.1f MiB", number / static_cast<double>(kGibibyte >> 10));
    else
        std::snprintf(text, sizeof text, "%.1f GiB", number / static_cast<double>(kGibibyte));
    return text;
}

void limitProcessMemory(std::int64_t bytes) {
    struct rlimit now {};
    if (kSanitized || ::getrlimit(RLIMIT_DATA, &now) != 0)
        return;
    now.rlim_cur = std::min<rlim_t>(static_cast<rlim_t>(bytes), now.rlim_max);
    ::setrlimit(RLIMIT_DATA, &now);
}

} // namespace tunesmith
