// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <arpa/inet.h>
#include <atomic>
#include <chrono>
#include <functional>
#include <grpcpp/grpcpp.h>
#include <memory>
#include <mutex>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "core/executors/remote.grpc.pb.h"

namespace tunesmith::testing {

// What a server may do wrong.
enum class Mischief { noJson, wrongOutcome, noKernel, badSamples, keepsNothing, silentCall, silentStream, endsLease, hugeReply, floods, packed, manyParts, hugeKernel, longText, turnOver };

// Serves at a free port of this machine until it is destroyed.
class LocalServer {
public:
    explicit LocalServer(grpc::Service& service) {
        grpc::ServerBuilder builder;
        int port = 0;
        builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
        builder.RegisterService(&service);
        builder.SetMaxSendMessageSize(-1);
        server_ = builder.BuildAndStart();
        address_ = "127.0.0.1:" + std::to_string(port);
    }
    ~LocalServer() { server_->Shutdown(std::chrono::system_clock::now()); }
    LocalServer(const LocalServer&) = delete;
    LocalServer& operator=(const LocalServer&) = delete;
    const std::string& address() const { return address_; }

private:
    std::unique_ptr<grpc::Server> server_;
    std::string address_;
};

// A server that speaks the protocol, takes every lease, and misbehaves in what it answers.
class FakeServer final : public remote::Executor::Service {
public:
    explicit FakeServer(Mischief mischief) : mischief_(mischief) {}
    ~FakeServer() override { closing_ = true; }
    const std::string& address() const { return server_.address(); }
    int calls() const { return calls_; }
    int opens() const { return opens_; }
    std::function<void(const std::string& lease)> opened; // before the first call

    grpc::Status Open(grpc::ServerContext* context, const remote::OpenRequest*, grpc::ServerWriter<remote::SessionEvent>* events) override {
        ++opens_;
        if (opened)
            opened(context->client_metadata().find("x-tunesmith-lease")->second.data());
        remote::SessionEvent first;
        first.set_turn_over(mischief_ == Mischief::turnOver);
        events->Write(first);
        for (int i = 0; !context->IsCancelled() && !closing_; ++i) {
            const bool floods = mischief_ == Mischief::floods;
            if (!floods)
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            remote::SessionEvent event;
            if (mischief_ != Mischief::silentCall)
                event.add_calls(last_);
            if (floods || (mischief_ != Mischief::silentStream && i % 5 == 0))
                events->Write(event);
            if (mischief_ == Mischief::endsLease && calls_ > 0)
                break;
        }
        return grpc::Status::OK;
    }
    grpc::Status Exchange(grpc::ServerContext* context, const remote::Request* request, remote::Reply* reply) override {
        last_ = request->call();
        ++calls_;
        reply->set_outcome("replied");
        reply->set_body("{\"status\": \"ok\"}");
        switch (mischief_) {
        case Mischief::floods:
        case Mischief::noJson: reply->set_body("\x01\x02{"); break;
        case Mischief::wrongOutcome: reply->set_outcome("perhaps"); break;
        case Mischief::noKernel: break;
        case Mischief::badSamples: reply->set_body("{\"kernel\": {\"name\": 3}}"), reply->add_blobs("abc"); break;
        case Mischief::keepsNothing: reply->set_missing(true); break;
        case Mischief::hugeReply: reply->set_body(std::string(std::size_t(300) << 20, ' ')); break;
        case Mischief::packed: context->set_compression_algorithm(GRPC_COMPRESS_GZIP), reply->set_body("{\"status\": \"ok\"}" + std::string(1 << 20, ' ')); break;
        case Mischief::manyParts:
            for (int i = 0; i < 5000; ++i)
                reply->add_blobs("");
            break;
        case Mischief::hugeKernel:
            reply->set_body(R"({"kernel": {"name": "f", "extents": [1], "scratch": 0, "arguments": [], "transforms": [], "outputs": [], "config": "", "hash": "1"}})");
            reply->add_blobs(std::string(std::size_t(64) << 20, ' '));
            break;
        case Mischief::longText: reply->set_outcome("not_started"), reply->set_error_kind("io"), reply->set_error(std::string(1 << 20, 'x')); break;
        case Mischief::turnOver:
        case Mischief::silentCall:
        case Mischief::silentStream:
        case Mischief::endsLease:
            while (!context->IsCancelled() && !closing_)
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return grpc::Status::OK;
    }

private:
    const Mischief mischief_;
    std::atomic<bool> closing_ = false;
    std::atomic<int> calls_ = 0, opens_ = 0;
    std::atomic<std::uint64_t> last_ = 0; // number of a call
    LocalServer server_{*this}; // the last: it calls what is above
};

// A tracker that has one device to lend, to everybody, and says of it what it likes.
class FakeTracker final : public remote::Tracker::Service {
public:
    explicit FakeTracker(remote::WishAnswer answer) : answer_(std::move(answer)) {}
    const std::string& address() const { return server_.address(); }
    grpc::Status Ask(grpc::ServerContext*, const remote::Wish*, remote::WishAnswer* answer) override { return *answer = answer_, grpc::Status::OK; }
    grpc::Status Register(grpc::ServerContext*, const remote::Registration*, remote::Registered* answer) override { return answer->set_device_secret(answer_.lease()), grpc::Status::OK; }
    grpc::Status Confirm(grpc::ServerContext*, const remote::Confirmation*, remote::Confirmed* answer) override {
        answer->set_valid(true);
        answer->set_client(answer_.lease());
        return grpc::Status::OK;
    }

private:
    const remote::WishAnswer answer_;
    LocalServer server_{*this}; // the last: it calls what is above
};

// A tracker that keeps the tokens that it is sent, and turns everybody away.
class CuriousTracker final : public remote::Tracker::Service {
public:
    const std::string& address() const { return server_.address(); }
    std::vector<std::string> tokens() const { // of each call; "" where there was none
        const std::lock_guard lock(mutex_);
        return tokens_;
    }
    grpc::Status Ask(grpc::ServerContext* context, const remote::Wish*, remote::WishAnswer*) override { return keep(*context); }
    grpc::Status List(grpc::ServerContext* context, const remote::ListRequest*, remote::DeviceList*) override { return keep(*context); }

private:
    grpc::Status keep(const grpc::ServerContext& context) {
        const auto token = context.client_metadata().find("x-tunesmith-token");
        const std::lock_guard lock(mutex_);
        tokens_.push_back(token == context.client_metadata().end() ? std::string() : std::string(token->second.data(), token->second.size()));
        return {grpc::StatusCode::UNAUTHENTICATED, "a wrong token"};
    }

    mutable std::mutex mutex_;
    std::vector<std::string> tokens_;
    LocalServer server_{*this}; // the last: it calls what is above
};

// Something else that listens: answers whatever comes with bytes that are no HTTP/2, or closes at once. The first `greeted` connections are taken
// as a server would.
class NoServer {
public:
    explicit NoServer(std::string answer, int greeted = 0) : answer_(std::move(answer)), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof where;
        if (::bind(socket_, reinterpret_cast<sockaddr*>(&where), size) != 0 || ::listen(socket_, 16) != 0 || ::getsockname(socket_, reinterpret_cast<sockaddr*>(&where), &size) != 0)
            std::abort();
        address_ = "127.0.0.1:" + std::to_string(ntohs(where.sin_port));
        thread_ = std::thread([this, greeted] {
            for (int i = 0; i < greeted; ++i)
                if (kept_.push_back(::accept(socket_, nullptr, nullptr)); kept_.back() >= 0)
                    static_cast<void>(::send(kept_.back(), "\0\0\0\4\0\0\0\0\0", 9, MSG_NOSIGNAL)); // settings
            for (int client; (client = ::accept(socket_, nullptr, nullptr)) >= 0; ::close(client))
                static_cast<void>(::send(client, answer_.data(), answer_.size(), MSG_NOSIGNAL));
        });
    }
    ~NoServer() {
        ::shutdown(socket_, SHUT_RDWR);
        thread_.join();
        for (const int client : kept_)
            ::close(client);
        ::close(socket_);
    }
    const std::string& address() const { return address_; }

private:
    std::string answer_;
    int socket_;
    std::string address_;
    std::vector<int> kept_;
    std::thread thread_;
};

// A tracker that takes devices and then answers nothing.
class SilentTracker final : public remote::Tracker::Service {
public:
    const std::string& address() const { return server_.address(); }
    int asked() const { return asked_; }

    grpc::Status Register(grpc::ServerContext*, const remote::Registration*, remote::Registered* answer) override {
        answer->set_device_secret("secret");
        return grpc::Status::OK;
    }
    grpc::Status SendBeat(grpc::ServerContext* context, const remote::Beat*, remote::BeatAnswer*) override { return wait(*context); }
    grpc::Status Leave(grpc::ServerContext* context, const remote::Leaving*, remote::Nothing*) override { return wait(*context); }
    grpc::Status Ask(grpc::ServerContext* context, const remote::Wish*, remote::WishAnswer*) override { return wait(*context); }
    grpc::Status Withdraw(grpc::ServerContext* context, const remote::Withdrawal*, remote::Nothing*) override { return wait(*context); }
    grpc::Status List(grpc::ServerContext* context, const remote::ListRequest*, remote::DeviceList*) override { return wait(*context); }

private:
    grpc::Status wait(const grpc::ServerContext& context) {
        ++asked_;
        while (!context.IsCancelled())
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return grpc::Status::CANCELLED;
    }

    std::atomic<int> asked_ = 0;
    LocalServer server_{*this}; // the last: it calls what is above
};

} // namespace tunesmith::testing
