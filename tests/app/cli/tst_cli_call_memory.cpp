// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QTest>
#include <deque>
#include <grpcpp/grpcpp.h>
#include <thread>

#include "core/executors/remote.grpc.pb.h"
#include "core/executors/wire.h"
#include "remote_services.h"

using namespace tunesmith;
using namespace tunesmith::testing;

namespace {

constexpr const char* kBody = R"({"verb": "profile_kernel", "workload": "0123456789abcdef", "isa": "avx2", "cpu": "", "threads": 1, "kernel": {}, "measure_ms": 5, "max_seconds": 1})";

int peakOf(qint64 pid) { // MiB
    QFile status("/proc/" + QString::number(pid) + "/status");
    if (!status.open(QIODevice::ReadOnly))
        return -1;
    const QByteArray text = status.readAll();
    return text.mid(text.indexOf("VmHWM:") + 6).trimmed().split(' ').first().toInt() / 1024;
}

std::shared_ptr<grpc::Channel> channelOf(const QString& address) { return grpc::CreateChannel("dns:///" + address.toStdString(), grpc::InsecureChannelCredentials()); }

// Who has a lease, and calls as no client of ours would.
class Caller {
public:
    Caller(const QString& tracker, const QString& server) : channel_(channelOf(server)), stub_(remote::Executor::NewStub(channel_)) {
        remote::Wish wish;
        wish.set_protocol(kRemoteProtocol);
        wish.set_ticket("ticket");
        wish.set_client("caller");
        wish.set_key("cpu");
        remote::WishAnswer answer;
        for (int i = 0; i < 100 && answer.lease().empty(); ++i) {
            grpc::ClientContext context;
            static_cast<void>(remote::Tracker::NewStub(channelOf(tracker))->Ask(&context, wish, &answer).ok());
        }
        lease_ = answer.lease();
        remote::OpenRequest open;
        open.set_protocol(kRemoteProtocol);
        open.set_client_secret("secret");
        open.set_builders(1);
        open.set_profile_seconds(60);
        stay_.AddMetadata("x-tunesmith-lease", lease_);
        events_ = stub_->Open(&stay_, open);
        remote::SessionEvent event;
        isOpen_ = events_->Read(&event);
        reader_ = std::jthread([this] {
            remote::SessionEvent next;
            while (events_->Read(&next)) {
            }
        });
    }
    ~Caller() { end(); }
    bool isOpen() const { return isOpen_; }
    grpc::Status call(const remote::Request& request, std::chrono::milliseconds patience) {
        grpc::ClientContext context;
        context.AddMetadata("x-tunesmith-lease", lease_);
        context.set_deadline(std::chrono::system_clock::now() + patience);
        remote::Reply reply;
        return stub_->Exchange(&context, request, &reply);
    }
    void end() { stay_.TryCancel(); }

private:
    const std::shared_ptr<grpc::Channel> channel_;
    const std::unique_ptr<remote::Executor::Stub> stub_;
    std::string lease_;
    grpc::ClientContext stay_;
    std::unique_ptr<grpc::ClientReader<remote::SessionEvent>> events_;
    bool isOpen_ = false;
    std::jthread reader_;
};

remote::Request requestOf(const std::string& body) {
    remote::Request request;
    request.set_body(body);
    request.set_seconds(1);
    return request;
}

// As one that is right, with a member that makes it large.
std::string withMember(const std::string& value) {
    std::string body = kBody;
    return body.replace(body.size() - 1, 1, ", \"more\": " + value + "}");
}

} // namespace

// What a client with a lease sends weighs what it takes in memory, not what it has on the wire; all its calls together have a limit.
class TestCliCallMemory : public QObject {
    Q_OBJECT

    std::unique_ptr<Service> tracker_, server_;
    std::unique_ptr<Caller> caller_;
    int before_ = 0;

    // So many calls at once, each of which would take long; others are served meanwhile and afterwards.
    void callTogether(int count, const remote::Request& request) {
        before_ = peakOf(server_->pid());
        std::vector<std::jthread> calls;
        for (int i = 0; i < count; ++i)
            calls.emplace_back([&, own = request]() mutable {
                own.set_call(static_cast<std::uint64_t>(i) + 10);
                static_cast<void>(caller_->call(own, std::chrono::seconds(6)).ok());
            });
    }
    int grown() const { return peakOf(server_->pid()) - before_; }

private slots:
    void init() {
        tracker_ = startTracker();
        server_ = std::make_unique<Service>(QStringList{"server", "--listen", "127.0.0.1:0", "--tracker", tracker_->address(), "--key", "cpu", "--threads", "1", "--mock", "--profile-ms", "1000"});
        QVERIFY2(!server_->address().isEmpty(), server_->errors());
        caller_ = std::make_unique<Caller>(tracker_->address(), server_->address());
        QVERIFY2(caller_->isOpen(), server_->errors());
    }
    void cleanup() {
        if (!caller_ || !caller_->isOpen())
            return;
        QVERIFY(caller_->call(requestOf(kBody), std::chrono::seconds(10)).error_code() == grpc::StatusCode::INVALID_ARGUMENT); // it lacks its blobs, and is answered
        caller_.reset();
        QCOMPARE(server_->terminate(), 0);
    }

    void oneTensorThatIsNamedOften() {
        const std::string tensor(std::size_t(100) << 20, 'x');
        std::vector<std::byte> bytes(tensor.size(), std::byte('x'));
        remote::Request request = requestOf(kBody);
        request.add_blobs()->set_data(tensor);
        request.add_blobs()->set_data("kernel");
        request.set_call(1);
        const grpc::Status kept = caller_->call(request, std::chrono::seconds(20));
        QVERIFY2(kept.ok(), kept.error_message().c_str());
        request = requestOf(kBody);
        for (int i = 0; i < 2; ++i)
            request.add_blobs()->set_kept(blobName(bytes));
        callTogether(14, request); // 2.8 GB
        QVERIFY2(grown() < 600, qPrintable(QString("%1 MiB more").arg(grown())));
    }

    void bodiesThatUnfold_data() {
        QTest::addColumn<QByteArray>("piece");
        QTest::addColumn<int>("count");
        QTest::newRow("numbers") << QByteArray("0,") << 4'000'000;
        QTest::newRow("lists") << QByteArray("[],") << 2'000'000;
        QTest::newRow("texts") << QByteArray("\"\",") << 4'000'000;
    }
    void bodiesThatUnfold() {
        QFETCH(QByteArray, piece);
        QFETCH(int, count);
        remote::Request request = requestOf(withMember("[" + piece.repeated(count).toStdString() + "0]"));
        request.add_blobs()->set_data("workload");
        request.add_blobs()->set_data("kernel");
        callTogether(10, request); // 2 to 3 GB
        QVERIFY2(grown() < 1000, qPrintable(QString("%1 MiB more").arg(grown())));
    }
};

QTEST_GUILESS_MAIN(TestCliCallMemory)
#include "tst_cli_call_memory.moc"
