// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <cstdint>

namespace tunesmith::ops {

// c += a * b, the inner product that convolution and matrix multiplication of the reference kernels share. b and c have
// contiguous rows; a may be read with any strides (transposed). Tiles keep a block of b in the first-level cache, and four
// products at a time are added to c, so that the compiler's vectors are fed by loads and not by stores.
template <class T>
void multiplyAccumulate(std::int64_t rows, std::int64_t columns, std::int64_t depth, const T* a, std::int64_t aRow,
                        std::int64_t aColumn, const T* b, std::int64_t bRow, T* c, std::int64_t cRow) {
    constexpr std::int64_t kColumns = 256, kDepth = 32;
    for (std::int64_t j = 0; j < columns; j += kColumns)
        for (std::int64_t k0 = 0; k0 < depth; k0 += kDepth) {
            const std::int64_t width = std::min(kColumns, columns - j), end = std::min(k0 + kDepth, depth);
            for (std::int64_t i = 0; i < rows; ++i) {
                T* __restrict out = c + i * cRow + j;
                const T* const factors = a + i * aRow;
                std::int64_t k = k0;
                for (; k + 4 <= end; k += 4) {
                    const T a0 = factors[k * aColumn], a1 = factors[(k + 1) * aColumn];
                    const T a2 = factors[(k + 2) * aColumn], a3 = factors[(k + 3) * aColumn];
                    const T *b0 = b + k * bRow + j, *b1 = b0 + bRow, *b2 = b1 + bRow, *b3 = b2 + bRow;
                    for (std::int64_t x = 0; x < width; ++x)
                        out[x] += (a0 * b0[x] + a1 * b1[x]) + (a2 * b2[x] + a3 * b3[x]);
                }
                for (; k < end; ++k) {
                    const T factor = factors[k * aColumn];
                    const T* const row = b + k * bRow + j;
                    for (std::int64_t x = 0; x < width; ++x)
                        out[x] += factor * row[x];
                }
            }
        }
}

} // namespace tunesmith::ops
