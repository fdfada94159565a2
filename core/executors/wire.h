// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "core/executors/lease_book.h"
#include "core/executors/remote.pb.h"
#include "core/schedule/kernel_executor.h"

namespace tunesmith {

// Inside core/executors only: between the house's types and those of remote.proto. What comes from outside is checked here.

inline constexpr std::uint32_t kRemoteProtocol = 3;
inline constexpr std::size_t kLargestMessage = std::size_t(256) << 20; // bytes, from a client to a server
inline constexpr std::size_t kLargestAnswer = MessageLimits::answer + (std::size_t(1) << 20); // of a server: what a worker may answer
inline constexpr std::size_t kLargestQuestion = std::size_t(1) << 20;   // to a tracker
inline constexpr std::size_t kLargestList = std::size_t(32) << 20;       // of a tracker's devices; its other answers are as large as questions
inline constexpr std::size_t kMostCeilings = std::size_t(8) << 20;       // of such a list; it goes on without them
inline constexpr std::size_t kLargestEntry = std::size_t(72) << 10;      // of it: a device has 64 KiB of ceilings
inline constexpr std::size_t kLargestEvent = std::size_t(64) << 10;
inline constexpr std::size_t kMostParts = 4096 + 16;                   // blobs of a message, and its other fields
inline constexpr std::size_t kKeptFrom = 4096;                         // bytes: blobs that are kept, to be sent once only
inline constexpr std::size_t kSlowestLink = 125;                       // bytes per ms: 1 Mbit/s, with less there is no tuning elsewhere
constexpr std::chrono::milliseconds longestWay(std::size_t bytes) { return std::chrono::milliseconds(bytes / kSlowestLink); }

void toWire(const DeviceInfo& device, remote::Device& wire);
Result<DeviceInfo> fromWire(const remote::Device& wire);

// What a client may have of what it asks for.
KernelWorkerOptions limitsFromWire(const remote::OpenRequest& wire, const DeviceInfo& device);

Status checkProtocol(std::uint32_t protocol);
std::string blobName(const std::vector<std::byte>& blob);

// Blobs whose names are in `kept` are only named.
void toWire(const Message& message, const std::set<std::string>& kept, remote::Request& wire);
// `keptBlob` gives those that are only named, or null.
using KeptBlob = std::function<std::shared_ptr<const std::vector<std::byte>>(const std::string& name)>;
Result<Message> fromWire(const remote::Request& wire, const KeptBlob& keptBlob, bool& missing);
std::size_t weightOf(const remote::Request& wire, const KeptBlob& keptBlob); // bytes that it then takes, at most

void toWire(CallReport report, remote::Reply& wire);
Result<CallReport> fromWire(remote::Reply& wire); // an Error: it is no answer at all

} // namespace tunesmith
