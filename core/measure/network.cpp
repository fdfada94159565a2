// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/network.h"

#include <algorithm>
#include <fstream>

namespace tunesmith {

int linkMbit(const std::filesystem::path& interfaces) {
    constexpr int kUnknown = 1000;
    int fastest = 0, fastestVirtual = 0;
    std::error_code none;
    for (auto entry = std::filesystem::directory_iterator(interfaces, none); !none && entry != std::filesystem::directory_iterator(); entry.increment(none)) {
        std::string state;
        int speed = 0; // many give -1, or cannot be read
        if (!(std::ifstream(entry->path() / "operstate") >> state) || state != "up")
            continue;
        const bool hardware = std::filesystem::exists(entry->path() / "device", none);
        std::ifstream(entry->path() / "speed") >> speed;
        int& best = hardware ? fastest : fastestVirtual;
        best = std::max(best, speed > 0 ? speed : hardware ? kUnknown : 0);
    }
    return fastest > 0 ? fastest : fastestVirtual > 0 ? fastestVirtual : kUnknown;
}

} // namespace tunesmith
