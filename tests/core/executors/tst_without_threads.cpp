// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/base/helpers.h"
#include "remote_cluster.h"
#include "tests/no_threads.h"

using namespace tunesmith;
using namespace tunesmith::testing;

// A limit of processes is an error of who asks for a thread, and the end of nobody else.
class TstWithoutThreads : public QObject {
    Q_OBJECT
private slots:
    void aThreadOrAnError() {
        bool ran = false;
        take(startThread([&ran] { ran = true; })).join();
        QVERIFY(ran);
        noThreads = true;
        const auto thread = startThread([] {});
        noThreads = false;
        QVERIFY(!thread.ok());
        QVERIFY2(thread.error().message.find("ulimit -u") != std::string::npos, thread.error().message.c_str());
    }

    void sessions() {
        Cluster cluster;
        cluster.addMock("a");
        const auto tracker = take(TrackerClient::make(cluster.tracker->address(), {}));
        const LeaseBook::Answer grant = take(tracker->ask({"ticket", "x", "cpu"}));
        noThreads = true;
        const auto session = RemoteSession::open({grant, {}, {}, newSecret(), quickTiming()}, {});
        noThreads = false;
        QVERIFY(!session.ok());
        QVERIFY2(session.error().message.find("ulimit -u") != std::string::npos, session.error().message.c_str());
        QVERIFY(RemoteSession::open({grant, {}, {}, newSecret(), quickTiming()}, {}).ok());
    }
};

QTEST_GUILESS_MAIN(TstWithoutThreads)
#include "tst_without_threads.moc"
