// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/export_page.h"
#include "app/gui/graph_page.h"
#include "app/gui/optimize_page.h"
#include "core/store/store.h"
#include "tests/app/bad_models.h"
#include "tests/app/gui/tuning_fixture.h"
#include "tests/widgets/quiet_test.h"
#include "widgets/export/export_form.h"
#include "widgets/graph/graph_view.h"
#include "widgets/optimize/optimize_bar.h"
#include <QAction>
#include <QDir>
#include <QFileDialog>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTextDocument>
#include <sys/stat.h>

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

constexpr qsizetype kSentence = 600; // characters

void save(const QString& path, const std::string& bytes) {
    writeFile(path.toStdString(), bytes);
}

// An error that says this; one sentence for people.
void verifySaid(const WindowFixture& fixture, const QString& what) {
    const QString notice = fixture.notice();
    QVERIFY2(notice.startsWith(QStringLiteral("Error: ")), qPrintable(notice));
    QVERIFY2(notice.contains(what, Qt::CaseInsensitive), qPrintable(notice));
    QVERIFY2(notice.size() < kSentence, qPrintable(notice));
}

void dismiss(MainWindow& window) {
    window.findChild<NoticeBar*>()->hide();
}

// Nothing out of a file is read as HTML. Our own texts have no pictures and no headings.
void verifyNoMarkup(const MainWindow& window) {
    const auto isMarkup = [](const QString& text) { return Qt::mightBeRichText(text) && (text.contains(QLatin1String("<h1")) || text.contains(QLatin1String("<img"))); };
    for (const QLabel* label : window.findChildren<QLabel*>())
        QVERIFY2(label->textFormat() == Qt::PlainText || !isMarkup(label->text()), qPrintable(label->objectName() + label->text()));
    for (const QWidget* widget : window.findChildren<QWidget*>())
        QVERIFY2(!isMarkup(widget->toolTip()), qPrintable(widget->toolTip()));
}

// The window still does what it is for.
void verifyAlive(WindowFixture& fixture) {
    QVERIFY(fixture.open(QStringLiteral("encoder")));
    QVERIFY(fixture.window().graphPage()->view()->scene().nodes.size() > 100);
}

} // namespace

// Whatever a file, a store or a disk does: a message in the window, and the window goes on.
class TstHostileWindow : public QObject {
    Q_OBJECT

    void verifyRefused(const QString& file, const QString& says) {
        WindowFixture fixture;
        MainWindow& window = fixture.window();
        QVERIFY(fixture.open(QStringLiteral("mlp")));
        QSignalSpy failed(&window, &MainWindow::openFailed);
        drop(window, {QUrl::fromLocalFile(file)});
        QVERIFY(!failed.isEmpty() || failed.wait(kPatience));
        verifySaid(fixture, says);
        QCOMPARE(window.windowTitle(), QStringLiteral("mlp - Tunesmith")); // what was open stays
        QVERIFY(window.graphPage()->view()->scene().nodes.size() > 4);
        verifyAlive(fixture);
    }

private slots:
    void init() { QuietTest::start(); }
    void cleanup() { QuietTest::finish(); }

    void badModel_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < badModels().size(); ++i)
            QTest::newRow(badModels()[i].name) << static_cast<int>(i);
    }
    void badModel() {
        QFETCH(int, index);
        const BadModel& bad = badModels()[static_cast<std::size_t>(index)];
        onnx::ModelProto model = smallModel();
        bad.bend(model);
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("model.onnx"));
        save(file, model.SerializeAsString());
        if (!bad.canBeLookedAt)
            return verifyRefused(file, QLatin1String(bad.says));
        WindowFixture fixture;
        QVERIFY(fixture.open(file));
        QVERIFY2(fixture.notice().startsWith(QStringLiteral("Warning: ")), qPrintable(fixture.notice()));
        QVERIFY2(fixture.notice().contains(QLatin1String(bad.says)), qPrintable(fixture.notice()));
        TunePage* page = fixture.window().tunePage();
        page->start();
        QVERIFY(!page->running());
        QVERIFY(!fixture.window().exportPage()->form()->problem().isEmpty());
        verifyAlive(fixture);
    }

    void badFile_data() {
        QTest::addColumn<QByteArray>("bytes");
        for (const BadBytes& bad : badFiles())
            QTest::newRow(bad.name) << QByteArray::fromStdString(bad.bytes);
    }
    void badFile() {
        QFETCH(QByteArray, bytes);
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("bytes.onnx"));
        save(file, bytes.toStdString());
        verifyRefused(file, QStringLiteral("bytes.onnx"));
    }

    void badPlace() {
        const QTemporaryDir folder;
        verifyRefused(folder.filePath(QStringLiteral("nowhere.onnx")), QStringLiteral("nowhere.onnx"));
        verifyRefused(folder.path(), folder.path());
        verifyRefused(QStringLiteral("/dev/zero"), QStringLiteral("/dev/zero"));
        const QString pipe = folder.filePath(QStringLiteral("pipe.onnx"));
        QCOMPARE(mkfifo(qPrintable(pipe), 0600), 0);
        verifyRefused(pipe, QStringLiteral("pipe.onnx"));
    }

    // Names are anything: markup, line ends, a million characters. They are shown as they are, and shortened.
    void namesOfAnyKind_data() {
        QTest::addColumn<QByteArray>("name");
        QTest::newRow("a million characters") << QByteArray(1'000'000, 'x');
        QTest::newRow("markup") << QByteArray("<h1>Large</h1><img src='/etc/passwd'>");
        QTest::newRow("lines") << QByteArray("first\nsecond\nthird\t").repeated(50);
    }
    void namesOfAnyKind() {
        QFETCH(QByteArray, name);
        const std::string text = name.toStdString();
        onnx::ModelProto model = smallModel();
        auto& graph = *model.mutable_graph();
        addNode(graph, text, {"y"}, {text + "1"}, text);
        addNode(graph, "Relu", {text + "1"}, {text + "2"}, text + "3").set_doc_string(text);
        tensorType(*graph.add_output(), text + "2", {2, 2});
        WindowFixture fixture;
        MainWindow& window = fixture.window();
        QVERIFY(fixture.open(QStringLiteral("mlp")));
        const QString file = fixture.path(QStringLiteral("names.onnx"));
        save(file, model.SerializeAsString());
        CalmestRound round;
        while (round.another()) {
            EventWatch watch;
            QVERIFY2(fixture.open(file), qPrintable(fixture.notice()));
            QVERIFY2(fixture.notice().startsWith(QStringLiteral("Warning: ")), qPrintable(fixture.notice()));
            GraphView* view = window.graphPage()->view();
            QMetaObject::invokeMethod(
                qApp, [view] { view->select(2); }, Qt::QueuedConnection);
            QTest::qWait(100);
            window.showPage(MainWindow::Page::optimize);
            OptimizePage* page = window.optimizePage();
            OptimizeChoice choice = page->bar()->choice();
            choice.cost = QStringLiteral("kernels");
            page->bar()->setChoice(choice);
            QSignalSpy changed(page, &OptimizePage::stateChanged); // it starts, it ends
            QMetaObject::invokeMethod(page, &OptimizePage::start, Qt::QueuedConnection);
            QTRY_VERIFY(changed.count() >= 2);
            QTest::qWait(100);
            window.showPage(MainWindow::Page::tune);
            QTest::qWait(100);
            window.showPage(MainWindow::Page::exportModule);
            QTest::qWait(100);
            round.ended(watch);
        }
        QVERIFY2(round.longestMs() < kLongestEventMs || round.tellsNothing(), round.text());
        QVERIFY2(fixture.notice().startsWith(QStringLiteral("Error: ")), qPrintable(fixture.notice())); // it cannot be optimized
        QVERIFY2(fixture.notice().size() < kSentence, qPrintable(QString::number(fixture.notice().size())));
        QVERIFY(window.width() <= 1400);
        verifyNoMarkup(window);
        verifyAlive(fixture);
    }

    void fileNamesOfAnyKind_data() {
        QTest::addColumn<QString>("name");
        QTest::newRow("long") << QString(240, QLatin1Char('n'));
        QTest::newRow("markup") << QStringLiteral("<h1>a&b %1 %n");
        QTest::newRow("lines") << QStringLiteral("first\nsecond");
    }
    void fileNamesOfAnyKind() {
        QFETCH(QString, name);
        WindowFixture fixture;
        MainWindow& window = fixture.window();
        const int width = window.width();
        const QString good = fixture.path(name + QStringLiteral(".onnx")),
                      bad = fixture.path(name + QStringLiteral(".bad"));
        save(good, smallModel().SerializeAsString());
        save(bad, "nothing");
        QVERIFY2(fixture.open(good), qPrintable(fixture.notice()));
        QVERIFY(!fixture.open(bad));
        for (const auto page : {MainWindow::Page::models, MainWindow::Page::graph, MainWindow::Page::optimize, MainWindow::Page::tune,
                                MainWindow::Page::timeline, MainWindow::Page::exportModule}) {
            window.showPage(page);
            QTest::qWait(50);
            QCOMPARE(window.width(), width);
        }
        auto* headline = window.findChild<QLabel*>(QStringLiteral("headline"));
        QVERIFY2(headline->text().contains(name), qPrintable(headline->text()));
        QVERIFY(headline->textFormat() == Qt::PlainText);
        verifyAlive(fixture);
    }

    void badStore_data() {
        QTest::addColumn<QString>("place"); // below a folder of the test, or absolute
        QTest::addColumn<QString>("says");
        QTest::addColumn<bool>("isThere"); // otherwise looking finds no runs, and only writing fails
        for (const char* place : {"a-folder", "text.db"})
            QTest::newRow(place) << QString(place) << QString(place) << true;
        for (const char* place : {"/proc/store.db", "/dev/null/store.db"})
            QTest::newRow(place) << QString(place) << QString(place) << false;
        QTest::newRow("newer") << QStringLiteral("newer.db") << QStringLiteral("newer") << true;
    }
    void badStore() {
        QFETCH(QString, place);
        QFETCH(QString, says);
        QFETCH(bool, isThere);
        const QTemporaryDir folder;
        QDir(folder.path()).mkdir(QStringLiteral("a-folder"));
        save(folder.filePath(QStringLiteral("text.db")),
             "Dear reader, this is no database, however long one looks.\n");
        const QString newer = folder.filePath(QStringLiteral("newer.db"));
        QVERIFY(Store::open(newer.toStdString()).ok());
        makeNewer(newer.toStdString());
        const QString store = QDir(folder.path()).absoluteFilePath(place);
        WindowFixture fixture(store);
        MainWindow& window = fixture.window();
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 1);
        QVERIFY(page);
        if (isThere)
            verifySaid(fixture, says);
        else
            QCOMPARE(fixture.notice(), QString());
        dismiss(window);

        page->start();
        QTRY_VERIFY_WITH_TIMEOUT(!page->running() && !page->historyJob().running(), kPatience);
        verifySaid(fixture, says);
        QVERIFY(page->commands().front()->isEnabled()); // one may try again
        dismiss(window);

        window.findChild<QAction*>(QStringLiteral("checkStore"))->trigger();
        QTRY_VERIFY_WITH_TIMEOUT(!fixture.notice().isEmpty(), kPatience);
        verifySaid(fixture, says);
        dismiss(window);

        ExportPage* exporting = window.exportPage();
        exporting->form()->setFolder(folder.path());
        exporting->form()->setName(QStringLiteral("module"));
        QSignalSpy exported(exporting, &ExportPage::exported);
        exporting->form()->findChild<QPushButton*>(QStringLiteral("export"))->click();
        QTRY_VERIFY_WITH_TIMEOUT(!exporting->job().running(), kPatience);
        QCOMPARE(exported.count(), isThere ? 0 : 1);
        QCOMPARE(QFileInfo::exists(folder.filePath(QStringLiteral("module"))), !isThere);
        if (isThere)
            verifySaid(fixture, says);
        verifyAlive(fixture);
    }

    void exportToABadPlace_data() {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<QString>("name");
        QTest::newRow("cannot be made") << QStringLiteral("/proc") << QStringLiteral("module");
        QTest::newRow("below a file") << QStringLiteral("/dev/null") << QStringLiteral("module");
        QTest::newRow("holds other things") << QString() << QStringLiteral("precious");
    }
    void exportToABadPlace() {
        QFETCH(QString, folder);
        QFETCH(QString, name);
        WindowFixture fixture;
        QVERIFY(fixture.open(QStringLiteral("mlp")));
        QVERIFY(QDir().mkpath(fixture.path(QStringLiteral("precious"))));
        save(fixture.path(QStringLiteral("precious/letter.txt")), "precious");
        ExportPage* page = fixture.window().exportPage();
        page->form()->setFolder(folder.isEmpty() ? fixture.path({}) : folder);
        page->form()->setName(name);
        QSignalSpy problem(page, &ExportPage::problem);
        page->form()->findChild<QPushButton*>(QStringLiteral("export"))->click();
        QTRY_VERIFY_WITH_TIMEOUT(problem.count() > 0, kPatience);
        verifySaid(fixture, name);
        QCOMPARE(QDir(fixture.path(QStringLiteral("precious"))).entryList(QDir::Files),
                 QStringList{QStringLiteral("letter.txt")});
        QVERIFY(page->form()->problem().isEmpty()); // one may choose another place
        verifyAlive(fixture);
    }

    void savingTheGraphToABadPlace_data() {
        QTest::addColumn<QString>("path");
        for (const char* path : {"/dev/full", "/proc/graph.onnx", "/no/such/folder/graph.onnx"})
            QTest::newRow(path) << QString(path);
    }
    void savingTheGraphToABadPlace() {
        QFETCH(QString, path);
        WindowFixture fixture;
        QVERIFY(fixture.open(QStringLiteral("mlp")));
        fixture.window().findChild<QAction*>(QStringLiteral("saveOnnx"))->trigger();
        auto* dialog = fixture.window().findChild<QFileDialog*>();
        QVERIFY(dialog);
        emit dialog->fileSelected(path);
        dialog->reject();
        QTRY_VERIFY_WITH_TIMEOUT(!fixture.notice().isEmpty(), kPatience);
        verifySaid(fixture, path);
        verifyAlive(fixture);
    }
};

int main(int argc, char** argv) {
    return windowTestMain<TstHostileWindow>("tst_hostile_window", argc, argv);
}
#include "tst_hostile_window.moc"
