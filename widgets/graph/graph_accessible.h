// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace tunesmith {

// Lets screen readers read GraphView: its value is the selected node in words, and a change of it is
// announced.
void installGraphAccessibility();

} // namespace tunesmith
