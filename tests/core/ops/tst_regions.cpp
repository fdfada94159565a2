// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>
#include <limits>
#include <numeric>

#include "op_case.h"

using namespace tunesmith;

Q_DECLARE_METATYPE(tunesmith::OpCase)
Q_DECLARE_METATYPE(tunesmith::Tensor)

// Operators that read images at computed places: GridSample, AffineGrid, RoiAlign, MaxRoiPool, DeformConv; and
// NonMaxSuppression, which chooses among boxes.
class RegionsTest : public QObject {
    Q_OBJECT
private slots:
    void knownAnswers_data();
    void knownAnswers();
    void identityGrid_data();
    void identityGrid();
    void farAwayIsOutside();
    void deformedByNothingIsConvolution_data();
    void deformedByNothingIsConvolution();
    void suppression_data();
    void suppression();
    void zeroSized();
    void openShapes();
    void refused_data();
    void refused();
};

namespace {

using Attributes = std::map<std::string, Attribute>;
using Strings = std::string;

const std::int64_t kOne = 1, kZero = 0;
const Tensor kNone;

// [1, 1, 2, 3]
const Tensor kImage = floats({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});

OpCase gridSample(const std::vector<float>& positions, Attributes attributes = {}, std::int64_t opset = 20) {
    const auto count = static_cast<std::int64_t>(positions.size()) / 2;
    return {"GridSample", opset, std::move(attributes), {kImage, floats({1, 1, count, 2}, positions)}};
}
Tensor sampled(const std::vector<float>& values) {
    return floats({1, 1, 1, static_cast<std::int64_t>(values.size())}, values);
}

void gridRows() {
    const Strings zeros = "zeros", border = "border", reflection = "reflection", nearest = "nearest", cubic = "cubic";
    QTest::newRow("corners aligned") << gridSample({-1, -1, 1, 1, 0, 0, 0.5F, 1}, {{"align_corners", kOne}})
                                     << sampled({1, 6, 3.5F, 5.5F});
    QTest::newRow("corners not aligned") << gridSample({0, 0, -1, -1, 1, 1}) << sampled({3.5F, 0.25F, 1.5F});
    QTest::newRow("border") << gridSample({-1, -1, 1, 1, 9, 0}, {{"padding_mode", border}}) << sampled({1, 6, 4.5F});
    QTest::newRow("reflection") << gridSample({2, 0, -2, 0}, {{"padding_mode", reflection}, {"align_corners", kOne}})
                                << sampled({3.5F, 3.5F});
    QTest::newRow("reflection not aligned")
        << gridSample({5.0F / 3, -0.5F}, {{"padding_mode", reflection}}) << sampled({2.5F});
    QTest::newRow("nearest") << gridSample({-0.9F, -0.9F, 0.2F, 0.4F, 3, 0}, {{"mode", nearest}}) << sampled({1, 5, 0});
    QTest::newRow("nearest border") << gridSample({3, 0.9F}, {{"mode", nearest}, {"padding_mode", border}})
                                    << sampled({6});
    QTest::newRow("names before opset 20")
        << gridSample({0, 0}, {{"mode", Strings("bilinear")}}, 16) << sampled({3.5F});
    QTest::newRow("cubic on an element") << gridSample({0, 0.5F}, {{"mode", cubic}}) << sampled({5});
    QTest::newRow("cubic beyond the border") // taps at -2, -1, 0 and 1 with t = 0.5; the first three read element 0
        << OpCase{"GridSample",
                  20,
                  {{"mode", cubic}, {"padding_mode", border}, {"align_corners", kOne}},
                  {floats({1, 1, 3}, {0, 8, 0}), floats({1, 1, 1}, {-1.5F})}}
        << floats({1, 1, 1}, {-0.75F});
    QTest::newRow("affine grid of one element")
        << OpCase{"AffineGrid",
                  20,
                  {{"align_corners", kOne}},
                  {floats({1, 2, 3}, {1, 0, 0, 0, 1, 0}), Tensor::ofInts({1, 1, 1, 1})}}
        << floats({1, 1, 1, 2}, {1, 1});
    QTest::newRow("signals") << OpCase{"GridSample",
                                       20,
                                       {{"align_corners", kOne}},
                                       {floats({1, 2, 3}, {1, 2, 4, 10, 20, 40}), floats({1, 2, 1}, {0.5F, -1})}}
                             << floats({1, 2, 2}, {3, 1, 30, 10});
    QTest::newRow("volumes") << OpCase{"GridSample",
                                       20,
                                       {{"align_corners", kOne}},
                                       {floats({1, 1, 2, 1, 2}, {1, 2, 3, 4}),
                                        floats({1, 1, 1, 2, 3}, {-1, 0, 1, 0, 0, 0})}}
                             << floats({1, 1, 1, 1, 2}, {3, 2.5F});
    QTest::newRow("affine grid") << OpCase{"AffineGrid",
                                           20,
                                           {},
                                           {floats({1, 2, 3}, {1, 0, 0.5F, 0, 2, 0}), Tensor::ofInts({1, 1, 2, 2})}}
                                 << floats({1, 2, 2, 2}, {0, -1, 1, -1, 0, 1, 1, 1});
    QTest::newRow("affine grid aligned") << OpCase{"AffineGrid",
                                                   20,
                                                   {{"align_corners", kOne}},
                                                   {floats({1, 2, 3}, {0, 1, 0, 1, 0, 0}),
                                                    Tensor::ofInts({1, 1, 2, 3})}}
                                         << floats({1, 2, 3, 2}, {-1, -1, -1, 0, -1, 1, 1, -1, 1, 0, 1, 1});
}

// A row whose elements are their indices, sampled at the nearest ones.
template <class T> OpCase nearestInRow(std::int64_t extent, const std::vector<T>& places, bool aligned = false) {
    Tensor row = Tensor::zeros(DType::f32, {1, 1, extent}), grid = Tensor::of<T>({1, static_cast<std::int64_t>(places.size()), 1}, places);
    for (std::int64_t i = 0; i < extent; ++i)
        row.mutableData<float>()[i] = static_cast<float>(i);
    return {"GridSample", 20, {{"mode", Strings("nearest")}, {"align_corners", aligned ? kOne : kZero}}, {row, grid}};
}

// Between two elements the even one is taken; float32 decides by its own rounding what lies there.
void tieRows() {
    const auto found = [](const std::vector<float>& indices) { return floats({1, 1, static_cast<std::int64_t>(indices.size())}, indices); };
    QTest::newRow("ties") << nearestInRow<float>(5, {-0.2F, 0.2F}) << found({2, 2});
    QTest::newRow("ties aligned") << nearestInRow<float>(6, {-0.4F, 0.8F}, true) << found({2, 4});
    QTest::newRow("ties of float64") << nearestInRow<double>(5, {-0.2, 0.2}) << found({2, 2});
    QTest::newRow("no ties in float64") << nearestInRow<double>(5, {-0.2F, 0.2F}) << found({1, 3});
}

OpCase roiAlign(const std::vector<float>& region, Attributes attributes, std::int64_t opset = 16) {
    return {"RoiAlign",
            opset,
            std::move(attributes),
            {floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), floats({1, 4}, region), Tensor::ofInts({0})}};
}
Tensor pooled(const Shape& shape, const std::vector<float>& values) {
    return floats({1, 1, shape[0], shape[1]}, values);
}

void roiRows() {
    const Attributes two{{"output_height", std::int64_t{2}}, {"output_width", std::int64_t{2}}};
    const auto with = [](Attributes attributes, const char* name, const Attribute& value) {
        attributes[name] = value;
        return attributes;
    };
    QTest::newRow("one sample each") << roiAlign({0.5F, 0.5F, 2.5F, 2.5F}, with(two, "sampling_ratio", kOne))
                                     << pooled({2, 2}, {3, 4, 6, 7});
    QTest::newRow("without half pixels") << roiAlign({0, 0, 2, 2}, two, 10) << pooled({2, 2}, {3, 4, 6, 7});
    QTest::newRow("scaled") << roiAlign({1, 1, 5, 5}, with(with(two, "spatial_scale", 0.5F), "sampling_ratio", kOne))
                            << pooled({2, 2}, {3, 4, 6, 7});
    QTest::newRow("at least one element")
        << roiAlign({1, 1, 1, 1}, {{"coordinate_transformation_mode", Strings("output_half_pixel")}})
        << pooled({1, 1}, {7});
    QTest::newRow("several samples") << roiAlign({0.5F, 0.5F, 2.5F, 2.5F}, {{"sampling_ratio", std::int64_t{2}}})
                                     << pooled({1, 1}, {5});
    QTest::newRow("outside") << roiAlign({-9, -9, -8, -8}, {}) << pooled({1, 1}, {0});
    QTest::newRow("nothing to sample") << roiAlign({2, 2, 1, 1}, {}) << pooled({1, 1}, {0});
    QTest::newRow("max on elements") << roiAlign({0.5F, 0.5F, 4.5F, 2.5F},
                                                 {{"mode", Strings("max")}, {"sampling_ratio", std::int64_t{2}}})
                                     << pooled({1, 1}, {4.5F});
    // From -0.4 to 0.6: in float32 a length of 1 and one sample, in the digits that float64 keeps of the corners two of them.
    OpCase whole = roiAlign({0.1F, 0.1F, 1.1F, 1.1F}, {});
    QTest::newRow("samples counted in float32") << whole << pooled({1, 1}, {1.4F});
    for (const std::size_t i : {0, 1})
        whole.inputs[i] = whole.inputs[i].cast(DType::f64);
    QTest::newRow("samples counted in float64") << whole << pooled({1, 1}, {1.7F}).cast(DType::f64);
    OpCase border = roiAlign({0, 3.7F, 1, 4.9F}, {});
    border.inputs[0] = floats({1, 1, 4, 4}, std::vector<float>(16, 1));
    QTest::newRow("a sample on the border in float32") << border << pooled({1, 1}, {0.5F});
    std::vector<float> counted(40);
    std::iota(counted.begin(), counted.end(), 1.0F);
    QTest::newRow("max roi pool, bins of float32")
        << OpCase{"MaxRoiPool", 1, {{"pooled_shape", Ints{7, 1}}}, {floats({1, 1, 40, 1}, counted), floats({1, 5}, {0, 0, 0, 0, 28})}}
        << floats({1, 1, 7, 1}, {5, 9, 13, 17, 21, 25, 29});
    QTest::newRow("max roi pool, a corner on a half in float32")
        << OpCase{"MaxRoiPool",
                  1,
                  {{"pooled_shape", Ints{1, 1}}, {"spatial_scale", 0.7F}},
                  {floats({1, 1, 1, 6}, {1, 2, 3, 4, 5, 6}), floats({1, 5}, {0, 0, 0, 5, 0})}}
        << floats({1, 1, 1, 1}, {5});
    const Tensor image = floats({1, 1, 3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    QTest::newRow("max roi pool") << OpCase{"MaxRoiPool",
                                            1,
                                            {{"pooled_shape", Ints{1, 2}}},
                                            {image, floats({2, 5}, {0, 0, 0, 3, 1, 0, 2, 1, 9, 9})}}
                                  << floats({2, 1, 1, 2}, {6, 8, 12, 0});
}

} // namespace

void RegionsTest::knownAnswers_data() {
    QTest::addColumn<OpCase>("c");
    QTest::addColumn<Tensor>("y");
    gridRows();
    tieRows();
    roiRows();
}

void RegionsTest::knownAnswers() {
    QFETCH(OpCase, c);
    QFETCH(Tensor, y);
    QCOMPARE(answerDifference(c, y), QString());
}

void RegionsTest::identityGrid_data() {
    QTest::addColumn<Attributes>("attributes");
    for (const char* mode : {"nearest", "linear", "cubic"})
        for (const char* padding : {"zeros", "border", "reflection"})
            for (const std::int64_t align : {0, 1})
                QTest::addRow("%s %s %d", mode, padding, static_cast<int>(align)) << Attributes{
                    {"mode", Strings(mode)}, {"padding_mode", Strings(padding)}, {"align_corners", align}};
}

void RegionsTest::identityGrid() {
    QFETCH(Attributes, attributes);
    Rng rng(2);
    const Tensor x = randomTensor(rng, DType::f32, {2, 3, 4, 5});
    const auto grid = runKernel({"AffineGrid",
                                 20,
                                 {{"align_corners", attributes["align_corners"]}},
                                 {floats({2, 2, 3}, {1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0}), Tensor::ofInts(x.shape())}});
    QVERIFY(grid.ok());
    const auto same = runKernel({"GridSample", 20, attributes, {x, grid->front()}});
    QVERIFY2(same.ok(), same.ok() ? "" : same.error().message.c_str());
    QCOMPARE(difference(same->front(), x), QString());
}

void RegionsTest::farAwayIsOutside() {
    const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    for (const char* mode : {"nearest", "linear", "cubic"}) {
        const auto far =
            runKernel(gridSample({infinity, 0, 0, -infinity, nan, 0, 1e30F, 0}, {{"mode", Strings(mode)}}));
        QVERIFY(far.ok());
        QCOMPARE(difference(far->front(), sampled({0, 0, 0, 0})), QString());
        const auto border = runKernel(gridSample({infinity, 1e30F, -infinity, nan},
                                                 {{"mode", Strings(mode)}, {"padding_mode", Strings("border")}}));
        QVERIFY(border.ok());
        QCOMPARE(difference(border->front(), sampled({6, 1})), QString());
    }
}

void RegionsTest::deformedByNothingIsConvolution_data() {
    QTest::addColumn<Attributes>("attributes");
    QTest::addColumn<QList<qint64>>("window");
    QTest::newRow("plain") << Attributes{} << QList<qint64>{6, 4, 3, 3};
    QTest::newRow("everything") << Attributes{{"group", std::int64_t{2}},
                                              {"offset_group", std::int64_t{2}},
                                              {"pads", Ints{1, 0, 2, 1}},
                                              {"strides", Ints{2, 1}},
                                              {"dilations", Ints{1, 2}}}
                                << QList<qint64>{6, 2, 3, 2};
}

void RegionsTest::deformedByNothingIsConvolution() {
    QFETCH(Attributes, attributes);
    QFETCH(QList<qint64>, window);
    Rng rng(4);
    const Tensor x = randomTensor(rng, DType::f32, {2, 4, 6, 7}),
                 w = randomTensor(rng, DType::f32, Shape(window.begin(), window.end()));
    const Tensor bias = randomTensor(rng, DType::f32, {6});
    Attributes plain = attributes;
    plain.erase("offset_group");
    const auto expected = runKernel({"Conv", 11, plain, {x, w, bias}});
    QVERIFY2(expected.ok(), expected.ok() ? "" : expected.error().message.c_str());
    const std::int64_t groups = attributes.contains("offset_group") ? 2 : 1, taps = w.shape()[2] * w.shape()[3];
    Shape field = expected->front().shape();
    field[1] = groups * taps;
    const Tensor mask = runKernel({"Expand", 13, {}, {floats({1}, {1}), Tensor::ofInts(field)}})->front();
    field[1] *= 2;
    const Tensor still = Tensor::zeros(DType::f32, field);
    const auto deformed = runKernel({"DeformConv", 19, attributes, {x, w, still, bias, mask}});
    QVERIFY2(deformed.ok(), deformed.ok() ? "" : deformed.error().message.c_str());
    QCOMPARE(difference(deformed->front(), expected->front()), QString());
    // One tap, moved by one element to the right and half of one down, counted half.
    const Tensor image = floats({1, 1, 2, 2}, {1, 2, 3, 4}), one = floats({1, 1, 1, 1}, {1});
    const Tensor moves = floats({1, 2, 2, 2}, {0.5F, 0.5F, 0.5F, 0.5F, 1, 1, 1, 1});
    const auto moved =
        runKernel({"DeformConv", 19, {}, {image, one, moves, kNone, floats({1, 1, 2, 2}, {0.5F, 0.5F, 0.5F, 0.5F})}});
    QVERIFY(moved.ok());
    QCOMPARE(difference(moved->front(), floats({1, 1, 2, 2}, {1.5F, 0, 1, 0})), QString());
}

void RegionsTest::suppression_data() {
    QTest::addColumn<OpCase>("c");
    QTest::addColumn<QList<qint64>>("chosen"); // image, class, box
    // Boxes 0 and 1 overlap by two thirds, box 2 lies apart.
    const Tensor boxes = floats({1, 3, 4}, {0, 0, 1, 1, 0, 0.2F, 1, 1.2F, 0, 5, 1, 6}),
                 scores = floats({1, 1, 3}, {0.8F, 0.9F, 0.7F});
    const auto row = [&](const char* name, std::vector<Tensor> inputs, const QList<qint64>& chosen,
                         Attributes attributes = {}) {
        QTest::newRow(name) << OpCase{"NonMaxSuppression", 11, std::move(attributes), std::move(inputs)} << chosen;
    };
    const Tensor many = Tensor::ofInts({9}), overlap = floats({}, {0.5F});
    row("best first", {boxes, scores, many, overlap}, {0, 0, 1, 0, 0, 2});
    row("nothing by default", {boxes, scores}, {});
    row("at most", {boxes, scores, Tensor::ofInts({1}), overlap}, {0, 0, 1});
    row("any overlap by default", {boxes, scores, many}, {0, 0, 1, 0, 0, 2});
    row("all overlaps", {boxes, scores, many, floats({}, {1})}, {0, 0, 1, 0, 0, 0, 0, 0, 2});
    row("score", {boxes, scores, many, overlap, floats({1}, {0.8F})}, {0, 0, 1});
    row("equal scores", {boxes, floats({1, 1, 3}, {1, 1, 1}), many, overlap}, {0, 0, 0, 0, 0, 2});
    row("classes", {boxes, floats({1, 2, 3}, {3, 2, 1, 1, 2, 3}), many, overlap}, {0, 0, 0, 0, 0, 2, 0, 1, 2, 0, 1, 1});
    row("corners in any order",
        {floats({1, 2, 4}, {1, 1, 0, 0, 0, 1.1F, 1, 0.1F}), floats({1, 1, 2}, {1, 2}), many, overlap}, {0, 0, 1});
    row("centres", {floats({1, 2, 4}, {0.5F, 0.5F, 1, 1, 0.6F, 0.5F, 1, 1}), floats({1, 1, 2}, {2, 1}), many, overlap},
        {0, 0, 0}, {{"center_point_box", kOne}});
    row("no area", {floats({1, 2, 4}, {0, 0, 0, 1, 0, 0, 0, 1}), floats({1, 1, 2}, {2, 1}), many, floats({}, {0})},
        {0, 0, 0, 0, 0, 1});
    row("no number", {boxes, floats({1, 1, 3}, {std::numeric_limits<float>::quiet_NaN(), 1, 2}), many, overlap},
        {0, 0, 2, 0, 0, 1});
}

void RegionsTest::suppression() {
    QFETCH(OpCase, c);
    QFETCH(QList<qint64>, chosen);
    const auto result = runKernel(c);
    QVERIFY2(result.ok(), result.ok() ? "" : result.error().message.c_str());
    QCOMPARE(result->front().shape(), (Shape{chosen.size() / 3, 3}));
    QCOMPARE(result->front().asInts(), Ints(chosen.begin(), chosen.end()));
}

void RegionsTest::zeroSized() {
    const auto noPositions = runKernel(gridSample({}));
    QVERIFY(noPositions.ok());
    QCOMPARE(noPositions->front().shape(), (Shape{1, 1, 1, 0}));
    const auto noRegions = runKernel({"RoiAlign", 16, {}, {kImage, floats({0, 4}, {}), Tensor::ofInts({})}});
    QVERIFY(noRegions.ok());
    QCOMPARE(noRegions->front().shape(), (Shape{0, 1, 1, 1}));
    const auto noBoxes =
        runKernel({"NonMaxSuppression", 11, {}, {floats({1, 0, 4}, {}), floats({1, 2, 0}, {}), Tensor::ofInts({3})}});
    QVERIFY(noBoxes.ok());
    QCOMPARE(noBoxes->front().shape(), (Shape{0, 3}));
}

void RegionsTest::openShapes() {
    const TensorType images(DType::f32, Dims{Dim::named("n"), 3, Dim(), Dim()});
    const auto grid =
        runRule("GridSample", 16, {}, {images, TensorType(DType::f32, Dims{Dim(), 7, Dim::named("w"), 2})});
    QCOMPARE(grid->front().text(), std::string("float32[n,3,7,w]"));
    const auto regions =
        runRule("RoiAlign", 16, {}, {images, TensorType(DType::f32, Dims{Dim::named("r"), 4}), DType::i64});
    QCOMPARE(regions->front().text(), std::string("float32[r,3,1,1]"));
    const auto boxes = runRule("NonMaxSuppression", 11, {}, {DType::f32, DType::f32});
    QCOMPARE(boxes->front().text(), std::string("int64[?,3]"));
    const auto affine = runRule("AffineGrid", 20, {}, {DType::f32, TensorType(DType::i64, Shape{4})});
    QVERIFY(affine.ok() && !affine->front().dims);
}

void RegionsTest::refused_data() {
    QTest::addColumn<OpCase>("c");
    QTest::addColumn<QString>("words");
    const auto row = [](const char* name, const OpCase& c, const char* words) { QTest::newRow(name) << c << words; };
    row("mode", gridSample({0, 0}, {{"mode", Strings("area")}}), "mode must be linear, nearest or cubic");
    row("padding", gridSample({0, 0}, {{"padding_mode", Strings("wrap")}}), "padding_mode must be");
    row("components", {"GridSample", 16, {}, {kImage, floats({1, 1, 1, 3}, {0, 0, 0})}}, "do not fit");
    row("batches", {"GridSample", 16, {}, {kImage, floats({2, 1, 1, 2}, {0, 0, 0, 0})}}, "the batches differ");
    row("too many dimensions", {"GridSample", 20, {}, {Tensor::zeros(DType::f32, Shape(9, 1)), Tensor::zeros(DType::f32, {1, 1, 1, 1, 1, 1, 1, 1, 7})}},
        "more than 6 dimensions");
    row("no image", {"GridSample", 16, {}, {floats({1, 1, 0, 3}, {}), floats({1, 1, 1, 2}, {0, 0})}},
        "has no elements to sample");
    row("size", {"AffineGrid", 20, {}, {floats({1, 2, 3}, {1, 0, 0, 0, 1, 0}), Tensor::ofInts({1, 2, 3})}},
        "must have 4 or 5 numbers");
    row("maps", {"AffineGrid", 20, {}, {floats({1, 2, 3}, {1, 0, 0, 0, 1, 0}), Tensor::ofInts({2, 1, 3, 3})}},
        "no list of affine maps");
    row("empty size", {"AffineGrid", 20, {}, {floats({1, 2, 3}, {1, 0, 0, 0, 1, 0}), Tensor::ofInts({1, 1, 0, 3})}},
        "an extent of 0");
    row("pooling mode", roiAlign({0, 0, 1, 1}, {{"mode", Strings("min")}}), "mode must be avg or max");
    row("coordinates", roiAlign({0, 0, 1, 1}, {{"coordinate_transformation_mode", Strings("asymmetric")}}),
        "must be half_pixel or");
    row("sampling_ratio", roiAlign({0, 0, 1, 1}, {{"sampling_ratio", std::int64_t{-1}}}),
        "sampling_ratio cannot be negative");
    row("output", roiAlign({0, 0, 1, 1}, {{"output_width", kZero}}), "cannot make regions of 1x0");
    row("too large", roiAlign({0, 0, 1e8F, 1e8F}, {}), "too large to be sampled");
    row("too many samples", roiAlign({0, 0, 1, 1}, {{"sampling_ratio", std::numeric_limits<std::int64_t>::max()}}),
        "too large to be sampled");
    row("too long", roiAlign({0, 0, 0.5F, 1e8F}, {}), "too large to be sampled");
    OpCase elsewhere = roiAlign({0, 0, 1, 1}, {});
    elsewhere.inputs[2] = Tensor::ofInts({1});
    row("image of a region", elsewhere, "region 0 belongs to image 1 of 1");
    elsewhere.inputs[2] = Tensor::ofInts({0, 0});
    row("images of regions", elsewhere, "each region belongs to one image");
    row("region", {"RoiAlign", 16, {}, {kImage, floats({1, 3}, {0, 0, 1}), Tensor::ofInts({0})}},
        "must have 4 numbers for each region");
    row("rank", {"RoiAlign", 16, {}, {floats({1, 2}, {1, 2}), floats({1, 4}, {0, 0, 1, 1}), Tensor::ofInts({0})}},
        "must be images");
    row("pooled_shape", {"MaxRoiPool", 1, {{"pooled_shape", Ints{2}}}, {kImage, floats({1, 5}, {0, 0, 0, 1, 1})}},
        "must have two numbers");
    row("no image of that number",
        {"MaxRoiPool", 1, {{"pooled_shape", Ints{1, 1}}}, {kImage, floats({1, 5}, {-1, 0, 0, 1, 1})}},
        "belongs to no image");
    const Tensor one = floats({1, 1, 1, 1}, {1});
    row("offsets", {"DeformConv", 19, {}, {kImage, one, Tensor::zeros(DType::f32, {1, 1, 2, 3})}},
        "must be float32[1,2,2,3]");
    row("mask",
        {"DeformConv",
         19,
         {},
         {kImage, one, Tensor::zeros(DType::f32, {1, 2, 2, 3}), kNone, Tensor::zeros(DType::f32, {1, 2, 2, 3})}},
        "must be float32[1,1,2,3]");
    row("offset_group", {"DeformConv", 19, {{"offset_group", kZero}}, {kImage, one, one}},
        "offset_group must be at least 1");
    row("groups of channels", {"DeformConv", 19, {{"offset_group", std::int64_t{2}}}, {kImage, one, one}},
        "cannot be split into 2 groups of offsets");
    row("signals", {"DeformConv", 19, {}, {floats({1, 1, 3}, {1, 2, 3}), floats({1, 1, 1}, {1}), one}}, "only images");
    const Tensor boxes = floats({1, 1, 4}, {0, 0, 1, 1}), scores = floats({1, 1, 1}, {1}), many = Tensor::ofInts({9});
    row("boxes", {"NonMaxSuppression", 11, {}, {floats({1, 1, 3}, {0, 0, 1}), scores}}, "boxes are [N, S, 4]");
    row("scores", {"NonMaxSuppression", 11, {}, {boxes, floats({1, 1, 2}, {1, 2})}}, "boxes are [N, S, 4]");
    row("threshold", {"NonMaxSuppression", 11, {}, {boxes, scores, many, floats({}, {1.5F})}},
        "iou_threshold must be between 0 and 1");
    row("two limits", {"NonMaxSuppression", 11, {}, {boxes, scores, Tensor::ofInts({9, 9})}},
        "input 2 must be a scalar");
    row("type of the limit", {"NonMaxSuppression", 11, {}, {boxes, scores, Tensor::scalar(std::int32_t{9})}},
        "input 2 must be int64");
    row("center_point_box", {"NonMaxSuppression", 11, {{"center_point_box", std::int64_t{2}}}, {boxes, scores, many}},
        "must be 0 or 1");
}

void RegionsTest::refused() {
    QFETCH(OpCase, c);
    QFETCH(QString, words);
    QCOMPARE(refusalDifference(c, words), QString());
}

QTEST_GUILESS_MAIN(RegionsTest)
#include "tst_regions.moc"
