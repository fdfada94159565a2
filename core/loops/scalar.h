// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <unordered_map>
#include <vector>

#include "core/graph/tensor.h"
#include "core/loops/program.h"

namespace tunesmith::loops {

// One scalar of either kind; which one is in use follows from the type of the expression.
union Scalar {
    std::int64_t integer = 0;
    double real;
};

// A read outside of a tensor: thrown by ScalarCode::run(), caught in evaluate.cpp.
struct OutOfRange {
    std::string message;
};

// Scalar expressions as a flat list of steps over numbered cells, for those who evaluate one very often: walking the tree of
// shared nodes costs ten times as much. Variables, constants and intermediate results are cells. A select and the logic jump,
// so that the branch that is not taken reads nothing.
class ScalarCode {
public:
    using Cell = std::uint32_t;
    struct Piece { // steps [begin, end), and where their result lies
        std::size_t begin, end;
        Cell result;
    };
    // The tensors that loads go to; they outlive the code.
    explicit ScalarCode(std::function<const Tensor&(const TensorDecl&)> tensorOf) : tensorOf_(std::move(tensorOf)) {}

    Cell cellOf(const Var& var);
    Piece compile(const Expr& e);
    // Combines the stage's body with what the result cell holds, unless the guard says otherwise.
    Piece compileReduction(const Stage& stage);

    Scalar& operator[](Cell cell) { return cells_[cell]; }
    void run(const Piece& piece);

private:
    enum class Code : std::uint8_t {
        jump, jumpIfZero, move,
        realAdd, realSub, realMul, realMin, realMax, intAdd, intSub, intMul, intLess, intLessEqual, intGreaterEqual,
        realUnary, realBinary, realCompare, intUnary, intBinary, // whatever else `op` says
        toReal, toInt, toBool, intToBool, toFloat, wrap,
        loadFloat, loadReal, loadInt,
    };
    struct Step {
        Code code;
        Op op;
        DType type;
        Cell to, a, b;          // of a load, `a` is which one
        std::size_t target = 0; // of a jump
    };
    struct Dimension {
        Cell index;
        std::int64_t extent;
    };
    struct Load {
        const Tensor* tensor;
        Expr source;
        std::vector<Dimension> dimensions;
    };

    Cell fresh(Scalar value = {});
    Cell emit(Code code, Op op, DType type, Cell a, Cell b = 0);
    Cell compileNode(const Expr& e);
    Cell compileLoad(const Expr& e);
    Cell compileSelect(const Expr& e);
    Cell compileLogic(const Expr& e);
    Cell compileCast(const Expr& e);
    Cell compileUnary(const Expr& e);
    Cell compileBinary(Op op, DType type, Cell a, Cell b);
    Cell wrapped(Cell value, DType type);
    void move(Cell to, Cell from) { steps_.push_back({Code::move, {}, {}, to, from, 0}); }
    std::size_t jump(Code code, Cell condition = 0); // returns which step it is, for land()
    void land(std::size_t jump) { steps_[jump].target = steps_.size(); }
    std::size_t offsetOf(const Load& load) const;

    std::function<const Tensor&(const TensorDecl&)> tensorOf_;
    std::vector<Scalar> cells_;
    std::vector<Step> steps_;
    std::vector<Load> loads_;
    std::unordered_map<const VarInfo*, Cell> vars_;
};

void storeScalar(Tensor& tensor, std::int64_t offset, Scalar value); // rounded to what the tensor holds
Scalar identityOf(Reduction reduction, DType type); // what a reduction over nothing yields

} // namespace tunesmith::loops
