// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include "core/graph/node.h"

namespace tunesmith::ops {

// MatMulNBits of com.microsoft: y = A * W' + bias, with W[n, k] = (q[n, k] - zero[n, k / block]) * scale[n, k
// / block] and q of 2, 4 or 8 bits. `accuracy_level` says how far an engine may go below float; the kernel
// and the lowering stay at float.
//
// Inputs: A [..., K], q uint8 [N, blocks, block bytes] with the first k in the lowest bits, scales [N *
// blocks] or [N, blocks], zero points uint8, packed as q with each row on a byte of its own, or of A's type,
// one for each block; not g_idx; bias [N]. Where K ends within a block, the rest of the block is padding.
//
// Stages, for schedule templates: the reduction `matmul_nbits`, whose axes are those of the output, n last,
// and whose reduction axes are block, byte within the block, and part of the byte, so that k = (block * block
// bytes + byte) * parts + part. A factor of its body is read(A); the other is (float(q >> part * bits & mask)
// - zero) * scale. It has a guard where K ends within a block. `bias` follows where there is one, else
// `narrow` for 16-bit floats. The weights are never unpacked into a constant.
struct BlockedWeights {
    std::int64_t k = 0, n = 0, bits = 4, block = 0;
    std::int64_t blocks = 0;     // along k
    std::int64_t perByte = 0;    // numbers in a byte
    std::int64_t blockBytes = 0; // of packed numbers
    std::int64_t zeroBytes = 0;  // of packed zero points for each n

    static Result<BlockedWeights> of(const Node& node); // what its attributes say
};

} // namespace tunesmith::ops
