// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/runtime/embedded.h"

namespace tunesmith {

// The texts of an exported folder (templates/NAME.in), with MODEL where the prefix belongs.
std::vector<EmbeddedFile> moduleTemplates();

} // namespace tunesmith
