// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <malloc.h>
#include <nlohmann/json.hpp>

#include "core/base/json_text.h"

using namespace tunesmith;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCounts = false; // malloc is not the C library's
#else
constexpr bool kCounts = true;
#endif

std::size_t takenNow() {
    const struct mallinfo2 all = ::mallinfo2();
    return all.uordblks + all.hblkhd;
}

// Lists or objects with so many of one piece, in which # is a number.
std::string many(const std::string& open, const std::string& piece, const std::string& close, int count) {
    std::string text = open;
    for (int i = 0; i < count; ++i) {
        std::string one = piece;
        if (const auto at = one.find('#'); at != one.npos)
            one.replace(at, 1, std::to_string(i));
        text += (i == 0 ? "" : ",") + one;
    }
    return text + close;
}

} // namespace

class TestJsonText : public QObject {
    Q_OBJECT

private slots:
    // What is said before is no less than what the parser then takes, and not much more.
    void memory_data() {
        QTest::addColumn<QByteArray>("text");
        const auto row = [](const char* name, const std::string& text) { QTest::newRow(name) << QByteArray::fromStdString(text); };
        constexpr int kMany = 100'000;
        row("numbers", many("[", "0", "]", kMany));
        row("long numbers", many("[", "123456.7891234", "]", kMany));
        row("lists", many("[", "[]", "]", kMany));
        row("lists of one", many("[", "[0]", "]", kMany));
        row("nested lists", many("[", "[[[[]]]]", "]", kMany));
        row("objects", many("[", "{}", "]", kMany));
        row("objects of one", many("[", "{\"\":0}", "]", kMany));
        row("objects of texts", many("[", "{\"a\":\"b\"}", "]", kMany));
        row("members", many("{", "\"#\":0", "}", kMany));
        row("members of objects", many("{", "\"#\":{\"\":{}}", "}", kMany));
        row("long keys", many("{", "\"a key that is longer than sixteen #\":[]", "}", kMany));
        row("texts", many("[", "\"\"", "]", kMany));
        row("texts of sixteen", many("[", "\"0123456789abcdef\"", "]", kMany));
        row("one text", "[\"" + std::string(1 << 20, 'x') + "\"]");
        row("escapes", many("[", "\"\\\"\\\\[[[{{{,,,\"", "]", kMany));
    }
    void memory() {
        QFETCH(QByteArray, text);
        const std::string_view view(text.constData(), static_cast<std::size_t>(text.size()));
        const std::size_t before = takenNow();
        const auto parsed = parseJson<nlohmann::json>(view);
        const std::size_t taken = takenNow() - before, said = jsonMemory(view);
        QVERIFY(!parsed.is_discarded());
        if (!kCounts)
            QSKIP("a sanitizer's malloc does not tell what it holds");
        QVERIFY2(taken <= said, qPrintable(QString("takes %1, said %2").arg(taken).arg(said)));
        QVERIFY2(said <= 4 * taken, qPrintable(QString("takes %1, said %2").arg(taken).arg(said)));
    }

    void oddTexts() {
        for (const char* text : {"", "\"", "\"\\", "\\", "]", "}}}", ":", "[\"", "\"a"})
            QVERIFY2(jsonMemory(text) < 1000, text);
        QVERIFY(parseJson<nlohmann::json>(std::string(300, '[') + std::string(300, ']')).is_discarded());
        QVERIFY(!parseJson<nlohmann::json>(std::string(200, '[') + std::string(200, ']')).is_discarded());
    }
};

QTEST_APPLESS_MAIN(TestJsonText)
#include "tst_json_text.moc"
