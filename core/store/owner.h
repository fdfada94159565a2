// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

namespace tunesmith {

// Names a process so that a later one can tell whether it still lives, also after a reboot and after its pid
// was given to another: "boot id:pid namespace:pid:start time". Outside Linux's /proc the parts are empty and
// nobody counts as alive.
std::string currentOwner();
bool ownerAlive(
    const std::string& owner); // a process in another pid namespace cannot be seen and counts as gone

} // namespace tunesmith
