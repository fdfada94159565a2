// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/autotvm/log_file.h"
#include "core/autotvm/template_spaces.h"
#include "logs.h"

using namespace tunesmith;
using namespace tunesmith::autotvm;
using namespace tunesmith::testing;

// The logs of others, every line.
class TestAutotvmLogs : public QObject {
    Q_OBJECT

    Logs logs_;

    static void counts() {
        QTest::addColumn<int>("records");
        QTest::addColumn<int>("contradicting");
        const std::vector<int> records{6800, 53, 825, 35};
        for (int i = 0; i < 4; ++i)
            QTest::newRow(qPrintable(Logs::names()[i]))
                << records[static_cast<std::size_t>(i)] << (i == 2 ? 1 : 0);
    }

private slots:
    void linesComeBack_data() { counts(); }
    void linesComeBack() {
        QFETCH(int, records);
        const QString path = logs_.path(QTest::currentDataTag());
        if (path.isEmpty())
            QSKIP(logs_.reason());
        std::ifstream file(path.toStdString());
        int found = 0;
        for (std::string line; std::getline(file, line);) {
            if (line.empty() || line[0] == '#')
                continue;
            const auto record = parseRecord(line);
            QVERIFY2(record.ok(), record.ok() ? "" : record.error().message.c_str());
            if (nlohmann::json::parse(recordLine(record.value())) != nlohmann::json::parse(line))
                QFAIL(line.c_str());
            ++found;
        }
        QCOMPARE(found, records);
        QCOMPARE(static_cast<int>(readLog(path.toStdString()).value().size()), records);
    }

    // The real check of the order of candidates: the index alone gives what the record says the config is.
    void indicesMeanTheSame_data() { counts(); }
    void indicesMeanTheSame() {
        QFETCH(int, records);
        QFETCH(int, contradicting);
        const QString path = logs_.path(QTest::currentDataTag());
        if (path.isEmpty())
            QSKIP(logs_.reason());
        int same = 0;
        QStringList others;
        const auto log = readLog(path.toStdString());
        std::map<std::string, ConfigSpace> spaces;
        for (const Record& record : log.value()) {
            const Vintage vintage = vintageOf(record);
            const std::string key = record.task.name + record.task.args + (vintage.tails ? "t" : "") +
                                    (vintage.innerTile ? "i" : "") + (vintage.swappedKernelNames ? "s" : "");
            auto found = spaces.find(key);
            if (found == spaces.end()) {
                auto space = spaceOf(record.task, vintage);
                QVERIFY2(space.ok(), space.ok() ? "" : space.error().message.c_str());
                found = spaces.emplace(key, std::move(space).value()).first;
            }
            if (found->second.configOf(record))
                ++same;
            else
                others << QString::fromStdString(record.target + " " + record.task.args) + " index " +
                              QString::number(record.index);
        }
        QVERIFY2(others.size() == contradicting, qPrintable(others.join("\n")));
        QCOMPARE(same, records - contradicting);
        for (const QString& other : others) // its tile_f and its index contradict each other
            QVERIFY2(other.contains("tx2") && other.contains("[1,736,7,7]") && other.contains("index 124107"),
                     qPrintable(other));
    }

    // The same records do not agree with spaces of another vintage: the check can fail.
    void vintagesMatter() {
        const auto agreeing = [this](const QString& name, auto change) {
            const QString path = logs_.path(name);
            if (path.isEmpty())
                return -1;
            int same = 0;
            const auto log = readLog(path.toStdString());
            for (const Record& record : log.value()) {
                Vintage vintage = vintageOf(record);
                change(vintage);
                const auto space = spaceOf(record.task, vintage);
                same += space.ok() && space.value().configOf(record);
            }
            return same;
        };
        const int resnet =
            agreeing("platinum-8124m-resnet_50.graph.log", [](Vintage& v) { v.tails = false; });
        const int tophub = agreeing("tophub-llvm_v0.04.log", [](Vintage& v) { v.tails = true; });
        if (resnet < 0 || tophub < 0)
            QSKIP(logs_.reason());
        QCOMPARE(resnet, 13);
        QCOMPARE(tophub, 7);
    }
};

QTEST_GUILESS_MAIN(TestAutotvmLogs)
#include "tst_autotvm_logs.moc"
