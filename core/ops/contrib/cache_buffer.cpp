// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/contrib/cache_buffer.h"

#include "core/ops/contrib/contrib.h"
#include "core/ops/movement.h"

namespace tunesmith::ops {

Tensor writtenCache(const Tensor& past, const Tensor& more, const std::vector<std::int64_t>& filled,
                    std::int64_t length) {
    const Shape& own = more.shape();
    const std::int64_t heads = own[1], size = own[3];
    Tensor all = Tensor::zeros(more.type(), {own[0], heads, length, size});
    for (std::int64_t b = 0; b < own[0]; ++b) {
        const auto copyRows = [&](const Tensor& from, std::int64_t count, std::int64_t to) {
            const std::int64_t rows = from.shape()[2];
            const Shape shape{heads, count, size};
            copyView(from, {shape, {rows * size, size, 1}, b * heads * rows * size}, all,
                     {shape, {length * size, size, 1}, (b * heads * length + to) * size});
        };
        if (filled[b] > 0 && !past.absent())
            copyRows(past, filled[b], 0);
        copyRows(more, own[2], filled[b]);
    }
    return all;
}

ValueId writeCache(ExpandContext& c, const CacheBuffer& buffer, DType type, ValueId past, ValueId more,
                   ValueId filled) {
    const auto number = [&](std::int64_t value) { return c.addConstant(Tensor::scalar(value)); };
    std::vector<ValueId> before;
    if (past.valid())
        before.push_back(past);
    const Shape missing{buffer.batch, buffer.heads, buffer.length - (past.valid() ? buffer.pastRows : 0),
                        buffer.size};
    if (missing[2] > 0)
        before.push_back(c.addConstant(Tensor::zeros(type, missing)));
    const ValueId row = countedFrom(c, 0, {1, 1, buffer.length, 1});
    const ValueId since = c.add("Sub", row, filled);
    ValueId fresh = more;
    if (buffer.newRows > 1) {
        const ValueId at = c.add("Min", c.add("Max", since, number(0)), number(buffer.newRows - 1));
        const ValueId everywhere = c.addConstant(
            Tensor::zeros(DType::i64, {buffer.batch, buffer.heads, buffer.length, buffer.size}));
        fresh = c.add("GatherElements", {more, c.add("Add", at, everywhere)}, {{"axis", std::int64_t{2}}});
    }
    const ValueId kept =
        c.add("Where", {c.add("Less", since, number(buffer.newRows)), fresh, c.number(type, 0)});
    return c.add("Where", {c.add("Less", since, number(0)), c.concat(before, 2), kept});
}

} // namespace tunesmith::ops
