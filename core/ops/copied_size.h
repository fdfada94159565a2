// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>

namespace tunesmith {

class Graph;
struct Node;

// How many usual nodes take the memory of one more copy of this one: bodies count with all that is in them, for loops within loops grow
// there first, and long texts and lists of attributes as the nodes that would fill them.
std::size_t copiedSize(const Node& node);
std::size_t copiedSize(const Graph& body);

} // namespace tunesmith
