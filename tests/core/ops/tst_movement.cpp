// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <functional>

#include "op_case.h"

using namespace tunesmith;

// Operators that move elements: lowerings against kernels on random attributes, known results, and what is refused.
class MovementTest : public QObject {
    Q_OBJECT
private slots:
    void lowerings_data();
    void lowerings();
    void results_data();
    void results();
    void refused_data();
    void refused();
    void strings();
    void namedDimensions();
};

namespace {

using Maker = std::function<OpCase(Rng&)>;
constexpr DType kTypes[] = {DType::f32, DType::f16, DType::i64, DType::i8, DType::boolean, DType::f64};

std::int64_t between(Rng& rng, std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(high - low + 1)));
}

Shape shapeOf(Rng& rng, std::size_t rank, std::int64_t low = 1) {
    Shape shape;
    for (std::size_t d = 0; d < rank; ++d)
        shape.push_back(between(rng, low, 4));
    return shape;
}

Tensor dataOf(Rng& rng, const Shape& shape) { return randomTensor(rng, kTypes[rng.below(std::size(kTypes))], shape, -9, 9); }

Tensor indicesOf(Rng& rng, const Shape& shape, std::int64_t extent) {
    Tensor indices = Tensor::zeros(DType::i64, shape);
    for (std::int64_t& index : indices.mutableData<std::int64_t>())
        index = between(rng, -extent, extent - 1);
    return indices;
}

OpCase transposeCase(Rng& rng) {
    const auto rank = rng.below(5);
    Ints perm;
    for (std::size_t i = 0; i < rank; ++i)
        perm.insert(perm.begin() + between(rng, 0, static_cast<std::int64_t>(i)), static_cast<std::int64_t>(i));
    return {"Transpose", 13, {{"perm", perm}}, {dataOf(rng, shapeOf(rng, rank, 0))}};
}

OpCase reshapeCase(Rng& rng) {
    const Shape from = shapeOf(rng, 1 + rng.below(4));
    std::int64_t rest = elementCount(from);
    Ints to;
    for (std::int64_t divisor = 2; divisor <= 4 && rest > 1; ++divisor)
        if (rest % divisor == 0 && rng.chance(0.6)) {
            to.push_back(divisor);
            rest /= divisor;
        }
    to.insert(to.begin() + between(rng, 0, static_cast<std::int64_t>(to.size())), rng.chance(0.5) ? rest : -1);
    if (rng.chance(0.3))
        to.insert(to.begin(), 1);
    return {"Reshape", 13, {}, {dataOf(rng, from), Tensor::ofInts(to)}, 1, {1}};
}

OpCase concatCase(Rng& rng) {
    const Shape shape = shapeOf(rng, 1 + rng.below(3));
    const std::int64_t axis = between(rng, -static_cast<std::int64_t>(shape.size()), static_cast<std::int64_t>(shape.size()) - 1);
    OpCase c{"Concat", 13, {{"axis", axis}}, {}};
    const DType type = kTypes[rng.below(std::size(kTypes))];
    for (std::uint64_t i = 0; i < 1 + rng.below(4); ++i) {
        Shape part = shape;
        part[axis < 0 ? axis + shape.size() : axis] = between(rng, 0, 3);
        c.inputs.push_back(randomTensor(rng, type, part));
    }
    return c;
}

OpCase splitCase(Rng& rng) {
    const Shape lengths{between(rng, 0, 3), between(rng, 1, 3), between(rng, 1, 2)};
    return {"Split", 13, {{"axis", std::int64_t(1)}},
            {dataOf(rng, {2, lengths[0] + lengths[1] + lengths[2], 3}), Tensor::ofInts(lengths)}, 3, {1}};
}

OpCase sliceCase(Rng& rng) {
    const Shape shape = shapeOf(rng, 3, 0);
    const Ints axes = rng.chance(0.5) ? Ints{2, 0} : Ints{-2, -1};
    Ints starts, ends, steps;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        starts.push_back(rng.chance(0.1) ? INT64_MAX : between(rng, -6, 6));
        ends.push_back(rng.chance(0.1) ? INT64_MIN : rng.chance(0.1) ? INT64_MAX : between(rng, -6, 6));
        steps.push_back(rng.chance(0.5) ? between(rng, 1, 3) : between(rng, -3, -1));
    }
    return {"Slice", 13, {},
            {dataOf(rng, shape), Tensor::ofInts(starts), Tensor::ofInts(ends), Tensor::ofInts(axes), Tensor::ofInts(steps)}, 1,
            {1, 2, 3, 4}};
}

OpCase padCase(Rng& rng) {
    static const std::vector<std::string> modes{"constant", "reflect", "edge", "wrap"};
    const std::string mode = modes[rng.below(4)];
    const Shape shape = shapeOf(rng, 1 + rng.below(3));
    Ints pads;
    for (std::size_t i = 0; i < 2 * shape.size(); ++i)
        pads.push_back(between(rng, i % 3 == 0 ? 0 : -shape[i % shape.size()] / 2, 6));
    OpCase c{"Pad", 19, {{"mode", mode}}, {dataOf(rng, shape), Tensor::ofInts(pads)}, 1, {1}};
    if (mode == "constant" && rng.chance(0.7))
        c.inputs.push_back(randomTensor(rng, c.inputs[0].type(), {}));
    if (rng.chance(0.5))
        c.constants.insert(2);
    return c;
}

OpCase gatherCase(Rng& rng) {
    const Shape shape = shapeOf(rng, 3);
    const std::int64_t axis = between(rng, 0, 2);
    OpCase c{"Gather", 13, {{"axis", axis}}, {dataOf(rng, shape), indicesOf(rng, shapeOf(rng, rng.below(3), 0), shape[axis])}};
    if (rng.chance(0.5))
        c.constants.insert(1);
    return c;
}

OpCase gatherElementsCase(Rng& rng) {
    const Shape shape = shapeOf(rng, 2);
    return {"GatherElements", 13, {{"axis", std::int64_t(1)}},
            {dataOf(rng, shape), indicesOf(rng, {between(rng, 0, shape[0]), between(rng, 1, 5)}, shape[1])}};
}

OpCase gatherNdCase(Rng& rng) {
    const std::int64_t batch = between(rng, 0, 1), depth = between(rng, 1, 2);
    return {"GatherND", 13, {{"batch_dims", batch}},
            {dataOf(rng, {3, 3, 3}), indicesOf(rng, {3, between(rng, 1, 3), depth}, 3)}};
}

OpCase expandCase(Rng& rng) {
    Shape shape = shapeOf(rng, 3), wanted = shape;
    for (std::size_t d = 0; d < 3; ++d)
        if (rng.chance(0.4))
            shape[d] = 1;
        else if (rng.chance(0.4))
            wanted[d] = 1;
    if (rng.chance(0.3))
        wanted.insert(wanted.begin(), 2);
    return {"Expand", 13, {}, {dataOf(rng, shape), Tensor::ofInts(wanted)}, 1, {1}};
}

OpCase tileCase(Rng& rng) {
    return {"Tile", 13, {}, {dataOf(rng, shapeOf(rng, 3)), Tensor::ofInts({between(rng, 0, 3), 1, between(rng, 1, 3)})}, 1, {1}};
}

OpCase castCase(Rng& rng) {
    static const std::vector<DType> types{DType::f32, DType::f16, DType::f64, DType::i64, DType::i32, DType::i8, DType::boolean, DType::bf16};
    return {"Cast", 13, {{"to", static_cast<std::int64_t>(types[rng.below(types.size())])}}, {dataOf(rng, shapeOf(rng, 2))}};
}

OpCase blocksCase(Rng& rng) {
    const std::int64_t block = between(rng, 1, 3);
    if (rng.chance(0.5))
        return {"SpaceToDepth", 13, {{"blocksize", block}}, {dataOf(rng, {2, 2, block * 2, block * 3})}};
    return {"DepthToSpace", 13, {{"blocksize", block}, {"mode", std::string(rng.chance(0.5) ? "DCR" : "CRD")}},
            {dataOf(rng, {2, block * block * 2, 2, 3})}};
}

OpCase resizeCase(Rng& rng) {
    static const std::vector<std::string> coordinates{"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
                                                      "tf_half_pixel_for_nn"};
    static const std::vector<std::string> roundings{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    static const std::vector<std::string> modes{"nearest", "linear", "cubic"};
    const Shape shape{1, 2, between(rng, 1, 6), between(rng, 1, 6)};
    OpCase c{"Resize", 13,
             {{"mode", modes[rng.below(3)]}, {"nearest_mode", roundings[rng.below(4)]},
              {"coordinate_transformation_mode", coordinates[rng.below(coordinates.size())]}},
             {randomTensor(rng, DType::f32, shape), Tensor(), Tensor(), Tensor()}, 1, {2, 3}};
    static const std::vector<float> scales{0.5f, 1.0f, 1.5f, 2.0f, 3.0f};
    if (rng.chance(0.5))
        c.inputs[3] = Tensor::ofInts({1, 2, between(rng, 1, 9), between(rng, 1, 9)});
    else
        c.inputs[2] = floats({4}, {1, 1, shape[2] > 1 ? scales[rng.below(5)] : 2.0f, shape[3] > 1 ? scales[rng.below(5)] : 1.0f});
    return c;
}

OpCase oneHotCase(Rng& rng) {
    return {"OneHot", 11, {{"axis", between(rng, -1, 1)}},
            {indicesOf(rng, shapeOf(rng, 2), 6), Tensor::scalar(std::int64_t(4)), randomTensor(rng, DType::f32, {2})}, 1, {1}};
}

OpCase triluCase(Rng& rng) {
    return {"Trilu", 14, {{"upper", between(rng, 0, 1)}},
            {dataOf(rng, shapeOf(rng, 3)), Tensor::scalar(between(rng, -3, 3))}, 1, {1}};
}

OpCase reverseSequenceCase(Rng& rng) {
    return {"ReverseSequence", 10, {{"batch_axis", std::int64_t(1)}, {"time_axis", std::int64_t(0)}},
            {dataOf(rng, {4, 3, 2}), Tensor::ofInts({between(rng, 0, 4), between(rng, 1, 4), 2})}};
}

OpCase squeezeCase(Rng& rng) {
    if (rng.chance(0.5))
        return {"Unsqueeze", 13, {}, {dataOf(rng, shapeOf(rng, 2)), Tensor::ofInts({-1, 1})}, 1, {1}};
    return {"Squeeze", 11, {{"axes", Ints{0, -2}}}, {dataOf(rng, {1, between(rng, 1, 3), 1, 4})}};
}

} // namespace

Q_DECLARE_METATYPE(Maker)

void MovementTest::lowerings_data() {
    QTest::addColumn<Maker>("make");
    QTest::newRow("Transpose") << Maker(transposeCase);
    QTest::newRow("Reshape") << Maker(reshapeCase);
    QTest::newRow("Concat") << Maker(concatCase);
    QTest::newRow("Split") << Maker(splitCase);
    QTest::newRow("Slice") << Maker(sliceCase);
    QTest::newRow("Pad") << Maker(padCase);
    QTest::newRow("Gather") << Maker(gatherCase);
    QTest::newRow("GatherElements") << Maker(gatherElementsCase);
    QTest::newRow("GatherND") << Maker(gatherNdCase);
    QTest::newRow("Expand") << Maker(expandCase);
    QTest::newRow("Tile") << Maker(tileCase);
    QTest::newRow("Cast") << Maker(castCase);
    QTest::newRow("DepthToSpace, SpaceToDepth") << Maker(blocksCase);
    QTest::newRow("Resize") << Maker(resizeCase);
    QTest::newRow("OneHot") << Maker(oneHotCase);
    QTest::newRow("Trilu") << Maker(triluCase);
    QTest::newRow("ReverseSequence") << Maker(reverseSequenceCase);
    QTest::newRow("Squeeze, Unsqueeze") << Maker(squeezeCase);
}

void MovementTest::lowerings() {
    QFETCH(Maker, make);
    Rng rng(20240607);
    for (int i = 0; i < 60; ++i) {
        const OpCase c = make(rng);
        const QString text = compareLowering(c);
        QVERIFY2(text.isEmpty(), (describe(c) + ": " + text.toStdString()).c_str());
    }
}

void MovementTest::results_data() {
    QTest::addColumn<OpCase>("given");
    QTest::addColumn<Tensor>("expected");
    const Tensor six = floats({2, 3}, {1, 2, 3, 4, 5, 6});
    QTest::newRow("transpose") << OpCase{"Transpose", 13, {}, {six}} << floats({3, 2}, {1, 4, 2, 5, 3, 6});
    QTest::newRow("reshape by 0 and -1") << OpCase{"Reshape", 13, {}, {six, Tensor::ofInts({0, -1, 1})}}
                                         << floats({2, 3, 1}, {1, 2, 3, 4, 5, 6});
    QTest::newRow("reshape nothing, allowzero")
        << OpCase{"Reshape", 14, {{"allowzero", std::int64_t(1)}}, {floats({0, 3}, {}), Tensor::ofInts({3, 0})}}
        << floats({3, 0}, {});
    QTest::newRow("flatten at the end") << OpCase{"Flatten", 13, {{"axis", std::int64_t(2)}}, {six}}
                                        << floats({6, 1}, {1, 2, 3, 4, 5, 6});
    QTest::newRow("slice backwards")
        << OpCase{"Slice", 13, {}, {six, Tensor::ofInts({-1}), Tensor::ofInts({INT64_MIN}), Tensor::ofInts({1}), Tensor::ofInts({-2})}}
        << floats({2, 2}, {3, 1, 6, 4});
    QTest::newRow("slice by attributes, past the end")
        << OpCase{"Slice", 9, {{"starts", Ints{1}}, {"ends", Ints{1000}}, {"axes", Ints{0}}}, {six}} << floats({1, 3}, {4, 5, 6});
    QTest::newRow("reflect") << OpCase{"Pad", 13, {{"mode", std::string("reflect")}}, {floats({3}, {1, 2, 3}), Tensor::ofInts({2, 3})}}
                             << floats({8}, {3, 2, 1, 2, 3, 2, 1, 2});
    QTest::newRow("pad by attributes") << OpCase{"Pad", 7, {{"pads", Ints{1, -1}}, {"value", 9.0f}}, {floats({3}, {1, 2, 3})}}
                                       << floats({3}, {9, 1, 2});
    QTest::newRow("range downwards") << OpCase{"Range", 11, {}, {Tensor::scalar(std::int64_t(7)), Tensor::scalar(std::int64_t(0)),
                                                                 Tensor::scalar(std::int64_t(-3))}}
                                     << Tensor::ofInts({7, 4, 1});
    const auto range = [](float start, float limit, float delta) { return OpCase{"Range", 11, {}, {Tensor::scalar(start), Tensor::scalar(limit), Tensor::scalar(delta)}}; };
    QTest::newRow("range whose end rounds") // limit - start is 1 in float32 and above it in float64, as in ONNX Runtime
        << range(0.1F, 1.1F, 0.1F) << floats({11}, {0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F, 0.7F, 0.8F, 0.9F, 1, 1.1F});
    QTest::newRow("range downwards whose end rounds") << range(1.1F, 0.1F, -0.5F) << floats({3}, {1.1F, 0.6F, 0.1F});
    QTest::newRow("shape from the back") << OpCase{"Shape", 15, {{"start", std::int64_t(-1)}}, {six}} << Tensor::ofInts({3});
    QTest::newRow("size of a scalar") << OpCase{"Size", 13, {}, {Tensor::scalar(1.0f)}} << Tensor::scalar(std::int64_t(1));
    QTest::newRow("cumulative, exclusive and reverse")
        << OpCase{"CumSum", 14, {{"exclusive", std::int64_t(1)}, {"reverse", std::int64_t(1)}}, {six, Tensor::scalar(std::int64_t(1))}}
        << floats({2, 3}, {5, 3, 0, 11, 6, 0});
    QTest::newRow("scatter elements, added")
        << OpCase{"ScatterElements", 16, {{"reduction", std::string("add")}, {"axis", std::int64_t(1)}},
                  {six, Tensor::of<std::int64_t>({1, 2}, Ints{1, -2}), floats({1, 2}, {10, 20})}}
        << floats({2, 3}, {1, 32, 3, 4, 5, 6});
    QTest::newRow("scatter rows") << OpCase{"ScatterND", 13, {}, {six, Tensor::of<std::int64_t>({1, 1}, Ints{-1}), floats({1, 3}, {7, 8, 9})}}
                                  << floats({2, 3}, {1, 2, 3, 7, 8, 9});
    QTest::newRow("non-zero") << OpCase{"NonZero", 13, {}, {floats({2, 2}, {0, 1, 2, 0})}}
                              << Tensor::of<std::int64_t>({2, 2}, Ints{0, 1, 1, 0});
    QTest::newRow("one hot before opset 11, from the back") // ONNX says that -1 is no class there; ONNX Runtime does as is here
        << OpCase{"OneHot", 9, {}, {Tensor::ofInts({-1, 0, 3}), Tensor::scalar(std::int64_t(3)), floats({2}, {0, 1})}}
        << floats({3, 3}, {0, 0, 1, 1, 0, 0, 0, 0, 0});
    QTest::newRow("non-zero of a scalar") << OpCase{"NonZero", 13, {}, {Tensor::scalar(2.0F)}} << Tensor::of<std::int64_t>({1, 1}, Ints{0});
    QTest::newRow("top k with equal elements and NaN")
        << OpCase{"TopK", 11, {}, {floats({4}, {2, NAN, 2, 5}), Tensor::ofInts({3})}} << floats({3}, {NAN, 5, 2});
    QTest::newRow("compress") << OpCase{"Compress", 11, {{"axis", std::int64_t(1)}}, {six, Tensor::of<std::uint8_t>({3}, {0, 1, 1}).cast(DType::boolean)}}
                              << floats({2, 2}, {2, 3, 5, 6});
    QTest::newRow("unique") << OpCase{"Unique", 11, {}, {floats({5}, {3, 1, 3, 2, 1})}} << floats({3}, {1, 2, 3});
    const std::vector<std::uint64_t> large{1, std::uint64_t{1} << 63, 1, 7};
    QTest::newRow("unique of uint64") << OpCase{"Unique", 11, {}, {Tensor::of<std::uint64_t>({4}, large)}}
                                      << Tensor::of<std::uint64_t>({3}, {1, 7, std::uint64_t{1} << 63});
    QTest::newRow("upsampled") << OpCase{"Upsample", 9, {}, {floats({1, 1, 1, 2}, {1, 2}), floats({4}, {1, 1, 2, 2})}}
                               << floats({1, 1, 2, 4}, {1, 1, 2, 2, 1, 1, 2, 2});
}

Q_DECLARE_METATYPE(OpCase)
Q_DECLARE_METATYPE(Tensor)

void MovementTest::results() {
    QFETCH(OpCase, given);
    QFETCH(Tensor, expected);
    const auto actual = runKernel(given);
    QVERIFY2(actual.ok(), actual.ok() ? "" : actual.error().message.c_str());
    QCOMPARE(difference(actual->front(), expected), QString());
}

void MovementTest::refused_data() {
    QTest::addColumn<OpCase>("given");
    QTest::addColumn<QString>("says");
    const Tensor six = floats({2, 3}, {1, 2, 3, 4, 5, 6});
    QTest::newRow("reshape to another count") << OpCase{"Reshape", 13, {}, {six, Tensor::ofInts({4, 2})}} << "cannot reshape float32[2,3] to [4, 2]";
    QTest::newRow("two unknown extents") << OpCase{"Reshape", 13, {}, {six, Tensor::ofInts({-1, -1})}} << "more than one -1";
    QTest::newRow("copy of a missing dimension") << OpCase{"Reshape", 13, {}, {six, Tensor::ofInts({6, 1, 0})}} << "cannot reshape";
    QTest::newRow("squeeze 3") << OpCase{"Squeeze", 11, {{"axes", Ints{1}}}, {six}} << "cannot drop dimension 1";
    QTest::newRow("no permutation") << OpCase{"Transpose", 13, {{"perm", Ints{0, 0}}}, {six}} << "perm";
    QTest::newRow("axis out of range") << OpCase{"Concat", 13, {{"axis", std::int64_t(5)}}, {six}} << "axis";
    QTest::newRow("concat misfit") << OpCase{"Concat", 13, {{"axis", std::int64_t(0)}}, {six, floats({1, 2}, {1, 2})}} << "joined";
    QTest::newRow("uneven split") << OpCase{"Split", 13, {{"axis", std::int64_t(1)}}, {six}, 2} << "equal parts";
    QTest::newRow("step 0") << OpCase{"Slice", 13, {}, {six, Tensor::ofInts({0}), Tensor::ofInts({1}), Tensor::ofInts({0}), Tensor::ofInts({0})}} << "step is 0";
    QTest::newRow("gather beyond") << OpCase{"Gather", 13, {}, {six, Tensor::ofInts({2})}} << "index 2 is out of range";
    QTest::newRow("gather far below") << OpCase{"Gather", 13, {}, {six, Tensor::ofInts({INT64_MIN})}} << "out of range";
    QTest::newRow("scatter beyond") << OpCase{"ScatterND", 13, {}, {six, Tensor::of<std::int64_t>({1, 1}, Ints{2}), floats({1, 3}, {7, 8, 9})}} << "out of range";
    QTest::newRow("expand misfit") << OpCase{"Expand", 13, {}, {six, Tensor::ofInts({2, 2})}} << "cannot expand";
    QTest::newRow("giant") << OpCase{"ConstantOfShape", 13, {}, {Tensor::ofInts({1 << 30, 1 << 30, 1})}} << "memory";
    QTest::newRow("negative shape") << OpCase{"ConstantOfShape", 13, {}, {Tensor::ofInts({-1})}} << "shape";
    QTest::newRow("overflowing shape") << OpCase{"ConstantOfShape", 13, {}, {Tensor::ofInts({INT64_MAX, 3})}} << "shape";
    QTest::newRow("range by 0") << OpCase{"Range", 11, {}, {Tensor::scalar(1.f), Tensor::scalar(2.f), Tensor::scalar(0.f)}} << "step is 0";
    QTest::newRow("pad to less than nothing") << OpCase{"Pad", 13, {}, {six, Tensor::ofInts({-2, 0, -1, 0})}} << "cannot pad";
    QTest::newRow("pad with nothing") << OpCase{"Pad", 13, {}, {six, Tensor::ofInts({1, 0, 1, 0}), floats({0}, {})}} << "must be a scalar";
    QTest::newRow("pad with two values") << OpCase{"Pad", 13, {}, {six, Tensor::ofInts({1, 0, 1, 0}), floats({2}, {1, 2})}} << "must be a scalar";
    QTest::newRow("pad with another type") << OpCase{"Pad", 13, {}, {six, Tensor::ofInts({1, 0, 1, 0}), Tensor::ofInts({1})}} << "same element type";
    QTest::newRow("k too large") << OpCase{"TopK", 11, {}, {six, Tensor::ofInts({4})}} << "first 4";
    QTest::newRow("missing input") << OpCase{"Gather", 13, {}, {six, Tensor()}} << "missing";
    QTest::newRow("resize by -1") << OpCase{"Resize", 13, {}, {six, Tensor(), floats({2}, {1, -1})}} << "scale";
}

void MovementTest::refused() {
    QFETCH(OpCase, given);
    QFETCH(QString, says);
    const auto actual = runKernel(given);
    QVERIFY(!actual.ok());
    const QString message = QString::fromStdString(actual.error().message);
    QVERIFY2(message.contains(says) && message.contains("'n'"), qPrintable(message));
}

void MovementTest::strings() {
    const Tensor words = Tensor::ofStrings({2, 2}, {"a", "b", "c", "d"});
    const auto turned = runKernel({"Transpose", 13, {}, {words}});
    QVERIFY(turned.ok());
    QCOMPARE(turned->front().strings(), (std::vector<std::string>{"a", "c", "b", "d"}));
    const auto row = runKernel({"Gather", 13, {}, {words, Tensor::scalar(std::int64_t(-1))}});
    QVERIFY(row.ok());
    QCOMPARE(row->front().strings(), (std::vector<std::string>{"c", "d"}));
}

void MovementTest::namedDimensions() {
    const Dim batch = Dim::named("batch");
    const TensorType data(DType::f32, Dims{batch, 4, 1, 1});
    const auto flat = runRule("Flatten", 13, {}, {data});
    QCOMPARE(flat->front().text(), std::string("float32[batch,4]"));
    const auto reshape = [&](const Ints& shape) {
        const Node node = nodeOf("Reshape", {}, {true, true});
        const Tensor wanted = Tensor::ofInts(shape);
        return runRule(node, 13, {data, TensorType(DType::i64, wanted.shape())}, {Tensor(), wanted})->front().text();
    };
    QCOMPARE(reshape({-1, 4}), std::string("float32[batch,4]"));
    QCOMPARE(reshape({0, -1}), std::string("float32[batch,4]"));
    QCOMPARE(reshape({-1}), std::string("float32[?]"));
    QCOMPARE(runRule("Transpose", 13, {{"perm", Ints{1, 0, 2, 3}}}, {data})->front().text(), std::string("float32[4,batch,1,1]"));
    QCOMPARE(runRule("Concat", 13, {{"axis", std::int64_t(1)}}, {data, data})->front().text(), std::string("float32[batch,8,1,1]"));
}

QTEST_APPLESS_MAIN(MovementTest)
#include "tst_movement.moc"
