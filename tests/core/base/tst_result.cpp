// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/result.h"

#include <QTest>

#include <memory>
#include <string>
#include <type_traits>

using namespace tunesmith;

namespace {

Result<int> parseDigit(char c) {
    if (c < '0' || c > '9')
        return inputError(std::string("'") + c + "' is not a digit");
    return c - '0';
}

Result<int> addDigits(char a, char b) {
    TS_ASSIGN(const int left, parseDigit(a));
    TS_ASSIGN(const int right, parseDigit(b));
    return left + right;
}

Status requireDigit(char c, int& reached) {
    TS_TRY(parseDigit(c));
    ++reached;
    return {};
}

} // namespace

class TestResult : public QObject {
    Q_OBJECT
private slots:
    void holdsAValue() {
        const Result<int> result = parseDigit('7');
        QVERIFY(result.ok());
        QCOMPARE(*result, 7);
        QCOMPARE(result.valueOr(1), 7);
    }

    void errorsStayOnOneLine() {
        const Error error = inputError("node 'a\nb\t\x7f \xc3\xa9' of\r\n").within("odd\nname.onnx");
        QCOMPARE(error.message, std::string("odd name.onnx: node 'a b   \xc3\xa9' of  "));
    }

    void holdsAnError() {
        const Result<int> result = parseDigit('x');
        QVERIFY(!result.ok());
        QCOMPARE(result.error().message, std::string("'x' is not a digit"));
        QCOMPARE(result.valueOr(1), 1);
    }

    void cannotBeMistakenForABool() {
        QVERIFY(!(std::is_convertible_v<Result<bool>, bool>));
        QVERIFY(!(std::is_constructible_v<bool, Result<bool>>));
        const Result<bool> no = false;
        QVERIFY(no.ok() && !no.value());
    }

    void assignStopsAtTheFirstError() {
        QCOMPARE(addDigits('3', '4').value(), 7);
        QCOMPARE(addDigits('a', 'b').error().message, std::string("'a' is not a digit"));
        QCOMPARE(addDigits('3', 'b').error().message, std::string("'b' is not a digit"));
    }

    void tryReturnsEarly() {
        int reached = 0;
        QVERIFY(requireDigit('1', reached).ok());
        QVERIFY(!requireDigit('-', reached).ok());
        QCOMPARE(reached, 1);
    }

    void movesWhatCannotBeCopied() {
        Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
        const std::unique_ptr<int> taken = std::move(result).value();
        QCOMPARE(*taken, 5);
    }

    void errorsKnowTheirKind_data() {
        QTest::addColumn<int>("made");
        QTest::addColumn<int>("expected");
        const auto row = [](const char* name, const Error& error, ErrorKind kind) {
            QTest::newRow(name) << static_cast<int>(error.kind) << static_cast<int>(kind);
        };
        row("input", inputError("m"), ErrorKind::input);
        row("unsupported", unsupportedError("m"), ErrorKind::unsupported);
        row("io", ioError("m"), ErrorKind::io);
        row("timeout", timeoutError("m"), ErrorKind::timeout);
        row("internal", internalError("m"), ErrorKind::internal);
        row("cancelled", cancelledError(), ErrorKind::cancelled);
        row("within keeps it", ioError("m").within("file"), ErrorKind::io);
    }
    void errorsKnowTheirKind() {
        QFETCH(int, made);
        QFETCH(int, expected);
        QCOMPARE(made, expected);
    }

    void withinNamesTheOuterPlace() {
        const Error error = inputError("no such tensor").within("node 3").within("resnet.onnx");
        QCOMPARE(error.message, std::string("resnet.onnx: node 3: no such tensor"));
        QVERIFY(!error.isCancelled());
        QVERIFY(cancelledError().within("tune").isCancelled());
    }
};

QTEST_GUILESS_MAIN(TestResult)
#include "tst_result.moc"
