// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/rewrite/write_nodes.h"

namespace tunesmith::rewrite {

// Nodes that rules written by hand add, mostly on weights. Each gives kNone where an operand is kNone or does not fit.

ValueNo castTo(Draft& draft, ValueNo value, DType type);
// The type that weights of a type are computed anew in, so that those of 16 bits are rounded once.
DType foldingType(DType type);
ValueNo asVector(Draft& draft, ValueNo value); // its elements in one dimension
// Its elements along one axis, and extents of 1 at the others.
ValueNo along(Draft& draft, ValueNo value, std::size_t rank, std::size_t axis);
ValueNo zerosOf(Draft& draft, DType type, const Shape& shape);
ValueNo swapLast(Draft& draft, ValueNo value); // the last two axes change places

// The weights of a Conv or ConvTranspose with all that goes into one output channel multiplied by a factor: one for each channel, or one for all.
ValueNo scaledOutputs(Draft& draft, NodeNo conv, ValueNo weights, ValueNo factors);

std::vector<ValueNo> operandsOf(const Draft& draft, NodeNo node); // Draft::kLeftOut where one is left out
// The node's operator, with some attributes changed, on other operands.
ValueNo again(Draft& draft, NodeNo node, std::vector<ValueNo> operands, const std::map<std::string, Attribute>& changes = {});
// A node that maps elements, on other data: mappedOperand() says which operand the data are.
ValueNo mapAgain(Draft& draft, NodeNo node, std::size_t mapped, ValueNo data);
ValueNo withOperand(Draft& draft, NodeNo node, std::size_t index, ValueNo operand);

} // namespace tunesmith::rewrite
