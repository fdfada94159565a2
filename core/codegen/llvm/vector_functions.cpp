// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/codegen/llvm/vector_functions.h"

#include <limits>
#include <llvm/IR/IntrinsicsX86.h>

#include "core/codegen/llvm/integer_math.h"

namespace tunesmith {

using llvm::Value;

constexpr double kLeastExponent = -87.3365; // below it exp is no normal number
constexpr double kRounder = 12582912.0;     // 1.5 * 2^23: a sum with it is rounded to an integer, which is in the lowest bits

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

Value* VectorFunctions::withExponent(Value* power, Value* shifted) const {
    llvm::Type* ints = likeLanesOf(power, b_.getInt32Ty());
    Value* exponent = b_.CreateShl(b_.CreateBitCast(shifted, ints), llvm::ConstantInt::get(ints, 23));
    return b_.CreateBitCast(b_.CreateAdd(b_.CreateBitCast(power, ints), exponent), power->getType());
}

// e^x = 2^n e^r with n = round(x / ln 2) and r = x - n ln 2, in two parts. For n = 128 the exponent is right because r is negative then.
Value* VectorFunctions::unboundedExp(Value* x) const {
    Value* shifted = fma(x, number(x, 1.44269504088896341), number(x, kRounder));
    Value* n = b_.CreateFSub(shifted, number(x, kRounder));
    Value* r = fma(n, number(x, -0.693145751953125), x);
    r = fma(n, number(x, -1.42860682030941723e-6), r);
    return withExponent(polynomial(r, {0.008312501628624593, 0.04189033265484604, 0.16667115389061618, 0.4999923030110386, 1.0, 1.0}), shifted);
}

Value* VectorFunctions::exp(Value* x) const {
    Value* atLeast = b_.CreateSelect(b_.CreateFCmpOLT(x, number(x, kLeastExponent)), number(x, 0), unboundedExp(x));
    const double infinity = std::numeric_limits<double>::infinity();
    return b_.CreateSelect(b_.CreateFCmpUGT(x, number(x, 88.72283172607421875)), b_.CreateFAdd(x, number(x, infinity)), atLeast);
}

// 2^n 2^f with n = round(t) and f = t - n, for t = x / ln 2 rounded once.
Value* VectorFunctions::expDown(Value* x) const {
    Value* t = b_.CreateFMul(x, number(x, 1.44269504088896341));
    const bool scales = hasAvx512Form(x);
    Value* shifted = scales ? nullptr : b_.CreateFAdd(t, number(x, kRounder));
    Value* n = scales ? b_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, t) : b_.CreateFSub(shifted, number(x, kRounder));
    Value* power = polynomial(b_.CreateFSub(t, n), {0.0013264745866710518, 0.00967151252755973, 0.055507336919566184, 0.2402224208591791,
                                                    0.6931469776109832, 1.0});
    if (scales)
        return scaledByPowerOfTwo(power, n);
    // x - x is 0, or NaN where x is. Processors with more units for sums than for comparisons are the faster for it.
    Value* orNaN = b_.CreateFAdd(withExponent(power, shifted), b_.CreateFSub(x, x));
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
    return oddQuotient(x, 9.5, {1.3319053353846125e-08, 2.058346791582517e-05, 3.4940337550502655e-03, 1.3379717270937108e-01, 0.9999999790292585},
                       {7.762011854080122e-07, 3.2830915172258403e-04, 2.5871070156539187e-02, 4.6713032514420555e-01, 1.0});
}

Value* VectorFunctions::erf(Value* x) const {
    return oddQuotient(x, 3.92, {2.0419776705107374e-06, 2.848080401321177e-04, 3.779578538843336e-03, 5.279019021146478e-02, 1.9078309519993727e-01, 1.1283791453714203},
                       {3.800411800091803e-05, 1.1652055519671056e-03, 1.4997375259000965e-02, 1.1425721967275125e-01, 5.024098355852556e-01, 1.0});
}

bool VectorFunctions::hasAvx512Form(Value* x) const {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
    if (!isWide(isa_) || !vector)
        return false;
    const unsigned lanes = vector->getNumElements();
    return lanes == 4 || lanes == 8 || lanes % 16 == 0;
}

Value* VectorFunctions::byRegisters(llvm::ArrayRef<Value*> x, const std::function<Value*(llvm::ArrayRef<Value*>)>& f) const {
    const auto* vector = llvm::cast<llvm::FixedVectorType>(x[0]->getType());
    const unsigned lanes = vector->getNumElements();
    if (lanes <= 16)
        return f(x);
    auto* type = llvm::FixedVectorType::get(vector->getElementType(), 16);
    Value* whole = llvm::PoisonValue::get(x[0]->getType());
    for (unsigned first = 0; first < lanes; first += 16) {
        std::vector<Value*> pieces;
        for (Value* argument : x)
            pieces.push_back(b_.CreateExtractVector(type, argument, b_.getInt64(first)));
        whole = b_.CreateInsertVector(x[0]->getType(), whole, f(pieces), b_.getInt64(first));
    }
    return whole;
}

Value* VectorFunctions::approximateReciprocal(Value* x) const {
    return byRegisters({x}, [this](llvm::ArrayRef<Value*> piece) -> Value* {
        const unsigned lanes = llvm::cast<llvm::FixedVectorType>(piece[0]->getType())->getNumElements();
        const auto id = lanes == 16 ? llvm::Intrinsic::x86_avx512_rcp14_ps_512
                        : lanes == 8 ? llvm::Intrinsic::x86_avx512_rcp14_ps_256 : llvm::Intrinsic::x86_avx512_rcp14_ps_128;
        return b_.CreateIntrinsic(id, {}, {piece[0], llvm::Constant::getNullValue(piece[0]->getType()), everyLane(lanes)});
    });
}

// Numbers too small become denormal or 0; NaN stays but where the power is 0, as for x = -infinity.
Value* VectorFunctions::scaledByPowerOfTwo(Value* x, Value* exponent) const {
    return byRegisters({x, exponent}, [this](llvm::ArrayRef<Value*> piece) -> Value* {
        const unsigned lanes = llvm::cast<llvm::FixedVectorType>(piece[0]->getType())->getNumElements();
        const auto id = lanes == 16 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                        : lanes == 8 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_256 : llvm::Intrinsic::x86_avx512_mask_scalef_ps_128;
        std::vector<Value*> arguments{piece[0], piece[1], llvm::Constant::getNullValue(piece[0]->getType()), everyLane(lanes)};
        if (lanes == 16)
            arguments.push_back(b_.getInt32(4)); // rounded as everything else is
        return b_.CreateIntrinsic(id, {}, arguments);
    });
}

Value* VectorFunctions::reciprocal(Value* x) const {
    if (!hasAvx512Form(x))
        return b_.CreateFDiv(number(x, 1), x);
    Value* finite = b_.CreateSelect(b_.CreateFCmpOLT(number(x, 3.4e38), x), number(x, 3.4e38), x);
    Value* guess = approximateReciprocal(x); // 0 of infinity, and stays so
    Value* error = fma(b_.CreateFNeg(finite), guess, number(x, 1));
    return fma(guess, error, guess);
}

} // namespace tunesmith
