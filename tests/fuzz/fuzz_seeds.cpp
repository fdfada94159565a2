// SPDX-License-Identifier: GPL-3.0-or-later
// fuzz_seeds FOLDER [texts|remote]: writes the seeds there, those of models, tensor expressions or messages of remote devices, for libFuzzer.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "tests/fuzz/remote_target.h"
#include "tests/fuzz/seeds.h"

namespace {

std::vector<std::pair<std::string, std::string>> seedsOf(std::string_view kind) {
    if (kind.empty())
        return tunesmith::fuzz::seeds();
    if (kind == "texts")
        return tunesmith::fuzz::textSeeds();
    std::vector<std::pair<std::string, std::string>> named;
    if (kind == "remote")
        for (std::string& bytes : tunesmith::fuzz::remoteSeeds())
            named.emplace_back("message_" + std::to_string(named.size()), std::move(bytes));
    return named;
}

} // namespace

int main(int count, char** arguments) {
    const auto found = seedsOf(count == 3 ? arguments[2] : "");
    if (count < 2 || count > 3 || found.empty()) {
        std::fprintf(stderr, "usage: fuzz_seeds FOLDER [texts|remote]\n");
        return 2;
    }
    std::filesystem::create_directories(arguments[1]);
    for (const auto& [name, bytes] : found)
        std::ofstream(std::filesystem::path(arguments[1]) / name, std::ios::binary) << bytes;
}
