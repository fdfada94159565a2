// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/pad_rows.h"

#include <algorithm>
#include <cstring>

namespace tunesmith {

std::optional<Tensor> withRows(const Tensor& tensor, const RowAxis& axis, std::int64_t rows) {
    if (!axis.carried())
        return tensor;
    const auto at = static_cast<std::size_t>(axis.axis);
    if (at >= tensor.rank() || byteSize(tensor.type()) == 0 || axis.block < 1 ||
        tensor.shape()[at] % axis.block != 0)
        return std::nullopt;
    Shape shape = tensor.shape();
    const std::int64_t had = shape[at] / axis.block;
    if (had < 1 || rows < 1 || __builtin_mul_overflow(rows, axis.block, &shape[at]) ||
        !checkedElementCount(shape))
        return std::nullopt;
    std::size_t outer = 1, rowBytes = byteSize(tensor.type()) * static_cast<std::size_t>(axis.block);
    for (std::size_t i = 0; i < shape.size(); ++i)
        (i < at ? outer : rowBytes) *= i == at ? 1 : static_cast<std::size_t>(shape[i]);
    Tensor padded = Tensor::zeros(tensor.type(), shape);
    for (std::size_t o = 0; o < outer && rowBytes > 0; ++o)
        for (std::int64_t row = 0; row < rows; ++row) {
            const auto source =
                o * static_cast<std::size_t>(had) + static_cast<std::size_t>(std::min(row, had - 1));
            const auto target = o * static_cast<std::size_t>(rows) + static_cast<std::size_t>(row);
            std::memcpy(padded.mutableBytes().data() + target * rowBytes,
                        tensor.bytes().data() + source * rowBytes, rowBytes);
        }
    return padded;
}

} // namespace tunesmith
