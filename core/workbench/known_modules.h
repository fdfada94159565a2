// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/module/module_info.h"
#include "core/process/worker_client.h"

namespace tunesmith {

// Inside core/workbench only: whose code a module is. To load a module is to run its code: its library can do all that its user can, before
// the first function of it is called. So this user's data folder has a list of the modules that were made or trusted here, by SHA-256.
// Everything else came from elsewhere and runs confined (process/confinement.h), which costs no speed.

struct KnownModule {
    std::string how;  // "made" or "trusted"
    std::string when; // "2026-11-25"
};

// A line of the file is one module: SHA-256, how, when, and where its folder was. What is no such line counts for nothing, and neither does
// a file that is missing, is no regular one of up to 16 MiB, is neither this user's nor root's, or can be written by others: then no module is known.
class KnownModules {
public:
    explicit KnownModules(std::filesystem::path file) : file_(std::move(file)) {}
    static Result<KnownModules> ofUser(); // beside the default store

    std::map<std::string, KnownModule> read() const; // by SHA-256
    Status add(const std::string& hash, const std::string& how, const std::filesystem::path& folder) const; // a line, where there is none

private:
    std::filesystem::path file_;
};

Result<std::string> sha256OfFile(const std::filesystem::path& path); // 64 hexadecimal digits

// What a module computes is its library, its weights, and what module.json says of its inputs: a list of the hashes of all three has one, too.
struct ModuleHash {
    std::string whole, library;
};
Result<ModuleHash> hashOfModule(const ModuleInfo& module);

// Of a module that was just made. Where others may change it all the same, or the list cannot be written, that
// is logged, and the module is foreign.
void rememberModule(const std::filesystem::path& folder);

// Tells in a sentence where a module from elsewhere comes from; empty where it is on the list as it is, and nobody but this user and root can change
// what its path names (base/only_way.h). `trust` puts it on the list, and asks no more unless others may change it.
Result<std::string> foreignOrigin(const ModuleInfo& module, bool trust);

// For modules in these folders. Where one is `foreign`, which is its origin, the worker is confined; what this kernel cannot enforce is logged,
// and where it cannot confine at all, there is an Error.
Result<std::unique_ptr<WorkerClient>> startModuleWorker(const std::string& foreign, const std::vector<std::filesystem::path>& folders);

} // namespace tunesmith
