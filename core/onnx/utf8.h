// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string_view>

namespace tunesmith {

// Names of a model end up on screens, in JSON and in file names: what is no UTF-8 text is refused at the
// door.
bool isUtf8(std::string_view text);

} // namespace tunesmith
