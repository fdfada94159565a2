// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/version.h"

namespace tunesmith {

std::string versionText() {
    return TUNESMITH_VERSION;
}

} // namespace tunesmith
