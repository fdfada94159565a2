// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QTest>

#include "op_case.h"

using namespace tunesmith;

Q_DECLARE_METATYPE(tunesmith::OpCase)
Q_DECLARE_METATYPE(tunesmith::Tensor)

// Convolutions and pools: known answers, shape rules, and lowerings against kernels on random attributes.
class ConvTest : public QObject {
    Q_OBJECT
private slots:
    void knownAnswers_data();
    void knownAnswers();
    void randomConvolutions();
    void randomTransposedConvolutions();
    void randomPools();
    void transposedConvolutionIsTheAdjoint();
    void sixteenBitFloats();
    void guardOnlyWherePaddingIs();
    void halfAGigaflopPerSecond();
};

namespace {

Tensor counting(const Shape& shape) {
    std::vector<float> values(static_cast<std::size_t>(elementCount(shape)));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i + 1);
    return floats(shape, values);
}

struct RandomWindows {
    std::map<std::string, Attribute> attributes;
    Shape kernel, input;
};

// Attributes for which the window fits at least once.
RandomWindows randomWindows(Rng& rng, std::size_t rank, bool pool) {
    RandomWindows made;
    Ints strides, dilations, pads(2 * rank);
    const bool same = rng.chance(0.25), dilated = rng.chance(0.5);
    for (std::size_t d = 0; d < rank; ++d) {
        made.kernel.push_back(1 + static_cast<std::int64_t>(rng.below(3)));
        strides.push_back(1 + static_cast<std::int64_t>(rng.below(3)));
        dilations.push_back(dilated ? 1 + static_cast<std::int64_t>(rng.below(2)) : 1);
        const std::int64_t span = (made.kernel[d] - 1) * dilations[d] + 1;
        const auto most = static_cast<std::uint64_t>(pool ? std::min<std::int64_t>(span - 1, 2) : 2);
        pads[d] = static_cast<std::int64_t>(rng.below(most + 1));
        pads[rank + d] = static_cast<std::int64_t>(rng.below(most + 1));
        made.input.push_back(span + static_cast<std::int64_t>(rng.below(4)));
    }
    made.attributes["strides"] = strides;
    made.attributes["dilations"] = dilations;
    if (same)
        made.attributes["auto_pad"] = std::string(rng.chance(0.5) ? "SAME_UPPER" : "SAME_LOWER");
    else if (rng.chance(0.2))
        made.attributes["auto_pad"] = std::string("VALID");
    else
        made.attributes["pads"] = pads;
    return made;
}

Shape joined(Shape head, const Shape& tail) {
    head.insert(head.end(), tail.begin(), tail.end());
    return head;
}

} // namespace

void ConvTest::knownAnswers_data() {
    QTest::addColumn<OpCase>("op");
    QTest::addColumn<Tensor>("expected");
    const Tensor ones2 = floats({1, 1, 2, 2}, {1, 1, 1, 1}), image = counting({1, 1, 3, 3});
    QTest::newRow("conv 2x2") << OpCase{"Conv", 11, {}, {image, ones2}} << floats({1, 1, 2, 2}, {12, 16, 24, 28});
    QTest::newRow("conv bias") << OpCase{"Conv", 11, {}, {image, ones2, floats({1}, {100})}}
                               << floats({1, 1, 2, 2}, {112, 116, 124, 128});
    QTest::newRow("conv asymmetric pads") << OpCase{"Conv", 11, {{"pads", Ints{1, 0, 0, 1}}}, {image, ones2}}
                                          << floats({1, 1, 3, 3}, {3, 5, 3, 12, 16, 9, 24, 28, 15});
    QTest::newRow("conv same upper stride 2")
        << OpCase{"Conv", 11, {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}}, {image, ones2}}
        << floats({1, 1, 2, 2}, {12, 9, 15, 9});
    QTest::newRow("conv same lower stride 2")
        << OpCase{"Conv", 11, {{"auto_pad", std::string("SAME_LOWER")}, {"strides", Ints{2, 2}}}, {image, ones2}}
        << floats({1, 1, 2, 2}, {1, 5, 11, 28});
    QTest::newRow("conv dilated") << OpCase{"Conv", 11, {{"dilations", Ints{2, 2}}}, {image, ones2}}
                                  << floats({1, 1, 1, 1}, {20});
    QTest::newRow("conv 1-D two groups")
        << OpCase{"Conv", 11, {{"group", std::int64_t{2}}}, {counting({1, 2, 3}), floats({2, 1, 2}, {1, 1, 1, -1})}}
        << floats({1, 2, 2}, {3, 5, -1, -1});
    QTest::newRow("transpose stride 2")
        << OpCase{"ConvTranspose", 11, {{"strides", Ints{2}}}, {floats({1, 1, 2}, {1, 2}), floats({1, 1, 3}, {1, 10, 100})}}
        << floats({1, 1, 5}, {1, 10, 102, 20, 200});
    QTest::newRow("transpose output padding")
        << OpCase{"ConvTranspose", 11, {{"strides", Ints{2}}, {"output_padding", Ints{1}}, {"pads", Ints{1, 1}}},
                  {floats({1, 1, 2}, {1, 2}), floats({1, 1, 3}, {1, 10, 100})}}
        << floats({1, 1, 4}, {10, 102, 20, 200});
    QTest::newRow("max ceil") << OpCase{"MaxPool", 12,
                                        {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"ceil_mode", std::int64_t{1}}},
                                        {image}}
                              << floats({1, 1, 2, 2}, {5, 6, 8, 9});
    QTest::newRow("average excludes padding")
        << OpCase{"AveragePool", 11, {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 0}}}, {image}}
        << floats({1, 1, 3, 3}, {1, 1.5, 2.5, 2.5, 3, 4, 5.5, 6, 7});
    QTest::newRow("average includes padding")
        << OpCase{"AveragePool", 11,
                  {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 0}}, {"count_include_pad", std::int64_t{1}}},
                  {image}}
        << floats({1, 1, 3, 3}, {0.25, 0.75, 1.25, 1.25, 3, 4, 2.75, 6, 7});
    QTest::newRow("global average") << OpCase{"GlobalAveragePool", 11, {}, {image}} << floats({1, 1, 1, 1}, {5});
    QTest::newRow("lp pool") << OpCase{"LpPool", 11, {{"kernel_shape", Ints{2}}}, {floats({1, 1, 3}, {3, -4, 0})}}
                             << floats({1, 1, 2}, {5, 4});
}

void ConvTest::knownAnswers() {
    QFETCH(OpCase, op);
    QFETCH(Tensor, expected);
    QCOMPARE(answerDifference(op, expected), QString());
    QCOMPARE(compareLowering(op), QString());
}

void ConvTest::randomConvolutions() {
    Rng rng(1);
    for (int round = 0; round < 150; ++round) {
        RandomWindows made = randomWindows(rng, 1 + rng.below(3), false);
        const auto group = static_cast<std::int64_t>(1 + rng.below(3)), in = static_cast<std::int64_t>(1 + rng.below(3));
        const auto out = static_cast<std::int64_t>(1 + rng.below(2));
        made.attributes["group"] = group;
        OpCase c{"Conv", 11, made.attributes, {}};
        c.inputs = {randomTensor(rng, DType::f32, joined({2, group * in}, made.input)),
                    randomTensor(rng, DType::f32, joined({group * out, in}, made.kernel))};
        if (rng.chance(0.5))
            c.inputs.push_back(randomTensor(rng, DType::f32, {group * out}));
        QVERIFY2(compareLowering(c).isEmpty(), (describe(c) + ": " + compareLowering(c).toStdString()).c_str());
    }
}

void ConvTest::randomTransposedConvolutions() {
    Rng rng(2);
    int compared = 0;
    for (int round = 0; round < 150; ++round) {
        RandomWindows made = randomWindows(rng, 1 + rng.below(2), false);
        const auto group = static_cast<std::int64_t>(1 + rng.below(2)), in = static_cast<std::int64_t>(1 + rng.below(3));
        const auto out = static_cast<std::int64_t>(1 + rng.below(2));
        made.attributes["group"] = group;
        if (rng.chance(0.3))
            made.attributes["output_padding"] = Ints(made.kernel.size(), 1);
        if (rng.chance(0.2))
            made.attributes["output_shape"] = Ints(made.kernel.size(), 3 + static_cast<std::int64_t>(rng.below(4)));
        OpCase c{"ConvTranspose", 11, made.attributes, {}};
        c.inputs = {randomTensor(rng, DType::f32, joined({2, group * in}, made.input)),
                    randomTensor(rng, DType::f32, joined({group * in, out}, made.kernel))};
        if (rng.chance(0.5))
            c.inputs.push_back(randomTensor(rng, DType::f32, {group * out}));
        if (!runKernel(c).ok())
            continue; // pads that leave nothing
        ++compared;
        QVERIFY2(compareLowering(c).isEmpty(), (describe(c) + ": " + compareLowering(c).toStdString()).c_str());
    }
    QVERIFY2(compared > 100, std::to_string(compared).c_str());
}

void ConvTest::randomPools() {
    Rng rng(3);
    const std::vector<std::string> names{"MaxPool", "AveragePool", "LpPool"};
    for (int round = 0; round < 240; ++round) {
        RandomWindows made = randomWindows(rng, 1 + rng.below(3), true);
        made.attributes["kernel_shape"] = made.kernel;
        made.attributes["ceil_mode"] = static_cast<std::int64_t>(rng.below(2));
        made.attributes["count_include_pad"] = static_cast<std::int64_t>(rng.below(2));
        const std::string name = names[rng.below(3)];
        if (name == "LpPool")
            made.attributes["p"] = static_cast<std::int64_t>(1 + rng.below(3));
        const OpCase c{name, 12, made.attributes, {randomTensor(rng, DType::f32, joined({1, 2}, made.input))}};
        QVERIFY2(compareLowering(c).isEmpty(), (describe(c) + ": " + compareLowering(c).toStdString()).c_str());
    }
}

// <conv(x, w), y> = <x, convTranspose(y, w)> whenever the shapes agree: ties the two kernels together.
void ConvTest::transposedConvolutionIsTheAdjoint() {
    Rng rng(4);
    int compared = 0;
    for (int round = 0; round < 60; ++round) {
        RandomWindows made = randomWindows(rng, 2, false);
        made.attributes.erase("auto_pad");
        const Tensor x = randomTensor(rng, DType::f64, joined({1, 2}, made.input));
        const Tensor w = randomTensor(rng, DType::f64, joined({3, 2}, made.kernel));
        const auto forward = runKernel({"Conv", 11, made.attributes, {x, w}});
        QVERIFY(forward.ok());
        const Tensor y = randomTensor(rng, DType::f64, (*forward)[0].shape());
        const auto back = runKernel({"ConvTranspose", 11, made.attributes, {y, w}});
        if (!back.ok() || (*back)[0].shape() != x.shape())
            continue;
        ++compared;
        double left = 0, right = 0;
        for (std::int64_t i = 0; i < y.count(); ++i)
            left += (*forward)[0].asDouble(i) * y.asDouble(i);
        for (std::int64_t i = 0; i < x.count(); ++i)
            right += x.asDouble(i) * (*back)[0].asDouble(i);
        QVERIFY(std::fabs(left - right) < 1e-9 * (1 + std::fabs(left)));
    }
    QVERIFY(compared > 10);
}

void ConvTest::sixteenBitFloats() {
    Rng rng(5);
    for (const DType type : {DType::f16, DType::bf16, DType::f64}) {
        const Tensor x = randomTensor(rng, type, {1, 4, 5, 5}), w = randomTensor(rng, type, {3, 4, 3, 3});
        const OpCase c{"Conv", 11, {}, {x, w}}, pool{"AveragePool", 11, {{"kernel_shape", Ints{2, 2}}}, {x}};
        QCOMPARE(compareLowering(c, type == DType::f64 ? 1e-12 : 0.01), QString());
        QCOMPARE(compareLowering(pool, type == DType::f64 ? 1e-12 : 0.01), QString());
        QCOMPARE((*runKernel(c))[0].type(), type);
    }
}

void ConvTest::guardOnlyWherePaddingIs() {
    const Tensor x = counting({1, 1, 5, 5}), w = counting({1, 1, 3, 3});
    const auto free = lowerCase({"Conv", 11, {}, {x, w}});
    QVERIFY(!free->stages[0].guard.valid());
    QCOMPARE(free->stages[0].output->name, std::string("conv"));
    const auto padded = lowerCase({"Conv", 11, {{"pads", Ints{1, 0, 0, 0}}}, {x, w}});
    QCOMPARE(loops::toText(padded->stages[0].guard), std::string("(((i2 + r1) - 1) >= 0)"));
}

// The kernels are the oracle for whole networks: a ResNet-50 has 4.1e9 multiply-adds and must take seconds, not minutes.
void ConvTest::halfAGigaflopPerSecond() {
#ifndef NDEBUG
    constexpr double kLeast = 0.05;
#else
    constexpr double kLeast = 0.5;
#endif
    Rng rng(6);
    const OpCase c{"Conv", 11, {{"pads", Ints{1, 1, 1, 1}}},
                   {randomTensor(rng, DType::f32, {1, 64, 56, 56}), randomTensor(rng, DType::f32, {64, 64, 3, 3})}};
    QElapsedTimer timer;
    timer.start();
    QVERIFY(runKernel(c).ok());
    const double gflops = 2.0 * 64 * 64 * 9 * 56 * 56 / static_cast<double>(std::max<qint64>(timer.nsecsElapsed(), 1));
    qInfo("conv 64x64x3x3 on 56x56: %.2f GFLOP/s", gflops);
    QVERIFY2(gflops > kLeast, std::to_string(gflops).c_str());
}

QTEST_APPLESS_MAIN(ConvTest)
#include "tst_conv.moc"
