// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace tunesmith {

// Lets screen readers read TimelineView: its value is the selected slice in words, and a change of it is announced.
void installTimelineAccessibility();

} // namespace tunesmith
