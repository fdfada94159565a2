// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <span>
#include <string_view>
#include <vector>

namespace tunesmith {

// Files that Tunesmith carries within itself, so that exporting a module needs neither a compiler nor an
// installation.
struct EmbeddedFile {
    std::string_view name; // without folders
    std::span<const unsigned char> bytes;
    std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

std::vector<EmbeddedFile>
runtimeObjects(); // the runtime, compiled: relocatable ELF, position independent, baseline x86-64
std::vector<EmbeddedFile> runtimeHeaders(); // model_interface.h
EmbeddedFile referenceObject(); // reference_steps.cpp with all that it needs, for modules with steps that are no kernels

} // namespace tunesmith
