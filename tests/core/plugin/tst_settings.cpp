// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "core/plugin/settings.h"
#include "tests/take.h"

using namespace tunesmith;

// Settings out of TOML files, good and bad.
class SettingsTest : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    std::filesystem::path write(const QByteArray& text) const {
        QFile file(folder_.filePath("a.toml"));
        if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
            qFatal("cannot write");
        return file.fileName().toStdString();
    }
    Settings settings(const QByteArray& text) const { return take(Settings::read(write(text))); }

    template <class T> void says(const Result<T>& result, const char* what) const {
        QVERIFY(!result.ok());
        const QString message = QString::fromStdString(result.error().message);
        QVERIFY2(message.contains(what), qPrintable(message));
        QVERIFY2(message.contains("a.toml, line "), qPrintable(message));
    }

private slots:
    void readsValues() {
        Settings all = settings("a = 'text'\nb = 2\nc = 0.5\nd = true\ne = ['x', 1, 2.5, false]\n[t]\ninner = 1\n");
        QCOMPARE(take(all.text("a")), std::string("text"));
        QCOMPARE(take(all.whole("b", 0, 9)), std::int64_t(2));
        QCOMPARE(take(all.number("b", 0, 9)), 2.0);
        QCOMPARE(take(all.number("c", 0, 9)), 0.5);
        QCOMPARE(take(all.flag("d")), true);
        QCOMPARE(take(all.words("e")), (std::vector<std::string>{"x", "1", "2.5", "false"}));
        QCOMPARE(take(all.word("c")), std::string("0.5"));
        QCOMPARE(take(all.text("none", "else")), std::string("else"));
        says(all.done(), "'t' is no key here; there are a, b, c, d, e, none");
        Settings table = take(all.table("t"));
        QVERIFY(all.done().ok());
        says(table.done(), "line 7: 'inner' is no key");
    }

    void tablesKeepTheirOrder() {
        Settings all = settings("[p.z]\nx = 1\n[p.a]\nx = 2\n[p.m]\nx = 3\n");
        std::string names;
        Settings tables = take(all.table("p"));
        for (const auto& [name, table] : take(tables.tables()))
            names += name;
        QCOMPARE(names, std::string("zam"));
        QVERIFY(tables.done().ok());
    }

    void wrongValues() {
        Settings all = settings("text = 'x'\nnumber = 1e300\nnothing = nan\ninfinite = inf\ndate = 1979-05-27\nlist = []\nmixed = [1, [2]]\nempty = {}\n");
        says(all.text("number"), "line 2: 'number' is to be a text");
        says(all.whole("text", 0, 5), "a whole number from 0 to 5");
        says(all.number("nothing", -10, 10), "a number from -10 to 10");
        says(all.number("infinite", 0, 1e300), "a number from");
        says(all.word("date"), "a text or a number");
        says(all.words("list"), "a list of texts");
        says(all.words("mixed"), "a list of texts");
        says(all.words("text"), "a list of texts");
        says(all.flag("text"), "true or false");
        says(all.table("text"), "write [text] on a line of its own");
        says(all.text("missing"), "'missing' is missing");
        says(all.tables(), "'text' is to be a table");
    }

    void hashIsOfWhatIsSaid() {
        const std::uint64_t hash = settings("a = 1\n[t]\nb = 'x'\n").hash();
        QCOMPARE(settings("# a remark\na =   1\n\n[t] # another\nb = \"x\"\n").hash(), hash);
        for (const char* other : {"a = 2\n[t]\nb = 'x'\n", "a = 1\n[t]\nb = 'y'\n", "a = 1\n[t]\nc = 'x'\n", "a = 1\n[u]\nb = 'x'\n", "a = 1.0\n[t]\nb = 'x'\n", "a = 1\nb = 'x'\n"})
            QVERIFY2(settings(other).hash() != hash, other);
    }

    void noSettings_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("says");
        QTest::newRow("no TOML") << QByteArray("what is this?") << "line 1: ";
        QTest::newRow("torn") << QByteArray("a = 1\nb = [1, 2") << "line 2: ";
        QTest::newRow("no text at all") << QByteArray("\xff\xfe\x00\x01", 4) << "line 1: ";
        QTest::newRow("twice") << QByteArray("a = 1\na = 2\n") << "line 2: ";
        QTest::newRow("deep") << QByteArray("a = ") + QByteArray(100000, '[') << "line 1: ";
        const QByteArray parts = QByteArray("a.").repeated(50'000);
        QTest::newRow("a key of many parts") << "\n" + parts + "a = 1" << "line 2: a key has more than 32 parts";
        QTest::newRow("quoted parts") << QByteArray("\"a,=\" . ").repeated(50'000) + "a = 1" << "line 1: a key has";
        QTest::newRow("a table of many parts") << "[" + parts + "a]\nb = 1" << "line 1: a key has";
        QTest::newRow("a list of such tables") << "[[" + parts + "a]]\nb = 1" << "line 1: a key has";
        QTest::newRow("within a table") << "a = {" + parts + "a = 1}" << "line 1: a key has";
        QTest::newRow("tables within tables") << QByteArray("a = {").repeated(10'000) << "line 1: values nest";
        QTest::newRow("behind a text that does not end") << "a = \"\n" + parts + "a = 1" << "line 2: a key has";
        QTest::newRow("large") << QByteArray((1 << 20) + 1, ' ') << "has at most 1048576 bytes";
    }
    void noSettings() {
        QFETCH(QByteArray, text);
        QFETCH(QString, says);
        const auto read = Settings::read(write(text));
        QVERIFY(!read.ok());
        QVERIFY2(QString::fromStdString(read.error().message).contains(says), read.error().message.c_str());
    }

    void dotsThatAreNoParts() {
        const QByteArray dots(1000, '.');
        Settings all = settings("a = \"" + dots + "\" # " + dots + "\nb = '''\n" + dots + "'''\nc = [" + QByteArray("1.5, ").repeated(1000) + "2.5]\n");
        QCOMPARE(QByteArray::fromStdString(*all.text("a")), dots);
        QCOMPARE(QByteArray::fromStdString(*all.text("b")), dots);
    }

    void noFile() {
        for (const char* path : {"/nowhere/x.toml", "/", "/dev/zero", ""}) {
            const auto read = Settings::read(path);
            QVERIFY2(!read.ok(), path);
            QVERIFY2(QString::fromStdString(read.error().message).contains("cannot be read"), read.error().message.c_str());
        }
    }

    void anEmptyFileHasNothing() {
        Settings all = settings("");
        QVERIFY(all.done().ok() && !all.has("a"));
        says(all.text("a"), "'a' is missing");
    }
};

QTEST_GUILESS_MAIN(SettingsTest)
#include "tst_settings.moc"
