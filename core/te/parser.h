// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string_view>

#include "core/te/ast.h"

namespace tunesmith::te {

// Reads one definition (README.md has the grammar). `source` is what errors call the text. Says nothing about what names mean.
Result<Definition> parse(std::string_view text, const std::string& source);

} // namespace tunesmith::te
