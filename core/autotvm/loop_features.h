// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/autotvm/loop_nest.h"
#include "core/autotvm/record.h"

namespace tunesmith::autotvm {

// AutoTVM's three kinds of features (Chen et al., Learning to Optimize Tensor Programs, NeurIPS 2018;
// behaviour of TVM 0.8). They describe a loop nest or a config, nothing is built for them. The nest must pass
// its check().

// How one loop, with all loops in it, touches a buffer.
struct TouchFeature {
    std::string access;
    double stride = 0;                       // of this loop
    double mod = -1;                         // -1: none
    double count = 1;                        // different elements
    double reuse = 1;                        // how often each of them is touched
    double threadCount = 0, threadReuse = 0; // of loops over blocks: as multiples of one block; else 0
};

struct LoopFeature {
    double length = 1;
    int nestLevel = 1;   // from 1 on
    double topdown = 1;  // product of the extents from the outermost loop to this one
    double bottomup = 1; // and from this one to the innermost
    LoopKind kind = LoopKind::serial;
    int additions = 0, multiplications = 0, divisions = 0; // of the innermost loop; outside of it 0
    std::vector<TouchFeature> touched;                     // ordered by name
};

std::vector<LoopFeature> loopFeatures(const LoopNest& nest); // one per loop, from the outermost in

// "itervar": per loop length, level, both products, one-hot of the kind, three counts of arithmetic and six
// numbers per access, all but level and one-hot as sign(x) * log2(|x| + 1); then the values of other knobs as
// they are.
std::vector<float> itervarFeatures(const LoopNest& nest, const std::vector<double>& otherKnobs = {});

// "curve": per access the relations count -> reuse, reuse -> count, count -> topdown and topdown -> count,
// each sampled at 2^0, 2^1 ... 2^(samples - 1): the (binary) logarithm of the value at the last known point,
// and the distance to this point.
std::vector<float> curveFeatures(const LoopNest& nest, int samples = 20);

// "knob": sizes of splits, orders, one-hots of annotations, other numbers as they are (true 1, false 0, words
// as 0).
std::vector<float> knobFeatures(const std::vector<KnobSetting>& entity);

} // namespace tunesmith::autotvm
