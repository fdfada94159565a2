// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include "op_case.h"

using namespace tunesmith;

Q_DECLARE_METATYPE(tunesmith::OpCase)
Q_DECLARE_METATYPE(tunesmith::Tensor)

// GroupNormalization, CenterCropPad, Col2Im, Resize of long axes and with antialias, and the operators that ONNX took back.
class ImageOperatorsTest : public QObject {
    Q_OBJECT
private slots:
    void knownAnswers_data();
    void knownAnswers();
    void columnsAreTheGradientOfWindows();
    void groupNorm_data();
    void groupNorm();
    void longAxes_data();
    void longAxes();
    void antialias();
    void openShapes();
    void refused_data();
    void refused();
};

namespace {

using Attributes = std::map<std::string, Attribute>;
using Text = std::string;

Tensor counted(const Shape& shape) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < elementCount(shape); ++i)
        values.push_back(static_cast<float>(i + 1));
    return floats(shape, values);
}

OpCase center(const Tensor& x, const Ints& extents, Attributes attributes = {}) {
    return {"CenterCropPad", 18, std::move(attributes), {x, Tensor::ofInts(extents)}, 1, {1}};
}

OpCase columns(const Tensor& x, const Ints& image, const Ints& block, Attributes attributes = {}) {
    return {"Col2Im", 18, std::move(attributes), {x, Tensor::ofInts(image), Tensor::ofInts(block)}};
}

void centerRows() {
    const Tensor x = counted({3, 4});
    QTest::newRow("crop") << center(x, {1, 2}) << floats({1, 2}, {6, 7});
    QTest::newRow("crop an odd rest") << center(x, {2, 1}) << floats({2, 1}, {2, 6});
    QTest::newRow("pad an odd rest") << center(counted({1, 2}), {2, 5})
                                     << floats({2, 5}, {0, 1, 2, 0, 0, 0, 0, 0, 0, 0});
    QTest::newRow("crop and pad") << center(x, {5, 2}) << floats({5, 2}, {0, 0, 2, 3, 6, 7, 10, 11, 0, 0});
    QTest::newRow("named axes") << center(x, {1}, {{"axes", Ints{-2}}}) << floats({1, 4}, {5, 6, 7, 8});
    QTest::newRow("order of axes") << center(x, {2, 1}, {{"axes", Ints{1, 0}}}) << floats({1, 2}, {6, 7});
    QTest::newRow("to nothing") << center(x, {0, 4}) << floats({0, 4}, {});
    QTest::newRow("from nothing") << center(floats({0}, {}), {2}) << floats({2}, {0, 0});
    QTest::newRow("bool") << center(floats({1}, {1}).cast(DType::boolean), {3})
                          << floats({3}, {0, 1, 0}).cast(DType::boolean);
}

void columnRows() {
    QTest::newRow("blocks beside each other")
        << columns(floats({1, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), {2, 4}, {2, 2}, {{"strides", Ints{1, 2}}})
        << floats({1, 1, 2, 4}, {1, 3, 2, 4, 5, 7, 6, 8});
    QTest::newRow("overlapping") << columns(floats({1, 2, 2}, {1, 2, 3, 4}), {3}, {2}) << floats({1, 1, 3}, {1, 5, 4});
    QTest::newRow("padding is lost") << columns(floats({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), {3}, {2},
                                                {{"pads", Ints{1, 1}}})
                                     << floats({1, 1, 3}, {7, 9, 11});
    QTest::newRow("dilated") << columns(floats({1, 2, 1}, {1, 2}), {3}, {2}, {{"dilations", Ints{2}}})
                             << floats({1, 1, 3}, {1, 0, 2});
    QTest::newRow("channels") << columns(floats({1, 2, 1}, {1, 2}), {1}, {1}) << floats({1, 2, 1}, {1, 2});
}

void experimentalRows() {
    const Tensor x = floats({2}, {-1, 2}), image = counted({1, 2, 2, 3});
    QTest::newRow("affine") << OpCase{"Affine", 8, {{"alpha", 2.0F}, {"beta", 1.0F}}, {x}} << floats({2}, {-1, 5});
    QTest::newRow("scaled tanh") << OpCase{"ScaledTanh", 8, {{"alpha", 2.0F}, {"beta", 0.5F}}, {x}}
                                 << floats({2}, {-0.924234F, 1.523188F});
    QTest::newRow("parametric softplus") << OpCase{"ParametricSoftplus",
                                                   8,
                                                   {{"alpha", 2.0F}, {"beta", 1.0F}},
                                                   {floats({2}, {0, 500})}}
                                         << floats({2}, {1.386294F, 1000});
    QTest::newRow("image scaler") << OpCase{"ImageScaler",
                                            8,
                                            {{"scale", 2.0F}, {"bias", std::vector<float>{1, -1}}},
                                            {image}}
                                  << floats({1, 2, 2, 3}, {3, 5, 7, 9, 11, 13, 13, 15, 17, 19, 21, 23});
    QTest::newRow("crop border") << OpCase{"Crop", 8, {{"border", Ints{1, 0, 1, 1}}}, {image}}
                                 << floats({1, 2, 1, 1}, {2, 8});
    QTest::newRow("crop scale") << OpCase{"Crop", 8, {{"border", Ints{1, 1, 0, 0}}, {"scale", Ints{1, 2}}}, {image}}
                                << floats({1, 2, 1, 2}, {5, 6, 11, 12});
}

} // namespace

void ImageOperatorsTest::knownAnswers_data() {
    QTest::addColumn<OpCase>("c");
    QTest::addColumn<Tensor>("y");
    centerRows();
    columnRows();
    experimentalRows();
}

void ImageOperatorsTest::knownAnswers() {
    QFETCH(OpCase, c);
    QFETCH(Tensor, y);
    QCOMPARE(answerDifference(c, y), QString());
    if (findOperator(c.op)->lower)
        QCOMPARE(compareLowering(c), QString());
}

// <unfolded x, c> = <x, folded c>: unfolding is a convolution with one filter per tap.
void ImageOperatorsTest::columnsAreTheGradientOfWindows() {
    Rng rng(6);
    const Attributes windows{{"pads", Ints{1, 0, 2, 1}}, {"strides", Ints{2, 1}}, {"dilations", Ints{1, 2}}};
    const Tensor x = randomTensor(rng, DType::f32, {2, 1, 5, 6});
    Tensor taps = Tensor::zeros(DType::f32, {6, 1, 2, 3});
    for (std::size_t tap = 0; tap < 6; ++tap)
        taps.mutableData<float>()[tap * 6 + tap] = 1;
    const auto unfolded = runKernel({"Conv", 11, windows, {x, taps}});
    QVERIFY(unfolded.ok());
    const Shape shape = unfolded->front().shape();
    const Tensor c = randomTensor(rng, DType::f32, {2, 6, shape[2] * shape[3]});
    const auto folded = runKernel(columns(c, {5, 6}, {2, 3}, windows));
    QVERIFY2(folded.ok(), folded.ok() ? "" : folded.error().message.c_str());
    double left = 0, right = 0;
    for (std::int64_t i = 0; i < c.count(); ++i)
        left += unfolded->front().asDouble(i) * c.asDouble(i);
    for (std::int64_t i = 0; i < x.count(); ++i)
        right += folded->front().asDouble(i) * x.asDouble(i);
    QVERIFY(std::fabs(left - right) < 1e-4 * (1 + std::fabs(left)));
}

void ImageOperatorsTest::groupNorm_data() {
    QTest::addColumn<Shape>("shape");
    QTest::addColumn<qint64>("groups");
    QTest::addColumn<qint64>("opset");
    for (const qint64 opset : {18, 21}) {
        QTest::addRow("images %d", static_cast<int>(opset)) << Shape{2, 6, 3, 4} << qint64{2} << opset;
        QTest::addRow("no positions %d", static_cast<int>(opset)) << Shape{3, 4} << qint64{2} << opset;
        QTest::addRow("a group each %d", static_cast<int>(opset)) << Shape{1, 3, 5} << qint64{3} << opset;
        QTest::addRow("one group %d", static_cast<int>(opset)) << Shape{2, 3, 5} << qint64{1} << opset;
    }
}

// Against InstanceNormalization of the groups as channels.
void ImageOperatorsTest::groupNorm() {
    QFETCH(Shape, shape);
    QFETCH(qint64, groups);
    QFETCH(qint64, opset);
    Rng rng(8);
    const std::int64_t slices = opset < 21 ? groups : shape[1];
    const Tensor x = randomTensor(rng, DType::f32, shape), scale = randomTensor(rng, DType::f32, {slices}),
                 bias = randomTensor(rng, DType::f32, {slices});
    const OpCase c{
        "GroupNormalization", opset, {{"num_groups", std::int64_t{groups}}, {"epsilon", 0.01F}}, {x, scale, bias}};
    const auto result = runKernel(c);
    QVERIFY2(result.ok(), result.ok() ? "" : result.error().message.c_str());
    const std::int64_t inGroup = x.count() / shape[0] / groups;
    const auto ones = runKernel({"Expand", 13, {}, {floats({1}, {1}), Tensor::ofInts({groups})}});
    const auto plain =
        runKernel({"InstanceNormalization",
                   6,
                   {{"epsilon", 0.01F}},
                   {x.reshaped({shape[0], groups, inGroup}), ones->front(), Tensor::zeros(DType::f32, {groups})}});
    QVERIFY(plain.ok());
    const std::int64_t positions = x.count() / shape[0] / slices;
    for (std::int64_t i = 0; i < x.count(); ++i) {
        const std::int64_t slice = i / positions % slices;
        const double expected = plain->front().asDouble(i) * scale.asDouble(slice) + bias.asDouble(slice);
        QVERIFY(std::fabs(result->front().asDouble(i) - expected) < 1e-4 * (1 + std::fabs(expected)));
    }
    QCOMPARE(compareLowering(c), QString());
}

void ImageOperatorsTest::longAxes_data() {
    QTest::addColumn<Shape>("from");
    QTest::addColumn<Shape>("to");
    QTest::addColumn<QString>("mode");
    QTest::addColumn<QString>("coordinates");
    QTest::addColumn<bool>("isWide");
    QTest::newRow("seconds of sound") << Shape{147000} << Shape{160000} << "linear" << "half_pixel" << true;
    QTest::newRow("cubic") << Shape{8192} << Shape{3000} << "cubic" << "half_pixel" << true;
    QTest::newRow("one axis of two") << Shape{9000, 2} << Shape{4001, 3} << "linear" << "align_corners" << true;
    QTest::newRow("offset") << Shape{1 << 16} << Shape{1000} << "linear" << "half_pixel" << true;
    QTest::newRow("a picture") << Shape{108, 1920} << Shape{45, 448} << "linear" << "half_pixel" << true;
    QTest::newRow("steep weights") << Shape{800} << Shape{1333} << "cubic" << "half_pixel" << true;
    QTest::newRow("short") << Shape{320} << Shape{199} << "linear" << "half_pixel" << false;
    QTest::newRow("short cubic") << Shape{60, 100} << Shape{37, 7} << "cubic" << "half_pixel" << false;
    QTest::newRow("a whole factor") << Shape{1 << 15} << Shape{1 << 16} << "linear" << "half_pixel" << false;
    QTest::newRow("every third") << Shape{6000} << Shape{2000} << "linear" << "asymmetric" << false;
}

// Positions of long axes are computed in float64; where float32 has them, it stays.
void ImageOperatorsTest::longAxes() {
    QFETCH(Shape, from);
    QFETCH(Shape, to);
    QFETCH(QString, mode);
    QFETCH(QString, coordinates);
    QFETCH(bool, isWide);
    Rng rng(10);
    Tensor x = randomTensor(rng, DType::f32, from, 0.9, 1);
    for (std::int64_t i = 1; i < x.count(); i += 2)
        x.mutableData<float>()[i] *= -1; // so that a shift shows most
    const Attributes attributes{{"mode", mode.toStdString()}, {"coordinate_transformation_mode", coordinates.toStdString()}};
    const OpCase c{"Resize", 13, attributes, {x, Tensor(), Tensor(), Tensor::ofInts(to)}, 1, {3}};
    const auto program = lowerCase(c);
    QVERIFY2(program.ok(), program.ok() ? "" : program.error().message.c_str());
    QCOMPARE(QString::fromStdString(loops::toText(program->stages.back().body)).contains("float64"), isWide);
    QCOMPARE(compareLowering(c), QString());
}

void ImageOperatorsTest::antialias() {
    const auto resized = [](const Tensor& x, float factor, Attributes attributes) {
        attributes["antialias"] = std::int64_t{1};
        return runKernel({"Resize", 18, attributes, {x, Tensor(), floats({1}, {factor})}});
    };
    const Tensor x = floats({4}, {1, 2, 3, 4}), steep = floats({4}, {0, 0, 8, 0});
    const auto half = resized(x, 0.5F, {{"mode", Text("linear")}});
    QVERIFY2(half.ok(), half.ok() ? "" : half.error().message.c_str());
    // A triangle of half width 2 around 0.5 and 2.5: 1, 3, 3, 1 eighths, with the edge repeated.
    QCOMPARE(difference(half->front(), floats({2}, {1.625F, 3.375F})), QString());
    QCOMPARE(difference(resized(steep, 0.5F, {{"mode", Text("linear")}})->front(), floats({2}, {1, 3})), QString());
    const auto excluded = resized(steep, 0.5F, {{"mode", Text("linear")}, {"exclude_outside", std::int64_t{1}}});
    QCOMPARE(difference(excluded->front(), floats({2}, {8.0F / 7, 24.0F / 7})), QString());
    const auto cubic = resized(floats({8}, {5, 5, 5, 5, 5, 5, 5, 5}), 0.25F, {{"mode", Text("cubic")}});
    QVERIFY(cubic.ok());
    QCOMPARE(difference(cubic->front(), floats({2}, {5, 5})), QString());
    const OpCase plain{"Resize", 18, {{"mode", Text("linear")}}, {x, Tensor(), floats({1}, {2})}};
    const auto larger = resized(x, 2, {{"mode", Text("linear")}});
    QCOMPARE(difference(larger->front(), runKernel(plain)->front()), QString()); // only shrinking is filtered
}

void ImageOperatorsTest::openShapes() {
    const TensorType images(DType::f32, Dims{Dim::named("n"), 6, Dim::named("h"), Dim()});
    QCOMPARE(runRule("GroupNormalization", 18, {{"num_groups", std::int64_t{3}}},
                     {images, TensorType(DType::f32, Shape{3}), DType::f32})
                 ->front()
                 .text(),
             std::string("float32[n,6,h,?]"));
    QCOMPARE(runRule("CenterCropPad", 18, {{"axes", Ints{2, 3}}}, {images, TensorType(DType::i64, Shape{2})})
                 ->front()
                 .text(),
             std::string("float32[n,6,?,?]"));
    const auto columnsRule = runRule(nodeOf("Col2Im", {}, {true, true, true}), 18,
                                     {TensorType(DType::f32, Dims{Dim::named("n"), Dim(), 4}), DType::i64, DType::i64},
                                     {Tensor(), Tensor::ofInts({3, 3}), Tensor::ofInts({2, 2})});
    QVERIFY2(columnsRule.ok(), columnsRule.ok() ? "" : columnsRule.error().message.c_str());
    QCOMPARE(columnsRule->front().text(), std::string("float32[n,?,3,3]"));
    QCOMPARE(runRule("Crop", 8, {{"border", Ints{1, 1, 1, 1}}}, {images})->front().text(),
             std::string("float32[n,6,?,?]"));
}

void ImageOperatorsTest::refused_data() {
    QTest::addColumn<OpCase>("c");
    QTest::addColumn<QString>("words");
    const auto row = [](const char* name, const OpCase& c, const char* words) { QTest::newRow(name) << c << words; };
    const Tensor x = counted({1, 4, 2, 2}), two = floats({2}, {1, 1});
    const auto group = [&](Attributes attributes, const Tensor& scale) {
        return OpCase{"GroupNormalization", 18, std::move(attributes), {x, scale, two}};
    };
    row("no groups", group({}, two), "num_groups, at least 1");
    row("groups", group({{"num_groups", std::int64_t{3}}}, two), "cannot be split into 3 groups");
    row("scale", group({{"num_groups", std::int64_t{2}}}, floats({4}, {1, 1, 1, 1})), "one value per group");
    row("extents", center(x, {1, 2}), "has 2 extents for 4 axes");
    row("negative extent", center(x, {1, 1, -1, 1}), "an extent is -1");
    row("axis", center(x, {1}, {{"axes", Ints{4}}}), "axis 4 is out of range");
    row("axis twice", center(x, {1, 1}, {{"axes", Ints{1, -3}}}), "comes twice");
    row("windows", columns(floats({1, 2, 3}, {1, 2, 3, 4, 5, 6}), {3}, {2}), "does not hold 2 windows of 2 elements");
    row("block", columns(floats({1, 3, 2}, {1, 2, 3, 4, 5, 6}), {3}, {2}), "does not hold 2 windows");
    row("ranks", columns(floats({1, 2, 2}, {1, 2, 3, 4}), {3}, {2, 1}), "image_shape has 1 extents and block_shape 2");
    row("empty image", columns(floats({1, 2, 2}, {1, 2, 3, 4}), {0}, {2}), "are not possible");
    row("too many windows", columns(floats({1, 1, 0}, {}), {1 << 20, 1 << 20, 1 << 20}, {1, 1, 1}, {{"pads", Ints(6, 1 << 30)}}), "has too many windows");
    row("window too large", columns(floats({1, 4, 1}, {1, 2, 3, 4}), {3}, {4}), "does not fit into an extent of 3");
    row("antialias of nearest",
        {"Resize", 18, {{"antialias", std::int64_t{1}}}, {x, Tensor(), floats({4}, {1, 1, 2, 2})}},
        "antialias needs the mode linear or cubic");
    row("biases", {"ImageScaler", 8, {{"bias", std::vector<float>{1}}}, {x}}, "has 1 biases");
    row("border", {"Crop", 8, {{"border", Ints{1, 1}}}, {x}}, "needs a border of four numbers");
    row("border too large", {"Crop", 8, {{"border", Ints{2, 0, 1, 0}}}, {x}}, "cannot cut that much");
    row("negative border", {"Crop", 8, {{"border", Ints{-1, 0, 0, 0}}}, {x}}, "is not possible");
    row("scale too large", {"Crop", 8, {{"border", Ints{0, 0, 0, 0}}, {"scale", Ints{3, 1}}}, {x}},
        "cannot cut that much");
}

void ImageOperatorsTest::refused() {
    QFETCH(OpCase, c);
    QFETCH(QString, words);
    QCOMPARE(refusalDifference(c, words), QString());
}

QTEST_GUILESS_MAIN(ImageOperatorsTest)
#include "tst_image_operators.moc"
