// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/store/rows.h"

namespace tunesmith {

// The runs that one open store works on. A process is one owner of runs, whatever it has open: two of its stores, as of two windows, would both add trials to a
// run of which each thinks that it stopped. From any thread.
class RunsInHand {
public:
    explicit RunsInHand(const std::string& store);
    RunsInHand(const RunsInHand&) = delete;
    RunsInHand& operator=(const RunsInHand&) = delete;
    ~RunsInHand(); // leaves them all

    bool take(RunId run); // false: another store of this process has it
    void leave(RunId run);

private:
    const std::string file_;
};

} // namespace tunesmith
