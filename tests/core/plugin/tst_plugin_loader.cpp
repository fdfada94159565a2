// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <sys/stat.h>

#include "core/plugin/plugin_loader.h"
#include "tests/take.h"

using namespace tunesmith;

// Shared libraries that are plugins, and others.
class PluginLoaderTest : public QObject {
    Q_OBJECT

    static QString messageOf(const std::string& file) {
        const auto plugin = loadPlugin(file);
        return plugin.ok() ? QString() : QString::fromStdString(plugin.error().message);
    }
    static std::filesystem::path write(const QString& path, const QByteArray& text) {
        QFile file(path);
        if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
            qFatal("cannot write");
        return path.toStdString();
    }

private slots:
    void whatIsNoFileIsNotOpened() { // a pipe would be waited for
        const QTemporaryDir folder;
        const std::string pipe = folder.filePath("pipe.so").toStdString();
        QCOMPARE(::mkfifo(pipe.c_str(), 0600), 0);
        QVERIFY(QDir(folder.path()).mkdir("folder.so"));
        for (const std::string& path : {pipe, folder.filePath("folder.so").toStdString()}) {
            const auto loaded = loadPlugin(path);
            QVERIFY(!loaded.ok());
            QVERIFY2(loaded.error().message.find("is no regular file") != std::string::npos, loaded.error().message.c_str());
        }
    }
    void cleanup() { qunsetenv("TUNESMITH_PLUGINS"); }

    void loadsHello() {
        const LoadedPlugin plugin = take(loadPlugin(TEST_PLUGINS "/hello.so"));
        QCOMPARE(std::string(plugin.plugin->name), std::string("hello"));
        QCOMPARE(plugin.plugin->kinds.size(), std::size_t(1));
        QCOMPARE(std::string(plugin.plugin->kinds.front().name), std::string("external-program"));
        QCOMPARE(take(loadPlugin(TEST_PLUGINS "/hello.so")).plugin, plugin.plugin); // not a second time
    }

    void isFoundBesideTheProgram() {
        const FoundPlugins found = findPlugins();
        QCOMPARE(found.loaded.size(), std::size_t(1));
        QVERIFY(found.refused.empty());
    }

    void theEnvironmentComesFirst() {
        qputenv("TUNESMITH_PLUGINS", "/nowhere::" TEST_LIBRARIES);
        const auto folders = pluginFolders();
        QCOMPARE(folders.size(), std::size_t(3));
        QCOMPARE(folders[0].string(), std::string("/nowhere"));
        const FoundPlugins found = findPlugins(folders);
        QCOMPARE(found.loaded.size(), std::size_t(1));
        QCOMPARE(found.refused.size(), std::size_t(2));
    }

    void whatIsNoPlugin() {
        QTemporaryDir folder;
        QVERIFY(messageOf(TEST_LIBRARIES "/plugin_test_foreign.so").endsWith("plugin_test_foreign.so is no plugin of Tunesmith: it has no function tunesmith_plugin"));
        const QString stale = messageOf(TEST_LIBRARIES "/plugin_test_stale.so");
        QVERIFY2(stale.contains("plugin_test_stale.so was built for another version") && stale.contains("build it again"), qPrintable(stale));
        QVERIFY(messageOf("/nowhere/a.so").contains("/nowhere/a.so cannot be loaded"));
        QVERIFY(messageOf(write(folder.filePath("text.so"), "no library")).contains("cannot be loaded"));
        QVERIFY(messageOf(write(folder.filePath("empty.so"), "")).contains("cannot be loaded"));
        QFile library(TEST_PLUGINS "/hello.so");
        QVERIFY(library.open(QIODevice::ReadOnly));
        const QByteArray whole = library.readAll();
        for (const qsizetype size : {10, 70, 300, 3000, 20000})
            QVERIFY2(messageOf(write(folder.filePath(QString("torn%1.so").arg(size)), whole.first(size))).contains(size == 10 ? "cannot be loaded" : "is cut off"), qPrintable(QString::number(size)));
    }

    void problemsThatNobodyKnows_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("says");
        QTest::newRow("kind") << QByteArray("\nproblem = 'magic'\n") << "line 2: there is no plugin for the problem 'magic'; there are external-program";
        QTest::newRow("none") << QByteArray("name = 'x'\n") << "'problem' is missing";
        QTest::newRow("number") << QByteArray("problem = 1\n") << "'problem' is to be a text";
        QTest::newRow("of jobs") << QByteArray("[[job]]\nmodel = 'a'\n") << "'problem' is missing";
        QTest::newRow("half of one") << QByteArray("problem = 'external-program'\n") << "'parameters' is missing";
    }
    void problemsThatNobodyKnows() {
        QFETCH(QByteArray, text);
        QFETCH(QString, says);
        QTemporaryDir folder;
        const auto opened = openProblem(write(folder.filePath("p.toml"), text), {folder.path().toStdString()});
        QVERIFY(!opened.ok());
        QVERIFY2(QString::fromStdString(opened.error().message).contains(says), opened.error().message.c_str());
    }

    void withoutPlugins() {
        QTemporaryDir folder;
        const auto file = write(folder.filePath("p.toml"), "problem = 'magic'\n");
        const auto opened = openProblem(file, {}, findPlugins({folder.path().toStdString()}));
        QVERIFY(!opened.ok());
        QVERIFY(QString::fromStdString(opened.error().message).contains("no plugin was found in " + folder.path()));
    }
};

QTEST_GUILESS_MAIN(PluginLoaderTest)
#include "tst_plugin_loader.moc"
