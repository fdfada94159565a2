// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/support/method_handler.h>
#include <sys/resource.h>

#include "cli_process.h"
#include "remote_services.h"
#include "tests/core/executors/fake_server.h"

using namespace tunesmith::testing;

namespace {

// Answers each call with the same bytes, or not at all.
class ForeignTracker final : public grpc::Service {
public:
    explicit ForeignTracker(std::optional<std::string> answer) : answer_(std::move(answer)) {
        for (const char* method : {"/tunesmith.remote.Tracker/List", "/tunesmith.remote.Tracker/Ask", "/tunesmith.remote.Tracker/Register", "/tunesmith.remote.Tracker/SendBeat"})
            add(method);
    }

private:
    using Stream = grpc::ServerReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;
    void add(const char* method) {
        const auto reply = [this](ForeignTracker*, grpc::ServerContext* context, Stream* stream) {
            while (!answer_ && !context->IsCancelled())
                QTest::qSleep(5);
            const grpc::Slice slice = answer_ ? grpc::Slice(*answer_) : grpc::Slice();
            stream->Write(grpc::ByteBuffer(&slice, 1));
            return grpc::Status::OK;
        };
        AddMethod(new grpc::internal::RpcServiceMethod(method, grpc::internal::RpcMethod::BIDI_STREAMING, new grpc::internal::BidiStreamingHandler<ForeignTracker, grpc::ByteBuffer, grpc::ByteBuffer>(reply, this)));
    }
    const std::optional<std::string> answer_;
};

QByteArray field(int number, const QByteArray& bytes) { // of protobuf
    QByteArray size;
    for (qsizetype left = bytes.size(); size.isEmpty() || left > 0; left >>= 7)
        size += static_cast<char>((left & 127) | (left > 127 ? 128 : 0));
    return static_cast<char>(number << 3 | 2) + size + bytes;
}

int largestChild() { // MiB
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    return static_cast<int>(used.ru_maxrss / 1024);
}

QStringList asking(const QString& verb, const QString& tracker, const QTemporaryDir& folder) {
    if (verb == "devices")
        return {"devices", "--tracker", tracker};
    if (verb == "server")
        return {"server", "--listen", "127.0.0.1:0", "--tracker", tracker, "--key", "cpu", "--mock"};
    return {"tune", "encoder", "--device", "cpu", "--tracker", tracker, "--threads", "1", "--trials-per-workload", "1", "--store", folder.filePath("store.db")};
}

} // namespace

// Trackers that answer what they should not, or nothing; and options that name none.
class TestCliForeignTrackers : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

private slots:
    void listsWithoutEnd_data() {
        QTest::addColumn<QByteArray>("answer");
        QTest::newRow("empty devices") << field(1, {}).repeated(8 << 20);
        QTest::newRow("devices of empty keys") << field(1, field(1, field(3, {}).repeated(8 << 20)));
        QTest::newRow("many devices of empty keys") << field(1, field(1, field(3, {}).repeated(15'000))).repeated(500);
        QTest::newRow("clients that wait") << field(2, field(1, "a") + field(2, "b")).repeated(2 << 20);
    }
    void listsWithoutEnd() {
        QFETCH(QByteArray, answer);
        ForeignTracker service(answer.toStdString());
        const LocalServer tracker(service);
        const CliResult list = runCli({"devices", "--tracker", QString::fromStdString(tracker.address())});
        QVERIFY2(list.status == 1 && list.sentence().contains("answers garbage") && list.sentence().contains(tracker.address().c_str()), list.errors);
        QVERIFY2(largestChild() < 220, qPrintable(QString("%1 MiB").arg(largestChild())));
    }

    void answersThatAreNone_data() {
        QTest::addColumn<QString>("verb");
        QTest::addColumn<QByteArray>("answer");
        for (const char* verb : {"devices", "tune", "server"}) {
            QTest::addRow("%s, no message", verb) << QString(verb) << QByteArray("\xff\xff\xff\xff\xff\xff");
            QTest::addRow("%s, cut off", verb) << QString(verb) << QByteArray("\x0a\x7f half");
            QTest::addRow("%s, ends in the middle", verb) << QString(verb) << QByteArray("\x0a", 1);
        }
        QTest::addRow("devices, text") << "devices" << QByteArray("hello");
        QTest::addRow("devices, zeros") << "devices" << QByteArray(10, '\0');
    }
    void answersThatAreNone() {
        QFETCH(QString, verb);
        QFETCH(QByteArray, answer);
        ForeignTracker service(answer.toStdString());
        const LocalServer tracker(service);
        const CliResult asked = runCli(asking(verb, QString::fromStdString(tracker.address()), folder_));
        QVERIFY2(asked.status == 1 && asked.sentence().contains("answers garbage") && asked.sentence().contains(tracker.address().c_str()), asked.errors);
    }

    void silenceIsInterrupted_data() {
        QTest::addColumn<QString>("verb");
        for (const char* verb : {"devices", "tune", "server"})
            QTest::newRow(verb) << QString(verb);
    }
    void silenceIsInterrupted() {
        QFETCH(QString, verb);
        ForeignTracker service(std::nullopt);
        const LocalServer tracker(service);
        QProcess program;
        program.start(TEST_CLI, asking(verb, QString::fromStdString(tracker.address()), folder_));
        QVERIFY(program.waitForStarted());
        QTest::qWait(1000); // it gives up after 3 s
        QVERIFY(program.state() == QProcess::Running);
        QElapsedTimer clock;
        clock.start();
        ::kill(static_cast<pid_t>(program.processId()), SIGINT);
        QVERIFY(program.waitForFinished(20'000));
        const auto took = clock.elapsed();
        const QByteArray said = program.readAllStandardError();
        QVERIFY2(program.exitStatus() == QProcess::NormalExit && program.exitCode() == 130, said);
        QVERIFY2(took < 1000, qPrintable(QString("%1 ms").arg(took)));
        QVERIFY2(said.contains("tunesmith-cli: cancelled"), said);
    }

    void emptyKeys_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::newRow("server") << QStringList{"server", "--tracker", "127.0.0.1:1", "--key", "", "--mock"};
        QTest::newRow("second of a server") << QStringList{"server", "--tracker", "127.0.0.1:1", "--key", "a", "", "--mock"};
        QTest::newRow("tune") << QStringList{"tune", "encoder", "--device", ""};
        QTest::newRow("tune with a tracker") << QStringList{"tune", "encoder", "--device", "", "--tracker", "127.0.0.1:1"};
        QTest::newRow("spaces") << QStringList{"tune", "encoder", "--device", "a b", "--tracker", "127.0.0.1:1"};
        QTest::newRow("long") << QStringList{"tune", "encoder", "--device", QString(101, 'a'), "--tracker", "127.0.0.1:1"};
    }
    void emptyKeys() {
        QFETCH(QStringList, arguments);
        const CliResult refused = runCli(arguments);
        QVERIFY2(refused.status == 2 && refused.sentence().contains("key of a device"), refused.errors);
    }

    void filesWithoutACertificate_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("a key") << QByteArray("-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----\n");
        QTest::newRow("begins") << QByteArray("-----BEGIN CERTIFICATE-----\n");
        QTest::newRow("damaged") << QByteArray("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    }
    void filesWithoutACertificate() {
        QFETCH(QByteArray, text);
        QFile file(folder_.filePath("ca.pem"));
        QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate) && file.write(text) == text.size());
        file.close();
        const CliResult refused = runCli({"devices", "--tracker", "127.0.0.1:1", "--ca", file.fileName()});
        QVERIFY2(refused.status == 1 && refused.sentence().contains("--ca " + file.fileName().toUtf8()) && refused.sentence().contains("no certificate"), refused.errors);
    }
};

QTEST_GUILESS_MAIN(TestCliForeignTrackers)
#include "tst_cli_foreign_trackers.moc"
