// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/substitution/candidates.h"
#include "core/substitution/derivation.h"
#include "tried_rule.h"

using namespace tunesmith;
using namespace tunesmith::rewrite;

namespace {

struct Results {
    Results(ValueId only) : all{only} {}
    Results(std::vector<ValueId> several) : all(std::move(several)) {}
    std::vector<ValueId> all;
};
using Make = std::function<Results(Model&)>;

// Of which equation it is a case, how it is known here, a model in which it occurs, and one that looks like it and must stay as it is.
struct Case {
    int number;
    const char* name;
    std::string rule; // of terms: read from left to right, or from right to left if it begins with <; or the name of one written by hand
    Make where, whereNot;
    const char* refusal; // what is said there: of a written rule that is not found, the condition of its card that does not hold
};

ValueId op(Model& m, const char* name, const std::vector<ValueId>& inputs) { return m.add(name, inputs); }
ValueId dot(Model& m, ValueId a, ValueId b) { return m.add("MatMul", {a, b}); }
ValueId concat(Model& m, std::int64_t axis, const std::vector<ValueId>& inputs) { return m.add("Concat", inputs, {{"axis", axis}}); }
ValueId turned(Model& m, ValueId x, const Ints& perm = {1, 0}) { return m.add("Transpose", {x}, {{"perm", perm}}); }
ValueId second(ValueId first) { return ValueId(static_cast<std::int64_t>(first.index()) + 1); }
ValueId conv(Model& m, ValueId x, ValueId w, std::int64_t group = 1, std::int64_t pad = 1, std::int64_t stride = 1) {
    return m.add("Conv", {x, w}, {{"group", group}, {"pads", Ints{pad, pad, pad, pad}}, {"strides", Ints{stride, stride}}});
}
ValueId convOf(Model& m, const Shape& data, const Shape& weights, std::int64_t group = 1) {
    const ValueId x = m.input(data);
    return conv(m, x, m.weight(weights), group);
}
ValueId mean(Model& m, ValueId x, std::int64_t counts) {
    return m.add("AveragePool", {x}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"count_include_pad", counts}});
}
ValueId norm(Model& m, ValueId x, std::int64_t training) {
    std::vector<ValueId> inputs{x, m.weight({4}), m.weight({4}), m.weight({4}), m.weight({4}, 0.0005, 0.002)};
    return m.add("BatchNormalization", inputs, {{"epsilon", 1e-3F}, {"training_mode", training}}, training ? 3 : 1);
}
ValueId identityKernel(Model& m, std::int64_t channels, std::int64_t kernel) {
    Tensor tensor = Tensor::zeros(DType::f32, {channels, channels, kernel, kernel});
    for (std::int64_t c = 0; c < channels; ++c)
        tensor.mutableData<float>()[static_cast<std::size_t>(((c * channels + c) * kernel + kernel / 2) * kernel + kernel / 2)] = 1;
    return m.graph.addConstant("", tensor);
}
ValueId filled(Model& m, const Shape& shape, float value, bool diagonal = false) {
    Tensor tensor = Tensor::zeros(DType::f32, shape);
    for (std::size_t i = 0; i < tensor.mutableData<float>().size(); ++i)
        tensor.mutableData<float>()[i] = diagonal && i % static_cast<std::size_t>(shape[1] + 1) != 0 ? 0 : value;
    return m.graph.addConstant("", tensor);
}

const std::string kFour = " where v1: 4x4, v2: 4x4, v3: 4x4, v4: 4x4";
const std::string kMatrices = " where v1: 4x4, v2: 4x4, v3: 4x4";
const std::string kWeights = " where v1: 2x4x5x5, v2: 4x4x3x3, v3: 4x4x3x3";
const Shape kImage{2, 4, 6, 5}, kKernel{4, 4, 3, 3};

void addMatrixEquations(std::vector<Case>& all) {
    all.push_back({1, "(AB)C = A(BC)", "matmul(matmul(v1, v2), v3) = matmul(v1, matmul(v2, v3))" + kMatrices,
                   [](Model& m) { return dot(m, dot(m, m.input({2, 3, 4}), m.weight({4, 5})), m.weight({5, 6})); },
                   [](Model& m) { return dot(m, op(m, "Mul", {m.input({4, 4}), m.weight({4, 4})}), m.weight({4, 4})); }, "not found"});
    all.push_back({2, "A(B + C) = AB + AC", "matmul(v1, add(v2, v3)) = add(matmul(v1, v2), matmul(v1, v3))" + kMatrices,
                   [](Model& m) { return dot(m, m.input({3, 4}), op(m, "Add", {m.input({4, 5}), m.weight({4, 5})})); },
                   [](Model& m) { return dot(m, m.input({3, 4}), op(m, "Add", {m.input({4, 5}), m.weight({1, 5})})); },
                   "the shapes do not allow it"});
    all.push_back({2, "(A + B)C = AC + BC", "matmul(add(v1, v2), v3) = add(matmul(v1, v3), matmul(v2, v3))" + kMatrices,
                   [](Model& m) { return dot(m, op(m, "Add", {m.input({3, 4}), m.weight({1, 4})}), m.weight({4, 5})); },
                   [](Model& m) { return dot(m, op(m, "Add", {m.input({3, 4}), m.weight({3, 1})}), m.weight({4, 5})); },
                   "the shapes do not allow it"});
    all.push_back({3, "AB1; AB2", "matmul(v1, v2); matmul(v1, v3) = split1a(matmul(v1, concat1(v2, v3))); split1b(matmul(v1, concat1(v2, v3)))" + kMatrices,
                   [](Model& m) {
                       const ValueId x = m.input({3, 4});
                       return Results({dot(m, x, m.weight({4, 5})), dot(m, x, m.input({4, 2}))});
                   },
                   [](Model& m) {
                       const ValueId x = m.input({3, 4});
                       return Results({dot(m, x, m.weight({4, 5})), dot(m, x, m.input({2, 4, 5}))});
                   },
                   "the shapes do not allow it"});
    all.push_back({4, "A1B; A2B", "matmul(v1, v2); matmul(v3, v2) = split0a(matmul(concat0(v1, v3), v2)); split0b(matmul(concat0(v1, v3), v2))" + kMatrices,
                   [](Model& m) {
                       const ValueId w = m.weight({4, 5});
                       return Results({dot(m, m.input({3, 4}), w), dot(m, m.input({2, 4}), w)});
                   },
                   [](Model& m) {
                       const ValueId w = m.weight({4, 5});
                       return Results({dot(m, m.input({2, 3, 4}), w), dot(m, m.input({5, 3, 4}), w)});
                   },
                   "the shapes do not allow it"});
    all.push_back({5, "AB + CD", "add(matmul(v1, v2), matmul(v3, v4)) = matmul(concat1(v1, v3), concat0(v2, v4))" + kFour,
                   [](Model& m) {
                       return op(m, "Add", {dot(m, m.input({3, 4}), m.weight({4, 5})), dot(m, m.input({3, 2}), m.weight({2, 5}))});
                   },
                   [](Model& m) {
                       return op(m, "Add", {dot(m, m.input({3, 4}), m.weight({4, 5})), dot(m, m.input({1, 2}), m.weight({2, 5}))});
                   },
                   "the shapes do not allow it"});
    all.push_back({6, "transpose(AB)", "transpose(matmul(v1, v2)) = matmul(transpose(v2), transpose(v1)) where v1: 4x4, v2: 4x4",
                   [](Model& m) { return turned(m, dot(m, m.input({2, 3, 4}), m.weight({2, 4, 5})), {0, 2, 1}); },
                   [](Model& m) { return turned(m, dot(m, m.input({2, 3, 4}), m.weight({2, 4, 5})), {1, 0, 2}); }, "not found"});
    all.push_back({6, "transpose(transpose(A))", "<v1 = transpose(transpose(v1)) where v1: 4x4",
                   [](Model& m) { return op(m, "Relu", {turned(m, turned(m, m.input({3, 4})))}); },
                   [](Model& m) { return op(m, "Relu", {turned(m, turned(m, m.input({3, 4, 5}), {1, 2, 0}), {1, 2, 0})}); }, "not found"});
    all.push_back({6, "transpose(concat)", "transpose(concat0(v1, v2)) = concat1(transpose(v1), transpose(v2)) where v1: 4x4, v2: 4x4",
                   [](Model& m) { return turned(m, concat(m, 0, {m.input({3, 4}), m.input({2, 4})})); },
                   [](Model& m) { return turned(m, concat(m, 0, {m.input({3, 4, 5}), m.input({2, 4, 5})}), {0, 2, 1}); }, "not found"});
    all.push_back({24, "one input, n products", "merge-products",
                   [](Model& m) {
                       const ValueId x = m.input({2, 3, 4});
                       const ValueId q = dot(m, x, m.weight({4, 5})), k = dot(m, x, m.weight({4, 5})), v = dot(m, x, m.weight({4, 3}));
                       return Results({q, k, v});
                   },
                   [](Model& m) {
                       const ValueId x = m.input({2, 3, 4});
                       return Results({dot(m, x, m.input({4, 5})), dot(m, x, m.input({4, 5}))});
                   },
                   "right sides are constant matrices"});
}

void addConvolutionEquations(std::vector<Case>& all) {
    all.push_back({7, "sum of weights", "conv(v1, add(v2, v3)) = add(conv(v1, v2), conv(v1, v3))" + kWeights,
                   [](Model& m) { return conv(m, m.input(kImage), op(m, "Add", {m.input(kKernel), m.input(kKernel)})); },
                   [](Model& m) { return conv(m, m.input(kImage), op(m, "Add", {m.input(kKernel), m.input({4, 4, 1, 1})})); },
                   "v2 and v3 have the same shape"});
    all.push_back({7, "sum of data", "conv(add(v1, v2), v3) = add(conv(v1, v3), conv(v2, v3)) where v1: 2x4x5x5, v2: 2x4x5x5, v3: 4x4x3x3",
                   [](Model& m) { return conv(m, op(m, "Add", {m.input(kImage), m.input(kImage)}), m.weight(kKernel)); },
                   [](Model& m) { return conv(m, op(m, "Add", {m.input(kImage), m.input({2, 4, 1, 1})}), m.weight(kKernel)); },
                   "v1 and v2 have the same shape"});
    all.push_back({8, "shared input", "conv(v1, v2); conv(v1, v3) = split1a(conv(v1, concat0(v2, v3))); split1b(conv(v1, concat0(v2, v3)))" + kWeights,
                   [](Model& m) {
                       const ValueId x = m.input(kImage);
                       return Results({conv(m, x, m.weight(kKernel), 1, 0, 2), conv(m, x, m.weight({2, 4, 3, 3}), 1, 0, 2)});
                   },
                   [](Model& m) {
                       const ValueId x = m.input(kImage);
                       return Results({conv(m, x, m.weight({4, 2, 3, 3}), 2), conv(m, x, m.weight({2, 2, 3, 3}), 2)});
                   },
                   "conv(v1, v2) has one group"});
    all.push_back({9, "shared weights", "conv(v1, v2); conv(v3, v2) = split0a(conv(concat0(v1, v3), v2)); split0b(conv(concat0(v1, v3), v2))"
                                        " where v1: 2x4x5x5, v2: 4x4x3x3, v3: 2x4x5x5",
                   [](Model& m) {
                       const ValueId w = m.weight({4, 2, 3, 3});
                       return Results({conv(m, m.input(kImage), w, 2), conv(m, m.input({1, 4, 6, 5}), w, 2)});
                   },
                   [](Model& m) {
                       const ValueId w = m.weight({4, 2, 3, 3});
                       return Results({conv(m, m.input(kImage), w, 2), conv(m, m.input({2, 4, 5, 5}), w, 2)});
                   },
                   "the shapes do not allow it"});
    all.push_back({10, "sum of convolutions", "add(conv(v1, v2), conv(v3, v4)) = conv(concat1(v1, v3), concat1(v2, v4))"
                                              " where v1: 2x4x5x5, v2: 4x4x3x3, v3: 2x4x5x5, v4: 4x4x3x3",
                   [](Model& m) { return op(m, "Add", {convOf(m, kImage, kKernel), convOf(m, {2, 3, 6, 5}, {4, 3, 3, 3})}); },
                   [](Model& m) { return op(m, "Add", {convOf(m, kImage, {4, 2, 3, 3}, 2), convOf(m, kImage, {4, 2, 3, 3}, 2)}); },
                   "conv(v1, v2) has one group"});
    const auto put = [](Model& m, std::int64_t filters, std::int64_t channels) {
        return concat(m, 1, {convOf(m, kImage, kKernel), convOf(m, {2, channels, 6, 5}, {filters, channels, 3, 3})});
    };
    const std::string grouped = "concat1(conv(v1, v2), conv(v3, v4)) = conv(concat1(v1, v3), concat0(v2, v4))"
                                " where v1: 2x4x5x5, v2: 4x4x3x3, v3: 2x4x5x5, v4: 4x4x3x3";
    all.push_back({11, "convolutions as groups", grouped, [=](Model& m) { return put(m, 4, 4); }, [=](Model& m) { return put(m, 6, 4); },
                   "v2 and v4 have the same extent along axis 0"});
    all.push_back({11, "of other channels", grouped, [=](Model& m) { return put(m, 4, 4); }, [=](Model& m) { return put(m, 4, 2); },
                   "v1 and v3 have the same extent along axis 1"});
    const auto rectified = [](const char* activation) {
        return [=](Model& m) {
            const ValueId x = m.input(kImage);
            return Results({op(m, activation, {conv(m, x, m.weight(kKernel))}), op(m, activation, {conv(m, x, m.weight({2, 4, 3, 3}))})});
        };
    };
    all.push_back({12, "conv_relu is relu(conv)",
                   "conv_relu(v1, v2); conv_relu(v1, v3) = split1a(conv_relu(v1, concat0(v2, v3))); split1b(conv_relu(v1, concat0(v2, v3)))" + kWeights,
                   rectified("Relu"), rectified("LeakyRelu"), "not found"});
    const auto small = [](std::int64_t kernel, std::int64_t pad) {
        return [=](Model& m) { return conv(m, m.input({1, 4, 7, 8}), m.weight({6, 2, kernel, kernel}), 2, pad, 2); };
    };
    all.push_back({13, "larger kernels", "conv(v1, v2) = conv(v1, enlarge(v2)) where v1: 2x4x5x5, v2: 4x4x1x3", small(1, 0), small(2, 0),
                   "the kernel cannot grow by as much on both sides"});
    const auto fire = [](std::int64_t pad) {
        return [=](Model& m) {
            const ValueId x = m.input({1, 4, 7, 8});
            return Results({conv(m, x, m.weight({3, 4, 1, 1}), 1, 0, 2), conv(m, x, m.weight({2, 4, 3, 3}), 1, pad, 2)});
        };
    };
    all.push_back({14, "kernels of two sizes", "merge-convolutions", fire(1), fire(0),
                   "all have the same strides and dilations, and pads that grow with the kernel"});
    all.push_back({15, "batch norm", "fold-batch-norm", [](Model& m) { return norm(m, convOf(m, kImage, kKernel), 0); },
                   [](Model& m) { return norm(m, convOf(m, kImage, kKernel), 1); },
                   "the normalization is for inference: its statistics are constants and its only result is the data"});
    const auto scaled = [](const Shape& factors, bool constant) {
        return [=](Model& m) { return op(m, "Mul", {convOf(m, kImage, kKernel), constant ? m.weight(factors) : m.input(factors)}); };
    };
    const char* const kFactors = "w, b and c are constants, c has one element or one for each channel";
    all.push_back({16, "a factor for each channel", "scale-conv-weights", scaled({1, 4, 1, 1}, true), scaled({4, 1, 1}, false), kFactors});
    all.push_back({16, "not for each element", "scale-conv-weights", scaled({4, 1, 1}, true), scaled({2, 4, 6, 5}, true), kFactors});
    const auto groups = [](std::int64_t count) { return [=](Model& m) { return convOf(m, {1, 12, 5, 5}, {12, 12 / count, 3, 3}, count); }; };
    all.push_back({17, "half as many groups", "merge-groups", groups(4), groups(3), "G is even"});
    all.push_back({23, "separable pairs",
                   "add(conv(conv(v1, v2), v3), conv(conv(v4, v5), v6)) = conv(conv(concat1(v1, v4), concat0(v2, v5)), concat1(v3, v6))"
                   " where v1: 2x4x5x5, v2: 4x4x3x3, v3: 4x4x3x3, v4: 2x4x5x5, v5: 4x4x3x3, v6: 4x4x3x3",
                   [](Model& m) {
                       const auto pair = [&] { return conv(m, convOf(m, kImage, {4, 2, 3, 3}, 2), m.weight({5, 4, 3, 3})); };
                       const ValueId first = pair();
                       return op(m, "Add", {first, pair()});
                   },
                   [](Model& m) {
                       const auto pair = [&](std::int64_t width) { return conv(m, convOf(m, kImage, {width, 2, 3, 3}, 2), m.weight({5, width, 3, 3})); };
                       const ValueId first = pair(4);
                       return op(m, "Add", {first, pair(8)});
                   },
                   "v2 and v5 have the same extent along axis 0"});
}

void addOtherEquations(std::vector<Case>& all) {
    all.push_back({18, "mean as a convolution", "average_pool(v1) = conv(v1, pool_weights) where v1: 2x4x5x5",
                   [](Model& m) { return mean(m, m.input(kImage), 1); },
                   [](Model& m) { return mean(m, m.input(kImage), 0); }, "pools count their pads"});
    const auto copied = [](std::int64_t pad) {
        return [=](Model& m) { return op(m, "Relu", {conv(m, m.input(kImage), identityKernel(m, 4, 3), 1, pad)}); };
    };
    all.push_back({18, "conv(x, I)", "<v1 = conv(v1, conv_identity33) where v1: 2x4x5x5", copied(1), copied(0),
                   "convolutions have pads of half a kernel"});
    const auto product = [](bool diagonal) {
        return [=](Model& m) { return op(m, "Relu", {dot(m, m.input({3, 4}), filled(m, {4, 4}, 1, diagonal))}); };
    };
    all.push_back({18, "x I", "<v1 = matmul(v1, product_identity) where v1: 4x4", product(true), product(false), "not found"});
    const auto ones = [](const Shape& shape) { return [=](Model& m) { return op(m, "Mul", {filled(m, shape, 1), m.input({4, 3})}); }; };
    all.push_back({18, "x * 1", "remove-neutral-constant", ones({4, 3}), ones({2, 4, 3}), "the constant does not change the shape"});
    const auto parts = [](std::int64_t cut) {
        return [=](Model& m) {
            const ValueId x = concat(m, 0, {m.input({2, 4}), m.input({3, 4})});
            const ValueId a = m.add("Split", {x, m.ints({cut, 5 - cut})}, {{"axis", std::int64_t(0)}}, 2);
            return Results({op(m, "Relu", {a}), op(m, "Tanh", {second(a)})});
        };
    };
    all.push_back({19, "split(concat)", "<v1 = split0a(concat0(v1, v2)) where v1: 4x4, v2: 4x4", parts(2), parts(1),
                   "a split cuts where nothing was put together"});
    const auto quadrants = [](std::int64_t cut) {
        return [=](Model& m) {
            return concat(m, 0, {concat(m, 1, {m.input({2, 3}), m.input({2, 4})}), concat(m, 1, {m.input({5, cut}), m.input({5, 7 - cut})})});
        };
    };
    all.push_back({19, "quadrants", "concat0(concat1(v1, v2), concat1(v3, v4)) = concat1(concat0(v1, v3), concat0(v2, v4))" + kFour,
                   quadrants(3), quadrants(4), "the shapes do not allow it"});
    const auto mapped = [](const char* first, const char* then) {
        return [=](Model& m) { return concat(m, 1, {op(m, first, {m.input({2, 3})}), op(m, then, {m.input({2, 5})})}); };
    };
    all.push_back({20, "relu of parts", "<relu(concat1(v1, v2)) = concat1(relu(v1), relu(v2)) where v1: 4x4, v2: 4x4", mapped("Relu", "Relu"),
                   mapped("Relu", "Tanh"), "not found"});
    const auto sums = [](std::int64_t cut) {
        return [=](Model& m) {
            const ValueId first = concat(m, 0, {m.input({2, 3}), m.input({4, 3})});
            return op(m, "Add", {first, concat(m, 0, {m.input({cut, 3}), m.input({6 - cut, 3})})});
        };
    };
    all.push_back({20, "sums of parts", "add(concat0(v1, v2), concat0(v3, v4)) = concat0(add(v1, v3), add(v2, v4))" + kFour, sums(2), sums(3),
                   "the shapes do not allow it"});
    const auto halves = [](bool same) {
        return [=](Model& m) {
            const ValueId two = m.number(2), other = m.number(3);
            return concat(m, 1, {op(m, "Mul", {m.input({2, 3}), two}), op(m, "Mul", {m.input({2, 5}), same ? two : other})});
        };
    };
    all.push_back({20, "scalars and parts", "<scale(concat1(v1, v2), v3) = concat1(scale(v1, v3), scale(v2, v3)) where v1: 4x4, v2: 4x4, v3: 1",
                   halves(true), halves(false), "not found"});
    const auto chain = [](const char* inner, const char* outer) {
        return [=](Model& m) { return op(m, outer, {op(m, inner, {m.input({4, 3}), m.input({4, 3})}), m.input({3})}); };
    };
    all.push_back({21, "sums in another order", "add(add(v1, v2), v3) = add(add(v1, v3), v2)" + kMatrices, chain("Add", "Add"), chain("Sub", "Add"),
                   "not found"});
    all.push_back({21, "products in another order", "mul(mul(v1, v2), v3) = mul(mul(v1, v3), v2)" + kMatrices, chain("Mul", "Mul"), chain("Div",
                   "Mul"), "not found"});
    all.push_back({21, "a factor of a sum", "mul(add(v1, v2), v3) = add(mul(v1, v3), mul(v2, v3))" + kMatrices, chain("Add", "Mul"), chain("Mul",
                   "Add"), "not found"});
    const auto factored = [](const std::function<ValueId(Model&)>& of, const Shape& factor) {
        return [=](Model& m) { return op(m, "Mul", {of(m), m.input(factor)}); };
    };
    const auto moves = [&](const char* name, const std::string& rule, const std::function<ValueId(Model&)>& of) {
        all.push_back({22, name, rule, factored(of, {1}), factored(of, {5}), "not found"});
    };
    moves("a scalar past a product", "scale(matmul(v1, v2), v3) = matmul(scale(v1, v3), v2) where v1: 4x4, v2: 4x4, v3: 1",
          [](Model& m) { return dot(m, m.input({3, 4}), m.weight({4, 5})); });
    moves("past a convolution", "scale(conv(v1, v2), v3) = conv(v1, scale(v2, v3)) where v1: 2x4x5x5, v2: 4x4x3x3, v3: 1",
          [](Model& m) { return convOf(m, kImage, kKernel); });
    moves("past an elementwise product", "scale(mul(v1, v2), v3) = mul(scale(v1, v3), v2) where v1: 4x4, v2: 4x4, v3: 1",
          [](Model& m) { return op(m, "Mul", {m.input({4, 5}), m.input({4, 5})}); });
    moves("past a transposition", "scale(transpose(v1), v2) = transpose(scale(v1, v2)) where v1: 4x4, v2: 1",
          [](Model& m) { return turned(m, m.input({5, 4})); });
}

const std::vector<Case>& cases() {
    static const std::vector<Case> all = [] {
        std::vector<Case> made;
        addMatrixEquations(made);
        addConvolutionEquations(made);
        addOtherEquations(made);
        return made;
    }();
    return all;
}

bool isOfTerms(const Case& each) { return each.rule.find('=') != std::string::npos; }
bool isFromRight(const Case& each) { return each.rule[0] == '<'; }
std::string textOf(const Case& each) { return each.rule.substr(isFromRight(each) ? 1 : 0); }

Graph built(const Make& make, const Substitution& rule) {
    Model model(rule.card().name == "merge-products" ? 17 : 13);
    return model.build(make(model).all);
}

} // namespace

// The equations that every system of graph substitutions is measured by: known here, true where they are applied, refused where they would not be.
class Equations : public QObject {
    Q_OBJECT

    std::vector<Rule> rules_; // generated
    std::vector<substitution::Rewrite> known_;
    std::set<int> passed_;

private slots:
    void initTestCase() {
        substitution::EnumerationOptions options;
        options.threads = 2;
        const auto all = substitution::TermEnumeration::run(options);
        QVERIFY(all.ok());
        rules_ = *substitution::withoutDerived(substitution::findCandidates(*all).value(), 2);
        for (const Rule& rule : rules_)
            for (const substitution::Rewrite& rewrite : substitution::rewritesOf(rule))
                known_.push_back(rewrite);
    }

    void equation_data() {
        QTest::addColumn<int>("row");
        for (std::size_t i = 0; i < cases().size(); ++i)
            QTest::addRow("%d %s", cases()[i].number, cases()[i].name) << static_cast<int>(i);
    }

    void equation() {
        QFETCH(int, row);
        const Case& each = cases()[static_cast<std::size_t>(row)];
        SubstitutionPtr rule;
        if (isOfTerms(each)) {
            const Rule terms = substitution::parseRule(textOf(each)).value();
            QVERIFY2(substitution::isImplied(terms, known_, {4, 3000}) || substitution::isImplied(terms, known_, {6, 20000}),
                "the generated rules do not say it");
            rule = verifiedDirection(textOf(each), isFromRight(each));
        } else {
            rule = ruleNamed(each.rule);
        }
        QVERIFY2(rule != nullptr, "not for models");
        const Tried right = tried(built(each.where, *rule), *rule);
        QVERIFY2(right.applied > 0, right.refusal.c_str());
        QCOMPARE(QString::fromStdString(right.problem), QString());
        const Tried wrong = tried(built(each.whereNot, *rule), *rule);
        QCOMPARE(wrong.applied, std::size_t(0));
        if (isOfTerms(each) || wrong.found > 0)
            QCOMPARE(QString::fromStdString(wrong.refusal), QString(each.refusal));
        else
            QVERIFY2(std::ranges::count(rule->card().conditions, each.refusal) == 1, each.refusal);
        passed_.insert(each.number);
    }

    void noneIsMissing() {
        for (int number = 1; number <= 24; ++number)
            QVERIFY2(passed_.contains(number), std::to_string(number).c_str());
    }
};

QTEST_APPLESS_MAIN(Equations)
#include "tst_equations.moc"
