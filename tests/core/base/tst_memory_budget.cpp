// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <limits>

#include "core/base/json_text.h"
#include "core/base/memory_budget.h"

using namespace tunesmith;

class MemoryBudgetTest : public QObject {
    Q_OBJECT

private slots:
    // Parts that fit one by one, and not together.
    void countsWhatIsHeld() {
        constexpr std::int64_t kMebibyte = 1 << 20;
        limitValueMemory(usedValueMemory() + 10 * kMebibyte);
        const std::int64_t before = usedValueMemory();
        QVERIFY(valuesFit(10 * kMebibyte) && !valuesFit(10 * kMebibyte + 1));
        {
            const ValueMemoryClaim first(6 * kMebibyte);
            QCOMPARE(usedValueMemory(), before + 6 * kMebibyte);
            QVERIFY(valuesFit(4 * kMebibyte) && !valuesFit(6 * kMebibyte));
            QVERIFY_THROWS_EXCEPTION(OutOfValueMemory, ValueMemoryClaim(6 * kMebibyte));
            QCOMPARE(usedValueMemory(), before + 6 * kMebibyte);
            const Status refused = checkValueMemory("node 'a'", 6 * kMebibyte);
            QVERIFY(!refused.ok());
            for (const char* part : {"node 'a' does not fit into memory", "6.0 MiB of 10.0 MiB", "--memory"})
                QVERIFY2(refused.error().message.find(part) != std::string::npos, refused.error().message.c_str());
        }
        QCOMPARE(usedValueMemory(), before);
        QVERIFY(!valuesFit(std::numeric_limits<std::int64_t>::max()));
        limitValueMemory(std::int64_t(1) << 40);
        QVERIFY(!valuesFit(std::int64_t(1) << 39)); // in the budget, but the machine has not got it
    }

    void amounts_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<qint64>("bytes"); // 0: none
        QTest::newRow("GiB") << "1GiB" << (qint64(1) << 30);
        QTest::newRow("with a blank") << "512 MiB" << (qint64(512) << 20);
        QTest::newRow("plain") << "2" << (qint64(2) << 30);
        QTest::newRow("fraction") << "0.5" << (qint64(1) << 29);
        QTest::newRow("decimal") << "3GB" << qint64(3'000'000'000);
        for (const char* text : {"", "GiB", "1 pound", "-1", "0", "nan", "inf", "1e30", "1GiB2"})
            QTest::addRow("'%s'", text) << QString(text) << qint64(0);
    }
    void amounts() {
        QFETCH(const QString, text);
        QFETCH(const qint64, bytes);
        const auto parsed = parseMemory(text.toStdString());
        QCOMPARE(parsed.ok() ? *parsed : 0, bytes);
        QVERIFY(parsed.ok() || parsed.error().message.find("write 1GiB") != std::string::npos);
    }

    void jsonOfTooMuch_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("says");
        const QByteArray deep = "it nests too deep", many = "it has more values than are read", fine;
        QTest::newRow("lists") << QByteArray(1'000'000, '[') + QByteArray(1'000'000, ']') << deep;
        QTest::newRow("objects") << QByteArray("{\"a\":").repeated(1'000'000) + "1" + QByteArray(1'000'000, '}') << deep;
        QTest::newRow("as deep as can be") << QByteArray(kDeepestJson, '[') + QByteArray(kDeepestJson, ']') << fine;
        QTest::newRow("one after the other") << "[" + QByteArray("[],").repeated(100'000) + "1]" << fine;
        QTest::newRow("in a text") << "[\"\\\"" + QByteArray(100'000, '[') + "\"]" << fine;
        QTest::newRow("behind a text") << "[\"\\\\\"," + QByteArray(100'000, '[') << deep;
        QTest::newRow("many objects") << "[" + QByteArray("{},").repeated(5'000'000) + "1]" << many; // 98 bytes each
        QTest::newRow("many lists") << QByteArray("[]").repeated(5'000'000) << many;
        QTest::newRow("commas in a text") << "[\"" + QByteArray(5'000'000, ',') + "\"]" << fine;
        QTest::newRow("nothing") << QByteArray() << fine;
    }
    void jsonOfTooMuch() {
        QFETCH(const QByteArray, text);
        QFETCH(const QByteArray, says);
        QVERIFY(jsonExcess(text.toStdString()).starts_with(says.toStdString()) && jsonExcess(text.toStdString()).empty() == says.isEmpty());
    }
};

QTEST_APPLESS_MAIN(MemoryBudgetTest)
#include "tst_memory_budget.moc"
