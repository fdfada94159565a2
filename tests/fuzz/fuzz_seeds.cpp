// SPDX-License-Identifier: GPL-3.0-or-later
// fuzz_seeds FOLDER [texts]: writes the seeds there, those of models or those of tensor expressions, for libFuzzer.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "tests/fuzz/seeds.h"

int main(int count, char** arguments) {
    const bool texts = count == 3 && std::string_view(arguments[2]) == "texts";
    if (count != 2 && !texts) {
        std::fprintf(stderr, "usage: fuzz_seeds FOLDER [texts]\n");
        return 2;
    }
    std::filesystem::create_directories(arguments[1]);
    for (const auto& [name, bytes] : texts ? tunesmith::fuzz::textSeeds() : tunesmith::fuzz::seeds())
        std::ofstream(std::filesystem::path(arguments[1]) / name, std::ios::binary) << bytes;
}
