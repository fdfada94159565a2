// SPDX-License-Identifier: GPL-3.0-or-later
// A shared library that is no plugin.
extern "C" int answer() { return 42; }
