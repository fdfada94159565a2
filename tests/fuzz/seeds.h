// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace tunesmith::fuzz {

// Small models of every kind that the reader knows, as bytes: where fuzzing starts.
std::vector<std::pair<std::string, std::string>> seeds();
// The same of text tensor expressions.
std::vector<std::pair<std::string, std::string>> textSeeds();

} // namespace tunesmith::fuzz
