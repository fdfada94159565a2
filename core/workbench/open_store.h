// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "core/store/store.h"

namespace tunesmith {

// Inside core/workbench only. An empty path means the default store in the user's data folder.
Result<std::string> storePath(const std::string& asked);
// The path of a store that is there; none where nothing was kept yet, nor where no folder for a default one can be made.
Result<std::optional<std::string>> existingStore(const std::string& asked);
Result<std::shared_ptr<Store>> openStore(const std::string& asked, StoreMode mode);

} // namespace tunesmith
