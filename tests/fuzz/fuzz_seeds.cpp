// SPDX-License-Identifier: GPL-3.0-or-later
// fuzz_seeds FOLDER: writes the seeds there, for libFuzzer.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/seeds.h"

int main(int count, char** arguments) {
    if (count != 2) {
        std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
        return 2;
    }
    std::filesystem::create_directories(arguments[1]);
    for (const auto& [name, bytes] : tunesmith::fuzz::seeds())
        std::ofstream(std::filesystem::path(arguments[1]) / name, std::ios::binary) << bytes;
}
