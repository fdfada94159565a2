// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plugin/plugin_loader.h"

#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "core/process/worker_path.h"

namespace tunesmith {

std::vector<std::filesystem::path> pluginFolders() {
    std::vector<std::filesystem::path> folders;
    const char* const named = std::getenv("TUNESMITH_PLUGINS");
    std::string_view rest = named ? named : "";
    while (!rest.empty()) {
        const std::string_view folder = rest.substr(0, rest.find(':'));
        rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
        if (!folder.empty())
            folders.emplace_back(folder);
    }
    if (const auto own = programFolder(); own.ok())
        folders.push_back(own->parent_path() / "lib" / "tunesmith" / "plugins");
    return folders;
}

namespace {

// dlopen() maps what the headers promise, and a file that was cut off ends the program with SIGBUS.
bool isWhole(const std::filesystem::path& file) {
    std::error_code failed;
    const std::uint64_t size = std::filesystem::is_regular_file(file, failed) ? std::filesystem::file_size(file, failed) : 0;
    std::ifstream in(file, std::ios::binary);
    Elf64_Ehdr header{};
    if (!in.read(reinterpret_cast<char*>(&header), sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(Elf64_Phdr))
        return true; // dlopen() says what is wrong with it
    in.seekg(static_cast<std::streamoff>(header.e_phoff));
    for (int i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment{};
        if (!in.read(reinterpret_cast<char*>(&segment), sizeof segment))
            return false;
        if (segment.p_type == PT_LOAD && (segment.p_offset > size || segment.p_filesz > size - segment.p_offset))
            return false;
    }
    return true;
}

} // namespace

Result<LoadedPlugin> loadPlugin(const std::filesystem::path& file) {
    std::error_code failed;
    if (const auto kind = std::filesystem::status(file, failed); std::filesystem::exists(kind) && !std::filesystem::is_regular_file(kind)) // a pipe would be waited for
        return inputError("the plugin " + file.string() + " is no regular file; remove it");
    if (!isWhole(file))
        return inputError("the plugin " + file.string() + " is cut off; copy it again or remove it");
    const std::filesystem::path whole = std::filesystem::absolute(file, failed); // else dlopen() would look for it elsewhere
    void* const library = ::dlopen(whole.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char* const reason = ::dlerror();
        return inputError("the plugin " + file.string() + " cannot be loaded: " + (reason ? reason : "no reason is known") + "; build it again or remove it");
    }
    const auto plugin = reinterpret_cast<const Plugin* (*)()>(::dlsym(library, "tunesmith_plugin"));
    const Plugin* const made = plugin ? plugin() : nullptr;
    if (!made)
        return inputError(file.string() + " is no plugin of Tunesmith: it has no function tunesmith_plugin");
    if (made->stamp != PluginStamp())
        return inputError("the plugin " + file.string() + " was built for another version of Tunesmith or by another compiler; build it again");
    made->setLog(logMessage);
    return LoadedPlugin{file, made};
}

FoundPlugins findPlugins(const std::vector<std::filesystem::path>& folders) {
    FoundPlugins found;
    found.folders = folders;
    for (const std::filesystem::path& folder : folders) {
        std::vector<std::filesystem::path> files;
        std::error_code failed;
        for (auto entry = std::filesystem::directory_iterator(folder, failed); !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed))
            if (entry->path().extension() == ".so")
                files.push_back(entry->path());
        std::ranges::sort(files);
        for (const std::filesystem::path& file : files) {
            auto plugin = loadPlugin(file);
            if (plugin.ok())
                found.loaded.push_back(std::move(*plugin));
            else
                found.refused.push_back(plugin.error());
        }
    }
    return found;
}

namespace {

const ProblemKind* kindNamed(const std::string& name, const FoundPlugins& plugins) {
    for (const LoadedPlugin& plugin : plugins.loaded)
        for (const ProblemKind& kind : plugin.plugin->kinds)
            if (name == kind.name)
                return &kind;
    return nullptr;
}

std::string knownKinds(const FoundPlugins& plugins) {
    std::string known;
    for (const LoadedPlugin& plugin : plugins.loaded)
        for (const ProblemKind& kind : plugin.plugin->kinds)
            known += (known.empty() ? "there are " : ", ") + std::string(kind.name);
    if (known.empty()) {
        for (const std::filesystem::path& folder : plugins.folders)
            known += (known.empty() ? "no plugin was found in " : " or ") + folder.string();
    }
    return plugins.refused.empty() ? known : known + "; " + plugins.refused.front().message;
}

} // namespace

Result<OpenedProblem> openProblem(const std::filesystem::path& file, const ProblemContext& context, const FoundPlugins& plugins) {
    TS_ASSIGN(Settings settings, Settings::read(file));
    OpenedProblem opened;
    TS_ASSIGN(opened.kind, settings.text("problem"));
    TS_ASSIGN(opened.name, settings.text("name", file.stem().string()));
    const ProblemKind* const kind = kindNamed(opened.kind, plugins);
    if (!kind)
        return settings.errorAt("problem", "there is no plugin for the problem '" + opened.kind + "'; " + knownKinds(plugins));
    opened.hash = settings.hash();
    TS_ASSIGN(opened.problem, kind->open(std::move(settings), context));
    return opened;
}

} // namespace tunesmith
