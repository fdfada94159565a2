// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <bit>
#include <cmath>

#include "core/base/memory_budget.h"
#include "core/base/rng.h"
#include "core/graph/tensor.h"

using namespace tunesmith;

class TensorTest : public QObject {
    Q_OBJECT
private slots:
    void halvesToFloat();
    void floatsToHalf();
    void bfloats();
    void casts();
    void copiesShareBytes();
    void overflowingShapes();
    void stringsAndScalars();
    void noNumbersReadAsZero();
    void impossibleShapes();
    void hashSeesTypeShapeAndBytes();
};

namespace {

// The value of half bits by the definition: sign, 5 bits of exponent, 10 of fraction.
double halfOracle(unsigned bits) {
    const unsigned exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
        return fraction ? NAN : sign * INFINITY;
    return sign * (exponent ? std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25) : std::ldexp(fraction, -24));
}

// The half nearest to a value in [0, infinity), the even one of two that are equally near, by bisection over all halves.
unsigned nearestHalf(double value) {
    if (value >= 65520)
        return 0x7c00;
    unsigned low = 0, high = 0x7c00;
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        (halfOracle(middle) <= value ? low : high) = middle;
    }
    const double above = high == 0x7c00 ? 65536 : halfOracle(high);
    const double down = value - halfOracle(low), up = above - value;
    return down < up || (down == up && low % 2 == 0) ? low : high;
}

} // namespace

void TensorTest::halvesToFloat() {
    for (unsigned bits = 0; bits < 65536; ++bits) {
        const float value = halfToFloat({static_cast<std::uint16_t>(bits)});
        const double expected = halfOracle(bits);
        QVERIFY2(std::isnan(expected) ? std::isnan(value) : value == expected && std::signbit(value) == std::signbit(expected),
                 qPrintable(QString::number(bits, 16)));
        if (!std::isnan(expected))
            QCOMPARE(unsigned(floatToHalf(value).bits), bits);
    }
    QVERIFY(std::isnan(halfToFloat(floatToHalf(NAN))));
}

void TensorTest::floatsToHalf() {
    Rng rng(7);
    const auto check = [](float value) {
        const unsigned expected = nearestHalf(std::fabs(value)) | (std::signbit(value) ? 0x8000u : 0u);
        QVERIFY2(unsigned(floatToHalf(value).bits) == expected, qPrintable(QString::number(value, 'g', 9)));
    };
    for (unsigned bits = 0; bits < 0x7bff; ++bits) { // the middle between two halves, and its neighbours
        const auto middle = static_cast<float>((halfOracle(bits) + halfOracle(bits + 1)) / 2);
        for (const float value : {middle, std::nextafter(middle, 0.f), std::nextafter(middle, 1e9f), -middle})
            check(value);
    }
    for (int i = 0; i < 100000; ++i) {
        const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(rng.next()));
        if (!std::isnan(value))
            check(value);
    }
}

void TensorTest::bfloats() {
    for (unsigned bits = 0; bits < 65536; ++bits) {
        const float value = bfloatToFloat({static_cast<std::uint16_t>(bits)});
        QCOMPARE(std::bit_cast<std::uint32_t>(value), bits << 16);
        if (std::isnan(value)) {
            QVERIFY(std::isnan(bfloatToFloat(floatToBfloat(value))));
            continue;
        }
        QCOMPARE(unsigned(floatToBfloat(value).bits), bits);
        if ((bits & 0x7f80) == 0x7f80)
            continue;
        const auto half = std::bit_cast<float>(bits << 16 | 0x8000u); // exactly between two: to the even one
        QCOMPARE(unsigned(floatToBfloat(half).bits), bits + bits % 2);
        QCOMPARE(unsigned(floatToBfloat(std::bit_cast<float>(bits << 16 | 0x7fffu)).bits), bits);
        QCOMPARE(unsigned(floatToBfloat(std::bit_cast<float>(bits << 16 | 0x8001u)).bits), bits + 1);
    }
}

void TensorTest::casts() {
    const Tensor floats = Tensor::of<float>({5}, {-1.75f, 0, 2.5f, 300, NAN});
    QCOMPARE(floats.cast(DType::i64).asInts(), (std::vector<std::int64_t>{-1, 0, 2, 300, INT64_MIN}));
    QCOMPARE(floats.cast(DType::boolean).asInts(), (std::vector<std::int64_t>{1, 0, 1, 1, 1}));
    QCOMPARE(floats.cast(DType::f16).asDouble(0), -1.75);
    QCOMPARE(Tensor::ofInts({-1}).cast(DType::u8).asInt(0), std::int64_t(255));
    QCOMPARE(Tensor::of<std::uint8_t>({1}, {200}).cast(DType::i8).asInt(0), std::int64_t(-56));
    QCOMPARE(floats.cast(DType::f32).bytes().data(), floats.bytes().data());
}

void TensorTest::copiesShareBytes() {
    const Tensor a = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
    const Tensor b = a, c = a.reshaped({3, 2});
    QCOMPARE(b.bytes().data(), a.bytes().data());
    QCOMPARE(c.bytes().data(), a.bytes().data());
    QCOMPARE(c.shape(), (Shape{3, 2}));
    QCOMPARE(reinterpret_cast<std::uintptr_t>(a.bytes().data()) % 64, std::uintptr_t(0));
}

void TensorTest::overflowingShapes() {
    QVERIFY(!checkedElementCount(Shape{INT64_MAX, 2}));
    QVERIFY(!checkedElementCount(Shape{2, -1}));
    QVERIFY(!checkedElementCount(Shape{0, -1}));
    QCOMPARE(*checkedElementCount(Shape{INT64_MAX, 0}), std::int64_t(0));
    QCOMPARE(*checkedElementCount(Shape{}), std::int64_t(1));
    QCOMPARE(Tensor::zeros(DType::f32, {3, 0}).byteCount(), std::size_t(0));
}

void TensorTest::stringsAndScalars() {
    const Tensor words = Tensor::ofStrings({2}, {"a", "b"});
    QCOMPARE(words.strings()[1], std::string("b"));
    QCOMPARE(Tensor::scalar(2.5).asDouble(0), 2.5);
    QCOMPARE(Tensor::scalar(2.5).rank(), std::size_t(0));
    QVERIFY(Tensor().absent());
    QCOMPARE(shapeText(Shape{1, 3}), std::string("1x3"));
}

void TensorTest::noNumbersReadAsZero() {
    const Tensor texts = Tensor::ofStrings({2}, {"1", "2"});
    QCOMPARE(texts.asInt(1), std::int64_t(0));
    QCOMPARE(texts.asDouble(1), 0.0);
    QCOMPARE(texts.asInts(), (std::vector<std::int64_t>{0, 0}));
    QCOMPARE(texts.cast(DType::f32).asDouble(1), 0.0);
    QCOMPARE(Tensor::ofInts({1, 2}).cast(DType::string).strings(), (std::vector<std::string>{"", ""}));
    for (const Tensor& other : {Tensor::sequence({texts}), Tensor::nothing(), Tensor()}) {
        QCOMPARE(other.asInt(0), std::int64_t(0));
        QCOMPARE(other.asDouble(0), 0.0);
    }
    QVERIFY(texts.elements().empty());
    QVERIFY(Tensor::ofInts({1, 2}).cast(DType::undefined).absent());
}

void TensorTest::impossibleShapes() {
    for (const Shape& shape : {Shape{std::int64_t{1} << 62}, Shape{std::int64_t{1} << 58}, Shape{-1}, Shape{std::int64_t{1} << 40, std::int64_t{1} << 40}}) {
        QVERIFY_THROWS_EXCEPTION(OutOfValueMemory, Tensor::zeros(DType::f32, shape));
        QVERIFY_THROWS_EXCEPTION(OutOfValueMemory, Tensor::zeros(DType::string, shape));
    }
    QVERIFY(Tensor::zeros(DType::undefined, {2}).absent());
}

void TensorTest::hashSeesTypeShapeAndBytes() {
    const Tensor a = Tensor::of<float>({2}, {1, 2});
    QCOMPARE(a.hash(), Tensor::of<float>({2}, {1, 2}).hash());
    QVERIFY(a.hash() != a.reshaped({1, 2}).hash());
    QVERIFY(a.hash() != Tensor::of<float>({2}, {1, 3}).hash());
    QVERIFY(Tensor::zeros(DType::f32, {2}).hash() != Tensor::zeros(DType::i32, {2}).hash());
}

QTEST_APPLESS_MAIN(TensorTest)
#include "tst_tensor.moc"
