// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/executors/device.h"
#include "core/process/worker_client.h"

namespace tunesmith {

// What a client sends to the workers of a server, looked at before it is used; answers are by schedule/kernel_reply.h. The contents of kernels are not: they
// run isolated.

enum class KernelWork { build, measure };

// A request of a client to a server: only the verbs of kernels, for a target that the device has, with the parts that whoever
// forwards it relies on.
Result<KernelWork> checkKernelRequest(const Message& request, const DeviceInfo& device);

} // namespace tunesmith
