// SPDX-License-Identifier: GPL-3.0-or-later
#include "special_cases.h"

namespace tunesmith::testing {
namespace {

// Every pair of special values: under broadcasting, side by side, and with one side known to the compiler.
SpecialCases pairs(DType a, DType b, const Attributes& attributes = {}) {
    const std::int64_t m = specials(a).count(), n = specials(b).count();
    const Tensor left = picked(specials(a), {m * n}, [&](std::int64_t i) { return i / n; });
    const Tensor right = picked(specials(b), {m * n}, [&](std::int64_t i) { return i % n; });
    SpecialCases cases{{{specials(a).reshaped({m, 1}), specials(b)}, attributes},
                       {{left, right}, attributes},
                       {{right.cast(a), left.cast(b)}, attributes},
                       {{everySpecial(a, {0}), everySpecial(b, {0})}, attributes},
                       {{everySpecial(a, {3, 1}), everySpecial(b, {1, 0})}, attributes}};
    for (std::int64_t k = 0; k < n; k += n > 16 ? 5 : 2)
        cases.push_back({{specials(a), picked(specials(b), {}, [&](std::int64_t) { return k; })}, attributes, {1}});
    return cases;
}

SpecialCases sameTypePairs(DType type) { return pairs(type, type); }

SpecialCases powers(DType type) {
    SpecialCases cases;
    for (const DType exponent : {type, DType::i32, DType::i64, DType::u8, DType::f32})
        for (SpecialCase& each : pairs(type, exponent))
            cases.push_back(std::move(each));
    return cases;
}

SpecialCases remainders(DType type) {
    SpecialCases cases = pairs(type, type, {{"fmod", std::int64_t{1}}});
    if (!isFloat(type))
        for (SpecialCase& each : pairs(type, type))
            cases.push_back(std::move(each));
    return cases;
}

SpecialCases shifts(DType type) {
    SpecialCases cases;
    for (const char* direction : {"LEFT", "RIGHT"})
        for (SpecialCase& each : pairs(type, type, {{"direction", std::string(direction)}}))
            cases.push_back(std::move(each));
    return cases;
}

SpecialCases clips(DType type) {
    const Tensor low = tensorOf(type, {}, {1}), high = tensorOf(type, {}, {2.5}), none;
    SpecialCases cases{{{everySpecial(type, {53}), low, high}}, {{everySpecial(type, {53}), low, high}, {}, {1, 2}},
                       {{everySpecial(type, {53}), high, low}, {}, {1, 2}}, {{everySpecial(type, {7}), none, high}}, {{everySpecial(type, {0}), low}}};
    if (isFloat(type))
        for (const double limit : {kNan, kInfinity, -kInfinity}) {
            const Tensor odd = tensorOf(type, {}, {limit});
            for (const std::vector<std::size_t>& constants : {std::vector<std::size_t>{}, {1, 2}})
                cases.insert(cases.end(), {{{everySpecial(type, {53}), odd, high}, {}, constants}, {{everySpecial(type, {53}), low, odd}, {}, constants}});
        }
    for (const float limit : {1.5F, -1e30F})
        cases.push_back({{everySpecial(type, {53})}, {{"min", limit}, {"max", 3e30F}}, {}, 1, 10});
    return cases;
}

SpecialCases choices(DType) {
    SpecialCases cases;
    for (const DType type : {DType::f32, DType::f16, DType::i8, DType::i64, DType::u64, DType::boolean})
        cases.insert(cases.end(), {{{everySpecial(DType::boolean, {53}), everySpecial(type, {53}), everySpecial(type, {53}, 3)}},
                                   {{everySpecial(DType::boolean, {3, 1}), everySpecial(type, {5}), everySpecial(type, {2, 1, 1})}},
                                   {{everySpecial(DType::boolean, {0}), everySpecial(type, {1}), everySpecial(type, {0})}}});
    return cases;
}

SpecialCases casts(DType from) {
    SpecialCases cases;
    for (const DType to : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16,
                           DType::u32, DType::u64, DType::boolean}) {
        const Attributes attributes{{"to", static_cast<std::int64_t>(to)}};
        cases.insert(cases.end(), {{{everySpecial(from, {53})}, attributes}, {{everySpecial(from, {0})}, attributes}});
        if (!isFloat(from))
            continue;
        std::vector<double> outside{300, -1, -1.5, 40000, 70000, 2147483647, 2147483648.0, -2147483649.0, 3e9, -3e9, 5e9, 9.2e18, 9.21e18, 9.3e18, -9.21e18, 1.5e19, 1e20};
        const auto count = static_cast<std::int64_t>(outside.size());
        cases.push_back({{tensorOf(from, {count}, outside)}, attributes});
    }
    return cases;
}

SpecialCases castsLike(DType from) {
    SpecialCases cases;
    for (const DType to : {DType::f32, DType::i8, DType::u64, DType::boolean})
        cases.push_back({{everySpecial(from, {53}), everySpecial(to, {1})}});
    return cases;
}

SpecialCases unaryWith(DType type, const std::vector<Attributes>& all) {
    SpecialCases cases;
    for (const Attributes& attributes : all)
        for (SpecialCase each : elementwiseCases(type, 1)) {
            each.attributes = attributes;
            cases.push_back(std::move(each));
        }
    return cases;
}

SpecialCases infinities(DType type) {
    return unaryWith(type, {{}, {{"detect_negative", std::int64_t{0}}}, {{"detect_positive", std::int64_t{0}}}});
}

SpecialCases gelus(DType type) { return unaryWith(type, {{}, {{"approximate", std::string("tanh")}}}); }

SpecialCases slopes(DType type) {
    return {{{everySpecial(type, {53}), everySpecial(type, {53}, 5)}}, {{everySpecial(type, {7, 5}), everySpecial(type, {5}, 2)}},
            {{everySpecial(type, {0}), everySpecial(type, {1})}}};
}

SpecialCases quantisations(DType type) {
    SpecialCases cases;
    const Tensor half = tensorOf(isFloat(type) ? type : DType::f32, {}, {0.5});
    for (const DType to : {DType::u8, DType::i8, DType::u16, DType::i16})
        for (const double zero : {0.0, 3.0})
            cases.insert(cases.end(), {{{everySpecial(type, {53}), half, tensorOf(to, {}, {zero})}, {}, {}, 1, 21},
                                       {{everySpecial(type, {53}), half, tensorOf(to, {}, {zero})}, {}, {1, 2}, 1, 21},
                                       {{everySpecial(type, {0}), half, tensorOf(to, {}, {zero})}, {}, {}, 1, 21}});
    cases.push_back({{everySpecial(type, {3, 17}), half}});
    std::vector<double> many; // quotients between numbers of 16 bits
    for (int i = 0; i < 400; ++i)
        many.push_back(1000 + 17.5 * i);
    const Tensor ramp = tensorOf(isFloat(type) ? type : DType::f32, {400}, many), step = tensorOf(ramp.type(), {}, {1.0009765625});
    for (const std::int64_t opset : {21, 23})
        cases.push_back({{ramp, step}, {{"output_dtype", std::int64_t{4}}}, {}, 1, opset});
    cases.push_back({{ramp, step}, {{"output_dtype", std::int64_t{4}}, {"precision", std::int64_t{10}}}, {1}, 1, 23});
    return cases;
}

SpecialCases dequantisations(DType type) {
    SpecialCases cases;
    for (const DType to : {DType::f32, DType::f16})
        for (const double scale : {0.5, 1e4, kNan, kInfinity}) {
            const Tensor zero = type == DType::i32 ? Tensor() : tensorOf(type, {}, {3});
            cases.insert(cases.end(), {{{everySpecial(type, {53}), tensorOf(to, {}, {scale}), zero}, {}, {}, 1, 21}, {{everySpecial(type, {0}), tensorOf(to, {}, {scale})}, {}, {}, 1, 21}});
        }
    return cases;
}

SpecialCases dynamicQuantisations(DType type) {
    SpecialCases cases;
    for (const std::vector<double>& values : std::vector<std::vector<double>>{{0, 0, 0}, {1, 2, 3, 250}, {-5, -1, -3}, {1, kNan, -2}, {-0.0}, {1e-40, 2e-40}, {5, 5, 5, 5, 5}}) {
        const auto count = static_cast<std::int64_t>(values.size());
        cases.push_back({{tensorOf(type, {count}, values)}, {}, {}, 3});
    }
    return cases;
}

// Beside moderate numbers: a gate that single precision takes for 0 makes NaN of infinity.
SpecialCases gated(DType type) {
    Rng rng(5);
    const Tensor moderateOnes = moderate(rng, type, {53});
    return {{{everySpecial(type, {53}), moderateOnes}}, {{moderateOnes, everySpecial(type, {53})}}, {{everySpecial(type, {0}), everySpecial(type, {0})}}};
}

SpecialCases batchNorms(DType type) {
    const Tensor ones = tensorOf(type, {3}, {1, 2, -0.5}), means = tensorOf(type, {3}, {0, 1, -1}), zeros = tensorOf(type, {3}, {0, 1, 4});
    return {{{everySpecial(type, {2, 3, 17}), ones, means, means, zeros}}, {{everySpecial(type, {2, 3, 17}), ones, means, means, zeros}, {}, {1, 2, 3, 4}},
            {{everySpecial(type, {0, 3, 5}), ones, means, means, zeros}}};
}

} // namespace

SpecialCases elementwiseCases(DType type, std::size_t inputs) {
    SpecialCases cases;
    if (inputs == 2)
        return sameTypePairs(type);
    for (const Shape& shape : std::vector<Shape>{{53}, {0}, {1}, {}, {3, 0, 5}, {3, 1, 7}}) {
        SpecialCase each;
        for (std::size_t i = 0; i < inputs; ++i)
            each.inputs.push_back(everySpecial(type, shape, static_cast<std::int64_t>(i) * 5));
        cases.push_back(std::move(each));
    }
    return cases;
}

void addElementwiseCases(std::map<std::string, CaseMaker>& table) {
    for (const char* op : {"Add", "Sub", "Mul", "Div", "Min", "Max", "Sum", "Mean", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "BitwiseAnd",
                           "BitwiseOr", "BitwiseXor", "And", "Or", "Xor"})
        table[op] = sameTypePairs;
    table["Pow"] = powers;
    table["Mod"] = remainders;
    table["BitShift"] = shifts;
    table["Clip"] = clips;
    table["Where"] = choices;
    table["Cast"] = casts;
    table["CastLike"] = castsLike;
    table["IsInf"] = infinities;
    table["Gelu"] = gelus;
    table["PRelu"] = slopes;
    table["QuantizeLinear"] = quantisations;
    table["DequantizeLinear"] = dequantisations;
    table["DynamicQuantizeLinear"] = dynamicQuantisations;
    table["BatchNormalization"] = batchNorms;
    table["SwiGLU"] = gated;
    for (const char* op : {"ImageScaler", "Affine", "ParametricSoftplus", "ScaledTanh"})
        table[op] = [](DType type) { return SpecialCases{{{everySpecial(type, {1, 3, 5, 7})}, {{"alpha", 0.5F}, {"beta", 2.0F}, {"scale", 2.0F}, {"bias", std::vector<float>{0, 1, -1}}}, {}, 1, 1}}; };
}

} // namespace tunesmith::testing
