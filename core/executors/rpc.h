// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <grpcpp/grpcpp.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/executors/access.h"

namespace tunesmith {

// Inside core/executors only: gRPC as this room uses it.

std::shared_ptr<grpc::Channel> channelTo(const std::string& address, const Access& access);
void prepareCall(grpc::ClientContext& context, const Access& access, std::optional<std::chrono::milliseconds> patience = {});

struct Listener {
    std::unique_ptr<grpc::Server> server; // shut it down before what it serves goes
    std::string address;                  // with the port that was chosen
};
// Calls that end with an error are logged with their peer. Messages of more than `largest` bytes and a quarter are refused before we see them: without a word.
Result<Listener> listenAt(const std::string& address, const Access& access, const std::vector<grpc::Service*>& services, std::size_t largest);

grpc::Status checkCaller(const grpc::ServerContext& context, const Access& access); // refuses who has not the token
grpc::Status checkSize(std::size_t bytes, std::size_t most);
grpc::Status toStatus(const Error& error);

// kind input: whom we called will never take this call; io: perhaps later.
Error toError(const grpc::Status& status, const std::string& whom);

} // namespace tunesmith
