// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/base/log.h"
#include "core/base/printable.h"

using namespace tunesmith;

class TestPrintable : public QObject {
    Q_OBJECT

private slots:
    void texts_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("shown");
        const auto row = [](const char* name, const QByteArray& text, const QByteArray& shown) { QTest::newRow(name) << text << shown; };
        row("plain", "conv_1/weight:0 {a} \\ \"", "conv_1/weight:0 {a} \\ \"");
        row("other scripts", "Größe 模型 مدل \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac", "Größe 模型 مدل \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac");
        row("colour", "\x1b[31mred", "\\u001b[31mred");
        row("title of the window", "\x1b]0;evil\x07", "\\u001b]0;evil\\u0007");
        row("back to the start", "name\rother\b", "name\\u000dother\\u0008");
        row("nul", QByteArray("a\0b", 3), "a\\u0000b");
        row("delete", "a\x7f", "a\\u007f");
        row("C1 as UTF-8", "\xc2\x9b" "31m", "\\u009b31m");
        row("C1 as a byte", "\x9b" "31m", "\\ufffd31m");
        row("right to left", "\xe2\x80\xae" "txt.exe", "\\u202etxt.exe");
        row("isolates", "\xe2\x81\xa6x\xe2\x81\xa9", "\\u2066x\\u2069");
        row("marks", "\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c", "\\u200e\\u200f\\u061c");
        row("separators", "a\xe2\x80\xa8" "b\xe2\x80\xa9", "a\\u2028b\\u2029");
        row("invisible", "a\xe2\x80\x8b\xef\xbb\xbf\xc2\xad", "a\\u200b\\ufeff\\u00ad");
        row("blank letters", "x\xe3\x85\xa4y\xe2\xa0\x80z\xef\xbe\xa0", "x\\u3164y\\u2800z\\uffa0");
        row("tags", "\xf3\xa0\x81\x81", "\\udb40\\udc41");
        row("too long for its value", "\xc0\x9b\xe0\x80\x9b", "\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd");
        row("half a pair", "\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd");
        row("beyond Unicode", "\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd");
        row("cut", "\xe2\x82", "\\ufffd\\ufffd");
        row("the sign for invalid itself", "\xef\xbf\xbd", "\xef\xbf\xbd");
        row("empty", "", "");
    }
    void texts() {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, shown);
        const std::string_view given(text.data(), static_cast<std::size_t>(text.size()));
        QCOMPARE(QByteArray::fromStdString(printable(given)), shown);
        QCOMPARE(QByteArray::fromStdString(printableLines(given)), shown);
    }

    void linesStayWhereAsked() {
        QCOMPARE(printable("a\nb"), "a\\u000ab");
        QCOMPARE(printableLines("\ta\nb\r\n"), "\ta\nb\\u000d\n");
    }

    void longTextIsCut() {
        QCOMPARE(shortened(""), "");
        QCOMPARE(shortened(std::string(500, 'a')), std::string(500, 'a'));
        QCOMPARE(shortened(std::string(501, 'a')), std::string(496, 'a') + " ...");
        for (const std::size_t before : {493, 494, 495, 496}) { // no character is cut in two
            const std::string text = printable(shortened(std::string(before, 'a') + "\xf0\x9f\x98\x80" + std::string(100, 'b')));
            QVERIFY2(text.find("\\ufffd") == std::string::npos && text.size() <= 500, text.c_str());
        }
        QVERIFY(shortened(std::string(10'000, '\x80')).size() <= 500); // no UTF-8
    }

    void logsAreClean() {
        std::string logged;
        setLogSink([&](LogLevel, const std::string& message) { logged = message; });
        logMessage(LogLevel::warning, "client \x1b[2J\nfake line");
        setLogSink({});
        QCOMPARE(logged, "client \\u001b[2J\\u000afake line");
    }
};

QTEST_GUILESS_MAIN(TestPrintable)
#include "tst_printable.moc"
