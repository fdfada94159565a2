// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/executors/device.h"
#include "core/process/worker_client.h"

namespace tunesmith {

// What passes between a client and the workers of a server, looked at before it is used. The contents of kernels are not: they
// run isolated.

enum class KernelWork { build, measure };

// A request of a client to a server: only the verbs of kernels, for a target that the device has, with the parts that whoever
// forwards it relies on.
Result<KernelWork> checkKernelRequest(const Message& request, const DeviceInfo& device);
// The answer of a server to its client: what a schedule problem reads has the type and size that it takes for granted.
Status checkKernelReply(const Message& request, const Message& reply);

} // namespace tunesmith
