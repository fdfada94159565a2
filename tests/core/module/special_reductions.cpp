// SPDX-License-Identifier: GPL-3.0-or-later
#include "special_cases.h"

namespace tunesmith::testing {
namespace {

constexpr std::int64_t kOne = 1;

// Rows of every kind of remainder, columns, an inner axis, everything at once, and nothing.
SpecialCases reductions(DType type, bool squares) {
    SpecialCases cases;
    const auto add = [&](const Shape& shape, const Ints& axes, std::int64_t keep) {
        cases.push_back({{rowsWithSpecials(type, shape, squares), Tensor::ofInts(axes)}, {{"keepdims", keep}}, {1}, 1, 18});
    };
    for (const std::int64_t length : {1, 7, 16, 37})
        add({67, length}, {1}, length % 2);
    for (const Shape& shape : std::vector<Shape>{{9, 37}, {37, 5}, {5, 1}})
        add(shape, {0}, 0);
    add({3, 11, 19}, {1}, 1);
    add({3, 11, 19}, {0, 2}, 0);
    add({4, 5, 6, 7}, {2, 3}, 1);
    for (const Shape& shape : std::vector<Shape>{{0, 3}, {3, 0}, {0, 0}})
        for (const std::int64_t axis : {0, 1})
            add(shape, {axis}, 1);
    for (const std::int64_t axis : {0, 1, 3}) // rows that are found by dividing by an extent of 0
        add({4, 5, 0, 2}, {axis}, 1);
    add({2, 0, 3, 4}, {2}, 1);
    const Tensor values = specials(type);
    if (!squares) // rows of one value
        cases.push_back({{picked(values, {values.count(), 19}, [](std::int64_t i) { return i / 19; }), Tensor::ofInts({1})}, {}, {1}, 1, 18});
    return cases;
}

CaseMaker reductionsOf(bool squares) {
    return [squares](DType type) { return reductions(type, squares); };
}

// The same tensors along one axis that is an attribute, none of them empty along it.
SpecialCases alongAxis(DType type, bool squares, const Attributes& attributes, int outputs = 1) {
    SpecialCases cases;
    for (const SpecialCase& each : reductions(type, squares)) {
        const std::int64_t axis = each.inputs[1].asInt(0);
        if (each.inputs[0].shape()[static_cast<std::size_t>(axis)] == 0)
            continue;
        SpecialCase made{{each.inputs[0]}, attributes, {}, outputs, 18};
        made.attributes["axis"] = axis;
        cases.push_back(std::move(made));
    }
    return cases;
}

SpecialCases extremePlaces(DType type) {
    SpecialCases cases;
    for (const std::int64_t last : {0, 1})
        for (SpecialCase& each : alongAxis(type, false, {{"select_last_index", last}, {"keepdims", last}}))
            cases.push_back(std::move(each));
    return cases;
}

SpecialCases norms(DType type) {
    SpecialCases cases;
    for (const std::int64_t p : {1, 2})
        for (SpecialCase& each : alongAxis(type, true, {{"p", p}}))
            cases.push_back(std::move(each));
    cases.push_back({{Tensor::zeros(type, {3, 7})}});
    return cases;
}

Tensor counted(DType type, std::int64_t count) {
    Tensor tensor = Tensor::zeros(DType::f64, {count});
    for (std::int64_t i = 0; i < count; ++i)
        tensor.mutableData<double>()[static_cast<std::size_t>(i)] = 0.5 + static_cast<double>(i) / 4;
    return tensor.cast(type);
}

SpecialCases layerNorms(DType type) {
    SpecialCases cases;
    for (const std::int64_t length : {1, 7, 37})
        cases.push_back({{rowsWithSpecials(type, {67, length}, true), counted(type, length), counted(type, length)}, {}, {}, 3, 17});
    cases.push_back({{rowsWithSpecials(type, {0, 5}, true), counted(type, 5)}, {}, {}, 1, 17});
    cases.push_back({{Tensor::zeros(type, {3, 5}), counted(type, 5)}, {}, {}, 1, 17});
    return cases;
}

SpecialCases instanceNorms(DType type) {
    SpecialCases cases;
    for (const Shape& shape : std::vector<Shape>{{3, 5, 17}, {2, 5, 3, 7}, {1, 5, 1}, {0, 5, 3}, {7, 24, 5, 5}})
        cases.push_back({{rowsWithSpecials(type, shape, true), counted(type, shape[1]), counted(type, shape[1])}});
    return cases;
}

SpecialCases groupNorms(DType type) {
    SpecialCases cases;
    for (const Shape& shape : std::vector<Shape>{{3, 6, 17}, {7, 4, 3, 7}, {0, 6, 3}})
        cases.push_back({{rowsWithSpecials(type, shape, true), counted(type, 2), counted(type, 2)}, {{"num_groups", std::int64_t{2}}}, {}, 1, 18});
    return cases;
}

SpecialCases images(DType type, bool squares, const Attributes& attributes) {
    SpecialCases cases;
    for (const Shape& shape : std::vector<Shape>{{1, 3, 9, 11}, {2, 24, 7, 7}, {5, 5, 6, 37}, {0, 3, 9, 9}, {1, 1, 5, 5}})
        cases.push_back({{rowsWithSpecials(type, shape, squares)}, attributes});
    return cases;
}

CaseMaker windows(bool squares, const std::vector<Attributes>& all) {
    return [squares, all](DType type) {
        SpecialCases cases;
        for (const Attributes& attributes : all)
            for (SpecialCase& each : images(type, squares, attributes))
                cases.push_back(std::move(each));
        return cases;
    };
}

SpecialCases losses(DType type) {
    SpecialCases cases;
    Rng rng(3);
    for (const char* reduction : {"none", "sum", "mean"})
        cases.push_back({{rowsWithSpecials(type, {9, 37}, true), moderate(rng, DType::u8, {9}).cast(DType::i64)}, {{"reduction", std::string(reduction)}}, {}, 1, 13});
    return cases;
}

} // namespace

void addReductionCases(std::map<std::string, CaseMaker>& table) {
    for (const char* op : {"ReduceMax", "ReduceMin", "ReduceL1", "ReduceLogSumExp"})
        table[op] = reductionsOf(false);
    // What is summed up, squared or multiplied in single precision overflows before double does.
    for (const char* op : {"ReduceSum", "ReduceMean", "ReduceProd", "ReduceL2", "ReduceSumSquare", "ReduceLogSum"})
        table[op] = reductionsOf(true);
    table["ArgMax"] = table["ArgMin"] = extremePlaces;
    for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"})
        table[op] = [](DType type) { return alongAxis(type, false, {}); };
    table["LpNormalization"] = norms;
    table["LayerNormalization"] = layerNorms;
    table["InstanceNormalization"] = instanceNorms;
    table["GroupNormalization"] = groupNorms;
    table["MeanVarianceNormalization"] = windows(true, {{}});
    table["LRN"] = windows(true, {{{"size", std::int64_t{3}}}});
    const Attributes window{{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}, wide{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
    table["MaxPool"] = windows(false, {window, wide});
    table["AveragePool"] = windows(true, {window, wide});
    Attributes counted = window;
    counted["p"] = kOne;
    table["LpPool"] = windows(true, {window, counted});
    table["GlobalMaxPool"] = windows(false, {{}});
    table["GlobalAveragePool"] = windows(true, {{}});
    table["GlobalLpPool"] = windows(true, {{}});
    table["NegativeLogLikelihoodLoss"] = table["SoftmaxCrossEntropyLoss"] = losses;
}

} // namespace tunesmith::testing
