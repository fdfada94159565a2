// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

namespace tunesmith {

struct PluginInfo {
    std::string file, name, text;
    std::vector<std::pair<std::string, std::string>> kinds; // of problems that it opens, with a line for people
};

struct PluginList {
    std::vector<std::string> folders; // that were looked into
    std::vector<PluginInfo> plugins;
    std::vector<std::string> refused; // a sentence for each file that is no plugin or does not fit
};
PluginList listPlugins();

} // namespace tunesmith
