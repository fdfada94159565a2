// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/network.h"

#include <algorithm>
#include <fstream>

namespace tunesmith {

int linkMbit(const std::filesystem::path& interfaces) {
    constexpr int kUnknown = 1000;
    int fastest = 0;
    std::error_code none;
    for (auto entry = std::filesystem::directory_iterator(interfaces, none); !none && entry != std::filesystem::directory_iterator(); entry.increment(none)) {
        std::string state;
        int speed = 0; // links that are down, and those of virtual machines, give -1 or cannot be read
        if (std::ifstream(entry->path() / "operstate") >> state && state == "up" && std::ifstream(entry->path() / "speed") >> speed)
            fastest = std::max(fastest, speed);
    }
    return fastest > 0 ? fastest : kUnknown;
}

} // namespace tunesmith
