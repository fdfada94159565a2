// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/plugin/plugin.h"

namespace tunesmith {

struct LoadedPlugin {
    std::filesystem::path file;
    const Plugin* plugin = nullptr; // stays for as long as the program runs
};

struct FoundPlugins {
    std::vector<std::filesystem::path> folders; // that were looked into
    std::vector<LoadedPlugin> loaded;           // of two that know one kind the first serves it
    std::vector<Error> refused;                 // each says which file and why
};

// The folders that TUNESMITH_PLUGINS names, separated by ':', then ../lib/tunesmith/plugins seen from the executable.
std::vector<std::filesystem::path> pluginFolders();
FoundPlugins findPlugins(const std::vector<std::filesystem::path>& folders = pluginFolders()); // all *.so in them; again is cheap

// Errors name the file: no library, cut off, no plugin, or one that was built for another version.
Result<LoadedPlugin> loadPlugin(const std::filesystem::path& file);

struct OpenedProblem {
    std::string kind, name;
    std::uint64_t hash = 0; // of what the file says
    std::unique_ptr<Problem> problem;
};
// A file in TOML whose `problem` names the kind and whose `name` is for people (default: that of the file).
Result<OpenedProblem> openProblem(const std::filesystem::path& file, const ProblemContext& context, const FoundPlugins& plugins = findPlugins());

} // namespace tunesmith
