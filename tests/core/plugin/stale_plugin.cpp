// SPDX-License-Identifier: GPL-3.0-or-later
// A plugin of another version: nothing after its stamp may be looked at.
extern "C" const void* tunesmith_plugin() {
    static const unsigned stamp[4] = {9999, 1, 1, 1};
    return stamp;
}
