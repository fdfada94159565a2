// SPDX-License-Identifier: GPL-3.0-or-later
#include "special_cases.h"

namespace tunesmith::testing {
namespace {

Tensor scale(double value) { return tensorOf(DType::f32, {}, {value}); }
Tensor zero(DType type, double value) { return tensorOf(type, {}, {value}); }

SpecialCases quantisedSums(DType type) {
    SpecialCases cases;
    for (const double most : {0.01, 0.75, 100.0})
        for (const Shape& shape : std::vector<Shape>{{53}, {3, 0}, {7, 5}}) {
            const Tensor left = everySpecial(type, shape), right = everySpecial(type, {shape.back()}, 4);
            const std::vector<Tensor> inputs{left, scale(0.5), zero(type, 2), right, scale(0.25), zero(type, 1), scale(most), zero(type, 3)};
            cases.insert(cases.end(), {{inputs}, {inputs, {}, {1, 2, 4, 5, 6, 7}}});
        }
    return cases;
}

SpecialCases quantisedMeans(DType type) {
    SpecialCases cases;
    for (const std::int64_t channelsLast : {0, 1})
        for (const Shape& shape : std::vector<Shape>{{1, 5, 7, 9}, {0, 5, 7, 9}})
            cases.push_back({{everySpecial(type, shape), scale(0.5), zero(type, 2), scale(0.4), zero(type, 3)},
                             {{"kernel_shape", Ints{3, 3}}, {"channels_last", channelsLast}}, {1, 2, 3, 4}});
    return cases;
}

Tensor scalesWithSpecials(DType type, std::int64_t count) { return rowsWithSpecials(type, {count, 1}, true).reshaped({count}); }

SpecialCases blockedProducts(DType type) {
    const Attributes attributes{{"K", std::int64_t{48}}, {"N", std::int64_t{9}}, {"bits", std::int64_t{4}}, {"block_size", std::int64_t{16}}};
    SpecialCases cases;
    for (const Shape& shape : std::vector<Shape>{{7, 48}, {1, 48}, {0, 48}})
        for (const std::vector<std::size_t>& constants : {std::vector<std::size_t>{}, {1, 2}})
            cases.push_back({{rowsWithSpecials(type, shape, true), everySpecial(DType::u8, {9, 3, 8}), scalesWithSpecials(type, 27)}, attributes, constants});
    return cases;
}

SpecialCases codedProducts(DType type) {
    SpecialCases cases;
    for (const std::int64_t kind : {0, 1})
        cases.push_back({{rowsWithSpecials(type, {7, 32}, true), everySpecial(DType::u8, {144}), scalesWithSpecials(type, 18)},
                         {{"K", std::int64_t{32}}, {"N", std::int64_t{9}}, {"block_size", std::int64_t{16}}, {"quant_type", kind}}, {1}});
    return cases;
}

SpecialCases blockedRows(DType type) {
    SpecialCases cases;
    if (type == DType::u8)
        for (const Ints& rows : std::vector<Ints>{{4, 0, -1}, {}})
            cases.push_back({{everySpecial(type, {5, 16}), Tensor::ofInts(rows), rowsWithSpecials(DType::f32, {5, 2}, true)}, {{"block_size", std::int64_t{16}}}, {0}});
    return cases;
}

SpecialCases distances(DType type) {
    SpecialCases cases;
    for (const char* metric : {"euclidean", "sqeuclidean"})
        for (const std::int64_t rows : {9, 0})
            cases.push_back({{rowsWithSpecials(type, {rows, 5}, true), rowsWithSpecials(type, {7, 5}, true)}, {{"metric", std::string(metric)}}});
    return cases;
}

} // namespace

void addContribCases(std::map<std::string, CaseMaker>& table) {
    table["QLinearAdd"] = table["QLinearMul"] = quantisedSums;
    table["QLinearAveragePool"] = table["QLinearGlobalAveragePool"] = quantisedMeans;
    table["CDist"] = distances;
    table["MatMulNBits"] = blockedProducts;
    table["MatMulBnb4"] = codedProducts;
    table["GatherBlockQuantized"] = blockedRows;
}

} // namespace tunesmith::testing
