// SPDX-License-Identifier: GPL-3.0-or-later
#include <cstdlib>
#include <unistd.h>

#include "core/module/worker_verbs.h"
#include "core/process/worker_server.h"
#include "core/schedule/worker_verbs.h"

// The worker executable: everything foreign (candidate kernels, exported modules) runs in here, never in the
// workbench.
int main(int, char** arguments) {
    // A spinning OpenMP thread on a busy core costs a factor of ten; libgomp reads this before main, so start
    // over once.
    if (!std::getenv("OMP_WAIT_POLICY")) {
        setenv("OMP_WAIT_POLICY", "passive", 1);
        execv("/proc/self/exe", arguments);
    }
    auto handlers = tunesmith::kernelVerbs();
    handlers.merge(tunesmith::moduleVerbs());
    return tunesmith::serveWorker(handlers);
}
