// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/widgets/quiet_test.h"
#include "widgets/base/command_palette.h"
#include "widgets/base/empty_state.h"
#include "widgets/base/foreign_text.h"
#include "widgets/base/notice_bar.h"
#include "widgets/base/row_table_model.h"
#include "widgets/base/status_progress.h"
#include "widgets/base/table_copy.h"
#include "widgets/base/theme.h"
#include "widgets/base/throttle.h"
#include <QAbstractItemModelTester>
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QElapsedTimer>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMainWindow>
#include <QMenuBar>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QToolButton>
#include <set>

using namespace tunesmith;

namespace {

struct Fruit {
    QString key, name;
    int count = 0;
    bool operator==(const Fruit&) const = default;
};

class FruitModel : public RowTableModel<Fruit> {
public:
    FruitModel()
        : RowTableModel({{"Name", "What it is", [](const Fruit& f) { return f.name; }, nullptr, kLeft, [](const Fruit& f) { return f.name; }},
                         {"Count", "How many", [](const Fruit& f) { return QString::number(f.count); },
                          [](const Fruit& f) { return f.count; }}}) {}
};

double contrast(const QColor& a, const QColor& b) {
    const auto light = [](const QColor& c) {
        const auto linear = [](double v) {
            return v <= 0.03928 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
        };
        return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
    };
    const double x = light(a), y = light(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

} // namespace

class BaseWidgetsTest : public QObject {
    Q_OBJECT
private slots:
    void init() { QuietTest::start(); }
    void cleanup() {
        Theme::instance().setMode(Theme::Mode::light);
        QuietTest::finish();
    }

    void themeIsReadable_data() {
        QTest::addColumn<bool>("dark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }
    void themeIsReadable() {
        QFETCH(bool, dark);
        auto& theme = Theme::instance();
        QSignalSpy spy(&theme, &Theme::changed);
        theme.setMode(dark ? Theme::Mode::dark : Theme::Mode::light);
        QCOMPARE(spy.count(), 1);
        QCOMPARE(theme.isDark(), dark);
        QCOMPARE(qApp->palette().window().color().lightness() < 128, dark);
        using Role = Theme::Role;
        for (const auto back : {Role::window, Role::canvas, Role::surface, Role::raised}) {
            QVERIFY(contrast(theme.color(Role::text), theme.color(back)) >= 7);
            QVERIFY(contrast(theme.color(Role::muted), theme.color(back)) >= 4.5);
        }
        for (const auto sign : {Role::accent, Role::success, Role::warning, Role::error})
            QVERIFY(contrast(theme.color(sign), theme.color(Role::surface)) >= 4.5);
        QVERIFY(contrast(theme.color(Role::onAccent), theme.color(Role::accent)) >= 4.5);
        std::set<QRgb> colors;
        for (int i = 0; i < Theme::kCategories; ++i) {
            colors.insert(theme.category(i).rgb());
            QVERIFY(contrast(theme.textOn(theme.category(i)), theme.category(i)) >= 3.5);
        }
        QCOMPARE(colors.size(), std::size_t(Theme::kCategories));
        QCOMPARE(theme.category(Theme::kCategories), theme.category(0));
        QVERIFY(theme.ramp(0) != theme.ramp(1));
        QCOMPARE(theme.ramp(-5), theme.ramp(0));
    }

    void throttleLimitsAndKeepsTheLast() {
        int updates = 0, value = 0, seen = 0;
        Throttle throttle(60, [&] {
            ++updates;
            seen = value;
        });
        QElapsedTimer timer;
        timer.start();
        while (timer.elapsed() < 200) {
            ++value;
            throttle.request();
            QTest::qWait(2);
        }
        const int most = static_cast<int>(timer.elapsed() / 60) + 2;
        QVERIFY2(updates >= 1 && updates <= most, qPrintable(QString::number(updates)));
        QTRY_COMPARE(seen, value);
    }

    void throttleRunsTheFirstAtOnceAndFlushes() {
        int updates = 0;
        Throttle throttle(100000, [&] { ++updates; });
        throttle.request();
        QCOMPARE(updates, 1);
        throttle.request();
        throttle.request();
        QCOMPARE(updates, 1);
        throttle.flush();
        QCOMPARE(updates, 2);
        throttle.flush();
        QCOMPARE(updates, 2);
    }

    void remaining_data() {
        QTest::addColumn<double>("seconds");
        QTest::addColumn<QString>("part");
        QTest::newRow("unknown") << -1.0 << "";
        QTest::newRow("seconds") << 12.0 << "12 s";
        QTest::newRow("never nothing") << 0.1 << "1 s";
        QTest::newRow("minutes") << 300.0 << "5 min";
        QTest::newRow("hours") << 3.0 * 3600 << "3 h";
    }
    void remaining() {
        QFETCH(double, seconds);
        QFETCH(QString, part);
        const auto text = remainingText(seconds);
        QVERIFY2(part.isEmpty() ? text.isEmpty() : text.contains(part), qPrintable(text));
    }

    void progressShowsAndCancels() {
        StatusProgress progress;
        QVERIFY(progress.isHidden());
        progress.start("Tuning");
        QVERIFY(!progress.isHidden());
        progress.setProgress(0.5, 60);
        QCOMPARE(progress.findChild<QProgressBar*>()->value(), 500);
        QSignalSpy spy(&progress, &StatusProgress::cancelRequested);
        auto* cancel = progress.findChild<QToolButton*>("cancel");
        QTest::mouseClick(cancel, Qt::LeftButton);
        QCOMPARE(spy.count(), 1);
        QVERIFY(!cancel->isEnabled());
        progress.finish();
        QVERIFY(progress.isHidden());
    }

    void emptyStateFollowsItsAction() {
        EmptyState state(QIcon(), "No model", "Open one.");
        QAction action("Open…");
        state.setAction(&action);
        QSignalSpy spy(&action, &QAction::triggered);
        QTest::mouseClick(state.button(), Qt::LeftButton);
        QCOMPARE(spy.count(), 1);
        action.setEnabled(false);
        QVERIFY(!state.button()->isEnabled());
        QCOMPARE(state.accessibleName(), QString("No model"));
    }

    void foreignText_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("line");
        QTest::newRow("short") << QStringLiteral("conv1") << QStringLiteral("conv1");
        QTest::newRow("empty") << QString() << QString();
        QTest::newRow("as long as may be") << QString(10, QLatin1Char('x')) << QString(10, QLatin1Char('x'));
        QTest::newRow("longer") << QString(11, QLatin1Char('x'))
                                << QString(9, QLatin1Char('x')) + QChar(0x2026);
        QTest::newRow("lines") << QStringLiteral("a\nb\tc\x07") << QStringLiteral("a b c ");
        QTest::newRow("direction") << QStringLiteral("a\u202eb\u2066\u200f") << QStringLiteral("a\ufffdb\ufffd\ufffd");
        QTest::newRow("joiners") << QStringLiteral("a\u200cb\u200d") << QStringLiteral("a\u200cb\u200d");
        QTest::newRow("not latin") << QStringLiteral("層の名前と重みと値を示す")
                                   << QStringLiteral("層の名前と重みと値…");
    }
    void foreignText() {
        QFETCH(QString, text);
        QFETCH(QString, line);
        QCOMPARE(oneLine(text, 10), line);
        QCOMPARE(oneLine(text.toStdString(), 10), line);
    }

    void toolTipsAreNotMarkup() {
        QCOMPARE(plainToolTip(QStringLiteral("a < b")), QStringLiteral("a < b"));
        const QString tip = plainToolTip(QStringLiteral("<img src='x'>"));
        QVERIFY2(tip.contains(QStringLiteral("&lt;img")), qPrintable(tip));
        QCOMPARE(plainToolTip(QStringLiteral("a\u202eb\nc")), QStringLiteral("a\ufffdb\nc"));
        QVERIFY(plainToolTip(QString(1'000'000, QLatin1Char('x'))).size() <= kValueLength);
    }

    void noticeShowsAndKeepsLongTexts() {
        NoticeBar bar;
        const QString text = QStringLiteral("cannot read ") + QString(100'000, QLatin1Char('x'));
        bar.showMessage(NoticeBar::Kind::error, text, text);
        QVERIFY(bar.minimumSizeHint().width() < 1000);
        QVERIFY(bar.sizeHint().height() < 400);
        QTest::mouseClick(bar.findChild<QPushButton*>(QStringLiteral("copy")), Qt::LeftButton);
        QCOMPARE(QApplication::clipboard()->text(), text); // whole
    }

    void noticeCopiesShowsAndGoes() {
        NoticeBar bar;
        bar.showMessage(NoticeBar::Kind::error, "It failed", "long story", "Show log");
        QVERIFY(!bar.isHidden());
        QVERIFY(bar.accessibleName().contains("It failed"));
        QTest::mouseClick(bar.findChild<QPushButton*>("copy"), Qt::LeftButton);
        QCOMPARE(QApplication::clipboard()->text(), QString("long story"));
        QSignalSpy shown(&bar, &NoticeBar::showRequested), gone(&bar, &NoticeBar::dismissed);
        QTest::mouseClick(bar.findChild<QPushButton*>("show"), Qt::LeftButton);
        QCOMPARE(shown.count(), 1);
        QTest::keyClick(&bar, Qt::Key_Escape);
        QCOMPARE(gone.count(), 1);
        QVERIFY(bar.isHidden());
        bar.showMessage(NoticeBar::Kind::info, "Done");
        QVERIFY(bar.findChild<QPushButton*>("copy")->isHidden());
    }

    void fuzzyOrder_data() {
        QTest::addColumn<QString>("pattern");
        QTest::addColumn<QString>("better");
        QTest::addColumn<QString>("worse");
        QTest::newRow("prefix before word") << "ex"
                                            << "Export image"
                                            << "Open example";
        QTest::newRow("word before middle") << "in"
                                            << "Zoom in"
                                            << "Min size";
        QTest::newRow("middle before letters") << "port"
                                               << "Export"
                                               << "Play or try";
        QTest::newRow("letters before nothing") << "zi"
                                                << "Zoom in"
                                                << "Quit";
    }
    void fuzzyOrder() {
        QFETCH(QString, pattern);
        QFETCH(QString, better);
        QFETCH(QString, worse);
        QVERIFY(fuzzyScore(pattern, better) > fuzzyScore(pattern, worse));
    }

    void paletteRunsCommands() {
        QMainWindow window;
        auto* menu = window.menuBar()->addMenu("&File");
        auto* open = menu->addAction("&Open model…");
        auto* hidden = menu->addAction("Open nothing");
        hidden->setEnabled(false);
        menu->addSeparator();
        const auto commands = CommandPalette::commands(&window);
        QVERIFY(commands.contains(open));
        QVERIFY(!commands.contains(hidden));
        QVERIFY(!commands.contains(menu->menuAction()));
        auto* page = new QWidget(&window);
        auto* remote = new QAction("Optimise", page);
        page->addAction(remote);
        page->hide();
        QVERIFY(!CommandPalette::commands(&window).contains(remote));
        page->show();
        QVERIFY(CommandPalette::commands(&window).contains(remote));
        CommandPalette palette(&window);
        auto* input = palette.findChild<QLineEdit*>();
        auto* list = palette.findChild<QListWidget*>();
        QTest::keyClicks(input, "opmo");
        QCOMPARE(list->count(), 1);
        QVERIFY(list->item(0)->text().startsWith("Open model"));
        QSignalSpy spy(open, &QAction::triggered);
        QTest::keyClick(input, Qt::Key_Return);
        QCOMPARE(spy.count(), 0);
        QTRY_COMPARE(spy.count(), 1);
    }

    void paletteActionHasItsShortcut() {
        QMainWindow window;
        auto* action = CommandPalette::createAction(&window);
        QCOMPARE(action->shortcut(), QKeySequence("Ctrl+Shift+P"));
        QVERIFY(window.actions().contains(action));
        QVERIFY(!CommandPalette::commands(&window).contains(action));
    }

    void rowsAnnounceOnlyChanges() {
        FruitModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QSignalSpy reset(&model, &QAbstractItemModel::modelReset),
            inserted(&model, &QAbstractItemModel::rowsInserted),
            changed(&model, &QAbstractItemModel::dataChanged);
        model.setRows({{"a", "Apple", 1}, {"b", "Pear", 2}});
        QCOMPARE(inserted.count(), 1);
        model.setRows({{"a", "Apple", 1}, {"b", "Pear", 3}, {"c", "Fig", 4}});
        QCOMPARE(inserted.count(), 2);
        QCOMPARE(changed.count(), 1);
        QCOMPARE(changed[0][0].toModelIndex().row(), 1);
        QCOMPARE(reset.count(), 0);
        model.setRows({{"c", "Fig", 4}});
        QCOMPARE(reset.count(), 1);
        QCOMPARE(model.rowCount(), 1);
        QCOMPARE(model.index(0, 1).data(kSortRole).toInt(), 4);
        QCOMPARE(model.headerData(1, Qt::Horizontal, Qt::WhatsThisRole).toString(), QString("How many"));
    }

    // Qt takes for HTML what looks so, and reads the files that it names.
    void cellsAndTipsAreNoMarkup() {
        FruitModel model;
        model.setRows({{"a", "<img src=\"/dev/zero\">", 1}, {"b", QString(1'000'000, 'x'), 2}, {"c", "two\nlines", 3}});
        const auto at = [&](int row, int role) { return model.index(row, 0).data(role).toString(); };
        QVERIFY2(at(0, Qt::ToolTipRole).contains("&lt;img") && !at(0, Qt::ToolTipRole).contains("<img"), qPrintable(at(0, Qt::ToolTipRole)));
        QCOMPARE(at(0, Qt::DisplayRole), QString("<img src=\"/dev/zero\">"));
        QVERIFY(at(1, Qt::ToolTipRole).size() <= kValueLength && at(1, Qt::DisplayRole).size() <= kValueLength);
        QCOMPARE(at(2, Qt::DisplayRole), QString("two lines"));
        QCOMPARE(at(1, kSortRole).size(), 1'000'000);
    }

    void tablesCopyAsTsv() {
        FruitModel model;
        model.setRows({{"a", "Ap\tple", 1}, {"b", "Pear", 2}});
        QTableView view;
        view.setModel(&model);
        auto* copy = addTableCopy(view);
        QCOMPARE(tableAsTsv(view), QString("Name\tCount\nAp ple\t1\nPear\t2\n"));
        view.selectRow(1);
        copy->trigger();
        QCOMPARE(QApplication::clipboard()->text(), QString("Name\tCount\nPear\t2\n"));
    }
};

QTEST_MAIN(BaseWidgetsTest)
#include "tst_base_widgets.moc"
