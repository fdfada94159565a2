// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <vector>

#include "core/executors/remote_executor.h"
#include "core/workbench/remote.h"

namespace tunesmith {

// Inside core/workbench only.

Result<Access> accessOf(const RemoteFiles& files);
// Waits for a device of the key; what is waited for is progress. The further ones that the choice allows join when they are free.
Result<std::vector<std::shared_ptr<RemoteExecutor>>> connectDevices(const DeviceChoice& choice, const KernelWorkerOptions& limits, const Work& work);

} // namespace tunesmith
