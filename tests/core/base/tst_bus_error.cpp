// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTemporaryFile>
#include <QTest>
#include <csignal>
#include <functional>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/bus_error.h"

using namespace tunesmith;

class BusError : public QObject {
    Q_OBJECT

    struct End {
        int status = -1;
        QByteArray said;
    };
    // In a program of its own, which has no core file.
    static End inChild(const std::function<void()>& act) {
        QTemporaryFile said;
        if (!said.open())
            return {};
        const pid_t child = ::fork();
        if (child == 0) {
            const rlimit none{0, 0};
            ::setrlimit(RLIMIT_CORE, &none);
            ::dup2(said.handle(), STDERR_FILENO);
            std::signal(SIGBUS, SIG_DFL);
            tellBusErrors();
            act();
            ::_exit(0);
        }
        End end;
        ::waitpid(child, &end.status, 0);
        said.seek(0);
        end.said = said.readAll();
        return end;
    }

private slots:
    void aFileThatIsCutOffIsNamed() {
        const QTemporaryDir folder;
        QFile file(folder.filePath("mapped"));
        QVERIFY(file.open(QIODevice::ReadWrite) && file.resize(20000));
        const End end = inChild([&] {
            const auto* const bytes = static_cast<const volatile char*>(::mmap(nullptr, 20000, PROT_READ, MAP_SHARED, file.handle(), 0));
            if (bytes[10000] == 0 && ::ftruncate(file.handle(), 0) == 0 && bytes[10000] == 0)
                ::_exit(2);
        });
        QVERIFY(WIFEXITED(end.status));
        QCOMPARE(WEXITSTATUS(end.status), 1);
        QVERIFY2(end.said.contains("cut off the file " + file.fileName().toUtf8() + " while"), end.said);
        QCOMPARE(end.said.trimmed().count('\n'), 0);
    }

    void whatIsNoSuchErrorEndsAsBefore() {
        const End end = inChild([] {
            ::raise(SIGBUS);
            ::raise(SIGBUS); // what the first one restored
        });
        QVERIFY(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGBUS);
        QVERIFY2(end.said.isEmpty(), end.said);
    }
};

QTEST_GUILESS_MAIN(BusError)
#include "tst_bus_error.moc"
