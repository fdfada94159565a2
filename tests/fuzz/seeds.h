// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace onnx {
class ModelProto;
}

namespace tunesmith::fuzz {

// Small models of every kind that the reader knows, as bytes: where fuzzing starts.
std::vector<std::pair<std::string, std::string>> seeds();
std::vector<std::pair<const char*, onnx::ModelProto>> seedsOfToday(); // those of opsets 18 to 28 among them
// The same of the other targets.
std::vector<std::pair<std::string, std::string>> textSeeds();
std::vector<std::string> remoteSeeds();
std::vector<std::pair<std::string, std::string>> settingsSeeds(), npySeeds(), ruleSeeds(), logSeeds(), moduleSeeds(), storeSeeds(), workloadSeeds();

} // namespace tunesmith::fuzz
