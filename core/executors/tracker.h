// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include "core/executors/access.h"
#include "core/executors/lease_book.h"

namespace tunesmith {

struct TrackerOptions {
    std::string listen = "127.0.0.1:0";
    Access access = {};
    LeaseTiming timing = {};
};

// Knows the devices and who has which: a LeaseBook for callers on the network, from threads of its own. It keeps nothing on disk:
// a new one learns from the servers, which go on meanwhile, what they offer and serve. What it refuses it logs.
class Tracker {
public:
    static Result<std::unique_ptr<Tracker>> start(const TrackerOptions& options);
    ~Tracker();
    const std::string& address() const; // with the port that was chosen

private:
    struct Impl;
    explicit Tracker(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace tunesmith
