// SPDX-License-Identifier: GPL-3.0-or-later
// fuzz_seeds FOLDER [KIND]: writes the seeds of a target there, for libFuzzer. Without a kind, those of models.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>

#include "tests/fuzz/seeds.h"

namespace {

using Seeds = std::vector<std::pair<std::string, std::string>>;

Seeds remote() {
    Seeds named;
    for (std::string& bytes : tunesmith::fuzz::remoteSeeds())
        named.emplace_back("message_" + std::to_string(named.size()), std::move(bytes));
    return named;
}

const std::map<std::string_view, Seeds (*)()> kKinds{
    {"models", tunesmith::fuzz::seeds},        {"texts", tunesmith::fuzz::textSeeds}, {"remote", remote},
    {"settings", tunesmith::fuzz::settingsSeeds}, {"npy", tunesmith::fuzz::npySeeds},    {"rules", tunesmith::fuzz::ruleSeeds},
    {"logs", tunesmith::fuzz::logSeeds},       {"modules", tunesmith::fuzz::moduleSeeds}, {"stores", tunesmith::fuzz::storeSeeds},
    {"workloads", tunesmith::fuzz::workloadSeeds},
};

} // namespace

int main(int count, char** arguments) {
    const auto kind = kKinds.find(count == 3 ? arguments[2] : "models");
    if (count < 2 || count > 3 || kind == kKinds.end()) {
        std::fprintf(stderr, "usage: fuzz_seeds FOLDER [KIND], with a KIND of");
        for (const auto& [name, seeds] : kKinds)
            std::fprintf(stderr, " %s", std::string(name).c_str());
        std::fprintf(stderr, "\n");
        return 2;
    }
    std::filesystem::create_directories(arguments[1]);
    for (const auto& [name, bytes] : kind->second())
        std::ofstream(std::filesystem::path(arguments[1]) / name, std::ios::binary) << bytes;
}
