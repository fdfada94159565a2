// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include "cli_process.h"

using namespace tunesmith::testing;

namespace {

const QByteArray kSum = "add(v1, v2) = add(v2, v1) where v1: 2x4, v2: 2x4";
const QByteArray kTwice = "v1 = transpose(transpose(v1)) where v1: 2x4";

// Without the solver, what is true is only tested.
QString provedIfCanBe() { return QStandardPaths::findExecutable("z3").isEmpty() ? "tested" : "proved"; }

} // namespace

// rules import, list, show and export, and what generate keeps.
class TestCliRuleStore : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;
    int stores_ = 0;
    QString store_;

    QString path(const QString& name) const { return folder_.filePath(name); }
    QString write(const QString& name, const QByteArray& bytes) const {
        QFile file(path(name));
        if (file.open(QIODevice::WriteOnly))
            file.write(bytes);
        return file.fileName();
    }
    static QByteArray read(const QString& name) {
        QFile file(name);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }
    QJsonObject rules(const QStringList& arguments) const {
        const CliResult result = runCli(QStringList{"rules"} + arguments + QStringList{"--store", store_, "--json"});
        if (result.status != 0)
            qWarning("%s", result.errors.constData());
        return result.json();
    }
    // Few trials: which rules hold, other tests ask.
    QJsonObject imported(const QString& file) const {
        QJsonObject result = rules({"import", file, "--trials", "10"});
        result.remove("unsound");
        return result;
    }
    static QJsonObject counts(int imported, int distinct, int added) { return {{"imported", imported}, {"distinct", distinct}, {"added", added}}; }

private slots:
    void init() { store_ = path(QString::number(++stores_) + ".db"); }

    void tasosFileThereAndBack() {
        const QString file = testDataFile("data/taso/graph_subst.pb");
        if (file.isEmpty())
            QSKIP("TUNESMITH_TEST_DATA names no folder with data/taso/graph_subst.pb");
        QCOMPARE(imported(file), counts(133, 128, 128));
        QCOMPARE(imported(file), counts(133, 128, 0));
        const QJsonObject shown = rules({"show", "taso/98"});
        QCOMPARE(shown["left"].toString(), QString("add(conv(v1, v2), conv(v3, v4))"));
        QCOMPARE(shown["found_with"].toObject()["v2"].toString(), QString("4x4x3x3"));
        QCOMPARE(shown["origin"].toString(), QString("taso 98"));
        QCOMPARE(shown["status"].toString(), provedIfCanBe());
        QVERIFY(shown["preconditions"].toArray()[0].toString().startsWith("left to right: conv(v1, v2)") && !shown["counter_example"].toString().isEmpty());
        const QJsonArray list = rules({"list"})["rules"].toArray();
        QCOMPARE(list.size(), 128);
        const QString first = path("first.txt"), second = path("second.txt");
        QCOMPARE(rules({"export", "-o", first})["exported"].toInt(), 128);
        init();
        QCOMPARE(imported(first), counts(128, 128, 128));
        QCOMPARE(rules({"list"})["rules"].toArray(), list);
        QCOMPARE(rules({"export", "-o", second})["exported"].toInt(), 128);
        QVERIFY(!read(first).isEmpty());
        QCOMPARE(read(second), read(first));
    }

    void generatedRulesAreKeptOnce() {
        const QJsonObject made = rules({"generate", "--operators", "2"});
        const int count = static_cast<int>(made["rules"].toArray().size());
        QVERIFY(count > 20);
        QCOMPARE(made["added"].toInt(), count);
        QCOMPARE(rules({"generate", "--operators", "2"})["added"].toInt(), 0);
        const QJsonArray list = rules({"list"})["rules"].toArray();
        QCOMPARE(list.size(), count);
        for (int i = 0; i < count; ++i) {
            QCOMPARE(list[i].toObject()["name"].toString(), "generated/" + QString::number(i + 1));
            QCOMPARE(list[i].toObject()["left"], made["rules"].toArray()[i].toObject()["left"]);
        }
    }

    void whatIsKnownStays() {
        const QByteArray known = kSum + "; name: mine/1; origin: a book; status: tested 1800; if: a\\; b; if: c";
        QCOMPARE(imported(write("known.txt", "# one\n" + known + "\n")), counts(1, 1, 1));
        const QJsonObject shown = rules({"show", "mine/1"}); // tried here: a file's word for it counts for nothing
        QVERIFY(shown["status"] == "tested" || shown["status"] == "proved");
        QVERIFY(shown["trials"].toInt() > 0 && shown["trials"].toInt() < 1800);
        QCOMPARE(shown["preconditions"].toArray(), QJsonArray());
        const CliResult text = runCli({"rules", "show", "mine/1", "--store", store_});
        QVERIFY2(text.out.contains("from a book; " + shown["status"].toString().toUtf8()), text.out);
        // in other words or without a name it is the same rule and no news
        QCOMPARE(imported(write("less.txt", "add(b, a) = add(a, b) where a: 2x4, b: 2x4; status: tested 5\n" + kSum + "; name: x/1")), counts(2, 1, 0));
        QCOMPARE(rules({"show", "mine/1"}), shown);
        // a verdict is
        QCOMPARE(imported(write("more.txt", kSum + "; name: x/1; status: refuted 3; refuted by: v1: 1x1")), counts(1, 1, 0));
        const QJsonObject refuted = rules({"show", "mine/1"});
        QCOMPARE(refuted["status"].toString(), QString("refuted"));
        QCOMPARE(refuted["counter_example"].toString(), QString("v1: 1x1"));
        QCOMPARE(refuted["origin"].toString(), QString("a book"));
        QCOMPARE(rules({"list"})["rules"].toArray().size(), 1);
    }

    void rulesGetNamesOfTheirOwn() {
        QCOMPARE(imported(write("plain.txt", kSum + "\n" + kTwice + "\n")), counts(2, 2, 2));
        QCOMPARE(rules({"show", "plain/2"})["origin"].toString(), QString("plain.txt"));
        QCOMPARE(imported(write("taken.txt", "relu(v1) = relu(relu(v1)) where v1: 2x4; name: plain/1")), counts(1, 1, 1));
        QCOMPARE(rules({"show", "plain/3"})["left"].toString(), QString("relu(v1)"));
    }

    void refused_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QByteArray>("says");
        const auto row = [](const char* name, const QStringList& arguments, const char* says) { QTest::newRow(name) << arguments << QByteArray(says); };
        row("no file", {"import", path("none.txt")}, "none.txt");
        row("folder", {"import", folder_.path()}, "folder");
        row("bad line", {"import", write("bad.txt", kSum + "\nrelu(v1) = v1 where v1: 2y4\n")}, "bad.txt: line 2: column 26: expected the end of the rule, not 'y4'");
        row("binary", {"import", write("bad.pb", QByteArray("\x0a\x05\x00\x01\x02", 5))}, "bad.pb: rule 0: it ends in the middle");
        row("no store to list", {"list"}, "no store at");
        row("no store to export", {"export", "-o", path("out.txt")}, "no store at");
        row("no store to show from", {"show", "a/1"}, "no store at");
    }
    void refused() {
        QFETCH(QStringList, arguments);
        QFETCH(QByteArray, says);
        const CliResult result = runCli(QStringList{"rules"} + arguments + QStringList{"--store", store_, "--json"});
        QCOMPARE(result.status, 1);
        QVERIFY(result.out.isEmpty());
        QVERIFY2(result.sentence().contains(says), result.errors.constData());
        QVERIFY(!QFileInfo::exists(store_));
    }

    void otherNamesAndPlacesAreRefused() {
        QCOMPARE(imported(write("one.txt", kSum)), counts(1, 1, 1));
        const CliResult other = runCli({"rules", "show", "one/7", "--store", store_});
        QCOMPARE(other.status, 1);
        QVERIFY2(other.sentence().contains("no rule 'one/7'"), other.errors.constData());
        const CliResult nowhere = runCli({"rules", "export", "-o", path("none/rules.txt"), "--store", store_});
        QCOMPARE(nowhere.status, 1);
        QVERIFY2(nowhere.sentence().contains("none/rules.txt"), nowhere.errors.constData());
        QCOMPARE(runCli({"rules", "import", "--store", store_}).status, 2);
        QCOMPARE(runCli({"rules", "export", "--store", store_}).status, 2);
        const CliResult health = runCli({"store", "check", "--store", store_, "--json"});
        QVERIFY(health.json()["ok"].toBool());
        QCOMPARE(runCli({"store", "stats", "--store", store_, "--json"}).json()["rules"].toInt(), 1);
    }

    void importTriesWhatIsNotKnown() {
        const QJsonObject done = rules({"import", write("two.txt", kSum + "\nrelu(add(v1, v2)) = add(relu(v1), relu(v2)) where v1: 2x4, v2: 2x4\n"), "--trials", "50"});
        const QJsonArray unsound = done["unsound"].toArray();
        QCOMPARE(unsound.size(), 1);
        QCOMPARE(unsound[0].toObject()["rule"].toString(), QString("two/2"));
        QVERIFY(unsound[0].toObject()["counter_example"].toString().startsWith("Add("));
        QCOMPARE(rules({"show", "two/1"})["status"].toString(), provedIfCanBe());
        const CliResult text = runCli({"rules", "show", "two/2", "--store", store_});
        QVERIFY2(text.out.contains("; refuted in ") && text.out.contains("  refuted by the sides differ with v1: 2x4, v2: 2x4\n"), text.out);
    }

    void anEmptyStoreHasNone() {
        QCOMPARE(imported(write("empty.txt", "# nothing\n")), counts(0, 0, 0));
        QVERIFY(rules({"list"})["rules"].toArray().isEmpty());
        QVERIFY(runCli({"rules", "list", "--store", store_}).out.contains("no rules"));
    }
};

QTEST_GUILESS_MAIN(TestCliRuleStore)
#include "tst_cli_rule_store.moc"
