// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <limits>

#include "op_case.h"

using namespace tunesmith;

Q_DECLARE_METATYPE(tunesmith::OpCase)
Q_DECLARE_METATYPE(tunesmith::Tensor)
using Windows = std::map<std::string, Attribute>;

// Answers that were worked out by hand (or with numpy) for the compute operators other than convolutions and pools.
class ComputeKernelsTest : public QObject {
    Q_OBJECT
private slots:
    void knownAnswers_data();
    void knownAnswers();
    void notANumberSpreads();
    void maxPoolIndices();
    void layerNormMoments();
    void batchNormInTraining();
    void shrunkIntegers();
    void determinants();
    void maxUnpool();
    void maximaReturn_data();
    void maximaReturn();
};

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T> Tensor of(const Shape& shape, const std::vector<T>& values) { return Tensor::of<T>(shape, values); }
Tensor bools(const Shape& shape, const std::vector<int>& values) {
    return of<std::int64_t>(shape, {values.begin(), values.end()}).cast(DType::boolean);
}
const std::int64_t one = 1;

void activationRows() {
    const Tensor x = floats({3}, {-1, 0, 2});
    QTest::newRow("relu") << OpCase{"Relu", 14, {}, {x}} << floats({3}, {0, 0, 2});
    QTest::newRow("relu int8") << OpCase{"Relu", 14, {}, {of<std::int8_t>({2}, {-3, 3})}} << of<std::int8_t>({2}, {0, 3});
    QTest::newRow("leaky relu") << OpCase{"LeakyRelu", 6, {{"alpha", 0.5F}}, {x}} << floats({3}, {-0.5F, 0, 2});
    QTest::newRow("prelu per channel")
        << OpCase{"PRelu", 9, {}, {floats({1, 2, 2}, {-1, 1, -1, 1}), floats({2, 1}, {0.5F, 2})}}
        << floats({1, 2, 2}, {-0.5F, 1, -2, 1});
    QTest::newRow("elu") << OpCase{"Elu", 6, {{"alpha", 2.0F}}, {x}} << floats({3}, {-1.2642411F, 0, 2});
    QTest::newRow("selu") << OpCase{"Selu", 6, {}, {x}} << floats({3}, {-1.1113307F, 0, 2.101402F});
    QTest::newRow("celu") << OpCase{"Celu", 12, {{"alpha", 2.0F}}, {x}} << floats({3}, {-0.7869387F, 0, 2});
    QTest::newRow("sigmoid") << OpCase{"Sigmoid", 13, {}, {floats({2}, {0, -1000})}} << floats({2}, {0.5F, 0});
    QTest::newRow("softplus large") << OpCase{"Softplus", 1, {}, {floats({2}, {0, 1000})}} << floats({2}, {0.6931472F, 1000});
    QTest::newRow("hard swish") << OpCase{"HardSwish", 14, {}, {floats({3}, {-4, 1, 4})}} << floats({3}, {0, 0.6666667F, 4});
    QTest::newRow("gelu") << OpCase{"Gelu", 20, {}, {floats({2}, {1, -1})}} << floats({2}, {0.8413447F, -0.1586553F});
    QTest::newRow("shrink") << OpCase{"Shrink", 9, {{"lambd", 1.5F}, {"bias", 1.0F}}, {floats({5}, {-2, -1.5F, 0, 1.5F, 2})}}
                            << floats({5}, {-1, 0, 0, 0, 1});
    QTest::newRow("shrink by default") << OpCase{"Shrink", 9, {}, {floats({3}, {-0.75F, 0.25F, 3})}} << floats({3}, {-0.75F, 0, 3});
    QTest::newRow("shrink integers") << OpCase{"Shrink", 9, {{"lambd", 1.5F}, {"bias", 1.5F}}, {of<std::int8_t>({3}, {-2, 1, 3})}}
                                     << of<std::int8_t>({3}, {0, 0, 1});
    QTest::newRow("clip attributes") << OpCase{"Clip", 6, {{"min", -0.5F}, {"max", 1.0F}}, {x}} << floats({3}, {-0.5F, 0, 1});
    QTest::newRow("clip inputs") << OpCase{"Clip", 13, {}, {x, Tensor(), Tensor::scalar(1.0F)}} << floats({3}, {-1, 0, 1});
    QTest::newRow("clip without limits") << OpCase{"Clip", 11, {}, {floats({2}, {-kInfinity, kInfinity})}}
                                         << floats({2}, {-kInfinity, kInfinity});
}

void arithmeticRows() {
    using I = std::int32_t;
    QTest::newRow("division truncates") << OpCase{"Div", 14, {}, {of<I>({4}, {7, -7, 7, -7}), of<I>({4}, {2, 2, -2, -2})}}
                                        << of<I>({4}, {3, -3, -3, 3});
    QTest::newRow("division edge") << OpCase{"Div", 14, {}, {of<I>({2}, {INT32_MIN, 1}), of<I>({2}, {-1, 0})}}
                                   << of<I>({2}, {INT32_MIN, 0});
    QTest::newRow("addition wraps") << OpCase{"Add", 14, {}, {of<I>({1}, {INT32_MAX}), of<I>({1}, {1})}} << of<I>({1}, {INT32_MIN});
    QTest::newRow("mod like python") << OpCase{"Mod", 13, {}, {of<I>({4}, {7, -7, 7, -7}), of<I>({4}, {3, 3, -3, -3})}}
                                     << of<I>({4}, {1, 2, -2, -1});
    QTest::newRow("mod like C") << OpCase{"Mod", 13, {{"fmod", one}}, {of<I>({4}, {7, -7, 7, -7}), of<I>({4}, {3, 3, -3, -3})}}
                                << of<I>({4}, {1, -1, 1, -1});
    QTest::newRow("pow of integers") << OpCase{"Pow", 13, {}, {of<I>({3}, {-2, 3, 2}), of<I>({3}, {3, 0, -1})}}
                                     << of<I>({3}, {-8, 1, 0});
    QTest::newRow("pow int float") << OpCase{"Pow", 13, {}, {of<I>({1}, {4}), floats({1}, {0.5F})}} << of<I>({1}, {2});
    QTest::newRow("mean of three") << OpCase{"Mean", 13, {}, {floats({2, 1}, {1, 2}), floats({2}, {3, 4}), floats({}, {5})}}
                                   << floats({2, 2}, {3, 10.0F / 3, 10.0F / 3, 11.0F / 3});
    QTest::newRow("outer sum") << OpCase{"Add", 14, {}, {floats({2, 1}, {10, 20}), floats({3}, {1, 2, 3})}}
                               << floats({2, 3}, {11, 12, 13, 21, 22, 23});
    QTest::newRow("nothing") << OpCase{"Add", 14, {}, {floats({0, 3}, {}), floats({3}, {1, 2, 3})}} << floats({0, 3}, {});
    QTest::newRow("round half to even") << OpCase{"Round", 11, {}, {floats({4}, {0.5F, 1.5F, -2.5F, 2.6F})}}
                                        << floats({4}, {0, 2, -2, 3});
    QTest::newRow("neg of the lowest") << OpCase{"Neg", 13, {}, {of<std::int8_t>({2}, {-128, 5})}} << of<std::int8_t>({2}, {-128, -5});
    QTest::newRow("is inf positive") << OpCase{"IsInf", 10, {{"detect_negative", std::int64_t{0}}},
                                               {floats({3}, {-kInfinity, kInfinity, 1})}} << bools({3}, {0, 1, 0});
    QTest::newRow("shift by the width") << OpCase{"BitShift", 11, {{"direction", std::string("LEFT")}},
                                                  {of<std::uint8_t>({2}, {129, 1}), of<std::uint8_t>({2}, {1, 8})}}
                                        << of<std::uint8_t>({2}, {2, 0});
    QTest::newRow("xor") << OpCase{"Xor", 7, {}, {bools({2}, {0, 1}), bools({}, {1})}} << bools({2}, {1, 0});
    QTest::newRow("equal strings") << OpCase{"Equal", 19, {}, {Tensor::ofStrings({2, 1}, {"a", "b"}), Tensor::ofStrings({2}, {"a", ""})}}
                                   << bools({2, 2}, {1, 0, 0, 0});
    QTest::newRow("where") << OpCase{"Where", 16, {}, {bools({2, 1}, {1, 0}), floats({2}, {1, 2}), floats({}, {9})}}
                           << floats({2, 2}, {1, 2, 9, 9});
}

void reductionRows() {
    const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 9});
    QTest::newRow("mean by attribute") << OpCase{"ReduceMean", 11, {{"axes", Ints{1}}}, {x}} << floats({2, 1}, {2, 6});
    QTest::newRow("sum by input") << OpCase{"ReduceSum", 13, {{"keepdims", std::int64_t{0}}}, {x, Tensor::ofInts({0})}, 1, {1}}
                                  << floats({3}, {5, 7, 12});
    QTest::newRow("sum of all") << OpCase{"ReduceSum", 13, {}, {x}} << floats({1, 1}, {24});
    QTest::newRow("noop") << OpCase{"ReduceSum", 13, {{"noop_with_empty_axes", one}}, {x}} << x;
    QTest::newRow("log sum exp large") << OpCase{"ReduceLogSumExp", 13, {{"axes", Ints{0}}}, {floats({2}, {1000, 1000})}}
                                       << floats({1}, {1000.6931F});
    QTest::newRow("max of integers") << OpCase{"ReduceMax", 13, {}, {of<std::int8_t>({3}, {-5, -3, -9})}} << of<std::int8_t>({1}, {-3});
    for (const DType type : {DType::i32, DType::i64}) { // nothing that an integer can hold: as Cast has it
        const Tensor lowest = type == DType::i32 ? of<std::int32_t>({1}, {INT32_MIN}) : of<std::int64_t>({1}, {INT64_MIN});
        QTest::addRow("log of an integer sum of 0, %s", std::string(dtypeName(type)).c_str()) << OpCase{"ReduceLogSum", 13, {}, {floats({2}, {3, -3}).cast(type)}} << lowest;
        QTest::addRow("log of no integers, %s", std::string(dtypeName(type)).c_str()) << OpCase{"ReduceLogSumExp", 13, {}, {Tensor::zeros(type, {0})}} << lowest;
    }
    const Tensor truths = bools({2, 2}, {0, 1, 0, 0});
    QTest::newRow("any") << OpCase{"ReduceMax", 20, {{"keepdims", std::int64_t{0}}}, {truths, Tensor::ofInts({1})}} << bools({2}, {1, 0});
    QTest::newRow("all of nothing") << OpCase{"ReduceMin", 20, {}, {bools({0}, {})}} << bools({1}, {1});
    QTest::newRow("arg max last") << OpCase{"ArgMax", 13, {{"axis", one}, {"select_last_index", one}},
                                            {floats({2, 3}, {3, 3, 1, 0, 2, 2})}} << of<std::int64_t>({2, 1}, {1, 2});
    QTest::newRow("arg min first") << OpCase{"ArgMin", 13, {{"axis", std::int64_t{0}}, {"keepdims", std::int64_t{0}}},
                                             {floats({2, 2}, {1, 5, 1, 4})}} << of<std::int64_t>({2}, {0, 1});
    QTest::newRow("softmax") << OpCase{"Softmax", 13, {}, {floats({1, 2}, {1000, 1000 + 0.6931472F})}}
                             << floats({1, 2}, {1.0F / 3, 2.0F / 3});
    QTest::newRow("softmax flattens") << OpCase{"Softmax", 11, {}, {floats({1, 2, 2}, {0, 0, 0, 0})}}
                                      << floats({1, 2, 2}, {0.25F, 0.25F, 0.25F, 0.25F});
    QTest::newRow("softmax of one axis") << OpCase{"Softmax", 13, {{"axis", one}}, {floats({1, 2, 2}, {0, 0, 0, 0})}}
                                         << floats({1, 2, 2}, {0.5F, 0.5F, 0.5F, 0.5F});
    QTest::newRow("log softmax") << OpCase{"LogSoftmax", 13, {}, {floats({2}, {0, 0})}} << floats({2}, {-0.6931472F, -0.6931472F});
    QTest::newRow("hardmax first") << OpCase{"Hardmax", 13, {}, {floats({2, 3}, {1, 3, 3, 2, 1, 0})}}
                                   << floats({2, 3}, {0, 1, 0, 1, 0, 0});
}

void productRows() {
    const Tensor a = floats({2, 3}, {1, 2, 3, 4, 5, 6}), b = floats({3, 2}, {1, 0, 0, 1, 1, 1});
    QTest::newRow("gemm") << OpCase{"Gemm", 13, {{"alpha", 2.0F}, {"beta", 0.5F}}, {a, b, floats({2}, {2, 4})}}
                          << floats({2, 2}, {9, 12, 21, 24});
    QTest::newRow("gemm transposed") << OpCase{"Gemm", 13, {{"transA", one}, {"transB", one}}, {b, a}}
                                     << floats({2, 2}, {4, 10, 5, 11});
    QTest::newRow("gemm integers") << OpCase{"Gemm", 13, {}, {a.cast(DType::i32), b.cast(DType::i32), of<std::int32_t>({2, 1}, {1, 2})}}
                                   << of<std::int32_t>({2, 2}, {5, 6, 12, 13});
    QTest::newRow("matmul vectors") << OpCase{"MatMul", 13, {}, {floats({3}, {1, 2, 3}), floats({3}, {4, 5, 6})}} << floats({}, {32});
    QTest::newRow("matmul broadcasts") << OpCase{"MatMul", 13, {}, {floats({2, 1, 1, 2}, {1, 2, 3, 4}), floats({1, 2, 2, 1}, {1, 1, 1, -1})}}
                                       << floats({2, 2, 1, 1}, {3, -1, 7, -1});
    QTest::newRow("matmul of nothing") << OpCase{"MatMul", 13, {}, {floats({2, 0}, {}), floats({0, 1}, {})}} << floats({2, 1}, {0, 0});
    QTest::newRow("batch norm") << OpCase{"BatchNormalization", 9, {{"epsilon", 0.0F}},
                                          {floats({1, 2, 1}, {1, 2}), floats({2}, {1, 2}), floats({2}, {0, 1}), floats({2}, {0, 1}), floats({2}, {4, 1})}}
                                << floats({1, 2, 1}, {0.5F, 3});
    QTest::newRow("instance norm") << OpCase{"InstanceNormalization", 6, {{"epsilon", 0.0F}},
                                             {floats({1, 1, 2}, {1, 3}), floats({1}, {2}), floats({1}, {1})}}
                                   << floats({1, 1, 2}, {-1, 3});
    QTest::newRow("lrn") << OpCase{"LRN", 13, {{"size", std::int64_t{3}}, {"alpha", 3.0F}, {"beta", 1.0F}}, {floats({1, 3, 1}, {1, 2, 3})}}
                         << floats({1, 3, 1}, {1.0F / 6, 2.0F / 15, 3.0F / 14});
    const Tensor images = floats({2, 2, 1, 2}, {1, 3, 10, 20, 2, 4, 6, 8});
    QTest::newRow("mean and variance before opset 9") << OpCase{"MeanVarianceNormalization", 8, {}, {images}} << floats({2, 2, 1, 2}, {-1, 1, -1, 1, -1, 1, -1, 1});
    QTest::newRow("mean and variance across channels") << OpCase{"MeanVarianceNormalization", 8, {{"across_channels", std::int64_t{1}}}, {floats({2, 2, 1, 1}, {1, 3, 2, 8})}}
                                                       << floats({2, 2, 1, 1}, {-1, 1, -1, 1});
    QTest::newRow("mean and variance") << OpCase{"MeanVarianceNormalization", 9, {}, {floats({2, 1, 1, 2}, {1, 3, 1, 3})}} << floats({2, 1, 1, 2}, {-1, 1, -1, 1});
    QTest::newRow("lp norm") << OpCase{"LpNormalization", 1, {}, {floats({1, 2}, {3, 4})}} << floats({1, 2}, {0.6F, 0.8F});
}

} // namespace

void ComputeKernelsTest::knownAnswers_data() {
    QTest::addColumn<OpCase>("op");
    QTest::addColumn<Tensor>("expected");
    activationRows();
    arithmeticRows();
    reductionRows();
    productRows();
}

void ComputeKernelsTest::knownAnswers() {
    QFETCH(OpCase, op);
    QFETCH(Tensor, expected);
    QCOMPARE(answerDifference(op, expected), QString());
    const auto lowered = lowerCase(op);
    if (!lowered.ok())
        QCOMPARE(lowered.error().kind, ErrorKind::unsupported);
    else
        QCOMPARE(compareLowering(op), QString());
}

void ComputeKernelsTest::notANumberSpreads() {
    const Tensor x = floats({2}, {std::nanf(""), 1}), y = floats({2}, {0, std::nanf("")});
    for (const char* name : {"Min", "Max", "Add"}) {
        const auto out = runKernel({name, 13, {}, {x, y}});
        QVERIFY(std::isnan((*out)[0].asDouble(0)) && std::isnan((*out)[0].asDouble(1)));
    }
    QVERIFY(std::isnan((*runKernel({"Relu", 14, {}, {x}}))[0].asDouble(0)));
    QVERIFY(std::isnan((*runKernel({"ReduceMax", 13, {}, {x}}))[0].asDouble(0)));
}

void ComputeKernelsTest::maxPoolIndices() {
    const Tensor x = floats({1, 1, 2, 3}, {1, 2, 6, 4, 5, 3});
    OpCase c{"MaxPool", 12, {{"kernel_shape", Ints{2, 2}}}, {x}, 2};
    QCOMPARE((*runKernel(c))[1].asInts(), (Ints{4, 2}));
    c.attributes["storage_order"] = one;
    QCOMPARE((*runKernel(c))[1].asInts(), (Ints{3, 4}));
    QCOMPARE(lowerCase(c).error().kind, ErrorKind::unsupported);
}

void ComputeKernelsTest::layerNormMoments() {
    OpCase c{"LayerNormalization", 17, {{"epsilon", 0.0F}}, {floats({1, 2}, {1, 5}), floats({2}, {1, 10}), floats({2}, {0, 1})}, 3};
    const auto outputs = runKernel(c);
    QCOMPARE(difference((*outputs)[0], floats({1, 2}, {-1, 11})), QString());
    QCOMPARE(difference((*outputs)[1], floats({1, 1}, {3})), QString());
    QCOMPARE(difference((*outputs)[2], floats({1, 1}, {0.5F})), QString());
    QCOMPARE(compareLowering(c), QString());
}

// Channel 0 has 1 and 3, channel 1 has 0 and 4: means 2 and 2, variances 1 and 4.
void ComputeKernelsTest::batchNormInTraining() {
    OpCase c{"BatchNormalization", 15, {{"epsilon", 0.0F}, {"momentum", 0.5F}, {"training_mode", one}},
             {floats({2, 2, 1}, {1, 0, 3, 4}), floats({2}, {1, 10}), floats({2}, {0, 5}), floats({2}, {4, 0}), floats({2}, {3, 0})}, 3};
    const auto outputs = runKernel(c);
    QVERIFY2(outputs.ok(), outputs.ok() ? "" : outputs.error().message.c_str());
    QCOMPARE(difference((*outputs)[0], floats({2, 2, 1}, {-1, -5, 1, 15})), QString());
    QCOMPARE(difference((*outputs)[1], floats({2}, {3, 1})), QString());
    QCOMPARE(difference((*outputs)[2], floats({2}, {2, 2})), QString());
    QCOMPARE(lowerCase(c).error().kind, ErrorKind::unsupported);
    c.attributes["training_mode"] = std::int64_t{0};
    QVERIFY2(!runKernel(c).ok(), "the statistics of inference");
    c.opset = 9; // training is what reads the statistics
    c.outputs = 5;
    const auto old = runKernel(c);
    QCOMPARE(difference((*old)[1], floats({2}, {3, 1})), QString());
    QCOMPARE(difference((*old)[3], floats({2}, {2, 2})), QString());
    QCOMPARE(difference((*old)[4], floats({2}, {1, 4})), QString());
    c.outputs = 1;
    c.inputs[3] = floats({2}, {1, 0});
    c.inputs[4] = floats({2}, {1, 1});
    QCOMPARE(difference((*runKernel(c))[0], floats({2, 2, 1}, {0, 5, 2, 45})), QString());
}

// Integers of 64 bits whose neighbours are the same number in float64.
void ComputeKernelsTest::shrunkIntegers() {
    const auto shrunk = [](const Tensor& x, float threshold, float bias) {
        return (*runKernel({"Shrink", 9, {{"lambd", threshold}, {"bias", bias}}, {x}}))[0].asInts();
    };
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(), middle = std::int64_t{1} << 62;
    QCOMPARE(shrunk(Tensor::ofInts({most, most - 1, 2 - most, 3}), 0.5F, 1.5F), (Ints{most - 2, most - 3, 4 - most, 1}));
    QCOMPARE(shrunk(Tensor::ofInts({most - 1, 1 - most}), 0.5F, -1), (Ints{most, -most}));
    QCOMPARE(shrunk(Tensor::ofInts({middle, middle + 1}), 0x1p62F, 0), (Ints{0, middle + 1}));
    QCOMPARE(shrunk(of<std::uint64_t>({2}, {UINT64_MAX, 1}), 0.5F, 2), (Ints{-3, -1}));
}

void ComputeKernelsTest::determinants() {
    const auto det = [](const Tensor& x) { return (*runKernel({"Det", 11, {}, {x}}))[0]; };
    QCOMPARE(difference(det(floats({2, 2, 2}, {0, 2, 3, 4, 1, 2, 2, 4})), floats({2}, {-6, 0})), QString());
    QCOMPARE(difference(det(floats({3, 3}, {2, 0, 1, 1, 3, 2, 0, 1, 4})), floats({}, {21})), QString());
    QCOMPARE(difference(det(floats({2, 0, 0}, {})), floats({2}, {1, 1})), QString());
    const Tensor x = Tensor::of<double>({2, 2}, {1, 2, 3, 4});
    QCOMPARE(difference(det(x), Tensor::scalar(-2.0)), QString());
    QCOMPARE(x.asDouble(2), 3.0); // elimination works on a copy
}

void ComputeKernelsTest::maxUnpool() {
    const Tensor x = floats({1, 1, 1, 2}, {5, 6}), where = of<std::int64_t>({1, 1, 1, 2}, {1, 4});
    OpCase c{"MaxUnpool", 11, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}, {x, where}};
    QCOMPARE(difference((*runKernel(c))[0], floats({1, 1, 2, 4}, {0, 5, 0, 0, 6, 0, 0, 0})), QString());
    c.inputs.push_back(Tensor::ofInts({1, 1, 3, 5}));
    QCOMPARE(difference((*runKernel(c))[0], floats({1, 1, 3, 5}, {0, 5, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})), QString());
    c.inputs[2] = Tensor::ofInts({1, 1, 1, 7});
    QCOMPARE(refusalDifference(c, "fewer elements than the kernel covers"), QString());
    c.inputs[2] = Tensor::ofInts({1, 1, 1, 8});
    QCOMPARE(difference((*runKernel(c))[0], floats({1, 1, 1, 8}, {0, 5, 0, 0, 6, 0, 0, 0})), QString());
    c.inputs[2] = Tensor::ofInts({1, 1, 8});
    QVERIFY2(!runKernel(c).ok(), "of another rank");
    c.inputs.pop_back();
    c.attributes["pads"] = Ints{0, 1, 0, 1};
    c.inputs[1] = of<std::int64_t>({1, 1, 1, 2}, {0, 3});
    QCOMPARE(difference((*runKernel(c))[0], floats({1, 1, 2, 2}, {5, 0, 0, 6})), QString());
    c.inputs[1] = of<std::int64_t>({1, 1, 1, 2}, {0, 4});
    QVERIFY2(!runKernel(c).ok(), "outside");
    c.inputs[1] = of<std::int64_t>({1, 1, 2}, {0, 1});
    QVERIFY2(!runKernel(c).ok(), "fewer dimensions than the elements");
    c.inputs[1] = where;
    c.attributes["pads"] = Ints{9, 9, 9, 9};
    QVERIFY2(!runKernel(c).ok(), "nothing is left");
    c.attributes.erase("kernel_shape");
    QVERIFY2(!runKernel(c).ok(), "no kernel");
}

void ComputeKernelsTest::maximaReturn_data() {
    QTest::addColumn<Windows>("windows");
    QTest::addColumn<Shape>("shape");
    const Windows apart{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
    const Windows padded{{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}};
    QTest::newRow("even extents") << apart << Shape{2, 2, 4, 6};
    QTest::newRow("odd extents") << apart << Shape{2, 2, 5, 7};
    QTest::newRow("padded") << padded << Shape{1, 3, 6, 6};
    QTest::newRow("smaller than the windows without their pads") << padded << Shape{1, 2, 4, 4};
}

// Maxima come back to where MaxPool found them, in a tensor of the shape that it had.
void ComputeKernelsTest::maximaReturn() {
    QFETCH(Windows, windows);
    QFETCH(Shape, shape);
    Rng rng(4);
    const Tensor x = randomTensor(rng, DType::f32, shape, 1, 2);
    const auto pooled = runKernel({"MaxPool", 12, windows, {x}, 2});
    QVERIFY(pooled.ok());
    const auto back = runKernel({"MaxUnpool", 11, windows, {(*pooled)[0], (*pooled)[1], Tensor::ofInts(shape)}});
    QVERIFY2(back.ok(), back.ok() ? "" : back.error().message.c_str());
    QCOMPARE(back->front().shape(), shape);
    for (std::int64_t i = 0; i < x.count(); ++i)
        QVERIFY(back->front().asDouble(i) == 0 || back->front().asDouble(i) == x.asDouble(i));
    QCOMPARE(answerDifference({"MaxPool", 12, windows, {back->front()}}, (*pooled)[0], 0), QString());
}

QTEST_APPLESS_MAIN(ComputeKernelsTest)
#include "tst_compute_kernels.moc"
