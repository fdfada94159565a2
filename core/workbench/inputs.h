// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace tunesmith {

// Where the inputs of a run come from: .npy files by input name (as it is, or as distinctFileNames() writes it),
// the rest drawn from the seed; the same seed gives the same values to a model and to the module made of it.
struct InputChoice {
    std::map<std::string, std::filesystem::path> files;
    std::uint64_t seed = 1;
    float low = 0; // floats are drawn from here to 1
};

} // namespace tunesmith
