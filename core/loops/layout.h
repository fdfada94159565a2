// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/graph/tensor.h"
#include "core/loops/expr.h"

namespace tunesmith::loops {

// Where the elements of a tensor lie in memory. Each physical axis, outermost first, is a piece of one logical dimension:
// (index / divisor) % extent. Row-major has one axis per dimension; NCHW16c is N, C/16, H, W, C%16. A dimension that a block
// does not divide is padded up to it; only stages that are rounded up (schedule.h) read or
// write the padding; what it holds is unspecified.
class Layout {
public:
    struct Axis {
        std::size_t dim;
        std::int64_t divisor;
        std::int64_t extent; // number of values of this piece; 0: what is left of the dimension (the outermost piece)
        bool operator==(const Axis&) const = default;
    };

    static Layout rowMajor(std::size_t rank);
    // Row-major with dimension `dim` cut into blocks that move innermost: blocked(4, 1, 16) is NCHW16c.
    static Layout blocked(std::size_t rank, std::size_t dim, std::int64_t block);
    // Convolution weights OIHW{in}i{out}o: O/out, I/in, kernel dimensions, I%in, O%out.
    static Layout weights(std::size_t rank, std::int64_t inBlock, std::int64_t outBlock);
    // Dimension order given, without blocks.
    static Layout permuted(const std::vector<std::size_t>& order);
    explicit Layout(std::vector<Axis> axes = {}) : axes_(std::move(axes)) {}

    const std::vector<Axis>& axes() const { return axes_; }
    bool isRowMajor() const;
    bool operator==(const Layout&) const = default;

    Shape physicalShape(const Shape& logical) const;
    std::int64_t elementCount(const Shape& logical) const; // with padding
    std::int64_t room(const Shape& logical, std::size_t dim) const; // how many indices of a dimension have a place, padding included
    Expr offset(const Shape& logical, const std::vector<Expr>& indices) const;
    std::string text(const std::string& dimNames = "NCHW") const; // "NCHW16c"

private:
    std::vector<Axis> axes_;
};

// The same elements in another layout, as a flat tensor whose padding is zero: how constants are packed at compile time.
Tensor pack(const Tensor& tensor, const Layout& layout);
// The inverse: from a flat buffer in `layout` to a row-major tensor of shape `logical`.
Tensor unpack(const Tensor& flat, const Shape& logical, const Layout& layout);

} // namespace tunesmith::loops
