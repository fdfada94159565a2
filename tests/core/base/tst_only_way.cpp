// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>
#include <cstdint>
#include <fstream>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/only_way.h"

using namespace tunesmith;
namespace fs = std::filesystem;

class OnlyWay : public QObject {
    Q_OBJECT

    QTemporaryDir temporary_;
    fs::path base_, file_;

    static void set(const fs::path& path, mode_t mode) { QCOMPARE(::chmod(path.c_str(), mode), 0); }
    static std::string open(const fs::path& path) { return "others may write to '" + path.string() + "'"; }

private slots:
    void init() {
        base_ = fs::canonical(temporary_.path().toStdString()) / "base";
        fs::remove_all(base_);
        fs::create_directories(base_ / "a/b");
        for (const char* folder : {"", "a", "a/b"})
            set(base_ / folder, 0755);
        file_ = base_ / "a/b/file";
        std::ofstream(file_) << "text";
        set(file_, 0644);
    }

    void ownFilesAreNobodyElses() {
        QCOMPARE(otherHands(file_), std::string());
        QCOMPARE(otherHands(base_ / "a"), std::string());
        QCOMPARE(otherHands(base_ / "a/./b/../b//file"), std::string());
        QCOMPARE(otherHands("/"), std::string());
    }

    void openFoldersAndFilesAreNamed() {
        for (const mode_t mode : {0757, 0777})
            for (const fs::path& folder : {base_, base_ / "a", base_ / "a/b"}) {
                set(folder, mode);
                QCOMPARE(otherHands(file_), open(folder));
                set(folder, 0755);
            }
        set(file_, 0646);
        QCOMPARE(otherHands(file_), open(file_));
    }

    // Many systems give each user a group, and let it write.
    void groupsOfSeveralUsersAreOthers() {
        if (::geteuid() != 0)
            QSKIP("only root can give files to another group");
        for (const fs::path& path : {base_ / "a", file_}) {
            set(path, 0775);
            QCOMPARE(otherHands(file_), std::string()); // root's own
            QCOMPARE(::lchown(path.c_str(), 0, 12345), 0);
            QCOMPARE(otherHands(file_), open(path));
            QCOMPARE(::lchown(path.c_str(), 0, 0), 0);
        }
    }

    void accessListsAreOthers() {
        struct Entry {
            std::uint16_t tag, rights;
            std::uint32_t who;
        };
        const struct {
            std::uint32_t version = 2;
            Entry entries[5] = {{0x01, 6, ~0U}, {0x02, 6, 12345}, {0x04, 4, ~0U}, {0x10, 6, ~0U}, {0x20, 4, ~0U}}; // as acl(5) lists them
        } list;
        if (::setxattr(file_.c_str(), "system.posix_acl_access", &list, sizeof list, 0) != 0)
            QSKIP("this file system has no access lists");
        QCOMPARE(otherHands(file_), open(file_));
    }

    // Entries of a sticky folder stay with their owners; but it is no end of a way, for others may add to it.
    void stickyFoldersMayBeOnTheWay() {
        set(base_ / "a", 01777);
        QCOMPARE(otherHands(file_), std::string());
        QCOMPARE(otherHands(base_ / "a"), open(base_ / "a"));
    }

    void linksAreFollowed() {
        fs::create_directories(base_ / "open/own");
        set(base_ / "open/own", 0755);
        fs::create_symlink("../a/b", base_ / "open/link");
        fs::create_symlink(base_ / "open/own", base_ / "absolute");
        set(base_ / "open", 0755);
        QCOMPARE(otherHands(base_ / "open/link/file"), std::string());
        QCOMPARE(otherHands(base_ / "absolute"), std::string());
        set(base_ / "open", 0777); // the link may be another one, and so may what a link leads to
        QCOMPARE(otherHands(base_ / "open/link/file"), open(base_ / "open"));
        QCOMPARE(otherHands(base_ / "absolute"), open(base_ / "open"));
        fs::create_symlink("circle", base_ / "circle");
        QVERIFY(otherHands(base_ / "circle").find("cannot follow") == 0);
    }

    void whatIsNotThereIsAtFault() {
        QVERIFY(otherHands(base_ / "none").find("No such file") != std::string::npos);
        QVERIFY(otherHands(file_ / "below").find("Not a directory") != std::string::npos);
    }

    void otherOwnersAreNamed() {
        if (::geteuid() != 0)
            QSKIP("only root can give files away");
        const auto of = [](const fs::path& path) { return "'" + path.string() + "' belongs to another user"; };
        for (const fs::path& path : {file_, base_ / "a"}) {
            QCOMPARE(::lchown(path.c_str(), 12345, 12345), 0);
            QCOMPARE(otherHands(file_), of(path));
            QCOMPARE(::lchown(path.c_str(), 0, 0), 0);
        }
        set(base_, 01777);
        fs::create_symlink("a/b", base_ / "link");
        QCOMPARE(::lchown((base_ / "link").c_str(), 12345, 12345), 0);
        QCOMPARE(otherHands(base_ / "link/file"), of(base_ / "link"));
    }
};

QTEST_GUILESS_MAIN(OnlyWay)
#include "tst_only_way.moc"
