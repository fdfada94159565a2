// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/command.h"
#include "core/base/printable.h"
#include "core/workbench/plugins.h"

namespace tunesmith::cli {
namespace {

Json pluginsJson(const PluginList& list) {
    Json plugins = Json::array();
    for (const PluginInfo& plugin : list.plugins) {
        Json kinds = Json::array();
        for (const auto& [name, text] : plugin.kinds)
            kinds.push_back({{"problem", name}, {"text", text}});
        plugins.push_back({{"name", plugin.name}, {"text", plugin.text}, {"file", plugin.file}, {"problems", kinds}});
    }
    return {{"plugins", plugins}, {"refused", list.refused}, {"folders", list.folders}};
}

std::string pluginsText(const PluginList& list) {
    std::string text;
    for (const PluginInfo& plugin : list.plugins) {
        text += printable(plugin.name + ": " + plugin.text) + "\n  " + printable(plugin.file) + "\n";
        for (const auto& [name, about] : plugin.kinds)
            text += printable("  problem = \"" + name + "\": " + about) + "\n";
    }
    for (const std::string& reason : list.refused)
        text += "Refused: " + printable(reason) + "\n";
    if (list.plugins.empty()) {
        text += "No plugins were found; there are none in";
        for (const std::string& folder : list.folders)
            text += " " + folder;
        text += "; name other folders in TUNESMITH_PLUGINS\n";
    }
    return text;
}

} // namespace

void addPlugins(CLI::App& app, Session& session) {
    CLI::App& command = *app.add_subcommand("plugins", "Shared libraries that were found, and the problems that they bring for tune FILE.toml");
    session.addJson(command);
    command.callback([&session] {
        session.action = [&session] {
            const PluginList list = listPlugins();
            return session.print(pluginsJson(list), pluginsText(list));
        };
    });
}

} // namespace tunesmith::cli
