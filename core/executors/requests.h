// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/executors/device.h"
#include "core/process/worker_client.h"

namespace tunesmith {

// A server checks the requests of clients before its workers use them; schedule/kernel_reply.h checks answers. Nothing checks the contents of kernels: they
// run isolated.

enum class KernelWork { build, measure };

// A request of a client to a server: only the verbs of kernels, for a target that the device has, with the parts that whoever
// forwards it relies on.
Result<KernelWork> checkKernelRequest(const Message& request, const DeviceInfo& device);

} // namespace tunesmith
