// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <limits>

#include "core/base/log.h"
#include "core/executors/access.h"
#include "core/executors/device_session.h"
#include "core/executors/mock_executor.h"
#include "core/executors/requests.h"
#include "core/executors/rpc_log.h"
#include "core/executors/traffic.h"
#include "core/executors/wire.h"
#include "core/schedule/kernel_messages.h"
#include "core/schedule/kernel_reply.h"
#include "remote_testing.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::testing;
using Json = nlohmann::json;

namespace {

const std::atomic<bool> kGoesOn = false; // the turn is not over

Message buildRequest() {
    Message request = workloadRequest("build_kernel", "0123456789abcdef", "a workload", {Isa::avx2, "znver4", 1});
    request.body["config"] = "1,2";
    return request;
}

Message profileRequest(std::size_t bytes = 8192) {
    Message request = workloadRequest("profile_kernel", "0123456789abcdef", "a workload", {Isa::avx2, "znver4", 2});
    request.body["kernel"] = Json::object();
    request.body["measure_ms"] = 5;
    request.body["max_seconds"] = 1;
    request.blobs.emplace_back(bytes, std::byte{7});
    return request;
}

std::unique_ptr<DeviceSession> session(const std::string& client, KeptBlobs& blobs) {
    MockOptions mock;
    mock.buildMs = mock.profileMs = 0;
    return std::make_unique<DeviceSession>(testDevice("a"), Lease{"lease", client}, client, std::make_unique<MockExecutor>(mock, KernelWorkerOptions()), blobs);
}

} // namespace

class TestRemoteMessages : public QObject {
    Q_OBJECT

    static QString write(const QTemporaryDir& folder, const char* name, const QByteArray& text, QFile::Permissions permissions = QFile::ReadOwner | QFile::WriteOwner) {
        QFile file(folder.filePath(name));
        if (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size() || !file.setPermissions(permissions))
            qFatal("cannot write %s", qPrintable(file.fileName()));
        return file.fileName();
    }

private slots:
    void requests_data() {
        QTest::addColumn<QString>("base");
        QTest::addColumn<QString>("patch"); // JSON merge patch; null removes
        QTest::addColumn<int>("blobs");     // more or fewer
        QTest::addColumn<QString>("problem");
        QTest::newRow("build") << "build" << "{}" << 0 << "";
        QTest::newRow("profile") << "profile" << "{}" << 0 << "";
        QTest::newRow("another verb") << "build" << R"({"verb": "measure_machine"})" << 0 << "not served";
        QTest::newRow("module verb") << "profile" << R"({"verb": "module_open"})" << 0 << "not served";
        QTest::newRow("no verb") << "build" << R"({"verb": null})" << 0 << "without a verb";
        QTest::newRow("verb is a number") << "build" << R"({"verb": 3})" << 0 << "without a verb";
        QTest::newRow("workload is an object") << "build" << R"({"workload": {}})" << 0 << "workload";
        QTest::newRow("no workload blob") << "build" << "{}" << -1 << "workload";
        QTest::newRow("unknown isa") << "build" << R"({"isa": "sse"})" << 0 << "sse";
        QTest::newRow("more than the device has") << "build" << R"({"isa": "avx512"})" << 0 << "avx512";
        QTest::newRow("too many threads") << "profile" << R"({"threads": 3})" << 0 << "3 threads";
        QTest::newRow("no threads") << "profile" << R"({"threads": 0})" << 0 << "0 threads";
        QTest::newRow("threads are text") << "profile" << R"({"threads": "2"})" << 0 << "without a target";
        QTest::newRow("no config") << "build" << R"({"config": null})" << 0 << "config";
        QTest::newRow("too many blobs") << "build" << "{}" << 1 << "config";
        QTest::newRow("no kernel") << "profile" << R"({"kernel": null})" << 0 << "without a kernel";
        QTest::newRow("kernel is text") << "profile" << R"({"kernel": "k"})" << 0 << "without a kernel";
        QTest::newRow("kernel blob is missing") << "profile" << "{}" << -1 << "blobs";
        QTest::newRow("measures for ever") << "profile" << R"({"measure_ms": 1e300})" << 0 << "measure_ms";
        QTest::newRow("negative time") << "profile" << R"({"max_seconds": -1})" << 0 << "max_seconds";
        QTest::newRow("incumbent is text") << "profile" << R"({"incumbent_ms": "1"})" << 0 << "incumbent_ms";
        QTest::newRow("reference without its time") << "profile" << R"({"reference": {}})" << 1 << "reference";
        QTest::newRow("nothing to compare") << "profile" << R"({"verb": "compare_kernels", "kernels": []})" << 0 << "without a kernel";
    }
    void requests() {
        QFETCH(QString, base);
        QFETCH(QString, patch);
        QFETCH(int, blobs);
        QFETCH(QString, problem);
        Message request = base == "build" ? buildRequest() : profileRequest();
        request.body.merge_patch(Json::parse(patch.toStdString()));
        request.blobs.resize(static_cast<std::size_t>(static_cast<int>(request.blobs.size()) + blobs));
        const auto checked = checkKernelRequest(request, testDevice("a"));
        QCOMPARE(checked.ok(), problem.isEmpty());
        if (!checked.ok())
            QVERIFY2(QString::fromStdString(checked.error().message).contains(problem), checked.error().message.c_str());
    }

    void answers() {
        KeptBlobs blobs(1 << 20);
        const auto desk = session("x", blobs);
        remote::Request wire;
        toWire(buildRequest(), {}, wire);
        remote::Reply reply;
        QVERIFY(desk->exchange(wire, reply, {}, kGoesOn).ok());
        CallReport report = take(fromWire(reply));
        QVERIFY(report.replied());
        QVERIFY(checkKernelReply(buildRequest(), report.reply).ok());
        Message bent = report.reply;
        bent.blobs[0].resize(std::size_t(2) << 20);
        QVERIFY(checkKernelReply(buildRequest(), bent).ok());
        bent.blobs[0].resize(std::size_t(9) << 20);
        QVERIFY(!checkKernelReply(buildRequest(), bent).ok());
        bent = report.reply;
        bent.blobs.resize(4);
        QVERIFY(!checkKernelReply(buildRequest(), bent).ok());
        Message listing = buildRequest();
        listing.body["text"] = true;
        QVERIFY(checkKernelReply(listing, bent).ok() && !checkKernelReply(listing, report.reply).ok());
        for (const char* text : {"name", "config", "hash"}) {
            bent = report.reply;
            bent.body["kernel"][text] = std::string(1 << 20, '1');
            QVERIFY2(!checkKernelReply(buildRequest(), bent).ok(), text);
        }
        bent = report.reply;
        bent.blobs.clear();
        QVERIFY(!checkKernelReply(buildRequest(), bent).ok());
        bent = report.reply;
        bent.body["kernel"] = 4;
        QVERIFY(!checkKernelReply(buildRequest(), bent).ok());
        const auto samples = [](std::vector<float> values) { return Message{{{"status", "ok"}}, {samplesToBlob(values)}}; };
        for (const auto& [key, value] : {std::pair("transforms", "[3.3e74]"), {"transforms", "[-1]"}, {"extents", "[0.5]"}, {"extents", "[18446744073709551615]"}, {"scratch", "[1e300]"},
                                         {"scratch", "[null]"}, {"outputs", "[[[0, 1e30, 2]]]"}, {"arguments", "[[[-1, 1, 2]]]"}, {"arguments", "[[[0, 1]]]"}}) {
            bent = report.reply;
            bent.body["kernel"][key] = Json::parse(value);
            QVERIFY2(!checkKernelReply(buildRequest(), bent).ok(), value);
        }
        QVERIFY(checkKernelReply(profileRequest(), samples({1.5F, 2})).ok());
        QVERIFY(!checkKernelReply(profileRequest(), samples({1, std::numeric_limits<float>::quiet_NaN()})).ok());
        QVERIFY(!checkKernelReply(profileRequest(), samples({-1})).ok());
        for (const float impossible : {0.0F, 1e-45F, 1e-7F, 4e6F, 3e38F}) // ms: no clock tells so little, no measurement lasts so long
            QVERIFY2(!checkKernelReply(profileRequest(), samples({1.5F, impossible})).ok(), qPrintable(QString::number(impossible)));
        QVERIFY(checkKernelReply(profileRequest(), samples({1e-6F, 3e6F})).ok());
        QVERIFY(checkKernelReply(profileRequest(), samples(std::vector<float>(8000, 1))).ok()); // as many as 5 ms may have
        QVERIFY(!checkKernelReply(profileRequest(), samples(std::vector<float>(100'000, 1))).ok());
        QVERIFY(!checkKernelReply(profileRequest(), {{{"status", "ok"}}, {{}, {}}}).ok()); // times of two kernels
        QVERIFY(!checkKernelReply(profileRequest(), {{{"status", "ok"}}, {std::vector<std::byte>(3)}}).ok());
        QVERIFY(!checkKernelReply(profileRequest(), {{{"status", 1}}, {}}).ok());
        QVERIFY(!checkKernelReply(profileRequest(), {Json::object(), {}}).ok());
        for (const char* status : {"cancelled", "skipped", "", "no_status"}) // nobody else can say that we gave up
            QVERIFY2(!checkKernelReply(profileRequest(), {{{"status", status}}, {}}).ok(), status);
        QVERIFY(!checkKernelReply(profileRequest(), {{{"status", "ok"}}, {}}).ok());
        Message comparison = profileRequest();
        comparison.body.update({{"verb", "compare_kernels"}, {"kernels", {Json::object(), Json::object()}}});
        const auto series = [](std::size_t first, std::size_t second) { return Message{{{"status", "ok"}}, {samplesToBlob(std::vector<float>(first, 1)), samplesToBlob(std::vector<float>(second, 1))}}; };
        QVERIFY(checkKernelReply(comparison, series(24, 24)).ok());
        QVERIFY(!checkKernelReply(comparison, series(24, 0)).ok() && !checkKernelReply(comparison, series(0, 0)).ok());
        QVERIFY(!checkKernelReply(comparison, {{{"status", "ok"}}, {}}).ok() && !checkKernelReply(comparison, samples({1})).ok());
        QVERIFY(checkKernelReply(comparison, {{{"status", "wrong_answer"}}, {}}).ok());
    }

    void garbageOnTheWire() {
        remote::Reply reply;
        QVERIFY(!fromWire(reply).ok());
        reply.set_outcome("replied");
        for (const std::string& body : {std::string(), std::string("{"), std::string("[]"), std::string("\xff\xfe"), std::string(100'000, '['), "{\"a\":" + std::string(300, '[') + std::string(300, ']') + "}"}) {
            reply.set_body(body);
            QVERIFY(!fromWire(reply).ok());
        }
        reply.set_body("{}");
        QVERIFY(fromWire(reply).ok());
        reply.set_outcome("perhaps");
        QVERIFY(!fromWire(reply).ok());
        remote::Device device;
        QVERIFY(!fromWire(device).ok());
        toWire(testDevice("a"), device);
        QCOMPARE(take(fromWire(device)).machine.key, testDevice("a").machine.key);
        device.set_name(std::string("a\nb"));
        QVERIFY(!fromWire(device).ok());
        for (const char* address : {"unix:/tmp/x:1", "unix:///tmp/x:1", "dns:///host:1", "dns://8.8.8.8/host:1", "xds:///x:1", "ipv4:127.0.0.1:1", "///", "///:1", "host", "host:0", "a b:1", "::1:80", "host/x:1"}) {
            toWire(testDevice("a"), device);
            device.set_address(address);
            QVERIFY2(!fromWire(device).ok(), address);
        }
        toWire(testDevice("a"), device);
        device.set_isa(std::string(1 << 20, 'x'));
        QVERIFY(fromWire(device).error().message.size() < 1000);
    }

    void foreignTextIsCut() {
        const std::string text(1 << 20, 'x');
        remote::Reply reply;
        reply.set_outcome("crashed");
        reply.set_error_kind("internal");
        reply.set_error(text);
        QVERIFY(take(fromWire(reply)).error.message.size() < 600);
        reply.Clear();
        reply.set_outcome("replied");
        reply.set_body(Json{{"status", "run_error"}, {"message", text}}.dump());
        QVERIFY(take(fromWire(reply)).reply.body.at("message").get<std::string>().size() < 600);
    }

    void whatIsNoTextTravelsAllTheSame() {
        CallReport crashed;
        crashed.outcome = CallOutcome::crashed;
        crashed.error = internalError("it printed \xff\xfe");
        remote::Reply reply, arrived;
        toWire(std::move(crashed), reply);
        QVERIFY(arrived.ParseFromString(reply.SerializeAsString()));
        QVERIFY(take(fromWire(arrived)).error.message.starts_with("it printed "));
        DeviceInfo named = testDevice("a");
        named.name = "M\xfcnchen";
        named.confinement = "all but this: something";
        remote::Device device, known;
        toWire(named, device);
        QVERIFY(known.ParseFromString(device.SerializeAsString()) && take(fromWire(known)).name.ends_with("nchen"));
        QCOMPARE(take(fromWire(known)).confinement, named.confinement);
        named.confinement = std::string(300, 'x');
        toWire(named, device);
        QVERIFY(!fromWire(device).ok());
    }

    void limitsAreTimes() {
        remote::OpenRequest wire;
        for (const double asked : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1.0, 0.0, 1e300, 3.0}) {
            wire.set_build_seconds(asked);
            wire.set_measure_ms(asked);
            wire.set_builders(asked > 1 ? 1 << 30 : -7);
            const KernelWorkerOptions limits = limitsFromWire(wire, testDevice("a"));
            QVERIFY(limits.buildSeconds > 0 && limits.buildSeconds <= 600 && limits.measureMs > 0 && limits.measureMs <= 60'000);
            QVERIFY(limits.builders >= 1 && limits.builders <= 2);
        }
        QCOMPARE(limitsFromWire(wire, testDevice("a")).buildSeconds, 3.0);
    }

    void aMockTakesAnyKernel() {
        KeptBlobs blobs(1 << 20);
        const auto desk = session("x", blobs);
        for (const char* kernel : {"{\"config\": 3}", "{}", "{\"config\": {}}"}) {
            Message request = profileRequest();
            request.body["kernel"] = Json::parse(kernel);
            remote::Request wire;
            toWire(request, {}, wire);
            remote::Reply reply;
            QVERIFY(desk->exchange(wire, reply, {}, kGoesOn).ok() && take(fromWire(reply)).replied());
        }
    }

    void aKernelIsKeptForItsClientOnly() {
        KeptBlobs blobs(1 << 20);
        const auto mine = session("x", blobs), theirs = session("y", blobs);
        const Message request = profileRequest();
        remote::Request whole, named;
        toWire(request, {}, whole);
        toWire(request, {blobName(request.blobs[1])}, named);
        QVERIFY(named.ByteSizeLong() < whole.ByteSizeLong() - 8000);
        remote::Reply reply;
        QVERIFY(mine->exchange(named, reply, {}, kGoesOn).ok());
        QVERIFY(reply.missing());
        reply.Clear();
        QVERIFY(mine->exchange(whole, reply, {}, kGoesOn).ok());
        QVERIFY(take(fromWire(reply)).replied());
        reply.Clear();
        QVERIFY(mine->exchange(named, reply, {}, kGoesOn).ok());
        QVERIFY(!reply.missing() && take(fromWire(reply)).replied());
        QStringList logged;
        setLogSink([&](LogLevel, const std::string& text) { logged << QString::fromStdString(text); });
        reply.Clear();
        QVERIFY(theirs->exchange(named, reply, {}, kGoesOn).ok());
        setLogSink({});
        QVERIFY(reply.missing() && reply.outcome().empty());
        QCOMPARE(logged.size(), 1);
        QVERIFY(logged[0].contains("refused y"));
    }

    void keptBlobsAreLimited() {
        KeptBlobs blobs(10'000);
        for (int i = 0; i < 5; ++i)
            blobs.keep("x", std::to_string(i), std::vector<std::byte>(4000));
        QVERIFY(!blobs.find("x", "0") && !blobs.find("x", "2"));
        QVERIFY(blobs.find("x", "3") && blobs.find("x", "4"));
        blobs.keep("x", "large", std::vector<std::byte>(10'001));
        QVERIFY(!blobs.find("x", "large") && blobs.find("x", "4"));
    }

    void oneNameAThousandTimesIsNoWayAroundTheLimit() {
        KeptBlobs blobs(256 << 20);
        blobs.keep("x", "large", std::vector<std::byte>(64 << 20));
        remote::Request wire;
        wire.set_body("{}");
        for (int i = 0; i < 5; ++i)
            wire.add_blobs()->set_kept("large");
        bool missing = false;
        QVERIFY(!fromWire(wire, [&](const std::string& name) { return blobs.find("x", name); }, missing).ok());
    }

    void accessFiles() {
        const QTemporaryDir folder;
        const auto read = [&](const QString& token) { return readAccess({token.toStdString()}); };
        QCOMPARE(take(read(write(folder, "good", "0123456789abcdef\n"))).token, std::string("0123456789abcdef"));
        for (const auto& [name, text] : {std::pair("short", "0123\n"), {"empty", ""}, {"spaces", "0123456789 abcdef\n"}, {"two", "0123456789abcdef\n0123456789abcdef\n"}})
            QVERIFY(!read(write(folder, name, text)).ok());
        const auto open = read(write(folder, "open", "0123456789abcdef\n", QFile::ReadOwner | QFile::ReadOther));
        QVERIFY(!open.ok() && open.error().message.find("chmod 600") != std::string::npos);
        QVERIFY(!open.ok() && open.error().message.find("0123456789") == std::string::npos);
        QVERIFY(!read(folder.path()).ok());
        QVERIFY(!read(folder.filePath("none")).ok());
        QVERIFY(!read("/dev/zero").ok());
        AccessFiles files;
        files.ca = write(folder, "ca", "no certificate").toStdString();
        QVERIFY(!readAccess(files).ok());
        files = {};
        files.certificate = write(folder, "cert", "-----BEGIN CERTIFICATE-----").toStdString();
        QVERIFY(!readAccess(files).ok());
        files.key = write(folder, "key", "-----BEGIN PRIVATE KEY-----").toStdString();
        const auto damaged = readAccess(files);
        QVERIFY(!damaged.ok() && damaged.error().message.find(files.certificate + ": it holds no certificate") != std::string::npos);
    }

    // Time counts while there is any call, and once where there are several.
    void trafficOfSeveralCalls() {
        Traffic traffic;
        const auto at = [](int ms) { return Traffic::Clock::time_point(std::chrono::milliseconds(ms)); };
        QCOMPARE(traffic.mbit(), 0.0);
        traffic.begin(at(0));
        QCOMPARE(traffic.mbit(), 0.0);
        traffic.begin(at(100));
        traffic.end(500'000, at(200));
        QVERIFY(std::abs(traffic.mbit() - 20) < 1e-9); // 4 Mbit in 0.2 s
        traffic.end(0, at(400));
        QVERIFY(std::abs(traffic.mbit() - 10) < 1e-9);
        traffic.begin(at(5000));
        traffic.end(500'000, at(5400));
        QVERIFY(std::abs(traffic.mbit() - 10) < 1e-9);
    }

    void grpcsOwnLog() {
        const std::string closed = R"(Handshaking failed: UNKNOWN:Handshake read failed {file_line:487, children:[INTERNAL:Socket closed {fd:8, target_address:"ipv4:10.0.0.3:41854"}]})";
        QCOMPARE(refusalIn(closed, ""), std::string("refused ipv4:10.0.0.3:41854: no TLS with it: Handshake read failed"));
        const std::string plain = "Handshaking failed: UNKNOWN:Ssl handshake failed: SSL_ERROR_SSL: error:0A00010B:SSL routines::wrong version number {tsi_code:10}";
        QCOMPARE(refusalIn(plain, "no certificate"), std::string("refused a connection: no TLS with it: Ssl handshake failed: SSL_ERROR_SSL: error:0A00010B:SSL routines::wrong version number"));
        QCOMPARE(refusalIn("Handshaking failed: ", ""), std::string("refused a connection: no TLS with it: "));
        QCOMPARE(refusalIn("Handshaking failed: x\n\x1b[2J {target_address:\"\n", ""), std::string("refused \\u000a: no TLS with it: x\\u000a\\u001b[2J"));
        QVERIFY(refusalIn("Using polling engine: epoll1", "").empty() && refusalIn("", "").empty());
    }

    void onlyLoopbackIsFree_data() {
        QTest::addColumn<QString>("address");
        QTest::addColumn<bool>("free");
        QTest::newRow("IPv4") << "127.0.0.1:1" << true;
        QTest::newRow("IPv6") << "[::1]:1" << true;
        QTest::newRow("name") << "localhost:1" << true;
        QTest::newRow("all") << "0.0.0.0:1" << false;
        QTest::newRow("all of IPv6") << "[::]:1" << false;
        QTest::newRow("another machine") << "10.0.0.3:1" << false;
        QTest::newRow("the last one of the network") << "127.255.255.254:1" << true;
        QTest::newRow("what DNS is asked for") << "127.1:1" << false;
        QTest::newRow("numbers that are no address") << "127.0.0.256:1" << false;
        QTest::newRow("a fifth number") << "127.0.0.1.2:1" << false;
        QTest::newRow("a name that looks like one") << "127.0.0.1.example.org:1" << false;
        QTest::newRow("a name") << "tracker.example.org:1" << false;
    }
    void onlyLoopbackIsFree() {
        QFETCH(QString, address);
        QFETCH(bool, free);
        const std::string text = address.toStdString();
        Access access;
        QCOMPARE(checkListening(access, text).ok(), free);
        QCOMPARE(checkCalling(access, text).ok(), free);
        access.token = "0123456789abcdef";
        QCOMPARE(checkListening(access, text).ok(), free);
        access.ca = access.certificate = access.key = "-----BEGIN";
        QVERIFY(checkListening(access, text).ok() && checkCalling(access, text).ok());
        access = {};
        access.insecure = true;
        QVERIFY(checkListening(access, text).ok() && checkCalling(access, text).ok());
    }

    void wildcards() {
        for (const char* all : {"0.0.0.0:1", "[::]:1", "[::0]:0", "0:1", "[::ffff:0.0.0.0]:1"})
            QVERIFY2(isWildcard(all), all);
        for (const char* one : {"127.0.0.1:1", "[::1]:1", "localhost:1", "10.0.0.0:1", "[::ffff:10.0.0.1]:1", "host.example.org:1"})
            QVERIFY2(!isWildcard(one), one);
    }

    void addresses() {
        for (const char* bad : {"", "host", ":1", "host:", "host:x", "host:65536", "host:-1", "host:1x", "dns:///host:1", "unix:x:1", "///:1", "a b:1", "::1:1", "[::1:1", "[x]:1"})
            QVERIFY2(!checkAddress(bad).ok(), bad);
        QVERIFY(checkAddress("host:0").ok() && checkAddress("[::1]:65535").ok() && checkAddress("10.0.0.3:1").ok() && checkAddress("[fe80::1%eth0]:1").ok() && checkAddress("a-b.example.org:1").ok());
    }

    void secrets() {
        QVERIFY(sameSecret("abc", "abc") && !sameSecret("abc", "abd") && !sameSecret("abc", "ab") && sameSecret("", ""));
        QVERIFY(newSecret() != newSecret());
        QCOMPARE(newSecret().size(), std::size_t(32));
    }
};

QTEST_APPLESS_MAIN(TestRemoteMessages)
#include "tst_remote_messages.moc"
