// SPDX-License-Identifier: GPL-3.0-or-later
// Files that appear whole: many writers of one target, writers that were killed, names that are taken.
#include <QTemporaryDir>
#include <QTest>
#include <fstream>
#include <functional>
#include <iterator>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/atomic_file.h"

using namespace tunesmith;
namespace fs = std::filesystem;

class TestAtomicFile : public QObject {
    Q_OBJECT

    QTemporaryDir temporary_;
    fs::path folder_, target_;

    static void inChild(const std::function<void()>& act) {
        const pid_t child = ::fork();
        if (child == 0) {
            act();
            ::_exit(0);
        }
        ::waitpid(child, nullptr, 0);
    }
    static Status put(AtomicFile& file, const std::string& text) { return file.write(std::as_bytes(std::span(text))); }
    static Status write(const fs::path& path, const std::string& text) {
        TS_ASSIGN(AtomicFile file, AtomicFile::create(path));
        TS_TRY(put(file, text));
        return file.commit();
    }
    // As a kill would end it.
    static void leaveBehind(const fs::path& path, int count = 1) {
        inChild([&] {
            std::vector<AtomicFile> files;
            for (int i = 0; i < count; ++i)
                if (auto file = AtomicFile::create(path); file.ok())
                    files.push_back(std::move(file).value());
            ::_exit(0);
        });
    }
    static std::string textOf(const fs::path& path) {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    QStringList entries() const {
        QStringList names;
        for (const auto& entry : fs::directory_iterator(folder_))
            names << QString::fromStdString(entry.path().filename().string());
        names.sort();
        return names;
    }

private slots:
    void init() {
        folder_ = temporary_.filePath(QTest::currentTestFunction()).toStdString();
        target_ = folder_ / "net.onnx";
        fs::remove_all(folder_);
        fs::create_directory(folder_);
    }

    // Where processes live in containers, numbers of killed ones come again.
    void namesThatAreTakenAreNoError() {
        for (int i = 0; i < 100; ++i)
            std::ofstream(folder_ / (".tunesmith-" + std::to_string(::getpid()) + "-" + std::to_string(i) + ".part"));
        leaveBehind(target_);
        for (const auto& entry : fs::directory_iterator(folder_)) // of a kind that cannot be removed
            if (fs::remove(entry.path()))
                fs::create_directories(entry.path() / "in use");
        const Status written = write(target_, "new");
        QVERIFY2(written.ok(), written.ok() ? "" : written.error().message.c_str());
        QCOMPARE(textOf(target_), std::string("new"));
    }

    // A database holds the only copy of its trials. The log that SQLite keeps beside it is a part of it.
    void databasesAreNotReplaced_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<bool>("inUse");
        QTest::newRow("database") << "trials.db" << false;
        QTest::newRow("database in use") << "trials.db" << true;
        QTest::newRow("link") << "link.db" << false;
        QTest::newRow("log") << "trials.db-wal" << true;
        QTest::newRow("log that is to be") << "trials.db-wal" << false;
        QTest::newRow("index of the log") << "trials.db-shm" << true;
        QTest::newRow("journal") << "trials.db-journal" << false;
    }
    void databasesAreNotReplaced() {
        QFETCH(QString, name);
        QFETCH(bool, inUse);
        const std::string database("SQLite format 3\0 and pages", 26);
        std::ofstream(folder_ / "trials.db") << database;
        fs::create_symlink("trials.db", folder_ / "link.db");
        if (inUse)
            std::ofstream(folder_ / "trials.db-wal") << "frames";
        const QStringList before = entries();
        const auto file = AtomicFile::create(folder_ / name.toStdString());
        QVERIFY(!file.ok());
        QVERIFY2(file.error().message.find("name another file") != std::string::npos && file.error().message.find("trials.db") != std::string::npos, file.error().message.c_str());
        QCOMPARE(textOf(folder_ / "trials.db"), database);
        QCOMPARE(entries(), before);
    }
    void otherFilesAreReplaced() {
        for (const char* const text : {"", "SQLite format 3", "SQLite format 2\0 and pages", "model"}) {
            std::ofstream(target_) << text;
            QVERIFY(write(target_, "new").ok());
        }
        QVERIFY(write(folder_ / "alone-wal", "new").ok());
    }

    void theNextWriterRemovesWhatAKillLeft() {
        leaveBehind(target_, 3);
        leaveBehind(folder_ / "other");
        QCOMPARE(entries().size(), 4);
        QVERIFY(write(target_, "new").ok());
        QCOMPARE(entries().size(), 2);
        QVERIFY(write(folder_ / "other", "new").ok());
        QCOMPARE(entries(), (QStringList{"net.onnx", "other"}));
    }

    void livingWritersKeepTheirFiles() {
        std::vector<AtomicFile> files;
        for (int i = 0; i < 20; ++i) {
            files.push_back(std::move(AtomicFile::create(target_)).value());
            QVERIFY(put(files.back(), std::to_string(i)).ok() && (i % 2 == 0 || files.back().close().ok()));
        }
        inChild([&] { (void)write(target_, "child"); });
        QCOMPARE(textOf(target_), std::string("child"));
        for (std::size_t i = 0; i < files.size(); ++i) {
            QVERIFY(files[i].commit().ok());
            QCOMPARE(textOf(target_), std::to_string(i));
            QVERIFY(i % 3 != 0 || AtomicFile::create(target_).ok()); // not committed
        }
        QCOMPARE(entries(), QStringList{"net.onnx"});
    }

    void linksAreFollowedOrReplaced_data() {
        QTest::addColumn<QString>("named"); // by the link
        for (const char* named : {"file", "folder", "nothing", "/dev/null"})
            QTest::newRow(named) << named;
    }
    void linksAreFollowedOrReplaced() {
        QFETCH(QString, named);
        const fs::path link = folder_ / named.section('/', -1).prepend("link-").toStdString();
        fs::create_directories(folder_ / "folder");
        QVERIFY(write(folder_ / "file", "precious").ok());
        fs::permissions(folder_ / "file", fs::perms::owner_all);
        fs::create_symlink(named.toStdString(), link);
        if (named == "file") {
            QVERIFY(write(link, "followed").ok());
            QCOMPARE(textOf(folder_ / "file"), std::string("followed"));
            QVERIFY(fs::is_symlink(link) && write(folder_ / "file", "precious").ok());
        }
        auto file = AtomicFile::create(link, Links::replace);
        QVERIFY2(file.ok(), file.ok() ? "" : file.error().message.c_str());
        QVERIFY(put(*file, "new").ok() && file->commit().ok());
        QVERIFY(fs::is_regular_file(fs::symlink_status(link)));
        QVERIFY((fs::status(link).permissions() & fs::perms::owner_exec) == fs::perms::none); // those of the other file are its own
        QCOMPARE(textOf(link), std::string("new"));
        QCOMPARE(textOf(folder_ / "file"), std::string("precious"));
    }

    // Many may wait for their commit().
    void closedFilesTakeNoDescriptor() {
        const auto open = [] { return std::distance(fs::directory_iterator("/proc/self/fd"), {}); };
        const auto before = open();
        auto file = AtomicFile::create(target_);
        QVERIFY(file.ok() && open() == before + 1 && file->close().ok());
        QCOMPARE(open(), before);
    }

    void linksToNothingStay_data() {
        QTest::addColumn<QString>("to");
        QTest::newRow("a missing file") << "missing";
        QTest::newRow("a missing folder") << "missing/file";
        QTest::newRow("itself") << "link";
    }
    void linksToNothingStay() {
        QFETCH(const QString, to);
        const fs::path link = folder_ / "link";
        fs::create_symlink(to.toStdString(), link);
        const auto refused = AtomicFile::create(link);
        QVERIFY(!refused.ok());
        QVERIFY2(refused.error().message.find("is a link to what is not there") != std::string::npos, refused.error().message.c_str());
        QVERIFY(fs::is_symlink(link));
        QCOMPARE(entries().size(), 1);
        auto file = AtomicFile::create(link, Links::replace); // the program chose the name
        QVERIFY(file.ok() && file->commit().ok());
        QVERIFY(fs::is_regular_file(link));
    }
};

QTEST_GUILESS_MAIN(TestAtomicFile)
#include "tst_atomic_file.moc"
