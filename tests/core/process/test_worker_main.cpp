// SPDX-License-Identifier: GPL-3.0-or-later
// A worker for the tests of core/process. With the argument --parent FILE it plays the workbench instead:
// starts itself as a worker with a grandchild, writes both process ids to FILE and waits in a call that never
// returns.
#include "attempts.h"
#include "core/process/measuring_lock.h"
#include "core/process/worker_client.h"
#include "core/process/worker_server.h"
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <linux/fs.h>
#include <new>
#include <spawn.h>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <thread>
#include <unistd.h>

using namespace tunesmith;

namespace {

pid_t startSleeper() {
    char name[] = "sleep", time[] = "600";
    char* arguments[] = {name, time, nullptr};
    pid_t pid = -1;
    posix_spawnp(&pid, name, nullptr, nullptr, arguments, environ);
    return pid;
}

[[noreturn]] void spin() {
    std::atomic<unsigned> turns{0};
    for (;;)
        ++turns;
}

std::vector<int> openDescriptors() {
    std::vector<int> result;
    DIR* folder = opendir("/proc/self/fd");
    while (const dirent* entry = readdir(folder))
        if (entry->d_name[0] != '.' && std::atoi(entry->d_name) != dirfd(folder))
            result.push_back(std::atoi(entry->d_name));
    closedir(folder);
    return result;
}

Result<Message> crash(const Message& request) {
    const int number = request.body.value("signal", SIGSEGV);
    std::puts("about to crash");
    std::signal(number, SIG_DFL);
    std::raise(number);
    return internalError("survived");
}

Result<Message> allocate(const Message& request) {
    const auto size = request.body.value("bytes", std::size_t(0));
    std::vector<std::byte> memory(size, std::byte{1});
    return Message{{{"size", memory.size()}}, {}};
}

Result<Message> garbage(const Message& request) {
    const std::string text = request.body.value("text", std::string(4096, 'x'));
    if (::send(3, text.data(), text.size(), MSG_NOSIGNAL) < 0)
        return internalError("cannot send");
    if (request.body.value("exit", false))
        std::_Exit(0);
    spin();
}

Result<Message> printLines(const Message& request) {
    for (int i = 0; i < request.body.value("lines", 1); ++i)
        std::printf("line %d of what a candidate kernel prints when it feels talkative\n", i);
    return Message{{{"printed", true}}, {}};
}

// More than one look takes, or without end, and sooner than anybody takes it.
Result<Message> fillPipe(const Message& request) {
    ::fcntl(STDERR_FILENO, F_SETPIPE_SZ, 1 << 20);
    const std::string text(std::size_t(1) << 19, 'x');
    const bool all = ::write(STDERR_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (!request.body.value("without end", false))
        return Message{{{"all", all}}, {}};
    for (int i = 0; i < 3; ++i)
        std::thread([&text] {
            while (::write(STDERR_FILENO, text.data(), text.size()) > 0)
                ;
        }).detach();
    spin();
}

Result<Message> closeSocket(const Message&) {
    ::close(3);
    spin();
}

Result<Message> about(const Message&) {
    rlimit core{};
    getrlimit(RLIMIT_CORE, &core);
    const char* omp = std::getenv("OMP_WAIT_POLICY");
    const char* extra = std::getenv("TEST_EXTRA");
    char input = 0;
    return Message{{{"pid", getpid()},
                    {"group", getpgrp()},
                    {"descriptors", openDescriptors()},
                    {"core", core.rlim_cur},
                    {"nice", getpriority(PRIO_PROCESS, 0)},
                    {"omp", omp ? omp : ""},
                    {"extra", extra ? extra : ""},
                    {"stdin", ::read(0, &input, 1)}},
                   {}};
}

Result<Message> holdLock(const Message& request) {
    static std::optional<MeasuringKey> held;
    const auto lock = MeasuringLock::openIn(request.body.value("folder", std::string()));
    if (!lock.ok())
        return lock.error();
    TS_ASSIGN(auto key, lock->acquire());
    held.emplace(std::move(key));
    return Message{{{"pid", getpid()}}, {}};
}

// What somebody else's code would try: which of it succeeds.
Result<Message> attempts(const Message& request) {
    const std::string file = request.body.value("file", std::string());
    const auto parent = static_cast<pid_t>(request.body.value("parent", 1));
    nlohmann::json can;
    can["connect"] = ::socket(AF_INET, SOCK_STREAM, 0) >= 0;
    can["connect locally"] = ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
    can["start a program"] = startSleeper() > 0;
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(0);
    can["fork"] = child > 0;
    can["leave its group"] = ::setpgid(0, 0) == 0 || ::setsid() > 0;
    can["signal others"] = ::kill(parent, 0) == 0 || ::kill(-1, 0) == 0;
    can["limit others"] = ::prlimit(parent, RLIMIT_NOFILE, nullptr, nullptr) == 0;
    can["write a file"] = std::ofstream(file).is_open();
    can["send urgent data"] = ::send(3, "", 0, MSG_OOB) == 0 || errno != EPERM; // nothing: the message on its way stays whole
    can["signal itself"] = ::kill(::getpid(), 0) == 0 && ::kill(0, 0) == 0;
    bool ran = false;
    std::thread([&] { ran = true; }).join();
    can["have threads"] = ran;
    can["read a file"] = std::ifstream("/proc/self/stat").is_open();
    can["read about processors"] = std::ifstream("/proc/cpuinfo").is_open() && std::ifstream("/sys/devices/system/cpu/online").is_open();
    return Message{std::move(can), {}};
}

int withAttribute(const char* file) { return ::setxattr(file, "user.tunesmith", "1", 1, 0); }

int openBelow(const std::string& file, std::uint64_t flags) {
    struct {
        std::uint64_t flags, mode = 0, resolve = 0;
    } how{flags};
    return static_cast<int>(::syscall(__NR_openat2, AT_FDCWD, file.c_str(), &how, sizeof how));
}

// What it would do to a file of the user's, and to the folder that it is in.
Result<Message> attemptsOnFile(const Message& request) {
    const std::string folder = request.body.value("folder", std::string()), file = folder + "/file", other = folder + "/other";
    const char *const name = file.c_str(), *const second = other.c_str();
    const timespec times[2] = {{1, 0}, {1, 0}};
    const int reading = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int flags = 0;
    nlohmann::json can;
    can["read it"] = ::open(name, O_RDONLY) >= 0;
    can["read it by another way"] = std::ifstream("/proc/self/root" + file).is_open();
    can["list its folder"] = ::opendir(folder.c_str()) != nullptr;
    can["open it to write"] = ::open(name, O_WRONLY) >= 0 || ::open(name, O_RDWR) >= 0 || ::openat(AT_FDCWD, name, O_WRONLY | O_APPEND) >= 0;
    can["open it to write with openat2"] = openBelow(file, O_RDWR) >= 0;
    can["change its rights"] = ::chmod(name, 0644) == 0 || ::fchmodat(AT_FDCWD, name, 0644, 0) == 0;
    can["change its owner"] = ::chown(name, ::getuid(), ::getgid()) == 0 || ::lchown(name, ::getuid(), ::getgid()) == 0;
    can["change its times"] = ::utimensat(AT_FDCWD, name, times, 0) == 0;
    can["change its attributes"] = withAttribute(name) == 0 || errno == ENOTSUP; // of a file system without such
    can["link it"] = ::link(name, second) == 0;
    can["link to it"] = ::symlink(name, (other + "-symbolic").c_str()) == 0;
    can["rename it"] = ::rename(name, second) == 0 && ::rename(second, name) == 0;
    can["make a file"] = ::open((other + "-new").c_str(), O_WRONLY | O_CREAT, 0600) >= 0;
    can["make a file that is only read"] = ::open((other + "-read").c_str(), O_RDONLY | O_CREAT, 0600) >= 0;
    can["make a folder"] = ::mkdir((other + "-folder").c_str(), 0700) == 0;
    can["make a pipe"] = ::mkfifo((other + "-pipe").c_str(), 0600) == 0;
    can["cut it off"] = ::truncate(name, 3) == 0;
    can["cut it off by opening"] = ::open(name, O_RDONLY | O_TRUNC) >= 0;
    can["remove it"] = ::unlink(name) == 0;
    can["ask what a descriptor is"] = reading >= 0 && ::ioctl(reading, FIONREAD, &flags) == 0;
    can["use flags of files"] = reading >= 0 && (::ioctl(reading, FS_IOC_GETFLAGS, &flags) == 0 || errno == ENOTSUP || errno == EOPNOTSUPP);
    can["ask for signals to others"] = ::fcntl(3, F_SETOWN, ::getppid()) == 0;
    return Message{std::move(can), {}};
}

// Memory that the limit of data does not count.
Result<Message> attemptsOnMemory(const Message& request) {
    constexpr std::size_t kSize = std::size_t(1) << 20;
    const auto map = [](std::size_t size, int flags) { return ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0); };
    nlohmann::json can;
    can["share"] = map(kSize, MAP_SHARED) != MAP_FAILED;
    can["grow like a stack"] = map(kSize, MAP_PRIVATE | MAP_GROWSDOWN) != MAP_FAILED;
    can["have a file in memory"] = ::memfd_create("x", 0) >= 0;
    const int segment = ::shmget(IPC_PRIVATE, kSize, IPC_CREAT | 0600);
    can["have a segment"] = segment >= 0;
    ::shmctl(segment, IPC_RMID, nullptr);
    can["allocate"] = map(kSize, MAP_PRIVATE) != MAP_FAILED;
    std::size_t hidden = 0;
    const std::size_t wanted = request.body.value("bytes", std::size_t(0)), piece = wanted / 16;
    for (void* pages; hidden < wanted && (pages = map(piece, MAP_PRIVATE)) != MAP_FAILED; hidden += piece)
        ::mprotect(pages, piece, PROT_READ); // no longer data
    can["hide as much as asked"] = hidden >= wanted;
    return Message{std::move(can), {}};
}

// As foreign code can: the thread that watches the workbench hangs in whatever it calls to end this process.
Result<Message> stopTheWatch(const Message&) {
#if defined(__x86_64__)
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    constexpr unsigned char kJumpToItself[] = {0xeb, 0xfe};
    for (const char* name : {"poll", "getppid", "kill", "_exit"}) {
        const auto code = reinterpret_cast<std::uintptr_t>(::dlsym(RTLD_DEFAULT, name));
        if (::mprotect(reinterpret_cast<void*>(code / page * page), 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
            return internalError("cannot change the code");
        std::memcpy(reinterpret_cast<void*>(code), kJumpToItself, sizeof kJumpToItself);
    }
#endif
    spin();
}

std::map<std::string, Handler> handlers() {
    using namespace std::chrono;
    return {
        {"echo", [](const Message& request) -> Result<Message> { return request; }},
        {"refuse", [](const Message&) -> Result<Message> { return unsupportedError("not with me"); }},
        {"throw", [](const Message&) -> Result<Message> { throw std::runtime_error("thrown"); }},
        {"throw-int", [](const Message&) -> Result<Message> { throw 7; }},
        {"throw-bad-alloc", [](const Message&) -> Result<Message> { throw std::bad_alloc(); }},
        {"crash", crash},
        {"exit",
         [](const Message& request) -> Result<Message> { std::_Exit(request.body.value("status", 3)); }},
        {"hang", [](const Message&) -> Result<Message> { spin(); }},
        {"stop-self",
         [](const Message&) -> Result<Message> {
             ::raise(SIGSTOP);
             return internalError("continued");
         }},
        {"sleep",
         [](const Message& request) -> Result<Message> {
             std::this_thread::sleep_for(milliseconds(request.body.value("ms", 0)));
             return request;
         }},
        {"grandchild",
         [](const Message&) -> Result<Message> {
             return Message{{{"pid", startSleeper()}}, {}};
         }},
        {"allocate", allocate},
        {"print", printLines},
        {"fill-pipe", fillPipe},
        {"huge",
         [](const Message& request) -> Result<Message> {
             return Message{
                 {{"size", true}},
                 {std::vector<std::byte>(request.body.value("bytes", std::size_t(0)), std::byte{7})}};
         }},
        {"huge-body",
         [](const Message& request) -> Result<Message> {
             return Message{std::string(request.body.value("bytes", std::size_t(0)), 'y'), {}};
         }},
        {"garbage", garbage},
        {"close-socket", closeSocket},
        {"about", about},
        {"attempts", attempts},
        {"attempts-on-others", testing::attemptsOnOthers},
        {"attempts-on-cores", testing::attemptsOnCores},
        {"start-threads", testing::attemptToStartThreads},
        {"refused-calls", testing::refusedCalls},
        {"attempts-on-file", attemptsOnFile},
        {"attempts-on-memory", attemptsOnMemory},
        {"hold-lock", holdLock},
        {"stop-the-watch", stopTheWatch},
    };
}

int playWorkbench(const char* file, bool foreign) {
    WorkerOptions options;
    options.executable = "/proc/self/exe";
    if (foreign)
        options.confinement = Confinement{};
    auto client = WorkerClient::start(options);
    if (!client.ok())
        return 1;
    const auto grandchild = (*client)->call({{{"verb", foreign ? "about" : "grandchild"}}, {}}, std::chrono::seconds(20));
    if (!grandchild.ok())
        return 1;
    const std::string temporary = std::string(file) + ".part";
    std::ofstream(temporary) << (*client)->pid() << " " << grandchild->body["pid"].get<pid_t>() << std::endl;
    std::rename(temporary.c_str(), file);
    const auto never = (*client)->call({{{"verb", foreign ? "stop-the-watch" : "hang"}}, {}}, std::chrono::hours(1));
    return never.ok() ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 3 && (std::strcmp(argv[1], "--parent") == 0 || std::strcmp(argv[1], "--parent-of-foreign") == 0))
        return playWorkbench(argv[2], std::strcmp(argv[1], "--parent") != 0);
    return serveWorker(handlers());
}
