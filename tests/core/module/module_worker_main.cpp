// SPDX-License-Identifier: GPL-3.0-or-later
// A worker that knows only the verbs of core/module.
#include "core/module/worker_verbs.h"

int main() {
    return tunesmith::serveWorker(tunesmith::moduleVerbs());
}
