// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <optional>

#include "core/search/parameter_space.h"
#include "plugins/hello/command_text.h"
#include "plugins/hello/score.h"

namespace tunesmith {

struct ProgramCommand {
    CommandText text;
    double seconds = 0;            // of wall clock that it may take
    std::uint64_t memoryLimit = 0; // bytes; 0: none
};

// What a file with problem = "external-program" says (plugins/README.md lists its keys).
struct ProgramSpec {
    std::string name;
    std::filesystem::path folder; // of the file, in which commands run
    ParameterSpace space;
    std::vector<std::vector<std::string>> texts; // of each parameter's values, as commands get them
    std::vector<bool> inFlags;                   // parameters that {flags} stands for: those that no command names
    std::optional<ProgramCommand> build;
    ProgramCommand run;
    int repeat = 1;
    ScoreSpec score;
    std::optional<CheckSpec> check;

    // What placeholders stand for: the parameters, flags, folder, and what the caller adds.
    CommandText::Values values(const Config& config) const;
};
Result<ProgramSpec> readProgramSpec(Settings settings);

} // namespace tunesmith
