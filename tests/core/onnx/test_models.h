// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace tunesmith::testing {

// The folder of other people's models; empty where there is none.
inline std::filesystem::path modelFolder() {
    const char* given = std::getenv("TUNESMITH_TEST_DATA");
    const std::filesystem::path root =
        given ? std::filesystem::path(given) : std::filesystem::path(TUNESMITH_SOURCE_DIR) / ".." / "shared";
    std::error_code ignored;
    return std::filesystem::is_directory(root / "models", ignored) ? root / "models"
                                                                   : std::filesystem::path();
}

inline std::vector<std::filesystem::path> modelFiles(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        if (entry.path().extension() == ".onnx")
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

} // namespace tunesmith::testing
