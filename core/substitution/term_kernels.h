// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <cassert>
#include <vector>

#include "core/substitution/term.h"

namespace tunesmith::substitution {

// The operators over numbers of some kind: `Arithmetic` has the type Value of an element and Sum of what adds up to one, product() of two
// values, reduced() from a sum, ninth(), relu(), and emptyWindow() and joinedTo() for the largest of a window.
template <class Arithmetic> class TermKernels {
public:
    using Value = typename Arithmetic::Value;
    using Sum = typename Arithmetic::Sum;

    TermKernels(const TermShape& shape, const TermShape& aShape, const TermShape& bShape, const Value* a, const Value* b, Value* y)
        : shape_(shape), aShape_(aShape), bShape_(bShape), a_(a), b_(b), y_(y), count_(static_cast<std::size_t>(shape.count())) {}

    void run(const Term& term) {
        switch (term.op) {
        case TermOp::matmul: return matmul();
        case TermOp::add: return eachOf([&](std::size_t i) { return Sum(a_[i]) + b_[i]; });
        case TermOp::mul: return eachOf([&](std::size_t i) { return Arithmetic::product(a_[i], b_[i]); });
        case TermOp::scale: return eachOf([&](std::size_t i) { return Arithmetic::product(a_[i], b_[0]); });
        case TermOp::relu: return eachOf([&](std::size_t i) { return Arithmetic::relu(a_[i]); });
        case TermOp::conv: return conv();
        case TermOp::convRelu: conv(); return eachOf([&](std::size_t i) { return Arithmetic::relu(y_[i]); });
        case TermOp::averagePool: return pool(Sum(0), [](Sum sum, Value x) { return sum + x; }, Arithmetic::ninth());
        case TermOp::maxPool: return pool(Arithmetic::emptyWindow(), Arithmetic::joinedTo, Value(1));
        case TermOp::enlarge: return enlarge();
        case TermOp::concat: return concat(term.axis);
        case TermOp::split: return split(term);
        case TermOp::transpose: return transpose();
        case TermOp::poolWeights: return eachOf([](std::size_t) { return Sum(Arithmetic::ninth()); });
        case TermOp::ones: return eachOf([](std::size_t) { return Sum(1); });
        case TermOp::convIdentity: return convIdentity();
        case TermOp::productIdentity: return eachOf([&](std::size_t i) { return Sum(i / shape_.extents[1] == i % shape_.extents[1]); });
        case TermOp::input: break;
        }
        assert(false && "inputs have values of their own");
    }

private:
    template <class Function> void eachOf(const Function& function) {
        for (std::size_t i = 0; i < count_; ++i)
            y_[i] = Arithmetic::reduced(function(i));
    }

    void matmul() {
        const std::size_t rows = shape_.extents[0], columns = shape_.extents[1], depth = aShape_.extents[1];
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j) {
                Sum sum = 0;
                for (std::size_t k = 0; k < depth; ++k)
                    sum += Arithmetic::product(a_[i * depth + k], b_[k * columns + j]);
                y_[i * columns + j] = Arithmetic::reduced(sum);
            }
    }

    // Each image channel by channel: rows of the data times one weight, added up.
    void conv() {
        const std::size_t images = shape_.extents[0], filters = shape_.extents[1], h = shape_.extents[2], w = shape_.extents[3];
        const std::size_t channels = bShape_.extents[1], groups = aShape_.extents[1] / channels, kernel = std::size_t(bShape_.extents[2]) * bShape_.extents[3];
        std::vector<Sum> sums(h * w);
        for (std::size_t n = 0; n < images; ++n)
            for (std::size_t f = 0; f < filters; ++f) {
                std::ranges::fill(sums, Sum(0));
                const std::size_t first = f / (filters / groups) * channels;
                for (std::size_t c = 0; c < channels; ++c)
                    addWindow(a_ + (n * aShape_.extents[1] + first + c) * h * w, b_ + (f * channels + c) * kernel, sums);
                for (std::size_t i = 0; i < h * w; ++i)
                    y_[(n * filters + f) * h * w + i] = Arithmetic::reduced(sums[i]);
            }
    }

    void addWindow(const Value* image, const Value* weights, std::vector<Sum>& sums) const {
        const int h = shape_.extents[2], w = shape_.extents[3], kh = bShape_.extents[2], kw = bShape_.extents[3];
        for (int r = 0; r < kh; ++r)
            for (int s = 0; s < kw; ++s) {
                const int down = r - kh / 2, right = s - kw / 2;
                for (int i = std::max(0, -down); i < std::min(h, h - down); ++i)
                    for (int j = std::max(0, -right); j < std::min(w, w - right); ++j)
                        sums[static_cast<std::size_t>(i * w + j)] += Arithmetic::product(image[(i + down) * w + j + right], weights[r * kw + s]);
            }
    }

    template <class Join> void pool(Sum begin, const Join& join, Value factor) {
        const int h = shape_.extents[2], w = shape_.extents[3], planes = shape_.extents[0] * shape_.extents[1];
        for (int p = 0; p < planes; ++p)
            for (int i = 0; i < h; ++i)
                for (int j = 0; j < w; ++j) {
                    Sum sum = begin;
                    for (int r = std::max(0, i - 1); r < std::min(h, i + 2); ++r)
                        for (int s = std::max(0, j - 1); s < std::min(w, j + 2); ++s)
                            sum = join(sum, a_[(p * h + r) * w + s]);
                    y_[(p * h + i) * w + j] = Arithmetic::reduced(Arithmetic::product(Arithmetic::reduced(sum), factor));
                }
    }

    void enlarge() {
        const std::size_t planes = std::size_t(shape_.extents[0]) * shape_.extents[1], kh = aShape_.extents[2], kw = aShape_.extents[3];
        std::fill_n(y_, count_, 0);
        for (std::size_t p = 0; p < planes; ++p)
            for (std::size_t r = 0; r < kh; ++r)
                for (std::size_t s = 0; s < kw; ++s)
                    y_[(p * 3 + r + (3 - kh) / 2) * 3 + s + (3 - kw) / 2] = a_[(p * kh + r) * kw + s];
    }

    void concat(std::size_t axis) {
        copyPart(axis, aShape_.extents[axis], shape_.extents[axis], 0, a_, y_, Into::whole);
        copyPart(axis, bShape_.extents[axis], shape_.extents[axis], aShape_.extents[axis], b_, y_, Into::whole);
    }

    void split(const Term& term) {
        const std::size_t axis = term.axis, begin = term.part == 0 ? 0 : aShape_.cuts[axis];
        copyPart(axis, shape_.extents[axis], aShape_.extents[axis], begin, a_, y_, Into::part);
    }

    // Between a whole tensor and the part of it that begins at `begin` of the axis. The other extents are those of the result.
    enum class Into : std::uint8_t { whole, part };
    void copyPart(std::size_t axis, std::size_t partExtent, std::size_t wholeExtent, std::size_t begin, const Value* from, Value* to, Into into) const {
        std::size_t outer = 1, inner = 1;
        for (std::size_t d = 0; d < axis; ++d)
            outer *= shape_.extents[d];
        for (std::size_t d = axis + 1; d < shape_.rank; ++d)
            inner *= shape_.extents[d];
        for (std::size_t o = 0; o < outer; ++o) {
            const std::size_t inPart = o * partExtent * inner, inWhole = (o * wholeExtent + begin) * inner;
            std::copy_n(from + (into == Into::whole ? inPart : inWhole), partExtent * inner, to + (into == Into::whole ? inWhole : inPart));
        }
    }

    void transpose() {
        const std::size_t rows = shape_.extents[0], columns = shape_.extents[1];
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < columns; ++j)
                y_[i * columns + j] = a_[j * rows + i];
    }

    void convIdentity() {
        const std::size_t channels = shape_.extents[1], kernel = std::size_t(shape_.extents[2]) * shape_.extents[3];
        std::fill_n(y_, count_, 0);
        for (std::size_t c = 0; c < channels; ++c)
            y_[(c * channels + c) * kernel + kernel / 2] = Value(1);
    }

    const TermShape &shape_, &aShape_, &bShape_;
    const Value *a_, *b_;
    Value* y_;
    std::size_t count_;
};

} // namespace tunesmith::substitution
