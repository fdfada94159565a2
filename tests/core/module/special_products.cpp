// SPDX-License-Identifier: GPL-3.0-or-later
#include "special_cases.h"

namespace tunesmith::testing {
namespace {

// Weights of moderate size, none of them zero: infinity times zero depends on what is left out.
Tensor weights(DType type, const Shape& shape) {
    Rng rng(17);
    Tensor tensor = Tensor::zeros(DType::f64, shape);
    for (double& value : tensor.mutableData<double>())
        value = static_cast<double>(1 + rng.below(3)) * (isSigned(type) && rng.chance(0.5) ? -1 : 1) / (isFloat(type) ? 2 : 1);
    return tensor.cast(type);
}

Tensor operandOf(DType type, const Shape& shape) { return rowsWithSpecials(type, shape, true); }

SpecialCases products(DType type) {
    SpecialCases cases;
    const auto add = [&](const Shape& a, const Shape& b) {
        cases.push_back({{operandOf(type, a), weights(type, b)}});
        cases.push_back({{operandOf(type, a), weights(type, b)}, {}, {1}});
        cases.push_back({{weights(type, a), operandOf(type, b)}});
    };
    add({7, 19}, {19, 37});
    add({1, 5}, {5, 3});
    add({2, 3, 8, 12}, {12, 16});
    add({3, 1, 7}, {3, 7, 9});
    add({23}, {23, 17});
    add({0, 5}, {5, 3});
    add({3, 0}, {0, 4});
    add({3, 5}, {5, 0});
    return cases;
}

SpecialCases gemms(DType type) {
    SpecialCases cases;
    for (const std::int64_t transposed : {0, 1})
        cases.push_back({{operandOf(type, {7, 19}), weights(type, transposed ? Shape{33, 19} : Shape{19, 33}), operandOf(type, {33})}, {{"transB", transposed}}});
    cases.push_back({{operandOf(type, {3, 0}), weights(type, {0, 9}), operandOf(type, {9})}});
    cases.push_back({{operandOf(type, {0, 4}), weights(type, {4, 9}), operandOf(type, {9})}});
    return cases;
}

SpecialCases convolutions(DType type) {
    SpecialCases cases;
    const Attributes padded{{"pads", Ints{1, 1, 1, 1}}};
    const auto add = [&](const Shape& x, const Shape& w, Attributes attributes, std::int64_t group = 1) {
        attributes["group"] = group;
        cases.push_back({{operandOf(type, x), weights(type, w), weights(type, {w[0]})}, attributes, {1, 2}});
    };
    add({1, 3, 9, 11}, {8, 3, 3, 3}, padded);
    add({2, 5, 6, 7}, {9, 5, 1, 1}, {});
    add({1, 24, 5, 7}, {24, 1, 3, 3}, padded, 24);
    add({1, 6, 5, 5}, {6, 3, 3, 3}, padded, 2);
    add({0, 3, 5, 5}, {4, 3, 3, 3}, padded);
    add({1, 3, 21}, {5, 3, 4}, {});
    cases.push_back({{operandOf(type, {1, 3, 5, 5}), weights(type, {4, 3, 3, 3})}});
    return cases;
}

SpecialCases transposedConvolutions(DType type) {
    const Attributes wide{{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}};
    return {{{operandOf(type, {1, 4, 5, 7}), weights(type, {4, 6, 3, 3})}, wide, {1}}, {{operandOf(type, {1, 16, 5, 5}), weights(type, {16, 1, 2, 2})}, {{"strides", Ints{2, 2}}}, {1}},
            {{operandOf(type, {0, 4, 5, 5}), weights(type, {4, 6, 3, 3})}, wide, {1}}};
}

SpecialCases sums(DType type) {
    SpecialCases cases;
    const auto add = [&](const char* equation, const Shape& a, const Shape& b) {
        cases.push_back({{operandOf(type, a), weights(type, b)}, {{"equation", std::string(equation)}}});
    };
    add("ij,jk->ik", {5, 7}, {7, 9});
    add("bij,bkj->bik", {2, 5, 7}, {2, 9, 7});
    add("ij,ij->i", {5, 19}, {5, 19});
    add("ij,jk->ik", {5, 0}, {0, 3});
    return cases;
}

// The whole range of both types.
SpecialCases integerProducts(DType type) {
    SpecialCases cases;
    for (const DType other : {DType::u8, DType::i8})
        for (const Shape& shape : std::vector<Shape>{{5, 13}, {3, 0}, {0, 13}, {2, 64}})
            cases.insert(cases.end(), {{{everySpecial(type, shape), everySpecial(other, {shape[1], 9}, 3), tensorOf(type, {}, {2}), tensorOf(other, {}, {1})}},
                                       {{everySpecial(type, shape), everySpecial(other, {shape[1], 9}, 3)}, {}, {1}}});
    return cases;
}

SpecialCases integerConvolutions(DType type) {
    SpecialCases cases;
    for (const DType other : {DType::u8, DType::i8})
        for (const std::int64_t batch : {0, 1})
            cases.push_back({{everySpecial(type, {batch, 3, 7, 9}), everySpecial(other, {8, 3, 3, 3}, 3), tensorOf(type, {}, {2}), tensorOf(other, {}, {1})},
                             {{"pads", Ints{1, 1, 1, 1}}}, {1, 2, 3}});
    return cases;
}

Tensor scale(double value) { return tensorOf(DType::f32, {}, {value}); }
Tensor zero(DType type, double value) { return tensorOf(type, {}, {value}); }

SpecialCases quantisedProducts(DType type) {
    SpecialCases cases;
    for (const double most : {0.01, 1e4})
        for (const DType to : {DType::u8, DType::i8})
            cases.push_back({{everySpecial(type, {5, 13}), scale(0.5), zero(type, 2), everySpecial(type, {13, 9}, 3), scale(0.25), zero(type, 1), scale(most), zero(to, 3)}, {}, {1, 2, 4, 5, 6, 7}});
    return cases;
}

SpecialCases quantisedConvolutions(DType type) {
    SpecialCases cases;
    for (const double most : {0.01, 100.0})
        cases.push_back({{everySpecial(type, {1, 3, 7, 9}), scale(0.5), zero(type, 2), everySpecial(type, {8, 3, 3, 3}, 3), scale(0.25), zero(type, 1), scale(most), zero(type, 3)},
                         {{"pads", Ints{1, 1, 1, 1}}}, {1, 2, 3, 4, 5, 6, 7}});
    return cases;
}

} // namespace

void addProductCases(std::map<std::string, CaseMaker>& table) {
    table["MatMul"] = products;
    table["Gemm"] = gemms;
    table["Conv"] = convolutions;
    table["ConvTranspose"] = transposedConvolutions;
    table["Einsum"] = sums;
    table["MatMulInteger"] = integerProducts;
    table["ConvInteger"] = integerConvolutions;
    table["QLinearMatMul"] = quantisedProducts;
    table["QLinearConv"] = quantisedConvolutions;
}

} // namespace tunesmith::testing
