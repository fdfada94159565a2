// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/rng.h"
#include "core/process/error_json.h"
#include "core/process/message.h"
#include "core/process/path_json.h"
#include "process_testing.h"
#include "tests/take.h"
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <thread>
#include <unistd.h>

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

struct Pair {
    int left = -1, right = -1;
    Pair() {
        int ends[2] = {-1, -1};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0)
            left = ends[0], right = ends[1];
    }
    ~Pair() {
        closeLeft();
        ::close(right);
    }
    void closeLeft() {
        if (left >= 0)
            ::close(left);
        left = -1;
    }
    void sendRaw(const std::string& bytes) const {
        const ssize_t sent = ::send(left, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        QCOMPARE(sent, ssize_t(bytes.size()));
    }
};

std::string frame(std::uint32_t magic, std::uint32_t version, std::uint32_t body, std::uint32_t blobs) {
    const std::uint32_t words[4] = {magic, version, body, blobs};
    std::string text(sizeof words, '\0');
    std::memcpy(text.data(), words, sizeof words);
    return text;
}

constexpr std::uint32_t kMagic = 0x474d5354;

std::vector<std::byte> randomBytes(Rng& rng, std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(rng.next());
    return bytes;
}

void onAlarm(int) {}

} // namespace

class TestMessage : public QObject {
    Q_OBJECT
private slots:
    void roundTrip_data() {
        QTest::addColumn<QString>("json");
        QTest::addColumn<QList<int>>("sizes");
        QTest::newRow("empty object") << "{}" << QList<int>{};
        QTest::newRow("null") << "null" << QList<int>{};
        QTest::newRow("text with brackets") << "{\"a\":\"[[{\\\"\\\\\",\"b\":[1,2.5,true]}" << QList<int>{};
        QTest::newRow("empty blobs") << "[]" << QList<int>{0, 0, 3, 0};
        QTest::newRow("several") << R"({"verb":"x"})" << QList<int>{1, 4096, 100000};
        QTest::newRow("over the socket buffer") << "1" << QList<int>{5000000};
        QTest::newRow("over the trusted size") << "1" << QList<int>{(64 << 20) + 12345};
    }
    void roundTrip() {
        QFETCH(QString, json);
        QFETCH(QList<int>, sizes);
        Rng rng(7);
        Message sent{nlohmann::json::parse(json.toStdString()), {}};
        for (const int size : sizes)
            sent.blobs.push_back(randomBytes(rng, std::size_t(size)));
        Pair pair;
        bool written = false;
        std::thread writer([&] { written = writeMessage(pair.left, sent).ok(); });
        const auto got = readMessage(pair.right);
        writer.join();
        QVERIFY(written);
        QVERIFY2(got.ok(), got.ok() ? "" : got.error().message.c_str());
        QVERIFY(got->has_value());
        QVERIFY((**got).body == sent.body);
        QVERIFY((**got).blobs == sent.blobs);
    }

    void pathsKeepTheirBytes_data() {
        QTest::addColumn<QByteArray>("path");
        QTest::newRow("none") << QByteArray();
        QTest::newRow("plain") << QByteArray("/home/me/a b");
        QTest::newRow("UTF-8") << QByteArray("/\xef\xbf\xbd");
        QTest::newRow("no UTF-8") << QByteArray("/\xff\xfe/\x01\n");
    }
    void pathsKeepTheirBytes() {
        QFETCH(const QByteArray, path);
        Pair pair;
        QVERIFY(writeMessage(pair.left, {{{"path", pathToJson(path.toStdString())}}, {}}).ok());
        const auto got = readMessage(pair.right);
        QVERIFY(got.ok() && got->has_value());
        const auto arrived = pathFromJson((**got).body.at("path"));
        QVERIFY(arrived.ok());
        QCOMPARE(QByteArray::fromStdString(arrived->string()), path);
    }

    void whatIsNoPathIsRefused_data() {
        QTest::addColumn<QString>("json");
        QTest::newRow("a name") << R"("/tmp/x")";
        QTest::newRow("half a byte") << R"("2f7")";
        QTest::newRow("capital digits") << R"("2F")";
        QTest::newRow("a zero byte") << R"("2f0041")";
        QTest::newRow("a number") << "7";
        QTest::newRow("nothing") << "null";
    }
    void whatIsNoPathIsRefused() {
        QFETCH(const QString, json);
        QVERIFY(!pathFromJson(nlohmann::json::parse(json.toStdString())).ok());
    }

    void byteByByte() {
        Pair pair, staging;
        QVERIFY(writeMessage(staging.left, {{{"k", 5}}, {std::vector<std::byte>(9, std::byte{4})}}).ok());
        char buffer[4096];
        const ssize_t size = ::recv(staging.right, buffer, sizeof buffer, 0);
        std::thread writer([&] {
            for (ssize_t i = 0; i < size; ++i) {
                pair.sendRaw(std::string(1, buffer[i]));
                std::this_thread::sleep_for(500us);
            }
        });
        const auto got = readMessage(pair.right);
        writer.join();
        QVERIFY(got.ok() && got->has_value());
        QCOMPARE((**got).body["k"].get<int>(), 5);
    }

    void signalsInterruptNothing() {
        struct sigaction action {
        }, old{};
        action.sa_handler = onAlarm; // without SA_RESTART
        sigaction(SIGALRM, &action, &old);
        const itimerval every{{0, 2000}, {0, 2000}}, never{};
        setitimer(ITIMER_REAL, &every, nullptr);
        Pair pair;
        Message sent{1, {std::vector<std::byte>(3000000, std::byte{9})}};
        bool written = false;
        std::thread writer([&] {
            std::this_thread::sleep_for(50ms);
            written = writeMessage(pair.left, sent).ok();
        });
        const auto got = readMessage(pair.right);
        writer.join();
        setitimer(ITIMER_REAL, &never, nullptr);
        sigaction(SIGALRM, &old, nullptr);
        QVERIFY(written);
        QVERIFY(got.ok() && got->has_value());
        QVERIFY((**got).blobs == sent.blobs);
    }

    void garbage_data() {
        QTest::addColumn<QByteArray>("bytes");
        const auto row = [](const char* name, const std::string& bytes) {
            QTest::newRow(name) << QByteArray(bytes.data(), qsizetype(bytes.size()));
        };
        const std::string huge(8, '\x7f');
        row("wrong magic", frame(0x12345678, 1, 2, 0) + "{}");
        row("wrong version", frame(kMagic, 99, 2, 0) + "{}");
        row("huge body", frame(kMagic, 1, 0xffffffff, 0));
        row("huge blob count", frame(kMagic, 1, 2, 0xffffffff));
        row("huge blob", frame(kMagic, 1, 2, 1) + huge + "{}");
        row("overflowing blobs", frame(kMagic, 1, 2, 2) + std::string(16, '\xff') + "{}");
        row("no json", frame(kMagic, 1, 4, 0) + "{\"a\"");
        row("empty body", frame(kMagic, 1, 0, 0));
        row("nested", frame(kMagic, 1, 100000, 0) + std::string(100000, '['));
        row("text", "Segmentation fault (core dumped)\n");
    }
    void garbage() {
        QFETCH(QByteArray, bytes);
        Pair pair;
        pair.sendRaw(bytes.toStdString());
        const Stopwatch watch;
        const auto got = readMessage(pair.right, {std::chrono::steady_clock::now() + 5s});
        QVERIFY(!got.ok());
        QCOMPARE(int(got.error().kind), int(ErrorKind::input));
        QVERIFY(watch.milliseconds() < 2000);
    }

    void randomGarbageNeverCrashes() {
        Rng rng(20);
        for (int i = 0; i < 2000; ++i) {
            Pair pair;
            std::string bytes =
                i % 2 ? frame(kMagic, 1, std::uint32_t(rng.below(64)), std::uint32_t(rng.below(4))) : "";
            for (std::uint64_t n = rng.below(200); n > 0; --n)
                bytes.push_back(char(rng.next()));
            if (!bytes.empty())
                pair.sendRaw(bytes);
            pair.closeLeft();
            const auto got = readMessage(pair.right);
            QVERIFY(!got.ok() || !got->has_value() || i % 2);
        }
    }

    void claimsOfManyGigabytesAllocateLittle() {
        Pair pair;
        std::string head = frame(kMagic, 1, 2, 1);
        const std::uint64_t size = std::uint64_t(7) << 30; // within the limit, but it never arrives
        head.append(reinterpret_cast<const char*>(&size), sizeof size);
        pair.sendRaw(head + "{}" + std::string(1000, 'z'));
        pair.closeLeft();
        rusage before{}, after{};
        getrusage(RUSAGE_SELF, &before);
        const auto got = readMessage(pair.right);
        getrusage(RUSAGE_SELF, &after);
        QVERIFY(!got.ok());
        QVERIFY2(after.ru_maxrss - before.ru_maxrss < 200000, "more than 200 MB touched");
    }

    void moreThanItMayHaveIsNotRead() {
        Pair pair;
        const Message sent{"body", {std::vector<std::byte>(1000), std::vector<std::byte>(1000)}};
        QVERIFY(writeMessage(pair.left, sent).ok());
        QVERIFY(take(readMessage(pair.right, {}, 2006)).has_value());
        QVERIFY(writeMessage(pair.left, sent).ok());
        const auto refused = readMessage(pair.right, {}, 2005);
        QVERIFY(!refused.ok());
        QCOMPARE(int(refused.error().kind), int(ErrorKind::input));
    }

    void readingNeedsTheMemoryOnce() {
        if (kSanitized)
            QSKIP("sanitizers keep memory that was given back");
        constexpr long kSize = 320 << 20;
        const Message sent{1, {std::vector<std::byte>(kSize, std::byte{1})}};
        Pair pair;
        rusage before{}, after{};
        getrusage(RUSAGE_SELF, &before);
        std::thread writer([&] { static_cast<void>(writeMessage(pair.left, sent)); });
        const auto got = readMessage(pair.right);
        writer.join();
        getrusage(RUSAGE_SELF, &after);
        QVERIFY(got.ok() && (**got).blobs == sent.blobs);
        const long grown = (after.ru_maxrss - before.ru_maxrss) * 1024;
        QVERIFY2(grown < kSize * 5 / 4, qPrintable(QString::number(grown >> 20) + " MiB"));
    }

    void endOfStream() {
        Pair clean;
        clean.closeLeft();
        const auto nothing = readMessage(clean.right);
        QVERIFY(nothing.ok() && !nothing->has_value());
        Pair torn;
        torn.sendRaw(frame(kMagic, 1, 20, 0) + "{");
        torn.closeLeft();
        const auto half = readMessage(torn.right);
        QVERIFY(!half.ok());
        QCOMPARE(int(half.error().kind), int(ErrorKind::io));
    }

    void writingToTheDeadIsAnError() {
        Pair pair;
        pair.closeLeft();
        const Status status = writeMessage(pair.right, {1, {}}); // SIGPIPE would end the test here
        QVERIFY(!status.ok());
        QCOMPARE(int(status.error().kind), int(ErrorKind::io));
    }

    void tooLargeSendsNothing() {
        Pair pair;
        const Status status = writeMessage(pair.left, {std::string(MessageLimits::body, 'x'), {}});
        QVERIFY(!status.ok());
        QCOMPARE(int(status.error().kind), int(ErrorKind::input));
        QVERIFY(writeMessage(pair.left, {"next", {}}).ok());
        const auto got = readMessage(pair.right);
        QVERIFY(got.ok() && got->has_value());
        QVERIFY((**got).body == "next");
    }

    void deadlineAndStop() {
        Pair pair;
        const Stopwatch watch;
        const auto late = readMessage(pair.right, {std::chrono::steady_clock::now() + 60ms});
        QCOMPARE(int(late.error().kind), int(ErrorKind::timeout));
        QVERIFY(watch.milliseconds() >= 59 && watch.milliseconds() < 1060);

        StopSource source;
        const StopToken token = source.token();
        std::thread stopper([&] {
            std::this_thread::sleep_for(50ms);
            source.requestStop();
        });
        const Stopwatch stopWatch;
        const auto stopped = readMessage(pair.right, {{}, &token});
        stopper.join();
        QVERIFY(stopped.error().isCancelled());
        QVERIFY(stopWatch.milliseconds() < 150);
    }

    void writingWaitsNoLongerThanAsked() {
        Pair pair; // nobody reads
        const Message big{1, {std::vector<std::byte>(20000000)}};
        const auto late = writeMessage(pair.left, big, {std::chrono::steady_clock::now() + 60ms});
        QVERIFY(!late.ok());
        QCOMPARE(int(late.error().kind), int(ErrorKind::timeout));
    }

    void foreignBytesInTextAreReplaced() {
        Pair pair;
        QVERIFY(writeMessage(pair.left, {{{"t", "a\xff\xfe z"}}, {}}).ok());
        const auto got = readMessage(pair.right);
        QVERIFY(got.ok() && got->has_value());
        QCOMPARE((**got).body["t"].get<std::string>(), std::string("a\xef\xbf\xbd\xef\xbf\xbd z"));
    }

    void longMessagesAreCutBetweenCharacters() {
        const std::string cut = errorFromJson({{"kind", "input"}, {"message", "x" + QString(1000, QChar(0xe4)).toStdString()}}).message;
        QVERIFY(cut.size() <= 500 && cut.ends_with("ä ..."));
        QCOMPARE(QString::fromStdString(cut).count(QChar(0xfffd)), qsizetype(0));
        QCOMPARE(errorFromJson({{"kind", "input"}, {"message", std::string(500, 'y')}}).message, std::string(500, 'y'));
    }

    void errorsTravel() {
        for (const ErrorKind kind : {ErrorKind::input, ErrorKind::unsupported, ErrorKind::io, ErrorKind::internal}) {
            const Error back = errorFromJson(errorToJson({kind, "why"}));
            QCOMPARE(int(back.kind), int(kind));
            QCOMPARE(back.message, std::string("why"));
        }
        for (const ErrorKind ours : {ErrorKind::cancelled, ErrorKind::timeout}) // nobody else can say that we gave up
            QCOMPARE(int(errorFromJson(errorToJson({ours, "why"})).kind), int(ErrorKind::internal));
        QCOMPARE(int(errorFromJson(5).kind), int(ErrorKind::internal));
        QCOMPARE(int(errorFromJson({{"kind", "input"}, {"message", 4}}).kind), int(ErrorKind::input));
    }
};

QTEST_GUILESS_MAIN(TestMessage)
#include "tst_message.moc"
