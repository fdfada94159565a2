// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <algorithm>
#include <csignal>
#include <sched.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "process_testing.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::testing;

class TestWorkerConfinement : public QObject {
    Q_OBJECT

    static nlohmann::json attempts(bool confined, const QString& file) {
        WorkerOptions options = testWorker();
        options.confinement = confined ? std::optional(Confinement{}) : std::nullopt;
        const auto client = take(WorkerClient::start(options));
        return take(client->call(request("attempts", {{"file", file.toStdString()}, {"parent", ::getpid()}}), 20s)).body;
    }

    static std::unique_ptr<WorkerClient> startConfined() {
        WorkerOptions options = testWorker();
        options.confinement = Confinement{};
        return take(WorkerClient::start(options));
    }
    static bool countsThreads() {
        const auto gaps = take(confinementGaps(*startConfined()));
        return std::ranges::none_of(gaps, [](const std::string& gap) { return gap.find("threads") != std::string::npos; });
    }
    static bool isLandlocked() { return ::syscall(__NR_landlock_create_ruleset, nullptr, 0, 1) >= 1; }

    // Some of these tests in a process that has less.
    static void runTestsUnder(QStringList command, const QStringList& names) {
        const auto succeeds = [](QStringList words) {
            QProcess process;
            const QString program = words.takeFirst();
            process.start(program, words);
            const bool good = process.waitForFinished(60000) && process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0;
            return std::pair(good, process.readAllStandardOutput());
        };
        if (!succeeds(command + QStringList{"true"}).first)
            QSKIP(qPrintable("there is no " + command.join(' ') + " here"));
        const auto [good, output] = succeeds(command + QStringList{QCoreApplication::applicationFilePath()} + names);
        QVERIFY2(good, output.constData());
    }

private slots:
    void aConfinedWorkerOnlyComputes() {
        const QTemporaryDir folder;
        const nlohmann::json free = attempts(false, folder.filePath("free")), confined = attempts(true, folder.filePath("confined"));
        for (const char* what : {"connect", "connect locally", "start a program", "fork", "signal others", "limit others", "send urgent data"}) {
            QVERIFY2(free.at(what).get<bool>(), what);
            QVERIFY2(!confined.at(what).get<bool>(), what);
        }
        QVERIFY(!confined.at("leave its group").get<bool>());
        for (const char* what : {"signal itself", "have threads", "read a file", "read about processors"})
            QVERIFY2(confined.at(what).get<bool>(), what);
    }

    void aConfinedWorkerWritesNoFiles() {
        const QTemporaryDir folder;
        QVERIFY(attempts(false, folder.filePath("free")).at("write a file").get<bool>());
        QVERIFY(!attempts(true, folder.filePath("confined")).at("write a file").get<bool>());
        QVERIFY(!QFile::exists(folder.filePath("confined")));
    }

    void filesOfTheUserAreSafe() {
        const auto changes = [](bool confined) {
            const QTemporaryDir folder;
            QFile file(folder.filePath("file"));
            const QByteArray text = "a key of the user's";
            if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size())
                qFatal("cannot write a file");
            file.close();
            WorkerOptions options = testWorker();
            options.confinement = confined ? std::optional(Confinement{}) : std::nullopt;
            const auto client = take(WorkerClient::start(options));
            const nlohmann::json can = take(client->call(request("attempts-on-file", {{"folder", folder.path().toStdString()}}), 20s)).body;
            const bool whole = file.open(QIODevice::ReadOnly) && file.readAll() == text && QDir(folder.path()).entryList(QDir::AllEntries | QDir::System | QDir::NoDotAndDotDot).size() == 1;
            return std::pair(can, whole);
        };
        const auto [free, changed] = changes(false);
        const auto [confined, whole] = changes(true);
        QVERIFY(!changed && whole);
        for (const auto& [what, could] : free.items()) {
            const bool reads = what == "read it" || what == "read it by another way" || what == "list its folder";
            QVERIFY2(could.get<bool>(), what.c_str());
            if (what == "ask what a descriptor is")
                QVERIFY(confined.at(what).get<bool>());
            else if (!reads || isLandlocked())
                QVERIFY2(!confined.at(what).get<bool>(), what.c_str());
        }
    }

    void secretsOfTheEnvironmentAreNotInherited() {
        qputenv("TEST_EXTRA", "a secret");
        const auto extra = [](bool confined, std::map<std::string, std::string> environment = {}) {
            WorkerOptions options = testWorker();
            options.confinement = confined ? std::optional(Confinement{}) : std::nullopt;
            options.environment = std::move(environment);
            const auto client = take(WorkerClient::start(options));
            return take(client->call(request("about"), 20s)).body.at("extra").get<std::string>();
        };
        QCOMPARE(extra(false), std::string("a secret"));
        QCOMPARE(extra(true), std::string());
        QCOMPARE(extra(true, {{"TEST_EXTRA", "given"}}), std::string("given"));
        qunsetenv("TEST_EXTRA");
    }

    void noMemoryIsUncounted() {
        if (kSanitized)
            QSKIP("workers of sanitized programs have no limits");
        constexpr std::size_t kLimit = std::size_t(256) << 20, kMore = std::size_t(1) << 40;
        const auto attempts = [](bool confined) {
            WorkerOptions options = testWorker();
            options.confinement = confined ? std::optional(Confinement{}) : std::nullopt;
            options.memoryLimit = kLimit;
            const auto client = take(WorkerClient::start(options));
            return take(client->call(request("attempts-on-memory", {{"bytes", confined ? kMore : 2 * kLimit}}), 20s)).body;
        };
        const nlohmann::json free = attempts(false), confined = attempts(true);
        for (const auto& [what, could] : free.items()) {
            QVERIFY2(could.get<bool>(), what.c_str());
            QVERIFY2(confined.at(what).get<bool>() == (what == "allocate"), what.c_str());
        }
    }

    void whatCannotBeEnforcedIsSaid() {
        const auto client = startConfined();
        const std::vector<std::string> gaps = take(confinementGaps(*client));
        QCOMPARE(std::ranges::count_if(gaps, [](const std::string& gap) { return gap.find("Landlock") != std::string::npos; }), isLandlocked() ? 0 : 1);
        const auto free = take(WorkerClient::start(testWorker()));
        QCOMPARE(take(confinementGaps(*free)), std::vector<std::string>{"it is not confined"});
    }

    void whatIsMissingComesWithItsRemedy() {
        for (const bool foreign : {true, false}) {
            WorkerOptions options = testWorker();
            options.confinement = Confinement{foreign, {QCoreApplication::applicationFilePath().toStdString()}};
            for (const bool reads : {true, false}) {
                if (!reads)
                    options.confinement->readable.clear();
                const auto client = take(WorkerClient::start(options));
                for (const std::string& gap : take(confinementGaps(*client))) {
                    QVERIFY2(gap.find("; start this as ") != std::string::npos || gap.find("; limit them from outside") != std::string::npos, gap.c_str());
                    QVERIFY2(gap.find("secrets") == std::string::npos || gap.find("file") != std::string::npos, gap.c_str());
                }
            }
        }
    }

    void otherProcessesOfTheUserAreSafe() {
        QProcess victim;
        victim.start(QStringLiteral("sleep"), {QStringLiteral("600")});
        QVERIFY(victim.waitForStarted());
        const auto on = [&](const std::optional<Confinement>& confinement) {
            WorkerOptions options = testWorker();
            options.confinement = confinement;
            const auto client = take(WorkerClient::start(options));
            const int shared = ::shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0666), queue = ::msgget(IPC_PRIVATE, IPC_CREAT | 0666), semaphores = ::semget(IPC_PRIVATE, 1, IPC_CREAT | 0666);
            const auto can = take(client->call(request("attempts-on-others", {{"victim", victim.processId()}, {"shared", shared}, {"queue", queue}, {"semaphores", semaphores}}), 20s)).body;
            ::shmctl(shared, IPC_RMID, nullptr);
            ::msgctl(queue, IPC_RMID, nullptr);
            ::semctl(semaphores, 0, IPC_RMID);
            return can;
        };
        const nlohmann::json free = on(std::nullopt), own = on(Confinement{.foreign = false}), foreign = on(Confinement{});
        for (const auto& [what, could] : free.items()) {
            QVERIFY2(could.get<bool>(), what.c_str());
            QVERIFY2(!own.at(what).get<bool>(), what.c_str());
            QVERIFY2(!foreign.at(what).get<bool>(), what.c_str());
        }
        victim.kill();
        victim.waitForFinished();
    }

    void aForeignKernelKeepsItsCores() {
        cpu_set_t all, one;
        QCOMPARE(::sched_getaffinity(0, sizeof all, &all), 0);
        if (CPU_COUNT(&all) < 2)
            QSKIP("there is one core");
        CPU_ZERO(&one);
        for (std::size_t core = 0; CPU_COUNT(&one) == 0; ++core)
            if (CPU_ISSET(core, &all))
                CPU_SET(core, &one);
        ::sched_setaffinity(0, sizeof one, &one);
        const auto client = startConfined();
        const nlohmann::json can = take(client->call(request("attempts-on-cores"), 20s)).body;
        ::sched_setaffinity(0, sizeof all, &all);
        for (const auto& [what, could] : can.items())
            QVERIFY2(could.get<bool>() == (what == "stay"), what.c_str());
    }

    void aWorkerIsKeptToCoresFromOutside() {
        cpu_set_t all;
        QCOMPARE(::sched_getaffinity(0, sizeof all, &all), 0);
        std::vector<int> cores;
        for (int core = 0; core < CPU_SETSIZE; ++core)
            if (CPU_ISSET(static_cast<std::size_t>(core), &all))
                cores.push_back(core);
        WorkerOptions options = testWorker();
        options.confinement = Confinement{.foreign = false};
        const auto client = take(WorkerClient::start(options));
        const auto coresOf = [&] {
            cpu_set_t set;
            return ::sched_getaffinity(client->pid(), sizeof set, &set) == 0 ? CPU_COUNT(&set) : -1;
        };
        take(client->call(request("echo", {{worker_environment::kProcessors, {cores.back()}}}), 20s));
        QCOMPARE(coresOf(), 1);
        take(client->call(request("echo", {{worker_environment::kProcessors, "no list"}}), 20s));
        QCOMPARE(coresOf(), 1);
        take(client->call(request("echo", {{worker_environment::kProcessors, cores}}), 20s));
        QCOMPARE(coresOf(), static_cast<int>(cores.size()));
    }

    void threadsAreFew_data() {
        QTest::addColumn<bool>("readsFiles");
        QTest::newRow("kernels") << false;
        QTest::newRow("modules") << true;
    }
    void threadsAreFew() {
        if (kSanitized)
            QSKIP("threads of sanitized programs are large");
        const auto threads = [](WorkerClient& client) { return take(client.call(request("start-threads", {{"wanted", 4000}}), 60s)).body.at("threads").get<int>(); };
        QFETCH(const bool, readsFiles);
        const QTemporaryDir folder;
        WorkerOptions options = testWorker();
        options.confinement = Confinement{};
        if (readsFiles) // root's alone
            options.confinement->readable = {folder.path().toStdString()};
        const auto client = take(WorkerClient::start(options));
        for (const std::string& gap : take(confinementGaps(*client)))
            if (gap.find("threads") != std::string::npos && (::getuid() != 0 || !countsThreads()))
                QSKIP("this kernel does not count them");
        QVERIFY(threads(*client) < 256 + 8 * static_cast<int>(std::thread::hardware_concurrency()));
        QVERIFY(threads(*client) > 64);
        QVERIFY(client->exchange(request("echo"), 20s).replied());
    }

    void threadsAreLimitedWhereTheyAreCountedApart() {
        for (const char* release : {"5.14.0", "5.15.0-91-generic", "6.1.0-18-amd64", "6.18.44", "10.0", "5.14-rc1"})
            QVERIFY2(countsThreadsApart(release), release);
        for (const char* release : {"5.13.19", "5.4.0-150-generic", "4.19.0-25-amd64", "3.10", "5", "", "linux"})
            QVERIFY2(!countsThreadsApart(release), release);
    }

    // The whole list, a second time: a call that comes to system_calls.cpp comes here, too, with its reason.
    void noOtherSystemCallIsAllowed() {
        const std::vector<long> listed = {
            // memory and threads
            __NR_brk, __NR_mmap, __NR_munmap, __NR_mprotect, __NR_mremap, __NR_madvise, __NR_futex, __NR_clone, __NR_set_robust_list, __NR_rseq, __NR_sched_yield, __NR_sched_getaffinity,
            __NR_sched_setaffinity, __NR_getcpu, __NR_exit, __NR_exit_group, __NR_restart_syscall, __NR_prlimit64,
            // signals to itself
            __NR_rt_sigaction, __NR_rt_sigprocmask, __NR_rt_sigreturn, __NR_sigaltstack, __NR_kill, __NR_tgkill,
            // descriptors and what can be read
            __NR_read, __NR_readv, __NR_pread64, __NR_write, __NR_writev, __NR_close, __NR_lseek, __NR_fstat, __NR_newfstatat, __NR_statx, __NR_faccessat, __NR_faccessat2, __NR_readlinkat,
            __NR_getdents64, __NR_getcwd, __NR_ppoll, __NR_recvfrom, __NR_sendto, __NR_openat, __NR_ioctl, __NR_fcntl,
            // clocks and names
            __NR_clock_gettime, __NR_clock_getres, __NR_clock_nanosleep, __NR_nanosleep, __NR_gettimeofday, __NR_getpid, __NR_gettid, __NR_getppid, __NR_getpgid, __NR_getuid, __NR_geteuid, __NR_getgid,
            __NR_getegid, __NR_getrandom, __NR_getrusage, __NR_sysinfo, __NR_uname,
#if defined(__x86_64__)
            __NR_open, __NR_stat, __NR_lstat, __NR_access, __NR_readlink, __NR_poll, __NR_getpgrp, __NR_time,
            335, 336, // uretprobe and uprobe, which end a process that is not probed; the kernel asks no filter
#endif
        };
        for (const bool foreign : {true, false}) {
            WorkerOptions options = testWorker();
            options.confinement = Confinement{.foreign = foreign};
            const auto client = take(WorkerClient::start(options));
            const auto allowed = take(client->call(request("refused-calls", {{"except", listed}}), 20s)).body.at("allowed");
            QVERIFY2(allowed.empty(), allowed.dump().c_str());
        }
    }

    void rootBecomesNobody() {
        if (::getuid() != 0)
            QSKIP("this is not root");
        const auto client = startConfined();
        std::ifstream status("/proc/" + std::to_string(client->pid()) + "/status");
        QVERIFY(client->exchange(request("echo"), 20s).replied());
        std::string line, users, capabilities;
        while (std::getline(status, line)) {
            users = line.starts_with("Uid:") ? line : users;
            capabilities = line.starts_with("CapEff:") ? line : capabilities;
        }
        QCOMPARE(users, std::string("Uid:\t65534\t65534\t65534\t65534"));
        QCOMPARE(capabilities, std::string("CapEff:\t0000000000000000"));
    }

    void rootWithoutANobodyIsFilteredToo() { runTestsUnder({"unshare", "-r"}, {"noOtherSystemCallIsAllowed", "whatIsMissingComesWithItsRemedy", "otherProcessesOfTheUserAreSafe", "itsDeathIsSeenAsEver"}); }

    // As in containers: whoever starts the worker could not kill a nobody.
    void rootWithoutRightsOverOthersRulesItsWorkers() {
        if (::getuid() != 0)
            QSKIP("this is not root");
        runTestsUnder({"setpriv", "--bounding-set", "-kill,-sys_nice", "--inh-caps", "-kill,-sys_nice"},
                      {"aWorkerIsKeptToCoresFromOutside", "aWorkerOfOwnCodeIsKilled", "whatIsMissingComesWithItsRemedy", "noOtherSystemCallIsAllowed", "otherProcessesOfTheUserAreSafe"});
    }

    void aWorkerOfOwnCodeIsKilled() {
        WorkerOptions options = testWorker();
        options.confinement = Confinement{.foreign = false};
        const auto client = take(WorkerClient::start(options));
        const CallReport report = client->exchange(request("hang"), 100ms);
        QVERIFY(report.outcome == CallOutcome::timedOut);
        QCOMPARE(report.end.signal, SIGKILL);
    }

    void itsDeathIsSeenAsEver() {
        WorkerOptions options = testWorker();
        options.confinement = Confinement{};
        const auto client = take(WorkerClient::start(options));
        QVERIFY(client->exchange(request("crash"), 20s).outcome == CallOutcome::crashed);
        QVERIFY(client->exchange(request("hang"), 100ms).outcome == CallOutcome::timedOut);
        QVERIFY(client->exchange(request("echo"), 20s).replied());
        const pid_t pid = client->pid();
        QVERIFY(!processGone(pid));
    }
};

QTEST_GUILESS_MAIN(TestWorkerConfinement)
#include "tst_worker_confinement.moc"
