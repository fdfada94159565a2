// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include "core/base/stop_token.h"
#include <chrono>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace tunesmith {

// What the workbench and its workers say to each other: a small JSON body and bulk data beside it (tensors,
// object code, raw samples). JSON text has no NaN or infinity (they arrive as null) and its strings are UTF-8
// (other bytes arrive as U+FFFD): numbers and bytes that must arrive exactly belong into blobs.
struct Message {
    nlohmann::json body;
    std::vector<std::vector<std::byte>> blobs;
};

// The other side may be a process whose memory a wild kernel has overwritten. What exceeds these limits is
// refused before anything is allocated for it, and memory beyond 64 MiB per part is filled only as the bytes
// really arrive.
struct MessageLimits {
    static constexpr std::size_t body = std::size_t(16) << 20;
    static constexpr std::size_t bodyMemory = std::size_t(256) << 20; // that it may take once it is parsed; twenty times as much as the largest body of ours
    static constexpr std::size_t depth = 256; // nesting of the JSON body
    static constexpr std::size_t blobs = 65536;
    static constexpr std::size_t total = std::size_t(8) << 30;
    static constexpr std::size_t answer = std::size_t(64) << 20; // of a worker, without tensors: object code, listings, samples
};

// When to give up waiting for the other side. Without any of them a call waits for ever.
struct Wait {
    std::optional<std::chrono::steady_clock::time_point> deadline;
    const StopToken* stop = nullptr; // looked at every kWaitTick
    int sideFd = -1;                 // its readability also wakes the wait and calls `idle`
    std::function<bool(Wait&)> idle =
        nullptr; // called at least every kWaitTick; false: the other side is gone
};
inline constexpr std::chrono::milliseconds kWaitTick{20};

// The JSON of a body that came some other way, nested no deeper than the limit.
Result<nlohmann::json> parseMessageBody(const std::string& text);

// Both work on a connected stream socket (blocking or not), survive signals and partial transfers, and never
// raise SIGPIPE. After an error other than `input` from writeMessage the stream is out of step and must be
// closed.
//
// readMessage: nothing when the other side closed the stream between two messages, an `io` error when it did
// so in the middle of one, an `input` error for what is no message or has more than `most` bytes in all.
Result<std::optional<Message>> readMessage(int socket, Wait wait = {}, std::size_t most = MessageLimits::total);
// writeMessage: a message over the limits is an `input` error and nothing of it has been sent.
Status writeMessage(int socket, const Message& message, Wait wait = {});

} // namespace tunesmith
