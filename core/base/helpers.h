// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace tunesmith {

// Up to `count` threads more for work that the caller could do alone: each calls `work` with its number, from 1 on. Where the system gives no
// further thread (a limit of processes), those that there are do it, and the caller.
template <class Work> std::vector<std::jthread> startHelpers(std::size_t count, const Work& work) {
    std::vector<std::jthread> helpers;
    try {
        for (std::size_t number = 1; number <= count; ++number)
            helpers.emplace_back(work, number);
    } catch (const std::system_error&) {
    }
    return helpers;
}

} // namespace tunesmith
