// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <optional>
#include <string_view>

#include "core/rewrite/draft.h"
#include "core/substitution/rule.h"

namespace tunesmith::rewrite {

using substitution::Rule;
using substitution::Term;
using substitution::TermId;
using substitution::TermOp;

// A rule of terms read in one direction, as a pattern over a model's operators. The generator found it at a few shapes; here it is taken to
// mean as much as can be: matrices may have batch dimensions in front, elementwise operators broadcast, convolutions have any stride, dilation
// and groups and pads that agree (ConvWindow), pools are any pool, parts of a concat are of any extents. Verification says how much of that is true.
struct Pattern {
    // Axes of matrices count from the back, those of images from the front; a rule of neither holds for any two axes.
    enum class Kind : std::uint8_t { matrix, image, free };

    Pattern(Rule itsRule, bool fromRight);

    Rule rule;
    std::vector<TermId> from, to;
    Kind kind = Kind::free;
    std::vector<bool> inFrom; // by node of the rule
    std::vector<std::uint8_t> rank; // by node of the rule: of the tensors that it was found with
};

// Stride, dilation and, for each spatial dimension, how much further than half of the kernel the pads reach: 0 keeps the size with odd kernels. So
// convolutions of different kernels that look at the same positions have the same window.
struct ConvWindow {
    std::array<std::int64_t, 2> strides{1, 1}, dilations{1, 1}, begin{}, end{};
    bool operator==(const ConvWindow&) const = default;
};
std::optional<ConvWindow> windowOf(const Draft& draft, NodeNo conv); // of two spatial dimensions
// The convolution's operator for weights of such a shape.
OperatorNo convOperator(OperatorTable& table, const ConvWindow& window, const Shape& weights, std::int64_t group);

// Values of a draft for the terms of a pattern, and what else they say.
struct Binding {
    std::vector<ValueNo> values; // by node of the rule; kNone where nothing is bound
    std::array<std::optional<int>, 2> axes; // of a free pattern, from the back: -1 is the last
    std::optional<ConvWindow> window;
    OperatorNo averagePool = kNone, maxPool = kNone;
};

// The axis that a term's axis means for a tensor of that rank; nothing where it has none such.
std::optional<std::size_t> axisOf(const Pattern& pattern, const Binding& binding, std::uint8_t axis, std::size_t rank);

// All ways in which the pattern's results are computed, the first of them by the anchor. Values by node of the rule.
void findPattern(const Pattern& pattern, const Draft& draft, NodeNo anchor, std::vector<std::vector<ValueNo>>& found);

// What the bound values say of windows and axes; empty where the pattern's operators disagree.
std::optional<Binding> bindingOf(const Pattern& pattern, const Draft& draft, const std::vector<ValueNo>& values);

// Adds the other side to the draft and puts it in the place of the results. Empty, or why it cannot be written here.
std::string_view buildPattern(const Pattern& pattern, Draft& draft, const Binding& binding);

} // namespace tunesmith::rewrite
