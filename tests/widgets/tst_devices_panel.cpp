// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/widgets/quiet_test.h"
#include "widgets/devices/devices_panel.h"
#include <QAction>
#include <QCheckBox>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>

using namespace tunesmith;

namespace {

DeviceEntry entry(const char* address, const char* client) {
    DeviceEntry made;
    made.key = QLatin1String(address);
    made.keys = QStringLiteral("epyc, avx512");
    made.name = QStringLiteral("<b>lab</b>\n1");
    made.gflops = std::numeric_limits<double>::quiet_NaN();
    made.gbs = 29.6;
    made.client = QLatin1String(client);
    made.priority = 3;
    made.seconds = 185.7;
    return made;
}

QString cell(const DevicesPanel& panel, int row, int column, int role = Qt::DisplayRole) {
    return panel.rows().index(row, column).data(role).toString();
}

} // namespace

// The devices of a tracker.
class TstDevicesPanel : public QObject {
    Q_OBJECT
private slots:
    void init() { QuietTest::start(); }
    void cleanup() { QuietTest::finish(); }

    void asksForATrackerFirst() {
        DevicesPanel panel;
        QVERIFY(!panel.connectAction()->isEnabled() && panel.status().contains(QStringLiteral("lends")));
        QSignalSpy asked(&panel, &DevicesPanel::connectRequested), left(&panel, &DevicesPanel::disconnectRequested);
        panel.connectAction()->trigger();
        panel.setTracker({QStringLiteral(" here:1 "), QStringLiteral("token"), QStringLiteral("ca.pem"), true});
        QCOMPARE(panel.tracker(), (TrackerChoice{QStringLiteral("here:1"), QStringLiteral("token"), QStringLiteral("ca.pem"), true}));
        panel.connectAction()->trigger();
        QVERIFY(asked.count() == 1 && left.isEmpty());
        panel.setState(DevicesPanel::State::connecting);
        QVERIFY(panel.status().contains(QStringLiteral("Asking")) && !panel.findChild<QLineEdit*>()->isEnabled() && !panel.findChild<QCheckBox*>()->isEnabled());
        panel.connectAction()->trigger(); // now the other way
        QVERIFY(asked.count() == 1 && left.count() == 1);
    }

    void showsWhoHasWhatAndWhoWaits() {
        DevicesPanel panel;
        panel.setTracker({QStringLiteral("here:1"), {}, {}, false});
        panel.setState(DevicesPanel::State::on);
        QVERIFY2(panel.status().contains(QStringLiteral("no device")), qPrintable(panel.status()));
        panel.setDevices({entry("a:1", ""), entry("b:1", "me@here:7")}, {{QStringLiteral("you@there"), QStringLiteral("epyc"), 0, 12}});
        QVERIFY2(panel.status().contains(QStringLiteral("2")) && panel.status().contains(QStringLiteral("free: 1")) && panel.status().contains(QStringLiteral("waiting: 1")), qPrintable(panel.status()));
        QCOMPARE(cell(panel, 0, 1), QStringLiteral("<b>lab</b> 1"));
        QVERIFY(cell(panel, 0, 1, Qt::ToolTipRole).contains(QStringLiteral("a:1")));
        QCOMPARE(cell(panel, 0, 5), QStringLiteral("–"));
        QCOMPARE(cell(panel, 0, 6), QStringLiteral("30 GB/s"));
        QCOMPARE(cell(panel, 0, 7), QStringLiteral("free"));
        QCOMPARE(cell(panel, 0, 8), QStringLiteral("–")); // an older server does not say it
        DeviceEntry confined = entry("c:1", "");
        confined.confinement = QStringLiteral("all but this:\nsomething");
        QVERIFY(!(confined == entry("c:1", "")));
        DevicesPanel other;
        other.setDevices({confined}, {});
        QCOMPARE(cell(other, 0, 8), QStringLiteral("all but this: something"));
        QCOMPARE(cell(panel, 1, 7), QStringLiteral("me@here:7, for 3 min 05 s"));
        QVERIFY(cell(panel, 1, 7, Qt::ToolTipRole).contains(QLatin1Char('3')));
        QVERIFY(entry("a:1", "") == entry("a:1", "") && !(entry("a:1", "") == entry("a:1", "x"))); // what is not known equals itself
        DeviceEntry deaf = entry("a:1", "");
        deaf.deaf = true;
        QVERIFY(!(deaf == entry("a:1", "")));
        panel.setDevices({deaf, entry("b:1", "me@here:7")}, {});
        QCOMPARE(cell(panel, 0, 7), QStringLiteral("does not answer"));
        QVERIFY2(panel.status().contains(QStringLiteral("free: 0")), qPrintable(panel.status()));
        panel.setProblem(QStringLiteral("gone\naway")); // what it said last stays
        QVERIFY(panel.status() == QStringLiteral("gone away") && panel.rows().rowCount() == 2);
        panel.setProblem({});
        panel.setState(DevicesPanel::State::off);
        QVERIFY(panel.rows().rowCount() == 0 && panel.findChild<QLineEdit*>()->isEnabled());
    }
};

QTEST_MAIN(TstDevicesPanel)
#include "tst_devices_panel.moc"
