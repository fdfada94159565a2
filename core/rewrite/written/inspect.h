// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/rewrite/draft.h"

namespace tunesmith::rewrite {

// What rules written by hand ask of a draft.

bool isPlain(const Draft& draft, NodeNo node);                      // of the default domain, and all types are static
bool isPlain(const Draft& draft, NodeNo node, std::string_view op); // and of that operator
NodeNo madeBy(const Draft& draft, ValueNo value, std::string_view op); // the plain node that makes it if it is of that operator, else kNone
NodeNo plainMaker(const Draft& draft, ValueNo value);                  // of any operator
bool isOneOf(std::string_view op, std::initializer_list<std::string_view> ops);

// By one node only, and not by whoever reads the model's results.
bool isReadOnce(const Draft& draft, ValueNo value);
bool isUnread(const Draft& draft, ValueNo value);

// Large weights, of more bytes than this, are not put into a model twice unless a search chooses to.
inline constexpr double kMayBeTwice = 1 << 20;
double bytesOf(const Draft& draft, ValueNo value); // 0 where the type is not static
// By others than that node when the model runs: weights that it does not read any more stay.
bool isReadBesides(const Draft& draft, ValueNo weights, NodeNo reader);

// Of a constant of one element.
std::optional<double> numberOf(const Draft& draft, ValueNo value);
bool isNumber(const Draft& draft, ValueNo value, double number); // but for rounding to the constant's type
bool isFilledWith(const Draft& draft, ValueNo value, double number);

// Numbers that older opsets have as an attribute and newer ones as a constant operand; nothing where there are none or they are not known.
std::optional<std::vector<std::int64_t>> numbersOf(const Draft& draft, NodeNo node, const std::string& attribute, std::size_t operand);

// One value for each position along the axis, or one for all, so that it can be repeated to the shape without changing it.
bool isAlong(const Draft& draft, ValueNo value, const Shape& shape, std::size_t axis);
bool isSingle(const Draft& draft, ValueNo value); // one element, whatever the rank

bool isConv(const Draft& draft, NodeNo node);        // a Conv with explicit pads
bool isConvolution(const Draft& draft, NodeNo node); // a Conv or a ConvTranspose

// Which operand an operator maps element by element, with the others the same for all elements and the result of the same shape.
std::optional<std::size_t> mappedOperand(const Draft& draft, NodeNo node);
inline constexpr const char* kMapsElements = "f maps elements: an activation, a cast, or arithmetic with one number"; // that, as a rule's condition

// Reshape, Flatten, Squeeze or Unsqueeze, of tensors that have elements.
bool isReshape(const Draft& draft, NodeNo node);
std::vector<std::int64_t> permOf(const Draft& draft, NodeNo transpose);

} // namespace tunesmith::rewrite
