// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <string>

#include "core/store/store.h"

namespace tunesmith {

// Inside core/workbench only. An empty path means the default store in the user's data folder.
Result<std::string> storePath(const std::string& asked);
Result<std::shared_ptr<Store>> openStore(const std::string& asked, StoreMode mode);

} // namespace tunesmith
