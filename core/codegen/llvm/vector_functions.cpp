// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/vector_functions.h"

#include <limits>
#include <llvm/IR/IntrinsicsX86.h>

#include "core/codegen/llvm/integer_math.h"

namespace tunesmith {

using llvm::Value;

constexpr double kLeastExponent = -87.3365; // below it exp is no normal number

Value* VectorFunctions::fma(Value* x, Value* y, Value* z) const { return b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z}); }

Value* VectorFunctions::polynomial(Value* x, llvm::ArrayRef<double> coefficients) const {
    Value* sum = number(x, coefficients[0]);
    for (const double coefficient : coefficients.drop_front())
        sum = fma(sum, x, number(x, coefficient));
    return sum;
}

Value* VectorFunctions::clamp(Value* x, double bound) const {
    Value* above = b_.CreateSelect(b_.CreateFCmpOLT(number(x, bound), x), number(x, bound), x);
    return b_.CreateSelect(b_.CreateFCmpOGT(number(x, -bound), above), number(x, -bound), above);
}

// e^x = 2^n e^r with n = round(x / ln 2) and r = x - n ln 2, in two parts. Adding 1.5 * 2^23 leaves n in the lowest bits of
// the sum; shifted to where the exponent stands it is added to e^r. For n = 128 that is right because r is negative then.
Value* VectorFunctions::unboundedExp(Value* x) const {
    constexpr double kRounder = 12582912.0;
    Value* shifted = fma(x, number(x, 1.44269504088896341), number(x, kRounder));
    Value* n = b_.CreateFSub(shifted, number(x, kRounder));
    Value* r = fma(n, number(x, -0.693145751953125), x);
    r = fma(n, number(x, -1.42860682030941723e-6), r);
    Value* power = polynomial(r, {0.008312501628624593, 0.04189033265484604, 0.16667115389061618, 0.4999923030110386, 1.0, 1.0});
    llvm::Type* ints = likeLanesOf(x, b_.getInt32Ty());
    Value* exponent = b_.CreateShl(b_.CreateBitCast(shifted, ints), llvm::ConstantInt::get(ints, 23));
    return b_.CreateBitCast(b_.CreateAdd(b_.CreateBitCast(power, ints), exponent), x->getType());
}

Value* VectorFunctions::exp(Value* x) const {
    Value* atLeast = b_.CreateSelect(b_.CreateFCmpOLT(x, number(x, kLeastExponent)), number(x, 0), unboundedExp(x));
    const double infinity = std::numeric_limits<double>::infinity();
    return b_.CreateSelect(b_.CreateFCmpUGT(x, number(x, 88.72283172607421875)), b_.CreateFAdd(x, number(x, infinity)), atLeast);
}

// x - x is 0, or NaN where x is. Processors with more units for sums than for comparisons are the faster for it.
Value* VectorFunctions::expDown(Value* x) const {
    Value* orNaN = b_.CreateFAdd(unboundedExp(x), b_.CreateFSub(x, x));
    return b_.CreateSelect(b_.CreateFCmpOLT(x, number(x, kLeastExponent)), number(x, 0), orNaN);
}

// log x = e ln 2 + log(1 + f), x = 2^e (1 + f) with 1 + f from sqrt(1/2) to sqrt(2).
Value* VectorFunctions::log(Value* x) const {
    llvm::Type* ints = likeLanesOf(x, b_.getInt32Ty());
    const auto integer = [&](std::int64_t value) { return llvm::ConstantInt::getSigned(ints, value); };
    Value* small = b_.CreateFCmpOLT(x, number(x, std::numeric_limits<float>::min()));
    Value* normal = b_.CreateSelect(small, b_.CreateFMul(x, number(x, 8388608.0)), x);
    Value* bits = b_.CreateBitCast(normal, ints);
    Value* aboveRoot = b_.CreateSub(bits, integer(0x3f3504f3)); // of 1/2
    Value* e = b_.CreateSIToFP(b_.CreateAShr(aboveRoot, integer(23)), x->getType());
    e = b_.CreateFSub(e, b_.CreateSelect(small, number(x, 23), number(x, 0)));
    Value* mantissa = b_.CreateSub(bits, b_.CreateAnd(aboveRoot, integer(-0x800000)));
    Value* f = b_.CreateFSub(b_.CreateBitCast(mantissa, x->getType()), number(x, 1));
    Value* series = polynomial(f, {-0.07634495926035774, 0.12761580170057532, -0.1316018413088499, 0.14201757706099688, -0.1662335714268541,
                                   0.2000122688203193, -0.2500082103991387, 0.33333331707678293, -0.5});
    Value* rest = fma(b_.CreateFMul(f, f), series, b_.CreateFMul(e, number(x, -2.12194440e-4)));
    Value* value = fma(e, number(x, 0.693359375), b_.CreateFAdd(f, rest));
    const double infinity = std::numeric_limits<double>::infinity();
    value = b_.CreateSelect(b_.CreateFCmpOLT(x, number(x, infinity)), value, x); // infinity and NaN
    value = b_.CreateSelect(b_.CreateFCmpOEQ(x, number(x, 0)), number(x, -infinity), value);
    Value* undefined = b_.CreateFCmpOLT(x, number(x, 0));
    return b_.CreateSelect(undefined, number(x, std::numeric_limits<double>::quiet_NaN()), value);
}

// x P(x^2) / Q(x^2) up to `end`, from where on the function is 1.
Value* VectorFunctions::oddQuotient(Value* x, double end, llvm::ArrayRef<double> above, llvm::ArrayRef<double> below) const {
    Value* inside = clamp(x, end);
    Value* square = b_.CreateFMul(inside, inside);
    Value* quotient = b_.CreateFMul(b_.CreateFMul(inside, polynomial(square, above)), reciprocal(polynomial(square, below)));
    return clamp(quotient, 1);
}

Value* VectorFunctions::tanh(Value* x) const {
    return oddQuotient(x, 9.0, {1.3319053353846125e-08, 2.058346791582517e-05, 3.4940337550502655e-03, 1.3379717270937108e-01, 0.9999999790292585},
                       {7.762011854080122e-07, 3.2830915172258403e-04, 2.5871070156539187e-02, 4.6713032514420555e-01, 1.0});
}

Value* VectorFunctions::erf(Value* x) const {
    return oddQuotient(x, 3.92, {2.0419776705107374e-06, 2.848080401321177e-04, 3.779578538843336e-03, 5.279019021146478e-02, 1.9078309519993727e-01, 1.1283791453714203},
                       {3.800411800091803e-05, 1.1652055519671056e-03, 1.4997375259000965e-02, 1.1425721967275125e-01, 5.024098355852556e-01, 1.0});
}

Value* VectorFunctions::approximateReciprocal(Value* x) const {
    const auto* vector = llvm::cast<llvm::FixedVectorType>(x->getType());
    const unsigned lanes = vector->getNumElements();
    if (isa_ != Isa::avx512 || (lanes != 4 && lanes != 8 && lanes % 16 != 0))
        return nullptr;
    if (lanes > 16) { // in pieces, as the processor does everything else by itself
        Value* whole = llvm::PoisonValue::get(x->getType());
        for (unsigned first = 0; first < lanes; first += 16) {
            auto* type = llvm::FixedVectorType::get(vector->getElementType(), 16);
            Value* piece = approximateReciprocal(b_.CreateExtractVector(type, x, b_.getInt64(first)));
            whole = b_.CreateInsertVector(x->getType(), whole, piece, b_.getInt64(first));
        }
        return whole;
    }
    const auto id = lanes == 16 ? llvm::Intrinsic::x86_avx512_rcp14_ps_512
                    : lanes == 8 ? llvm::Intrinsic::x86_avx512_rcp14_ps_256 : llvm::Intrinsic::x86_avx512_rcp14_ps_128;
    Value* mask = lanes == 16 ? b_.getInt16(0xffff) : b_.getInt8(0xff);
    return b_.CreateIntrinsic(id, {}, {x, llvm::Constant::getNullValue(x->getType()), mask});
}

Value* VectorFunctions::reciprocal(Value* x) const {
    Value* finite = b_.CreateSelect(b_.CreateFCmpOLT(number(x, 3.4e38), x), number(x, 3.4e38), x);
    Value* guess = approximateReciprocal(finite);
    if (!guess)
        return b_.CreateFDiv(number(x, 1), x);
    Value* error = fma(b_.CreateFNeg(finite), guess, number(x, 1));
    return fma(guess, error, guess);
}

} // namespace tunesmith
