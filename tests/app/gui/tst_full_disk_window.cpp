// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/export_page.h"
#include "core/workbench/history.h"
#include "tests/app/gui/small_disk.h"
#include "tests/app/gui/tuning_fixture.h"
#include "tests/widgets/quiet_test.h"
#include "widgets/export/export_form.h"
#include <QAction>
#include <QDir>
#include <QFileDialog>
#include <QPushButton>
#include <QSignalSpy>

using namespace tunesmith;

namespace {

bool mounted = false;
QString folder;

bool settled(TunePage* page) {
    return !page->running() && !page->historyJob().running();
}

QAction* resumeAction(TunePage* page) {
    return page->commands()[2];
}

QStringList contents(const SmallDisk& disk) {
    return QDir(disk.path({})).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
}

void dismiss(MainWindow& window) {
    window.findChild<NoticeBar*>()->hide();
}

} // namespace

// A disk that gets full, or cannot be written any more, while the window works with it.
class TstFullDiskWindow : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        if (!mounted)
            QSKIP("no file system can be mounted here to be filled");
    }
    void init() { QuietTest::start(); }
    void cleanup() {
        QuietTest::finish();
        const SmallDisk disk(folder);
        for (const QString& name : contents(disk))
            QVERIFY(QFile::remove(disk.path(name)) || QDir(disk.path(name)).removeRecursively());
    }

    void storeThatGetsFull() {
        const SmallDisk disk(folder);
        WindowFixture fixture(disk.path(QStringLiteral("trials.db")));
        TunePage* page =
            readyToTune(fixture, BudgetKind::trialsPerWorkload, 200, 1, QStringLiteral("encoder"));
        QVERIFY(page);
        page->start();
        QTRY_VERIFY_WITH_TIMEOUT(dots(page) > 3, kPatience);
        disk.fill();
        QTRY_VERIFY_WITH_TIMEOUT(settled(page), kPatience);
        QVERIFY2(fixture.notice().startsWith(QStringLiteral("Error: ")), qPrintable(fixture.notice()));
        QVERIFY2(fixture.notice().contains(QStringLiteral("disk is full")), qPrintable(fixture.notice()));
        QVERIFY2(fixture.notice().contains(fixture.store()), qPrintable(fixture.notice()));
        const int kept = dots(page);
        QVERIFY(kept > 3);

        disk.empty();
        dismiss(fixture.window());
        fixture.window().findChild<QAction*>(QStringLiteral("checkStore"))->trigger();
        QTRY_VERIFY_WITH_TIMEOUT(!fixture.notice().isEmpty(), kPatience);
        QVERIFY2(fixture.notice().contains(QStringLiteral("is sound")), qPrintable(fixture.notice()));
        QVERIFY(resumeAction(page)->isEnabled());
        page->resume();
        QTRY_VERIFY_WITH_TIMEOUT(dots(page) > kept || !page->running(), kPatience);
        QVERIFY2(page->running(), qPrintable(fixture.notice()));
        page->pause();
        QTRY_VERIFY_WITH_TIMEOUT(settled(page), kPatience);
        const auto runs = tuningRuns(fixture.store().toStdString());
        QVERIFY(runs.ok() && runs->size() == 1 && runs->front().resumable);
    }

    void exportOntoAFullDisk() {
        const SmallDisk disk(folder);
        WindowFixture fixture;
        QVERIFY(fixture.open(QStringLiteral("mlp")));
        disk.fill();
        ExportPage* page = fixture.window().exportPage();
        page->form()->setFolder(folder);
        page->form()->setName(QStringLiteral("module"));
        auto* button = page->form()->findChild<QPushButton*>(QStringLiteral("export"));
        button->click();
        QTRY_VERIFY_WITH_TIMEOUT(!page->job().running(), kPatience);
        QVERIFY2(fixture.notice().contains(QStringLiteral("no space left"), Qt::CaseInsensitive),
                 qPrintable(fixture.notice()));
        QCOMPARE(contents(disk), QStringList{QStringLiteral("filler")});
        disk.empty();
        button->click();
        QTRY_VERIFY_WITH_TIMEOUT(!page->job().running(), kPatience);
        QCOMPARE(contents(disk), QStringList{QStringLiteral("module")});
    }

    void graphOntoAFullDisk() {
        const SmallDisk disk(folder);
        WindowFixture fixture;
        QVERIFY(fixture.open(QStringLiteral("mlp")));
        disk.fill();
        fixture.window().findChild<QAction*>(QStringLiteral("saveOnnx"))->trigger();
        auto* dialog = fixture.window().findChild<QFileDialog*>();
        emit dialog->fileSelected(disk.path(QStringLiteral("graph.onnx")));
        dialog->reject();
        QTRY_VERIFY_WITH_TIMEOUT(!fixture.notice().isEmpty(), kPatience);
        QVERIFY2(fixture.notice().contains(QStringLiteral("no space left"), Qt::CaseInsensitive),
                 qPrintable(fixture.notice()));
        QVERIFY2(fixture.notice().contains(QStringLiteral("graph.onnx")), qPrintable(fixture.notice()));
        QCOMPARE(contents(disk), QStringList{QStringLiteral("filler")});
    }

    void storeThatCannotBeWrittenAnyMore() {
        const SmallDisk disk(folder);
        const QString store = disk.path(QStringLiteral("trials.db"));
        {
            WindowFixture fixture(store);
            TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 200);
            QVERIFY(page);
            page->start();
            QTRY_VERIFY_WITH_TIMEOUT(dots(page) > 3, kPatience);
            page->pause();
            QTRY_VERIFY_WITH_TIMEOUT(settled(page), kPatience);
        }
        disk.setReadOnly(true);
        WindowFixture fixture(store);
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 200);
        QVERIFY(page);
        QVERIFY(dots(page) > 3); // reading works
        QCOMPARE(fixture.notice(), QString());
        for (const bool again : {true, false}) {
            if (again)
                page->resume();
            else
                page->start();
            QVERIFY(page->running());
            QTRY_VERIFY_WITH_TIMEOUT(settled(page), kPatience);
            QVERIFY2(fixture.notice().contains(store), qPrintable(fixture.notice()));
            dismiss(fixture.window());
        }
        disk.setReadOnly(false);
        page->resume();
        const int before = dots(page);
        QTRY_VERIFY_WITH_TIMEOUT(dots(page) > before, kPatience);
        page->stop();
        QTRY_VERIFY_WITH_TIMEOUT(settled(page), kPatience);
    }
};

int main(int argc, char** argv) {
    const QTemporaryDir place;
    folder = place.path();
    mounted = SmallDisk::mount(folder.toLocal8Bit(), "8m");
    return windowTestMain<TstFullDiskWindow>("tst_full_disk_window", argc, argv);
}
#include "tst_full_disk_window.moc"
