// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/devices_dock.h"
#include "app/gui/settings.h"
#include "app/gui/timeline_page.h"
#include "core/workbench/history.h"
#include "tests/app/cli/remote_services.h"
#include "tests/app/gui/tuning_fixture.h"
#include "tests/widgets/quiet_test.h"
#include "widgets/timeline/jobs_panel.h"
#include "widgets/timeline/timeline_view.h"
#include <QAction>
#include <QFile>
#include <QSignalSpy>

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

DevicesDock* connectedDock(WindowFixture& fixture, const QString& address) {
    DevicesDock* dock = fixture.window().timelinePage()->devices();
    dock->setTracker({address, {}, {}, false});
    dock->connectAction()->trigger();
    return QTest::qWaitFor([dock] { return dock->state() != DevicesPanel::State::connecting; }, kPatience) ? dock : nullptr;
}

} // namespace

// Machines that a tracker lends, in the window. Trackers and servers are programs of their own.
class TstDevicesWindow : public QObject {
    Q_OBJECT
private slots:
    void init() { QuietTest::start(); }
    void cleanup() {
        settings::setTracker({});
        QuietTest::finish();
    }

    void tunesOnADevice() {
        const auto tracker = startTracker();
        const auto server = startMock(tracker->address(), QStringLiteral("lab")), other = startMock(tracker->address(), QStringLiteral("lab"));
        QVERIFY(!server->address().isEmpty() && !other->address().isEmpty());
        WindowFixture fixture;
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 3);
        QVERIFY(page);
        auto* form = page->findChild<BudgetForm*>();
        emit form->devicesWanted(); // leads to where the tracker is chosen
        QCOMPARE(fixture.window().page(), MainWindow::Page::timeline);
        const DevicesDock* dock = connectedDock(fixture, tracker->address());
        QVERIFY(dock && dock->connected());
        QTRY_COMPARE_WITH_TIMEOUT(dock->rows().rowCount(), 2, kPatience);
        QTRY_COMPARE_WITH_TIMEOUT(dock->keys(), (QVector<DeviceKey>{{QStringLiteral("lab"), 2, 2, 2}}), kPatience);
        BudgetChoice choice = form->choice();
        QVERIFY(choice.device.isEmpty()); // nobody chose one
        choice.device = QStringLiteral("lab");
        choice.devices = 2;
        form->setChoice(choice);
        QCOMPARE(form->choice(), choice);
        fixture.window().showPage(MainWindow::Page::tune);
        QSignalSpy tuned(page, &TunePage::tuned), problem(page, &TunePage::problem);
        page->start();
        QTRY_VERIFY_WITH_TIMEOUT(tuned.count() + problem.count() > 0, kPatience);
        QVERIFY2(problem.isEmpty(), problem.isEmpty() ? "" : qPrintable(problem.first().first().toString()));
        QVERIFY(dots(page) > 0);
        const auto runs = tuningRuns(fixture.store().toStdString());
        QVERIFY(runs.ok() && runs->size() == 1 && !runs->front().resumable);

        // Another window finds the tracker that was asked, and asks again only when told to.
        MainWindow& again = fixture.reopen();
        QVERIFY(again.timelinePage()->devices()->tracker().address == tracker->address() && !again.timelinePage()->devices()->connected());
        QVERIFY(again.tunePage()->findChild<BudgetForm*>()->choice().device.isEmpty());
    }

    // What a device is chosen for must not end up on this machine because the device went away.
    void aKeyThatIsGoneIsNoLongerChosen() {
        const auto tracker = startTracker();
        auto server = startMock(tracker->address(), QStringLiteral("lab"));
        WindowFixture fixture;
        TunePage* page = readyToTune(fixture, BudgetKind::trialsPerWorkload, 3);
        QVERIFY(page);
        auto* form = page->findChild<BudgetForm*>();
        DevicesDock* dock = connectedDock(fixture, tracker->address());
        QVERIFY(dock && dock->connected());
        BudgetChoice choice = form->choice();
        choice.device = QStringLiteral("lab");
        form->setChoice(choice);
        QCOMPARE(form->choice().device, QStringLiteral("lab"));
        QCOMPARE(server->terminate(), 0);
        QTRY_COMPARE_WITH_TIMEOUT(dock->rows().rowCount(), 0, kPatience);
        QCOMPARE(form->choice().device, QStringLiteral("lab")); // it is waited for
        dock->connectAction()->trigger();
        QVERIFY(dock->state() == DevicesPanel::State::off);
        QVERIFY(form->choice().device.isEmpty()); // there is nobody to ask for it
    }

    void jobsWithoutATrackerAreGivenThatOfTheWindow() {
        const auto tracker = startTracker();
        const auto server = startMock(tracker->address(), QStringLiteral("lab"));
        WindowFixture fixture;
        TimelinePage* page = fixture.window().timelinePage();
        const QString file = fixture.path(QStringLiteral("jobs.toml"));
        QFile text(file);
        QVERIFY(text.open(QIODevice::WriteOnly) && text.write("threads = 1\ntrials = 2\n[[job]]\nmodel = 'mlp'\ndevice = 'lab'\n") > 0);
        text.close();
        page->run(file);
        QTRY_VERIFY_WITH_TIMEOUT(!page->running(), kPatience);
        using State = TimelineJob::State;
        QVERIFY2(page->jobsPanel()->rows().rows()[0].state == State::failed && page->jobsPanel()->rows().rows()[0].problem.contains(QStringLiteral("tracker")),
                 qPrintable(page->jobsPanel()->rows().rows()[0].problem));
        QVERIFY(connectedDock(fixture, tracker->address()));
        page->run(file);
        QTRY_VERIFY_WITH_TIMEOUT(!page->running(), kPatience);
        QVERIFY2(page->jobsPanel()->rows().rows()[0].state == State::done, qPrintable(page->jobsPanel()->rows().rows()[0].problem));
    }

    void whoCannotBeAskedIsNamed() {
        WindowFixture fixture;
        const DevicesDock* dock = connectedDock(fixture, QStringLiteral("127.0.0.1:1"));
        QVERIFY(dock && dock->state() == DevicesPanel::State::off);
        QVERIFY2(dock->status().contains(QStringLiteral("127.0.0.1:1")), qPrintable(dock->status()));
        QVERIFY(dock->choice().tracker.empty() && dock->connectAction()->isEnabled());
        DevicesDock* again = connectedDock(fixture, QStringLiteral("no port"));
        QVERIFY(again && again->state() == DevicesPanel::State::off && !again->status().isEmpty());
        again->setTracker({QStringLiteral("127.0.0.1:1"), fixture.path(QStringLiteral("no token")), {}, false});
        again->connectAction()->trigger();
        QTRY_VERIFY2_WITH_TIMEOUT(again->status().contains(QStringLiteral("no token")), qPrintable(again->status()), kPatience);
    }

    void keysAreCounted() {
        DeviceState one, two;
        one.keys = {"b", "a"};
        one.threads = 8;
        two.keys = {"b"};
        two.threads = 2;
        two.client = "me";
        QCOMPARE(deviceKeys({{one, two}, {}}), (QVector<DeviceKey>{{QStringLiteral("a"), 1, 1, 8}, {QStringLiteral("b"), 2, 1, 8}}));
        QVERIFY(deviceKeys({}).isEmpty());
        one.mock = true;
        QVERIFY(deviceEntry(one).processor.contains(QStringLiteral("made up")) && std::isnan(deviceEntry(one).gflops));
    }
};

int main(int argc, char** argv) {
    return windowTestMain<TstDevicesWindow>("tst_devices_window", argc, argv);
}
#include "tst_devices_window.moc"
