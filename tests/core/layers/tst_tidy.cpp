// SPDX-License-Identifier: GPL-3.0-or-later
#include "source_tree.h"

#include <QRegularExpression>
#include <QTest>

using namespace tunesmith::layers;

namespace {

const QString licenceLine = QStringLiteral("// SPDX-License-Identifier: GPL-3.0-or-later");
constexpr int kMaxLines = 500;

// Who opens files by himself: names that nobody else chooses, as in /proc, locks, what was just made. All else goes through InputFile and AtomicFile, which leave the
// databases alone that are open here.
bool mayOpenFiles(const QString& path) {
    static const QStringList own{"core/base/", "core/measure/", "core/process/", "core/module/staging_folder.cpp", "core/onnx/data_places.cpp", "core/plugin/plugin_loader.cpp", "core/store/foreign_store.cpp",
                                 "core/store/known_stores.cpp", "core/store/owner.cpp", "core/substitution/part_folder.cpp", "plugins/hello/program_problem.cpp", "tests/"};
    return std::ranges::any_of(own, [&path](const QString& start) { return path.startsWith(start); });
}

// What is untidy about a file: its licence line, its length, its guard, work left for later, files that it opens and event loops that it has by itself.
QStringList untidy(const QString& path, const QString& text) {
    static const QRegularExpression later("\\b(TO" "DO|FIX" "ME|X" "XX)\\b");
    static const QRegularExpression opens(R"(std::i?fstream|\bfopen\(|(?<![\w>])::open(at)?\()");
    static const QRegularExpression nests(R"(QFileDialog::get|QMessageBox::(warning|question|information|critical|about)\(|Q(Input|Color|Font)Dialog::get|->exec\(|\bQEventLoop\b)");
    QStringList problems;
    if (text.section('\n', 0, 0) != licenceLine)
        problems << "the first line is not " + licenceLine;
    if (const auto lines = text.count('\n'); lines > kMaxLines)
        problems << QString("%1 lines are more than %2").arg(lines).arg(kMaxLines);
    if (path.endsWith(".h") && !text.contains("\n#pragma once\n") && !text.contains("\n#ifndef "))
        problems << "the header has no #pragma once";
    if (const auto match = later.match(text); match.hasMatch())
        problems << match.captured() + " leaves work for later";
    if (!mayOpenFiles(path) && text.contains(opens))
        problems << "it opens a file by itself; use InputFile or AtomicFile (core/base/atomic_file.h)";
    if ((path.startsWith("widgets/") || path.startsWith("app/gui/")) && text.contains(nests))
        problems << "it has an event loop of its own, in which what stands on the stack is deleted; use open()";
    if (!text.isEmpty() && !text.endsWith('\n'))
        problems << "the last line does not end";
    return problems;
}

} // namespace

class TestTidy : public QObject {
    Q_OBJECT
private slots:
    void examples_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("problem"); // a word of it; empty if there is none
        const QString start = licenceLine + '\n';
        QTest::newRow("tidy source") << "a.cpp" << start + "int a;\n" << "";
        QTest::newRow("tidy header") << "a.h" << start + "#pragma once\n" << "";
        QTest::newRow("C header with a guard") << "a.h" << start + "#ifndef A_H\n#define A_H\n#endif\n" << "";
        QTest::newRow("no licence") << "a.cpp" << "int a;\n" << "SPDX";
        QTest::newRow("licence too late") << "a.cpp" << '\n' + start << "SPDX";
        QTest::newRow("empty") << "a.cpp" << "" << "SPDX";
        QTest::newRow("header without guard") << "a.h" << start + "int a;\n" << "pragma";
        QTest::newRow("just short enough") << "a.cpp" << start + QString("\n").repeated(kMaxLines - 1) << "";
        QTest::newRow("too long") << "a.cpp" << start + QString("\n").repeated(kMaxLines) << "501 lines";
        QTest::newRow("left for later") << "a.cpp" << start + "// TO" "DO: more\n" << "later";
        QTest::newRow("a word that only resembles it") << "a.cpp" << start + "int TO" "DOs;\n" << "";
        QTest::newRow("a stream") << "core/te/a.cpp" << start + "std::ifstream in(path);\n" << "InputFile";
        QTest::newRow("a descriptor") << "app/cli/a.cpp" << start + "int a = ::open(path, 0);\n" << "InputFile";
        QTest::newRow("a file of its own") << "core/store/owner.cpp" << start + "std::ifstream in(\"/proc/self/stat\");\n" << "";
        QTest::newRow("by way of the base") << "core/te/a.cpp" << start + "auto file = InputFile::open(path);\n" << "";
        QTest::newRow("a dialog that waits") << "app/gui/a.cpp" << start + "const auto path = QFileDialog::getSaveFileName(this);\n" << "open()";
        QTest::newRow("a dialog that is told") << "app/gui/a.cpp" << start + "dialog->open();\n" << "";
        QTest::newRow("open end") << "a.cpp" << start + "int a;" << "does not end";
    }
    void examples() {
        QFETCH(QString, path);
        QFETCH(QString, text);
        QFETCH(QString, problem);
        const QStringList found = untidy(path, text);
        QCOMPARE(found.isEmpty(), problem.isEmpty());
        QVERIFY2(found.join('\n').contains(problem), qPrintable(found.join('\n')));
    }

    void everySourceFileIsTidy() {
        const QStringList files = sourceFiles({"core", "widgets", "app", "plugins", "tests"});
        QVERIFY(files.contains("tests/core/layers/tst_tidy.cpp"));
        QStringList problems;
        for (const QString& file : files)
            for (const QString& problem : untidy(file, readSource(file)))
                problems << file + ": " + problem;
        QVERIFY2(problems.isEmpty(), qPrintable('\n' + problems.join('\n')));
    }
};

QTEST_GUILESS_MAIN(TestTidy)
#include "tst_tidy.moc"
