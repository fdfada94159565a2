// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include "core/process/message.h"
#include <functional>
#include <map>
#include <string>

namespace tunesmith {

// One thing that a worker can do. What it throws becomes an error answer ("out of memory" for
// std::bad_alloc); what kills the process is reported by the WorkerClient at the other end.
using Handler = std::function<Result<Message>(const Message& request)>;

// The main loop of a worker executable, and all that its main() needs to call: takes the socket and the
// limits from the environment that WorkerProcess prepared, then answers requests, body["verb"] choosing the
// handler, until the workbench goes away. Handlers run on the calling thread. A second thread watches the
// workbench meanwhile and kills the worker's process group when it is gone, so that not even a kernel that
// hangs outlives it. Returns an exit status; a process that was not started by a workbench gets 2 and a line
// on stderr.
int serveWorker(std::map<std::string, Handler> handlers);

} // namespace tunesmith
