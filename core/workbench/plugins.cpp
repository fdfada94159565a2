// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/plugins.h"

#include "core/plugin/plugin_loader.h"

namespace tunesmith {

PluginList listPlugins() {
    const FoundPlugins found = findPlugins();
    PluginList list;
    for (const auto& folder : found.folders)
        list.folders.push_back(folder.string());
    for (const LoadedPlugin& loaded : found.loaded) {
        PluginInfo& info = list.plugins.emplace_back(PluginInfo{loaded.file.string(), loaded.plugin->name, loaded.plugin->text, {}});
        for (const ProblemKind& kind : loaded.plugin->kinds)
            info.kinds.emplace_back(kind.name, kind.text);
    }
    for (const Error& error : found.refused)
        list.refused.push_back(error.message);
    return list;
}

} // namespace tunesmith
