// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/core_masks.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <sys/mman.h>

namespace tunesmith {
namespace {

std::span<const cpu_set_t> reserved;

} // namespace

bool keepThreadTo(const cpu_set_t& cores) {
    const cpu_set_t* mask = &cores;
    if (!reserved.empty()) {
        const auto found = std::ranges::find_if(reserved, [&](const cpu_set_t& allowed) { return CPU_EQUAL(&allowed, &cores); });
        if (found == reserved.end())
            return false;
        mask = &*found;
    }
    return ::sched_setaffinity(0, sizeof *mask, mask) == 0;
}

namespace core_masks {

Status reserve() {
    constexpr std::size_t kBytes = kCount * sizeof(cpu_set_t);
    void* pages = ::mmap(reinterpret_cast<void*>(std::uintptr_t(kAddress)), kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    auto* masks = static_cast<cpu_set_t*>(pages);
    if (pages == MAP_FAILED || ::sched_getaffinity(0, sizeof *masks, masks) != 0)
        return internalError(std::string("no masks of cores: ") + std::strerror(errno));
    for (std::size_t core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, masks))
            CPU_SET(core, masks + 1 + core);
    if (::mprotect(pages, kBytes, PROT_READ) != 0)
        return internalError(std::string("no masks of cores: ") + std::strerror(errno));
    reserved = {masks, kCount};
    return {};
}

} // namespace core_masks
} // namespace tunesmith
