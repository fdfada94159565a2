// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>

#include "core/rewrite/substitution.h"
#include "core/rewrite/written/sample_model.h"

namespace tunesmith::rewrite {

// A substitution written by hand, as its card and three functions.
struct WrittenRule {
    SubstitutionCard card;
    // What is found at the anchor, at most once; empty where nothing is. The first values are the results that build() replaces, the rest is
    // what build() wants to know. Looks only at nodes whose types are static (isPlain, madeBy).
    std::function<std::vector<ValueNo>(const Draft&, NodeNo anchor)> find;
    // What takes the place of the first values of a match, in their order; kNone in it where it cannot be written. Shapes are to be copied
    // before nodes are added: the table that they are in grows.
    std::function<std::vector<ValueNo>(Draft&, const Match&)> build;
    // A result in which the rule can be found; kNone where the choices did not fit.
    std::function<ValueNo(SampleModel&)> sample;
    std::vector<std::int64_t> opsets{9, 12, 17, 18}; // of the samples
};

SubstitutionPtr written(WrittenRule rule);

// A simplification that computes weights anew, and what of those others go on reading (isReadBesides). Where that is large it would make
// the model dearer: there it is a move of its own, with "-of-shared" behind its name.
using StillRead = std::function<std::vector<ValueNo>(const Draft&, NodeNo anchor)>;
void addFolding(std::vector<SubstitutionPtr>& all, const WrittenRule& rule, const StillRead& stillRead);

} // namespace tunesmith::rewrite
