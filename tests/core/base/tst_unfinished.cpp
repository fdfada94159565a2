// SPDX-License-Identifier: GPL-3.0-or-later
// A program that leaves without destructors leaves nothing of its own on the disk, and ends what must not be half done.
#include <QTemporaryDir>
#include <QTest>
#include <fstream>
#include <functional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "core/base/atomic_file.h"
#include "core/base/unfinished.h"
#include "core/base/work_folder.h"

using namespace tunesmith;
namespace fs = std::filesystem;

class TestUnfinished : public QObject {
    Q_OBJECT

    QTemporaryDir temporary_;
    fs::path folder_;

    // In a program of its own, whose status it gives.
    static int inChild(const std::function<bool()>& act) {
        const pid_t child = ::fork();
        if (child == 0)
            ::_exit(act() ? 0 : 1);
        int status = -1;
        ::waitpid(child, &status, 0);
        return status;
    }
    std::ptrdiff_t left() const { return std::distance(fs::directory_iterator(folder_), {}); }

private slots:
    void init() {
        folder_ = temporary_.filePath(QTest::currentTestFunction()).toStdString();
        fs::create_directory(folder_);
    }

    void filesAndFoldersGo() {
        QCOMPARE(inChild([&] {
            const auto file = AtomicFile::create(folder_ / "file");
            const auto work = WorkFolder::create(folder_, ".work-");
            fs::create_directory(work->path() / "made");
            std::ofstream(work->path() / "made/file") << "ours";
            const bool begun = left() == 2;
            removeUnfinished();
            return begun && left() == 0 && !AtomicFile::create(folder_ / "late").ok();
        }), 0);
        QCOMPARE(left(), 0);
    }

    void foldersOfOthersStay() {
        QCOMPARE(inChild([&] {
            const auto work = WorkFolder::create(folder_, ".work-");
            fs::create_directory(work->path() / WorkFolder::kForeign);
            removeUnfinished();
            return left() == 1;
        }), 0);
        QCOMPARE(WorkFolder::abandoned(folder_, ".work-").size(), std::size_t(1));
        QCOMPARE(left(), 1); // also afterwards
    }

    void stepsAreDoneWhole() {
        int begun[2];
        QCOMPARE(::pipe(begun), 0);
        QCOMPARE(inChild([&] {
            std::thread([&] {
                (void)doWhole([&]() -> Status {
                    (void)!::write(begun[1], "", 1);
                    while (AtomicFile::create(folder_ / "file").ok()) // until the other one waits
                        std::this_thread::yield();
                    (void)doWhole([&]() -> Status { return std::ofstream(folder_ / "done"), Status(); });
                    return {};
                });
            }).detach();
            char byte = 0;
            (void)!::read(begun[0], &byte, 1);
            removeUnfinished();
            return fs::exists(folder_ / "done") && doWhole([] { return Status(); }).error().isCancelled();
        }), 0);
        ::close(begun[0]);
        ::close(begun[1]);
    }

    // Others are not waited for without an end.
    void longStepsAreLeft() {
        QCOMPARE(inChild([&] { return doWhole([]() -> Status { return removeUnfinished(), Status(); }).ok(); }), 0);
    }
};

QTEST_GUILESS_MAIN(TestUnfinished)
#include "tst_unfinished.moc"
