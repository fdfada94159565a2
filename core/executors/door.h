// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/executors/visitors.h"

namespace tunesmith {

std::size_t raisedDescriptorLimit(); // of this process: the soft limit, raised to the hard one

// Listens instead of gRPC, whose own port is deaf for good once it has met EMFILE. A thread accepts, keeps the limits of Visitors and hands connections
// on, each in a thread of its own. It holds a second descriptor of each, by which it sees a connection's end and ends one itself without a race for numbers of descriptors.
// It logs each connection that it turns away.
class Door {
public:
    using HandOver = std::function<void(int listener, int connection)>; // takes the connection
    // `headers`: bytes that callers may have sent since their last messages, all together.
    static Result<std::unique_ptr<Door>> open(const std::string& address, std::uint64_t headers);
    ~Door(); // ends no connection; after the server to which they were handed, for it may still read in the threads that did
    const std::string& address() const; // with the port that was chosen

    void begin(HandOver handOver);
    void close(); // takes no further ones, and ends those that have made no call: gRPC is not to be shut down in the midst of their handshakes
    // From any thread, with gRPC's name of who has made a call.
    void letIn(const std::string& peer);
    void refuse(const std::string& peer);  // a call; too many of them, one after the other, end the connection
    void forgive(const std::string& peer); // what was refused before a good call
    void received(const std::string& peer); // a message of a call

private:
    struct Impl;
    explicit Door(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace tunesmith
