// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <nlohmann/json.hpp>

#include "core/autotvm/log_file.h"

using namespace tunesmith;
using namespace tunesmith::autotvm;
using Json = nlohmann::json;

namespace {

const char* const kLine =
    R"({"input": ["llvm -mcpu=x", "dense_pack.x86", [["TENSOR", [1, 768], "float32"], null, 1.5], {"a": [true]}], )"
    R"("config": {"index": 7, "code_hash": null, "entity": [["tile_y", "sp", [-1, 4]], ["order", "re", [1, 0]], )"
    R"(["ann", "an", ["none", "vec"]], ["unroll", "ot", false]]}, "result": [[3.4e-05, 3.5e-05], 0, 2.35, )"
    R"(1610455202.4949427], "version": 0.2, "tvm_version": "0.8.dev0"})";

QString with(const QString& from, const QString& to) {
    QString line = kLine;
    Q_ASSERT(line.contains(from));
    return line.replace(from, to);
}

} // namespace

class TestAutotvmRecords : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    std::string write(const QString& name, const QByteArray& bytes) {
        QFile file(folder_.filePath(name));
        if (file.open(QIODevice::WriteOnly))
            file.write(bytes);
        return file.fileName().toStdString();
    }

private slots:
    void reading() {
        const auto read = parseRecord(kLine);
        QVERIFY2(read.ok(), read.ok() ? "" : read.error().message.c_str());
        const Record& record = read.value();
        QCOMPARE(record.target, std::string("llvm -mcpu=x"));
        QCOMPARE(record.task.name, std::string("dense_pack.x86"));
        QVERIFY(Json::parse(record.task.args) == Json::parse(R"([["TENSOR",[1,768],"float32"],null,1.5])"));
        QCOMPARE(record.task.keywords, std::string(R"({"a":[true]})"));
        QCOMPARE(record.index, 7);
        QVERIFY(!record.codeHash);
        QCOMPARE(record.entity.size(), std::size_t{4});
        QVERIFY((record.entity[0] == KnobSetting{"tile_y", "sp", "[-1,4]"}));
        QVERIFY(record.entity[0].numbers() == (std::vector<std::int64_t>{-1, 4}));
        QVERIFY((record.entity[3] == KnobSetting{"unroll", "ot", "false"}));
        QVERIFY(!record.entity[3].numbers());
        QVERIFY(record.costs == (std::vector<double>{3.4e-05, 3.5e-05}));
        QVERIFY(record.ok());
        QCOMPARE(record.allCost, 2.35);
        QCOMPARE(record.timestamp, 1610455202.4949427);
        QVERIFY(record.tvmVersion == "0.8.dev0");
        QVERIFY(Json::parse(recordLine(record)) == Json::parse(kLine));
        QVERIFY(parseRecord(recordLine(record)).value() == record);
    }

    // Every error code, and values at the edges of what is allowed.
    void writingBack_data() {
        QTest::addColumn<QString>("line");
        for (int code = 0; code <= 8; ++code)
            QTest::addRow("error %d", code) << with("3.5e-05], 0", QString("3.5e-05], %1").arg(code));
        QTest::newRow("placeholder") << with("[3.4e-05, 3.5e-05], 0", "[1000000000.0], 6");
        QTest::newRow("no costs") << with("[3.4e-05, 3.5e-05], 0", "[], 1");
        QTest::newRow("whole costs") << with("3.4e-05", "1");
        QTest::newRow("least cost") << with("3.4e-05", "5e-324");
        QTest::newRow("odd digits") << with("3.4e-05", "0.000034312345678901234567890123");
        QTest::newRow("code hash") << with("null, \"entity\"", "\"9f\", \"entity\"");
        QTest::newRow("no space") << with("\"index\": 7", "\"index\": -1");
        QTest::newRow("largest index") << with("\"index\": 7", "\"index\": 9223372036854775807");
        QTest::newRow("no knobs") << with(R"(["tile_y", "sp", [-1, 4]], ["order", "re", [1, 0]], )", "")
                                         .replace(
                                             R"(["ann", "an", ["none", "vec"]], ["unroll", "ot", false])",
                                             "");
        QTest::newRow("no version of TVM") << with(", \"tvm_version\": \"0.8.dev0\"", "");
        QTest::newRow("other value") << with("\"ot\", false", "\"ot\", {\"deep\": [null]}");
        QTest::newRow("text") << with("llvm -mcpu=x", R"(ll\u00fc \"q\" \\ \u0001)");
        QTest::newRow("carriage return") << QString(kLine) + "\r";
        QTest::newRow("space around") << "  " + QString(kLine) + "\t";
    }
    void writingBack() {
        QFETCH(QString, line);
        const std::string text = line.toStdString();
        const auto record = parseRecord(text);
        QVERIFY2(record.ok(), record.ok() ? "" : record.error().message.c_str());
        const std::string again = recordLine(record.value());
        QVERIFY2(Json::parse(again) == Json::parse(text), again.c_str());
        QVERIFY(again.find('\n') == std::string::npos);
    }

    void refused_data() {
        QTest::addColumn<QString>("line");
        QTest::addColumn<QString>("part");
        const QString whole = kLine;
        QTest::newRow("cut off") << whole.left(whole.size() / 2) << "cut off";
        QTest::newRow("cut off by one") << whole.left(whole.size() - 1) << "cut off";
        QTest::newRow("two on a line") << whole + whole << "no JSON object";
        QTest::newRow("a list") << "[1]"
                                << "no JSON object";
        QTest::newRow("a word") << "hello"
                                << "no JSON object";
        QTest::newRow("an empty object") << "{}"
                                         << "no member 'input'";
        QTest::newRow("too large for a double") << with("3.4e-05", "1e999") << "no JSON object";
        QTest::newRow("cost out of range") << with("3.4e-05", "1e300") << "out of range";
        QTest::newRow("cost is text") << with("3.4e-05", "\"3\"") << "no number";
        QTest::newRow("no costs") << with("3.4e-05, 3.5e-05", "") << "no costs";
        QTest::newRow("error 9") << with("3.5e-05], 0", "3.5e-05], 9") << "no error code 9";
        QTest::newRow("error -1") << with("3.5e-05], 0", "3.5e-05], -1") << "no error code -1";
        QTest::newRow("huge error") << with("3.5e-05], 0", "3.5e-05], 18446744073709551615")
                                    << "no error code";
        QTest::newRow("error is real") << with("3.5e-05], 0", "3.5e-05], 0.5") << "'result'";
        QTest::newRow("result too short") << with(", 1610455202.4949427]", "]") << "'result'";
        QTest::newRow("huge time") << with("1610455202.4949427", "1e30") << "out of range";
        QTest::newRow("negative time") << with("1610455202.4949427", "-1") << "out of range";
        QTest::newRow("version 0.1") << with("\"version\": 0.2", "\"version\": 0.1") << "only 0.2";
        QTest::newRow("old form") << R"({"i": [], "r": [], "v": 0.1})"
                                  << "version 0.1";
        QTest::newRow("Ansor") << R"({"i": [["conv2d_layer", "llvm", [4]], [[], []]], "r": [[0.0002], 0, 0.5, 1], "v": "v0.3"})"
                               << "auto-scheduler (Ansor)";
        QTest::newRow("no version") << with(", \"version\": 0.2", "") << "no member 'version'";
        QTest::newRow("version of TVM") << with("\"0.8.dev0\"", "8") << "'tvm_version'";
        QTest::newRow("unknown member") << with("\"version\"", "\"more\": 1, \"version\"") << "'more'";
        QTest::newRow("endless name")
            << with("\"version\"", "\"" + QString(9999, 'x') + "\": 1, \"version\"") << "'xxx";
        QTest::newRow("endless kind") << with("\"sp\"", "\"" + QString(9999, 'x') + "\"") << "'tile_y'";
        QTest::newRow("unknown in config") << with("\"index\"", "\"more\": 1, \"index\"") << "'more'";
        QTest::newRow("index is text") << with("\"index\": 7", "\"index\": \"7\"") << "index";
        QTest::newRow("index is real") << with("\"index\": 7", "\"index\": 7.5") << "index";
        QTest::newRow("negative index") << with("\"index\": 7", "\"index\": -2") << "index";
        QTest::newRow("huge index") << with("\"index\": 7", "\"index\": 9223372036854775808") << "index";
        QTest::newRow("code hash") << with("\"code_hash\": null", "\"code_hash\": 1") << "'code_hash'";
        QTest::newRow("config is a list")
            << with("{\"index\": 7, \"code_hash\": null, \"entity\": ", "[{\"e\": ")
                   .replace("false]]}", "false]]}]")
            << "'config' is no object";
        QTest::newRow("entity is a number")
            << with("[[\"tile_y\", \"sp\", [-1, 4]],", "7, \"x\": [") << "'x'";
        QTest::newRow("knob too short")
            << with("[\"tile_y\", \"sp\", [-1, 4]]", "[\"tile_y\", \"sp\"]") << "a knob";
        QTest::newRow("split of text") << with("[-1, 4]", "[\"a\"]") << "'tile_y'";
        QTest::newRow("split of reals") << with("[-1, 4]", "[0.5]") << "'tile_y'";
        QTest::newRow("unknown kind") << with("\"sp\"", "\"xx\"") << "'xx'";
        QTest::newRow("input too short") << with(", {\"a\": [true]}]", "]") << "'input'";
        QTest::newRow("target is null") << with("\"llvm -mcpu=x\"", "null") << "'input'";
        QTest::newRow("no target") << with("\"llvm -mcpu=x\"", "\"\"") << "empty";
        QTest::newRow("too deep") << with("[true]", QString(100'000, '[') + QString(100'000, ']')) << "deep";
        QTest::newRow("never closed") << QString(1'000'000, '[') << "deep";
        QTest::newRow("nothing") << ""
                                 << "no JSON object";
    }
    void refused() {
        QFETCH(QString, line);
        QFETCH(QString, part);
        const auto record = parseRecord(line.toStdString());
        QVERIFY(!record.ok());
        const std::string& message = record.error().message;
        QVERIFY2(QString::fromStdString(message).contains(part), message.c_str());
        QVERIFY(message.size() < 300);
    }
    void notUtf8() {
        std::string line = kLine;
        line.replace(line.find("llvm"), 1, "\xff");
        QVERIFY(!parseRecord(line).ok());
    }

    void logs() {
        const QByteArray line = kLine;
        const auto both = readLog(write("two.log", "# a comment\n\n" + line + "\r\n   \n  # more\n" + line));
        QVERIFY2(both.ok(), both.ok() ? "" : both.error().message.c_str());
        QCOMPARE(both.value().size(), std::size_t{2});
        QVERIFY(both.value()[0] == both.value()[1]);
        QVERIFY(readLog(write("empty.log", "")).value().empty());
        QVERIFY(readLog(write("comments.log", "#\n#")).value().empty());

        const auto path = folder_.filePath("again.log").toStdString();
        QVERIFY(writeLog(path, both.value()).ok());
        QVERIFY(readLog(path).value() == both.value());
    }
    void costsThatAreNoneAreFailures_data() {
        QTest::addColumn<QString>("cost");
        for (const char* cost : {"Infinity", "-Infinity", "NaN", "null", "0", "0.0", "-1.0"})
            QTest::newRow(cost) << cost;
    }
    void costsThatAreNoneAreFailures() {
        QFETCH(QString, cost);
        const auto record = parseRecord(with("3.4e-05", cost).toStdString());
        QVERIFY2(record.ok(), record.ok() ? "" : record.error().message.c_str());
        QVERIFY(record->error == ErrorCode::unknown);
        QCOMPARE(record->costs, std::vector<double>{1e9});
        QVERIFY(parseRecord(recordLine(*record)).value() == *record);
        QVERIFY(fastest(std::vector<Record>{*record, parseRecord(kLine).value()}) == std::size_t{1});
    }

    void textsKeepTheirWords() {
        const QString quote = "\\\"", backslash = "\\\\"; // as JSON has them
        const auto record = parseRecord(with("llvm -mcpu=x", "NaN " + quote + " Infinity " + backslash).replace("3.4e-05", "NaN").toStdString());
        QVERIFY2(record.ok(), record.ok() ? "" : record.error().message.c_str());
        QCOMPARE(QString::fromStdString(record->target).left(17), QString("NaN \" Infinity \\"));
    }

    void whatIsDamagedIsPassedOver_data() {
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<int>("records");
        QTest::addColumn<int>("damaged");
        QTest::addColumn<QString>("first");
        const QByteArray line = kLine;
        QTest::newRow("whole") << line + "\n" + line + "\n" << 2 << 0 << "";
        QTest::newRow("killed") << line + "\n" + line.left(200) << 1 << 1 << "line 2:";
        QTest::newRow("killed twice") << line.left(99) + line + "\n" + line + "\n" + line.left(200) << 1 << 2 << "line 1:";
        QTest::newRow("from Windows") << line + "\r\n\r\n" + line + "\r\n" << 2 << 0 << "";
        QTest::newRow("in the middle") << "# c\n" + line + "\n{}\n" + line + "\n" << 2 << 1 << "line 3:";
    }
    void whatIsDamagedIsPassedOver() {
        QFETCH(QByteArray, content);
        QFETCH(int, records);
        QFETCH(int, damaged);
        QFETCH(QString, first);
        int found = 0;
        const auto damage = readLog(write("damaged.log", content), [&](const Record&) -> Status { return ++found, Status(); });
        QVERIFY2(damage.ok(), damage.ok() ? "" : damage.error().message.c_str());
        QCOMPARE(found, records);
        QCOMPARE(damage->lines, std::int64_t(damaged));
        QVERIFY2(QString::fromStdString(damage->first).contains(first), damage->first.c_str());
        QCOMPARE(damage->first.empty(), damaged == 0);
    }

    void logErrorsNameFileAndLine() {
        const QByteArray line = kLine;
        const auto verify = [](const std::string& path, const char* part) {
            const auto read = readLog(path);
            QVERIFY(!read.ok());
            const QString message = QString::fromStdString(read.error().message);
            QVERIFY2(message.contains(QString::fromStdString(path)) && message.contains(part),
                     qPrintable(message));
            QVERIFY(!message.contains('\n'));
        };
        verify(write("third.log", "# c\n\n{}\n[]\n"), "line 3:");
        verify(write("binary.log", QByteArray(100'000, '\0')), "line 1:");
        verify(write("endless.log", QByteArray(6'000'000, 'x')), "longer than 4 MiB");
        verify(write("packed.log.xz", "\xfd"
                                      "7zXZ" +
                                          QByteArray(50, '\1')),
               "compressed");
        verify(folder_.filePath("missing.log").toStdString(), "missing.log");
        verify(folder_.path().toStdString(), "");
    }

    // Longer than what is read at once.
    void longLines() {
        const QString target(200'000, 'x');
        const QByteArray line = with("llvm -mcpu=x", target).toUtf8();
        const auto read = readLog(write("long.log", line + "\n" + line + "\n"));
        QVERIFY(read.ok());
        QCOMPARE(read.value().size(), std::size_t{2});
        QCOMPARE(read.value()[1].target.size(), std::size_t{200'000});
    }

    void fastestOfAList() {
        Record record = parseRecord(kLine).value();
        QVERIFY(!fastest({}));
        std::vector<Record> records(4, record);
        records[0].error = ErrorCode::runTimeout;
        records[0].costs = {1e-9};
        records[2].costs = {1e-6, 9, 2e-6, 1e-7}; // without the largest and the least: 1.5e-6
        records[3].costs = {1.6e-6};
        QVERIFY(fastest(records) == std::size_t{2});
        QCOMPARE(records[2].meanCost(), 1.5e-6);
        QCOMPARE(records[1].meanCost(), (3.4e-05 + 3.5e-05) / 2);
        records.resize(1);
        QVERIFY(!fastest(records));
    }
};

QTEST_GUILESS_MAIN(TestAutotvmRecords)
#include "tst_autotvm_records.moc"
