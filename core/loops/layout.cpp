// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/loops/layout.h"

#include <cctype>
#include <cstring>

namespace tunesmith::loops {

Layout Layout::rowMajor(std::size_t rank) {
    std::vector<Axis> axes;
    for (std::size_t d = 0; d < rank; ++d)
        axes.push_back({d, 1, 0});
    return Layout(std::move(axes));
}

Layout Layout::blocked(std::size_t rank, std::size_t dim, std::int64_t block) {
    if (block <= 1)
        return rowMajor(rank);
    std::vector<Axis> axes;
    for (std::size_t d = 0; d < rank; ++d)
        axes.push_back({d, d == dim ? block : 1, 0});
    axes.push_back({dim, 1, block});
    return Layout(std::move(axes));
}

Layout Layout::weights(std::size_t rank, std::int64_t inBlock, std::int64_t outBlock) {
    std::vector<Axis> axes{{0, outBlock, 0}, {1, inBlock, 0}};
    for (std::size_t d = 2; d < rank; ++d)
        axes.push_back({d, 1, 0});
    if (inBlock > 1)
        axes.push_back({1, 1, inBlock});
    if (outBlock > 1)
        axes.push_back({0, 1, outBlock});
    return Layout(std::move(axes));
}

Layout Layout::permuted(const std::vector<std::size_t>& order) {
    std::vector<Axis> axes;
    for (const std::size_t d : order)
        axes.push_back({d, 1, 0});
    return Layout(std::move(axes));
}

bool Layout::isRowMajor() const {
    for (std::size_t i = 0; i < axes_.size(); ++i)
        if (axes_[i] != Axis{i, 1, 0})
            return false;
    return true;
}

Shape Layout::physicalShape(const Shape& logical) const {
    Shape shape;
    for (const Axis& axis : axes_)
        shape.push_back(axis.extent ? axis.extent : (logical[axis.dim] + axis.divisor - 1) / axis.divisor);
    return shape;
}

std::int64_t Layout::elementCount(const Shape& logical) const { return tunesmith::elementCount(physicalShape(logical)); }

std::int64_t Layout::room(const Shape& logical, std::size_t dim) const {
    const Shape physical = physicalShape(logical);
    std::int64_t count = 1;
    for (std::size_t i = 0; i < axes_.size(); ++i)
        count *= axes_[i].dim == dim ? physical[i] : 1;
    return count;
}

Expr Layout::offset(const Shape& logical, const std::vector<Expr>& indices) const {
    const Shape strides = rowMajorStrides(physicalShape(logical));
    Expr sum = 0;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
        Expr piece = indices[axes_[i].dim] / Expr(axes_[i].divisor);
        if (axes_[i].extent)
            piece = piece % Expr(axes_[i].extent);
        sum = sum + piece * Expr(strides[i]);
    }
    return sum;
}

std::string Layout::text(const std::string& dimNames) const {
    std::string text;
    for (const Axis& axis : axes_) {
        const char letter = axis.dim < dimNames.size() ? dimNames[axis.dim] : static_cast<char>('0' + axis.dim);
        if (axis.extent)
            text += std::to_string(axis.extent) + static_cast<char>(std::tolower(letter));
        else
            text += letter;
    }
    return text;
}

namespace {

// Calls visit(row-major position, physical position) for every element.
template <class Visit> void forEachElement(const Shape& logical, const Layout& layout, const Visit& visit) {
    const Shape strides = rowMajorStrides(layout.physicalShape(logical));
    // Contribution of each index of each dimension to the physical offset.
    std::vector<std::vector<std::int64_t>> contribution(logical.size());
    for (std::size_t d = 0; d < logical.size(); ++d)
        contribution[d].assign(static_cast<std::size_t>(logical[d]), 0);
    for (std::size_t a = 0; a < layout.axes().size(); ++a) {
        const Layout::Axis& axis = layout.axes()[a];
        for (std::int64_t i = 0; i < logical[axis.dim]; ++i) {
            const std::int64_t piece = i / axis.divisor;
            contribution[axis.dim][static_cast<std::size_t>(i)] += (axis.extent ? piece % axis.extent : piece) * strides[a];
        }
    }
    const std::int64_t count = elementCount(logical);
    Shape index(logical.size(), 0);
    for (std::int64_t position = 0; position < count; ++position) {
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < logical.size(); ++d)
            offset += contribution[d][static_cast<std::size_t>(index[d])];
        visit(position, offset);
        for (std::size_t d = logical.size(); d-- > 0;) {
            if (++index[d] < logical[d])
                break;
            index[d] = 0;
        }
    }
}

} // namespace

Tensor pack(const Tensor& tensor, const Layout& layout) {
    const std::int64_t total = layout.elementCount(tensor.shape());
    if (layout.isRowMajor())
        return tensor.reshaped({total});
    Tensor packed = Tensor::zeros(tensor.type(), {total});
    const std::size_t width = byteSize(tensor.type());
    const std::byte* from = tensor.bytes().data();
    std::byte* to = packed.mutableBytes().data();
    forEachElement(tensor.shape(), layout, [&](std::int64_t position, std::int64_t offset) {
        std::memcpy(to + static_cast<std::size_t>(offset) * width, from + static_cast<std::size_t>(position) * width, width);
    });
    return packed;
}

Tensor unpack(const Tensor& flat, const Shape& logical, const Layout& layout) {
    Tensor tensor = Tensor::zeros(flat.type(), logical);
    const std::size_t width = byteSize(flat.type());
    const std::byte* from = flat.bytes().data();
    std::byte* to = tensor.mutableBytes().data();
    forEachElement(logical, layout, [&](std::int64_t position, std::int64_t offset) {
        std::memcpy(to + static_cast<std::size_t>(position) * width, from + static_cast<std::size_t>(offset) * width, width);
    });
    return tensor;
}

} // namespace tunesmith::loops
