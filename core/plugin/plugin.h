// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "core/base/log.h"
#include "core/plugin/settings.h"
#include "core/search/problem.h"

namespace tunesmith {

// What a shared library exports to bring problems of its own (core/search/problem.h). Objects of C++ cross the border, so that a problem is written
// as if it stood in the engine; that works only where both sides were made by the same compiler, standard library and headers, which
// the stamp tells before anything else is looked at. A plugin is trusted like the program itself; what it runs is not (core/process/program_run.h).

inline constexpr std::uint32_t kPluginInterface = 1; // raised when a header that plugins see changes its meaning

struct PluginStamp { // nothing but numbers, the same in all versions
    std::uint32_t interface = kPluginInterface;
    std::uint32_t compiler = __GXX_ABI_VERSION;
    std::uint32_t library = _GLIBCXX_RELEASE * 2 + _GLIBCXX_USE_CXX11_ABI;
    std::uint32_t layout = (((sizeof(Trial) * 31 + sizeof(Problem)) * 31 + sizeof(ProfileLimits)) * 31 + sizeof(Built)) * 31 + sizeof(Settings);
    bool operator==(const PluginStamp&) const = default;
};

struct ProblemContext {
    std::filesystem::path scratch; // an empty folder for what is built; outlives the problem, is removed after it
};

// A kind of problem: what `problem = "..."` in a file names, a line for people, and how such a file becomes a problem. `problem` and `name` have been asked for.
struct ProblemKind {
    const char* name;
    const char* text;
    Result<std::unique_ptr<Problem>> (*open)(Settings settings, const ProblemContext& context);
};

struct Plugin {
    PluginStamp stamp;
    const char* name;
    const char* text; // a line for people
    std::span<const ProblemKind> kinds;
    void (*setLog)(LogSink); // the plugin's own copy of core/base/log.h
};

} // namespace tunesmith

// Once in a plugin, outside of any namespace: TUNESMITH_PLUGIN("name", "what for", {"kind", "what it is", openKind}, ...)
#define TUNESMITH_PLUGIN(itsName, itsText, ...)                                                                                                      \
    extern "C" __attribute__((visibility("default"))) const tunesmith::Plugin* tunesmith_plugin() {                                                   \
        static constexpr tunesmith::ProblemKind kinds[] = {__VA_ARGS__};                                                                              \
        static const tunesmith::Plugin plugin{{}, itsName, itsText, kinds, tunesmith::setLogSink};                                                    \
        return &plugin;                                                                                                                               \
    }
