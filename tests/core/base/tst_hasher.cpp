// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/hash.h"
#include "core/base/rng.h"

#include <QTest>

#include <bit>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

using namespace tunesmith;

namespace {

enum class Colour { red, green };

quint64 of(const auto&... values) {
    Hasher hasher;
    (hasher.add(values), ...);
    return hasher.value();
}

} // namespace

class TestHasher : public QObject {
    Q_OBJECT
private slots:
    // Stored hashes depend on these values: a change here orphans every database of every user. They were computed by a second
    // implementation.
    void valuesNeverChange_data() {
        QTest::addColumn<quint64>("hash");
        QTest::addColumn<quint64>("expected");
        QTest::newRow("nothing") << quint64(Hasher().value()) << quint64(0xe621fc11f77585b5);
        QTest::newRow("0") << of(std::uint64_t(0)) << quint64(0xbcb0f740e84a3f6e);
        QTest::newRow("-1") << of(-1) << quint64(0x285d1430baa06e9c);
        QTest::newRow("1, 2") << of(1, 2) << quint64(0x8411a10392f5aeda);
        QTest::newRow("2, 1") << of(2, 1) << quint64(0x88944fb3bf4cd559);
        QTest::newRow("short text") << of("conv2d") << quint64(0xeeecf9a5d77a119d);
        QTest::newRow("long text") << of("conv2d_nchw_64x64") << quint64(0x7d91b10a3607b93e);
        QTest::newRow("1.5") << of(1.5) << quint64(0x69ee6007a93ea94d);
        QTest::newRow("vector") << of(std::vector<int>{1, 2, 3}) << quint64(0x22507742927ab5f7);
    }
    void valuesNeverChange() {
        QFETCH(quint64, hash);
        QFETCH(quint64, expected);
        QCOMPARE(hash, expected);
    }

    void equalMeaningsHashEqually() {
        QCOMPARE(of(0.0), of(-0.0));
        QCOMPARE(of(1.5f), of(1.5));
        QCOMPARE(of(7), of(std::uint8_t(7)));
        QCOMPARE(of(Colour::green), of(1));
        QCOMPARE(of("a"), of(std::string("a")));
    }

    void differentMeaningsDiffer_data() {
        QTest::addColumn<quint64>("a");
        QTest::addColumn<quint64>("b");
        QTest::newRow("order") << of(1, 2) << of(2, 1);
        QTest::newRow("text boundary") << of("ab", "c") << of("a", "bc");
        QTest::newRow("empty text counts") << of("x", "") << of("x");
        QTest::newRow("trailing zero byte") << of(std::string("a")) << of(std::string("a\0", 2));
        QTest::newRow("vector boundary") << of(std::vector<int>{1}, std::vector<int>{2})
                                         << of(std::vector<int>{1, 2}, std::vector<int>{});
        QTest::newRow("sign") << of(1.0) << of(-1.0);
        QTest::newRow("last bit") << of(1.0) << of(std::bit_cast<double>(std::bit_cast<std::uint64_t>(1.0) + 1));
    }
    void differentMeaningsDiffer() {
        QFETCH(quint64, a);
        QFETCH(quint64, b);
        QVERIFY(a != b);
    }

    void smallIntegersDoNotCollide() {
        std::set<quint64> seen;
        for (int i = 0; i < 100; ++i)
            for (int j = 0; j < 100; ++j)
                seen.insert(of(i, j));
        QCOMPARE(seen.size(), std::size_t(10000));
    }

    // One changed input bit changes about half of the output bits.
    void everyBitMatters() {
        Rng rng(1);
        int changed = 0;
        for (int bit = 0; bit < 64; ++bit) {
            const std::uint64_t value = rng.next();
            const int flips = std::popcount(of(value) ^ of(value ^ (std::uint64_t(1) << bit)));
            QVERIFY2(flips >= 10, qPrintable(QString("bit %1: %2 flips").arg(bit).arg(flips)));
            changed += flips;
        }
        QVERIFY(changed > 64 * 28 && changed < 64 * 36);
    }

    void hexadecimal() {
        QCOMPARE(hexHash(0), std::string("0000000000000000"));
        QCOMPARE(hexHash(0x0123456789abcdef), std::string("0123456789abcdef"));
        QCOMPARE(hexHash(~std::uint64_t(0)), std::string("ffffffffffffffff"));
    }
};

QTEST_GUILESS_MAIN(TestHasher)
#include "tst_hasher.moc"
