// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/autotvm/config_space.h"

namespace tunesmith::autotvm {

// What differed between versions of TVM, as far as records show it. The defaults are TVM 0.8's.
struct Vintage {
    // conv2d_NCHWc.x86 splits the width with tails (policy verbose), not by factors only.
    bool tails = true;
    // dense_pack.x86 has the knob tile_inner.
    bool innerTile = true;
    // conv2d_nchw.cuda: the split of the kernel's height is called tile_rx, that of its width tile_ry.
    bool swappedKernelNames = false;
};

// The vintage that the config of a record was written in: splits with the outermost part in full instead of
// -1 are older than tails; the other two show in the names of the knobs.
Vintage vintageOf(const Record& record);

// AutoTVM's space of a task, its indices included. Known are conv2d_NCHWc, depthwise_conv2d_NCHWc,
// dense_pack, dense_nopack and batch_matmul with .x86; conv2d_nchw, conv2d_nchw_winograd,
// depthwise_conv2d_nchw, conv2d_transpose_nchw, conv1d_transpose_nchw and batch_matmul with .cuda. Another
// template is an `unsupported` error.
Result<ConfigSpace> spaceOf(const Task& task, const Vintage& vintage = {});
std::vector<std::string> knownTemplates();

} // namespace tunesmith::autotvm
