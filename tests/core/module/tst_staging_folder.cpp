// SPDX-License-Identifier: GPL-3.0-or-later
// Kills an export before each of its steps on the disk: the old folder or the new one is there, and nothing of the user's is lost.
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/module/staging_folder.h"
#include "tests/require.h"

using namespace tunesmith;
namespace fs = std::filesystem;

namespace {

const QStringList kOwn{"example/main.c", "library", "list"}; // each holds which export wrote it

std::string textOf(const fs::path& file) {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

std::optional<OwnFiles> listOf(const fs::path& folder) {
    if (!fs::exists(folder / "list"))
        return std::nullopt;
    OwnFiles own;
    for (const QString& name : kOwn)
        own.push_back({name.toStdString(), 0, {}});
    return own;
}

Status exportTo(const fs::path& folder, const std::string& text) {
    TS_ASSIGN(StagingFolder staging, StagingFolder::create(folder, listOf));
    for (const QString& name : kOwn)
        TS_TRY(staging.write(name.toStdString(), text));
    return staging.commit();
}

enum class Ran { killed, whole, untraced };

#if defined(__x86_64__)
bool changesDisk(unsigned long long number, unsigned long long flags) {
    switch (number) {
    case SYS_rename:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_unlink:
    case SYS_unlinkat:
    case SYS_rmdir:
    case SYS_mkdir:
    case SYS_mkdirat:
    case SYS_chmod:
        return true;
    case SYS_openat:
        return (flags & O_CREAT) != 0;
    default:
        return false;
    }
}

constexpr int kRefused = 99; // a system that lets nobody trace

// Runs this program's export up to a step, before which it is killed or `meanwhile` is called. A file system that cannot exchange
// folders is one where that call fails.
Ran exportUpTo(const fs::path& folder, int step, bool canExchange, const std::function<void()>& meanwhile = {}) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0)
            ::_exit(kRefused);
        ::raise(SIGSTOP);
        ::_exit(exportTo(folder, "new").ok() ? 0 : 1);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return Ran::untraced;
    ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
    bool entering = true, refused = false;
    for (;;) {
        ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
        if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
            return Ran::whole;
        user_regs_struct registers{};
        ::ptrace(PTRACE_GETREGS, child, nullptr, &registers);
        if (entering && changesDisk(registers.orig_rax, registers.rdx) && step-- == 0) {
            if (meanwhile) {
                meanwhile();
                entering = false;
                continue;
            }
            ::kill(child, SIGKILL);
            ::waitpid(child, &status, 0);
            return Ran::killed;
        }
        if (entering && !canExchange && registers.orig_rax == SYS_renameat2 && registers.r8 != 0) {
            registers.orig_rax = ~0ULL;
            ::ptrace(PTRACE_SETREGS, child, nullptr, &registers);
            refused = true;
        } else if (!entering && std::exchange(refused, false)) {
            registers.rax = static_cast<unsigned long long>(-EINVAL);
            ::ptrace(PTRACE_SETREGS, child, nullptr, &registers);
        }
        entering = !entering;
    }
}
#else // the registers of a system call have other names elsewhere
Ran exportUpTo(const fs::path&, int, bool, const std::function<void()>& = {}) { return Ran::untraced; }
#endif

// The export that is there, if it is whole.
std::string exportAt(const fs::path& folder) {
    const std::string text = textOf(folder / "list");
    for (const QString& name : kOwn)
        if (textOf(folder / name.toStdString()) != text)
            return "mixed";
    return text;
}

} // namespace

class TestStagingFolder : public QObject {
    Q_OBJECT

    QTemporaryDir folder_{fs::is_directory("/dev/shm") ? "/dev/shm/tst_staging_folder-XXXXXX" : "tst_staging_folder-XXXXXX"}; // where syncing costs nothing
    fs::path parent_, target_;

    void addForeign() const {
        fs::create_directories(target_ / "example/build");
        fs::create_directory(target_ / "notes");
        for (const char* name : {"note", "example/build/a.out", "notes/one", "example/data"})
            std::ofstream(target_ / name) << name;
    }
    void foreignIsThere() const {
        for (const char* name : {"note", "example/build/a.out", "notes/one", "example/data"})
            QCOMPARE(textOf(target_ / name), name);
        QCOMPARE(std::distance(fs::directory_iterator(target_), {}), 5);             // nothing twice,
        QCOMPARE(std::distance(fs::directory_iterator(target_ / "example"), {}), 3); // nothing left over
        QCOMPARE(std::distance(fs::directory_iterator(parent_), {}), 1);
    }
    std::ptrdiff_t lateFiles() const {
        return std::count_if(fs::recursive_directory_iterator(parent_), {}, [](const auto& entry) { return entry.path().filename() == "late"; });
    }

private slots:
    void init() {
        parent_ = folder_.filePath(QTest::currentDataTag() ? QTest::currentDataTag() : QTest::currentTestFunction()).toStdString();
        target_ = parent_ / "module";
    }

    void killedAtEachStep_data() {
        QTest::addColumn<bool>("canExchange");
        QTest::newRow("exchange") << true;
        QTest::newRow("no exchange") << false;
    }
    void killedAtEachStep() {
        QFETCH(bool, canExchange);
        Ran ran = Ran::killed;
        std::set<std::string> seen;
        for (int step = 0; ran == Ran::killed; ++step) {
            REQUIRE_OK(exportTo(target_, "old"));
            addForeign();
            ran = exportUpTo(target_, step, canExchange);
            if (ran == Ran::untraced)
                QSKIP("nobody may trace here");
            const std::string found = exportAt(target_);
            seen.insert(found);
            QVERIFY2(found == "old" || found == "new" || (found.empty() && !canExchange), qPrintable(QString("%1 after %2").arg(found.c_str()).arg(step)));
            REQUIRE_OK(exportTo(target_, "next"));
            QCOMPARE(exportAt(target_), "next");
            foreignIsThere();
            fs::remove_all(parent_);
            QVERIFY(step < 200);
        }
        QCOMPARE(seen.size(), std::size_t(canExchange ? 2 : 3));
    }

    void killedWhereNothingWas() {
        Ran ran = Ran::killed;
        for (int step = 0; ran == Ran::killed; ++step) {
            fs::create_directory(parent_);
            ran = exportUpTo(target_, step, true);
            if (ran == Ran::untraced)
                QSKIP("nobody may trace here");
            QVERIFY(!fs::exists(target_) || exportAt(target_) == "new");
            REQUIRE_OK(exportTo(target_, "next"));
            QCOMPARE(std::distance(fs::directory_iterator(parent_), {}), 1);
            fs::remove_all(parent_);
        }
    }

    // The user writes into the old folder while it is being taken away.
    void lateFilesAreKept() {
        std::ptrdiff_t most = 0;
        bool stopped = true;
        for (int step = 0; std::exchange(stopped, false); ++step) {
            REQUIRE_OK(exportTo(target_, "old"));
            std::ptrdiff_t added = 0;
            const Ran ran = exportUpTo(target_, step, true, [&] {
                stopped = true;
                std::vector<fs::path> folders;
                for (const auto& entry : fs::recursive_directory_iterator(parent_))
                    if (entry.is_directory() && entry.path().native().find("/replaced") != std::string::npos)
                        folders.push_back(entry.path());
                for (const fs::path& folder : folders)
                    added += (std::ofstream(folder / "late") << "late").good();
            });
            if (ran == Ran::untraced)
                QSKIP("nobody may trace here");
            most = std::max(most, added);
            REQUIRE_OK(exportTo(target_, "next"));
            QCOMPARE(exportAt(target_), "next");
            QVERIFY2(lateFiles() == added, qPrintable(QString("%1 of %2 after %3").arg(lateFiles()).arg(added).arg(step)));
            fs::remove_all(parent_);
        }
        QCOMPARE(most, 2); // in the folder and in the one in it
    }

    // The user makes something where there was nothing when the export began.
    void whatAppearsInThePlaceIsKept() {
        for (const bool link : {false, true}) {
            auto staging = StagingFolder::create(target_, listOf);
            REQUIRE_OK(staging);
            for (const QString& name : kOwn)
                REQUIRE_OK(staging->write(name.toStdString(), std::string_view("new")));
            if (link)
                fs::create_symlink("nowhere", target_);
            else
                std::ofstream(target_) << "mine";
            REQUIRE_OK(staging->commit());
            QCOMPARE(exportAt(target_), "new");
            const fs::path moved = parent_ / "module.old";
            QVERIFY(link ? fs::read_symlink(moved) == "nowhere" : textOf(moved) == "mine");
            fs::remove_all(parent_);
        }
    }

    // The user has a file of a name that only the newer export has.
    void takenNamesAreKept() {
        fs::create_directories(target_);
        std::ofstream(target_ / "list") << "old";
        const ListOwnFiles onlyList = [](const fs::path& folder) { return listOf(folder) ? std::optional(OwnFiles{{"list", 0, {}}}) : std::nullopt; };
        std::ofstream(target_ / "library") << "mine";
        std::ofstream(target_ / "library.old") << "older";
        auto staging = StagingFolder::create(target_, onlyList);
        REQUIRE_OK(staging);
        REQUIRE_OK(staging->write("library", std::string_view("ours")));
        REQUIRE_OK(staging->commit());
        QCOMPARE(textOf(target_ / "library"), "ours");
        QCOMPARE(textOf(target_ / "library.old"), "older");
        QCOMPARE(textOf(target_ / "library.old-2"), "mine");
    }

    // Names like those of our folders do not make them ours.
    void foreignFoldersBesideAreKept() {
        fs::create_directories(parent_ / ".module.tunesmith-backup");
        std::ofstream(parent_ / ".module.tunesmith-backup/note") << "note";
        REQUIRE_OK(exportTo(target_, "old"));
        REQUIRE_OK(exportTo(target_, "new"));
        QCOMPARE(textOf(parent_ / ".module.tunesmith-backup/note"), "note");
    }

    // A folder from elsewhere may come with links, and with what looks like the rest of a killed export.
    void linksInTheFolderAreNotFollowed_data() {
        QTest::addColumn<QString>("link");
        QTest::addColumn<QString>("kept");
        QTest::newRow("outer") << "example" << "example.old/deep/theirs";
        QTest::newRow("inner") << "example/deep" << "example/deep.old/theirs";
    }
    void linksInTheFolderAreNotFollowed() {
        QFETCH(QString, link);
        QFETCH(QString, kept);
        const fs::path hidden = parent_ / ".module.tunesmith-abcdef", replaced = hidden / "replaced", elsewhere = parent_ / "elsewhere", named = target_ / link.toStdString();
        const ListOwnFiles list = [](const fs::path& folder) { return listOf(folder) ? std::optional(OwnFiles{{"example/deep/main.c", 0, {}}, {"list", 0, {}}}) : std::nullopt; };
        for (const fs::path& folder : {elsewhere, named.parent_path(), replaced / "example/deep"})
            fs::create_directories(folder);
        for (const fs::path& file : {target_ / "list", replaced / "list", replaced / "example/deep/theirs", hidden / ".tunesmith-lock"})
            std::ofstream(file) << "theirs";
        fs::create_directory_symlink(elsewhere, named);
        REQUIRE_OK(StagingFolder::create(target_, list));
        QVERIFY(fs::is_empty(elsewhere) && fs::is_symlink(named));
        QCOMPARE(textOf(target_ / kept.toStdString()), "theirs");
        QVERIFY(!fs::exists(hidden));
    }

    void linksAreFollowed() {
        fs::create_directories(parent_ / "real");
        fs::create_directory_symlink(parent_ / "real", target_);
        REQUIRE_OK(exportTo(target_, "old"));
        QVERIFY(fs::is_symlink(target_) && exportAt(parent_ / "real") == "old");
        for (const fs::path& to : {parent_ / "nowhere", parent_ / "loop"}) {
            fs::create_symlink(to, parent_ / "loop");
            const Status status = exportTo(parent_ / "loop", "new");
            QVERIFY(!status.ok() && status.error().message.find("is a link to what is not there") != std::string::npos);
            fs::remove(parent_ / "loop");
        }
    }

    // "link/.." is beside the folder that the link names, wherever the link lies.
    void parentsOfLinksAreFollowed() {
        fs::create_directories(parent_ / "real/deep");
        fs::create_directory_symlink(parent_ / "real/deep", parent_ / "link");
        REQUIRE_OK(exportTo(target_, "old"));
        for (const char* name : {"link/../module", "link/../module/", "link/../new/module"})
            REQUIRE_OK(exportTo(parent_ / name, "new"));
        QCOMPARE(exportAt(target_), "old");
        QCOMPARE(exportAt(parent_ / "real/module"), "new");
        QCOMPARE(exportAt(parent_ / "real/new/module"), "new");
        std::ofstream(parent_ / "real/file") << "mine";
        QVERIFY(!exportTo(parent_ / "link/../file", "new").ok());
        QVERIFY(!exportTo(parent_ / "link/..", "new").ok());
        QCOMPARE(std::distance(fs::directory_iterator(parent_ / "real"), {}), 4);
    }

    void whatCannotBeMovedIsNamed() {
        if (::geteuid() == 0)
            QSKIP("root may move everything");
        REQUIRE_OK(exportTo(target_, "old"));
        fs::create_directory(target_ / "fixed");
        std::ofstream(target_ / "fixed/note") << "note";
        fs::permissions(target_ / "fixed", fs::perms::owner_read | fs::perms::owner_exec);
        const Status status = exportTo(target_, "new");
        QVERIFY(!status.ok() && exportAt(target_) == "new");
        const QString message = QString::fromStdString(status.error().message);
        const fs::path there = message.section('\'', 5, 5).toStdString();
        QVERIFY2(textOf(there / "note") == "note", qPrintable(message));
        fs::permissions(there, fs::perms::owner_all);
        REQUIRE_OK(exportTo(target_, "newer"));
        QCOMPARE(textOf(target_ / "fixed/note"), "note");
    }
};

QTEST_GUILESS_MAIN(TestStagingFolder)
#include "tst_staging_folder.moc"
