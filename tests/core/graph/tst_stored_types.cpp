// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/stored_types.h"

#include <QTest>
#include <cmath>
#include <limits>

using namespace tunesmith;

Q_DECLARE_METATYPE(tunesmith::DType)

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
constexpr DType kFloats[] = {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::f4e2m1, DType::f8e8m0};
constexpr DType kAll[] = {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::f4e2m1,
                          DType::f8e8m0,   DType::u4,         DType::i4,     DType::u2,         DType::i2};

QByteArray named(DType type) { return QByteArray(dtypeName(type).data(), static_cast<int>(dtypeName(type).size())); }

Tensor counted(std::int64_t count) {
    Tensor codes = Tensor::zeros(DType::u8, {count});
    for (std::int64_t i = 0; i < count; ++i)
        codes.mutableData<std::uint8_t>()[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i);
    return codes;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

} // namespace

class TestStoredTypes : public QObject {
    Q_OBJECT
private slots:
    void everyCodeComesBack_data() {
        QTest::addColumn<DType>("type");
        for (const DType type : kAll)
            QTest::newRow(named(type)) << type;
    }
    void everyCodeComesBack() {
        QFETCH(const DType, type);
        const Tensor codes = counted(1 << bitSize(type)), stored = packCodes(type, codes);
        QCOMPARE(stored.byteCount(), storedBytes(type, codes.count()));
        QCOMPARE(unpackCodes(stored).hash(), codes.hash());
        const Tensor numbers = widenStored(stored), again = narrowStored(numbers, type, {false, StoreRule::Exponent::down});
        QCOMPARE(numbers.type(), widenedType(type));
        for (std::int64_t i = 0; i < codes.count(); ++i) {
            QVERIFY2(same(again.asDouble(i), stored.asDouble(i)), qPrintable(QString::number(i)));
            QVERIFY(same(numbers.asDouble(i), stored.asDouble(i)));
            if (!std::isnan(stored.asDouble(i)))
                QCOMPARE(unpackCodes(again).asInt(i), i);
        }
    }

    // Against the two neighbours: the nearer one is taken, and of two as near the even one.
    void roundsToTheNearest_data() {
        QTest::addColumn<DType>("type");
        for (const DType type : kFloats)
            if (type != DType::f8e8m0)
                QTest::newRow(named(type)) << type;
    }
    void roundsToTheNearest() {
        QFETCH(const DType, type);
        const int half = 1 << (bitSize(type) - 1);
        for (int code = 0; code + 1 < half; ++code) {
            const double low = decodeFloat(type, static_cast<std::uint8_t>(code)), high = decodeFloat(type, static_cast<std::uint8_t>(code + 1));
            if (!std::isfinite(low) || !std::isfinite(high))
                continue;
            const double middle = (low + high) / 2, step = (high - low) / 8;
            QCOMPARE(int(encodeFloat(type, middle - step)), code);
            QCOMPARE(int(encodeFloat(type, middle + step)), code + 1);
            QCOMPARE(int(encodeFloat(type, middle)), code % 2 == 0 ? code : code + 1);
            QCOMPARE(int(encodeFloat(type, -middle - step)), (code + 1) | half);
        }
    }

    void whatIsTooLarge_data() {
        QTest::addColumn<DType>("type");
        QTest::addColumn<double>("value");
        QTest::addColumn<double>("saturated");
        QTest::addColumn<double>("otherwise");
        QTest::newRow("e4m3fn") << DType::f8e4m3fn << 1000.0 << 448.0 << kNan;
        QTest::newRow("e4m3fn, just fits") << DType::f8e4m3fn << 463.0 << 448.0 << 448.0;
        QTest::newRow("e4m3fn, infinity") << DType::f8e4m3fn << -kInf << -448.0 << kNan;
        QTest::newRow("e4m3fnuz") << DType::f8e4m3fnuz << -1000.0 << -240.0 << kNan;
        QTest::newRow("e5m2") << DType::f8e5m2 << 1e6 << 57344.0 << kInf;
        QTest::newRow("e5m2, infinity") << DType::f8e5m2 << -kInf << -57344.0 << -kInf;
        QTest::newRow("e5m2fnuz") << DType::f8e5m2fnuz << 1e6 << 57344.0 << kNan;
        QTest::newRow("e2m1") << DType::f4e2m1 << 100.0 << 6.0 << 6.0;
        QTest::newRow("e2m1, infinity") << DType::f4e2m1 << -kInf << -6.0 << -6.0;
        QTest::newRow("NaN") << DType::f8e4m3fn << kNan << kNan << kNan;
        QTest::newRow("NaN of e5m2") << DType::f8e5m2 << kNan << kNan << kNan;
    }
    void whatIsTooLarge() {
        QFETCH(const DType, type);
        QFETCH(const double, value);
        QFETCH(const double, saturated);
        QFETCH(const double, otherwise);
        const auto stored = [&](bool saturate) { return double(decodeFloat(type, encodeFloat(type, value, {.saturate = saturate}))); };
        QVERIFY2(same(stored(true), saturated), qPrintable(QString::number(stored(true))));
        QVERIFY2(same(stored(false), otherwise), qPrintable(QString::number(stored(false))));
    }

    void scalesArePowersOfTwo() {
        using Exponent = StoreRule::Exponent;
        const auto stored = [](double value, Exponent exponent) { return double(decodeFloat(DType::f8e8m0, encodeFloat(DType::f8e8m0, value, {true, exponent}))); };
        QCOMPARE(stored(3, Exponent::up), 4.0);
        QCOMPARE(stored(3.9, Exponent::down), 2.0);
        QCOMPARE(stored(2.9, Exponent::nearest), 2.0);
        QCOMPARE(stored(3, Exponent::nearest), 4.0);
        QCOMPARE(stored(0.25, Exponent::up), 0.25);
        QCOMPARE(stored(0, Exponent::up), std::ldexp(1.0, -127));
        QVERIFY(std::isnan(stored(kInf, Exponent::up)));
    }

    void integersKeepTheirLowBits() {
        const Tensor numbers = Tensor::ofInts({-9, -8, 7, 8, 15, 16});
        const std::vector<std::int64_t> four{7, -8, 7, -8, -1, 0}, two{-1, 0, -1, 0, -1, 0};
        QCOMPARE(numbers.cast(DType::i4).asInts(), four);
        QCOMPARE(numbers.cast(DType::i2).asInts(), two);
        QCOMPARE(Tensor::of<float>({3}, {-1.9F, 3.7F, 14.2F}).cast(DType::u4).asInts(), (std::vector<std::int64_t>{15, 3, 14}));
        QCOMPARE(Tensor::of<float>({2}, {-1.9F, 3.7F}).cast(DType::i4).asInts(), (std::vector<std::int64_t>{-1, 3}));
    }

    void oddCountsFillTheirByte() {
        const Tensor three = packCodes(DType::i4, Tensor::of<std::uint8_t>({3}, {1, 15, 8}));
        QCOMPARE(three.byteCount(), std::size_t(2));
        QCOMPARE(std::to_integer<int>(three.bytes()[0]), 0xf1);
        QCOMPARE(std::to_integer<int>(three.bytes()[1]), 0x08);
        QCOMPARE(packCodes(DType::u2, Tensor::zeros(DType::u8, {5})).byteCount(), std::size_t(2));
        QCOMPARE(Tensor::zeros(DType::i4, {0}).byteCount(), std::size_t(0));
    }

    void namesAndSizes() {
        for (const DType type : kAll) {
            QCOMPARE(dtypeFromName(dtypeName(type)), type);
            QVERIFY(isStored(type) && !isFloat(type) && !isInteger(type));
            QCOMPARE(isPacked(type), byteSize(type) == 0);
        }
        QVERIFY(!isStored(DType::bf16) && !isStored(DType::undefined) && !isStored(DType::string));
    }
};

QTEST_GUILESS_MAIN(TestStoredTypes)
#include "tst_stored_types.moc"
