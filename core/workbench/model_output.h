// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace tunesmith {

// Asked before a model is written. An Error where the file is that of the model which it is made of, or one that is there and has no name of a
// model, or cannot be written. Empty: it is not to be written.
Status checkModelOutput(const std::filesystem::path& file, const std::string& model);

} // namespace tunesmith
