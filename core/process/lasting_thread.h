// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>

#include "core/base/result.h"

namespace tunesmith {

// Runs `work` in a thread that lives as long as this program, and waits for it: a process with PR_SET_PDEATHSIG dies with the thread that started it, and that must not
// be one that ends earlier. From any thread; one piece of work at a time. An Error: there is no such thread yet and none can be started.
Status inLastingThread(std::function<void()> work);

} // namespace tunesmith
