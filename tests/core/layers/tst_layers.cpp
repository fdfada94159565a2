// SPDX-License-Identifier: GPL-3.0-or-later
#include "layer_rule.h"
#include "source_tree.h"

#include <QRegularExpression>
#include <QTest>

using namespace tunesmith::layers;

class TestLayers : public QObject {
    Q_OBJECT
private slots:
    void theRuleIsTheOneWeWroteDown() {
        static const QRegularExpression list("above it in this list: ([^.]+)\\.");
        const auto match = list.match(readSource("CONTRIBUTING.md"));
        QVERIFY(match.hasMatch());
        static const QRegularExpression comma(",\\s*");
        QCOMPARE(match.captured(1).simplified().split(comma), rooms());
    }

    void examples_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("include");
        QTest::addColumn<bool>("allowed");
        const auto row = [](const char* name, const char* file, const char* include, bool allowed) {
            QTest::newRow(name) << file << include << allowed;
        };
        row("core: own room", "core/graph/graph.cpp", "\"core/graph/graph.h\"", true);
        row("core: room above", "core/graph/graph.h", "\"core/base/result.h\"", true);
        row("core: room far above", "core/workbench/tune.cpp", "\"core/base/rng.h\"", true);
        row("core: neighbour above", "core/ops/conv.cpp", "\"core/loops/tensor.h\"", true);
        row("core: neighbour below", "core/loops/tensor.cpp", "\"core/ops/conv.h\"", false);
        row("core: room far below", "core/base/log.cpp", "\"core/workbench/workbench.h\"", false);
        row("core: nested folder", "core/codegen/llvm/jit.cpp", "\"core/schedule/tuner.h\"", false);
        row("core: unknown own room", "core/misc/a.cpp", "<vector>", false);
        row("core: unknown target", "core/graph/a.cpp", "\"core/misc/a.h\"", false);
        row("core: standard library", "core/graph/graph.h", "<vector>", true);
        row("core: foreign library", "core/codegen/jit.cpp", "<llvm/IR/Module.h>", true);
        row("core: Qt class", "core/graph/graph.h", "<QString>", false);
        row("core: Qt module", "core/graph/graph.h", "<QtCore/QString>", false);
        row("core: Qt header", "core/graph/graph.h", "<qglobal.h>", false);
        row("core: Qt in quotes", "core/graph/graph.h", "\"QString\"", false);
        row("core: QCustomPlot", "core/stats/a.cpp", "<qcustomplot.h>", false);
        row("core: no Qt by its name", "core/base/a.cpp", "<queue>", true);
        row("core: widgets", "core/workbench/a.cpp", "\"widgets/plot/plot.h\"", false);
        row("core: app", "core/workbench/a.cpp", "\"app/cli/main.h\"", false);
        row("core: relative", "core/graph/a.cpp", "\"graph.h\"", false);
        row("core: upwards", "core/graph/a.cpp", "\"../base/log.h\"", false);
        row("core: exported C beside itself", "core/runtime/pool.c", "\"pool.h\"", true);
        row("core: exported C and Qt", "core/runtime/pool.c", "\"QString\"", false);
        row("widgets: Qt", "widgets/plot/plot.h", "<QWidget>", true);
        row("widgets: QCustomPlot", "widgets/plot/plot.h", "<qcustomplot.h>", true);
        row("widgets: own", "widgets/plot/plot.cpp", "\"widgets/base/throttle.h\"", true);
        row("widgets: moc", "widgets/plot/plot.cpp", "\"plot.moc\"", true);
        row("widgets: core", "widgets/plot/plot.cpp", "\"core/base/result.h\"", false);
        row("widgets: core in brackets", "widgets/plot/plot.cpp", "<core/base/result.h>", false);
        row("widgets: app", "widgets/plot/plot.cpp", "\"app/gui/main_window.h\"", false);
        row("app: workbench", "app/gui/main_window.cpp", "\"core/workbench/workbench.h\"", true);
        row("app: base", "app/cli/main.cpp", "\"core/base/result.h\"", true);
        row("app: widgets", "app/gui/main_window.cpp", "\"widgets/graph/graph_view.h\"", true);
        row("app: own", "app/gui/main_window.cpp", "\"app/gui/page.h\"", true);
        row("app: engine", "app/gui/main_window.cpp", "\"core/schedule/tuner.h\"", false);
        row("app: store", "app/cli/store.cpp", "\"core/store/store.h\"", false);
        row("app: tests", "app/cli/main.cpp", "\"tests/core/x.h\"", false);
        row("plugins: core", "plugins/hello/hello.cpp", "\"core/search/problem.h\"", true);
        row("plugins: app", "plugins/hello/hello.cpp", "\"app/gui/page.h\"", false);
        row("tests: anything", "tests/app/tst_x.cpp", "\"core/store/store.h\"", true);
    }
    void examples() {
        QFETCH(QString, file);
        QFETCH(QString, include);
        QFETCH(bool, allowed);
        const auto why = violation(file, include);
        QVERIFY2(why.has_value() != allowed, qPrintable(why.value_or("allowed")));
    }

    void includesAreFound_data() {
        QTest::addColumn<QString>("source");
        QTest::addColumn<QStringList>("expected");
        QTest::newRow("both kinds") << "#include \"a.h\"\n#include <b>\n" << QStringList{"\"a.h\"", "<b>"};
        QTest::newRow("spaces") << "  #  include\t<b>" << QStringList{"<b>"};
        QTest::newRow("without a space") << "#include<b>" << QStringList{"<b>"};
        QTest::newRow("line comment") << "// #include <b>" << QStringList{};
        QTest::newRow("raw string") << "auto c = R\"(\n#include <QString>\n)\";\n#include <b>" << QStringList{"<b>"};
        QTest::newRow("named raw string") << "auto c = R\"c(\n#include <a>\n)\"\n)c\";" << QStringList{};
        QTest::newRow("no include") << "#define include <b>" << QStringList{};
    }
    void includesAreFound() {
        QFETCH(QString, source);
        QTEST(includesOf(source), "expected");
    }

    void theSourceKeepsTheRule() {
        const QStringList files = sourceFiles({"core", "widgets", "app", "plugins", "tests"});
        QVERIFY(files.contains("core/base/result.h"));
        QStringList broken;
        for (const QString& file : files)
            for (const QString& include : includesOf(readSource(file)))
                if (const auto why = violation(file, include))
                    broken << QString("%1 includes %2: %3").arg(file, include, *why);
        QVERIFY2(broken.isEmpty(), qPrintable('\n' + broken.join('\n')));
    }
};

QTEST_GUILESS_MAIN(TestLayers)
#include "tst_layers.moc"
