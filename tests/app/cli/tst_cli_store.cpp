// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

#include "cli_process.h"

using namespace tunesmith::testing;

// store import and store export: AutoTVM's logs.
class TestCliStore : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    QString path(const QString& name) const { return folder_.filePath(name); }

    static QByteArray line(int index, int error = 0) {
        return QString(R"({"input": ["llvm", "dense_nopack.x86", [["TENSOR", [8, 32], "float32"], )"
                       R"(["TENSOR", [16, 32], "float32"], null, "float32"], {}], "config": {"index": %1, )"
                       R"("code_hash": null, "entity": [["tile_y", "sp", [-1, 1]]]}, )"
                       R"("result": [[%2], %3, 2.5, 1610455202.25], "version": 0.2, "tvm_version": "0.8"})")
            .arg(index)
            .arg(error == 0 ? "1.5e-05" : "1000000000.0")
            .arg(error)
            .toUtf8();
    }
    QString write(const QString& name, const QByteArray& bytes) {
        QFile file(path(name));
        if (file.open(QIODevice::WriteOnly))
            file.write(bytes);
        return file.fileName();
    }
    static QList<QJsonObject> objectsIn(const QString& name) {
        QFile file(name);
        QList<QJsonObject> out;
        if (file.open(QIODevice::ReadOnly))
            for (const QByteArray& text : file.readAll().split('\n'))
                if (!text.isEmpty() && !text.startsWith('#'))
                    out << QJsonDocument::fromJson(text).object();
        return out;
    }

private slots:
    void thereAndBack() {
        const QString store = path("a.db"), out = path("out.log");
        const QString log =
            write("in.log", "# comment\n" + line(0) + "\n\n" + line(3, 6) + "\n" + line(1) + "\n");
        const CliResult in = runCli({"store", "import", log, "--store", store, "--json"});
        QVERIFY2(in.status == 0, in.errors.constData());
        QCOMPARE(in.json(),
                 (QJsonObject{{"imported", 3}, {"skipped", 0}, {"failed_records", 1}, {"workloads", 1},
                              {"damaged_lines", 0}, {"first_damaged", QJsonValue()}}));
        const CliResult again = runCli({"store", "import", log, "--store", store, "--json"});
        QCOMPARE(again.json()["imported"].toInt(), 0);
        QCOMPARE(again.json()["skipped"].toInt(), 3);
        const CliResult back = runCli({"store", "export", "--autotvm", out, "--store", store, "--json"});
        QVERIFY2(back.status == 0, back.errors.constData());
        QCOMPARE(back.json()["exported"].toInt(), 3);
        QCOMPARE(objectsIn(out), objectsIn(log));
        QCOMPARE(objectsIn(out).size(), 3);
        const QJsonObject check = runCli({"store", "check", "--store", store, "--json"}).json();
        QVERIFY(check["ok"].toBool());
        QCOMPARE(check["trials"].toInt(), 3);
        QVERIFY(runCli({"store", "import", log, "--store", store}).out.contains("3 more"));
    }

    // The line that a killed tuning left behind costs no other.
    void cutOff() {
        const QString log = write("cut.log", line(0) + "\n" + line(1).left(100) + "\n");
        const CliResult in = runCli({"store", "import", log, "--store", path("cut.db"), "--json"});
        QVERIFY2(in.status == 0, in.errors.constData());
        QCOMPARE(in.json()["imported"].toInt(), 1);
        QCOMPARE(in.json()["damaged_lines"].toInt(), 1);
        QVERIFY(in.json()["first_damaged"].toString().contains("line 2"));
    }

    void refused() {
        const QString store = path("b.db");
        const auto verify = [&](const QStringList& arguments, const QByteArray& says) {
            const CliResult result = runCli(arguments + QStringList{"--store", store, "--json"});
            QCOMPARE(result.status, 1);
            QVERIFY(result.out.isEmpty());
            QVERIFY2(result.sentence().contains(says), result.errors.constData());
        };
        const QString bad = write("bad.log", line(1).left(100) + "\n");
        verify({"store", "import", bad}, "bad.log, line 1");
        QVERIFY(!QFileInfo::exists(store));
        verify({"store", "import", write("none.log", "# nothing\n")}, "no AutoTVM records");
        verify({"store", "import", path("missing.log")}, "missing.log");
        verify({"store", "export", "--autotvm", path("never.log")}, "b.db");
        QVERIFY(QFileInfo::exists(write("b.db", ""))); // becomes an empty store
        QCOMPARE(runCli({"store", "gc", "--store", store}).status, 0);
        verify({"store", "export", "--autotvm", path("never.log")}, "no imported AutoTVM records");
        QVERIFY(!QFileInfo::exists(path("never.log")));
        const QString good = write("good.log", line(0));
        QCOMPARE(runCli({"store", "import", good, "--store", store}).status, 0);
        verify({"store", "export", "--autotvm", path("no/folder/out.log")}, "out.log");
        verify({"tune", "mlp", "--resume", "1"}, "");
        QCOMPARE(runCli({"store", "import"}).status, 2);
        QCOMPARE(runCli({"store", "export"}).status, 2);
    }
};

QTEST_GUILESS_MAIN(TestCliStore)
#include "tst_cli_store.moc"
