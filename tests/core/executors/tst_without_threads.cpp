// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <cerrno>
#include <dlfcn.h>
#include <pthread.h>

#include "core/base/helpers.h"
#include "remote_cluster.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

thread_local bool refused = false;

struct NoThreads { // for this thread, as at the limit of processes
    NoThreads() { refused = true; }
    ~NoThreads() { refused = false; }
};

} // namespace

// Comes before the C library's.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* argument) {
    static const auto real = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
    return refused ? EAGAIN : real(thread, attributes, work, argument);
}

// A limit of processes is an error of who asks for a thread, and the end of nobody else.
class TstWithoutThreads : public QObject {
    Q_OBJECT
private slots:
    void aThreadOrAnError() {
        bool ran = false;
        take(startThread([&ran] { ran = true; })).join();
        QVERIFY(ran);
        const NoThreads none;
        const auto thread = startThread([] {});
        QVERIFY(!thread.ok());
        QVERIFY2(thread.error().message.find("ulimit -u") != std::string::npos, thread.error().message.c_str());
    }

    void sessions() {
        Cluster cluster;
        cluster.addMock("a");
        const auto tracker = take(TrackerClient::make(cluster.tracker->address(), {}));
        const LeaseBook::Answer grant = take(tracker->ask({"ticket", "x", "cpu"}));
        {
            const NoThreads none;
            const auto session = RemoteSession::open({grant, {}, {}, newSecret(), quickTiming()}, {});
            QVERIFY(!session.ok());
            QVERIFY2(session.error().message.find("ulimit -u") != std::string::npos, session.error().message.c_str());
        }
        QVERIFY(RemoteSession::open({grant, {}, {}, newSecret(), quickTiming()}, {}).ok());
    }
};

QTEST_GUILESS_MAIN(TstWithoutThreads)
#include "tst_without_threads.moc"
