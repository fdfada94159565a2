// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/message.h"
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <poll.h>
#include <span>
#include <string>
#include <sys/socket.h>

#include "core/base/json_text.h"

namespace tunesmith {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMagic = 0x474d5354; // "TSMG"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kPiece = std::size_t(64) << 20;

// Native byte order: both ends are always processes of one machine and one build.
struct FrameHeader {
    std::uint32_t magic = kMagic;
    std::uint32_t version = kVersion;
    std::uint32_t bodySize = 0;
    std::uint32_t blobCount = 0;
};
static_assert(sizeof(FrameHeader) == 16);

Error systemError(const char* what) {
    return ioError(std::string(what) + ": " + std::strerror(errno));
}
Error closedError() {
    return ioError("the other side closed the connection in the middle of a message");
}

int pollTimeout(const Wait& wait) {
    using std::chrono::milliseconds;
    milliseconds timeout{-1};
    if (wait.stop || wait.idle)
        timeout = kWaitTick;
    if (wait.deadline) {
        const auto left = std::chrono::ceil<milliseconds>(*wait.deadline - Clock::now());
        const milliseconds bounded = std::clamp(left, milliseconds{0}, milliseconds{60000});
        timeout = timeout.count() < 0 ? bounded : std::min(timeout, bounded);
    }
    return static_cast<int>(timeout.count());
}

Status waitReady(int socket, short events, Wait& wait) {
    for (;;) {
        pollfd fds[2] = {{socket, events, 0}, {wait.sideFd, POLLIN, 0}};
        const int ready = ::poll(fds, 2, pollTimeout(wait));
        if (ready < 0 && errno != EINTR)
            return systemError("poll");
        if (wait.stop && wait.stop->stopRequested())
            return cancelledError();
        if (wait.deadline && Clock::now() >= *wait.deadline)
            return timeoutError("no answer in time");
        const bool socketReady = ready > 0 && fds[0].revents != 0;
        if (wait.idle && !wait.idle(wait) && !socketReady)
            return ioError("the other side is gone");
        if (socketReady)
            return {};
    }
}

// Fills `bytes`; false when the stream ended before its first byte.
Result<bool> readExactly(int socket, std::span<std::byte> bytes, Wait& wait) {
    std::size_t done = 0;
    while (done < bytes.size()) {
        TS_TRY(waitReady(socket, POLLIN, wait));
        const ssize_t count = ::recv(socket, bytes.data() + done, bytes.size() - done, MSG_DONTWAIT);
        if (count > 0)
            done += static_cast<std::size_t>(count);
        else if (count == 0 && done == 0)
            return false;
        else if (count == 0)
            return closedError();
        else if (errno == ECONNRESET)
            return ioError("the other side reset the connection");
        else if (errno != EAGAIN && errno != EINTR)
            return systemError("cannot read from the other process");
    }
    return true;
}

// Memory is filled as far as the bytes arrive.
template <class Container> Status readGrowing(int socket, Container& out, std::size_t size, Wait& wait) {
    out.reserve(size); // addresses, not memory: the pieces below fill it, and nothing is copied on the way
    while (out.size() < size) {
        const std::size_t done = out.size();
        out.resize(done + std::min(size - done, kPiece));
        TS_ASSIGN(const bool more,
                  readExactly(socket, std::as_writable_bytes(std::span(out).subspan(done)), wait));
        if (!more)
            return closedError();
    }
    return {};
}

Status writeExactly(int socket, std::span<const std::byte> bytes, Wait& wait) {
    while (!bytes.empty()) {
        const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count >= 0)
            bytes = bytes.subspan(static_cast<std::size_t>(count));
        else if (errno == EPIPE || errno == ECONNRESET)
            return ioError("the other side closed the connection");
        else if (errno != EAGAIN && errno != EINTR)
            return systemError("cannot write to the other process");
        if (!bytes.empty())
            TS_TRY(waitReady(socket, POLLOUT, wait));
    }
    return {};
}

// The JSON parser itself does not recurse, but whoever walks its result does.
bool tooDeep(const std::string& text) {
    std::size_t depth = 0;
    bool inString = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (inString && c == '\\')
            ++i;
        else if (c == '"')
            inString = !inString;
        else if (!inString && (c == '[' || c == '{') && ++depth > MessageLimits::depth)
            return true;
        else if (!inString && (c == ']' || c == '}') && depth > 0)
            --depth;
    }
    return false;
}

std::string mebibytes(std::uint64_t bytes) { return std::to_string((bytes >> 20) + (bytes % (1 << 20) != 0)) + " MiB"; }

Status checkSizes(const FrameHeader& header, const std::vector<std::uint64_t>& sizes, std::uint64_t most) {
    std::uint64_t left = most;
    const auto fits = [&](std::uint64_t size) { return size <= left && ((left -= size), true); };
    if (!fits(header.bodySize) || !std::ranges::all_of(sizes, fits))
        return inputError("a message between processes has more than the " + mebibytes(most) + " that it may have");
    return {};
}

Status checkHeader(const FrameHeader& header) {
    if (header.magic != kMagic)
        return inputError("the other process sent garbage instead of a message");
    if (header.version != kVersion)
        return inputError("the other process speaks version " + std::to_string(header.version) +
                          " of the worker protocol instead of " + std::to_string(kVersion) +
                          "; install one version of Tunesmith only");
    if (header.bodySize > MessageLimits::body || header.blobCount > MessageLimits::blobs)
        return inputError("the other process sent a message with impossible sizes");
    return {};
}

Result<std::optional<Message>> readFrame(int socket, Wait& wait, std::size_t most) {
    FrameHeader header;
    TS_ASSIGN(const bool more, readExactly(socket, std::as_writable_bytes(std::span(&header, 1)), wait));
    if (!more)
        return std::optional<Message>();
    TS_TRY(checkHeader(header));
    std::vector<std::uint64_t> sizes;
    TS_TRY(readGrowing(socket, sizes, header.blobCount, wait));
    TS_TRY(checkSizes(header, sizes, most));
    std::string text;
    TS_TRY(readGrowing(socket, text, header.bodySize, wait));
    Message message;
    message.blobs.resize(sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i)
        TS_TRY(readGrowing(socket, message.blobs[i], sizes[i], wait));
    TS_ASSIGN(message.body, parseMessageBody(text));
    return std::optional<Message>(std::move(message));
}

} // namespace

Result<nlohmann::json> parseMessageBody(const std::string& text) {
    if (tooDeep(text))
        return inputError("the other process sent a message that is nested too deep");
    if (jsonMemory(text) > MessageLimits::bodyMemory)
        return inputError("the other process sent a message of " + mebibytes(text.size()) + " that would take more than " + mebibytes(MessageLimits::bodyMemory) + " of memory");
    auto body = parseJson<nlohmann::json>(text);
    if (body.is_discarded())
        return inputError("the other process sent a message that is not JSON");
    return body;
}

Result<std::optional<Message>> readMessage(int socket, Wait wait, std::size_t most) {
    try {
        return readFrame(socket, wait, most);
    } catch (const std::bad_alloc&) {
        return ioError("out of memory while receiving a message from another process");
    }
}

Status writeMessage(int socket, const Message& message, Wait wait) {
    const std::string text = message.body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (text.size() > MessageLimits::body)
        return inputError("the JSON body of a message between processes has " + std::to_string(text.size()) +
                          " bytes, more than " + std::to_string(MessageLimits::body));
    if (message.blobs.size() > MessageLimits::blobs)
        return inputError("a message between processes has more than " +
                          std::to_string(MessageLimits::blobs) + " parts");
    FrameHeader header;
    header.bodySize = static_cast<std::uint32_t>(text.size());
    header.blobCount = static_cast<std::uint32_t>(message.blobs.size());
    std::vector<std::uint64_t> sizes;
    for (const auto& blob : message.blobs)
        sizes.push_back(blob.size());
    TS_TRY(checkSizes(header, sizes, MessageLimits::total));

    std::vector<std::byte> head(sizeof header + sizes.size() * sizeof(std::uint64_t) + text.size());
    std::memcpy(head.data(), &header, sizeof header);
    if (!sizes.empty())
        std::memcpy(head.data() + sizeof header, sizes.data(), sizes.size() * sizeof(std::uint64_t));
    std::memcpy(head.data() + head.size() - text.size(), text.data(), text.size());
    TS_TRY(writeExactly(socket, head, wait));
    for (const auto& blob : message.blobs)
        TS_TRY(writeExactly(socket, blob, wait));
    return {};
}

} // namespace tunesmith
