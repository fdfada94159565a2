// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>

#include "core/loops/schedule.h"
#include "core/schedule/byte_words.h"
#include "core/schedule/workload.h"

namespace tunesmith {

// One side of a product of bytes: what is read, uint8 or int8, and its zero point, an int32 expression.
struct ByteOperand {
    loops::Expr read, zero;
};

// The sum over (left - its zero point) * (right - its zero point) in int32, which MatMulInteger, ConvInteger, QLinearMatMul and
// QLinearConv are, before an elementwise epilogue.
struct IntegerProduct {
    const loops::Stage* stage;
    ByteOperand left, right;
};
std::optional<IntegerProduct> integerProduct(const loops::Program& program);

// A way to compute one with dot products of words (byte_words.h): stages that make words of the operands where they are none
// yet, the dot products, and the result without the zero points:
//   sum (l - a)(r - b) = sum l r - a sum r - b sum l + count a b
// Sums wrap around, so that this is exact.
class DotProgram {
public:
    // Names of the stages that a schedule may find with stageNamed(); all but the dot products may be missing.
    static constexpr const char *kLeft = "left.words", *kBorder = "left.border", *kColumns = "left.columns", *kRight = "right.words", *kDots = "dots", *kLeftSums = "left.sums", *kRightSums = "right.sums";

    DotProgram(LoweredWorkload& lowered, const IntegerProduct& product);

    // Words of a side as the dot products read them; they use the axes of the product's output and `reduced`.
    loops::Expr left, right;
    std::vector<loops::Axis> reduced;
    std::int64_t count = 0;   // products in a sum, zero points of a border included
    loops::Expr rightSum;     // where constants bring their sums along
    std::vector<loops::Stage> wordStages;

    loops::Expr leftZero() const { return leftZero_; } // of the left side's words, an int32 expression
    void replaceArgument(const loops::TensorRef& tensor, const loops::TensorRef& asWords, WeightTransform transform, loops::Layout layout);
    bool readsElsewhere(const loops::TensorRef& tensor) const; // than in the product

    void finish(); // writes the program

private:
    loops::Expr sumOf(const char* name, const loops::Expr& side, bool unsignedWords);
    loops::Stage withoutZeros(const loops::TensorRef& dots, const loops::Expr& leftSum);

    LoweredWorkload& lowered_;
    loops::Stage product_;
    loops::Expr leftZero_, rightZero_;
    std::vector<loops::Stage> sums_;
};

const loops::Stage* stageNamed(const loops::Program& program, const std::string& name);

// Schedules of the stages around the dot products: phases of their own, vectors along the last dimension.
void scheduleWords(loops::Schedule& schedule, const loops::TensorRef& words, std::int64_t lanes);
void scheduleSums(loops::Schedule& schedule, std::int64_t lanes);

} // namespace tunesmith
