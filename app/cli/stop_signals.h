// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/stop_token.h"

namespace tunesmith::cli {

// Ctrl-C, SIGTERM and the end of the terminal. The first asks the work to stop and, where it computes on instead, ends the program within a second, with the
// sentence and the exit status of a cancelled command; the second does so at once, the third kills. Files that are not whole go with the
// program, but for the third.
class StopSignals {
public:
    StopSignals(); // once in a program

    StopToken token() const;
    // While it is on, a first signal ends a part of the work only: the program tells what was found, or takes leave of others.
    static void endPartOnly(bool on);
    // The work has ended and its outcome is to be told. Does not return where the program is being ended already.
    void workEnded();
};

} // namespace tunesmith::cli
