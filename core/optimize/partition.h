// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>

#include "core/rewrite/draft.h"

namespace tunesmith::optimize {

using rewrite::Draft;
using rewrite::NodeNo;
using rewrite::ValueNo;

// Large drafts are searched in pieces: runs of the order in which nodes are computed, cut where few values are alive. Rewriting a piece
// that keeps its results keeps the whole.

// The nodes that do not depend on constants only, in order, about `size` in each piece; the first piece is shorter by `offset`.
std::vector<std::vector<NodeNo>> piecesOf(const Draft& draft, std::size_t size, std::size_t offset = 0);

// A piece as a draft of its own: what it reads from outside are inputs, what is read outside are outputs. Values have the labels of the whole.
struct Piece {
    Draft draft;
    std::vector<ValueNo> wholeValues; // by value of the piece
};
Piece cutOut(const Draft& whole, const std::vector<NodeNo>& nodes);

// The whole with a rewritten form of the piece in its place; nothing if a node would depend on itself.
std::optional<Draft> spliced(const Draft& whole, const Piece& piece, const Draft& rewritten);

} // namespace tunesmith::optimize
