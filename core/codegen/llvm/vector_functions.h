// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>

#include "core/codegen/llvm/llvm_headers.h"
#include "core/codegen/target.h"

namespace tunesmith {

// Elementary functions of float32 vectors without calls and, with AVX-512, without divisions. NaN stays NaN. Coefficients are
// least in the largest relative error (Lawson's iteration over Chebyshev points); errors include rounding and were
// taken over all floats of the range (tests/core/codegen/tst_vector_functions.cpp holds them).
class VectorFunctions {
public:
    VectorFunctions(llvm::IRBuilder<>& builder, Isa isa) : b_(builder), isa_(isa) {}

    llvm::Value* exp(llvm::Value* x) const;  // relative error below 2e-7; 0 below -87.3365, where denormals begin
    // For x up to 0, and what is a difference: relative error below 2e-7 + 8e-8 |x|, as rounding a difference has, too; below -87.3365
    // 0 or a denormal.
    llvm::Value* expDown(llvm::Value* x) const;
    llvm::Value* log(llvm::Value* x) const;  // below 2e-7 of the result, or of 1 near x = 1
    llvm::Value* tanh(llvm::Value* x) const; // relative error below 4e-7, never beyond 1
    llvm::Value* erf(llvm::Value* x) const;  // relative error below 4.5e-7, never beyond 1
    // 1 / x within 2 ulp, for x from 1 on; 0 for infinity.
    llvm::Value* reciprocal(llvm::Value* x) const;

private:
    llvm::Value* number(llvm::Value* like, double value) const { return llvm::ConstantFP::get(like->getType(), value); }
    llvm::Value* fma(llvm::Value* x, llvm::Value* y, llvm::Value* z) const;
    llvm::Value* polynomial(llvm::Value* x, llvm::ArrayRef<double> coefficients) const; // from the highest power down
    llvm::Value* unboundedExp(llvm::Value* x) const;                                    // where the result is a normal number
    llvm::Value* clamp(llvm::Value* x, double bound) const;                              // to [-bound, bound]
    llvm::Value* oddQuotient(llvm::Value* x, double end, llvm::ArrayRef<double> above, llvm::ArrayRef<double> below) const;
    llvm::Value* withExponent(llvm::Value* power, llvm::Value* shifted) const; // power * 2^n for n + 1.5 * 2^23

    bool hasAvx512Form(llvm::Value* x) const; // whether AVX-512's instructions take vectors of this width, in pieces if need be
    llvm::Value* everyLane(unsigned lanes) const { return lanes == 16 ? b_.getInt16(0xffff) : b_.getInt8(0xff); }
    llvm::Value* byRegisters(llvm::ArrayRef<llvm::Value*> x, const std::function<llvm::Value*(llvm::ArrayRef<llvm::Value*>)>& f) const;
    llvm::Value* approximateReciprocal(llvm::Value* x) const; // of 14 bits
    llvm::Value* scaledByPowerOfTwo(llvm::Value* x, llvm::Value* exponent) const;

    llvm::IRBuilder<>& b_;
    const Isa isa_;
};

} // namespace tunesmith
