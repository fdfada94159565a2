// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/pad_rows.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace tunesmith {

Tensor withRows(const Tensor& tensor, const RowAxis& axis, std::int64_t rows) {
    if (!axis.carried())
        return tensor;
    const auto at = static_cast<std::size_t>(axis.axis);
    assert(at < tensor.rank() && byteSize(tensor.type()) > 0 && tensor.shape()[at] % axis.block == 0);
    Shape shape = tensor.shape();
    const std::int64_t had = shape[at] / axis.block;
    shape[at] = rows * axis.block;
    Tensor result = Tensor::zeros(tensor.type(), shape);
    std::size_t rowBytes = byteSize(tensor.type()) * static_cast<std::size_t>(axis.block);
    for (std::size_t i = at + 1; i < shape.size(); ++i)
        rowBytes *= static_cast<std::size_t>(shape[i]);
    const std::size_t outer =
        had == 0 || rowBytes == 0 ? 0 : tensor.byteCount() / (rowBytes * static_cast<std::size_t>(had));
    for (std::size_t o = 0; o < outer; ++o)
        for (std::int64_t row = 0; row < rows; ++row) {
            const auto source =
                o * static_cast<std::size_t>(had) + static_cast<std::size_t>(std::min(row, had - 1));
            const auto target = o * static_cast<std::size_t>(rows) + static_cast<std::size_t>(row);
            std::memcpy(result.mutableBytes().data() + target * rowBytes,
                        tensor.bytes().data() + source * rowBytes, rowBytes);
        }
    return result;
}

} // namespace tunesmith
