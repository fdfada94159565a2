// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/graph.h"
#include "core/te/ast.h"

namespace tunesmith::te {

// The operators that a node of a .te file has, in a domain of our own, and the attribute that holds its Comprehension as a text.
inline constexpr const char* kDomain = "tunesmith";
inline constexpr const char* kComprehension = "Comprehension";
inline constexpr const char* kElementwise = "Elementwise"; // Comprehension::isElementwise()
inline constexpr const char* kTextAttribute = "definition";

// A graph with a node per statement, named for what it makes. Named sizes are open dimensions of the inputs. Types of what is
// computed are left to shape inference.
Result<Graph> makeGraph(const Definition& definition);

} // namespace tunesmith::te
