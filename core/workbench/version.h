// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

namespace tunesmith {

std::string versionText(); // "0.1.0": in reports, stores and modules

} // namespace tunesmith
