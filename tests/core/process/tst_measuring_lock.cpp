// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/measuring_lock.h"
#include "core/base/log.h"
#include "process_testing.h"
#include <QScopeGuard>
#include <QTemporaryDir>
#include <atomic>
#include <csignal>
#include <thread>

using namespace tunesmith;
using namespace tunesmith::testing;

class TestMeasuringLock : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> folder_;
    std::string folder() const { return folder_->path().toStdString(); }
    MeasuringLock lock() const { return std::move(MeasuringLock::openIn(folder())).value(); }

private slots:
    void init() {
        folder_ = std::make_unique<QTemporaryDir>();
        QVERIFY(folder_->isValid());
    }

    void excludes() {
        auto key = lock().tryAcquire();
        QVERIFY(key.ok() && key->has_value());
        const auto second = lock().tryAcquire();
        QVERIFY(second.ok() && !second->has_value());
        key->reset();
        const auto third = lock().tryAcquire();
        QVERIFY(third.ok() && third->has_value());
    }

    // As that of a login goes when its user logs out, while what he started goes on.
    void theFolderGoes() {
        const QByteArray before = qgetenv("XDG_RUNTIME_DIR");
        const auto restored = qScopeGuard([&before] { qputenv("XDG_RUNTIME_DIR", before); });
        qputenv("XDG_RUNTIME_DIR", folder_->path().toUtf8());
        const auto users = MeasuringLock::open();
        QVERIFY(users.ok() && users->acquire().ok());
        QVERIFY(folder_->remove());
        const auto key = users->acquire();
        QVERIFY2(key.ok(), key.ok() ? "" : key.error().message.c_str());
        QVERIFY(!MeasuringLock::open()->tryAcquire()->has_value()); // who begins now meets it
    }

    void movesWithItsKey() {
        auto first = lock().acquire();
        QVERIFY(first.ok());
        MeasuringKey moved = std::move(first).value();
        QVERIFY(!lock().tryAcquire()->has_value());
        {
            const MeasuringKey inner = std::move(moved);
            QVERIFY(!lock().tryAcquire()->has_value());
        }
        QVERIFY(lock().tryAcquire()->has_value());
    }

    void anotherProcessHoldsItUntilItDies() {
        auto worker = WorkerClient::start(testWorker());
        QVERIFY(worker.ok());
        const auto held = (*worker)->call(request("hold-lock", {{"folder", folder()}}), 20s);
        QVERIFY2(held.ok(), held.ok() ? "" : held.error().message.c_str());
        QVERIFY(!lock().tryAcquire()->has_value());
        const auto late = lock().acquire({}, 50ms);
        QVERIFY(!late.ok());
        QCOMPARE(int(late.error().kind), int(ErrorKind::timeout));
        QVERIFY2(late.error().message.find("process " + std::to_string((*worker)->pid())) !=
                     std::string::npos,
                 late.error().message.c_str());
        ::kill((*worker)->pid(), SIGKILL);
        const Stopwatch watch;
        const auto freed = lock().acquire({}, 5s);
        QVERIFY(freed.ok());
        QVERIFY(watch.milliseconds() < 1000);
    }

    void aWaitingProcessGetsItNext() {
        auto key = lock().acquire();
        QVERIFY(key.ok());
        std::optional<MeasuringKey> mine(std::move(key).value());
        auto worker = WorkerClient::start(testWorker());
        QVERIFY(worker.ok());
        std::atomic<bool> got{false};
        std::thread waiter([&] {
            got = (*worker)->call(request("hold-lock", {{"folder", folder()}}), 20s).ok();
        });
        std::this_thread::sleep_for(500ms);
        QVERIFY(!got);
        mine.reset();
        const auto again = lock().acquire({}, 300ms); // comes after the one that waits, who keeps it
        waiter.join();
        QVERIFY(got);
        QVERIFY(!again.ok());
    }

    void stopEndsTheWaiting() {
        const auto key = lock().acquire();
        QVERIFY(key.ok());
        StopSource source;
        std::chrono::steady_clock::time_point asked;
        std::thread stopper([&] {
            std::this_thread::sleep_for(100ms);
            asked = std::chrono::steady_clock::now();
            source.requestStop();
        });
        const auto stopped = lock().acquire(source.token());
        const auto returned = std::chrono::steady_clock::now();
        stopper.join();
        QVERIFY(!stopped.ok() && stopped.error().isCancelled());
        QVERIFY(returned - asked < 100ms);
    }

    void threadsTakeTurns() {
        int inside = 0, total = 0;
        std::atomic<bool> overlap{false};
        std::atomic<int> failures{0};
        std::mutex visible; // a file lock is no happens-before for the sanitizer
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t)
            threads.emplace_back([&] {
                for (int i = 0; i < 10; ++i) {
                    const auto key = lock().acquire({}, 60s);
                    failures += !key.ok();
                    {
                        const std::lock_guard guard(visible);
                        overlap = overlap || ++inside != 1;
                        ++total;
                    }
                    std::this_thread::sleep_for(1ms);
                    const std::lock_guard guard(visible);
                    --inside;
                }
            });
        for (std::thread& thread : threads)
            thread.join();
        QVERIFY(!overlap);
        QCOMPARE(failures.load(), 0);
        QCOMPARE(total, 30);
    }

    void folderComesFromTheSession() {
        qputenv("XDG_RUNTIME_DIR", folder_->path().toUtf8());
        const auto key = MeasuringLock::open()->acquire();
        QVERIFY(key.ok());
        QVERIFY(QFile::exists(folder_->filePath("tunesmith-measuring.lock")));
        QVERIFY(!lock().tryAcquire()->has_value());
        qunsetenv("XDG_RUNTIME_DIR");
        QVERIFY(MeasuringLock::open().ok());
    }

    // Whoever comes first in /tmp has the name; another user's folder, a link and a file are not used.
    void aTakenNameIsPassedBy() {
        namespace fs = std::filesystem;
        const fs::path base = folder_->path().toStdString();
        fs::create_directory(base / "mine");
        fs::create_symlink(base / "mine", base / "link");
        fs::create_symlink(base / "nowhere", base / "dangling");
        QVERIFY(QFile(folder_->filePath("file")).open(QIODevice::WriteOnly));
        std::vector<fs::path> places{base / "link", base / "dangling", base / "file"};
        if (::geteuid() == 0) {
            fs::create_directory(base / "foreign");
            QCOMPARE(::chown((base / "foreign").c_str(), 12345, 12345), 0);
            places.push_back(base / "foreign");
        }
        const auto none = MeasuringLock::ownFolderAmong(places);
        QVERIFY(!none.ok() && none.error().message.find("set XDG_RUNTIME_DIR") != std::string::npos);
        places.push_back(base / "new/cache");
        const auto found = MeasuringLock::ownFolderAmong(places);
        QVERIFY(found.ok() && *found == base / "new/cache");
        QCOMPARE(fs::status(*found).permissions(), fs::perms::owner_all);
        QVERIFY(!fs::exists(base / "nowhere") && fs::is_empty(base / "mine"));
    }

    void badFolder() {
        QVERIFY(!MeasuringLock::openIn("/nowhere").ok());
        QVERIFY(!MeasuringLock::openIn("/etc/passwd").ok());
    }

    void badFile_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"tunesmith-measuring.lock", "tunesmith-measuring.queue"})
            QTest::newRow(name) << name;
    }
    void badFile() { // is said when something begins that will measure, not at each measurement
        QFETCH(QString, name);
        QVERIFY(QFile::link("/nowhere/else", folder_->filePath(name)));
        const auto opened = MeasuringLock::openIn(folder());
        QVERIFY(!opened.ok());
        QVERIFY2(opened.error().message.find("cannot take the measuring lock " + folder() + "/" + name.toStdString()) != std::string::npos, opened.error().message.c_str());
    }

    void whoWaitsSaysSoOnce() {
        auto worker = WorkerClient::start(testWorker());
        QVERIFY(worker.ok());
        QVERIFY((*worker)->call(request("hold-lock", {{"folder", folder()}}), 20s).ok());
        QStringList told;
        std::mutex mutex;
        setLogSink([&](LogLevel, const std::string& text) {
            const std::lock_guard guard(mutex);
            told << QString::fromStdString(text);
        });
        const auto silence = qScopeGuard([] { setLogSink({}); });
        QVERIFY(!lock().acquire({}, 200ms).ok());
        QVERIFY(told.isEmpty()); // not for a moment
        for (int i = 0; i < 2; ++i)
            QVERIFY(!lock().acquire({}, 1500ms).ok());
        QCOMPARE(told.size(), 1);
        QVERIFY2(told[0].startsWith("process " + QString::number((*worker)->pid())), qPrintable(told[0]));
    }
};

QTEST_GUILESS_MAIN(TestMeasuringLock)
#include "tst_measuring_lock.moc"
