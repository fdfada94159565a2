// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace tunesmith {

struct LinkRequest {
    std::vector<std::filesystem::path> objects;
    std::filesystem::path output;
    std::string soname;
    std::map<std::string, std::string>
        exports;                   // public name -> symbol in the objects; nothing else is visible
    std::filesystem::path scratch; // a folder for the linker's script
};

// Links a shared library that needs nothing but libc, libm and pthread, with LLVM's linker as a program:
// neither a compiler nor development packages are needed. Anything else that the objects want is an error.
Status linkSharedLibrary(const LinkRequest& request);

// What the environment variable TUNESMITH_LLD names (then nothing else is tried), else beside the running
// executable, else the usual names on the path and in LLVM's folders. The error names the package to install.
Result<std::filesystem::path> findLinker();

} // namespace tunesmith
