// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/module/module_info.h"
#include "core/module/worker_verbs.h"

namespace tunesmith {

// Inside core/workbench only. A kernel that wins alone may lose in the model, where the layers around it leave it other caches.
// Workloads whose tuned layers, all of them together, are certainly slower than the untuned ones of the same round; by key.
// None where the modules do not consist of the same layers.
std::vector<std::string> slowerInModel(const ModuleInfo& untuned, const ModuleInfo& tuned, const PairSteps& steps);

} // namespace tunesmith
