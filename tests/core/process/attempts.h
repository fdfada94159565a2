// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/process/message.h"
#include "core/base/result.h"

namespace tunesmith::testing {

// Attempts of a hostile kernel in a worker: each returns them by name, and whether they succeeded.
Result<Message> attemptsOnOthers(const Message& request);     // another process and objects of System V, whose ids are in the request
Result<Message> attemptsOnCores(const Message& request);      // to leave the cores that it was given
Result<Message> attemptToStartThreads(const Message& request); // {"threads": how many it got}
Result<Message> refusedCalls(const Message& request);         // system calls but those of "except": {"allowed": [numbers]}

} // namespace tunesmith::testing
