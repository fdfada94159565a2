// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <string>

#include "core/process/worker_server.h"

namespace tunesmith {

// What a worker process does for tuning. The handlers share caches (parsed workloads, inputs, reference results), so make
// the table once per process. Formats of requests and answers: kernel_messages.h.
//   build_kernel     workload and config -> machine code; with "text" also loop nest, LLVM IR and assembly
//   prepare_profile  draws the inputs of a workload and computes the reference result, which may take seconds
//   profile_kernel   checks a kernel against the reference result, then times it
//   compare_kernels  times several kernels in turns
//   measure_machine  see core/measure/machine.h
std::map<std::string, Handler> kernelVerbs();

} // namespace tunesmith
