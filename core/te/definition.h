// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>

#include "core/te/ast.h"

namespace tunesmith::te {

// A whole text: parsed, with known names and types. `source` is what errors call it.
Result<Definition> readDefinition(std::string_view text, const std::string& source);
Result<Definition> readDefinitionFile(const std::filesystem::path& path);

Sizes defaultSizes(const Definition& definition);                 // those that have a number
std::vector<std::string> sizeNames(const Definition& definition); // in the order of their appearance

// All statements as stages, where every size has a value: ranges are found, all reads proven, and schedules
// have a choice of knobs that is allowed. An error says at which place of
// the text they cannot be.
Result<loops::Program> lowerDefinition(const Definition& definition, const Sizes& sizes);
// Only whether it can be done. A size without a value is not an error: then nothing is checked.
Status checkSizes(const Definition& definition, const Sizes& sizes);

} // namespace tunesmith::te
